"""Sums of places and integers of a mask: both sides of its comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from umiak.compiler.passes.mask_reader import Call, Entry, Half, Node, Number, Place, Vector
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.scope import symbols_of


@dataclass(frozen=True, eq=False)
class Sum:
    """``i * query + j * key + number`` and multiples of trees that depend on one of both, of integers.

    ``bits``: of the narrowest integers in which the program adds it up; None where it does not.
    """

    i: int
    j: int
    number: Any
    terms: tuple[tuple[int, Node], ...] = ()
    bits: int | None = None

    def __add__(self, other: Sum) -> Sum:
        number, terms = self.number + other.number, self.terms + other.terms
        bits = min((n for n in (self.bits, other.bits) if n is not None), default=None)
        return Sum(self.i + other.i, self.j + other.j, number, terms, bits)

    def times(self, by: int) -> Sum:
        """Return a multiple."""
        return Sum(self.i * by, self.j * by, self.number * by, tuple((n * by, x) for n, x in self.terms), self.bits)

    def __sub__(self, other: Sum) -> Sum:
        return self + other.times(-1)

    def same(self, other: Sum) -> bool:
        """Return whether both are known to be equal."""
        return (self.i, self.j, self.terms) == (other.i, other.j, other.terms) and dim.same(self.number, other.number)

    def may_wrap(self, sizes: Iterable[Any]) -> bool:
        """Return whether it may not fit the integers in which the program adds it up. ``sizes``: of the scores."""
        if self.bits is None:
            return False
        if type(self.number) is int:
            small = abs(self.number) < 2**30
        else:  # a tensor has fewer than 2^48 elements
            small = self.bits == 64 and _is_linear(self.number, set(symbols_of(tuple(sizes))))
        return self.bits < 32 or bool(self.terms) or not small or abs(self.i) > 1 or abs(self.j) > 1

    def part(self, by_query: bool) -> Sum:
        """Return what depends on the query, or the rest."""
        terms = tuple((n, x) for n, x in self.terms if x.by_query == by_query)
        return Sum(self.i, 0, 0, terms) if by_query else Sum(0, self.j, self.number, terms)


def _is_linear(x: Any, sizes: set[Sym]) -> bool:
    """Return whether a number is a sum of few sizes, and small multiples of them."""
    if type(x) is not Sym:
        return abs(x) < 2**30
    if x.op == "add":
        return len(x.args) <= 8 and all(_is_linear(y, sizes) for y in x.args)
    if x.op == "mul":
        number, *rest = x.args
        return type(number) is int and abs(number) < 2**10 and len(rest) == 1 and rest[0] in sizes
    return x in sizes


def integers(node: Node) -> Sum | None:
    """Return a tree as a sum; None where it is of another type, or mixes both places otherwise."""
    if isinstance(node, Number):
        kind = node.value.kind if type(node.value) is Sym else type(node.value).__name__
        is_integer = node.dtype is None or node.dtype.is_integer
        return Sum(0, 0, node.value) if kind == "int" and is_integer else None
    if node.dtype is None or not node.dtype.is_integer or node.dtype.name == "uint64":
        return None
    if isinstance(node, Place) and type(node.step) is int:
        return Sum(node.step if node.axis == "i" else 0, node.step if node.axis == "j" else 0, node.start)
    if isinstance(node, Call) and (total := _arithmetic(node, [integers(x) for x in node.operands])) is not None:
        return total
    return None if node.by_both else Sum(0, 0, 0, ((1, node),))


def _arithmetic(node: Call, parts: list[Sum | None]) -> Sum | None:
    dtype = node.dtype
    assert dtype is not None
    if any(p is None for p in parts):
        return None
    a, *rest = (p for p in parts if p is not None)
    if node.name in ("cast", "copy"):
        source = node.operands[0].dtype
        keeps = source is None or source is dtype or (source.bits < dtype.bits and not _is_unsigned(dtype))
        return a if keeps else None
    if _is_unsigned(dtype):
        return None
    total = None
    if node.name == "neg":
        total = a.times(-1)
    elif node.name in ("add", "sub"):
        total = a + rest[0] if node.name == "add" else a - rest[0]
    elif node.name == "mul":
        for x, by in ((a, rest[0]), (rest[0], a)):
            if (by.i, by.j, by.terms) == (0, 0, ()) and type(by.number) is int:
                total = x.times(by.number)
                break
    return None if total is None else replace(total, bits=min(dtype.bits, total.bits or dtype.bits))


def _is_unsigned(dtype: DType) -> bool:
    return dtype.name.startswith("uint")


def height(node: Half) -> Sum:
    """By how much a pair lies above a diagonal."""
    down, across = (Sum(int(a == "i"), int(a == "j"), 0) for a in (node.down, node.across))
    return across - down + Sum(0, 0, -node.diagonal)


def mirrored(queries: Sum, keys: Sum) -> bool:
    """Return whether a sum is for queries what another one is for keys."""
    if queries.i != keys.j or not dim.same(keys.number, queries.number) or len(queries.terms) != len(keys.terms):
        return False
    return all(m == n and _alike(x, y) for (m, x), (n, y) in zip(queries.terms, keys.terms, strict=True))


def _alike(x: Node, y: Node) -> bool:
    """Return whether a tree is for queries what another one is for keys."""
    if x.dtype is not y.dtype or len(x.operands) != len(y.operands):
        return False
    match x, y:
        case Number(), Number():
            return type(x.value) is type(y.value) and dim.same(x.value, y.value)
        case Place(), Place():
            return (x.axis, y.axis) == ("i", "j") and dim.same(x.start, y.start) and dim.same(x.step, y.step)
        case Vector(), Vector():
            return x.value is y.value and tuple("j" if a == "i" else a for a in x.of) == y.of
        case Call(), Call():
            same = x.operation.op is y.operation.op and not x.operation.params and not y.operation.params
        case _:
            same = isinstance(x, Entry) and isinstance(y, Entry)
    return same and all(map(_alike, x.operands, y.operands))
