"""Attention of the last tokens of a sequence, in NumPy."""

from __future__ import annotations

import numpy as np

import paddle


def ints(values) -> paddle.Tensor:
    return paddle.to_tensor(np.array(values, np.int32))


def attended(q, keys, values, added=None) -> np.ndarray:
    """The last n of m positions attend: ``[n, heads, d]`` over ``[m, key heads, d]``, causally or as ``added`` says."""
    (n, heads, d), m = q.shape, len(keys)
    group = heads // keys.shape[1]
    keys, values = (np.repeat(x, group, axis=1) for x in (keys, values))
    scores = np.einsum("nhd,mhd->hnm", q, keys) / np.sqrt(d)
    if added is None:
        added = np.where(np.arange(m) <= np.arange(m - n, m)[:, None], 0, -np.inf)
    scores = scores + added
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hnm,mhd->nhd", weights / weights.sum(-1, keepdims=True), values).reshape(n, heads * d)
