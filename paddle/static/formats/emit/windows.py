"""Convolutions and pools. Those over one dim are written over two, of which the first is 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np

from paddle.static.formats.emit.emitter import (
    Attribute,
    Emitter,
    Result,
    TensorType,
    array,
    emits,
    fixed,
    flag,
    i32,
    i64,
    text,
    typed,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.ir import sym as dim

_LAYOUT = {2: "NCHW", 3: "NCDHW"}


def _lifted(e: Emitter, x: Result, n: int) -> Result:
    return e.unsqueeze(x, [2]) if n == 1 else x


def _dropped(e: Emitter, x: Result, n: int) -> Result:
    return e.squeeze(x, [2]) if n == 1 else x


def _lifted_type(kind: TensorType, n: int) -> TensorType:
    return kind._replace(shape=(*kind.shape[:2], 1, *kind.shape[2:])) if n == 1 else kind


def _each(xs: Sequence[Any], n: int, first: int) -> list[Any]:
    return [first, *xs] if n == 1 else list(xs)


def _pads(lo: Sequence[int], hi: Sequence[int], n: int) -> list[int]:
    """Pads of each dim, at both ends where they differ."""
    lo, hi = _each(lo, n, 0), _each(hi, n, 0)
    return list(lo) if lo == hi else [p for pair in zip(lo, hi, strict=True) for p in pair]


EXPLICIT = text("EXPLICIT")


@emits(F.Conv)
def conv(e: Emitter, o: ir.Operation) -> Result | None:
    groups, strides, lo, hi, dilations = o.params
    n = o.op.nd
    if n > 3 or not fixed(groups, strides, dilations):
        return None
    if not fixed(lo, hi):  # files have but numbers
        none, space = (0,) * n, tuple(range(2, n + 2))
        given = {"nd": n, "groups": groups, "strides": strides, "dilations": dilations}
        return e.traced(
            lambda x, w: F.conv(F.pad(x, 0, lo=lo, hi=hi, axes=space), w, **given, pads_lo=none, pads_hi=none),
            o.operands,
        )[0]
    if any(p < 0 for p in (*lo, *hi)):
        return None
    x, w = (e.of(v) for v in o.operands)
    rank = max(n, 2)
    name = f"conv{rank}d"
    if rank == 2 and groups > 1 and groups == typed(x).shape[1] and typed(w).shape[0] % groups == 0:
        name = "depthwise_conv2d"
    made = e.one(
        name, [_lifted(e, x, n), _lifted(e, w, n)], _lifted_type(e.type(o), n),
        strides=array(i32, _each(strides, n, 1)), paddings=array(i32, _pads(lo, hi, n)), padding_algorithm=EXPLICIT,
        dilations=array(i32, _each(dilations, n, 1)), groups=i32(groups), data_format=text(_LAYOUT[rank]),
    )  # fmt: skip
    return _dropped(e, made, n)


@emits(F.ConvTranspose)
def conv_transpose(e: Emitter, o: ir.Operation) -> Result | None:
    groups, strides, lo, hi, dilations, extra = o.params
    n = o.op.nd
    if n > 3 or not fixed(groups, strides, dilations):
        return None
    if not fixed(lo, hi) or (n == 3 and not fixed(extra)):  # files have but numbers
        return e.traced(lambda x, w: _part_of_whole(x, w, o.params), o.operands)[0]
    if any(p < 0 for p in (*lo, *hi)):
        return None
    more = _each(extra, n, 0) if fixed(extra) and any(extra) else []
    return _transposed(e, o, more, [] if fixed(extra) else o.results[0].meta.shape[2:])


def _part_of_whole(x: Tensor, w: Tensor, params: Sequence[Any]) -> Tensor:
    """A transposed convolution whose pads cut off, or whose ends add, what depends on sizes: of the one without."""
    groups, strides, lo, hi, dilations, extra = params
    none = (0,) * len(lo)
    y = F.conv_transpose(x, w, len(lo), groups, strides, none, none, dilations, none)
    ends = tuple(more - p for more, p in zip(extra, hi, strict=True))
    return F.pad(y, 0, lo=tuple(-p for p in lo), hi=ends, axes=tuple(range(2, 2 + len(lo))))


@emits(F.ConvInputGrad)
def conv_input_grad(e: Emitter, o: ir.Operation) -> Result | None:
    """A transposed convolution whose sizes are given."""
    *geometry, sizes = o.params
    if o.op.nd > 2 or not fixed(geometry) or any(p < 0 for p in (*geometry[2], *geometry[3])):
        return None
    return _transposed(e, o, [], sizes)


def _transposed(e: Emitter, o: ir.Operation, more: Sequence[int], sizes: Sequence[Any]) -> Result:
    """``more``: what is added at the ends. ``sizes``: of the result, or none; three of them are no operand."""
    groups, strides, lo, hi, dilations = o.params[:5]
    n = o.op.nd
    x, w = (e.of(v) for v in o.operands)
    rank = max(n, 2)
    given = {
        "strides": array(i32, _each(strides, n, 1)), "paddings": array(i32, _pads(lo, hi, n)),
        "output_padding": array(i32, more), "padding_algorithm": EXPLICIT, "groups": i32(groups),
        "dilations": array(i32, _each(dilations, n, 1)), "data_format": text(_LAYOUT[rank]),
    }  # fmt: skip
    operands = [_lifted(e, x, n), _lifted(e, w, n)]
    kind = _lifted_type(e.type(o), n)
    if rank == 3:
        made = e.one("conv3d_transpose", operands, kind, **given, output_size=array(i32, []))
    else:
        deep = groups > 1 and groups == typed(x).shape[1] and typed(w).shape[1] == 1
        name = "depthwise_conv2d_transpose" if deep else "conv2d_transpose"
        made = e.one(name, [*operands, e.ints(_each(sizes, n, 1) if sizes else [])], kind, **given)
    return _dropped(e, made, n)


def _images(e: Emitter, o: ir.Operation) -> tuple[Result, TensorType]:
    """The operand of a pool as images with channels, and the type of the result for these."""
    n, shape, kind = o.op.n, o.operands[0].meta.shape, e.types(o)[0]  # type: ignore[union-attr]
    x = e.of(o.operands[0])
    if len(shape) != n + 2:  # other dims before those of the windows: they are taken together
        lead: Any = 1
        for size in shape[:-n]:
            lead = lead * size
        x = e.reshape(x, (lead, 1, *shape[-n:]))
        kind = kind._replace(shape=(*typed(x).shape[:2], *kind.shape[-n:]))
    return _lifted(e, x, n), _lifted_type(kind, n)


def _restored(e: Emitter, o: ir.Operation, x: Result) -> Result:
    shape = o.results[0].meta.shape
    x = _dropped(e, x, o.op.n)
    return x if len(typed(x).shape) == len(shape) == o.op.n + 2 else e.reshape(x, shape)


def _pool(
    e: Emitter, o: ir.Operation, kind: str, kernel: Sequence[Any], strides: Sequence[Any], pads: list[int],
    exclusive: bool = True, adaptive: bool = False, ceil: bool = False,
) -> Result:  # fmt: skip
    n = o.op.n
    rank = max(n, 2)
    size = _each(kernel, n, 1)
    x, result = _images(e, o)
    operands = [x]
    given: dict[str, Attribute] = {}
    if rank == 2:
        operands.append(e.ints(size))
    else:
        given["kernel_size"] = array(i64, size)
    made = e.one(
        f"pool{rank}d", operands, result, **given, strides=array(i64, _each(strides, n, 1)),
        paddings=array(i64, pads), ceil_mode=flag(ceil), exclusive=flag(exclusive), data_format=text(_LAYOUT[rank]),
        pooling_type=text(kind), global_pooling=flag(False), adaptive=flag(adaptive), padding_algorithm=EXPLICIT,
    )  # fmt: skip
    return _restored(e, o, made)


def _plain(o: ir.Operation) -> bool:
    """Is it a pool over one to three dims, by known numbers?"""
    return 0 < o.op.n <= 3 and fixed(o.params)


def _indexed(
    e: Emitter, o: ir.Operation, kernel: Any, strides: Any, pads: list[int], adaptive: bool, ceil: bool = False
) -> list[Result]:  # fmt: skip
    """A pool that gives places, too."""
    n = o.op.n
    rank = max(n, 2)
    x, kind = _images(e, o)
    values, places = e.call(
        f"max_pool{rank}d_with_index", [x], [kind, kind._replace(dtype="int32")],
        kernel_size=array(i32, _each(kernel, n, 1)), strides=array(i32, _each(strides, n, 1)),
        paddings=array(i32, pads), global_pooling=flag(False), adaptive=flag(adaptive), ceil_mode=flag(ceil),
    )  # fmt: skip
    return [_restored(e, o, values), e.cast(_restored(e, o, places), o.op.dtype)]


def _padded_first(e: Emitter, o: ir.Operation, kind: str) -> Result | None:
    """A pool with pads that depend on sizes, of which files have but numbers: what it adds up, or takes the largest of,
    is padded before."""
    n = o.op.n
    kernel, strides, lo, hi, dilations = o.params
    if not 0 < n <= 3 or not fixed(kernel, strides, dilations):
        return None
    (x,) = o.operands
    assert type(x) is ir.Value and x.meta.dtype is not None
    value: Any = 0
    if kind == "max":
        value = -inf if x.meta.dtype.is_floating else int(np.iinfo(x.meta.dtype.numpy).min)
    axes = tuple(range(x.meta.ndim - n, x.meta.ndim))

    def pool(x: Tensor) -> Tensor:
        x = F.pad(x, value, lo=lo, hi=hi, axes=axes)
        return F.window_reduce(x, n, kind, kernel, strides, (0,) * n, (0,) * n, dilations)

    return e.traced(pool, [x])[0]


@emits(F.MaxPool)
def max_pool(e: Emitter, o: ir.Operation) -> list[Result | None] | None:
    if e.reads(o.results[1]):
        return _max_pool_with_places(e, o)
    if not _plain(o):
        made = _padded_first(e, o, "max")
        return None if made is None else [made, None]
    kernel, strides, lo, hi, dilations = o.params
    if any(d != 1 for d in dilations):
        return None
    return [_pool(e, o, "max", kernel, strides, _pads(lo, hi, o.op.n)), None]


def _max_pool_with_places(e: Emitter, o: ir.Operation) -> list[Result | None] | None:
    """The operator has the same pads at both ends, and room for a last window in part."""
    kernel, strides, lo, hi, dilations = o.params
    if not 0 < o.op.n <= 3 or not fixed(kernel, strides, lo, dilations) or any(d != 1 for d in dilations):
        return None
    sizes = o.operands[0].meta.shape[-o.op.n :]  # type: ignore[union-attr]
    room = [p + -(n + 2 * p - k) % t for n, k, t, p in zip(sizes, kernel, strides, lo, strict=True)]
    same, ceil = (all(map(dim.same, hi, ends)) for ends in (lo, room))
    if not same and not ceil:
        return None
    return [*_indexed(e, o, kernel, strides, _each(lo, o.op.n, 0), False, not same)]


@emits(F.AdaptiveMaxPool)
def adaptive_max_pool(e: Emitter, o: ir.Operation) -> Sequence[Result | None] | None:
    (sizes,) = o.params
    if _plain(o):
        none = [0] * max(o.op.n, 2)
        # The operator without places has other regions.
        return [*_indexed(e, o, sizes, [1] * o.op.n, none, True)]
    if e.reads(o.results[1]):
        return e.traced(lambda x: _largest_and_places(x, sizes, o.op.dtype), o.operands)
    return [*e.traced(lambda x: _largest(x, sizes, o.op.dtype), o.operands), None]


# Numbers of regions that are known when the program runs, of which files have none: axis after axis.


def _largest(x: Tensor, counts: Sequence[Any], dtype: Any) -> Tensor:
    for axis, count in enumerate(counts, x.ndim - len(counts)):
        if not dim.same(x.shape[axis], count):
            x, _ = _along(x, axis, count, dtype)
    return x


def _largest_and_places(x: Tensor, counts: Sequence[Any], dtype: Any) -> tuple[Tensor, Tensor]:
    """Of equal elements the first one has the place, so the last axis comes first: then it is in the first row."""
    places, inner = F.full(0, dtype=dtype, shape=x.shape), 1
    for axis in reversed(range(x.ndim - len(counts), x.ndim)):
        size, count = x.shape[axis], counts[axis - x.ndim]
        if dim.same(size, count):
            own = F.reshape(F.iota(0, 1, dtype=dtype, size=size), (size, *(1,) * (x.ndim - 1 - axis)))
        else:
            x, own = _along(x, axis, count, dtype)
            places = F.take_along(places, F.cast(own, dtype=dt.int64), axis)
        places = F.add(places, F.mul(own, inner))
        inner = inner * size
    return x, places


def _along(x: Tensor, axis: int, count: Any, dtype: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of regions of one axis, and where on it they are."""
    if fixed(count):
        order = [*(i for i in range(x.ndim) if i != axis), axis]
        back = tuple(map(order.index, range(x.ndim)))
        y, own = F.adaptive_max_pool(F.permute(x, perm=tuple(order)), 1, dtype, (count,))
        return F.permute(y, perm=back), F.permute(own, perm=back)
    size = x.shape[axis]
    most = dim.cdiv(size, count) + 1  # elements of a region
    i = F.reshape(F.iota(0, 1, dtype=dt.int64, size=count), (count, 1))
    begin = F.floor_div(F.mul(i, size), count)
    last = F.sub(F.floor_div(F.add(F.mul(F.add(i, 1), size), count - 1), count), 1)
    index = F.minimum(F.add(begin, F.iota(0, 1, dtype=dt.int64, size=most)), last)  # the last one again and again
    parts = F.take(x, F.reshape(index, (count * most,)), axis)
    parts = F.reshape(parts, (*x.shape[:axis], count, most, *x.shape[axis + 1 :]))
    best = F.argmax(parts, axis=axis + 1, keepdim=True)
    y = F.squeeze(F.take_along(parts, best, axis + 1), axes=(axis + 1,))
    behind = (count, *(1,) * (x.ndim - 1 - axis))
    own = F.minimum(F.add(F.squeeze(best, axes=(axis + 1,)), F.reshape(begin, behind)), F.reshape(last, behind))
    return y, F.cast(own, dtype=dtype)


