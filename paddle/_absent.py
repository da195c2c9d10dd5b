"""What asking for a name of the reference that is not here says: that it is not here yet, and nothing similar instead.

Nothing is done before such a name is asked for, and ``hasattr`` stays False.
"""

from __future__ import annotations

import dis
import importlib
import importlib.abc
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from paddle._absent_names import NAMES
from umiak.core.tensor import Tensor

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def _error(owner: str, name: str, known: bool) -> AttributeError:
    if known:
        # Python suggests a similar name of `obj`: an object without any.
        return AttributeError(f"{owner}.{name} is not in Umiak yet", name=name, obj=object())
    return AttributeError(f"module {owner!r} has no attribute {name!r}", name=name, obj=sys.modules.get(owner))


def _getter(module: str, names: frozenset[str]) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:
        if name in names:
            asking = sys._getframe(1)
            if asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
                # `from paddle import name` would replace an AttributeError by words of its own.
                raise ImportError(f"{module}.{name} is not in Umiak yet", name=f"{module}.{name}")
        raise _error(module, name, name in names)

    return __getattr__


class Absent:
    """An attribute of a class that is not there: looking for it is an AttributeError, on the class and on objects."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: str, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise _error(self._owner, self._name, True)


class _Finder(importlib.abc.MetaPathFinder):
    """Comes last: a module of the reference that no other finder has found."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> None:
        parent, _, leaf = fullname.rpartition(".")
        if parent in NAMES and leaf in NAMES[parent].split():
            # Who only asks for a spec (importlib.util.find_spec) gets None.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise ModuleNotFoundError(f"{fullname} is not in Umiak yet", name=fullname)


def _install() -> None:
    """Let modules of this package, and tensors, know the names."""
    for module, names in NAMES.items():
        if module == "Tensor":
            for name in names.split():
                setattr(Tensor, name, Absent("Tensor", name))
        else:
            importlib.import_module(module).__getattr__ = _getter(module, frozenset(names.split()))  # type: ignore[method-assign]
    sys.meta_path.append(_Finder())


_install()
