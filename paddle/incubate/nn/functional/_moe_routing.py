"""Which tokens go to which expert, and where they stand there."""

from __future__ import annotations

from dataclasses import dataclass

import paddle
from umiak.core.tensor import Tensor


@dataclass(frozen=True)
class Routing:
    """Places of tokens at experts, of N tokens that go to k of E experts each.

    ``combine_weights``: float32 ``[N, k]``, scores of the experts taken, 0 where one was full. ``expert_id``: int32
    ``[N, k]``. ``scatter_index``: int32 ``[k, N]``, the places; 0 where the expert was full. ``expert_offset``: int64
    ``[E]``, how many tokens the experts up to each are asked for. ``token_of_place``: int64 ``[places]``, N where there
    is none.
    """

    combine_weights: Tensor
    expert_id: Tensor
    scatter_index: Tensor
    expert_offset: Tensor
    token_of_place: Tensor


def route(scores: Tensor, bias: Tensor | None, k: int, capacity: int, use_pad: bool) -> Routing:
    """Send each token to the k experts of the largest scores, and to the first places that are free there.

    An expert takes first choices before second ones, and each in the order of tokens.

    Args:
        scores: float32 ``[N, E]``.
        bias: float32 ``[E]``, added to the scores for the choice alone; None for none.
        k: experts of a token.
        capacity: places of an expert; tokens beyond are dropped.
        use_pad: an expert's places begin at a multiple of ``capacity``; otherwise at its offset.
    """
    n, experts = scores.shape
    chosen = paddle.topk(scores if bias is None else scores + bias, k, axis=1)[1]
    weights = paddle.take_along_axis(scores, chosen, 1)
    requested = paddle.flatten(chosen.T)  # [k, N]: first choices of all tokens, then second ones
    order = paddle.argsort(requested, stable=True)
    counts = paddle.bincount(requested, minlength=experts).astype("int64")
    ends = paddle.cumsum(counts)
    starts = ends - counts
    sources = k * n
    position = paddle.scatter(paddle.zeros([sources], "int64"), order, paddle.arange(sources, dtype="int64"))
    in_expert = position - paddle.gather(starts, requested)
    place = requested * capacity + in_expert if use_pad else position
    taken = in_expert < capacity
    places = experts * capacity if use_pad else sources
    tokens = paddle.arange(sources, dtype="int64") % max(n, 1)
    # What is dropped goes to one place more, which is cut off.
    token_of_place = paddle.scatter(
        paddle.full([places + 1], n, "int64"), paddle.where(taken, place, paddle.full_like(place, places)), tokens
    )[:places]
    return Routing(
        paddle.where(taken.reshape([k, n]).T, weights, paddle.zeros_like(weights)),
        chosen.astype("int32"),
        paddle.where(taken, place, paddle.zeros_like(place)).reshape([k, n]).astype("int32"),
        ends,
        token_of_place,
    )
