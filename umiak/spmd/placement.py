"""Where the parts of a tensor lie on a mesh of ranks.

A mesh is here its sizes, one for each of its axes. *Placements* say for each mesh axis what happens along it: a dim of
the tensor is cut, all ranks hold the same, or each holds a part of the values. A *layout* says the same for each dim of
the tensor; propagation reads and writes layouts.
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
    """Consecutive parts of dim ``dim`` along the mesh axis."""

    dim: int


@dataclass(frozen=True)
class Replicate:
    """The same values on all ranks along the mesh axis."""


@dataclass(frozen=True)
class Partial:
    """Values that ranks along the mesh axis hold parts of; ``kind`` says how the parts combine to the whole."""

    kind: str = "sum"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise op_error(ValueError, "Partial", f"one of {', '.join(KINDS)}", self.kind)


Placement = Shard | Replicate | Partial


@dataclass(frozen=True)
class Layout:
    """``dims[i]`` are the mesh axes that cut dim i, the outermost first, always in rising order; ``partial`` the mesh
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
        for d, cut in enumerate(self.dims):
            for axis in cut:
                out[axis] = Shard(d)
        for axis, kind in self.partial:
            out[axis] = Partial(kind)
        return tuple(out)

    def kind(self, axis: int) -> str | None:
        """How parts along a mesh axis combine; None where none are."""
        return dict(self.partial).get(axis)

    def dim(self, axis: int) -> int | None:
        """The dim that a mesh axis cuts."""
        return next((d for d, cut in enumerate(self.dims) if axis in cut), None)


def chunk(size: Any, parts: int, index: int) -> tuple[Any, Any]:
    """Start and size of one of the consecutive parts of ``size`` elements: all have as many, but for the last ones."""
    each = -(-size // parts)
    start = min(index * each, size)
    return start, min(each, size - start)


def cut(size: Any, axes: Sequence[int], mesh: Sequence[int], at: Sequence[int]) -> tuple[Any, Any]:
    """Start and size of what the rank at ``at`` holds of a dim cut along mesh ``axes``, the outermost first."""
    start = 0
    for axis in axes:
        offset, size = chunk(size, mesh[axis], at[axis])
        start += offset
    return start, size


def box(layout: Layout, shape: Sequence[Any], mesh: Sequence[int], at: Sequence[int]) -> Box:
    """What the rank at the coordinates ``at`` holds of a tensor."""
    parts = [cut(n, axes, mesh, at) for n, axes in zip(shape, layout.dims, strict=True)]
    return Box(tuple(p[0] for p in parts), tuple(p[1] for p in parts), tuple(shape))


def coordinates(mesh: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Those of all ranks, in order."""
    return product(*map(range, mesh))


def count(axes: Sequence[int], mesh: Sequence[int]) -> int:
    """How many parts cutting along mesh ``axes`` gives."""
    parts = 1
    for axis in axes:
        parts *= mesh[axis]
    return parts


def evenly(size: Any, parts: int) -> bool:
    """Whether the parts of a dim are known to be equal."""
    return isinstance(size, int) and size % parts == 0


def moved(source: Layout, target: Layout, size: float, mesh: Sequence[int]) -> float:
    """About how many bytes a rank receives when the layout of a tensor of ``size`` bytes changes, axis by axis.

    Along an axis of n ranks, gathering parts gives a rank (n - 1)/n of what it then holds, and so does adding up
    partial values into parts; adding them up for all takes both; an exchange of parts of one dim for those of another,
    (n - 1)/n of a part. Cutting or keeping what is whole moves nothing, nor does making partial sums of anything.
    """
    total = 0.0
    for axis, n in enumerate(mesh):
        old, new = (layout.dim(axis) if layout.kind(axis) is None else layout.kind(axis) for layout in (source, target))
        if old is None or old == new or (isinstance(old, int) and new == "sum"):
            continue
        others = [a for cut_by in source.dims for a in cut_by if a != axis]
        part = size / count(others, mesh) * (n - 1) / n
        if isinstance(old, int):
            total += part / n if isinstance(new, int) else part
        else:
            total += part if isinstance(new, int) else 2 * part
    return total
