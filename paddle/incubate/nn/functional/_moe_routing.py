"""Routing of tokens to the experts of the largest scores."""

from __future__ import annotations

from dataclasses import dataclass

import paddle
from paddle.nn.functional._expert_places import queues, rows_at
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
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

    With ``use_pad`` an expert takes first choices before second ones, and each in the order of tokens; otherwise all in
    the order of tokens.

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
    requested = paddle.flatten(chosen.T if use_pad else chosen)
    queued = queues(requested, experts)
    place = requested * capacity + queued.rank if use_pad else queued.position(requested)
    taken = queued.rank < capacity
    places = experts * capacity if use_pad else k * n
    token = create_on(scores.place, F.iota, 0, 1, dt.int64, n)
    tokens = paddle.tile(token, [k]) if use_pad else paddle.repeat_interleave(token, k)
    token_of_place = rows_at(paddle.where(taken, place, paddle.full_like(place, places)), places, tokens, n)

    def by_choice(v: Tensor) -> Tensor:
        """Of each request as ``[k, N]``."""
        return v.reshape([k, n]) if use_pad else v.reshape([n, k]).T

    taken = by_choice(taken)
    place = by_choice(place)
    return Routing(
        paddle.where(taken.T, weights, paddle.zeros_like(weights)),
        chosen.astype("int32"),
        paddle.where(taken, place, paddle.zeros_like(place)).astype("int32"),
        paddle.cumsum(queued.counts),
        token_of_place,
    )
