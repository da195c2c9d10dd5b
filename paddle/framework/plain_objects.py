"""Objects in pickles that are neither containers of Python nor arrays: of the standard library, or of trusted classes.

A name of a file stands for one of four things: a function of this package that makes data (``Call``), a value
(``Value``), or a class that instances are made of (``Class``), of the standard library or given by who reads the file.
Those hold what is still to be converted, so they are made at the end, from an ``Instance``.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from umiak.core.dtype import DType, convert, named
from umiak.core.place import Place
from umiak.util.dtypes import NUMBERS

MOST_BITS = 1 << 13  # of ints that are computed with: a common divisor, or a length, takes the square of them


class Call:
    """A name that stands for ``make``, which takes the interpreter and the arguments; as data for ``value``."""

    __slots__ = ("make", "value")

    def __init__(self, make: Callable[..., Any], value: Any = None) -> None:
        self.make = make
        self.value = value


class Value:
    """A name that stands for a value, which is not called."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Class:
    """A name that stands for a class or another callable of which instances may be made.

    ``takes``: types of arguments; None: any, since who reads the file trusts it.
    """

    __slots__ = ("takes", "value")

    def __init__(self, value: Any, takes: tuple[type, ...] | None = None) -> None:
        self.value = value
        self.takes = takes


_NO_STATE = object()


class Instance:
    """An object that is made when all of its parts are."""

    __slots__ = ("arguments", "elements", "items", "keywords", "make", "state")

    def __init__(self, make: Callable[..., Any], arguments: tuple, keywords: dict[str, Any]) -> None:
        self.make = make
        self.arguments = arguments
        self.keywords = keywords
        self.state: Any = _NO_STATE
        self.items: list[tuple[Any, Any]] = []
        self.elements: list[Any] = []

    @property
    def has_state(self) -> bool:
        return self.state is not _NO_STATE

    def parts(self) -> Iterable[Any]:
        """All that it is made of."""
        yield from self.arguments
        yield from self.keywords.values()
        yield from self.elements
        for pair in self.items:
            yield from pair
        if self.has_state:
            yield self.state


def set_state(made: Any, state: Any) -> None:
    """Give an instance its attributes, as ``pickle`` does. Raises TypeError for a state that has none."""
    if type(made) is uuid.UUID:
        number = state.get("int") if type(state) is dict else None
        if type(number) is not int or not 0 <= number < 1 << 128:
            raise TypeError("the number of a UUID is required")
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots: Any = {}
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for attributes in (state or {}, slots or {}):
        if type(attributes) is not dict or not all(type(name) is str for name in attributes):
            raise TypeError(f"a dict of attributes by name is required, got {type(attributes).__name__}")
    if state:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


