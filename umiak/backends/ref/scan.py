"""NumPy kernels of scans."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import scan as ops


def directed(op, x):
    """``x`` with the scanned axis first, reversed for ``reverse``. A view."""
    x = np.moveaxis(x, op.axis, 0)
    return x[::-1] if op.reverse else x


for _cls, _fn, _identity in (
    (ops.Cumsum, np.add, 0),
    (ops.Cumprod, np.multiply, 1),
    (ops.LogCumsumExp, np.logaddexp, -np.inf),
):

    @kernel(_cls)
    def _scan(op, out, x, fn=_fn, identity=_identity):
        x, y = directed(op, x), directed(op, out)
        if op.exclusive:
            y[:1] = identity
            x, y = x[:-1], y[1:]
        y[...] = fn.accumulate(x, axis=0, dtype=x.dtype)


@kernel(ops.LinearScan)
def linear_scan(op, out, a, b):
    a, b, y = directed(op, a), directed(op, b), directed(op, out)
    state = 0
    for i in range(len(a)):
        state = a[i] * state + b[i]
        y[i] = state


for _extreme, _better in ((ops.Cummax, np.greater_equal), (ops.Cummin, np.less_equal)):

    @kernel(_extreme)
    def _extremum(op, out, x, better=_better):
        x, values, indices = directed(op, x), directed(op, out[0]), directed(op, out[1])
        for i in range(len(x)):
            if i == 0:
                values[0], best = x[0], np.zeros(x.shape[1:], np.int64)
            else:
                was = values[i - 1]
                takes = (x[i] != x[i]) | ((was == was) & better(x[i], was))
                values[i], best = np.where(takes, x[i], was), np.where(takes, i, best)
            indices[i] = len(x) - 1 - best if op.reverse else best
