"""A program in the operators of PaddlePaddle (its IR's dialects), as a file of it holds them.

Readers of files make a :class:`Module`, ``record`` makes a program of one; ``translate`` makes one of a program, which
writers of files take. Operators are those of the reference's IR (``pd_op.conv2d``); readers of older formats
give them these names and attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class TensorType(NamedTuple):
    """A tensor's element type, by its name here (``float32``), and sizes, -1 for one that is not known."""

    dtype: str
    shape: tuple[int, ...]


# Of a list of tensors, which one value may be; None for a value that is absent.
ValueType = TensorType | tuple[TensorType, ...] | None


class Attribute(NamedTuple):
    """A constant of an operation. ``kind``: ``bool``, ``i32``, ``i64``, ``f32``, ``f64``, ``str``, ``intarray``,
    ``dtype`` (by name), ``place`` (device kind, number, name), ``array`` (a tuple of attributes) and others.
    """

    kind: str
    data: Any

    @property
    def plain(self) -> Any:
        """The value alone: numbers, text, lists of them."""
        if self.kind == "array":
            return [x.plain for x in self.data]
        return list(self.data) if self.kind == "intarray" else self.data


@dataclass(slots=True)
class Result:
    """A value that an operation or a block makes; ``number`` names it within its module."""

    number: int
    type: ValueType


@dataclass(slots=True)
class Operation:
    """A call of an operator. ``operands``: numbers of values, None for one that is absent; ``traits``: what is said of
    the results (``stop_gradient``, ``persistable``), a value for each of them.
    """

    name: str
    operands: list[int | None] = field(default_factory=list)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    regions: list[Block] = field(default_factory=list)
    traits: dict[str, list[Any]] = field(default_factory=dict)

    def plain(self, name: str, default: Any = None) -> Any:
        """Return an attribute's value; ``default`` where there is none."""
        found = self.attributes.get(name)
        return default if found is None else found.plain


@dataclass(slots=True)
class Block:
    """Operations in order; those of an inner block may use the values of the blocks around it."""

    arguments: list[Result] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def walk(self) -> Iterator[Operation]:
        """All operations, each before those of its regions."""
        for o in self.operations:
            yield o
            for region in o.regions:
                yield from region.walk()


def reads(o: Operation) -> Iterator[int]:
    """The numbers of all values that an operation uses, inside of its regions too."""
    yield from (n for n in o.operands if n is not None)
    for region in o.regions:
        for inner in region.operations:
            yield from reads(inner)


# Operations with a meaning of their own in a module.
PARAMETER = "builtin.parameter"  # attribute `parameter_name`; traits persistable, stop_gradient, trainable
COMBINE, SPLIT = "builtin.combine", "builtin.split"  # a list of tensors, and the parts of one
ASSERT = "pd_op.assert"  # a flag that must be true, and what is shown where it is not
DATA = "pd_op.data"  # what a run is fed: attributes `name`, `shape`, `dtype`
FETCH = "pd_op.fetch"  # what a run gives: attributes `name`, `col`
YIELD = "cf.yield"  # the last operation of a region


_OFFSETS = "@LOD@"


def offsets_name(name: str, level: int) -> str:
    """The name of the offsets of the sequences that an input or a result has."""
    return f"{name}{_OFFSETS}{level}"


def is_offsets(name: str) -> bool:
    """Is it the name of offsets?"""
    return _OFFSETS in name


def owner_of_offsets(name: str) -> str:
    """The name of the input or result whose offsets a name is for; another name as it is."""
    return name.partition(_OFFSETS)[0]


@dataclass(slots=True)
class Module:
    """A whole program. ``version``: of the operators, as the file said; ``trainable``: whether gradients may flow;
    ``offsets``: of the packed sequences that results have, by name: values, the outermost level first; ``packed``:
    inputs that may have such sequences.
    """

    block: Block
    version: int = 0
    trainable: bool = True
    offsets: dict[str, tuple[int, ...]] = field(default_factory=dict)
    packed: frozenset[str] = frozenset()

    def named(self, name: str) -> list[Operation]:
        """The outermost operations of a name."""
        return [o for o in self.block.operations if o.name == name]

    def fetch_offsets(self) -> None:
        """Let a run give offsets of the sequences that results have, too, behind all results."""
        column = 1 + max((o.plain("col", i) for i, o in enumerate(self.named(FETCH))), default=-1)
        lowest = min((r.number for o in self.block.operations for r in o.results), default=0)
        for name, levels in self.offsets.items():
            for i, n in enumerate(levels):
                attributes = {"name": Attribute("str", offsets_name(name, i)), "col": Attribute("i32", column)}
                lowest, column = lowest - 1, column + 1
                result = Result(lowest, TensorType("int64", (-1,)))
                self.block.operations.append(Operation(FETCH, [n], attributes, [result]))
        self.offsets = {}
