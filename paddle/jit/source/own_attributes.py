"""Attributes that an object has by itself, read and set without any code of its class: no property, ``__getattr__`` or
``__setattr__`` runs, and a proxy is not asked for what it stands for."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType
from typing import Any, NamedTuple, TypeVar

_Result = TypeVar("_Result")
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, staticmethod, classmethod)


def by_type(compute: Callable[[type], _Result]) -> Callable[[type], _Result]:
    """A function of a type that is computed once for each."""
    cached = functools.lru_cache(maxsize=4096)(compute)

    def get(kind: type) -> _Result:
        try:
            return cached(kind)
        except TypeError:  # its metaclass has no hash
            return compute(kind)

    return get


class _Layout(NamedTuple):
    """The places of a type's objects for attributes. ``cached``: names of values that descriptors compute and keep."""

    namespace: Any
    slots: dict[str, Any]
    cached: frozenset[str]


@by_type
def _layout(kind: type) -> _Layout:
    namespace, slots = None, dict[str, Any]()
    seen, cached = set[str](), set[str]()
    for c in kind.__mro__:
        own = type.__dict__["__dict__"].__get__(c)
        if namespace is None and isinstance(own.get("__dict__"), GetSetDescriptorType | MemberDescriptorType):
            namespace = own["__dict__"]
        names = own.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{c.__name__.lstrip('_')}{name}"
            if type(own.get(name)) is MemberDescriptorType:
                slots.setdefault(name, own[name])
        for name, x in own.items():
            if name not in seen and _computes(x):
                cached.add(name)
            seen.add(name)
    return _Layout(namespace, slots, frozenset(cached))


def _computes(x: Any) -> bool:
    """Return whether an attribute of a class is like ``functools.cached_property``: what it computes stands for it."""
    kind = type(x)
    return hasattr(kind, "__get__") and not hasattr(kind, "__set__") and not issubclass(kind, _FUNCTIONS)


def module_of(kind: type) -> Any:
    """Return the name of the module that a class says to be of."""
    return type.__getattribute__(kind, "__module__")


def namespace_of(x: Any) -> Mapping[str, Any]:
    """Return the ``__dict__`` of an object; an empty one where it has none, or one of its class's making."""
    if issubclass(type(x), threading.local):
        return threading.local.__getattribute__(x, "__dict__")  # that of this thread, which no descriptor gives
    descriptor = _layout(type(x)).namespace
    return {} if descriptor is None else descriptor.__get__(x)


def has_namespace(x: Any) -> bool:
    """Return whether an object has a ``__dict__``."""
    return issubclass(type(x), threading.local) or _layout(type(x)).namespace is not None


def cached_names(x: Any) -> frozenset[str]:
    """The names of an object's attributes that its class computes when they are asked for, and keeps."""
    return _layout(type(x)).cached


def attributes_of(x: Any) -> dict[str, Any]:
    """Return the attributes that an object has by itself; of a class no functions."""
    own = namespace_of(x)
    if isinstance(own, dict):
        out = dict(own)
    else:
        out = {k: v for k, v in own.items() if k[:2] != "__" and not hasattr(type(v), "__get__")}
    for name, slot in _layout(type(x)).slots.items():
        try:
            out[name] = slot.__get__(x)
        except AttributeError:  # it has no value
            continue
    return out


def put_attribute(x: Any, name: str, value: Any) -> None:
    """Set an attribute that an object has by itself."""
    slot, own = _layout(type(x)).slots.get(name), namespace_of(x)
    if slot is not None:
        slot.__set__(x, value)
    elif isinstance(own, dict):
        own[name] = value
    else:
        type.__setattr__(x, name, value)


def remove_attribute(x: Any, name: str) -> None:
    """Remove an attribute that an object has by itself."""
    slot, own = _layout(type(x)).slots.get(name), namespace_of(x)
    if slot is not None:
        slot.__delete__(x)
    elif isinstance(own, dict):
        own.pop(name, None)
    else:
        type.__delattr__(x, name)
