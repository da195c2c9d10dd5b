"""Tensors as boxes of other tensors.

``Blocks`` describe a tensor as boxes of numbered parts; the names of the parts are kept elsewhere, so that all layers
and experts of a model share their blocks. ``BlockFactory`` makes new blocks from others, each once.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from umiak.checkpoint.aoa.errors import AOAError
from umiak.checkpoint.box import Box


class Slice(NamedTuple):
    """One box of the tensor, as ``umiak.checkpoint.data_model.Piece`` with a part's number for a name."""

    target: Box
    part: int
    source: Box
    axes: tuple[int, ...] | None = None
    casts: tuple[str, ...] = ()

    def within(self, box: Box) -> Slice | None:
        """Return the part of it that lies in ``box``."""
        if box.contains(self.target):
            return self
        target = self.target.intersect(box)
        if target is None:
            return None
        cut = target.relative_to(self.target.offset)
        if self.axes is not None:
            cut = cut.permuted(_inverse(self.axes))
        return self._replace(target=target, source=cut.shifted(self.source.offset))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axes.index(i) for i in range(len(axes)))


# Lists up to this length are searched from end to end.
SHORT = 8
# Answers kept of each tensor's blocks.
KEPT = 1024
# Boxes that a tensor may be made of, all tensors together, and elements of one.
MOST_SLICES, MOST_IN_ALL, MOST_ELEMENTS = 1 << 15, 1 << 20, 1 << 60
MOST_CASTS = 64


