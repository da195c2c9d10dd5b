"""Attributes of classes as Python looks them up, without running anything."""

from __future__ import annotations

import enum
from types import FunctionType
from typing import Any

from umiak.core.tensor import Tensor

NOTHING = object()  # no such attribute
DELETED = type("Deleted", (), {"__repr__": lambda self: "<deleted>"})()


def class_attribute(kind: type, name: str) -> tuple[Any, Any]:
    """Return an entry of a class or its bases, as it stands there, and the class that has it."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name], base
    return NOTHING, None


def bound(descriptor: Any, x: Any) -> Any:
    """Return a function of a class as the method of an object."""
    return descriptor.__get__(x, type(x)) if hasattr(descriptor, "__get__") else descriptor


def is_enum(x: Any) -> bool:
    """Return whether ``x`` is a class of enumeration members."""
    return isinstance(x, enum.EnumMeta)


def is_iterator(x: Any) -> bool:
    """Return whether ``x`` is an iterator."""
    return hasattr(type(x), "__next__")


def special(x: Any, name: str) -> Any:
    """Return a special method that is written in Python; None for others."""
    found, owner = class_attribute(type(x), name)
    return found if type(found) is FunctionType and not (isinstance(x, Tensor) or owner is object) else None
