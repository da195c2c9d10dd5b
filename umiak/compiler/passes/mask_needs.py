"""Conditions without which a query sees no key: causal attention is recognised by them."""

from __future__ import annotations

from dataclasses import dataclass

from umiak.compiler.passes.mask_changes import COMPARISONS
from umiak.compiler.passes.mask_reader import Call, Half, Node, Number
from umiak.compiler.passes.mask_sums import Sum, height, integers, mirrored
from umiak.ir.expr import Sym

NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, eq=False)
class Needs:
    """``sums``: what is 0 or more where a tree has a truth. ``exact``: it has that truth wherever they are. ``common``:
    sums of queries that are equal to those of keys there."""

    sums: tuple[Sum, ...] = ()
    exact: bool = False
    common: tuple[Sum, ...] = ()

    def __add__(self, other: Needs) -> Needs:
        return Needs(self.sums + other.sums, self.exact and other.exact, self.common + other.common)


def needs(node: Node, truth: bool) -> Needs:
    """Return what has to hold for a tree to be other than 0, or for it to be 0."""
    if isinstance(node, Number):
        return Needs((), type(node.value) is not Sym and bool(node.value) == truth)
    if isinstance(node, Half):
        return _of_half(node, truth)
    if not isinstance(node, Call):
        return Needs()
    name, args = node.name, node.operands
    if name in COMPARISONS:
        return _of_comparison(name if truth else NEGATED[name], *args)
    if name in ("logical_not", "bitwise_not") and args[0].dtype is not None and args[0].dtype.is_bool:
        return needs(args[0], not truth)
    if name in ("cast", "copy"):
        source, to = args[0].dtype, node.dtype
        keeps = source is to or (source is not None and source.is_bool)
        return needs(args[0], truth) if keeps else Needs()
    are_flags = all(x.dtype is not None and x.dtype.is_bool for x in args)
    if (name == "logical_and" or (name in ("bitwise_and", "mul") and are_flags)) and truth:
        return needs(args[0], True) + needs(args[1], True)
    if (name == "logical_or" or (name in ("bitwise_or", "add") and are_flags)) and not truth:
        return needs(args[0], False) + needs(args[1], False)
    if name == "where":
        return _of_where(truth, *args)
    if name in ("mul", "sub") and not truth:
        return _of_penalty(name, *args)
    return Needs()


def _of_half(node: Half, truth: bool) -> Needs:
    inside = height(node)
    if not node.upper:
        inside = inside.times(-1)
    if truth:
        return Needs((inside,), True) + needs(node.x, True)
    inner = needs(node.x, True)
    if inner.exact and not inner.sums:  # one that is nowhere 0 is so outside
        return Needs((inside.times(-1) + Sum(0, 0, -1),), True)
    return Needs()


def _of_comparison(name: str, a: Node, b: Node) -> Needs:
    left, right = integers(a), integers(b)
    if left is not None and right is not None:
        over = left - right if name in ("ge", "gt") else right - left
        if name in ("eq", "ne"):
            queries, rest = over.part(True), over.part(False).times(-1)
            is_common = name == "eq" and bool(queries.terms) and mirrored(queries, rest)
            return Needs((), False, (queries,) if is_common else ())
        return Needs((over if name in ("ge", "le") else over + Sum(0, 0, -1),), True)
    for x, y in ((a, b), (b, a)):
        if name in ("eq", "ne") and isinstance(y, Number) and type(y.value) is not Sym and y.value == 0:
            return needs(x, name == "ne")
    return Needs()


def _of_where(truth: bool, condition: Node, x: Node, y: Node) -> Needs:
    """One of both is a number that has the other truth."""
    for other, chosen, when in ((y, x, True), (x, y, False)):
        if isinstance(other, Number) and type(other.value) is not Sym and bool(other.value) != truth:
            return needs(condition, when) + needs(chosen, truth)
    return Needs()


def _of_penalty(name: str, a: Node, b: Node) -> Needs:
    """``(1 - x) * number`` is 0 where x is 1."""
    for x, by in ((a, b), (b, a)):
        if not isinstance(by, Number) or type(by.value) is Sym:
            continue
        if name == "mul" and 1 <= abs(by.value):  # a product with less might be rounded to 0
            part = needs(x, False)
            return Needs(part.sums, part.exact and abs(by.value) < float("inf"), part.common)
        if name == "sub" and by.value == 1 and ((part := needs(x, True)).sums or part.common):
            # x is 1 wherever it is not 0, as flags are.
            return Needs(part.sums, part.exact and _is_flag(x), part.common)
    return Needs()


def _is_flag(x: Node) -> bool:
    """Return whether all that a tree gives is 0 or 1."""
    if x.dtype is not None and x.dtype.is_bool:
        return True
    if isinstance(x, Number):
        return x.value in (0, 1)
    if isinstance(x, Half):
        return _is_flag(x.x)
    return isinstance(x, Call) and x.name in ("cast", "copy") and _is_flag(x.operands[0])
