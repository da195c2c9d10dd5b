"""Error of a name of the reference that Umiak lacks: it says that the name is missing, and suggests nothing similar.

Nothing is done before such a name is asked for, and ``hasattr`` stays False.
"""

from __future__ import annotations

import dis
import importlib.abc
import sys
from types import FrameType, ModuleType
from typing import Any

from paddle._absent_names import NAMES

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def _error(owner: str, name: str, known: bool) -> AttributeError:
    if known:
        # Python suggests a similar name of `obj`: an object without any.
        return AttributeError(f"{owner}.{name} is not in Umiak yet", name=name, obj=object())
    return AttributeError(f"module {owner!r} has no attribute {name!r}", name=name, obj=sys.modules.get(owner))


def refuse(module: str, name: str, known: bool, asking: FrameType) -> Exception:
    """The error for a name that a module does not have; ``known``: the reference has it."""
    if known and asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        # `from paddle import name` would replace the message of an AttributeError by its own.
        return ImportError(f"{module}.{name} is not in Umiak yet", name=f"{module}.{name}")
    return _error(module, name, known)


class Absent:
    """An attribute of a class that is not there: looking for it is an AttributeError, on the class and on objects."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: str, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise _error(self._owner, self._name, True)


class _Finder(importlib.abc.MetaPathFinder):
    """Import hook, asked last: refuses a module that the reference has and no other finder has found."""

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> None:
        parent, _, leaf = fullname.rpartition(".")
        if parent in NAMES and leaf in NAMES[parent].split():
            # An import fails with a message; importlib.util.find_spec, which only asks, gets None.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise ModuleNotFoundError(f"{fullname} is not in Umiak yet", name=fullname)


def mark(owner: type) -> None:
    """Set an :class:`Absent` on a class for each attribute that the reference's class has and ours lacks."""
    for name in NAMES[owner.__name__].split():
        setattr(owner, name, Absent(owner.__name__, name))


sys.meta_path.append(_Finder())
