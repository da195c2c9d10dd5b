"""Scaled dot-product attention over ``[batch, sequence, heads, dim]``.

Key and value may have fewer heads than the query: each serves as many consecutive query heads. A mask is boolean (True:
visible) or is added to the scores; it broadcasts to ``[batch, query heads, query, key]``. Or it is of int32, ``[batch,
heads, keys, columns]``, and says for each key which queries do not see it, as half-open intervals (Wang et al.,
FlashMask, 2024): one head for all, one for each key head or one for each query head; see :data:`COLUMNS`. Causal
attention aligns the last query with the last key. A query that sees no key gives zeros. ``Attention`` keeps the
log-sum-exp of the scores for its gradient, never the probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import accept, cast_to, computed, draw, in_compute_type, same_dtype, shard_string, sizes, widen
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import counter
from umiak.ops.movement import require
from umiak.util.errors import OperandError

NEVER = float("-inf")

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
    return F.reshape(F.permute(x, perm=(0, 2, 1, 3)), shape=(b, heads, h // heads * s, d))


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


def hide(s: Any, mask: Any, causal: bool) -> Any:
    """Scores ``[b, h, sq, sk]`` with -inf where a mask of int32 hides a query from a key."""
    b, h, sq, sk = s.shape
    hidden = hidden_queries(mask, sq, causal)
    heads = hidden.shape[1]
    hidden = F.unsqueeze(hidden, axes=(2,))
    return F.reshape(F.where(hidden, NEVER, F.reshape(s, shape=(b, heads, h // heads, sq, sk))), shape=(b, h, sq, sk))


def probabilities(q: Any, k: Any, mask: Any, causal: bool, scale: Any) -> tuple:
    """Softmax of the scores ``[b, h, sq, sk]`` and their log-sum-exp ``[b, h, sq, 1]``."""
    b, sq, h, _ = q.shape
    sk, heads = k.shape[1], k.shape[2]
    s = F.matmul(rows(q, heads), rows(k, heads), transpose_y=True)
    s = F.mul(F.reshape(s, shape=(b, h, sq, sk)), scale)
    if causal:
        last = F.unsqueeze(counter(sq, sk - sq), axes=(1,))
        s = F.where(F.le(counter(sk), last), s, NEVER)
    if mask is not None:
        if mask.dtype.is_integer:
            s = hide(s, mask, causal)
        else:
            s = F.where(mask, s, NEVER) if mask.dtype.is_bool else F.add(s, mask)
    top = F.max(s, axes=(3,), keepdim=True)
    top = F.where(F.eq(top, NEVER), 0, top)
    p = F.exp(F.sub(s, top))
    total = F.sum(p, axes=(3,), keepdim=True)
    return F.div(p, F.where(F.eq(total, 0), 1, total)), F.add(top, F.log(total))


def weighted(p: Any, v: Any) -> Any:
    """``p @ v`` per head, as ``[b, sq, h, d]``."""
    b, h, sq, sk = p.shape
    heads = v.shape[2]
    out = F.matmul(F.reshape(p, shape=(b, heads, h // heads * sq, sk)), rows(v, heads))
    return from_rows(out, sq, h)


class AttentionBase(Op):
    """Checks and factors that forward and gradient share."""

    amp = "allow"
    causal: bool = False
    scale: float = param()

    def check(self, q, k, v, mask):
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
        require(self, (sk >= 1) & (heads >= 1), "at least one key and head", got)
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
        return (b, sq, h, v.shape[3]), dtype

    def check_hidden(self, mask, b, h, sk, heads):
        """Refuse a mask of int32 that does not belong to the other operands."""
        got, counts = tuple(mask.shape), tuple(COLUMNS[self.causal])
        required = f"a mask of int32 of shape [{b}, 1, {heads} or {h}, {sk}, {' or '.join(map(str, counts))}]"
        if len(mask.shape) != 4:
            self.fail(ValueError, required, got)
        m_batch, m_heads, m_keys, n = mask.shape
        fits = ((m_heads == 1) | (m_heads == heads) | (m_heads == h)) & ((m_batch == 1) | (m_batch == b))
        require(self, fits & (m_keys == sk) & ((n == counts[0]) | (n == counts[1])), required, got)

    def pairs(self, q, k):
        """Return the number of scores: of causal attention, those of visible pairs."""
        (batch, queries, heads, _), keys = q.shape, k.shape[1]
        seen = queries * keys
        if self.causal:
            seen = sum(min(max(keys - queries + i + 1, 0), keys) for i in range(queries))
        return batch * heads * seen

    def factors(self, mask):
        """Factors of query, key, value, mask and result.

        Heads are split together, key heads with the query heads they serve.
        """
        of_mask = []
        if mask is not None:
            names = ("b", "h", "t", "c") if mask.dtype.is_integer else ("b", "h", "s", "t")[4 - len(mask.shape) :]
            of_mask = ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(mask.shape, names, strict=True)]
        by_position = self.causal or (mask is not None and mask.dtype.is_integer)
        marks = dict.fromkeys(("t", "d", "s") if by_position else ("t", "d"), "replicated") | {"h": "nonempty"}
        if "c" in of_mask:
            marks["c"] = "replicated"
        return ["b", "s", "h", "d"], ["b", "t", "h", "d"], ["b", "t", "h", "e"], of_mask, ["b", "s", "h", "e"], marks


@register
class Attention(AttentionBase):
    """``softmax(scale * query @ key^T + mask) @ value``."""

    inputs = ("query", "key", "value", "mask?")

    def multiply_adds(self, operands, outs):
        q, k, v = operands[:3]
        return self.pairs(q, k) * (q.shape[3] + v.shape[3])

    def infer(self, q, k, v, mask, scale):
        return Meta(*self.check(q, k, v, mask))

    @in_compute_type
    def decompose(self, q, k, v, mask, scale):
        p, _ = probabilities(q, k, mask, self.causal, scale)
        return weighted(p, v)

    def forward_train(self, needs, q, k, v, mask, scale):
        out, lse = F.attention_train(q, k, v, mask, causal=self.causal, scale=scale)
        return (out,), (lse,)

    def vjp(self, s, g):
        q, k, v, mask = s.inputs
        with_mask = s.needs[3]
        gradients = F.attention_grad(
            q,
            k,
            v,
            s.outputs[0],
            s.residuals[0],
            g,
            mask,
            causal=self.causal,
            with_mask=with_mask,
            scale=s.params.scale,
        )
        return gradients if with_mask else (*gradients, None)

    def shard(self, q, k, v, mask, scale):
        fq, fk, fv, fm, out, marks = self.factors(mask)
        return shard_string([fq, fk, fv, fm], [out], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for q, k, v, mask, causal, note in cases(rng):
            yield Sample((q, k, v, mask), {"causal": causal}, {"scale": 0.7}, note=note)


def cases(rng: Any) -> Iterator[tuple]:
    """Operands, whether causal, and a note."""

    def qkv(b, sq, sk, h, heads, d, e, dtype=dt.float64):
        return draw(rng, (b, sq, h, d), dtype), draw(rng, (b, sk, heads, d), dtype), draw(rng, (b, sk, heads, e), dtype)

    yield *qkv(2, 3, 3, 2, 2, 2, 2), None, False, ""
    yield *qkv(1, 2, 4, 4, 2, 2, 3), None, True, "grouped heads, more keys than queries"
    yield *qkv(2, 3, 2, 2, 1, 2, 2), draw(rng, (3, 2)), False, "a mask that is added"
    yield *qkv(2, 2, 3, 2, 2, 1, 2), draw(rng, (2, 1, 2, 3)), True, "a mask that is added"
    visible = np.array([[True, False, True], [False, False, False]])
    yield *qkv(1, 2, 3, 2, 2, 2, 2), visible, False, "a row that sees nothing"
    yield *qkv(1, 3, 2, 1, 1, 2, 2), None, True, "a row that sees nothing"
    begins = np.array([2, 3, 1], np.int32).reshape(1, 1, 3, 1)
    yield *qkv(2, 3, 3, 2, 1, 2, 2), begins, True, "intervals of queries"
    ends = np.array([[[2, 1], [3, 0], [3, 2]], [[3, 0], [1, 1], [2, 0]]], np.int32)[None]
    yield *qkv(1, 3, 3, 4, 2, 2, 2), ends, False, "intervals of queries, of each key head"
    both = rng.integers(0, 5, (2, 2, 3, 4)).astype(np.int32)
    yield *qkv(2, 4, 3, 2, 1, 2, 3), both, False, "intervals of queries, of each head; a row may see nothing"
    yield *qkv(0, 2, 2, 1, 1, 2, 2), None, False, "0-size"
    yield *qkv(1, 2, 2, 2, 2, 2, 2, dt.bfloat16), None, True, ""
    yield *qkv(1, 2, 2, 2, 2, 2, 2, dt.float32), None, False, ""


@register
class AttentionTrain(AttentionBase):
    """Attention that also gives the log-sum-exp of the scores ``[batch, heads, query]``, in the compute type."""

    inputs = ("query", "key", "value", "mask?")
    multiply_adds = Attention.multiply_adds

    def infer(self, q, k, v, mask, scale):
        shape, dtype = self.check(q, k, v, mask)
        return Meta(shape, dtype), Meta((shape[0], shape[2], shape[1]), dtype.compute)

    def vjp(self, s, g, g_lse):
        q, k, v, mask = s.inputs
        (out, lse), scale, with_mask = s.outputs, s.params.scale, s.needs[3]
        gradients: list[Any] = [None] * 4
        if g is not None:
            attrs = {"causal": self.causal, "with_mask": with_mask, "scale": scale}
            gradients[: 3 + with_mask] = F.attention_grad(q, k, v, out, lse, g, mask, **attrs)
        if g_lse is not None:
            # The gradient of a log-sum-exp by its scores are the weights. Their sums of keys, and of queries, are a
            # result of attention and a gradient of one.
            g_lse = F.unsqueeze(g_lse, axes=(3,))
            weight = F.mul(F.permute(g_lse, perm=(0, 2, 1, 3)), scale)
            seen = F.attention(q, k, k, mask, causal=self.causal, scale=scale)
            g_seen = cast_to(F.mul(widen(q), weight), q.dtype)
            gk = F.attention_grad(q, k, k, seen, lse, g_seen, mask, causal=self.causal, with_mask=False, scale=scale)[2]
            gq = cast_to(F.mul(widen(seen), weight), q.dtype)
            more: list[Any] = [gq, gk, None, None]
            if with_mask:
                p, _ = probabilities(*map(widen, (q, k, mask)), self.causal, scale)
                more[3] = cast_to(F.sum_to(F.mul(p, g_lse), shape=sizes(mask)), mask.dtype)
            gradients = [
                b if a is None else a if b is None else F.add(a, b) for a, b in zip(gradients, more, strict=True)
            ]
        return tuple(gradients)

    def decompose(self, q, k, v, mask, scale):
        dtype = q.dtype
        q, k, v, mask = map(widen, (q, k, v, mask))
        p, lse = probabilities(q, k, mask, self.causal, scale)
        return cast_to(weighted(p, v), dtype), F.squeeze(lse, axes=(3,))

    def shard(self, q, k, v, mask, scale):
        fq, fk, fv, fm, out, marks = self.factors(mask)
        return shard_string([fq, fk, fv, fm], [out, ["b", "h", "s"]], **marks, e="same")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for q, k, v, mask, causal, note in cases(rng):
            # Where a row sees nothing, its log-sum-exp is infinite.
            some = () if "nothing" in note else None
            yield Sample((q, k, v, mask), {"causal": causal}, {"scale": 0.7}, some, note)


@register
class AttentionGrad(AttentionBase):
    """Gradients of attention for query, key, value and, ``with_mask``, an added mask.

    ``out`` and ``lse`` are what :class:`AttentionTrain` gave: with them a kernel finds the probabilities again. The
    decomposition computes them anew from query and key, so that a further derivative misses nothing.
    """

    inputs = ("query", "key", "value", "out", "lse", "grad", "mask?")
    with_mask: bool = False

    def multiply_adds(self, operands, outs):
        q, k, v = operands[:3]
        return self.pairs(q, k) * (3 * q.shape[3] + 2 * v.shape[3])

    def infer(self, q, k, v, out, lse, g, mask, scale):
        self.check(q, k, v, mask)
        metas = (q, k, v, mask) if self.with_mask else (q, k, v)
        return tuple(Meta(tuple(m.shape), m.dtype) for m in metas)

    @in_compute_type
    def decompose(self, q, k, v, out, lse, g, mask, scale):
        (b, sq, h, _), (_, sk, heads, _) = q.shape, k.shape
        p, _ = probabilities(q, k, mask, self.causal, scale)
        grads = rows(g, heads)
        gp = F.reshape(F.matmul(grads, rows(v, heads), transpose_y=True), shape=(b, h, sq, sk))
        gs = F.mul(p, F.sub(gp, F.sum(F.mul(p, gp), axes=(3,), keepdim=True)))
        flat = (b, heads, h // heads * sq, sk)
        scaled = F.reshape(F.mul(gs, scale), shape=flat)
        gq = from_rows(F.matmul(scaled, rows(k, heads)), sq, h)
        gk = from_rows(F.matmul(scaled, rows(q, heads), transpose_x=True), sk, heads)
        gv = from_rows(F.matmul(F.reshape(p, shape=flat), grads, transpose_x=True), sk, heads)
        return (gq, gk, gv, F.sum_to(gs, shape=sizes(mask))) if self.with_mask else (gq, gk, gv)

    def shard(self, q, k, v, out, lse, g, mask, scale):
        fq, fk, fv, fm, fo, marks = self.factors(mask)
        results = [fq, fk, fv, fm] if self.with_mask else [fq, fk, fv]
        # Parts of queries, of values, and of what the mask is broadcast to, add up.
        marks |= {f: "sum" for f in "bse" if f not in marks and any(f not in r for r in results)}
        marks["h"] = "nonempty" if all("h" in r for r in results) else "sum,nonempty"
        return shard_string([fq, fk, fv, fo, ["b", "h", "s"], fo, fm], results, **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for q, k, v, mask, causal, note in cases(rng):
            out, lse = computed(F.attention_train, q, k, v, mask, causal=causal, scale=0.7)
            attrs = {"causal": causal, "with_mask": mask is not None and mask.dtype.kind not in "bi"}
            g = draw(rng, out.shape, dt.convert(q.dtype))
            # Only grad may change alone: out and lse belong to the other operands.
            yield Sample((q, k, v, out, lse, g, mask), attrs, {"scale": 0.7}, (5,), note)
