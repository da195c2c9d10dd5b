"""Placements of a tensor on a mesh of ranks.

A mesh is represented by its sizes, one per axis. *Placements* say for each mesh axis how the tensor lies along it: one
of its dims is sharded, it is replicated, or each rank holds partial values. A *layout* holds the same information by
dim of the tensor; propagation reads and writes layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from umiak.ops import Box
from umiak.util.errors import op_error

KINDS = ("sum", "avg", "max", "min", "prod", "any", "all")


@dataclass(frozen=True)
class Shard:
    """Consecutive shards of dim ``dim`` along the mesh axis."""

    dim: int


@dataclass(frozen=True)
class Replicate:
    """The same values on all ranks along the mesh axis."""


@dataclass(frozen=True)
class Partial:
    """Partial values on the ranks along the mesh axis; ``kind`` is the reduction that combines them."""

    kind: str = "sum"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise op_error(ValueError, "Partial", f"one of {', '.join(KINDS)}", self.kind)


Placement = Shard | Replicate | Partial


@dataclass(frozen=True)
class Layout:
    """``dims[i]`` are the mesh axes that shard dim i, the outermost first, always in rising order; ``partial`` the mesh
    axes along which ranks hold parts of the values, with the kind."""

    dims: tuple[tuple[int, ...], ...]
    partial: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, placements: Sequence[Placement], ndim: int) -> Layout:
        """The layout of a tensor of rank ``ndim`` with one placement for each mesh axis, from the first; axes without
        one replicate."""
        dims: list[list[int]] = [[] for _ in range(ndim)]
        partial = []
        for axis, p in enumerate(placements):
            if isinstance(p, Shard):
                if not -ndim <= p.dim < ndim:
                    raise op_error(IndexError, "Shard", f"a dim of a tensor of rank {ndim}", p.dim)
                dims[p.dim].append(axis)
            elif isinstance(p, Partial):
                partial.append((axis, p.kind))
        return cls(tuple(map(tuple, dims)), tuple(partial))

    def placements(self, axes: int) -> tuple[Placement, ...]:
        """The placements on a mesh of that many axes."""
        out: list[Placement] = [Replicate()] * axes
        for d, axes_of_dim in enumerate(self.dims):
            for axis in axes_of_dim:
                out[axis] = Shard(d)
        for axis, kind in self.partial:
            out[axis] = Partial(kind)
        return tuple(out)

    def kind(self, axis: int) -> str | None:
        """Return the reduction of partial values along a mesh axis; None where there are none."""
        return dict(self.partial).get(axis)

    def dim(self, axis: int) -> int | None:
        """Return the dim that is sharded along a mesh axis."""
        return next((d for d, axes in enumerate(self.dims) if axis in axes), None)


def chunk(size: Any, parts: int, index: int) -> tuple[Any, Any]:
    """Return start and size of shard ``index`` of ``size`` elements; all shards but the last ones are equally large."""
    each = -(-size // parts)
    start = min(index * each, size)
    return start, min(each, size - start)


def local_extent(size: Any, axes: Sequence[int], mesh: Sequence[int], at: Sequence[int]) -> tuple[Any, Any]:
    """Return start and size of the shard at ``at`` of a dim sharded along mesh ``axes``, the outermost first."""
    start = 0
    for axis in axes:
        offset, size = chunk(size, mesh[axis], at[axis])
        start += offset
    return start, size


def box(layout: Layout, shape: Sequence[Any], mesh: Sequence[int], at: Sequence[int]) -> Box:
    """Return the box of a tensor that the rank at coordinates ``at`` holds."""
    parts = [local_extent(n, axes, mesh, at) for n, axes in zip(shape, layout.dims, strict=True)]
    return Box(tuple(p[0] for p in parts), tuple(p[1] for p in parts), tuple(shape))


def coordinates(mesh: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Iterate over the coordinates of all ranks, in order."""
    return product(*map(range, mesh))


def shard_count(axes: Sequence[int], mesh: Sequence[int]) -> int:
    """Return the number of shards that sharding along mesh ``axes`` gives."""
    parts = 1
    for axis in axes:
        parts *= mesh[axis]
    return parts


def divides_evenly(size: Any, parts: int) -> bool:
    """Return whether the shards of a dim are known to be equally large."""
    return isinstance(size, int) and size % parts == 0


def bytes_moved(source: Layout, target: Layout, size: float, mesh: Sequence[int]) -> float:
    """Estimate the bytes that a rank receives when a tensor of ``size`` bytes is resharded, one mesh axis at a time.

    Along an axis of n ranks, an all-gather brings a rank (n - 1)/n of its result, and so does a reduce-scatter; an
    all-reduce takes both; an all-to-all brings (n - 1)/n of a shard. Slicing or keeping a replicated tensor moves
    nothing, nor does turning a tensor into a partial sum.
    """
    total = 0.0
    for axis, n in enumerate(mesh):
        old, new = (layout.dim(axis) if layout.kind(axis) is None else layout.kind(axis) for layout in (source, target))
        if old is None or old == new or (isinstance(old, int) and new == "sum"):
            continue
        others = [a for cut_by in source.dims for a in cut_by if a != axis]
        part = size / shard_count(others, mesh) * (n - 1) / n
        if isinstance(old, int):
            total += part / n if isinstance(new, int) else part
        else:
            total += part if isinstance(new, int) else 2 * part
    return total
