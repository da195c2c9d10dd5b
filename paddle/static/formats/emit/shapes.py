"""Movement of elements: shapes, slices, writes through views, joining and parting."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.static.formats.emit.emitter import (
    Emitter,
    Result,
    TensorType,
    array,
    emits,
    f64,
    fixed,
    i32,
    i64,
    text,
    typed,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import program as ir
from umiak.ir import sym
from umiak.ir.expr import Sym

_END, _BEGIN = (1 << 31) - 1, -(1 << 31)  # of a slice that goes to the end, or backwards to the first element


@emits(F.Reshape)
def reshape(e: Emitter, o: ir.Operation) -> Result:
    return _reshape(e, e.of(o.operands[0]), o.params[0], o.operands[0].meta.shape)  # type: ignore[union-attr]


def _reshape(e: Emitter, x: Result, shape: Any, before: Any) -> Result:
    """A reshape, with sizes that stay where they are left to the operator."""
    # In a shape of an empty tensor 0 is 0 itself: no other size than the one that stays may be 0 then.
    one_open = sum(type(n) is Sym for n in before) == 1 and any(type(n) is Sym for n in shape)
    if one_open and not any(type(n) is int and n == 0 for n in (*shape, *before)):
        said = [0 if i < len(before) and type(n) is Sym and n is before[i] else n for i, n in enumerate(shape)]
        open_ = [i for i, n in enumerate(said) if type(n) is Sym]
        if len(open_) == 1:
            said[open_[0]] = -1
        elif not open_ and 0 in said and said.count(0) < len(said):
            pass
        if not any(type(n) is Sym for n in said):
            kind = TensorType(typed(x).dtype, tuple(n if type(n) is int else -1 for n in shape))
            return e.one("reshape", [x, e.ints(said)], kind)
    return e.reshape(x, shape)


@emits(F.BroadcastTo)
def broadcast_to(e: Emitter, o: ir.Operation) -> Result:
    return e.expand(e.of(o.operands[0]), o.params[0])


@emits(F.Permute)
def permute(e: Emitter, o: ir.Operation) -> Result:
    return e.transpose(e.of(o.operands[0]), o.op.perm)


@emits(F.Squeeze)
def squeeze(e: Emitter, o: ir.Operation) -> Result:
    return e.squeeze(e.of(o.operands[0]), o.op.axes)


@emits(F.Unsqueeze)
def unsqueeze(e: Emitter, o: ir.Operation) -> Result:
    return e.unsqueeze(e.of(o.operands[0]), o.op.axes)


@emits(F.Diagonal)
def diagonal(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    offset = i32(o.params[0])
    axes = {"axis1": i32(o.op.axis1), "axis2": i32(o.op.axis2)}
    return e.one("diagonal", [e.of(o.operands[0])], e.type(o), offset=offset, **axes)


def _ends(shape: Any, axes: Any, starts: Any, sizes: Any, steps: Any) -> list[Any]:
    """Ends of slices."""
    out = []
    for axis, start, n, step in zip(axes, starts, sizes, steps, strict=True):
        size = shape[axis]
        end = start + n * step
        if type(step) is int and step < 0:
            out.append(_BEGIN if type(end) is Sym or end < 0 else end)
        elif type(end) is not int and (end is size or (type(start) is int and start + size is end + start)):
            out.append(_END)
        else:
            out.append(end)
    return out


@emits(F.Slice)
def slice_(e: Emitter, o: ir.Operation) -> Result | None:
    starts, sizes, steps = o.params
    x, axes = e.of(o.operands[0]), o.op.axes
    if not fixed(steps):
        return e.traced(lambda x: _gathered(x, axes, starts, sizes, steps), o.operands)[0]
    ends = _ends(o.operands[0].meta.shape, axes, starts, sizes, steps)  # type: ignore[union-attr]
    if all(s == 1 for s in steps):
        return e.one(
            "slice", [x, e.ints(starts), e.ints(ends)], e.type(o), axes=array(i64, axes),
            infer_flags=array(i64, [1 if fixed(a, b) else -1 for a, b in zip(starts, ends, strict=True)]),
            decrease_axis=array(i64, []),
        )  # fmt: skip
    if any(s < 0 and type(n) is Sym and end != _BEGIN for s, n, end in zip(steps, sizes, ends, strict=True)):
        return None
    given = [e.ints(starts), e.ints(ends), e.ints(steps)]
    return e.one("strided_slice", [x, *given], e.type(o), axes=array(i32, axes))


def _gathered(x: Any, axes: Any, starts: Any, sizes: Any, steps: Any) -> Any:
    """A slice by steps of which data or sizes may decide that they go backwards."""
    for axis, start, n, step in zip(axes, starts, sizes, steps, strict=True):
        if type(step) is int and step == 1:
            x = F.slice(x, axes=(axis,), starts=(start,), sizes=(n,), steps=(1,))
        else:
            at = F.add(
                F.mul(F.iota(0, 1, dtype=dt.int64, size=n), F.full(step, shape=(), dtype=dt.int64)),
                F.full(start, shape=(), dtype=dt.int64),
            )
            x = F.take(x, at, axis=axis)
    return x


@emits(F.ScatterView)
def scatter_view(e: Emitter, o: ir.Operation) -> Result | None:
    base, value = o.operands
    region, args, accumulate = o.op.region, o.params[0], o.op.accumulate
    kind, meta = e.type(o), o.results[0].meta
    if accumulate and not isinstance(region, F.Slice):
        return None
    shape = meta.shape
    if isinstance(region, (F.Reshape, F.Permute, F.Squeeze, F.Unsqueeze)):
        if type(value) is not ir.Value:
            return e.expand(e.of(value, kind.dtype), shape)
        if isinstance(region, F.Permute):
            return e.transpose(e.of(value), [int(i) for i in np.argsort(region.perm)])
        return _reshape(e, e.of(value), shape, value.meta.shape)
    if isinstance(region, F.Diagonal) and type(value) is ir.Value and fixed(args):
        axes = {"dim1": i32(region.axis1), "dim2": i32(region.axis2)}
        return e.one("fill_diagonal_tensor", [e.of(base), e.of(value)], kind, offset=i64(args[0]), **axes)
    if not isinstance(region, F.Slice):
        return None
    n = len(region.axes)
    starts, sizes, steps = args[:n], args[n : 2 * n], args[2 * n :]
    if not fixed(steps):
        return None
    if any(type(size) is int and size == 0 for size in sizes):
        return e.of(base)
    ends = _ends(shape, region.axes, starts, sizes, steps)
    given = e.of(value, kind.dtype)
    if accumulate:
        seen = list(shape)
        for axis, size in zip(region.axes, sizes, strict=True):
            seen[axis] = size
        seen_type = TensorType(kind.dtype, tuple(x if type(x) is int else -1 for x in seen))
        old = e.one(
            "strided_slice", [e.of(base), e.ints(starts), e.ints(ends), e.ints(steps)], seen_type,
            axes=array(i32, region.axes),
        )  # fmt: skip
        given = e.one("add", [old, given], seen_type)
    if not shape:  # all of it: the operator takes no tensor without dims
        return given
    none = array(i64, [])
    bounds = [e.ints(starts), e.ints(ends), e.ints(steps)]
    return e.one(
        "set_value_with_tensor", [e.of(base), given, *bounds], kind, axes=array(i64, region.axes), decrease_axes=none,
        none_axes=none,
    )  # fmt: skip


@emits(F.Overwritten)
def overwritten(e: Emitter, o: ir.Operation) -> Result:
    return e.of(o.operands[1], o.results[0].meta.dtype)


@emits(F.WithGradient)
def with_gradient(e: Emitter, o: ir.Operation) -> list[Result]:
    return [e.of(x) for x in o.operands[len(o.operands) - o.op.count :]]


# --- joining and parting ---------------------------------------------------------------------------------------------


@emits(F.Concat)
def concat(e: Emitter, o: ir.Operation) -> Result:
    axis = e.attribute(o.op.axis, "int32")
    return e.one("concat", [e.combine([e.of(x) for x in o.operands]), axis], e.type(o))


@emits(F.Stack)
def stack(e: Emitter, o: ir.Operation) -> Result:
    return e.one("stack", [e.combine([e.of(x) for x in o.operands])], e.type(o), axis=i32(o.op.axis))


@emits(F.Split)
def split(e: Emitter, o: ir.Operation) -> list[Result]:
    axis = e.attribute(o.op.axis, "int32")
    parts = e.one("split", [e.of(o.operands[0]), e.ints(o.params[0]), axis], tuple(e.types(o)))
    return e.parts(parts)


@emits(F.Unbind)
def unbind(e: Emitter, o: ir.Operation) -> list[Result]:
    return e.parts(e.one("unbind", [e.of(o.operands[0])], tuple(e.types(o)), axis=i32(o.op.axis)))


@emits(F.Flip)
def flip(e: Emitter, o: ir.Operation) -> Result:
    return e.one("flip", [e.of(o.operands[0])], e.type(o), axis=array(i32, o.op.axes))


@emits(F.Roll)
def roll(e: Emitter, o: ir.Operation) -> Result:
    if not o.op.axes:
        return e.of(o.operands[0])
    return e.one("roll", [e.of(o.operands[0]), e.ints(o.params[0])], e.type(o), axis=array(i64, o.op.axes))


@emits(F.Tile)
def tile(e: Emitter, o: ir.Operation) -> Result:
    return e.one("tile", [e.of(o.operands[0]), e.ints(o.params[0])], e.type(o))


@emits(F.RepeatInterleave)
def repeat_interleave(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    given = {"repeats": i32(o.params[0]), "axis": i32(o.op.axis), "output_size": i64(-1)}
    return e.one("repeat_interleave", [e.of(o.operands[0])], e.type(o), **given)


@emits(F.DiagEmbed)
def diag_embed(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    axes = {"dim1": i32(o.op.axis1), "dim2": i32(o.op.axis2)}
    x, kind = e.of(o.operands[0]), e.type(o)
    number = "int32" if kind.dtype == "bool" else kind.dtype  # there is no kernel for bools
    made = e.one("diag_embed", [e.cast(x, number)], kind._replace(dtype=number), offset=i32(o.params[0]), **axes)
    return e.cast(made, kind.dtype)


@emits(F.Tril, F.Triu)
def tril(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    return e.one(o.name, [e.of(o.operands[0])], e.type(o), diagonal=i32(o.params[0]))


@emits(F.Pad)
def pad(e: Emitter, o: ir.Operation) -> Result | None:
    value: Any
    x, value = o.operands
    lo, hi = o.params
    shape = o.results[0].meta.shape
    rank = len(shape)
    if type(value) is ir.Value or not fixed(value):
        return None
    axes = range(rank) if o.op.axes is None else o.op.axes
    wanted = [(a, m, n) for a, m, n in zip(axes, lo, hi, strict=True) if not fixed(m, n) or (m, n) != (0, 0)]
    last = rank <= 5 and all(a >= rank - 3 for a, _, _ in wanted)
    by_onednn = e.type(o).dtype == "float32"  # in predictors of the reference, whose kernel is wrong
    if o.op.mode == "constant" and (not fixed(lo, hi) or (by_onednn and not last)):
        return e.traced(lambda x: _lengthened(x, value, wanted), [x])[0]
    pads = {a: (m, n) for a, m, n in wanted}
    made = e.of(x)
    cut = {a: (m, n) for a, (m, n) in pads.items() if fixed(m, n) and (m < 0 or n < 0)}
    if cut:
        made = _cropped(e, made, cut)
        pads = {a: (max(m, 0), max(n, 0)) for a, (m, n) in pads.items() if m > 0 or n > 0}
    if not pads:
        return made
    if o.op.mode == "constant":
        if by_onednn:
            return _padded_behind(e, made, o, pads, float(value or 0))
        flat = [n for a in range(rank) for n in pads.get(a, (0, 0))]
        given = e.attribute(value or 0, typed(made).dtype)
        return e.one("pad", [made, given], e.type(o), paddings=array(i32, flat))
    return _mirrored(e, made, o, pads)


def _padded_behind(e: Emitter, x: Result, o: ir.Operation, pads: dict[int, tuple[int, int]], value: float) -> Result:
    """Numbers around the last three dims of ``x`` in float32. Predictors of the reference choose oneDNN's kernel of
    ``pad`` for it, which writes behind its memory."""
    rank = len(o.results[0].meta.shape)
    lead = range(5 - rank)
    flat = [n for a in reversed(range(rank - 3, rank)) for n in pads.get(a, (0, 0))]
    wide, kind = e.unsqueeze(x, lead), e.type(o)
    grown = e.one(
        "pad3d", [wide, e.ints(flat)], kind._replace(shape=(1,) * len(lead) + tuple(kind.shape)), mode=text("constant"),
        pad_value=f64(value), data_format=text("NCDHW"),
    )  # fmt: skip
    return e.squeeze(grown, lead)


def _lengthened(x: Tensor, value: Any, pads: Any) -> Tensor:
    """``x`` with numbers before and behind it, how many are known when the program runs: files have but numbers."""
    for axis, lo, hi in pads:
        kept = x.shape[axis] + lo + hi
        ends = [sym.maximum(n, 0) for n in (lo, hi)]
        sizes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in ends]
        before, behind = (
            [] if type(n) is int and n == 0 else [F.full(value or 0, shape=s, dtype=x.dtype)]
            for n, s in zip(ends, sizes)
        )
        x = F.concat([*before, x, *behind], axis=axis)
        if any((n.lo if type(n) is Sym else n) < 0 for n in (lo, hi)):  # negative numbers take elements away
            x = F.slice(x, axes=(axis,), starts=(sym.maximum(-lo, 0),), sizes=(kept,), steps=(1,))
    return x


def _cropped(e: Emitter, x: Result, cut: dict[int, tuple[int, int]]) -> Result:
    """``x`` without what negative pads take away."""
    starts = [max(-m, 0) for m, _ in cut.values()]
    ends = [n if n < 0 else _END for _, n in cut.values()]
    sizes = list(typed(x).shape)
    for a, (m, n) in cut.items():
        sizes[a] = sizes[a] + min(m, 0) + min(n, 0) if sizes[a] != -1 else -1
    return e.one(
        "slice", [x, e.ints(starts), e.ints(ends)], typed(x)._replace(shape=tuple(sizes)), axes=array(i64, cut),
        infer_flags=array(i64, [1] * len(cut)), decrease_axis=array(i64, []),
    )  # fmt: skip


def _mirrored(e: Emitter, x: Result, o: ir.Operation, pads: dict[int, tuple[int, int]]) -> Result | None:
    """Pads of elements of ``x``, along three dims at most, which go to the end; the others are taken together."""
    before, after = o.operands[0].meta.shape, o.results[0].meta.shape  # type: ignore[union-attr]
    rank = len(after)
    if len(pads) > 3:
        return None
    # Dims behind that are not padded stay in place where there is room for them.
    own = list(range(min(pads), rank)) if rank - min(pads) <= 3 else sorted(pads)
    order = [*(i for i in range(rank) if i not in own), *own]
    lead: Any = 1
    for i in order[: -len(own)]:
        lead = lead * before[i]
    ones = (1,) * (3 - len(own))
    wide = e.reshape(e.transpose(x, order), (lead, 1, *ones, *(before[i] for i in own)))
    flat = [n for a in reversed(own) for n in pads.get(a, (0, 0))] + [0, 0] * len(ones)
    grown_sizes = (-1 if type(lead) is Sym else lead, 1, *ones, *(e.type(o).shape[i] for i in own))
    grown = e.one(
        "pad3d", [wide, e.ints(flat)], TensorType(typed(x).dtype, grown_sizes), mode=text(o.op.mode),
        pad_value=f64(0.0), data_format=text("NCDHW"),
    )  # fmt: skip
    return e.transpose(e.reshape(grown, tuple(after[i] for i in order)), [order.index(i) for i in range(rank)])


@emits(F.Unfold)
def unfold(e: Emitter, o: ir.Operation) -> Result | list[Result]:
    """Windows by numbers: each is gathered."""
    size, step = o.params
    axis = o.op.axis
    shape = o.operands[0].meta.shape  # type: ignore[union-attr]
    if not fixed(size, step, shape[axis]):
        return e.traced(lambda x: _windows(x, axis, size, step), o.operands)
    index = np.arange(0, shape[axis] - size + 1, step)[:, None] + np.arange(size)
    x = e.of(o.operands[0])
    rank = len(shape)
    flat = e.one(
        "index_select", [x, _indices(e, index.ravel())],
        TensorType(typed(x).dtype, (*typed(x).shape[:axis], index.size, *typed(x).shape[axis + 1 :])), axis=i32(axis),
    )  # fmt: skip
    parted = e.reshape(flat, (*shape[:axis], *index.shape, *shape[axis + 1 :]))
    order = [*range(axis + 1), *range(axis + 2, rank + 1), axis + 1]
    return e.transpose(parted, order)


def _windows(x: Any, axis: int, size: Any, step: Any) -> Any:
    """Windows along an axis, of numbers that the program knows when it runs."""
    count = (x.shape[axis] - size) // step + 1
    first = F.reshape(F.iota(0, step, dt.int64, count), (count, 1))
    y = F.take(x, F.add(first, F.iota(0, 1, dt.int64, size)), axis)
    order = [i for i in range(len(y.shape)) if i != axis + 1]
    return F.permute(y, perm=(*order, axis + 1))


def _indices(e: Emitter, index: np.ndarray) -> Result:
    return e.ints([int(n) for n in index])
