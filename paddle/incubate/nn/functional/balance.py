"""The loss that keeps experts evenly used."""

from __future__ import annotations

import math

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error


@public("paddle.incubate.nn.functional", usual=False)
def cal_aux_loss(
    gate_prob: Tensor,
    dispatch_mask: Tensor,
    tokens_mask: Tensor | None,
    dispatch_tokens_mask: Tensor | None,
    num_experts: int,
    use_group: bool,
    moe_k: int,
    clip_min: float,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Auxiliary loss of a mixture of experts: ``E * sum(me * ce)``, smallest where experts are evenly used.

    ``me`` is the sum of an expert's probabilities over the tokens, and ``ce`` how many tokens it is sent, each over the
    number of tokens. ``ce`` counts as a constant in the gradient.

    Args:
        gate_prob: probabilities of experts, floating ``[N, E]``.
        dispatch_mask: how many tokens each expert is sent, ``[E]``, or for each token ``[*, E]``; any numbers.
        tokens_mask: 1 for each token that counts, ``[N]``, or None.
        dispatch_tokens_mask: the same of all tokens that are sent, or None. If there are others than those of
            gate_prob, the loss is scaled to them, its gradient is not.
        num_experts: E.
        use_group: divide the loss by ``moe_k``.
        moe_k: experts of a token.
        clip_min: the least number of tokens that is divided by.

    Returns:
        The loss, the number of tokens, both 0-d, and ``ce`` ``[E]``; all of gate_prob's dtype.

    Raises:
        TypeError: gate_prob is not floating.
        ValueError: shapes that do not fit.

    References:
        Shazeer et al., Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer, 2017.

    Example:
        >>> import paddle
        >>> prob = paddle.full([4, 2], 0.5)
        >>> loss, tokens, ce = paddle.incubate.nn.functional.cal_aux_loss(
        ...     prob, paddle.to_tensor([2, 2]), None, None, 2, False, 1, 1e-6
        ... )
        >>> loss.item(), tokens.item(), ce.tolist()
        (1.0, 4.0, [0.5, 0.5])
    """
    op_name = "cal_aux_loss"
    if need_tensor(gate_prob, op_name, "gate_prob").ndim != 2 or not gate_prob.dtype.is_floating:
        got = f"{gate_prob.dtype.name} {list(gate_prob.shape)}"
        kind = ValueError if gate_prob.dtype.is_floating else TypeError
        raise op_error(kind, op_name, "a floating gate_prob of shape [tokens, experts]", got)
    shape = need_tensor(dispatch_mask, op_name, "dispatch_mask").shape
    if len(shape) not in (1, 2) or not dim.eq(shape[-1], gate_prob.shape[1]):
        required = f"dispatch_mask of shape [{gate_prob.shape[1]}] or [tokens, {gate_prob.shape[1]}]"
        raise op_error(ValueError, op_name, required, list(shape))
    dtype, scale = gate_prob.dtype, None
    counted = None if tokens_mask is None else _total(op_name, "tokens_mask", tokens_mask, dtype)
    if dispatch_tokens_mask is not None:
        tokens = _total(op_name, "dispatch_tokens_mask", dispatch_tokens_mask, dtype)
        if counted is not None and gate_prob.shape[0] != dispatch_tokens_mask.shape[0]:
            scale = F.div(tokens, F.maximum(counted, float(clip_min)))
    elif counted is not None:
        tokens = counted
    else:
        size = math.prod(gate_prob.shape)
        tokens = create_on(gate_prob.place, F.full, size / num_experts, dtype, ())
    tokens = F.maximum(tokens, float(clip_min))
    sent = cast(dispatch_mask, dtype if dispatch_mask.dtype.is_bool else dispatch_mask.dtype)
    if sent.ndim == 2:
        sent = F.sum(sent, axes=(0,))
    ce = F.div(cast(sent, dtype).detach(), tokens)
    me = F.div(F.sum(gate_prob, axes=(0,)), tokens)
    loss = F.mul(F.sum(F.mul(me, ce), axes=(0,)), num_experts)
    if use_group:
        loss = F.div(loss, moe_k)
    if scale is not None:
        loss = F.add(loss, F.mul(F.sub(scale, 1), loss.detach()))
    return loss, tokens, ce


def _total(op_name: str, arg_name: str, mask: Tensor, dtype: dt.DType) -> Tensor:
    """The sum of a mask."""
    mask = cast(need_tensor(mask, op_name, arg_name), dtype)
    return F.sum(mask, axes=tuple(range(mask.ndim)))
