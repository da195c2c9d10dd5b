"""Gather, scatter, and what selects elements by a tensor: masks, indices, counts.

Indices are integers, and negative ones count from the end; an index outside is an IndexError. A result whose size
depends on data is made in two steps: a count (``CountTrue``, ``UniqueCount``), which the host reads, and an op that
takes the size as a param.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    aligned,
    broadcast_shape,
    cast_to,
    check_axes,
    conj,
    draw,
    factor_names,
    is_tensor,
    once,
    same_dtype,
    same_shape,
    shard_except,
    shard_string,
    sizes,
    zeros,
)
from umiak.ops.base import Box, Op, Sample, param, register
from umiak.ops.movement import require
from umiak.util.errors import OperandError

MODES = ("set", "add", "mul", "min", "max")


def counter(n: Any, start: Any = 0) -> Any:
    """int64 numbers from ``start``, ``n`` of them."""
    return F.iota(start, 1, dtype=dt.int64, size=n)


def at_dim(v: Any, axis: int, ndim: int) -> Any:
    """A 1-d tensor as one of rank ``ndim`` that varies along ``axis``."""
    return F.unsqueeze(v, axes=tuple(i for i in range(ndim) if i != axis)) if ndim > 1 else v


def _check_index(op: Op, index: Meta) -> None:
    if index.dtype is None or not index.dtype.is_integer:
        op.fail(
            OperandError,
            "an index of integer dtype",
            f"a Python {index.weak}" if index.dtype is None else index.dtype.name,
        )


def _check_mode(op: Op, x: Meta, modes: tuple = MODES) -> None:
    if op.mode not in modes:
        op.fail(ValueError, f"a mode of {modes}", op.mode)
    if op.mode in ("min", "max"):
        accept(op, "bif", x)


# --- gather --------------------------------------------------------------------------------------------------------


@register
class Take(Op):
    """Slices of ``x`` at ``index`` along ``axis``; the dims of ``index`` stand where that dim stood.

    Without ``from_end`` a negative index is an IndexError, as one beyond the end.
    """

    packed = True
    inputs = ("x", "index")
    linear = monotone = ("x",)
    axis: int
    from_end: bool = True

    def infer(self, x, index):
        return Meta(_taken(self, x, index), x.dtype)

    def vjp(self, s, g):
        x, index = s.inputs
        return F.put(zeros(x), index, g, axis=self.axis, mode="add"), None

    def shard(self, x, index):
        names, inner = factor_names(len(x.shape)), factor_names(len(index.shape), "i")
        gathered = names[self.axis]
        return shard_string(
            [names, inner], [[*names[: self.axis], *inner, *names[self.axis + 1 :]]], **{gathered: "replicated"}
        )

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (4, 3)), np.array([2, 0, 2])), {"axis": 0})
        yield Sample((draw(rng, (2, 4)), np.array([[-1, 1]], np.int32)), {"axis": 1}, note="negative")
        yield Sample((draw(rng, (3,)), np.array(1)), {"axis": 0}, note="0-d index")
        yield Sample((draw(rng, (3, 2)), np.zeros((0,), np.int64)), {"axis": 0}, note="0-size")
        yield Sample((draw(rng, (3, 2), dt.complex128), np.array([1])), {"axis": 1})
        yield Sample((draw(rng, (3,), dt.bool), np.array([2, 2])), {"axis": 0})
        yield Sample((draw(rng, (2, 4)), np.array([[3], [0]])), {"axis": 1, "from_end": False})


def _taken(op: Op, x: Meta, index: Meta) -> tuple:
    check_axes(op, (op.axis,), len(x.shape))
    _check_index(op, index)
    return (*x.shape[: op.axis], *index.shape, *x.shape[op.axis + 1 :])


@register
class TakeAlong(Op):
    """``out[..., i, ...] = x[..., index[..., i, ...], ...]`` along ``axis``; the other dims of both are equal.

    ``from_end``: as of :class:`Take`.
    """

    packed = True
    inputs = ("x", "index")
    linear = monotone = ("x",)
    axis: int
    from_end: bool = True

    def infer(self, x, index):
        _check_along(self, x, index)
        return Meta(tuple(index.shape), x.dtype)

    def vjp(self, s, g):
        x, index = s.inputs
        return F.scatter_along(zeros(x), index, g, axis=self.axis, mode="add"), None

    def shard(self, x, index):
        names = factor_names(len(x.shape))
        inner = [f if i != self.axis else "i" + f for i, f in enumerate(names)]
        return shard_string([names, inner], [inner], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)), np.array([[2, 0, 1, 2], [1, -1, 1, 0]])), {"axis": 0})
        yield Sample((draw(rng, (2, 3), dt.complex128), np.array([[2], [2]], np.int32)), {"axis": 1})
        yield Sample((draw(rng, (2, 3)), np.zeros((2, 0), np.int64)), {"axis": 1}, note="0-size")
        yield Sample((draw(rng, (3,), dt.int32, 0, 8), np.array([0, 0])), {"axis": 0})
        yield Sample((draw(rng, (3, 4)), np.array([[2], [0], [3]])), {"axis": 1, "from_end": False})


def _check_along(op: Op, x: Meta, index: Meta) -> None:
    check_axes(op, (op.axis,), len(x.shape))
    _check_index(op, index)
    got = f"{tuple(x.shape)} and {tuple(index.shape)}"
    if len(x.shape) != len(index.shape):
        op.fail(ValueError, "x and an index of one rank", got)
    for i, (m, n) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != op.axis:
            require(op, m == n, f"equal sizes except on axis {op.axis}", got)


@register
class GatherNd(Op):
    """Elements or slices of ``x`` at coordinates: the last dim of ``index``, of size ``depth``, addresses the first
    dims of x.
    """

    packed = True
    inputs = ("x", "index")
    linear = monotone = ("x",)
    depth: int

    def infer(self, x, index):
        return Meta(_gathered(self, x, index), x.dtype)

    def vjp(self, s, g):
        x, index = s.inputs
        return F.scatter_nd(zeros(x), index, g, depth=self.depth, mode="add"), None

    def shard(self, x, index):
        names, inner = factor_names(len(x.shape)), factor_names(len(index.shape) - 1, "i")
        replicated = dict.fromkeys(names[: self.depth], "replicated")
        return shard_string([names, [*inner, "1"]], [[*inner, *names[self.depth :]]], **replicated)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)), np.array([[0, 1], [2, -1], [0, 1]])), {"depth": 2})
        yield Sample((draw(rng, (3, 4)), np.array([[[2], [0]]], np.int32)), {"depth": 1})
        yield Sample((draw(rng, (2, 3), dt.complex128), np.zeros((2, 0), np.int64)), {"depth": 0}, note="whole tensors")
        yield Sample((draw(rng, (2, 3)), np.zeros((0, 2), np.int64)), {"depth": 2}, note="0-size")
        yield Sample((draw(rng, (3,), dt.int64, 0, 8), np.array([1])), {"depth": 1}, note="to 0-d")


def _gathered(op: Op, x: Meta, index: Meta) -> tuple:
    _check_index(op, index)
    if op.depth > len(x.shape):
        op.fail(ValueError, f"a depth of at most {len(x.shape)}, the rank of x", op.depth)
    got = tuple(index.shape)
    require(op, index.shape[-1] == op.depth if index.shape else False, f"an index whose last dim is {op.depth}", got)
    return (*index.shape[:-1], *x.shape[op.depth :])


class Indexed(Op):
    """Elements or slices of ``x`` at ``indices``, which broadcast against each other, of ``axes``, which rise.

    The dims of the indices stand where those they replace stood, or in front where these are no neighbours, as in
    NumPy. ``axes`` None are the first ones.
    """

    abstract = True
    axes: tuple[int, ...] | None = None

    def addressed(self, indices: tuple) -> tuple:
        """The axes that indices address."""
        return tuple(range(len(indices))) if self.axes is None else self.axes

    def selected(self, sizes: Any, axes: tuple, picked: Any) -> tuple:
        """Something for each dim of what is selected: of ``sizes``, one for each dim of x, and of ``picked``, one for
        each dim that the indices have together.
        """
        rest = tuple(n for a, n in enumerate(sizes) if a not in axes)
        before = axes[0] if _neighbours(axes) else 0
        return (*rest[:before], *picked, *rest[before:])

    def shape_of(self, x: Meta, indices: tuple) -> tuple:
        """The shape of what is selected; indices that do not fit x are refused."""
        axes, rank = self.addressed(indices), len(x.shape)
        if not 0 < len(indices) <= rank:
            self.fail(ValueError, f"one to {rank} indices", len(indices))
        if len(axes) != len(indices) or list(axes) != sorted(set(axes)) or not 0 <= axes[0] <= axes[-1] < rank:
            self.fail(ValueError, f"an axis from 0 to {rank - 1} for each of {len(indices)} indices, rising", axes)
        for m in indices:
            _check_index(self, m)
        return self.selected(x.shape, axes, broadcast_shape(self, *indices))


def _neighbours(axes: tuple) -> bool:
    return axes[-1] - axes[0] == len(axes) - 1


@register
class IndexGet(Indexed):
    """Elements or slices of ``x`` at indices of some of its axes."""

    packed = True
    inputs = ("x", "*indices")
    linear = monotone = ("x",)

    def infer(self, x, *indices):
        return Meta(self.shape_of(x, indices), x.dtype)

    def decompose(self, x, *indices):
        axes = self.addressed(indices)
        if len(indices) == 1:
            return F.take(x, indices[0], axis=axes[0])
        index = _coordinates(_spread(self, indices))
        rest = tuple(a for a in range(x.ndim) if a not in axes)
        if axes[-1] < len(axes):
            return F.gather_nd(x, index, depth=len(indices))
        out = F.gather_nd(F.permute(x, perm=axes + rest), index, depth=len(indices))
        k = index.ndim - 1
        order = self.selected([k + rest.index(a) if a in rest else a for a in range(x.ndim)], axes, range(k))
        return F.permute(out, perm=order) if order != tuple(range(out.ndim)) else out

    def shard(self, x, *indices):
        names, axes = factor_names(len(x.shape)), self.addressed(indices)
        rank = max(len(i.shape) for i in indices)
        own = [["1"] * len(i.shape) for i in indices]
        out = list(self.selected(names, axes, ["1"] * rank))
        return shard_string([names, *own], [out], **dict.fromkeys([names[a] for a in axes], "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)), np.array([2, -1]), np.array([0, 0])))
        yield Sample((draw(rng, (3, 4, 2)), np.array([[2], [0]]), np.array([0, 1, 1])), note="broadcast")
        yield Sample((draw(rng, (3, 2), dt.complex128), np.array(1)), note="0-d index")
        yield Sample((draw(rng, (3, 2)), np.zeros(0, np.int64)), note="0-size")
        yield Sample((draw(rng, (2, 3, 4)), np.array([1, 0]), np.array([[3], [-1]])), {"axes": (0, 2)}, note="apart")
        yield Sample((draw(rng, (2, 3, 4, 2)), np.array([1, 0]), np.array([3, 1])), {"axes": (1, 2)}, note="behind")
        yield Sample((draw(rng, (2, 3)), np.array([1, 0])), {"axes": (1,)}, note="one behind")


def broadcast_sizes(op: Op, *shapes: Any) -> tuple:
    """The shape that shapes broadcast to."""
    return broadcast_shape(op, *(Meta(tuple(s), None) for s in shapes))


def _spread(op: Op, indices: tuple) -> list:
    """Index tensors of int64 and of the shape that they broadcast to."""
    shape = broadcast_sizes(op, *(i.shape for i in indices))
    return [F.broadcast_to(cast_to(i, dt.int64), shape=shape) for i in indices]


def _coordinates(indices: list) -> Any:
    """Indices of one shape joined into one of coordinates."""
    return F.stack(indices, axis=indices[0].ndim)


# --- scatter -------------------------------------------------------------------------------------------------------


def combine_vjp(
    mode: str, s: Any, g: Any, gather: Callable, scatter: Callable, stay: Callable, fresh: bool = False
) -> tuple:
    """Gradients of a scatter in ``mode`` for x and updates. ``scatter(base, updates, mode)`` and ``gather(x)`` share
    its index.

    ``stay()`` is a mask of the updates that mode "set" keeps where several have one position.
    ``fresh``: positions that are hit start from the identity of the mode instead of from x.
    """
    x, index, updates = s.inputs
    out = s.outputs[0]
    tensor = is_tensor(updates)
    if mode == "set":
        return scatter(g, 0, "set"), None, F.where(stay(), gather(g), 0) if tensor else None
    if mode == "add":
        return scatter(g, 0, "set") if fresh else g, None, gather(g) if tensor else None
    if mode == "mul":
        ones = F.full(1, dtype=x.dtype, shape=sizes(x))
        gx = scatter(g, 0, "set") if fresh else F.mul(g, conj(scatter(ones, updates, "mul")))
        if not tensor:
            return gx, None, None
        # The product without update i. Zeros are kept apart, so that nothing is divided by zero and none hides from a
        # further derivative.
        zero = F.eq(updates, 0)
        rest = gather(scatter(ones if fresh else x, F.where(zero, 1, updates), "mul"))
        zeros_there = gather(scatter(ones, F.where(zero, updates, 1), "mul"))
        many = gather(scatter(F.full(0, dtype=dt.int64, shape=sizes(x)), F.cast(zero, dtype=dt.int64), "add"))
        others = F.mul(F.div(rest, F.where(zero, 1, updates)), zeros_there)
        alone = F.where(zero, F.where(F.eq(many, 1), rest, 0), others)
        return gx, None, F.mul(gather(g), conj(alone))
    # Of an extremum: shared equally among those that reach it.
    won = F.cast(F.eq(x, out), dtype=g.dtype)
    if fresh:
        won = scatter(won, 0, "set")
    reached = F.cast(F.eq(_full_like(updates, gather, out), gather(out)), dtype=g.dtype)
    winners = scatter(won, reached, "add")
    share = F.div(g, F.maximum(winners, 1))
    return F.mul(won, share), None, F.mul(reached, gather(share)) if tensor else None


def _stays(shape: tuple, places: tuple, scatter: Callable, gather: Callable) -> Any:
    """Mask of the numbers 0, 1, … of ``shape`` that are found again after all were put to their positions among
    ``places``: another one came later.
    """
    numbers = F.reshape(counter(dim.product(shape)), shape=shape)
    return F.eq(gather(scatter(F.full(-1, dtype=dt.int64, shape=places), numbers)), numbers)


def _full_like(updates: Any, gather: Callable, out: Any) -> Any:
    return updates if is_tensor(updates) else F.full(updates, dtype=out.dtype, shape=sizes(gather(out)))


def _within(box: Box, axis: int, index: Any) -> tuple:
    """Return which elements of a global index lie in a box, and their index within it; the others get 0."""
    first, own, size = box.starts[axis], box.sizes[axis], box.global_shape[axis]
    position = F.sub(F.where(F.lt(index, 0), F.add(index, size), index), first)
    here = F.logical_and(F.ge(position, 0), F.lt(position, own))
    return here, F.where(here, position, 0)


class Scatter(Op):
    """``x`` with ``updates`` combined into the positions an index names. ``mode``: set, add, mul, min or max.

    In mode "set" one of several updates of one position stays, and it alone has a gradient; which, is not said.
    ``updates`` may be a number.
    """

    inputs = ("x", "index", "updates")
    abstract = True
    overwritable = 1

    @property
    def packed(self):
        return self.mode == "set"

    def check(self, x, index):
        """Refuse an index that does not fit x; the shape updates must have."""
        raise TypeError(f"[{self.name}] defines no check")

    def infer(self, x, index, updates):
        shape = self.check(x, index)
        _check_mode(self, x, MODES)
        same_dtype(self, x, updates)
        if updates.weak is None:
            same_shape(self, updates.shape, shape, "updates of the shape that the index selects")
        return Meta(tuple(x.shape), x.dtype)


def _shard_scatter(names: list, index: Meta, updates: Meta, own: list, addressed: list) -> str:
    """x and updates may be sharded on the dims that the index does not address."""
    return shard_string(
        [names, ["1"] * len(index.shape), [] if updates.weak else own],
        [names],
        **dict.fromkeys(addressed, "replicated"),
    )


@register
class Put(Scatter):
    """The inverse of :class:`Take`: ``updates``, of the shape that take gives, go to ``index`` along ``axis``."""

    axis: int
    mode: str = "set"

    def check(self, x, index):
        return _taken(self, x, index)

    def vjp(self, s, g):
        index = s.inputs[1]

        def gather(v):
            return F.take(v, index, axis=self.axis)

        def scatter(base, updates, mode):
            return F.put(base, index, updates, axis=self.axis, mode=mode)

        def stay():
            mask = _stays(
                sizes(index),
                (s.inputs[0].shape[self.axis],),
                lambda base, numbers: F.put(base, index, numbers, axis=0),
                lambda v: F.take(v, index, axis=0),
            )
            return F.unsqueeze(mask, axes=after) if after else mask

        after = tuple(range(index.ndim, index.ndim + g.ndim - self.axis - 1))
        return combine_vjp(self.mode, s, g, gather, scatter, stay)

    def shard(self, x, index, updates):
        names, a = factor_names(len(x.shape)), self.axis
        if self.mode != "add" or updates.weak:
            return _shard_scatter(
                names, index, updates, [*names[:a], *["1"] * len(index.shape), *names[a + 1 :]], names[a : a + 1]
            )
        inner = factor_names(len(index.shape), "i")
        own = [*names[:a], *inner, *names[a + 1 :]]
        return shard_string([names, inner, own], [names], **dict.fromkeys(inner, "sum"))

    def on_shard(self, shard, x, index, updates):
        """Apply the updates that lie in the shard's box; in mode "add", to x of the first shard alone."""
        if self.mode != "add" or not is_tensor(updates):
            return F.put(x, index, updates, axis=self.axis, mode=self.mode)
        inner, box = factor_names(index.ndim, "i"), shard.operands[0]
        if box.sizes[self.axis] != box.global_shape[self.axis]:
            if not box.sizes[self.axis]:
                return x
            here, index = _within(box, self.axis, index)
            after = tuple(range(index.ndim, index.ndim + x.ndim - self.axis - 1))
            updates = F.where(F.unsqueeze(here, axes=after) if after else here, updates, 0)
        return F.put(once(shard, x, *inner), index, updates, axis=self.axis, mode="add")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for mode in MODES:
            index = np.array([2, 0]) if mode == "set" else np.array([2, 0, 2])
            yield Sample((draw(rng, (4, 3)), index, draw(rng, (len(index), 3))), {"axis": 0, "mode": mode})
        yield Sample(
            (draw(rng, (2, 4)), np.array([[-1, 1]], np.int32), draw(rng, (2, 1, 2))), {"axis": 1, "mode": "add"}
        )
        yield Sample((draw(rng, (3,)), np.array(1), draw(rng, ())), {"axis": 0}, note="0-d index")
        yield Sample(
            (draw(rng, (3, 2)), np.zeros(0, np.int64), draw(rng, (0, 2))), {"axis": 0, "mode": "add"}, note="0-size"
        )
        yield Sample((draw(rng, (3, 2)), np.array([1]), 2.0), {"axis": 0}, note="a number")
        yield Sample(
            (draw(rng, (3,), dt.complex128), np.array([1, 1]), draw(rng, (2,), dt.complex128)),
            {"axis": 0, "mode": "mul"},
        )
        yield Sample(
            (draw(rng, (3,)), np.array([1, 1, 0]), np.array([0.0, 1.5, 0.0])), {"axis": 0, "mode": "mul"}, note="zeros"
        )
        yield Sample(
            (draw(rng, (3,), dt.int64, 0, 8), np.array([1, 1]), draw(rng, (2,), dt.int64, 0, 8)),
            {"axis": 0, "mode": "max"},
        )