class ReferenceDtype:
    """A dtype as the reference pickles it: by its number."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: DType | None = None

    def build(self, number: Any) -> None:
        name = _NAMED.get(number) if type(number) is int else None
        if name is None:
            raise TypeError(f"the number of a dtype is required, got {number!r:.100}")
        self.value = convert(name)


_NAMED = {number: name for name, number in NUMBERS.items()}


def _of_texts(make: Callable[..., Any]) -> Callable[..., Any]:
    """A maker whose arguments are texts; they count as copies, since one text can be an argument many times."""

    def made(machine: Any, *texts: Any) -> Any:
        if not all(type(text) is str for text in texts):
            raise TypeError("texts are required")
        machine.copy(sum(len(text) for text in texts))
        return make(*texts)

    return made


def _of_nothing(make: Callable[[], Any]) -> Callable[..., Any]:
    """A maker without arguments."""

    def made(machine: Any, *nothing: Any) -> Any:
        if nothing:
            raise TypeError("no arguments are required")
        return make()

    return made


def _of_plain(make: Callable[..., Any]) -> Callable[..., Any]:
    """A maker that takes numbers, None, short bytes, and what makers like it gave."""

    def made(machine: Any, *values: Any) -> Any:
        for value in values:
            if value is not None and type(value) not in _TAKEN:
                raise TypeError("plain values are required")
            if type(value) is int and value.bit_length() > MOST_BITS:
                raise TypeError(f"ints of at most {MOST_BITS} bits are required")
        return make(*values)

    return made


_QUOTIENT = re.compile(r"-?[0-9]+(/[0-9]+)?")


def _fraction(machine: Any, *values: Any) -> fractions.Fraction:
    if len(values) == 1 and type(values[0]) is str and len(values[0]) <= MOST_BITS // 4:
        if not _QUOTIENT.fullmatch(values[0]):  # an exponent is as many digits as it says
            raise TypeError("a quotient of ints is required")
        machine.copy(len(values[0]))
        return fractions.Fraction(values[0])
    if not all(type(n) is int and n.bit_length() <= MOST_BITS for n in values):
        raise TypeError(f"ints of at most {MOST_BITS} bits are required")
    machine.copy(sum(n.bit_length() >> 3 for n in values))
    return fractions.Fraction(*values)


def _place(machine: Any, kind: Any, number: Any = 0) -> Place:
    if type(kind) is not str or len(kind) > 64 or type(number) is not int or not 0 <= number < 1 << 16:
        raise TypeError("a device is required")
    return Place(kind, number)


_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone)
_TAKEN = {int, float, bool, str, bytes, *_DATES}
_SYSTEM_PATH = type(pathlib.Path())
# Paths of another system are read as such, without access to files.
_PATHS: dict[str, type[pathlib.PurePath]] = {
    "PurePath": pathlib.PurePath,
    "PurePosixPath": pathlib.PurePosixPath,
    "PureWindowsPath": pathlib.PureWindowsPath,
    "PosixPath": pathlib.PurePosixPath,
    "WindowsPath": pathlib.PureWindowsPath,
    "Path": _SYSTEM_PATH,
    _SYSTEM_PATH.__name__: _SYSTEM_PATH,
}
_PATH_TYPES = (_SYSTEM_PATH, pathlib.PurePosixPath, pathlib.PureWindowsPath)
# What makers below give.
PLAIN = (*_DATES, decimal.Decimal, fractions.Fraction, range, slice, type(...), *_PATH_TYPES, DType, Place)
HASHABLE = (*_DATES, decimal.Decimal, *_PATH_TYPES, DType, Place)


NAMES: dict[tuple[str, str], Call | Value | Class] = {
    ("decimal", "Decimal"): Call(_of_texts(decimal.Decimal), decimal.Decimal),
    ("fractions", "Fraction"): Call(_fraction, fractions.Fraction),
    ("umiak.core.dtype", "convert"): Call(_of_texts(convert)),
    ("umiak.core.dtype", "named"): Call(_of_texts(named)),
    ("umiak.core.place", "Place"): Call(_place, Place),
    ("paddle", "dtype"): Call(lambda machine: ReferenceDtype(), DType),
    ("collections", "defaultdict"): Class(collections.defaultdict, (type(None), Value, Call, Class)),
    ("collections", "Counter"): Class(collections.Counter, (dict,)),
    ("collections", "deque"): Class(collections.deque, (tuple, list, int, type(None))),
    ("argparse", "Namespace"): Class(argparse.Namespace, ()),
    ("types", "SimpleNamespace"): Class(types.SimpleNamespace, ()),
    ("uuid", "UUID"): Class(uuid.UUID, ()),
}
for _type in _DATES:
    NAMES["datetime", _type.__name__] = Call(_of_plain(_type), _type)
for _module in ("pathlib", "pathlib._local"):
    for _name, _path in _PATHS.items():
        NAMES[_module, _name] = Call(_of_texts(_path), _path)
_BUILTINS: dict[str, Call | Value] = {
    "range": Call(_of_plain(range), range),
    "slice": Call(_of_plain(slice), slice),
    "Ellipsis": Value(...),
    "bytes": Call(_of_nothing(bytes), bytes),  # as protocol 2 has empty ones
    "list": Call(_of_nothing(list), list),  # of a class of its own, whose items follow
    **{_builtin.__name__: Value(_builtin) for _builtin in (int, float, bool, str, dict)},
}
_OF_PYTHON_2 = {"range": "xrange", "int": "long", "str": "unicode"}  # which protocol 2 says for those of 3
for _name, _known in _BUILTINS.items():
    NAMES["builtins", _name] = _known
    NAMES["__builtin__", _name] = NAMES["__builtin__", _OF_PYTHON_2.get(_name, _name)] = _known


def trusted_names(objects: Iterable[Any]) -> dict[tuple[str, str], Class]:
    """Names of classes and functions that a file may call, by module and qualified name.

    Raises TypeError for what has no such name.
    """
    names = {}
    for thing in objects:
        if not callable(thing) or not hasattr(thing, "__qualname__") or not hasattr(thing, "__module__"):
            raise TypeError(f"{thing!r:.100}")
        names[thing.__module__, thing.__qualname__] = Class(thing)
    return names
