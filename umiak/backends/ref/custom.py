"""Custom ops run their registered function on NumPy arrays."""

from __future__ import annotations

from umiak.backends.ref.registry import kernel
from umiak.ops import custom as ops


@kernel(ops.CustomCall, returns=True, raw=True)
def custom_call(op, *xs):
    results = op.resolved().forward(*xs, **dict(op.config))
    return results[0] if op.outputs == 1 and isinstance(results, tuple) else results
