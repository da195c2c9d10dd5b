"""Tokens sorted by their experts and back, with rows of padding behind those of each expert."""

from __future__ import annotations

from collections.abc import Sequence

import paddle
from paddle._public import need_tensor, public
from paddle.nn.functional._expert_places import queues, rows_at, rows_or_zeros
from paddle.tensor._args import create_on, integer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import capture_of
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.util.errors import op_error


@public("paddle.nn.functional", usual=False)
def moe_permute(
    hidden_states: Tensor,
    scale: Tensor | None,
    expert_routemap_topk: Tensor,
    expert_prob_topk: Tensor,
    num_experts: int,
    tokens_per_expert: Sequence[int],
    padding_alignment: int,
    do_gather: bool = True,
    using_ue8m0_scale: bool = False,
    return_expert_indices: bool = False,
    override_buffer_size: int = -1,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Copy each token to all of its experts: the rows of an expert follow each other in the order of tokens, and behind
    them come rows of zeros up to a multiple of ``padding_alignment``.

    Args:
        hidden_states: tokens ``[N, H]`` of any dtype.
        scale: scales of float8 tokens, ``[N, *]``, which are copied with them; float32, or int32 with
            ``using_ue8m0_scale``. None for none.
        expert_routemap_topk: the experts of each token, int32 ``[N, k]``; -1 for none. No token has an expert twice.
        expert_prob_topk: the weights of these experts, floating ``[N, k]``.
        num_experts: E, the number of experts.
        tokens_per_expert: how many tokens each expert has, E ints.
        padding_alignment: rows of an expert are a multiple of this.
        do_gather: False copies no tokens.
        using_ue8m0_scale: scales are int32 that hold four exponents each.
        return_expert_indices: return the expert of each row, too.
        override_buffer_size: rows of the results, of which those behind the last expert are zeros; -1 for as many as
            are needed.

    Returns:
        Rows ``[R, H]`` of tokens (``[0, H]`` without ``do_gather``); the row of each token at each expert, int32 ``[N,
        E]``, -1 for none; the weight of each row ``[R]``, of expert_prob_topk's dtype; the scales of the rows (``[R,
        0]`` of float32 without scales); and, if wanted, the expert of each row, int32 ``[R]``, -1 for padding.
        Gradients reach the tokens and their weights.

    Raises:
        TypeError: expert_routemap_topk is not of integers, or scale of another dtype.
        ValueError: shapes that do not fit, an alignment below 1, a buffer that is too small, or tokens_per_expert that
            are not those of expert_routemap_topk (found where the numbers are at hand, so not in captured functions).

    Example:
        >>> import paddle
        >>> tokens, experts = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[1, 0], [1, -1]], "int32")
        >>> rows, place, weights, _ = paddle.nn.functional.moe_permute(
        ...     tokens, None, experts, paddle.full([2, 2], 0.5), 2, [1, 2], 2
        ... )
        >>> rows.flatten().tolist(), place.tolist()
        ([1.0, 0.0, 1.0, 2.0], [[0, 2], [-1, 3]])
    """
    op_name = "moe_permute"
    n, k = _check_routes(op_name, hidden_states, expert_routemap_topk)
    if list(need_tensor(expert_prob_topk, op_name, "expert_prob_topk").shape) != [n, k]:
        raise op_error(ValueError, op_name, f"expert_prob_topk of shape {[n, k]}", list(expert_prob_topk.shape))
    counts = [integer(c, op_name, "tokens_per_expert") for c in tokens_per_expert]
    if len(counts) != num_experts or min(counts, default=0) < 0:
        raise op_error(ValueError, op_name, f"tokens_per_expert of {num_experts} numbers from 0 up", counts)
    if padding_alignment < 1:
        raise op_error(ValueError, op_name, "a padding_alignment of 1 or above", padding_alignment)
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + -(-count // padding_alignment) * padding_alignment)
    rows = starts[-1] if override_buffer_size < 0 else override_buffer_size
    if rows < starts[-1]:
        raise op_error(ValueError, op_name, f"override_buffer_size of {starts[-1]} or above", rows)
    _check_scale(op_name, scale, n, using_ue8m0_scale)

    # Requests token by token; what has no expert waits for one more.
    expert = F.reshape(cast(expert_routemap_topk, dt.int64), shape=(n * k,))
    at_hand = capture_of() is None and hidden_states.storage is not None
    if at_hand and n * k and (largest := F.max(expert, axes=(0,), keepdim=False).item()) >= num_experts:
        required = f"experts up to {num_experts - 1} in expert_routemap_topk, negative for none"
        raise op_error(ValueError, op_name, required, largest)
    expert = F.where(F.ge(expert, 0), expert, num_experts)
    queued = queues(expert, num_experts + 1)
    if at_hand:
        assigned_counts = queued.counts[:num_experts].tolist()
        if assigned_counts != counts:
            raise op_error(
                ValueError, op_name, f"tokens_per_expert as in expert_routemap_topk, {assigned_counts}", counts
            )
    firsts = paddle.to_tensor([*starts[:-1], rows], "int64", hidden_states.place)
    assigned = F.lt(expert, num_experts)
    row = F.where(assigned, F.add(F.take(firsts, expert, axis=0), queued.rank), rows)
    # The request of each row, n * k where there is none.
    request = rows_at(row, rows, create_on(row.place, F.iota, 0, 1, dt.int64, n * k), n * k)
    token = F.floor_div(request, k)
    place = F.reshape(F.where(assigned, row, -1), shape=(n, k))
    results = (
        rows_or_zeros(hidden_states, token) if do_gather else F.copy(hidden_states[:0]),
        _by_expert(place, F.reshape(expert, shape=(n, k)), num_experts),
        rows_or_zeros(F.reshape(expert_prob_topk, shape=(n * k,)), request),
        create_on(row.place, F.full, 0, dt.float32, (rows, 0)) if scale is None else rows_or_zeros(scale, token),
    )
    if not return_expert_indices:
        return results
    nothing = create_on(row.place, F.full, -1, dt.int64, (1,))
    return (*results, cast(F.take(F.concat([expert, nothing], axis=0), request, axis=0), dt.int32))


@public("paddle.nn.functional", usual=False)
def moe_unpermute(
    hidden_states_unzipped: Tensor,
    zipped_expertwise_rowmap: Tensor,
    expert_routemap_topk: Tensor,
    token_prob_unzipped: Tensor,
    total_zipped_tokens: int,
    num_experts: int,
    using_mix_precision: bool = True,
    using_weighted_combine: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Sum of the rows of each token, and their weights: what :func:`moe_permute` has taken apart.

    Args:
        hidden_states_unzipped: rows ``[R, H]``, floating.
        zipped_expertwise_rowmap: the row of each token at each expert, int32 ``[N, E]``.
        expert_routemap_topk: the experts of each token, int32 ``[N, k]``; -1 for none.
        token_prob_unzipped: the weight of each row, floating ``[R]`` or ``[R, 1]``.
        total_zipped_tokens: N.
        num_experts: E.
        using_mix_precision: accepted; sums are computed in float32 and rounded once.
        using_weighted_combine: multiply each row with its weight.

    Returns:
        Tokens ``[N, H]`` of the rows' dtype, and weights ``[N, k]``, 0 where there is no expert. Gradients reach the
        rows and the weights.

    Raises:
        TypeError: rows or weights that are not floating, or numbers that are no integers.
        ValueError: shapes that do not fit.
        IndexError: a row or an expert that is not there.

    Example:
        >>> import paddle
        >>> rows, place = paddle.to_tensor([[1.0], [0.0], [1.0], [2.0]]), paddle.to_tensor([[0, 2], [-1, 3]], "int32")
        >>> experts = paddle.to_tensor([[1, 0], [1, -1]], "int32")
        >>> tokens, _ = paddle.nn.functional.moe_unpermute(rows, place, experts, paddle.ones([4]), 2, 2)
        >>> tokens.flatten().tolist()
        [2.0, 2.0]
    """
    op_name = "moe_unpermute"
    for arg_name, v in (
        ("hidden_states_unzipped", hidden_states_unzipped),
        ("token_prob_unzipped", token_prob_unzipped),
    ):
        if not need_tensor(v, op_name, arg_name).dtype.is_floating:
            raise op_error(TypeError, op_name, f"a floating {arg_name}", v.dtype.name)
    place = need_tensor(zipped_expertwise_rowmap, op_name, "zipped_expertwise_rowmap")
    if list(place.shape) != [total_zipped_tokens, num_experts]:
        required = f"zipped_expertwise_rowmap of shape {[total_zipped_tokens, num_experts]}"
        raise op_error(ValueError, op_name, required, list(place.shape))
    n, k = _check_routes(op_name, place, expert_routemap_topk)
    rows = hidden_states_unzipped.shape[0] if hidden_states_unzipped.ndim == 2 else None
    weights = token_prob_unzipped
    if list(weights.shape) == [rows, 1]:
        weights = F.reshape(weights, shape=(rows,))
    if rows is None or list(weights.shape) != [rows]:
        required = "hidden_states_unzipped of shape [rows, hidden] and token_prob_unzipped of shape [rows]"
        raise op_error(ValueError, op_name, required, f"{list(hidden_states_unzipped.shape)} and {list(weights.shape)}")
    expert = cast(expert_routemap_topk, dt.int64)
    # The row of each choice, -1 where there is none.
    there = F.ge(expert, 0)
    row = F.take_along(cast(place, dt.int64), F.where(there, expert, 0), axis=1)
    row = F.where(there, F.maximum(row, -1), -1)
    wide = hidden_states_unzipped.dtype.compute
    parts = cast(rows_or_zeros(hidden_states_unzipped, row, none=-1), wide)
    chosen = rows_or_zeros(weights, row, none=-1)
    if using_weighted_combine:
        parts = F.mul(parts, F.unsqueeze(cast(chosen, wide), axes=(2,)))
    return cast(F.sum(parts, axes=(1,)), hidden_states_unzipped.dtype), chosen