@register
class ScatterAlong(Scatter):
    """The inverse of :class:`TakeAlong`: ``updates``, of the shape of ``index``, go to ``index`` along ``axis`` of
    ``x``.

    Without ``include_self``, a position that is hit holds the combination of its updates alone.
    """

    axis: int
    mode: str = "set"
    include_self: bool = True

    def check(self, x, index):
        _check_along(self, x, index)
        return tuple(index.shape)

    def vjp(self, s, g):
        index = s.inputs[1]

        def gather(v):
            return F.take_along(v, index, axis=self.axis)

        def scatter(base, updates, mode):
            return F.scatter_along(base, index, updates, axis=self.axis, mode=mode)

        def stay():
            return _stays(sizes(index), sizes(g), lambda base, numbers: scatter(base, numbers, "set"), gather)

        return combine_vjp(self.mode, s, g, gather, scatter, stay, not self.include_self and self.mode != "set")

    def shard(self, x, index, updates):
        names = factor_names(len(x.shape))
        inner = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names, inner, [] if updates.weak else inner], [names], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        once, twice = np.array([[2, 0, 1], [1, -1, 0]]), np.array([[2, 0, 1], [2, 0, 0]])
        for mode in MODES:
            for own in (True, False):
                index = once if mode == "set" else twice
                attrs = {"axis": 0, "mode": mode, "include_self": own}
                yield Sample((draw(rng, (3, 3)), index, draw(rng, (2, 3))), attrs)
        yield Sample(
            (draw(rng, (2, 3), dt.complex128), np.array([[2], [2]], np.int32), draw(rng, (2, 1), dt.complex128)),
            {"axis": 1, "mode": "add"},
        )
        yield Sample((draw(rng, (2, 3)), np.zeros((2, 0), np.int64), draw(rng, (2, 0))), {"axis": 1}, note="0-size")
        yield Sample((draw(rng, (2, 3)), np.array([[0], [2]]), 0.0), {"axis": 1}, note="a number")
        yield Sample(
            (draw(rng, (3,), dt.int32, 0, 8), np.array([0, 0]), draw(rng, (2,), dt.int32, 0, 8)),
            {"axis": 0, "mode": "add"},
        )


