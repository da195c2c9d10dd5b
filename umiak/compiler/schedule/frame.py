"""Common state of the kernels of one variant: integer arguments, buffers, and the nest's expressions at a point."""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.loop.monoid import Values
from umiak.compiler.loop.node import Node, add, counted, dim, i64, mul, replace, select, sub, total, walk
from umiak.compiler.loop.tree import IN, OUT, Buffer, Fail, Kernel, Statement, Store
from umiak.compiler.nest import (
    SPLIT_COLUMN,
    SPLIT_ROW,
    STRIDES,
    FailStage,
    Nest,
    ReduceStage,
    ScanStage,
    Stage,
    StoreStage,
    Variant,
    position,
)
from umiak.compiler.schedule.cache import CACHE_INDEX


class Frame:
    """A nest under a variant. Sizes and strides are dims of the kernels, in the order that ``Variant`` tells."""

    def __init__(self, nest: Nest, variant: Variant, streaming: bool = False) -> None:
        p, r = variant.p, variant.r
        if len(variant.kinds) != len(nest.accesses):
            raise ValueError(
                f"[{nest.name}] requires kinds of its {len(nest.accesses)} accesses, got {len(variant.kinds)}"
            )
        self.nest, self.variant, self.streaming = nest, variant, streaming
        self.chunked = True  # whether long sums go in chunks; else each number joins the total by itself
        self.local: list[Buffer] = []  # of the totals of long sums, for the next kernel
        self.reread: set[str] = set()  # outputs that the kernel reads again
        self.p, self.r = p, r
        first = len(nest.extras)
        self.p_sizes = [dim(first + k) for k in range(p)]
        self.r_sizes = [dim(first + p + k) for k in range(r)]
        first += p + r
        self.strides = [[dim(first + k * (p + r) + axis) for axis in range(p + r)] for k in range(len(nest.accesses))]
        self.dims = first + len(nest.accesses) * (p + r)
        if variant.schedule in (SPLIT_ROW, SPLIT_COLUMN):
            self.blocks, self.block_length = dim(self.dims), dim(self.dims + 1)
            self.dims += 2
        for strides, (along_p, along_other) in zip(self.strides, variant.kinds):
            if p:
                strides[p - 1] = _known(along_p, strides[p - 1])
            if r or variant.tile >= 0:
                other = variant.tile if variant.tile >= 0 else p + r - 1
                strides[other] = _known(along_other, strides[other])
        self._positions = {position(k): k for k in range(len(nest.accesses))}
        # What a scan has come to differs at each point.
        self._varies: dict[Node, bool] = {r: True for s in nest.stages if isinstance(s, ScanStage) for r in s.results}

    def at(
        self, x: Node, points: Sequence[Node], reduced: Sequence[Node] | None = None,
        table: dict[Node, Node] | None = None,
    ) -> Node:  # fmt: skip
        """An expression of the nest at a point of P, and of R where it depends on R."""
        exchange = dict(table or {})
        for y in walk([x]):
            k = self._positions.get(y)
            if k is not None:
                exchange[y] = self.position(k, points, reduced)
        return replace([x], exchange)[0]

    def position(self, k: int, points: Sequence[Node], reduced: Sequence[Node] | None) -> Node:
        indices = [*points, *(reduced or ())]
        return total(mul(i, s) for i, s in zip(indices, self.strides[k]))

    def varies(self, x: Node) -> bool:
        """Return whether an expression may differ from one point of R to another."""
        for y in walk([x]):
            if y not in self._varies:
                k = self._positions.get(y)
                if k is not None:
                    self._varies[y] = self.r > 1 or (self.r == 1 and self.strides[k][-1] is not i64(0))
                else:
                    self._varies[y] = any(self._varies[a] for a in y.args) or y is CACHE_INDEX
        return self._varies[x]

    def kernel(self, name: str, body: Sequence[Statement], scratch: Sequence[Buffer] = ()) -> Kernel:
        v = self.variant
        kinds = "".join(f"{a}{b}" for a, b in v.kinds)
        tile = f"_t{v.tile}" if v.tile >= 0 else ""
        buffers = [Buffer(b.name, b.type, OUT if b.output else IN) for b in self.nest.buffers]
        long = "_long" if v.long else ""
        full = f"{self.nest.name}_{v.schedule}{name}_{v.p}_{v.r}_{kinds}{tile}{long}"
        local, self.local = self.local, []
        return Kernel(full, (*buffers, *scratch, *local), self.dims, tuple(body))

    # --- stages without a loop of their own ---

    def store(
        self, s: StoreStage, points: Sequence[Node], reduced: Sequence[Node] | None = None,
        table: dict[Node, Node] | None = None,
    ) -> Store:  # fmt: skip
        where = None if s.where is None else self.at(s.where, points, reduced, table)
        index, value = self.at(s.index, points, reduced, table), self.at(s.value, points, reduced, table)
        stays_local = s.buffer not in self.reread and any(b.name == s.buffer and b.output for b in self.nest.buffers)
        return Store(s.buffer, index, value, where, self.streaming and stays_local)

    def fail(
        self, s: FailStage, points: Sequence[Node], reduced: Sequence[Node] | None = None,
        table: dict[Node, Node] | None = None,
    ) -> Fail:  # fmt: skip
        return Fail(s.code, self.at(s.where, points, reduced, table))


def _known(kind: int, stride: Node) -> Node:
    return i64(STRIDES[kind]) if kind in STRIDES else stride


def unflatten(index: Node, sizes: Sequence[Node]) -> list[Node]:
    """Indices along axes (outermost first) of the point with a number."""
    indices: list[Node] = []
    for size in reversed(sizes[1:]):
        outer = counted(index, size)
        indices.append(sub(index, mul(outer, size)))
        index = outer
    return [index, *reversed(indices)] if sizes else []


def product(sizes: Sequence[Node]) -> Node:
    result = i64(1)
    for s in sizes:
        result = mul(result, s)
    return result


def flatten(indices: Sequence[Node], sizes: Sequence[Node]) -> Node:
    """The number of a point."""
    result = i64(0)
    for i, s in zip(indices, sizes):
        result = add(mul(result, s), i)
    return result


def identity(s: ReduceStage | ScanStage) -> Values:
    return s.monoid.identity(tuple(r.type for r in s.results))


def masked(s: ReduceStage | ScanStage) -> Values:
    """The values, with the identity where the stage leaves a point out."""
    where = getattr(s, "where", None)
    if where is None:
        return s.values
    return tuple(select(where, v, i) for v, i in zip(s.values, identity(s)))


def without_axes(stages: Sequence[Stage]) -> list[Stage]:
    """Stages of a nest whose R has no axes left: reductions of one value, which become their values."""
    table: dict[Node, Node] = {}
    result: list[Stage] = []
    for s in stages:
        if isinstance(s, (ReduceStage, ScanStage)):
            exclusive = isinstance(s, ScanStage) and s.exclusive
            values = identity(s) if exclusive else s.monoid.combine(identity(s), masked(s))
            table.update(zip(s.results, replace(values, table)))
        for x in s.body if isinstance(s, ScanStage) else (s,):
            if isinstance(x, StoreStage):
                where = None if x.where is None else replace([x.where], table)[0]
                index, value = replace([x.index, x.value], table)
                result.append(StoreStage(x.buffer, index, value, True, where))
            elif isinstance(x, FailStage):
                result.append(FailStage(x.code, replace([x.where], table)[0]))
    return result
