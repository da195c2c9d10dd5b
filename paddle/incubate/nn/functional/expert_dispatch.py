"""Tokens sent to their experts, and what comes back combined."""

from __future__ import annotations

import paddle
from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._moe_routing import route
from paddle.nn.functional._expert_places import queues, rows_at, rows_or_zeros
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import OperandError, op_error

_LARGEST_INDEX = 2**31 - 1


def _check_tokens(op_name: str, x: Tensor, rows: Tensor, arg_name: str) -> None:
    """Refuse tokens that are no matrix, and what has no row for each."""
    if need_tensor(x, op_name).ndim != 2:
        raise op_error(ValueError, op_name, "x of shape [tokens, hidden]", list(x.shape))
    if need_tensor(rows, op_name, arg_name).ndim != 2 or not dim.eq(rows.shape[0], x.shape[0]):
        raise op_error(ValueError, op_name, f"{arg_name} of shape [{x.shape[0]}, *]", list(rows.shape))


def _check_gate(
    op_name: str, x: Tensor, gate_logits: Tensor, corr_bias: Tensor | None, k: int, capacity: int, use_pad: bool
) -> None:
    _check_tokens(op_name, x, gate_logits, "gate_logits")
    experts = gate_logits.shape[1]
    for arg_name, v in (("gate_logits", gate_logits), ("corr_bias", corr_bias)):
        if v is not None and need_tensor(v, op_name, arg_name).dtype is not dt.float32:
            raise op_error(OperandError, op_name, f"{arg_name} of float32", v.dtype.name)
    if corr_bias is not None and list(corr_bias.shape) != [experts]:
        raise op_error(ValueError, op_name, f"corr_bias of shape [{experts}]", list(corr_bias.shape))
    if not 1 <= k <= experts:
        raise op_error(ValueError, op_name, f"k from 1 to {experts}, the experts", k)
    _check_capacity(op_name, capacity, experts, use_pad)


def _check_capacity(op_name: str, capacity: int, experts: int, use_pad: bool) -> None:
    if capacity < 1:
        raise op_error(ValueError, op_name, "a capacity of 1 or above", capacity)
    if use_pad and experts * capacity > _LARGEST_INDEX:
        required = f"at most {_LARGEST_INDEX} places, which are numbered in int32"
        raise op_error(ValueError, op_name, required, f"{experts} experts of capacity {capacity}")


