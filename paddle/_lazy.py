"""Names of this package that are not there when it is imported.

Some are loaded when they are used: what an ``__init__`` file imports under ``TYPE_CHECKING``, so that a program which
only computes need not wait for them. Others the reference has and Umiak does not yet: asking for one says so
(``_absent.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from paddle._absent import refuse
from paddle._absent_names import NAMES as ABSENT
from paddle._lazy_names import NAMES as LAZY
from paddle._public import EXPORTS
from umiak.core.direct import Module


def attributes_of(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module, whose class becomes ``Module``."""
    sys.modules[module].__class__ = Module
    lazy = LAZY.get(module, {})
    homes = {name: home for home, names in lazy.items() for name in names.split()}
    # A module below this one that names come from is an attribute, too.
    homes.update((below, module) for above, _, below in (home.rpartition(".") for home in lazy) if above == module)
    absent = frozenset(ABSENT.get(module, "").split())

    def __getattr__(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise refuse(module, name, name in absent, sys._getframe(1))
        if home == module:
            return import_module(f"{module}.{name}")  # which makes it an attribute
        value = getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[module]), *homes})

    return __getattr__, __dir__


def contents(module: str, submodules: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a module of names that are declared elsewhere, which it gets.

    ``submodules``: those that are among its names, and loaded with it; of ``a.b`` the name is ``b``.
    """
    modules = {name.rpartition(".")[2]: import_module(f"{module}.{name}") for name in submodules.split()}
    declared = EXPORTS.get(module, {})
    vars(sys.modules[module]).update(modules, **declared)
    lazy = " ".join(LAZY.get(module, {}).values())
    return (*attributes_of(module), sorted({*declared, *modules, *lazy.split()}))
