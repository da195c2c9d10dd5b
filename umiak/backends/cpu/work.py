"""Bytes and flops of launches, for tables: the minimum that a call has to move and compute, on any kernel.

Bytes: every operand and result once; a broadcast operand counts the bytes that it has in memory. Flops: additions,
multiplications, divisions, roots, minima and maxima of floats count 1, a fused multiply-add 2; functions count as the
arithmetic that they expand to; integers, comparisons and selections count nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from umiak.compiler.loop import node as n
from umiak.compiler.loop.functions.expand import expand
from umiak.compiler.loop.node import Node
from umiak.compiler.nest import Chain, Nest, ScanStage, ScatterStage, StoreStage
from umiak.core.tensor import Tensor
from umiak.ops import linalg

Work = Callable[[Sequence[Any], Sequence[Any], Sequence[int] | None], tuple[int, int]]

FLOPS = dict.fromkeys(("add", "sub", "mul", "div", "rem", "sqrt", "min", "max"), 1) | {"fma": 2}


def touched(x: Any) -> int:
    """Bytes of an operand; each element once, however often strides of 0 repeat it."""
    if not isinstance(x, Tensor):
        return 0
    count = math.prod(size for size, stride in zip(x.shape, x.strides, strict=True) if stride or not size)
    return x.dtype.nbytes(count)


def bytes_of(operands: Iterable[Any], outs: Iterable[Any]) -> int:
    """Return the bytes that operands and outputs hold."""
    return sum(map(touched, operands)) + sum(map(touched, outs))


def count(x: Any) -> int:
    """Return the number of elements of a tensor."""
    return math.prod(x.shape)


# --- nests -----------------------------------------------------------------------------------------------------------


class _Nest:
    """Cost of a nest: flops per point of P and of P × R, and which accesses lead to each buffer."""

    def __init__(self, nest: Nest) -> None:
        self.axes = len(nest.sizes)
        self.parallel = nest.n_parallel
        self.accesses = len(nest.accesses)
        self.taken = self.axes * (1 + self.accesses) + len(nest.extras)  # of the integers of a launch
        self.bytes = [b.type.bytes for b in nest.buffers]
        inner = {
            n.var(f"@{k}", n.I64)
            for k, a in enumerate(nest.accesses)
            if any(not (type(s) is int and s == 0) for s in a.strides[nest.n_parallel :])
        }
        roots: list[Node] = []
        per_p = per_r = 0
        access_sets: dict[str, set[tuple[int, ...]]] = {}
        for s in _stages(nest.stages):
            own = [x for x in (*getattr(s, "values", ()), getattr(s, "value", None), getattr(s, "where", None)) if x]
            roots += own
            if isinstance(s, (StoreStage, ScatterStage)):
                access_sets.setdefault(s.buffer, set()).add(_accesses_in(s.index))
            if isinstance(s, ScanStage):
                inner.update(s.results)
            monoid = getattr(s, "monoid", None)
            if monoid is not None:
                a, b = (tuple(n.var(f"{side}{k}", v.type) for k, v in enumerate(s.values)) for side in "ab")
                per_r += sum(map(_flops, n.walk(expand(list(monoid.combine(a, b))))))
        for x in n.walk(expand(roots)):
            if x.op == "load":
                access_sets.setdefault(x.attr, set()).add(_accesses_in(x.args[0]))
            if x.axes & inner:
                per_r += _flops(x)
            elif x.axes:  # else it is computed once
                per_p += _flops(x)
        self.per_p, self.per_r = per_p, per_r
        position = {b.name: i for i, b in enumerate(nest.buffers)}
        self.access_sets = [(position[name], tuple(sets)) for name, sets in access_sets.items()]

    def __call__(self, dims: Sequence[int], room: Sequence[int]) -> tuple[int, int]:
        """``room``: bytes of each buffer, which gathers and windows reach at most."""
        sizes = dims[: self.axes]
        moving = []
        for k in range(self.accesses):
            strides = dims[self.axes * (1 + k) : self.axes * (2 + k)]
            moving.append({a for a, stride in enumerate(strides) if stride})
        total = 0
        for buffer, access_sets in self.access_sets:
            axes = (set().union(*(moving[k] for k in accesses)) for accesses in access_sets)
            reached = max(math.prod(sizes[a] for a in each) for each in axes)
            total += min(reached * self.bytes[buffer], room[buffer])
        points = math.prod(sizes[: self.parallel])
        return total, points * (self.per_p + self.per_r * math.prod(sizes[self.parallel :]))


def _flops(x: Node) -> int:
    return FLOPS.get(x.op, 0) if x.type.is_float else 0


def _stages(stages: Iterable[Any]) -> Iterable[Any]:
    for s in stages:
        yield s
        yield from getattr(s, "body", ())


def _accesses_in(index: Node) -> tuple[int, ...]:
    """The accesses that an index depends on."""
    return tuple(sorted(int(x.attr[1:]) for x in index.axes if x.op == "var" and x.attr[0] == "@"))


def of_nest(nest: Nest) -> Work:
    """Return the function that gives bytes and flops of a launch of a nest."""
    known: list[_Nest] = []  # made when a launch is timed first

    def work(operands: Sequence[Any], outs: Sequence[Any], dims: Sequence[int] | None) -> tuple[int, int]:
        if not known:
            known.append(_Nest(nest))
        if dims is None:  # flat: one axis of all points
            return bytes_of(operands, outs), count(outs[0]) * known[0].per_p
        return known[0](dims, [touched(x) for x in (*operands, *outs)])

    return work


def of_chain(chain: Chain) -> Work:
    """Return the function that gives bytes and flops of a launch of a chain, temporaries included, as where its result
    lies apart."""
    known: list[_Nest] = []
    checked = 0 if chain.checks is None else _Nest(chain.checks).taken  # its integers come first

    def work(operands: Sequence[Any], outs: Sequence[Any], dims: Sequence[int] | None) -> tuple[int, int]:
        if not known:
            known.extend(map(_Nest, chain.nests))
        assert dims is not None, "chains have no flat entry"
        room = [*(touched(x) for x in (*operands, *outs)), *dims[: len(chain.temporaries)]]
        total, flops, at = 0, 0, len(chain.temporaries) + checked
        for one in known:
            more = one(dims[at : at + one.taken], room)
            total, flops, at = total + more[0], flops + more[1], at + one.taken
        return total, flops

    return work


# --- libraries and kernels of their own ------------------------------------------------------------------------------


def of_op(op: Any) -> Work:
    """Return what the op declares, ``multiply_adds``, as flops: two each, eight of complex numbers; and a bias, added
    once."""

    def work(operands: Sequence[Any], outs: Sequence[Any], dims: Sequence[int] | None) -> tuple[int, int]:
        each = 8 if outs[0].dtype.is_complex else 2
        biased = isinstance(op, linalg.Linear) and len(operands) > 2 and operands[2] is not None
        return bytes_of(operands, outs), each * op.multiply_adds(operands, outs) + biased * count(outs[0])

    return work