@register
class ScatterNd(Scatter):
    """The inverse of :class:`GatherNd`: ``updates`` go to the coordinates in ``index``."""

    depth: int
    mode: str = "add"

    def check(self, x, index):
        return _gathered(self, x, index)

    def vjp(self, s, g):
        index = s.inputs[1]

        def gather(v):
            return F.gather_nd(v, index, depth=self.depth)

        def scatter(base, updates, mode):
            return F.scatter_nd(base, index, updates, depth=self.depth, mode=mode)

        def stay():
            mask = _stays(
                sizes(index)[:-1],
                sizes(g)[: self.depth],
                lambda base, numbers: scatter(base, numbers, "set"),
                gather,
            )
            return F.unsqueeze(mask, axes=after) if after else mask

        after = tuple(range(index.ndim - 1, index.ndim - 1 + g.ndim - self.depth))
        return combine_vjp(self.mode, s, g, gather, scatter, stay)

    def shard(self, x, index, updates):
        names, d = factor_names(len(x.shape)), self.depth
        return _shard_scatter(names, index, updates, ["1"] * (len(index.shape) - 1) + names[d:], names[:d])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for mode in MODES:
            index = np.array([[0, 1], [2, -1]] if mode == "set" else [[0, 1], [2, -1], [0, 1]])
            yield Sample((draw(rng, (3, 4)), index, draw(rng, (len(index),))), {"depth": 2, "mode": mode})
        yield Sample((draw(rng, (3, 2)), np.array([[2], [0]], np.int32), draw(rng, (2, 2))), {"depth": 1})
        yield Sample(
            (draw(rng, (2, 3), dt.complex128), np.zeros((2, 0), np.int64), draw(rng, (2, 2, 3), dt.complex128)),
            {"depth": 0},
        )
        yield Sample((draw(rng, (2, 3)), np.zeros((0, 2), np.int64), draw(rng, (0,))), {"depth": 2}, note="0-size")
        yield Sample((draw(rng, (3,)), np.array([[1]]), 0.5), {"depth": 1, "mode": "set"}, note="a number")