@emits(F.WindowReduce)
def window_reduce(e: Emitter, o: ir.Operation) -> Result | None:
    if not _plain(o):
        return _padded_first(e, o, o.op.kind)
    kernel, strides, lo, hi, dilations = o.params
    if any(d != 1 for d in dilations):
        return None
    pads = _pads(lo, hi, o.op.n)
    if o.op.kind == "max":
        return _pool(e, o, "max", kernel, strides, pads)
    return e.scaled(_pool(e, o, "avg", kernel, strides, pads, exclusive=False), prod(kernel))


@emits(F.AvgPool)
def avg_pool(e: Emitter, o: ir.Operation) -> Result | None:
    if not _plain(o):
        return e.traced(lambda x: o.op.decompose(x, *o.params), o.operands)[0]
    kernel, strides, lo, hi, dilations, extra = o.params
    if any(d != 1 for d in dilations):
        return None
    if o.op.exclusive:
        grown = [a + b for a, b in zip(hi, extra, strict=True)]
        return _pool(e, o, "avg", kernel, strides, _pads(lo, grown, o.op.n))
    return _pool(e, o, "avg", kernel, strides, _pads(lo, hi, o.op.n), exclusive=False, ceil=any(extra))


@emits(F.AdaptiveAvgPool)
def adaptive_avg_pool(e: Emitter, o: ir.Operation) -> Result | None:
    n, (sizes,) = o.op.n, o.params
    if n == 3 and not fixed(sizes):  # the operator over three dims has but numbers
        return e.traced(lambda x: _mean_of_planes(x, sizes), o.operands)[0]
    if not 0 < n <= 3:
        return None
    return _pool(e, o, "avg", sizes, [1] * n, [0] * max(n, 2), adaptive=True)


