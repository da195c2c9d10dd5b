"""Losses."""

from __future__ import annotations

from paddle.static.formats.emit.emitter import Emitter, Result, TensorType, emits, f32, fixed, flag, i32, typed
from umiak import ops as F
from umiak.ir import program as ir


@emits(F.Ctc)
def ctc(e: Emitter, o: ir.Operation) -> Result | None:
    if not fixed(o.params):
        return None
    scores, labels, *lengths = (e.of(x) for x in o.operands)
    kind = typed(scores)
    given = [scores, e.cast(labels, "int32"), *(e.cast(n, "int64") for n in lengths)]
    loss = TensorType(kind.dtype, (kind.shape[1], 1))
    made = e.call("warpctc", given, [loss, kind], blank=i32(o.params[0]), norm_by_times=flag(False))
    return e.squeeze(made[0], [1])


@emits(F.Transducer)
def transducer(e: Emitter, o: ir.Operation) -> Result | None:
    blank, fastemit = o.params
    if not fixed(blank, fastemit):
        return None
    scores, *counts = (e.of(x) for x in o.operands)
    kind = typed(scores)
    wide = kind._replace(dtype="float64" if kind.dtype == "float64" else "float32")
    given = [e.cast(scores, wide.dtype), *(e.cast(x, "int32") for x in counts)]
    types = [wide._replace(shape=wide.shape[:1]), wide]
    made = e.call("warprnnt", given, types, blank=i32(blank), fastemit_lambda=f32(fastemit))
    return e.cast(made[0], kind.dtype)


@emits(F.SoftmaxCrossEntropy)
def softmax_cross_entropy(e: Emitter, o: ir.Operation) -> Result | None:
    logits, labels = o.operands
    if not fixed(o.params):
        return None
    scores, given = e.of(logits), e.of(labels)
    rank = len(typed(scores).shape)
    axis = o.op.axis % rank
    if not o.op.soft_label:
        given = e.unsqueeze(given, [axis])
    kind = typed(scores)
    loss = kind._replace(shape=tuple(1 if i == axis else n for i, n in enumerate(kind.shape)))
    made = e.call(
        "cross_entropy_with_softmax", [scores, given], [kind, loss], soft_label=flag(o.op.soft_label),
        use_softmax=flag(True), numeric_stable_mode=flag(True), ignore_index=i32(o.params[0]), axis=i32(axis),
    )[1]  # fmt: skip
    return e.squeeze(made, [axis])
