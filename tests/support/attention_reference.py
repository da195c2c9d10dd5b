"""Attention by its definition, in float64, and masks by columns of every family."""

from __future__ import annotations

from typing import Any

import numpy as np

from umiak import masks


def families(n: int) -> dict[str, masks.ColumnMask]:
    """A mask of each family over ``n`` tokens, of two heads where it has them."""
    third = n // 3
    lengths = (third, n - 2 * third, third)
    return {
        "full": masks.full(n),
        "causal": masks.causal(n),
        "sliding_window": masks.sliding_window(n, third),
        "two_sided_window": masks.sliding_window(n, 9, 30),
        "causal_document": masks.causal_document(lengths),
        "document": masks.document(lengths),
        "share_question": masks.share_question([(third, (5, n - 2 * third - 5)), (3, (third - 3,))]),
        "global_sliding": masks.global_sliding(n, 7, 20, 11),
        "causal_blockwise": masks.causal_blockwise(lengths),
        "prefix": masks.prefix(n, third + 1),
        "prefix_document": masks.prefix_document(lengths, (third - 1, 0, 4)),
        "qk_sparse": masks.qk_sparse(n, [(3, third), (n - third, third)]),
        "hash_sparse": masks.hash_sparse([lengths, (n - 5, 5)]),
        "random_eviction": masks.random_eviction(np.minimum(np.arange(n) + 1 + np.arange(n) * 7 % third, n)),
    }


def causal(queries: int, keys: int) -> np.ndarray:
    """What queries see of the keys of causal attention."""
    return np.arange(keys) <= np.arange(queries)[:, None] + keys - queries


def attention(
    q: Any, k: Any, v: Any, visible: np.ndarray, scale: float, grad: Any, grad_lse: Any = None, softcap: float = 0.0
) -> dict:
    """Results and gradients of ``[batch, tokens, heads, dim]`` operands; ``visible`` broadcasts to ``[batch, heads,
    queries, keys]``."""
    q, k, v, grad = (np.moveaxis(np.asarray(x, np.float64), 2, 1) for x in (q, k, v, grad))
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(x, group, 1) for x in (k, v))
    if visible.ndim == 4 and visible.shape[1] not in (1, q.shape[1]):
        visible = np.repeat(visible, q.shape[1] // visible.shape[1], 1)
    scores, slope = scale * q @ np.swapaxes(wide_k, 2, 3), 1.0
    if softcap:
        bent = np.tanh(scores / softcap)
        scores, slope = softcap * bent, 1 - bent * bent
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    out = weights @ wide_v
    moved = (out * grad).sum(-1, keepdims=True) - (0 if grad_lse is None else grad_lse[..., None])
    change = weights * (grad @ np.swapaxes(wide_v, 2, 3) - moved) * scale * slope

    def of_key_heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)

    gradients = (
        change @ wide_k,
        of_key_heads(np.swapaxes(change, 2, 3) @ q),
        of_key_heads(np.swapaxes(weights, 2, 3) @ grad),
    )
    names = ("out", "query", "key", "value")
    return {"lse": lse} | {name: np.moveaxis(x, 1, 2) for name, x in zip(names, (out, *gradients))}