def _mean_of_planes(x: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Means of regions of the last three dims: of two of them, then of the other one."""
    x = F.permute(F.adaptive_avg_pool(x, 2, tuple(sizes[1:])), perm=(0, 1, 3, 4, 2))
    return F.permute(F.adaptive_avg_pool(x, 1, (sizes[0],)), perm=(0, 1, 4, 2, 3))


@emits(F.GridSample)
def grid_sample(e: Emitter, o: ir.Operation) -> Result | None:
    mode, padding = o.op.mode, o.op.padding
    if mode not in ("bilinear", "nearest") or padding not in ("zeros", "border", "reflection"):
        return None
    given = {"mode": text(mode), "padding_mode": text(padding), "align_corners": flag(o.op.align_corners)}
    return e.one("grid_sample", [e.of(x) for x in o.operands], e.type(o), **given)


@emits(F.DeformableConv)
def deformable_conv(e: Emitter, o: ir.Operation) -> Result | None:
    _, deformable, strides, pads, dilations = o.params
    if not fixed(o.params):
        return None
    operands = [None if v is None else e.of(v) for v in o.operands]
    return e.one(
        "deformable_conv", operands, e.type(o), strides=array(i32, strides), paddings=array(i32, pads),
        dilations=array(i32, dilations), deformable_groups=i32(deformable), groups=i32(o.op.parts),
        im2col_step=i32(1),
    )  # fmt: skip