@register
class IndexPut(Indexed):
    """``x`` with ``values`` combined at indices of some of its axes; the inverse of :class:`IndexGet`.

    The values broadcast to what is selected.
    """

    inputs = ("x", "values", "*indices")
    overwritable = 1
    mode: str = "set"

    @property
    def packed(self):
        return self.mode == "set"

    def infer(self, x, values, *indices):
        _check_mode(self, x)
        same_dtype(self, x, values)
        shape = self.shape_of(x, indices)
        if values.weak is None:
            same_shape(
                self,
                broadcast_sizes(self, shape, values.shape),
                shape,
                "values that broadcast to what the indices select",
            )
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x, values, *indices):
        axes, shape, places = self.addressed(indices), sizes(x), _spread(self, indices)
        picked = sizes(places[0])
        if is_tensor(values):
            values = F.broadcast_to(values, shape=self.selected(shape, axes, picked))
        if axes[-1] < len(axes):
            return F.scatter_nd(x, _coordinates(places), values, depth=len(axes), mode=self.mode)
        if len(axes) == 1:
            return F.put(x, indices[0], values, axis=axes[0], mode=self.mode)
        # Coordinates of all axes up to the last: nothing of x moves, and its memory may become the result's.
        k, between = len(picked), [a for a in range(axes[-1]) if a not in axes]
        full = (*picked, *(shape[a] for a in between))
        given = [F.unsqueeze(i, axes=tuple(range(k, len(full)))) for i in places]
        ranges = [at_dim(counter(shape[a]), k + i, len(full)) for i, a in enumerate(between)]
        by_axis = dict(zip((*axes, *between), (*given, *ranges), strict=True))
        every = [F.broadcast_to(by_axis[a], shape=full) for a in range(axes[-1] + 1)]
        if is_tensor(values) and _neighbours(axes):
            n = axes[0]
            values = F.permute(values, perm=(*range(n, n + k), *range(n), *range(n + k, values.ndim)))
        return F.scatter_nd(x, _coordinates(every), values, depth=len(every), mode=self.mode)

    def shard(self, x, values, *indices):
        names, axes = factor_names(len(x.shape)), self.addressed(indices)
        own = [["1"] * len(m.shape) for m in indices]
        selected = list(self.selected(names, axes, ["1"] * max(map(len, own))))
        return shard_string(
            [names, aligned(selected, values), *own], [names], **dict.fromkeys([names[a] for a in axes], "replicated")
        )

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        i, j = np.array([2, 0]), np.array([0, -1])
        yield Sample((draw(rng, (3, 4)), draw(rng, (2,)), i, j))
        yield Sample((draw(rng, (3, 4)), draw(rng, (4,)), np.array([1, 1])), {"mode": "add"}, note="broadcast, twice")
        yield Sample((draw(rng, (3, 4)), 1.5, i, j), note="a number")
        yield Sample((draw(rng, (3, 2), dt.complex128), draw(rng, (), dt.complex128), np.array(1)), note="0-d")
        yield Sample((draw(rng, (3, 2)), draw(rng, (0, 2)), np.zeros(0, np.int64)), note="0-size")
        apart, behind = draw(rng, (3, 2, 4)), draw(rng, (2, 3, 4))
        yield Sample((apart, draw(rng, (2, 2)), i, j), {"axes": (0, 2)}, note="apart")
        yield Sample((behind, draw(rng, (2, 2)), i, j), {"axes": (1, 2), "mode": "add"}, note="behind")
        yield Sample((behind, draw(rng, (1, 2)), j), {"axes": (2,)}, note="one behind")


