"""Numbers of experts: counted, renumbered, and told from counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import create_on, integer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.util.errors import op_error


def _need_integers(op_name: str, x: Tensor, arg_name: str) -> None:
    if not need_tensor(x, op_name, arg_name).dtype.is_integer:
        raise op_error(TypeError, op_name, f"integers for {arg_name}", x.dtype.name)


@public("paddle.incubate.nn.functional", usual=False)
def int_bincount(x: Tensor, low: int, high: int, dtype: Any = None, name: str | None = None) -> Tensor:
    """Number of occurrences of each integer from ``low`` to ``high - 1``; others are not counted.

    Args:
        x: integer tensor of any shape.
        low: the first integer that is counted.
        high: one past the last.
        dtype: int32 or int64; None for x's.

    Returns:
        Tensor ``[high - low]`` of ``dtype``.

    Raises:
        TypeError: x is not of integers, or another dtype.
        ValueError: ``high`` below ``low``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 3, 1, 7])
        >>> paddle.incubate.nn.functional.int_bincount(x, 1, 4).tolist()
        [2, 0, 1]
    """
    op_name = "int_bincount"
    _need_integers(op_name, x, "x")
    low, high = integer(low, op_name, "low"), integer(high, op_name, "high")
    if high < low:
        raise op_error(ValueError, op_name, f"high of {low} or above, as low is", high)
    wanted = x.dtype if dtype is None else convert(dtype)
    if wanted not in (dt.int32, dt.int64):
        raise op_error(TypeError, op_name, "a dtype of int32 or int64", wanted.name)
    flat = cast(F.reshape(x, shape=(x._count,)), dt.int64)
    # What is outside is counted at one number more, which is cut off.
    inside = F.logical_and(F.ge(flat, low), F.lt(flat, high))
    counts = F.bincount_sized(F.where(inside, F.sub(flat, low), high - low), None, count=high - low + 1)
    return cast(F.slice(counts, axes=(0,), starts=(0,), sizes=(high - low,), steps=(1,)), wanted)


@public("paddle.incubate.nn.functional", usual=False)
def build_src_rank_and_local_expert_id(
    expert_num_global_tensor: Tensor, expert_num_global: Sequence[int], num_local_experts: int, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Rank and number on its rank of the expert of each token, where tokens lie sorted by expert.

    Args:
        expert_num_global_tensor: how many tokens each expert has, int64 ``[E]``.
        expert_num_global: the same numbers as ints.
        num_local_experts: experts of a rank.

    Returns:
        Two int32 tensors of one number for each token: of expert e, ``e // num_local_experts`` and
        ``e % num_local_experts``.

    Raises:
        TypeError: expert_num_global_tensor is not of integers.
        ValueError: sizes that do not fit, or num_local_experts below 1.

    Example:
        >>> import paddle
        >>> counts = [1, 2, 0, 1]
        >>> build = paddle.incubate.nn.functional.build_src_rank_and_local_expert_id
        >>> rank, expert = build(paddle.to_tensor(counts), counts, 2)
        >>> rank.tolist(), expert.tolist()
        ([0, 0, 0, 1], [0, 1, 1, 1])
    """
    op_name = "build_src_rank_and_local_expert_id"
    _need_integers(op_name, expert_num_global_tensor, "expert_num_global_tensor")
    counts = [integer(n, op_name, "expert_num_global") for n in expert_num_global]
    if list(expert_num_global_tensor.shape) != [len(counts)]:
        required = f"expert_num_global_tensor of shape [{len(counts)}], as expert_num_global has"
        raise op_error(ValueError, op_name, required, list(expert_num_global_tensor.shape))
    if num_local_experts < 1:
        raise op_error(ValueError, op_name, "num_local_experts of 1 or above", num_local_experts)
    ends = F.cumsum(cast(expert_num_global_tensor, dt.int64), axis=0)
    token = create_on(ends.place, F.iota, 0, 1, dt.int64, sum(counts))
    expert = F.search_sorted(ends, token, right=True)
    rank, local = F.floor_div(expert, num_local_experts), F.remainder(expert, num_local_experts)
    return cast(rank, dt.int32), cast(local, dt.int32)


@public("paddle.incubate.nn.functional", usual=False)
def expand_modality_expert_id(
    expert_id: Tensor,
    num_expert_per_modality: int,
    group_size: int,
    modality_offset: int,
    is_group_expert: bool,
    name: str | None = None,
) -> Tensor:
    """Numbers of experts of one modality among those of two, whose experts alternate by rank.

    Expert e is number ``e % n`` on rank ``e // n``, where n is ``num_expert_per_modality``; there it becomes
    ``2 * n * (e // n) + e % n + modality_offset * n``.

    Args:
        expert_id: the experts of each token, int32 or int64 ``[N, k]``.
        num_expert_per_modality: experts of a modality on a rank; 0 or below leaves numbers as they are.
        group_size: experts of a group.
        modality_offset: the modality, 0 or 1.
        is_group_expert: choice k counts within group k: ``k * group_size`` is added first.

    Returns:
        Tensor of expert_id's shape and dtype.

    Raises:
        TypeError: expert_id is not of integers.
        ValueError: expert_id is not of rank 2.

    Example:
        >>> import paddle
        >>> expand = paddle.incubate.nn.functional.expand_modality_expert_id
        >>> expand(paddle.to_tensor([[0, 3]]), 2, 0, 1, False).tolist()
        [[2, 7]]
    """
    op_name = "expand_modality_expert_id"
    _need_integers(op_name, expert_id, "expert_id")
    if expert_id.ndim != 2:
        raise op_error(ValueError, op_name, "expert_id of shape [tokens, k]", list(expert_id.shape))
    expert = expert_id
    if is_group_expert:
        choice = create_on(expert.place, F.iota, 0, 1, dt.int64, expert.shape[1])
        expert = F.add(expert, cast(F.mul(choice, int(group_size)), expert.dtype))
    n = int(num_expert_per_modality)
    if n <= 0:
        return F.copy(expert) if expert is expert_id else expert
    # Numbers below 0, of no expert, are divided as in C: towards 0.
    on_rank = F.fmod(expert, n)
    rank = F.floor_div(F.sub(expert, on_rank), n)
    return F.add(F.add(F.mul(rank, 2 * n), on_rank), int(modality_offset) * n)
