"""Import hook of the paths in ``_paths.py``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from paddle._lazy import attributes_of
from paddle._paths import MADE, PATHS, homes_of


class _Loader:
    """Makes the module of a path.

    The classes here have no base of ``importlib.abc``, which takes longer to load than all that is asked of them.
    """

    def create_module(self, spec: ModuleSpec) -> None:
        """Have the module made as usual."""

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = f"Names of the reference at ``{module.__name__}``, from where they are here."
        vars(module)["__getattr__"], vars(module)["__dir__"] = attributes_of(module.__name__)
        # What `from module import *` takes; without it only names that somebody has asked for.
        vars(module)["__all__"] = [name for name, (_, there) in homes_of(module.__name__).items() if there]


class _Substitute(_Loader):
    """Puts another module in the place of one that is being imported."""

    def __init__(self, target: str) -> None:
        self.target = target

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self.target)


class Finder:
    """Import hook of the paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        row = PATHS.get(fullname)
        if row is None:  # below a path that stands for another module, which has the name of that one
            parent, _, leaf = fullname.rpartition(".")
            name = getattr(sys.modules.get(parent), "__name__", parent)
            if name == parent or not name.startswith("paddle."):
                return None
            row = f"{name}.{leaf}"
            from importlib.util import find_spec

            if find_spec(row) is None:
                return None
        loader: Any = _Substitute(row) if isinstance(row, str) else _Loader()
        return ModuleSpec(fullname, loader, origin=MADE, is_package=True)
