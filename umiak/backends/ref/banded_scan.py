"""NumPy kernels of banded scans, which sum over the paths of an alignment."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import banded_scan as ops


@kernel(ops.BandedLogsumexpScan)
def banded_logsumexp_scan(op, out, arcs, walls):
    y, w = out
    states = arcs.shape[3]
    y[:, 0], y[:, 0, 0] = -np.inf, 0
    for t in range(arcs.shape[1]):
        terms = np.full(arcs[:, t].shape, -np.inf, arcs.dtype)
        for j in range(min(op.bands, states)):
            terms[:, j, j:] = y[:, t, : states - j] + arcs[:, t, j, j:] + walls[:, j, j:]
        top = terms.max(1, keepdims=True)
        e = np.exp(terms - np.where(np.isneginf(top), 0, top))
        total = e.sum(1, keepdims=True)
        with np.errstate(divide="ignore"):
            y[:, t + 1] = (np.log(total) + top)[:, 0]
        w[:, t] = e / np.where(total == 0, 1, total)


@kernel(ops.BandedLinearScan)
def banded_linear_scan(op, x, w, g):
    x[...] = g
    layers, states = w.shape[1], w.shape[3]
    for t in reversed(range(layers)) if op.transpose else range(layers):
        for j in range(min(op.bands, states)):
            if op.transpose:
                x[:, t, : states - j] += w[:, t, j, j:] * x[:, t + 1, j:]
            else:
                x[:, t + 1, j:] += w[:, t, j, j:] * x[:, t, : states - j]
