"""NumPy kernels of recurrent layers: one step after the other."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import recurrent as ops


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@kernel(ops.Rnn, returns=True)
def rnn(op, x, h, w_ih, w_hh, b_ih, b_hh, c, w_ho, lengths):
    (steps, batch), mode = x.shape[:2], op.mode
    out = np.zeros((steps, *h.shape), x.dtype)
    for t in range(steps)[:: -1 if op.reverse else 1]:
        a, s = x[t] @ w_ih.T + b_ih, h @ w_hh.T + b_hh
        live = np.full((batch, 1), True) if lengths is None else (t < lengths)[:, None]
        if mode == "lstm":
            i, f, g, o = np.split(a + s, 4, 1)
            cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            new = sigmoid(o) * np.tanh(cell)
            c = np.where(live, cell, c)
        elif mode == "gru":
            (ar, az, an), (sr, sz, sn) = np.split(a, 3, 1), np.split(s, 3, 1)
            z = sigmoid(az + sz)
            new = z * h + (1 - z) * np.tanh(an + sigmoid(ar + sr) * sn)
        else:
            new = np.tanh(a + s) if mode == "tanh" else np.maximum(a + s, 0)
        if w_ho is not None:
            new = new @ w_ho
        out[t] = np.where(live, new, 0)
        h = np.where(live, new, h)
    return (out, h, c) if mode == "lstm" else (out, h)


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
