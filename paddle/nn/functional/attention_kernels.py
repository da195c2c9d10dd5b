"""Kernels of attention by the names that programs call them by: ``paddle._C_ops.flash_attn`` and its kin.

They give the log-sum-exp and what dropout drew, and gradients are functions of these: so programs divide attention
among devices, or recompute it, in layers of their own (``PyLayer``). A log-sum-exp over more keys than those of the
call, with the result over them, gives the part of the gradients that belongs to the call's keys.

Arguments come by position, in the order of the reference's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from paddle.nn.functional.attention import both, later_queries
from paddle.nn.functional.attention_call import (
    Dropout,
    attend_with_lse,
    dropout_of,
    padded_lse,
    seed_and_offset,
    visible_pairs,
    weighted_values,
)
from paddle.nn.functional.flash_attention import calc_reduced_attention_scores
from paddle.nn.functional.flashmask import flashmask_attention as flashmask
from paddle.tensor._args import need_tensor
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def flash_attn(
    q: Tensor, k: Tensor, v: Tensor, fixed_seed_offset: Tensor | None = None, attn_mask: Tensor | None = None,
    dropout: float = 0.0, causal: bool = False, return_softmax: bool = False, is_test: bool = False, rng_name: str = "",
) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:  # fmt: skip
    """The result, weights or None, the log-sum-exp ``[batch, heads, rows]`` of a multiple of 128 rows, and the seed and
    the offset of dropout."""
    op_name = "flash_attn"
    _need_heads(op_name, q=q, k=k, v=v)
    drops = dropout_of(op_name, dropout, not is_test, fixed_seed_offset, rng_name)
    scale = _scale(q)
    mask, order = _ordered(q, k, attn_mask, causal)
    out, lse, drawn = attend_with_lse(q, k, v, mask, order, scale, drops)
    place, weights = seed_and_offset(q, drawn), None
    if return_softmax:
        seen = visible_pairs(q.shape[1], k.shape[1], 0, q) if causal else None
        mask = attn_mask if seen is None else seen if attn_mask is None else both(attn_mask, seen)
        weights = weighted_values(q, k, v, mask, scale, Dropout(drops.p, place))[1]
    return out, weights, padded_lse(lse), place


def flash_attn_grad(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, softmax_lse: Tensor, seed_offset: Tensor | None,
    attn_mask: Tensor | None, out_grad: Tensor, dropout: float = 0.0, causal: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k and v from that of the result of :func:`flash_attn`."""
    _need_heads("flash_attn_grad", q=q, k=k, v=v, out=out, out_grad=out_grad)
    mask, order = _ordered(q, k, attn_mask, causal)
    results = out, softmax_lse, seed_offset, out_grad
    return _gradients("flash_attn_grad", q, k, v, mask, None, results, dropout, order, _scale(q))


def flashmask_attention(
    q: Tensor, k: Tensor, v: Tensor, startend_row_indices: Tensor, fixed_seed_offset: Tensor | None = None,
    dropout: float = 0.0, causal: bool = False, return_softmax: bool = False, is_test: bool = False, rng_name: str = "",
) -> tuple[Tensor, None, Tensor, Tensor]:  # fmt: skip
    """The results of :func:`flash_attn`, of a mask by columns; its weights are never formed."""
    if return_softmax:
        raise op_error(ValueError, "flashmask_attention", "return_softmax of False", return_softmax)
    out, lse, place = flashmask(
        q, k, v, startend_row_indices, dropout=dropout, causal=causal, return_softmax_lse=True, return_seed_offset=True,
        fixed_seed_offset=fixed_seed_offset, rng_name=rng_name, training=not is_test,
    )  # fmt: skip
    return out, None, lse, place