@public("paddle.incubate.nn.functional", usual=False)
def moe_gate_dispatch(
    x: Tensor,
    gate_logits: Tensor,
    corr_bias: Tensor | None,
    k: int,
    capacity: int,
    use_pad: bool,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Send each token to the ``k`` experts of the largest scores.

    An expert takes as many tokens as its capacity, and the rest is dropped: with ``use_pad`` first choices before
    second ones, each in the order of tokens, otherwise all in the order of tokens.

    Args:
        x: tokens ``[N, H]`` of any dtype.
        gate_logits: scores, float32 ``[N, E]``; no softmax is taken.
        corr_bias: float32 ``[E]``, added to scores for the choice alone; None for none.
        k: experts of a token, 1 to E.
        capacity: tokens that an expert takes, 1 or above.
        use_pad: each expert has ``capacity`` places; otherwise their tokens follow each other.

    Returns:
        Tokens in their places, of x's dtype, ``[E * capacity, H]`` or without ``use_pad`` ``[N * k, H]``, zeros where
        there is none; the scores of the experts taken, float32 ``[N, k]``, 0 where a token was dropped; the places of
        tokens, int32 ``[k, N]``, 0 where they were dropped; cumulated numbers of tokens that experts are asked for,
        int64 ``[E]``; and the experts, int32 ``[N, k]``. Gradients reach x and gate_logits.

    Raises:
        TypeError: gate_logits or corr_bias of another dtype.
        ValueError: shapes that do not fit, k or capacity out of range, or more places than int32 numbers.

    References:
        Shazeer et al., Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer, 2017.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import moe_gate_dispatch
        >>> x, scores = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[0.9, 0.1], [0.2, 0.8]])
        >>> y, weights, place, offset, expert = moe_gate_dispatch(x, scores, None, 1, 2, True)
        >>> y.flatten().tolist(), place.tolist(), offset.tolist(), expert.tolist()
        ([1.0, 0.0, 2.0, 0.0], [[0, 2]], [1, 2], [[0], [1]])
    """
    _check_gate("moe_gate_dispatch", x, gate_logits, corr_bias, k, capacity, use_pad)
    routing = route(gate_logits, corr_bias, k, capacity, use_pad)
    return (
        rows_or_zeros(x, routing.token_of_place),
        routing.combine_weights,
        routing.scatter_index,
        routing.expert_offset,
        routing.expert_id,
    )


@public("paddle.incubate.nn.functional", usual=False)
def moe_gate_dispatch_permute(
    x: Tensor,
    gate_logits: Tensor,
    corr_bias: Tensor | None,
    k: int,
    capacity: int,
    world_size: int,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Send each token to the ``k`` experts of the largest scores, and sort places by the expert's number on its rank.

    Expert e is number ``e % (E / world_size)`` of rank ``e // (E / world_size)``. See :func:`moe_gate_dispatch` with
    ``use_pad``.

    Args:
        x: tokens ``[N, H]`` of any dtype.
        gate_logits: scores, float32 ``[N, E]``; no softmax is taken.
        corr_bias: float32 ``[E]``, added to scores for the choice alone; None for none.
        k: experts of a token, 1 to E.
        capacity: tokens that an expert takes, 1 or above.
        world_size: ranks that the experts are divided among; divides E.

    Returns:
        Tokens ``[E / world_size, world_size, capacity, H]`` of x's dtype, zeros where there is none; then the scores,
        places (``expert * capacity + …``), cumulated numbers and experts of :func:`moe_gate_dispatch`.

    Raises:
        TypeError: gate_logits or corr_bias of another dtype.
        ValueError: shapes that do not fit, k or capacity out of range, or a world_size that does not divide the
            experts.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import moe_gate_dispatch_permute
        >>> moe_gate_dispatch_permute(paddle.ones([3, 5]), paddle.rand([3, 4]), None, 2, 6, 2)[0].shape
        paddle.Size([2, 2, 6, 5])
    """
    op_name = "moe_gate_dispatch_permute"
    _check_gate(op_name, x, gate_logits, corr_bias, k, capacity, True)
    experts = gate_logits.shape[1]
    if world_size < 1 or experts % world_size:
        raise op_error(ValueError, op_name, f"a world_size that divides the {experts} experts", world_size)
    y, *others = moe_gate_dispatch(x, gate_logits, corr_bias, k, capacity, True)
    by_rank = F.reshape(y, shape=(world_size, experts // world_size, capacity, x.shape[1]))
    weights, place, offset, expert = others
    return F.permute(by_rank, perm=(1, 0, 2, 3)), weights, place, offset, expert


@public("paddle.incubate.nn.functional", usual=False)
def moe_gate_dispatch_partial_nosoftmaxtopk(
    x: Tensor,
    combine_weights: Tensor,
    expert_id: Tensor,
    k: int,
    capacity: int,
    num_experts: int,
    use_pad: bool,
    expert_start_index: int,
    expert_end_index: int,
    reverse_token_drop: bool,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Send tokens to those of their experts that are here, ``expert_start_index`` to ``expert_end_index - 1``.

    An expert takes as many tokens as its capacity, first choices before second ones, each in the order of tokens, and
    keeps them in the order of tokens; the rest is dropped.

    Args:
        x: tokens ``[N, H]`` of any dtype.
        combine_weights: weights of the experts of each token, float32 ``[N, k]``.
        expert_id: the experts of each token, int32 ``[N, k]``.
        k: experts of a token.
        capacity: tokens that an expert takes, 1 or above.
        num_experts: E, the experts on all ranks.
        use_pad: each expert has ``capacity`` places; otherwise their tokens follow each other.
        expert_start_index: the first expert that is here.
        expert_end_index: one past the last.
        reverse_token_drop: an expert takes the last of the tokens that ask for it; not with ``use_pad``.

    Returns:
        Tokens in their places, of x's dtype, ``[experts here * capacity, H]``, zeros where there is none, or without
        ``use_pad`` as many rows as tokens were taken; combine_weights, 0 for experts elsewhere and dropped tokens; the
        places of tokens, int32 ``[k, N]``, 0 where there is none; the token of each place, int32, N where there is
        none; and int64 ``[E]`` each: how many tokens ask for an expert, and how many for one that is here (without
        ``use_pad``, of those taken). Gradients reach x and combine_weights.

    Raises:
        TypeError: combine_weights or expert_id of another dtype.
        ValueError: shapes that do not fit, numbers out of range, or reverse_token_drop with use_pad.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import moe_gate_dispatch_partial_nosoftmaxtopk
        >>> x, weights = paddle.to_tensor([[1.0], [2.0], [3.0]]), paddle.full([3, 1], 0.5)
        >>> experts = paddle.to_tensor([[0], [1], [0]], "int32")
        >>> y, *_ = moe_gate_dispatch_partial_nosoftmaxtopk(x, weights, experts, 1, 4, 2, False, 0, 1, False)
        >>> y.flatten().tolist()
        [1.0, 3.0]
    """
    op_name = "moe_gate_dispatch_partial_nosoftmaxtopk"
    _check_tokens(op_name, x, combine_weights, "combine_weights")
    n = x.shape[0]
    for arg_name, v, dtype in (("combine_weights", combine_weights, dt.float32), ("expert_id", expert_id, dt.int32)):
        if list(need_tensor(v, op_name, arg_name).shape) != [n, k]:
            raise op_error(ValueError, op_name, f"{arg_name} of shape [{n}, {k}]", list(v.shape))
        if v.dtype is not dtype:
            raise op_error(OperandError, op_name, f"{arg_name} of {dtype.name}", v.dtype.name)
    if not 0 <= expert_start_index < expert_end_index <= num_experts:
        required = f"0 <= expert_start_index < expert_end_index <= {num_experts}"
        raise op_error(ValueError, op_name, required, f"{expert_start_index} and {expert_end_index}")
    if reverse_token_drop and use_pad:
        raise op_error(ValueError, op_name, "use_pad False with reverse_token_drop", use_pad)
    _check_capacity(op_name, capacity, expert_end_index - expert_start_index, use_pad)
    here = expert_end_index - expert_start_index

    # Requests by priority: first choices, then second ones. What is elsewhere waits for one expert more.
    experts = paddle.flatten(expert_id.T).astype("int64")
    local = experts - expert_start_index
    is_local = (local >= 0) & (local < here)
    local = paddle.where(is_local, local, paddle.full_like(local, here))
    queued = queues(local, here + 1)
    rank = queued.rank
    if reverse_token_drop:
        rank = paddle.gather(queued.counts, local) - 1 - rank
    taken = is_local & (rank < capacity)

    # Places in the order of tokens: requests ``[N, k]`` once more, those that are taken.
    at = paddle.where(taken, local, paddle.full_like(local, here))
    in_order = paddle.flatten(at.reshape([k, n]).T)
    placed = queues(in_order, here + 1)
    place = in_order * capacity + placed.rank if use_pad else placed.position(in_order)
    taken_in_order = in_order < here
    taken_counts = placed.counts[:here]
    places = here * capacity if use_pad else k * n  # of which those that are taken come first
    token_in_order = paddle.repeat_interleave(create_on(x.place, F.iota, 0, 1, dt.int64, n), k)
    token_of_place = rows_at(
        paddle.where(taken_in_order, place, paddle.full_like(place, places)), places, token_in_order, n
    )
    if not use_pad:
        token_of_place = paddle.masked_select(token_of_place, token_of_place < n)
    place = paddle.where(taken_in_order, place, paddle.zeros_like(place)).reshape([n, k])
    weights = paddle.where(taken_in_order.reshape([n, k]), combine_weights, paddle.zeros_like(combine_weights))
    counts = queued.counts[:here] if use_pad else taken_counts
    elsewhere = [
        create_on(x.place, F.full, 0, dt.int64, (m,)) for m in (expert_start_index, num_experts - expert_end_index)
    ]
    return (
        rows_or_zeros(x, token_of_place),
        weights,
        place.T.astype("int32"),
        token_of_place.astype("int32"),
        F.bincount_sized(paddle.where(experts >= 0, experts, num_experts), None, count=num_experts + 1)[:num_experts],
        paddle.concat([elsewhere[0], counts, elsewhere[1]]),
    )


@public("paddle.incubate.nn.functional", usual=False)
def moe_combine(x: Tensor, combine_weights: Tensor, scatter_index: Tensor, name: str | None = None) -> Tensor:
    """Weighted sums of rows: ``y[n]`` is the sum over k of ``combine_weights[n, k] * x[scatter_index[n, k]]``.

    Args:
        x: floating tensor ``[places, H]``, what experts made of their tokens.
        combine_weights: tensor ``[N, k]`` of x's dtype or float32; 0 for a token that was dropped.
        scatter_index: int32 or int64 tensor ``[N, k]``, the places of tokens.

    Returns:
        Tensor ``[N, H]`` of x's dtype. Gradients reach x and combine_weights.

    Raises:
        TypeError: x is not floating, or scatter_index no integers.
        ValueError: shapes that do not fit.
        IndexError: a place that x does not have; none counts from the end.

    Example:
        >>> import paddle
        >>> x, weights = paddle.to_tensor([[1.0], [10.0]]), paddle.to_tensor([[0.5, 2.0]])
        >>> paddle.incubate.nn.functional.moe_combine(x, weights, paddle.to_tensor([[0, 1]])).tolist()
        [[20.5]]
    """
    op_name = "moe_combine"
    _check_places(op_name, x, combine_weights, scatter_index, "combine_weights")
    wide = x.dtype.compute
    rows = cast(F.take(x, scatter_index, axis=0, from_end=False), wide)
    weighted = F.mul(rows, F.unsqueeze(cast(combine_weights, wide), axes=(2,)))
    return cast(F.sum(weighted, axes=(1,)), x.dtype)


@public("paddle.incubate.nn.functional", usual=False)
def moe_combine_no_weight(
    x: Tensor, combine_weight: Tensor, scatter_index: Tensor, epsilon: float = 1e-15, name: str | None = None
) -> Tensor:
    """Sums of rows that carry their weights already: ``y[n]`` is the sum of ``x[scatter_index[n, k]]`` over those k
    whose ``combine_weight[n, k]`` is above ``epsilon``.

    Args:
        x: floating tensor ``[places, H]``, what experts gave for their tokens, times the weights.
        combine_weight: floating tensor ``[N, k]``, the weights; 0 for a token that was dropped, whose place means
            nothing.
        scatter_index: int32 or int64 tensor ``[N, k]``, the places of tokens.
        epsilon: a weight up to this one is that of a dropped token; 0 or more.

    Returns:
        Tensor ``[N, H]`` of x's dtype. Gradients reach x alone.

    Raises:
        TypeError: combine_weight is not floating, or scatter_index no integers.
        ValueError: x is not floating or no matrix, shapes that do not fit, or a negative epsilon.
        IndexError: a place that x does not have, of a token that was not dropped.

    Example:
        >>> import paddle
        >>> x, weight = paddle.to_tensor([[1.0], [10.0]]), paddle.to_tensor([[0.5, 2.0], [0.5, 0.0]])
        >>> place = paddle.to_tensor([[0, 1], [1, 0]])
        >>> paddle.incubate.nn.functional.moe_combine_no_weight(x, weight, place).tolist()
        [[11.0], [10.0]]
    """
    op_name = "moe_combine_no_weight"
    _check_places(op_name, x, combine_weight, scatter_index, "combine_weight")
    if not combine_weight.dtype.is_floating:
        raise op_error(TypeError, op_name, "a floating combine_weight", combine_weight.dtype.name)
    if not epsilon >= 0:
        raise op_error(ValueError, op_name, "an epsilon of 0 or more", epsilon)
    # In float32 at least: a small epsilon is 0 in float16.
    counts = F.gt(cast(combine_weight, combine_weight.dtype.compute), float(epsilon))
    place = F.where(counts, scatter_index, 0)
    rows = cast(F.take(x, place, axis=0, from_end=False), x.dtype.compute)
    return cast(F.sum(F.where(F.unsqueeze(counts, axes=(2,)), rows, 0), axes=(1,)), x.dtype)


def _check_places(op_name: str, x: Tensor, weights: Tensor, scatter_index: Tensor, arg_name: str) -> None:
    """Refuse rows, weights and places that do not belong together."""
    if need_tensor(x, op_name).ndim != 2 or not x.dtype.is_floating:
        raise op_error(ValueError, op_name, "a floating x of shape [places, hidden]", f"{x.dtype.name} {list(x.shape)}")
    if not need_tensor(scatter_index, op_name, "scatter_index").dtype.is_integer:
        raise op_error(TypeError, op_name, "integers for scatter_index", scatter_index.dtype.name)
    shape = need_tensor(weights, op_name, arg_name).shape
    if len(shape) != 2 or scatter_index.ndim != 2 or not all(map(dim.eq, shape, scatter_index.shape)):
        required = f"{arg_name} and scatter_index of one shape [tokens, k]"
        raise op_error(ValueError, op_name, required, f"{list(shape)} and {list(scatter_index.shape)}")
