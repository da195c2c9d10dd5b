"""Tokens sent to their experts as numbers of 8 bits."""

from __future__ import annotations

import paddle
from paddle._public import need_tensor, public
from paddle.amp.auto_cast import auto_cast
from paddle.incubate.nn.functional import _fp8
from paddle.incubate.nn.functional._fp8 import ROWS
from paddle.incubate.nn.functional._moe_routing import route
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor
from umiak.fp8 import E4M3, quantise
from umiak.util.errors import OperandError, op_error


@public("paddle.incubate.nn.functional", usual=False)
def moe_gate_dispatch_and_quant(
    x: Tensor,
    gate_logits: Tensor,
    corr_bias: Tensor | None,
    k: int,
    capacity: int,
    use_pad: bool,
    use_pow2_scale: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Send each token to the ``k`` experts of the largest scores, quantised in blocks of 128 of its numbers.

    Codes are permuted together with their scales: each token is quantised once. Experts take up to their capacity;
    the rest is dropped. With ``use_pad`` first choices come before second ones, and each in the order of tokens;
    otherwise all come in the order of tokens.

    Args:
        x: tokens, bfloat16, float16 or float32 ``[N, H]``.
        gate_logits: scores, float32 ``[N, E]``; no softmax is taken.
        corr_bias: float32 ``[E]``, added to scores for the choice alone; None for none.
        k: experts of a token, 1 to E.
        capacity: tokens that an expert takes, 1 or above.
        use_pad: each expert has ``capacity`` places; otherwise their tokens follow each other.
        use_pow2_scale: scales are powers of two.

    Returns:
        Codes, float8_e4m3fn ``[E · capacity, H]``, without ``use_pad`` ``[N · k, H]``, zeros where there is no token;
        scales, float32, of as many rows and ⌈H / 128⌉ columns, 1 where there is none; the scores of the experts taken,
        float32 ``[N, k]``, 0 where a token was dropped; the places of tokens, int32 ``[k, N]``, 0 where they were;
        cumulated numbers of tokens that experts are asked for, int64 ``[E]``; and the experts, int32 ``[N, k]``. No
        gradient passes.

    Raises:
        TypeError: other dtypes.
        ValueError: shapes that do not fit, or k or capacity out of range.

    Example:
        >>> import paddle
        >>> x, scores = paddle.ones([2, 128]), paddle.to_tensor([[0.9, 0.1], [0.2, 0.8]])
        >>> dispatch = paddle.incubate.nn.functional.moe_gate_dispatch_and_quant
        >>> codes, scale, weights, place, offset, expert = dispatch(x, scores, None, 1, 2, True, True)
        >>> codes.shape, place.tolist(), offset.tolist(), expert.tolist()
        (paddle.Size([4, 128]), [[0, 2]], [1, 2], [[0], [1]])
    """
    op = "moe_gate_dispatch_and_quant"
    n, _ = _fp8.floating(op, x).shape
    if need_tensor(gate_logits, op, "gate_logits").dtype is not dt.float32:
        raise op_error(OperandError, op, "gate_logits of float32", gate_logits.dtype.name)
    if gate_logits.ndim != 2 or gate_logits.shape[0] != n:
        raise op_error(ValueError, op, f"gate_logits of shape [{n}, experts]", gate_logits.shape)
    experts = gate_logits.shape[1]
    if corr_bias is not None:
        if need_tensor(corr_bias, op, "corr_bias").dtype is not dt.float32:
            raise op_error(OperandError, op, "a corr_bias of float32", corr_bias.dtype.name)
        if list(corr_bias.shape) != [experts]:
            raise op_error(ValueError, op, f"a corr_bias of shape {[experts]}", corr_bias.shape)
    if not 1 <= k <= experts:
        raise op_error(ValueError, op, f"k from 1 to {experts}, the experts", k)
    if capacity < 1:
        raise op_error(ValueError, op, "a capacity of 1 or above", capacity)
    with no_grad_guard(), auto_cast(enable=False):
        routing = route(gate_logits, corr_bias, k, capacity, use_pad)
        q = quantise(x, E4M3, ROWS, power_of_two=use_pow2_scale)
        codes = paddle.concat([q.codes, create_on(x.place, F.full, 0, E4M3, (1, x.shape[1]))])
        scale = paddle.concat([q.scale, create_on(x.place, F.full, 1.0, dt.float32, (1, q.scale.shape[1]))])
        return (
            paddle.gather(codes, routing.token_of_place),
            paddle.gather(scale, routing.token_of_place),
            routing.combine_weights,
            routing.scatter_index,
            routing.expert_offset,
            routing.expert_id,
        )
