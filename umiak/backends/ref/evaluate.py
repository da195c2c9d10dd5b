"""One call on arrays, whatever the op: by its NumPy kernel, or by those of its decomposition.

It needs no tensors, no plans and no dispatch, so that a backend can ask what a call should have given, or why it
should have been refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from umiak.backends import ref
from umiak.backends.ref.registry import KERNELS
from umiak.core.dtype import convert
from umiak.ir.meta import Meta, weak_kind
from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor, Tracer


def meta_of(x: Any) -> Meta | None:
    if x is None:
        return None
    return Meta(x.shape, convert(x.dtype)) if isinstance(x, np.ndarray) else Meta((), None, weak_kind(x))


def evaluate(op: Any, operands: Sequence[Any], params: Sequence[Any]) -> list[np.ndarray]:
    """The results of a call on arrays, numbers and Nones."""
    ref.load()
    metas = [meta_of(x) for x in operands]
    entry = KERNELS.get(type(op))
    if entry is not None:
        metas_out = op.infer(*metas, *params)
        outs = [np.empty(m.shape, m.dtype.numpy) for m in (metas_out if isinstance(metas_out, tuple) else (metas_out,))]
        ref.quietly(ref.Runner(entry, metas).run)(op, outs, list(operands), tuple(params))
        return outs
    with Tracer() as tracer:
        inputs = [tracer.input(m) if m is not None and m.weak is None else x for m, x in zip(metas, operands)]
        outputs = op.decompose(*inputs, *params)
        results = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    values: dict[int, Any] = {id(t.value): x for t, x in zip(inputs, operands, strict=True) if isinstance(t, SymTensor)}
    for o in tracer.operations:
        xs = [values[id(x)] if type(x) is Value else x for x in o.operands]
        values.update(zip(map(id, o.results), evaluate(o.op, xs, o.params), strict=True))
    return [values[id(r.value)] for r in results]