@register
class Embedding(Op):
    """Rows of ``weight`` at ``index``.

    With ``padded``, rows for ``padding_idx`` are zero and leave its weight without gradient.
    """

    inputs = ("index", "weight")
    linear = monotone = ("weight",)
    padded: bool = False
    padding_idx: int = param("int", -1)

    def infer(self, index, weight, padding_idx):
        _check_index(self, index)
        if len(weight.shape) != 2:
            self.fail(ValueError, "a weight of rank 2", tuple(weight.shape))
        return Meta((*index.shape, weight.shape[1]), weight.dtype)

    def decompose(self, index, weight, padding_idx):
        return self.rows(index, weight, index, padding_idx)

    def rows(self, position, weight, index, padding_idx):
        rows = F.take(weight, position, axis=0)
        if not self.padded:
            return rows
        return F.where(F.unsqueeze(F.eq(index, padding_idx), axes=(index.ndim,)), 0, rows)

    def vjp(self, s, g):
        index, weight = s.inputs
        if self.padded:
            g = F.where(F.unsqueeze(F.eq(index, s.params.padding_idx), axes=(index.ndim,)), 0, g)
        return None, F.put(zeros(weight), index, g, axis=0, mode="add")

    def shard(self, index, weight, padding_idx):
        inner = factor_names(len(index.shape), "i")
        return shard_string([inner, ["v", "d"]], [[*inner, "d"]], v="sum")

    def on_shard(self, shard, index, weight, padding_idx):
        if "v" not in shard.indices:
            return self.rows(index, weight, index, padding_idx)
        if not shard.operands[1].sizes[0]:
            return F.full(0, dtype=weight.dtype, shape=shard.results[0].sizes)
        here, own = _within(shard.operands[1], 0, index)
        return F.where(F.unsqueeze(here, axes=(index.ndim,)), self.rows(own, weight, index, padding_idx), 0)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((np.array([[1, 0, 3], [1, 1, 2]]), draw(rng, (4, 3))))
        yield Sample((np.array([1, 0, 3]), draw(rng, (4, 3))), {"padded": True}, {"padding_idx": 1})
        yield Sample((np.array(2, np.int32), draw(rng, (4, 3))), note="0-d")
        yield Sample((np.zeros((0, 2), np.int64), draw(rng, (4, 3), dt.float32)), note="0-size")


