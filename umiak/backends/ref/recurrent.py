"""NumPy kernels of recurrent layers: one step after the other."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import recurrent as ops


@kernel(ops.Rnn, returns=True)
def rnn(op, *operands):
    made = ops.plain(op.mode, op.reverse, *operands)
    return tuple(made[name] for name in ("out", "h", "c") if made[name] is not None)


@kernel(ops.LinearRecurrence)
def linear_recurrence(op, out, u, e, d, w, p, s):
    (_, batch, _, hidden), last = u.shape, p.shape[2]
    for t in range(len(u))[:: -1 if op.reverse else 1]:
        gates = np.einsum("bnh,bnkh->bkh", s, d[t]).reshape(batch, len(w)) @ w
        s = (
            u[t]
            + np.einsum("bnh,bnmh->bmh", s, e[t])
            + np.einsum("blh,blnh->bnh", gates.reshape(batch, last, hidden), p[t])
        )
        out[t] = s
