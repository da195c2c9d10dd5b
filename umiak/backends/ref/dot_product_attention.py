"""NumPy kernels of attention."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.random import words
from umiak.backends.ref.registry import kernel
from umiak.ops import dot_product_attention as ops


def by_query(x, heads):
    """``[b, s, h, d]`` → ``[b, key heads, group, s, d]``, on which the BLAS works."""
    b, n, h, d = x.shape
    return x.reshape(b, n, heads, h // max(heads, 1), d).transpose(0, 2, 3, 1, 4)


def by_key(x):
    """``[b, s, heads, d]`` → ``[b, heads, 1, s, d]``, shared by the queries of a group."""
    return x.transpose(0, 2, 1, 3)[:, :, None]


def from_query(x):
    """The inverse of :func:`by_query`."""
    b, heads, group, n, d = x.shape
    return x.transpose(0, 3, 1, 2, 4).reshape(b, n, heads * group, d)


def hidden(mask, queries, causal):
    """``[b, heads, sq, sk]``: what a mask of int32 hides."""
    named = dict(zip(ops.COLUMNS[causal][mask.shape[3]], np.moveaxis(mask, 3, 0)[:, :, :, None]))
    query = np.arange(queries)[:, None]
    first = (query >= named["begin"]) & (query < named.get("end", queries))
    return first | ((query >= named.get("second_begin", 0)) & (query < named.get("second_end", 0)))


def capped(op, s):
    """Scores that are kept from growing."""
    cap = s.dtype.type(getattr(op, "softcap", 0.0))
    return np.tanh(s / cap) * cap if cap else s


def scores(op, q, k, mask, blocks, scale):
    """``[b, key heads, group, sq, sk]``, -inf where a key is not visible."""
    (b, sq, h, _), (sk, heads) = q.shape, k.shape[1:3]
    s = capped(op, by_query(q, heads) @ by_key(k).swapaxes(-1, -2) * q.dtype.type(scale))
    if op.causal:
        s = np.where(np.arange(sk) <= np.arange(sq)[:, None] + (sk - sq), s, -np.inf)
    if mask is not None and mask.dtype.kind == "i":
        mask = ~hidden(mask, sq, op.causal)
        if blocks is not None:
            mask = mask & (blocks.repeat(ops.BLOCK, 2)[:, :, :sq].repeat(ops.BLOCK, 3)[..., :sk] != 0)
        mask = np.repeat(mask, h // mask.shape[1], axis=1)
    if mask is not None:
        mask = np.broadcast_to(mask, (b, h, sq, sk)).reshape(s.shape)
        s = np.where(mask, s, -np.inf) if mask.dtype.kind == "b" else s + mask
    return s.astype(q.dtype)


def dropped(op, x, p=0.0, seed=0, offset=0):
    """Weights, or their gradient, ``[b, key heads, group, sq, sk]``, with some of them dropped."""
    if not getattr(op, "dropout", False):
        return x
    *lead, keys = x.shape
    lines = np.arange(np.prod(lead, dtype=np.int64), dtype=np.uint64).reshape(*lead, 1)
    places = lines * np.uint64(-(-keys // ops.WORDS) * ops.WORDS) + np.arange(keys, dtype=np.uint64)
    uniform = (words(places + np.uint64(offset // ops.WORDS * ops.WORDS), seed) >> np.uint64(8)) * 2.0**-24
    return np.where(uniform >= np.float32(p), x / max(1 - p, 1e-12), 0).astype(x.dtype)


def forward(op, q, k, v, mask, blocks, scale, *dropout):
    """Result and log-sum-exp."""
    b, sq, h, _ = q.shape
    s = scores(op, q, k, mask, blocks, scale)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0, top).astype(s.dtype)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total)).reshape(b, h, sq)
    weights = dropped(op, p / np.where(total == 0, 1, total), *dropout)
    return from_query(weights @ by_key(v)), lse


@kernel(ops.Attention, returns=True)
def attention(op, q, k, v, mask, scale):
    return forward(op, q, k, v, mask, None, scale)[0]


@kernel(ops.AttentionTrain, returns=True)
def attention_train(op, *args):
    return forward(op, *args)


@kernel(ops.AttentionGrad, returns=True)
def attention_grad(op, q, k, v, out, lse, g, mask, blocks, g_lse, scale, *dropout):
    (b, sq, h, _), (sk, heads) = q.shape, k.shape[1:3]
    s = scores(op, q, k, mask, blocks, scale)
    lse = lse.reshape(b, heads, h // heads, sq, 1)
    p = np.exp(s - np.where(np.isneginf(lse), 0, lse))
    g5 = by_query(g, heads)
    moved = (g5 * by_query(out, heads)).sum(-1, keepdims=True)
    if g_lse is not None:
        moved = moved - g_lse.reshape(lse.shape)
    gs = p * (dropped(op, g5 @ by_key(v).swapaxes(-1, -2), *dropout) - moved)
    if op.softcap:
        gs = gs * (1 - (np.where(np.isneginf(s), 0, s) / s.dtype.type(op.softcap)) ** 2)
    scaled = gs * q.dtype.type(scale)
    gradients = (
        from_query(scaled @ by_key(k)),
        (scaled.swapaxes(-1, -2) @ by_query(q, heads)).sum(2).transpose(0, 2, 1, 3),
        (dropped(op, p, *dropout).swapaxes(-1, -2) @ g5).sum(2).transpose(0, 2, 1, 3),
    )
    if not op.with_mask:
        return gradients
    gmask = gs.reshape(b, h, sq, sk)
    lead = 4 - mask.ndim
    axes = tuple(i for i in range(4) if i < lead or mask.shape[i - lead] == 1)
    return (*gradients, gmask.sum(axes, keepdims=True).reshape(mask.shape))
