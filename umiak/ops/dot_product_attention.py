"""Scaled dot-product attention over ``[batch, sequence, heads, dim]``.

Key and value may have fewer heads than the query: each serves as many consecutive query heads. A mask is boolean (True:
visible) or is added to the scores; it broadcasts to ``[batch, query heads, query, key]``. Or it is of int32, ``[batch,
heads, keys, columns]``, and says for each key which queries do not see it, as half-open intervals (Wang et al.,
FlashMask, 2024): one head for all, one for each key head or one for each query head; see :data:`COLUMNS`. Beside such a
mask, ``blocks`` of int32, ``[batch, heads, query blocks, key blocks]``, hides where it is 0 a block of :data:`BLOCK`
queries from a block of as many keys. Causal attention aligns the last query with the last key. A query that sees no key
gives zeros. ``Attention`` keeps the log-sum-exp of the scores for its gradient, never the probabilities.

With ``dropout``, weights are dropped with probability ``p`` and the others divided by ``1 - p``; the log-sum-exp is
that of all. Which, the stream of ``seed`` says (:mod:`umiak.ops.random`). The weight of a head's query and key is kept
by word ``((batch * heads + head) * queries + query) * n + key`` from ``offset`` on, rounded down to a multiple of 4,
where ``n`` is the number of keys, rounded up to one; :func:`dropout_words` is the number of words in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    cast_to,
    computed,
    draw,
    in_compute_type,
    same_dtype,
    shard_string,
    sizes,
    widen,
    zeros,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import counter
from umiak.ops.movement import require
from umiak.ops.random import uniforms
from umiak.util.errors import OperandError

NEVER = float("-inf")
BLOCK = 128  # queries and keys of a block of a mask by blocks
WORDS = 4  # of the random stream, drawn together: those of a query's keys begin at a multiple

# What the columns of a mask of int32 say, by whether attention is causal and how many they are. Hidden from a key are
# queries from ``begin`` to ``end`` (to the last where there is no such column) and from ``second_begin`` (the first) to
# ``second_end``.
COLUMNS = {
    True: {1: ("begin",), 2: ("begin", "end")},
    False: {2: ("begin", "second_end"), 4: ("begin", "end", "second_begin", "second_end")},
}


# --- the formula ---------------------------------------------------------------------------------------------------


def rows(x: Any, heads: Any) -> Any:
    """``[b, s, h, d]`` as ``[b, heads, rows, d]``: the rows of all query heads that share a key head stand below each
    other.
    """
    b, s, h, d = x.shape
    return F.reshape(F.permute(x, perm=(0, 2, 1, 3)), shape=(b, heads, h // dim.maximum(heads, 1) * s, d))


def from_rows(x: Any, s: Any, h: Any) -> Any:
    """Inverse of :func:`rows`."""
    return F.permute(F.reshape(x, shape=(x.shape[0], h, s, x.shape[3])), perm=(0, 2, 1, 3))


def hidden_queries(mask: Any, queries: Any, causal: bool) -> Any:
    """``[batch, heads, queries, keys]``: which queries a mask of int32 hides from which keys."""
    query = F.unsqueeze(counter(queries), axes=(1,))
    count = mask.shape[3]  # may be symbolic: a column that is not there is one that bounds no query
    fewest = min(COLUMNS[causal])

    def column(i: Any) -> Any:
        one = F.slice(mask, axes=(3,), starts=(i,), sizes=(1,), steps=(1,))
        return F.permute(F.cast(one, dtype=query.dtype), perm=(0, 1, 3, 2))

    def within(begin: Any, end: Any) -> Any:
        return F.logical_and(F.ge(query, begin), F.lt(query, end))

    end = F.maximum(column(dim.minimum(1, count - 1)), dim.where(count == fewest, queries, 0))
    hidden = within(column(0), end)
    if causal:
        return hidden
    second_begin = F.minimum(column(dim.minimum(2, count - 1)), dim.where(count == fewest, 0, queries))
    return F.logical_or(hidden, within(second_begin, column(count - 1)))


def hidden_blocks(blocks: Any, queries: Any, keys: Any) -> Any:
    """``[batch, heads, queries, keys]``: which queries a mask by blocks hides from which keys."""
    for axis, n in ((2, queries), (3, keys)):
        blocks = F.take(blocks, F.floor_div(counter(n), BLOCK), axis=axis)
    return F.eq(blocks, 0)


def dropout_words(batch: Any, heads: Any, queries: Any, keys: Any) -> Any:
    """Return the number of words of the random stream that a call with dropout takes."""
    return batch * heads * queries * _rounded(keys)


def _rounded(keys: Any) -> Any:
    return (keys + (WORDS - 1)) // WORDS * WORDS


def kept(shape: Any, p: Any, seed: Any, offset: Any) -> Any:
    """Return which of the weights ``[b, h, sq, sk]`` are kept."""
    b, h, sq, sk = shape
    (u,) = uniforms((b, h, sq, _rounded(sk)), 1, seed, offset // WORDS * WORDS, dt.float32)
    return F.ge(F.slice(u, axes=(3,), starts=(0,), sizes=(sk,), steps=(1,)), p)


def dropped(x: Any, p: Any, seed: Any, offset: Any) -> Any:
    """Weights, or their gradient, with some of them dropped."""
    # With p == 1 nothing is kept; the divisor must not be 0 all the same, or derivatives of the rest are 0/0.
    return F.where(kept(x.shape, p, seed, offset), F.div(x, dim.maximum(1.0 - p, 1e-12)), 0)


def hide(s: Any, mask: Any, blocks: Any, causal: bool) -> Any:
    """Scores ``[b, h, sq, sk]`` with -inf where a mask of int32, or one by blocks, hides a query from a key."""
    b, h, sq, sk = s.shape
    hidden = hidden_queries(_for_heads(mask, b, h), sq, causal)
    if blocks is not None:
        hidden = F.logical_or(hidden, hidden_blocks(_for_heads(blocks, b, h), sq, sk))
    return F.where(hidden, NEVER, s)


def _for_heads(x: Any, batch: Any, heads: Any) -> Any:
    """A mask of int32 for all batch entries and query heads, but for dims that are 1 whatever runs."""
    own = x.shape[1]
    if not dim.same(own, 1) and not dim.same(own, heads):
        one = F.unsqueeze(x, axes=(2,))
        wide = F.broadcast_to(one, shape=(x.shape[0], own, heads // own, *x.shape[2:]))
        x = F.reshape(wide, shape=(x.shape[0], heads, *x.shape[2:]))
    if not dim.same(x.shape[0], 1) and not dim.same(x.shape[0], batch):
        x = F.broadcast_to(x, shape=(batch, *x.shape[1:]))
    return x


def scored(q: Any, k: Any, scale: Any) -> Any:
    """Scores ``[b, h, sq, sk]``."""
    (b, sq, h, _), (_, sk, heads, _) = q.shape, k.shape
    s = F.matmul(rows(q, heads), rows(k, heads), transpose_y=True)
    return F.mul(F.reshape(s, shape=(b, h, sq, sk)), scale)


def probabilities(q: Any, k: Any, mask: Any, blocks: Any, causal: bool, scale: Any, softcap: float = 0.0) -> tuple:
    """Softmax of the scores ``[b, h, sq, sk]``, their maxima (0 for minus infinity) and the sums of exponentials."""
    sq, sk = q.shape[1], k.shape[1]
    s = scored(q, k, scale)
    if softcap:
        s = F.mul(F.tanh(F.div(s, softcap)), softcap)
    if causal:
        last = F.unsqueeze(counter(sq, sk - sq), axes=(1,))
        s = F.where(F.le(counter(sk), last), s, NEVER)
    if mask is not None:
        if mask.dtype.is_integer:
            s = hide(s, mask, blocks, causal)
        else:
            s = F.where(mask, s, NEVER) if mask.dtype.is_bool else F.add(s, mask)
    top = F.max(s, axes=(3,), keepdim=True, empty=True)
    top = F.where(F.eq(top, NEVER), 0, top)
    p = F.exp(F.sub(s, top))
    total = F.sum(p, axes=(3,), keepdim=True)
    return F.div(p, F.where(F.eq(total, 0), 1, total)), top, total


def weighted(p: Any, v: Any) -> Any:
    """``p @ v`` per head, as ``[b, sq, h, d]``."""
    b, h, sq, sk = p.shape
    heads = v.shape[2]
    out = F.matmul(F.reshape(p, shape=(b, heads, h // dim.maximum(heads, 1) * sq, sk)), rows(v, heads))
    return from_rows(out, sq, h)


class AttentionBase(Op):
    """Checks and factors that forward and gradient share."""

    amp = "allow"
    causal: bool = False
    scale: float = param()

    def check(self, q, k, v, mask, blocks=None):
        """Refuse operands that do not belong together; shape of the result and dtype."""
        accept(self, "f", q, k, v)
        dtype = same_dtype(self, q, k, v)
        got = ", ".join(str(tuple(m.shape)) for m in (q, k, v))
        if not len(q.shape) == len(k.shape) == len(v.shape) == 4:
            self.fail(ValueError, "query, key and value of rank 4, [batch, sequence, heads, dim]", got)
        b, sq, h, d = q.shape
        sk, heads = k.shape[1], k.shape[2]
        require(self, (k.shape[0] == b) & (v.shape[0] == b), "one batch size", got)
        require(
            self, (v.shape[1] == sk) & (v.shape[2] == heads), "key and value of one length and number of heads", got
        )
        require(self, k.shape[3] == d, "query and key of one dim", got)
        require(self, (heads >= 1) | (h == 0), "a key head at least for query heads", got)
        require(self, h % dim.maximum(heads, 1) == 0, "query heads that are a multiple of key heads", got)
        if mask is not None and mask.dtype is dt.int32:
            self.check_hidden(mask, b, h, sk, heads)
        elif mask is not None:
            if not (mask.dtype.is_bool or mask.dtype is dtype):
                self.fail(OperandError, f"a mask of bool, int32 or {dtype.name}", mask.dtype.name)
            full = (b, h, sq, sk)
            if len(mask.shape) > 4:
                self.fail(ValueError, f"a mask that broadcasts to {full}", tuple(mask.shape))
            for m, n in zip(mask.shape, full[4 - len(mask.shape) :], strict=True):
                require(self, (m == 1) | (m == n), f"a mask that broadcasts to {full}", tuple(mask.shape))
        if blocks is not None:
            self.check_blocks(mask, blocks, sq, sk)
        return (b, sq, h, v.shape[3]), dtype

    def check_hidden(self, mask, b, h, sk, heads):
        """Refuse a mask of int32 that does not belong to the other operands."""
        got, counts = tuple(mask.shape), tuple(COLUMNS[self.causal])
        each, columns = f"1 or {h}" if dim.same(heads, h) else f"1, {heads} or {h}", " or ".join(map(str, counts))
        required = f"a mask of int32 of shape [batch {b}, heads {each}, keys {sk}, columns {columns}]"
        if len(mask.shape) != 4:
            self.fail(ValueError, required, got)
        m_batch, m_heads, m_keys, n = mask.shape
        fits = ((m_heads == 1) | (m_heads == heads) | (m_heads == h)) & ((m_batch == 1) | (m_batch == b))
        require(self, fits & (m_keys == sk) & ((n == counts[0]) | (n == counts[1])), required, got)

    def check_blocks(self, mask, blocks, sq, sk):
        """Refuse a mask by blocks that does not belong to the mask of int32."""
        if mask is None or mask.dtype is not dt.int32:
            self.fail(ValueError, "a mask of int32 beside one by blocks", None if mask is None else mask.dtype.name)
        if blocks.dtype is not dt.int32:
            self.fail(OperandError, "a mask by blocks of int32", blocks.dtype.name)
        shape = (*mask.shape[:2], *((n + (BLOCK - 1)) // BLOCK for n in (sq, sk)))
        got = tuple(blocks.shape)
        required = f"a mask by blocks of shape {list(shape)}, of {BLOCK} queries by {BLOCK} keys each"
        if len(got) != 4:
            self.fail(ValueError, required, got)
        same = [m == n for m, n in zip(got, shape, strict=True)]
        require(self, same[0] & same[1] & same[2] & same[3], required, got)

    def pairs(self, q, k):
        """Return the number of scores: of causal attention, those of visible pairs."""
        (batch, queries, heads, _), keys = q.shape, k.shape[1]
        seen = queries * keys
        if self.causal:
            seen = sum(min(max(keys - queries + i + 1, 0), keys) for i in range(queries))
        return batch * heads * seen

    def products(self, operands, outs):
        """Return the products of a forward call."""
        q, k, v = operands[:3]
        return self.pairs(q, k) * (q.shape[3] + v.shape[3])

    def gradients(self, s, mask, out, lse, g, g_lse=None, blocks=None, dropout=(), softcap=0.0):
        """Gradients of query, key, value and mask, from those of the result and of the log-sum-exp.

        ``dropout``: p, seed and offset, if there is any.
        """
        q, k, v = s.inputs[:3]
        with_mask = s.needs[3] and mask.dtype.is_floating
        attrs = (self.causal, bool(dropout), with_mask, softcap)
        results = F.attention_grad(q, k, v, out, lse, g, mask, blocks, g_lse, *attrs, s.params.scale, *dropout)
        return results if with_mask else (*results, None)

    def factors(self, mask, blocks=None, dropout=False):
        """Factors of query, key, value and masks, of the result, and what they are marked with.

        Heads are split together, key heads with the query heads they serve. With dropout only batches are split, whose
        words of the random stream follow each other.
        """
        of_mask: list[str] = []
        of_blocks: list[str] = []
        if mask is not None:
            names = ("b", "h", "t", "c") if mask.dtype.is_integer else ("b", "h", "s", "t")[4 - len(mask.shape) :]
            of_mask = _factors(mask, names)
        if blocks is not None:
            of_blocks = _factors(blocks, ("b", "h", "x", "y"))
        by_position = self.causal or dropout or (mask is not None and mask.dtype.is_integer)
        marks = dict.fromkeys(("t", "d", "s") if by_position else ("t", "d"), "replicated")
        marks["h"] = "replicated" if dropout else "nonempty"
        marks |= {f: "replicated" for f in "cxy" if f in of_mask or f in of_blocks}
        operands = (["b", "s", "h", "d"], ["b", "t", "h", "d"], ["b", "t", "h", "e"], of_mask, of_blocks)
        return operands, ["b", "s", "h", "e"], marks


def _factors(m: Any, names: Any) -> list[str]:
    return ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(m.shape, names, strict=True)]


@register
class Attention(AttentionBase):
    """``softmax(scale * query @ key^T + mask) @ value``."""

    inputs = ("query", "key", "value", "mask?")
    multiply_adds = AttentionBase.products

    def infer(self, q, k, v, mask, scale):
        return Meta(*self.check(q, k, v, mask))

    @in_compute_type
    def decompose(self, q, k, v, mask, scale):
        p, _, _ = probabilities(q, k, mask, None, self.causal, scale)
        return weighted(p, v)

    def forward_train(self, needs, q, k, v, mask, scale):
        out, lse = F.attention_train(q, k, v, mask, causal=self.causal, scale=scale)
        return (out,), (lse,)

    def vjp(self, s, g):
        return self.gradients(s, s.inputs[3], s.outputs[0], s.residuals[0], g)

    def shard(self, q, k, v, mask, scale):
        operands, out, marks = self.factors(mask)
        return shard_string(operands[:4], [out], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for (*operands, blocks), attrs, params, note in cases(rng):
            if blocks is None and not attrs.keys() & {"dropout", "softcap"}:
                yield Sample(tuple(operands), attrs, params, note=note)


def cases(rng: Any) -> Iterator[tuple]:
    """Operands, attributes, params, and a note."""

    def qkv(b, sq, sk, h, heads, d, e, dtype=dt.float64):
        return draw(rng, (b, sq, h, d), dtype), draw(rng, (b, sk, heads, d), dtype), draw(rng, (b, sk, heads, e), dtype)

    def case(operands, mask, causal, note="", blocks=None, **dropout):
        attrs = {"causal": causal} | ({"dropout": True} if dropout else {})
        return (*operands, mask, blocks), attrs, {"scale": 0.7, **dropout}, note

    def capped(*given, **more):
        operands, attrs, params, note = case(*given, **more)
        return operands, attrs | {"softcap": 0.5}, params, note

    yield case(qkv(2, 3, 3, 2, 2, 2, 2), None, False)
    yield case(qkv(1, 2, 4, 4, 2, 2, 3), None, True, "grouped heads, more keys than queries")
    yield case(qkv(2, 3, 2, 2, 1, 2, 2), draw(rng, (3, 2)), False, "a mask that is added")
    yield case(qkv(2, 2, 3, 2, 2, 1, 2), draw(rng, (2, 1, 2, 3)), True, "a mask that is added")
    visible = np.array([[True, False, True], [False, False, False]])
    yield case(qkv(1, 2, 3, 2, 2, 2, 2), visible, False, "a row that sees nothing")
    yield case(qkv(1, 3, 2, 1, 1, 2, 2), None, True, "a row that sees nothing")
    begins = np.array([2, 3, 1], np.int32).reshape(1, 1, 3, 1)
    yield case(qkv(2, 3, 3, 2, 1, 2, 2), begins, True, "intervals of queries")
    ends = np.array([[[2, 1], [3, 0], [3, 2]], [[3, 0], [1, 1], [2, 0]]], np.int32)[None]
    yield case(qkv(1, 3, 3, 4, 2, 2, 2), ends, False, "intervals of queries, of each key head")
    both = rng.integers(0, 5, (2, 2, 3, 4)).astype(np.int32)
    yield case(qkv(2, 4, 3, 2, 1, 2, 3), both, False, "intervals of queries, of each head; a row may see nothing")
    ends = np.array([[129, 0], [129, 1]], np.int32)[None, None]
    kept_blocks = np.array([[[[1], [0]]]], np.int32)
    yield case(qkv(1, 129, 2, 1, 1, 1, 1), ends, False, "a block is hidden; a row sees nothing", kept_blocks)
    yield case(qkv(2, 3, 5, 2, 1, 2, 2), None, True, "dropout", p=0.4, seed=11, offset=6)
    yield case(qkv(1, 3, 3, 2, 2, 2, 2), begins, True, "dropout", p=0.4, seed=-3, offset=2**34)
    yield case(qkv(1, 3, 3, 1, 1, 2, 2), draw(rng, (3, 3)), False, "everything is dropped", p=1.0, seed=1, offset=0)
    yield capped(qkv(2, 3, 4, 2, 1, 2, 3), None, True, "capped scores")
    yield capped(qkv(1, 3, 3, 4, 2, 2, 2), begins, True, "capped scores, dropout", p=0.4, seed=5, offset=0)
    yield case(qkv(0, 2, 2, 1, 1, 2, 2), None, False, "0-size")
    yield case(qkv(1, 2, 2, 2, 2, 2, 2, dt.bfloat16), None, True)
    yield case(qkv(1, 2, 2, 2, 2, 2, 2, dt.float32), None, False)


class DroppingAttention(AttentionBase):
    """Common parts of calls with dropout, masks by blocks and capped scores."""

    dropout: bool = False
    p: float = param(default=0.0)
    seed: int = param("int", 0)
    offset: int = param("int", 0)

    def check_softcap(self, softcap, mask):
        """Refuse a number that caps nothing, and masks that would be added to capped scores."""
        if not 0.0 <= softcap < math.inf:
            self.fail(ValueError, "a softcap of 0 or more", softcap)
        if softcap and mask is not None and mask.dtype.is_floating:
            self.fail(OperandError, "a mask of bool or int32 where scores are capped", mask.dtype.name)

    def on_shard(self, shard, *args):
        operands, (scale, p, seed, offset) = args[: len(self.inputs)], args[len(self.inputs) :]
        if self.dropout:
            (_, queries, heads, _), keys = operands[0].shape, operands[1].shape[1]
            before = dropout_words(shard.results[0].starts[0], heads, queries, keys)
            offset = offset // WORDS * WORDS + before
        return getattr(F, self.name)(*operands, **self.attributes, scale=scale, p=p, seed=seed, offset=offset)


@register
class AttentionTrain(DroppingAttention):
    """Attention that also gives the log-sum-exp of the scores ``[batch, heads, query]``, in the compute type.

    With a ``softcap``, scores become ``softcap * tanh(score / softcap)`` before they are masked.
    """

    inputs = ("query", "key", "value", "mask?", "blocks?")
    softcap: float = 0.0
    multiply_adds = AttentionBase.products

    def infer(self, q, k, v, mask, blocks, *params):
        shape, dtype = self.check(q, k, v, mask, blocks)
        self.check_softcap(self.softcap, mask)
        return Meta(shape, dtype), Meta((shape[0], shape[2], shape[1]), dtype.compute)

    def vjp(self, s, g, g_lse):
        (out, lse), (_, *dropout) = s.outputs, s.params
        g = zeros(out) if g is None else g
        mask, blocks = s.inputs[3:]
        dropout = dropout if self.dropout else ()
        return (*self.gradients(s, mask, out, lse, g, g_lse, blocks, dropout, self.softcap), None)

    def decompose(self, q, k, v, mask, blocks, scale, p, seed, offset):
        dtype = q.dtype
        q, k, v, mask = map(widen, (q, k, v, mask))
        weights, top, total = probabilities(q, k, mask, blocks, self.causal, scale, self.softcap)
        lse = F.add(top, F.log(total))
        weights = dropped(weights, p, seed, offset) if self.dropout else weights
        return cast_to(weighted(weights, v), dtype), F.squeeze(lse, axes=(3,))

    def shard(self, q, k, v, mask, blocks, *params):
        operands, out, marks = self.factors(mask, blocks, self.dropout)
        return shard_string(operands, [out, ["b", "h", "s"]], **marks, e="same")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for operands, attrs, params, note in cases(rng):
            # Where a row sees nothing, its log-sum-exp is infinite.
            yield Sample(operands, attrs, params, () if "nothing" in note else None, note)


@register
class AttentionGrad(DroppingAttention):
    """Gradients of attention for query, key, value and, ``with_mask``, an added mask.

    ``out`` and ``lse`` are what :class:`AttentionTrain` gave: with them a kernel finds the probabilities again. The
    decomposition computes them anew from query and key, so that a further derivative misses nothing. ``grad_lse`` is
    the gradient of ``lse``.
    """

    inputs = ("query", "key", "value", "out", "lse", "grad", "mask?", "blocks?", "grad_lse?")
    with_mask: bool = False
    softcap: float = 0.0

    def multiply_adds(self, operands, outs):
        q, k, v = operands[:3]
        return self.pairs(q, k) * (3 * q.shape[3] + 2 * v.shape[3])

    def infer(self, q, k, v, out, lse, g, mask, blocks, g_lse, *params):
        shape, _ = self.check(q, k, v, mask, blocks)
        self.check_softcap(self.softcap, mask)
        rows = (shape[0], shape[2], shape[1])
        for m, wanted in ((out, shape), (lse, rows), (g, shape), (g_lse, rows)):
            if m is not None:
                accept(self, "f", m)
                required, got = f"operands of shapes {shape} and {rows}", tuple(m.shape)
                if len(got) != len(wanted):
                    self.fail(ValueError, required, got)
                for a, b in zip(got, wanted, strict=True):
                    require(self, a == b, required, got)
        metas = (q, k, v, mask) if self.with_mask else (q, k, v)
        return tuple(Meta(tuple(m.shape), m.dtype) for m in metas)

    @in_compute_type
    def decompose(self, q, k, v, out, lse, g, mask, blocks, g_lse, scale, p, seed, offset):
        (b, sq, h, _), (_, sk, heads, _) = q.shape, k.shape
        weights, _, _ = probabilities(q, k, mask, blocks, self.causal, scale, self.softcap)
        grads = rows(g, heads)
        gp = F.reshape(F.matmul(grads, rows(v, heads), transpose_y=True), shape=(b, h, sq, sk))
        gp = dropped(gp, p, seed, offset) if self.dropout else gp
        moved = F.sum(F.mul(weights, gp), axes=(3,), keepdim=True)
        # The gradient of a log-sum-exp by its scores are the weights.
        moved = moved if g_lse is None else F.sub(moved, F.unsqueeze(g_lse, axes=(3,)))
        gs = F.mul(weights, F.sub(gp, moved))
        if self.softcap:
            bent = F.tanh(F.div(scored(q, k, scale), self.softcap))
            gs = F.mul(gs, F.sub(1.0, F.mul(bent, bent)))
        weights = dropped(weights, p, seed, offset) if self.dropout else weights
        flat = (b, heads, h // dim.maximum(heads, 1) * sq, sk)
        scaled = F.reshape(F.mul(gs, scale), shape=flat)
        gq = from_rows(F.matmul(scaled, rows(k, heads)), sq, h)
        gk = from_rows(F.matmul(scaled, rows(q, heads), transpose_x=True), sk, heads)
        gv = from_rows(F.matmul(F.reshape(weights, shape=flat), grads, transpose_x=True), sk, heads)
        return (gq, gk, gv, F.sum_to(gs, shape=sizes(mask))) if self.with_mask else (gq, gk, gv)

    def shard(self, q, k, v, out, lse, g, mask, blocks, g_lse, *params):
        (fq, fk, fv, fm, fb), fo, marks = self.factors(mask, blocks, self.dropout)
        results = [fq, fk, fv, fm] if self.with_mask else [fq, fk, fv]
        # Parts of queries, of values, and of what the mask is broadcast to, add up.
        marks |= {f: "sum" for f in "bse" if f not in marks and any(f not in r for r in results)}
        if not self.dropout:
            marks["h"] = "nonempty" if all("h" in r for r in results) else "sum,nonempty"
        of_lse = ["b", "h", "s"]
        if g_lse is not None:  # counts once, not in each part of the values' dim
            marks["e"] = "replicated"
        return shard_string([fq, fk, fv, fo, of_lse, fo, fm, fb, [] if g_lse is None else of_lse], results, **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for i, (operands, attrs, params, note) in enumerate(cases(rng)):
            (q, k, v, mask, blocks), words = operands, attrs | params
            out, lse = computed(F.attention_train, *operands, **words)
            with_mask = mask is not None and mask.dtype.kind not in "bi"
            g = draw(rng, out.shape, dt.convert(q.dtype))
            more: tuple = ()
            if i % 2:
                seen = np.isfinite(lse)
                more = (np.where(seen, draw(rng, lse.shape, dt.convert(lse.dtype)), 0).astype(lse.dtype),)
            # Only the gradients may change alone: out and lse belong to the other operands.
            alone = (5, 8) if more else (5,)
            yield Sample(
                (q, k, v, out, lse, g, mask, blocks, *(more or (None,))),
                attrs | {"with_mask": with_mask},
                params,
                alone,
                note,
            )
