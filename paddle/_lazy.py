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
from paddle._paths import homes_of, is_made
from paddle._public import EXPORTS
from umiak.core.direct import Module


def attributes_of(module: str, classes_of: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module, whose class becomes ``Module``.

    ``classes_of``: a module whose classes are attributes of this one as well.
    """
    sys.modules[module].__class__ = Module
    lazy = LAZY.get(module, {})
    homes = homes_of(module)
    homes.update((name, (home, name)) for home, names in lazy.items() for name in names.split())
    # A module below this one that names come from is an attribute, too.
    homes.update((home.rpartition(".")[2], (home, "")) for home in lazy if home.rpartition(".")[0] == module)
    # `from a import b` under TYPE_CHECKING: b is a module of a.
    homes.update((name, (f"{module}.{name}", "")) for name in lazy.get(module, "").split())
    absent = frozenset(ABSENT.get(module, "").split())
    is_path = is_made(module)

    def is_module(name: str) -> bool:
        """Is there a module below this one that nobody has imported yet? The reference imports all of its own."""
        if name.startswith("_") or not hasattr(sys.modules[module], "__path__"):
            return False
        from importlib.util import find_spec

        return find_spec(f"{module}.{name}") is not None

    def __getattr__(name: str) -> Any:
        home, attribute = homes.get(name, ("", ""))
        if not home:
            value = getattr(sys.modules.get(classes_of), name, None)
            if isinstance(value, type):
                return value
            if is_module(name):
                return import_module(f"{module}.{name}")
            raise refuse(module, name, name in absent or (is_path and not name.startswith("__")), sys._getframe(1))
        value = import_module(home)
        if attribute:
            value = getattr(value, attribute)
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