def _check_routes(op_name: str, tokens: Tensor, routes: Tensor) -> tuple[int, int]:
    """The number of tokens, and of choices of each."""
    if need_tensor(tokens, op_name, "hidden_states").ndim != 2:
        raise op_error(ValueError, op_name, "hidden_states of shape [tokens, hidden]", list(tokens.shape))
    if not need_tensor(routes, op_name, "expert_routemap_topk").dtype.is_integer:
        raise op_error(TypeError, op_name, "integers for expert_routemap_topk", routes.dtype.name)
    n = tokens.shape[0]
    if routes.ndim != 2 or routes.shape[0] != n:
        raise op_error(ValueError, op_name, f"expert_routemap_topk of shape [{n}, k]", list(routes.shape))
    return n, routes.shape[1]


def _check_scale(op_name: str, scale: Tensor | None, n: int, exponents: bool) -> None:
    if scale is None:
        return
    wanted = dt.int32 if exponents else dt.float32
    if need_tensor(scale, op_name, "scale").dtype is not wanted:
        raise op_error(TypeError, op_name, f"a scale of {wanted.name}", scale.dtype.name)
    if scale.ndim != 2 or scale.shape[0] != n:
        raise op_error(ValueError, op_name, f"a scale of shape [{n}, *]", list(scale.shape))


def _by_expert(place: Tensor, expert: Tensor, experts: int) -> Tensor:
    """Places ``[N, k]`` of choices as int32 ``[N, E]`` of experts, -1 where there is none."""
    n = place.shape[0]
    # One column more is for choices of no expert, and cut off.
    nowhere = create_on(place.place, F.full, -1, dt.int64, (n, experts + 1))
    table = F.scatter_along(nowhere, expert, place, axis=1)
    return cast(F.slice(table, axes=(1,), starts=(0,), sizes=(experts,), steps=(1,)), dt.int32)
