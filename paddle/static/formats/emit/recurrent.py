"""Recurrent layers, decoding."""

from __future__ import annotations

from typing import Any

from paddle.static.formats.emit.emitter import (
    Emitter,
    Result,
    TensorType,
    array,
    emits,
    f32,
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

_MODES = {"tanh": "RNN_TANH", "relu": "RNN_RELU", "lstm": "LSTM", "gru": "GRU"}


@emits(F.Rnn)
def rnn(e: Emitter, o: ir.Operation) -> list[Result] | None:
    """One direction of one layer; backwards over the flipped steps."""
    x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths = o.operands
    if w_ho is not None:  # the operator has no projection
        return e.traced(lambda *xs: _unprojected(o.op, *xs), o.operands)
    steps, order = e.of(x), None
    if o.op.reverse and lengths is None:
        steps = e.one("flip", [steps], typed(steps), axis=array(i32, [0]))
    elif o.op.reverse:
        (order,) = e.traced(_backwards, [x, lengths])
        steps = _reordered(e, steps, order, x.meta.shape)  # type: ignore[union-attr]
    states = [e.unsqueeze(e.of(s), [0]) for s in (h0, c0) if s is not None]
    weights = [e.of(w) for w in (w_ih, w_hh, b_ih, b_hh)]
    kept = TensorType("uint8", ())
    out, _, last, _ = e.call(
        "rnn",
        [
            steps, e.combine(states), e.combine(weights), None if lengths is None else e.cast(e.of(lengths), "int32"),
            e.full((0,), 0, "uint8"),
        ],
        [e.types(o)[0], kept, tuple(typed(s) for s in states), TensorType(typed(steps).dtype, ())],
        dropout_prob=f32(0.0), is_bidirec=flag(False), input_size=i32(typed(weights[0]).shape[1]),
        hidden_size=i32(typed(weights[1]).shape[1]), num_layers=i32(1), mode=text(_MODES[o.op.mode]), seed=i32(0),
        is_test=flag(True),
    )  # fmt: skip
    if order is not None:
        out = _reordered(e, out, order, o.results[0].meta.shape)
    elif o.op.reverse:
        out = e.one("flip", [out], typed(out), axis=array(i32, [0]))
    return [out, *(e.squeeze(s, [0]) for s in e.parts(last))]


def _unprojected(op: Any, x, h0, w_ih, w_hh, b_ih, b_hh, c0, w_ho, lengths) -> tuple[Tensor, ...]:
    """A layer with a projection as one without it: weights on the state take it in, and results are projected. The
    first state, which is no projection of another, comes beside the first input."""
    steps, batch, _ = x.shape
    at = F.iota(0, 1, dtype=dt.int64, size=steps)
    begin: Any = steps - 1 if op.reverse else 0
    if lengths is None:
        first = F.reshape(F.eq(at, begin), (steps, 1, 1))
    else:
        lengths = F.cast(lengths, dtype=dt.int64)
        begin = F.sub(F.reshape(lengths, (1, batch, 1)), 1) if op.reverse else 0
        first = F.eq(F.reshape(at, (steps, 1, 1)), begin)
    state = F.where(first, F.unsqueeze(h0, axes=(0,)), 0)
    y, h, c = F.rnn(
        F.concat([x, state], axis=2), F.full(0, dtype=x.dtype, shape=(batch, w_ho.shape[0])),
        F.concat([w_ih, w_hh], axis=1), F.matmul(w_hh, w_ho, transpose_y=True), b_ih, b_hh, c0, None, lengths,
        mode=op.mode, reverse=op.reverse,
    )  # fmt: skip
    h = F.matmul(h, w_ho)
    if lengths is not None:
        h = F.where(F.reshape(F.gt(lengths, 0), (batch, 1)), h, h0)
    return F.matmul(y, w_ho), h, c


def _backwards(x: Any, lengths: Any) -> Any:
    """Places of the steps ``[T, B, 1]`` with each sequence in reverse order within its length."""
    steps, batch, _ = x.shape
    at = F.unsqueeze(F.iota(0, 1, dtype=dt.int64, size=steps), axes=(1,))
    ends = F.unsqueeze(F.cast(lengths, dtype=dt.int64), axes=(0,))
    places = F.where(F.lt(at, ends), F.sub(F.sub(ends, 1), at), F.broadcast_to(at, shape=(steps, batch)))
    return F.unsqueeze(places, axes=(2,))


def _reordered(e: Emitter, x: Result, order: Result, shape: Any) -> Result:
    return e.one("take_along_axis", [x, e.expand(order, shape)], typed(x), axis=i32(0))


@emits(F.GatherTree)
def gather_tree(e: Emitter, o: ir.Operation) -> Result:
    return e.one("gather_tree", [e.of(x) for x in o.operands], e.type(o))


@emits(F.ViterbiDecode)
def viterbi_decode(e: Emitter, o: ir.Operation) -> list[Result]:
    """The operator's paths are as long as the longest sequence."""
    scores, kind = e.types(o)
    short = kind._replace(shape=(kind.shape[0], -1))
    given = flag(o.op.with_ends)
    best, paths = e.call("viterbi_decode", [e.of(x) for x in o.operands], [scores, short], include_bos_eos_tag=given)
    blank = e.expand(e.full((), 0, kind.dtype), o.results[1].meta.shape)
    bounds = [e.ints([0]), e.reshape(e.size(paths, 1), (1,)), e.ints([1])]
    axes, none = array(i64, [1]), array(i64, [])
    return [
        best,
        e.one("set_value_with_tensor", [blank, paths, *bounds], kind, axes=axes, decrease_axes=none, none_axes=none),
    ]