def flashmask_attention_grad(
    q: Tensor, k: Tensor, v: Tensor, startend_row_indices: Tensor, out: Tensor, softmax_lse: Tensor,
    seed_offset: Tensor | None, out_grad: Tensor, dropout: float = 0.0, causal: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k and v from that of the result of :func:`flashmask_attention`."""
    op_name = "flashmask_attention_grad"
    _need_heads(op_name, q=q, k=k, v=v, out=out, out_grad=out_grad)
    results = out, softmax_lse, seed_offset, out_grad
    return _gradients(op_name, q, k, v, startend_row_indices, None, results, dropout, causal, _scale(q))


def flashmask_attention_v2(
    q: Tensor, k: Tensor, v: Tensor, startend_row_indices: Tensor, block_mask: Tensor | None, softmax_scale: float,
    is_causal: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The result and the log-sum-exp."""
    out, lse = flashmask(
        q, k, v, startend_row_indices, causal=is_causal, return_softmax_lse=True, softmax_scale=softmax_scale,
        block_mask=block_mask,
    )  # fmt: skip
    return out, lse


def flashmask_attention_v2_grad(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, softmax_lse: Tensor, startend_row_indices: Tensor,
    block_mask: Tensor | None, out_grad: Tensor, softmax_scale: float, is_causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k and v from that of the result of :func:`flashmask_attention_v2`."""
    op_name = "flashmask_attention_v2_grad"
    _need_heads(op_name, q=q, k=k, v=v, out=out, out_grad=out_grad)
    results = out, softmax_lse, None, out_grad
    return _gradients(op_name, q, k, v, startend_row_indices, block_mask, results, 0.0, is_causal, float(softmax_scale))


def calc_reduced_attn_scores(q: Tensor, k: Tensor, softmax_lse: Tensor) -> Tensor:
    """Sums of the weights over queries."""
    return calc_reduced_attention_scores(q, k, softmax_lse)


def _scale(q: Tensor) -> float:
    return 1.0 / math.sqrt(q.shape[3] or 1)


def _need_heads(op_name: str, **operands: Any) -> None:
    for arg_name, x in operands.items():
        if need_tensor(x, op_name, arg_name).ndim != 4:
            raise op_error(ValueError, op_name, f"{arg_name} [batch, sequence, heads, dim]", f"shape {list(x.shape)}")


def _ordered(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool) -> tuple[Tensor | None, bool]:
    """Mask and order for the engine of attention in which query i sees keys 0 to i, all keys in their places."""
    queries, keys = q.shape[1], k.shape[1]
    if not causal or queries == keys:
        return mask, bool(causal)
    if mask is None:
        return later_queries(q, queries, keys), False
    return both(mask, visible_pairs(queries, keys, 0, q)), False


def _gradients(
    op_name: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, blocks: Tensor | None,
    results: tuple[Tensor, Tensor, Tensor | None, Tensor], dropout: float, causal: bool, scale: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    out, lse, drawn, grad = results
    queries, wanted = q.shape[1], list(q.shape[:1]) + list(q.shape[2:3])
    if need_tensor(lse, op_name, "softmax_lse").ndim != 3 or list(lse.shape[:2]) != wanted or lse.shape[2] < queries:
        required = f"softmax_lse {wanted} by {queries} rows or more"
        raise op_error(ValueError, op_name, required, list(lse.shape))
    drops = dropout_of(op_name, dropout, True, drawn)
    if drops.p and drops.fixed is None:
        raise op_error(ValueError, op_name, "the seed_offset of a call with dropout", None)
    place = drops.fixed.tolist() if drops.p and drops.fixed is not None else [0, 0]
    with no_grad_guard():
        lse = F.cast(F.slice(lse, axes=(2,), starts=(0,), sizes=(queries,), steps=(1,)), dtype=q.dtype.compute)
        attrs = (bool(causal), bool(drops.p), False, 0.0)
        grads = F.attention_grad(q, k, v, out, lse, grad, mask, blocks, None, *attrs, scale, drops.p, *map(int, place))
    return grads[0], grads[1], grads[2]


_ALL = (
    flash_attn, flash_attn_grad, flashmask_attention, flashmask_attention_grad, flashmask_attention_v2,
    flashmask_attention_v2_grad, calc_reduced_attn_scores,
)  # fmt: skip
KERNELS: dict[str, Callable[..., Any]] = {f.__name__: f for f in _ALL}
