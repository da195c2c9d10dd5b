"""NumPy kernels of attention."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import attending as ops


def scores(q, k, mask, causal, scale):
    """``[b, key heads, group, sq, sk]``, -inf where a key is not visible."""
    (b, sq, h, d), (sk, heads) = q.shape, k.shape[1:3]
    s = np.einsum("bihgd,bjhd->bhgij", q.reshape(b, sq, heads, h // heads, d), k) * q.dtype.type(scale)
    if causal:
        s = np.where(np.arange(sk) <= np.arange(sq)[:, None] + (sk - sq), s, -np.inf)
    if mask is not None:
        mask = np.broadcast_to(mask, (b, h, sq, sk)).reshape(s.shape)
        s = np.where(mask, s, -np.inf) if mask.dtype.kind == "b" else s + mask
    return s.astype(q.dtype)


def forward(q, k, v, mask, causal, scale):
    """Result and log-sum-exp."""
    b, sq, h, _ = q.shape
    s = scores(q, k, mask, causal, scale)
    top = s.max(-1, keepdims=True, initial=-np.inf)
    top = np.where(np.isneginf(top), 0, top).astype(s.dtype)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total)).reshape(b, h, sq)
    out = np.einsum("bhgij,bjhd->bihgd", p / np.where(total == 0, 1, total), v)
    return out.reshape(b, sq, h, v.shape[3]), lse


@kernel(ops.Attention, returns=True)
def attention(op, q, k, v, mask, scale):
    return forward(q, k, v, mask, op.causal, scale)[0]


@kernel(ops.AttentionTrain, returns=True)
def attention_train(op, q, k, v, mask, scale):
    return forward(q, k, v, mask, op.causal, scale)


@kernel(ops.AttentionGrad, returns=True)
def attention_grad(op, q, k, v, out, lse, g, mask, scale):
    (b, sq, h, d), (sk, heads) = q.shape, k.shape[1:3]
    group = h // heads
    s = scores(q, k, mask, op.causal, scale)
    lse = lse.reshape(b, heads, group, sq, 1)
    p = np.exp(s - np.where(np.isneginf(lse), 0, lse))
    q5, g5 = q.reshape(b, sq, heads, group, d), g.reshape(b, sq, heads, group, v.shape[3])
    delta = np.einsum("bihgd,bihgd->bhgi", g5, out.reshape(g5.shape))[..., None]
    gs = p * (np.einsum("bihgd,bjhd->bhgij", g5, v) - delta)
    scaled = gs * q.dtype.type(scale)
    made = (
        np.einsum("bhgij,bjhd->bihgd", scaled, k).reshape(q.shape),
        np.einsum("bhgij,bihgd->bjhd", scaled, q5),
        np.einsum("bhgij,bihgd->bjhd", p, g5),
    )
    if not op.with_mask:
        return made
    gmask = gs.reshape(b, h, sq, sk)
    lead = 4 - mask.ndim
    axes = tuple(i for i in range(4) if i < lead or mask.shape[i - lead] == 1)
    return (*made, gmask.sum(axes, keepdims=True).reshape(mask.shape))
