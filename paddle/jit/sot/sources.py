"""Sources: the place that a value was read from, as an expression over the arguments of a frame and over fixed objects.

A source says how a guard finds a value again at a later call, and how code after a graph break loads an object that the
frame did not make.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.tensor import Tensor


class Ref:
    """An object compared by identity."""

    __slots__ = ("object",)

    def __init__(self, x: Any) -> None:
        self.object = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.object is other.object

    def __hash__(self) -> int:
        return id(self.object)

    def __repr__(self) -> str:
        return getattr(self.object, "__name__", None) or f"<{type(self.object).__name__}>"


class Namespace(dict):
    """Objects that generated code names."""

    def name(self, x: Any) -> str:
        """Return the name of an object, the same for the same object."""
        key = f"K{id(x):x}"
        self[key] = x
        return key


@dataclass(frozen=True)
class Source:
    """The place that a value was read from."""

    base: Source | None

    def expression(self, base: str, names: Namespace) -> str:
        """Return Python code that reads the value; ``base`` is that of the source it is read from."""
        raise NotImplementedError

    def holder(self) -> tuple[Any, Any] | None:
        """Return the cell (and None) or the dict and the key where the value is, if these are fixed objects."""
        return None

    def path(self) -> Iterator[Source]:
        """Yield the sources from the first to this one."""
        if self.base is not None:
            yield from self.base.path()
        yield self


@dataclass(frozen=True)
class Argument(Source):
    """A parameter of the frame's function."""

    name: str

    def expression(self, base: str, names: Namespace) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Fixed(Source):
    """An object whose identity is guarded already, or that the code itself holds."""

    ref: Ref

    def expression(self, base: str, names: Namespace) -> str:
        return names.name(self.ref.object)

    def __str__(self) -> str:
        return repr(self.ref)


def fixed(x: Any) -> Fixed:
    """The source of an object that cannot be another one."""
    return Fixed(None, Ref(x))


@dataclass(frozen=True)
class Attribute(Source):
    """An entry of an instance's ``__dict__``."""

    name: str

    def expression(self, base: str, names: Namespace) -> str:
        return f"{base}.__dict__[{self.name!r}]"

    def holder(self) -> tuple[Any, Any] | None:
        return (self.base.ref.object.__dict__, self.name) if isinstance(self.base, Fixed) else None

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Member(Source):
    """An attribute that the object itself gives: a slot, or what a built-in type has."""

    name: str

    def expression(self, base: str, names: Namespace) -> str:
        return f"{base}.{self.name}"

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Values(Source):
    """The values of a sparse tensor."""

    def expression(self, base: str, names: Namespace) -> str:
        return f"{base}.values()"

    def __str__(self) -> str:
        return f"{self.base}.values()"


@dataclass(frozen=True)
class ArrayTensor(Source):
    """An array as a tensor, which is made at every call."""

    def expression(self, base: str, names: Namespace) -> str:
        return f"{names.name(tensor_of)}({base})"

    def __str__(self) -> str:
        return str(self.base)


def tensor_of(x: np.ndarray) -> Tensor:
    """Return the elements of an array as a tensor at the current place."""
    return from_numpy(x, current().place)


@dataclass(frozen=True)
class Item(Source):
    """An element of a list, tuple or dict; of a class, an entry of its ``__dict__``."""

    key: Any

    def expression(self, base: str, names: Namespace) -> str:
        plain = type(self.key) in (int, str, bool)
        return f"{base}[{self.key!r}]" if plain else f"{base}[{names.name(self.key)}]"

    def holder(self) -> tuple[Any, Any] | None:
        base = self.base
        return (base.ref.object, self.key) if isinstance(base, Fixed) and type(base.ref.object) is dict else None

    def __str__(self) -> str:
        return f"{self.base}[{self.key!r}]"


@dataclass(frozen=True)
class ClassAttribute(Source):
    """An entry of a class's ``__dict__``."""

    name: str

    def expression(self, base: str, names: Namespace) -> str:
        return f"{base}.__dict__[{self.name!r}]"

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Contents(Source):
    """The contents of a cell of a closure. ``name``: of the variable."""

    name: str

    def expression(self, base: str, names: Namespace) -> str:
        return f"{base}.cell_contents"

    def holder(self) -> tuple[Any, Any] | None:
        return (self.base.ref.object, None) if isinstance(self.base, Fixed) else None

    def __str__(self) -> str:
        return self.name
