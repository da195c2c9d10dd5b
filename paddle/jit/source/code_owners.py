"""Owners of code: functions of the user's are rewritten, and what they can change is watched."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import CodeType
from typing import Any

_LIBRARY = {"paddle", "umiak", "numpy", "scipy", *sys.stdlib_module_names} - {"__main__"}

# Modules whose objects hold what is the user's.
_HOLDERS = frozenset(("_thread", "argparse", "collections", "queue", "types", "weakref"))
_INSTALLED = frozenset(("site-packages", "dist-packages"))


def is_library(module: Any) -> bool:
    """Return whether the objects and functions of a module, given by its name, are none of the user's."""
    return not isinstance(module, str) or module.partition(".")[0] in _LIBRARY


def is_users(code: CodeType, module: Any) -> bool:
    """Return whether code in a module is the user's. Examples in docstrings have the globals of the module that they
    document."""
    return not is_library(module) or code.co_filename.startswith("<doctest")


def holds(module: Any) -> bool:
    """Return whether objects of a module's classes may hold what is the user's."""
    return not is_library(module) or module in _HOLDERS


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Return whether a file is one of a package that was installed. The variables of its modules are caches, tables of
    what there is, and the like: none of a model's state, and many."""
    return not _INSTALLED.isdisjoint(Path(file).parts)
