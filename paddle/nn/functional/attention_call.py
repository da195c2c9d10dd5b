"""Common parts of the public calls of attention: weights dropped by a stream of random numbers, the log-sum-exp, and
weights where they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from paddle.framework.mode import when_evaluated
from paddle.framework.random import get_random_seed_generator
from paddle.nn.functional._attention_accumulation import ACCUMULATION, widened
from paddle.tensor._args import InternedOps, create_on, fraction, need_tensor, number_when_run
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.generator import default_generator
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.dot_product_attention import dropout_words, dropped
from umiak.util.errors import op_error

LSE_ROWS = 128  # the log-sum-exp that is returned has a multiple of so many rows
_ATTENTION = InternedOps(F.Attention)

T = TypeVar("T")


class Dropout(NamedTuple):
    """With which probability weights are dropped, and where that is drawn from.

    ``fixed``: a seed and an offset, as a tensor of two integers. ``stream``: the name of a generator, by default that
    of the operands' device.
    """

    p: float = 0.0
    fixed: Tensor | None = None
    stream: str = ""


NO_DROPOUT = Dropout()


def dropout_of(op_name: str, p: Any, training: bool, fixed: Tensor | None = None, stream: str = "") -> Dropout:
    """The dropout that a call asks for; one that does not fit is refused, also where nothing is dropped."""
    if type(p) is not float or not 0.0 <= p <= 1.0:
        p = fraction(p, op_name, "dropout")
    if fixed is not None:
        need_tensor(fixed, op_name, "fixed_seed_offset")
        if list(fixed.shape) != [2] or not fixed.dtype.is_integer:
            got = f"{fixed.dtype.name} of shape {list(fixed.shape)}"
            raise op_error(ValueError, op_name, "fixed_seed_offset as two integers, a seed and an offset", got)
    if stream:
        get_random_seed_generator(stream)
    return Dropout(p if training else 0.0, fixed, stream)


def _drawn(query: Tensor, key: Tensor, dropout: Dropout, run: Callable[[Any, Any], T]) -> tuple[T, tuple]:
    """``run(seed, offset)`` with the next part of a stream, and the two. A call that fails draws nothing."""
    if dropout.fixed is not None:
        # One by one: a program that reads them when it runs has a number for an element.
        seed, offset = (number_when_run(F.slice(dropout.fixed, (0,), (i,), (1,), (1,))) for i in (0, 1))
        dim.require(offset >= 0, f"[attention] requires fixed_seed_offset with an offset of 0 or more, got {offset}")
        return run(seed, offset), (seed, offset)
    generator = get_random_seed_generator(dropout.stream) if dropout.stream else default_generator(query.place)
    words = dropout_words(query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    seed, offset = generator.reserve(words)
    try:
        return run(seed, offset), (seed, offset)
    except BaseException:
        generator.give_back(offset, words)
        raise


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float,
    dropout: Dropout = NO_DROPOUT,
) -> Tensor:  # fmt: skip
    """The result of attention; operands are ``[batch, sequence, heads, dim]``."""
    if ACCUMULATION.value != "auto" and (wide := widened(query, key, value, mask)) is not None:
        return wide.rounded(attend(*wide.operands, causal, scale, dropout))
    if dropout.p:
        return attend_with_lse(query, key, value, mask, causal, scale, dropout)[0]
    return apply(_ATTENTION[bool(causal)], (query, key, value, mask), (scale,))


def attend_with_lse(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float,
    dropout: Dropout = NO_DROPOUT, blocks: Tensor | None = None, softcap: float = 0.0,
) -> tuple[Tensor, Tensor, tuple]:  # fmt: skip
    """The result, the log-sum-exp ``[batch, heads, queries]``, and the seed and the offset that dropout drew from."""
    if ACCUMULATION.value != "auto" and (wide := widened(query, key, value, mask)) is not None:
        out, lse, drawn = attend_with_lse(*wide.operands, causal, scale, dropout, blocks, softcap)
        return wide.rounded(out), wide.rounded_sums(lse), drawn
    operands = (query, key, value, mask, blocks)
    if not dropout.p:
        out, lse = F.attention_train(*operands, causal=bool(causal), softcap=softcap, scale=scale)
        return out, lse, (0, 0)

    def run(seed: Any, offset: Any) -> Any:
        return F.attention_train(*operands, bool(causal), True, softcap, scale, dropout.p, seed, offset)

    def evaluated(*operands: Any) -> Tensor:
        return F.attention_train(*operands, causal=bool(causal), softcap=softcap, scale=scale)[0]

    (out, lse), drawn = _drawn(query, key, dropout, run)
    return when_evaluated(out, evaluated, *operands), lse, drawn


def padded_lse(lse: Tensor) -> Tensor:
    """``[batch, heads, queries]`` with rows of inf up to a multiple of ``LSE_ROWS``."""
    batch, heads, queries = lse.shape
    if type(queries) is int and queries % LSE_ROWS == 0:
        return lse
    rest = create_on(lse.place, F.full, math.inf, lse.dtype, (batch, heads, -queries % LSE_ROWS))
    return F.concat([lse, rest], axis=2)  # not `pad`, which files have none of with amounts from sizes


def seed_and_offset(like: Tensor, drawn: tuple) -> Tensor:
    """``[2]``: the seed and the offset that dropout drew from, as a tensor."""
    numbers = [F.full(n, dtype=dt.int64, shape=()) for n in drawn]
    return create_on(like.place, F.stack, numbers, axis=0)


def masked_scores(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> tuple[Tensor, Tensor | None]:
    """Scores ``[batch, heads, queries, keys]`` with -inf where a boolean mask hides a key, and whether a query sees any
    (None where all do): the scores of one that does not are left as they are.
    """
    group = query.shape[2] // key.shape[2]
    if group > 1:
        key = F.repeat_interleave(key, axis=2, repeats=group)
    q, k = (F.permute(t, perm=(0, 2, 1, 3)) for t in (query, key))
    scores = F.mul(F.matmul(q, k, transpose_y=True), scale)
    if mask is None:
        return scores, None
    if not mask.dtype.is_bool:
        return F.add(scores, mask), None
    seen = F.any(mask, axes=(mask.ndim - 1,), keepdim=True)
    hidden = F.logical_and(F.logical_not(mask), seen)
    return F.where(hidden, -math.inf, scores), seen


def weighted_values(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, dropout: Dropout = NO_DROPOUT
) -> tuple[Tensor, Tensor]:
    """Attention with its weights formed: the result, and the weights ``[batch, heads, queries, keys]``, those with some
    of them dropped.

    A query that sees no key has the weights 0, as in the engine's op; of one seed and offset, the same are dropped.
    """
    if (wide := widened(query, key, value, mask)) is not None:
        out, weights = weighted_values(*wide.operands, scale, dropout)
        return wide.rounded(out), wide.rounded(weights)
    scores, seen = masked_scores(query, key, mask, scale)
    weights = F.softmax(scores, axis=3)
    if seen is not None:
        weights = F.where(seen, weights, 0.0)
    if dropout.p:
        all_weights = weights
        weights, _ = _drawn(query, key, dropout, lambda *place: dropped(all_weights, dropout.p, *place))
        when_evaluated(weights, lambda x: x, all_weights)
    group = query.shape[2] // value.shape[2]
    if group > 1:
        value = F.repeat_interleave(value, axis=2, repeats=group)
    out = F.matmul(weights, F.permute(value, perm=(0, 2, 1, 3)))
    return F.permute(out, perm=(0, 2, 1, 3)), weights


def visible_pairs(queries: Any, keys: Any, first: Any, like: Tensor) -> Tensor:
    """``[queries, keys]``: whether query i sees key j of causal attention, where query 0 sees keys up to ``first``."""
    last = F.unsqueeze(create_on(like.place, F.iota, first, 1, dt.int64, queries), axes=(1,))
    return F.le(create_on(like.place, F.iota, 0, 1, dt.int64, keys), last)