class Blocks:
    """A tensor of ``shape`` and ``dtype`` (after casts) as disjoint slices that cover it."""

    __slots__ = ("_answers", "_tree", "dtype", "shape", "slices")

    def __init__(self, shape: tuple[int, ...], dtype: str, slices: tuple[Slice, ...]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.slices = slices
        self._tree: _Bands | None = None
        self._answers: dict[Box, tuple[Slice, ...]] = {}

    def within(self, box: Box) -> tuple[Slice, ...]:
        """The slices of ``box``, in order of their places, as few as possible."""
        if len(self.slices) == 1:
            only = self.slices[0].within(box)
            return (only,) if only is not None else ()
        answer = self._answers.get(box)
        if answer is None:
            if self._tree is None:
                self._tree = _Bands(self.slices)
            slices: list[Slice] = []
            self._tree.collect(box, slices)
            if len(self._answers) >= KEPT:
                self._answers.clear()
            answer = self._answers[box] = merged(slices)
        return answer


class _Bands:
    """Slices as bands along the axis that has most of them, each band again; a search looks at the bands it meets."""

    __slots__ = ("axis", "children", "starts")

    def __init__(self, slices: Sequence[Slice]) -> None:
        self.axis = -1
        self.starts: list[int] = []
        self.children: list[Slice | _Bands] = list(slices)
        if len(slices) <= SHORT:
            return
        best: list[list[Slice]] = []
        for axis in range(len(slices[0].target.offset)):
            bands: list[list[Slice]] = []
            end = 0
            for s in sorted(slices, key=lambda s: s.target.offset[axis]):
                at = s.target.offset[axis]
                if not bands or at >= end:
                    bands.append([])
                bands[-1].append(s)
                end = max(end, at + s.target.shape[axis])
            if len(bands) > max(len(best), 1):
                self.axis, best = axis, bands
        if self.axis >= 0:
            self.starts = [band[0].target.offset[self.axis] for band in best]
            self.children = [band[0] if len(band) == 1 else _Bands(band) for band in best]

    def collect(self, box: Box, slices: list[Slice]) -> None:
        children = self.children
        if self.axis >= 0:
            first, n = box.offset[self.axis], box.shape[self.axis]
            children = children[max(bisect_right(self.starts, first) - 1, 0) : bisect_right(self.starts, first + n - 1)]
        for child in children:
            if isinstance(child, _Bands):
                child.collect(box, slices)
            else:
                part = child.within(box)
                if part is not None:
                    slices.append(part)


def merged(slices: Sequence[Slice]) -> tuple[Slice, ...]:
    """Slices in order of their places, neighbours made one where they are neighbours in the same part too."""
    if len(slices) < 2:
        return tuple(slices)
    out = list(slices)
    for axis in reversed(range(len(slices[0].target.offset))):
        out.sort(key=lambda s: (s.target.offset[:axis], s.target.offset[axis + 1 :], s.target.offset[axis]))
        rest, out = out, out[:1]
        for s in rest[1:]:
            joined = _joined(out[-1], s, axis)
            if joined is None:
                out.append(s)
            else:
                out[-1] = joined
    out.sort(key=lambda s: s.target.offset)
    return tuple(out)


def _joined(a: Slice, b: Slice, axis: int) -> Slice | None:
    if a.part != b.part or a.axes != b.axes or a.casts != b.casts:
        return None
    target = _union(a.target, b.target, axis)
    source = _union(a.source, b.source, axis if a.axes is None else a.axes[axis])
    return None if target is None or source is None else a._replace(target=target, source=source)


def _union(a: Box, b: Box, axis: int) -> Box | None:
    """Both as one box, if ``b`` begins where ``a`` ends along ``axis`` and they agree otherwise."""
    i = axis
    if b.offset[i] != a.offset[i] + a.shape[i]:
        return None
    if a.offset[:i] + a.offset[i + 1 :] != b.offset[:i] + b.offset[i + 1 :]:
        return None
    if a.shape[:i] + a.shape[i + 1 :] != b.shape[:i] + b.shape[i + 1 :]:
        return None
    return Box(a.offset, (*a.shape[:i], a.shape[i] + b.shape[i], *a.shape[i + 1 :]))


class Run(NamedTuple):
    """Places ``start`` to ``start + size`` of an axis of the tensor with this number."""

    of: int
    start: int
    size: int


class Var(NamedTuple):
    """A tensor: its blocks and which tensors their parts are."""

    blocks: Blocks
    keys: tuple[str, ...]


class BlockFactory:
    """Makes blocks, and remembers what it has made: the same step on the same blocks costs a look-up."""

    def __init__(self) -> None:
        self._known: dict[tuple, object] = {}
        self._slices = 0

    def _count(self, blocks: Blocks) -> Blocks:
        self._slices += len(blocks.slices)
        if self._slices > MOST_IN_ALL:
            raise AOAError(f"the tensors of all statements are made of at most {MOST_IN_ALL} boxes")
        return blocks

    def full(self, shape: tuple[int, ...], dtype: str) -> Blocks:
        """A tensor that is one part."""
        key = ("full", shape, dtype)
        blocks = self._known.get(key)
        if blocks is None:
            box = Box.full(shape)
            blocks = self._known[key] = Blocks(shape, dtype, (Slice(box, 0, box),) if box.size else ())
        return blocks  # type: ignore[return-value]

    def permuted(self, x: Var, axes: tuple[int, ...]) -> Var:
        """Axis i is axis ``axes[i]`` of ``x``."""
        key = ("permute", x.blocks, axes)
        blocks = self._known.get(key)
        if blocks is None:
            slices = []
            for s in x.blocks.slices:
                through: tuple[int, ...] | None = axes if s.axes is None else tuple(s.axes[a] for a in axes)
                if through == tuple(range(len(axes))):
                    through = None
                slices.append(s._replace(target=s.target.permuted(axes), axes=through))
            shape = tuple(x.blocks.shape[a] for a in axes)
            blocks = self._known[key] = self._count(Blocks(shape, x.blocks.dtype, merged(slices)))
        return Var(blocks, x.keys)  # type: ignore[arg-type]

    def cast(self, x: Var, dtype: str) -> Var:
        """Cast to ``dtype``; nothing is done to a tensor that has it."""
        if x.blocks.dtype == dtype:
            return x
        key = ("cast", x.blocks, dtype)
        blocks = self._known.get(key)
        if blocks is None:
            slices = tuple(s._replace(casts=(*s.casts, dtype)) for s in x.blocks.slices)
            if slices and len(slices[0].casts) > MOST_CASTS:
                raise AOAError(f"a tensor is cast at most {MOST_CASTS} times")
            blocks = self._known[key] = self._count(Blocks(x.blocks.shape, dtype, slices))
        return Var(blocks, x.keys)  # type: ignore[arg-type]

    def uncast(self, x: Var, dtype: str) -> Var:
        """The same boxes of tensors of ``dtype``, without casts."""
        key = ("uncast", x.blocks, dtype)
        blocks = self._known.get(key)
        if blocks is None:
            slices = merged([s._replace(casts=()) for s in x.blocks.slices])
            blocks = self._known[key] = Blocks(x.blocks.shape, dtype, slices)
        return Var(blocks, x.keys)  # type: ignore[arg-type]

    def regrouped(self, xs: Sequence[Var], axis: int, runs: tuple[tuple[Run, ...], ...]) -> list[Var]:
        """New tensors, each made of runs of ``xs`` along ``axis``. All of ``xs`` agree in other sizes and in dtype."""
        keys: dict[str, int] = {}
        numbers = tuple(tuple(keys.setdefault(k, len(keys)) for k in x.keys) for x in xs)
        key = ("regroup", axis, runs, tuple(x.blocks for x in xs), numbers)
        known = self._known.get(key)
        if known is None:
            slices = []
            for out in runs:
                slices.append(_regroup([x.blocks for x in xs], numbers, axis, out))
                self._count(slices[-1][0])
            known = self._known[key] = slices
        names = tuple(keys)
        return [
            Var(blocks, names if len(used) == len(names) else tuple(names[i] for i in used))
            for blocks, used in known  # type: ignore[attr-defined]
        ]


def _regroup(
    xs: Sequence[Blocks], numbers: Sequence[tuple[int, ...]], axis: int, runs: Sequence[Run]
) -> tuple[Blocks, tuple[int, ...]]:
    """The blocks of the runs one after the other, and which of the parts they use."""
    like = xs[0].shape
    slices: list[Slice] = []
    at = 0
    for run in runs:
        x = xs[run.of]
        offset = (0,) * axis + (run.start,) + (0,) * (len(like) - axis - 1)
        by = (0,) * axis + (at - run.start,) + (0,) * (len(like) - axis - 1)
        for s in x.within(Box(offset, (*like[:axis], run.size, *like[axis + 1 :]))):
            slices.append(s._replace(target=s.target.shifted(by), part=numbers[run.of][s.part]))
        at += run.size
        if len(slices) > MOST_SLICES:
            raise AOAError(f"a tensor is made of at most {MOST_SLICES} boxes of others")
    if at > MOST_ELEMENTS or math.prod((*like[:axis], at, *like[axis + 1 :])) > MOST_ELEMENTS:
        raise AOAError("a tensor has at most 2**60 elements")
    # A tensor without elements still says where it comes from.
    used = sorted({s.part for s in slices} or {part for x in numbers for part in x})
    place = {part: i for i, part in enumerate(used)}
    slices = [s._replace(part=place[s.part]) for s in slices]
    shape = (*like[:axis], at, *like[axis + 1 :])
    return Blocks(shape, xs[0].dtype, merged(slices)), tuple(used)