@register
class OneHot(Op):
    """A new last dim of size ``num_classes``: 1 at ``x``, elsewhere 0. A value outside leaves zeros."""

    vjp = None
    dtype: Any
    num_classes: int = param("int")

    def infer(self, x, num_classes):
        _check_index(self, x)
        return Meta((*x.shape, num_classes), self.dtype)

    def decompose(self, x, num_classes):
        classes = F.iota(0, 1, dtype=x.dtype, size=num_classes)
        return F.cast(F.eq(F.unsqueeze(x, axes=(x.ndim,)), classes), dtype=self.dtype)

    def shard(self, x, num_classes):
        names = factor_names(len(x.shape))
        return shard_string([names], [[*names, "1"]])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((np.array([[1, 0], [2, 3]]),), {"dtype": dt.float32}, {"num_classes": 4})
        yield Sample((np.array(1, np.int32),), {"dtype": dt.float64}, {"num_classes": 3}, note="0-d")
        yield Sample((np.zeros((0,), np.int64),), {"dtype": dt.int64}, {"num_classes": 2}, note="0-size")


# --- results whose size is data ------------------------------------------------------------------------------------


@register
class CountTrue(Op):
    """Number of elements that are not zero, as a 0-d int64: the host reads it to size the next op."""

    vjp = None

    def infer(self, x):
        return Meta((), dt.int64)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [[]], **dict.fromkeys(names, "sum"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.bool),
            ((), dt.bool),
            ((0, 2), dt.bool),
            ((4,), dt.int32),
            ((3,), dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype),))


def _all_replicated(*metas: Meta, results: int) -> str:
    """No operand can be sharded: the position of a result depends on all elements before it."""
    own = [factor_names(len(m.shape), f"o{k}") if m is not None else [] for k, m in enumerate(metas)]
    return shard_string(own, [["1"]] * results, **dict.fromkeys((f for o in own for f in o), "replicated"))


