"""Attention of a sequence that lies on several ranks."""

from __future__ import annotations

import math
from typing import Any

from umiak import comm
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.spmd.context_parallel.plans import ContextPlan, PlanTensors
from umiak.util.errors import op_error


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    plan: ContextPlan | PlanTensors,
    *,
    group: Any = None,
    form: str = "ring",
    softmax_scale: float | None = None,
) -> Tensor:
    """Attention of a rank's queries over the keys of all ranks, with a mask by columns.

    All ranks of the group call it together. What no query of a rank sees is not sent to it. The gradients are those of
    the sum of what the ranks compute. The result is that of :func:`paddle.nn.functional.flashmask_attention` over the
    whole sequence but for the order of sums.

    Args:
        query: floating tensor ``[batch, tokens, heads, dim]``, the rank's tokens as ``plan.part`` gives them.
        key, value: tensors ``[batch, tokens, key heads, dim]`` of query's dtype; each key head serves several
            consecutive query heads.
        plan: equal on all ranks. In captured functions ``plan.tensors()``, as an argument of the function, so that
            another plan of equal sizes does not capture again.
        group: the group of the ranks, of :mod:`umiak.comm` or ``paddle.distributed``; by default all ranks.
        form: ``"ring"``: attention over the keys of one rank after the other, while those of the next are on their way;
            ``"all_gather"``: once over all, which must arrive before. The second holds the keys of all ranks at once,
            and rounds the result of low precision once.
        softmax_scale: factor of the scores, by default ``dim ** -0.5``.

    Returns:
        The result ``[batch, tokens, heads, dim]`` of query's dtype, 0 where a query sees no key.

    Raises:
        TypeError: operands that are not floating, or of different dtypes.
        ValueError: shapes that do not fit the plan or the group, chunks that are not each on one rank, or an unknown
            form; before anything of the operands is sent.
        CommError: the ranks call it with different plans, shapes, dtypes or scales.

    References:
        Liu et al., Ring Attention with Blockwise Transformers for Near-Infinite Context, 2023; Wang et al., FlashMask,
        2024.

    Example:
        >>> import paddle
        >>> from umiak import masks
        >>> from umiak.spmd import context_parallel
        >>> plan = context_parallel.plan(masks.causal_document([100, 156]), 1)
        >>> x = paddle.rand([1, 256, 2, 8])
        >>> context_parallel.attention(x, x, x, plan).shape
        paddle.Size([1, 256, 2, 8])
    """
    pg = comm.world() if group is None else getattr(group, "process_group", group)
    if pg is None:
        raise op_error(ValueError, "context_attention", "a group that the caller is in", group)
    rows, chunks, causal = plan.tensors() if isinstance(plan, ContextPlan) else plan
    if query.ndim != 4:
        required = "query, key and value [batch, tokens, heads, dim]"
        raise op_error(ValueError, "context_attention", required, list(query.shape))
    scale = 1.0 / math.sqrt(query.shape[3] or 1) if softmax_scale is None else softmax_scale
    operands = query, key, value, rows, chunks
    return F.context_attention(*operands, causal=causal, group=pg.name, form=form, scale=scale, size=pg.size)