@register
class NonzeroSized(Op):
    """Coordinates of the ``count`` elements that are not zero, in row-major order: ``[count, rank]`` int64."""

    vjp = None
    count: int = param("int")

    def infer(self, x, count):
        return Meta((count, len(x.shape)), dt.int64)

    def shard(self, x, count):
        names = factor_names(len(x.shape))
        return shard_string([names], [["1", "1"]], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for x in (
            np.array([[0, 1.5], [2, 0]]),
            np.array([True, False, True]),
            np.zeros((0, 2)),
            np.array(1.0),
            np.zeros((2,), np.int64),
        ):
            yield Sample((x,), params={"count": int(np.count_nonzero(x))}, differentiable=())


@register
class MaskedSelectSized(Op):
    """The ``count`` elements of ``x`` where ``mask``, of its shape, holds, in row-major order."""

    packed = True
    inputs = ("x", "mask")
    linear = monotone = ("x",)
    count: int = param("int")

    def infer(self, x, mask, count):
        accept(self, "b", mask)
        same_shape(self, x.shape, mask.shape, "a mask of the shape of x")
        return Meta((count,), x.dtype)

    def decompose(self, x, mask, count):
        return F.gather_nd(x, F.nonzero_sized(mask, count=count), depth=x.ndim)

    def vjp(self, s, g):
        x, mask = s.inputs
        return F.masked_scatter(zeros(x), mask, g), None

    def shard(self, x, mask, count):
        return _all_replicated(x, mask, results=1)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        mask = np.array([[True, False, True], [False, False, True]])
        yield Sample((draw(rng, (2, 3)), mask), params={"count": 3})
        yield Sample((draw(rng, (2, 3), dt.complex128), ~mask), params={"count": 3})
        yield Sample((draw(rng, (2, 3)), mask & False), params={"count": 0}, note="none")
        yield Sample((draw(rng, ()), np.array(True)), params={"count": 1}, note="0-d")
        yield Sample((draw(rng, (0, 3)), np.zeros((0, 3), bool)), params={"count": 0}, note="0-size")


@register
class MaskedScatter(Op):
    """``x`` with the elements where ``mask``, of its shape, holds replaced by the first elements of ``values``, in
    row-major order.
    """

    packed = True
    inputs = ("x", "mask", "values")
    linear = monotone = (("x", "values"),)

    def infer(self, x, mask, values):
        accept(self, "b", mask)
        same_dtype(self, x, values)
        same_shape(self, x.shape, mask.shape, "a mask of the shape of x")
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x, mask, values):
        n = dim.product(x.shape)
        position = F.sub(F.cumsum(F.cast(F.reshape(mask, shape=(n,)), dtype=dt.int64), axis=0), 1)
        total = dim.product(values.shape)
        # One more value, so that there is something to take where nothing is chosen.
        flat = F.pad(F.reshape(values, shape=(total,)), 0, lo=(0,), hi=(1,))
        chosen = F.take(flat, F.maximum(F.minimum(position, total), 0), axis=0)
        return F.where(mask, F.reshape(chosen, shape=sizes(x)), x)

    def shard(self, x, mask, values):
        names = factor_names(len(x.shape))
        own = factor_names(len(values.shape), "v")
        return shard_string([names, names, own], [names], **dict.fromkeys((*names, *own), "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        mask = np.array([[True, False, True], [False, False, True]])
        yield Sample((draw(rng, (2, 3)), mask, draw(rng, (4,))))
        yield Sample((draw(rng, (2, 3), dt.complex128), mask, draw(rng, (3, 1), dt.complex128)))
        yield Sample((draw(rng, (2, 3)), mask & False, draw(rng, (0,))), note="none")
        yield Sample((draw(rng, ()), np.array(True), draw(rng, (1,))), note="0-d")
        yield Sample((draw(rng, (0, 3)), np.zeros((0, 3), bool), draw(rng, (2,))), note="0-size")


@register
class UniqueCount(Op):
    """Number of distinct elements, or slices along ``axis``, of ``x``; with ``consecutive``, of runs.

    A 0-d int64.
    """

    vjp = None
    axis: int | None = None
    consecutive: bool = False

    def infer(self, x):
        if self.axis is not None:
            check_axes(self, (self.axis,), len(x.shape))
        return Meta((), dt.int64)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [[]], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for sample in UniqueSized.samples(rng):
            yield Sample(sample.inputs, sample.attrs, differentiable=(), note=sample.note)


@register
class UniqueSized(Op):
    """The ``count`` distinct elements, or slices along ``axis``, in rising order; with ``consecutive``, the runs in
    order.

    Results: values, the position of each one's first occurrence, for each element the position of its value, and the
    counts.
    """

    vjp = None
    axis: int | None = None
    consecutive: bool = False
    count: int = param("int")

    def infer(self, x, count):
        if self.axis is None:
            values, inverse = (count,), (dim.product(x.shape),)
        else:
            check_axes(self, (self.axis,), len(x.shape))
            values = tuple(count if i == self.axis else n for i, n in enumerate(x.shape))
            inverse = (x.shape[self.axis],)
        return Meta(values, x.dtype), Meta((count,), dt.int64), Meta(inverse, dt.int64), Meta((count,), dt.int64)

    def shard(self, x, count):
        names = factor_names(len(x.shape))
        rank = 1 if self.axis is None else len(names)
        return shard_string([names], [["1"] * rank, ["1"], ["1"], ["1"]], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        x = np.array([[2, 1, 2], [1, 1, 3]])
        for axis, consecutive, count in ((None, False, 3), (None, True, 5), (0, False, 2), (1, True, 3)):
            attrs = {"axis": axis, "consecutive": consecutive}
            yield Sample((x,), attrs, {"count": count})
            yield Sample((x.astype(np.float64),), attrs, {"count": count}, differentiable=())
        yield Sample((np.zeros((0,)),), {}, {"count": 0}, differentiable=(), note="0-size")
        yield Sample((np.array([True, False, True]),), {}, {"count": 2})


@register
class BincountSized(Op):
    """Number of occurrences of each number below ``count`` in the 1-d ``x``; with ``weights``, the sum of theirs."""

    inputs = ("x", "weights?")
    count: int = param("int")

    def infer(self, x, weights, count):
        _check_index(self, x)
        if len(x.shape) != 1:
            self.fail(ValueError, "a 1-d tensor", tuple(x.shape))
        if weights is None:
            return Meta((count,), dt.int64)
        same_shape(self, x.shape, weights.shape, "weights of the shape of x")
        return Meta((count,), weights.dtype)

    def decompose(self, x, weights, count):
        if weights is None:
            weights = F.full(1, dtype=dt.int64, shape=sizes(x))
        return F.put(F.full(0, dtype=weights.dtype, shape=(count,)), x, weights, axis=0, mode="add")

    def shard(self, x, weights, count):
        return shard_string([["a"], [] if weights is None else ["a"]], [["1"]], a="sum")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((np.array([1, 0, 3, 1]), None), params={"count": 4})
        yield Sample((np.array([1, 0, 3, 1], np.int32), draw(rng, (4,))), params={"count": 6})
        yield Sample((np.zeros(0, np.int64), None), params={"count": 3}, note="0-size")


@register
class SearchSorted(Op):
    """Insertion points of ``values`` in ascending rows: before equal elements, or after them with ``right``.

    ``rows`` is 1-d, or has the leading dims of ``values``.
    """

    inputs = ("rows", "values")
    vjp = None
    right: bool = False
    dtype: Any = dt.int64

    def infer(self, rows, values):
        same_dtype(self, rows, values)
        accept(self, "if", rows, values)
        if not rows.shape:
            self.fail(ValueError, "rows of at least one dim", "a 0-d tensor")
        if len(rows.shape) > 1:
            same_shape(self, rows.shape[:-1], values.shape[:-1], "rows that are 1-d or have the leading dims of values")
            if len(rows.shape) != len(values.shape):
                self.fail(
                    ValueError, "values of the rank of the rows", f"{tuple(rows.shape)} and {tuple(values.shape)}"
                )
        return Meta(tuple(values.shape), self.dtype)

    def shard(self, rows, values):
        names = factor_names(len(values.shape))
        own = ["r"] if len(rows.shape) == 1 else [*names[:-1], "r"]
        return shard_string([own, names], [names], r="replicated")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        row = np.array([0.0, 1.0, 1.0, 2.0])
        for right in (False, True):
            yield Sample((row, np.array([[1.0, 0.5], [3.0, -1.0]])), {"right": right}, differentiable=())
            yield Sample((np.stack([row, row + 1]), np.array([[1.0], [1.0]])), {"right": right}, differentiable=())
        yield Sample((np.array([1, 3, 5]), np.array(3)), {"dtype": dt.int32}, note="0-d")
        yield Sample((row, np.zeros((0,))), differentiable=(), note="0-size")
        yield Sample((row[:0], np.ones((2,))), differentiable=(), note="empty row")


@register
class Histogram(Op):
    """Counts of ``x`` in ``bins`` equal intervals from ``lo`` to ``hi``, the last one closed; with ``weights``, the sum
    of theirs.
    """

    inputs = ("x", "weights?")
    vjp = None
    bins: int = param("int")
    lo: float = param()
    hi: float = param()

    def infer(self, x, weights, bins, lo, hi):
        accept(self, "if", x)
        require(self, bins >= 1, "at least one bin", bins)
        if weights is None:
            return Meta((bins,), dt.int64)
        same_shape(self, x.shape, weights.shape, "weights of the shape of x")
        return Meta((bins,), weights.dtype)

    def shard(self, x, weights, bins, lo, hi):
        names = factor_names(len(x.shape))
        return shard_string([names, [] if weights is None else names], [["1"]], **dict.fromkeys(names, "sum"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        x = np.array([[0.0, 0.1, 0.9], [1.0, 2.0, -1.0]])
        yield Sample((x, None), params={"bins": 4, "lo": 0.0, "hi": 1.0}, differentiable=())
        yield Sample((x, draw(rng, (2, 3))), params={"bins": 2, "lo": -1.0, "hi": 2.0}, differentiable=())
        yield Sample((np.array([1, 2, 2]), None), params={"bins": 3, "lo": 0.0, "hi": 3.0})
        yield Sample((np.zeros((0,)), None), params={"bins": 2, "lo": 0.0, "hi": 1.0}, differentiable=(), note="0-size")


# --- triangles -----------------------------------------------------------------------------------------------------


class Triangle(Op):
    """The last two dims of ``x`` with one side of a diagonal kept, the rest zero."""

    linear = monotone = True
    diagonal: int = param("int", 0)

    def infer(self, x, diagonal):
        if len(x.shape) < 2:
            self.fail(ValueError, "at least two dims", tuple(x.shape))
        return Meta(tuple(x.shape), x.dtype)

    def _above(self, x, diagonal):
        """The number of the diagonal each position lies on, less ``diagonal``."""
        row = F.unsqueeze(counter(x.shape[-2], diagonal), axes=(1,))
        return F.sub(counter(x.shape[-1]), row)

    def shard(self, x, diagonal):
        return shard_except(x, (len(x.shape) - 2, len(x.shape) - 1))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)),))
        yield Sample((draw(rng, (2, 4, 3)),), params={"diagonal": 1})
        yield Sample((draw(rng, (3, 3), dt.complex128),), params={"diagonal": -1})
        yield Sample((draw(rng, (0, 3)),), note="0-size")
        yield Sample((draw(rng, (2, 2), dt.bool),))


@register
class Tril(Triangle):
    """The last two dims of ``x``, zero above the diagonal."""

    def decompose(self, x, diagonal):
        return F.where(F.le(self._above(x, diagonal), 0), x, _zero_of(x))

    def vjp(self, s, g):
        return (F.tril(g, diagonal=s.params.diagonal),)


@register
class Triu(Triangle):
    """The last two dims of ``x``, zero below the diagonal."""

    def decompose(self, x, diagonal):
        return F.where(F.ge(self._above(x, diagonal), 0), x, _zero_of(x))

    def vjp(self, s, g):
        return (F.triu(g, diagonal=s.params.diagonal),)


def _zero_of(x: Any) -> Any:
    return False if x.dtype.is_bool else 0
