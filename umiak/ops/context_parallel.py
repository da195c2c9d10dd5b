"""Attention over a sequence whose tokens lie on the ranks of a group.

The sequence is cut into chunks of equal length; ``chunks``, int64 ``[ranks, chunks per rank]``, says which rank has
which, rising for each rank. Query, key and value are one rank's own tokens, chunk after chunk. ``rows`` is the mask by
columns of the whole sequence, as :mod:`umiak.ops.dot_product_attention` has it; it and ``chunks`` are equal on all
ranks. Keys and values that no query of a rank sees are not sent to it (``umiak/spmd/context_parallel/kernels.py``).
"""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import widen
from umiak.ops.base import Op, param, register
from umiak.ops.dot_product_attention import NEVER, AttentionBase
from umiak.ops.movement import require

# ``ring``: keys of one other rank after the other, while those of the one before are used; ``all_gather``: all of them
# before the first is used.
FORMS = ("ring", "all_gather")


class ContextAttentionBase(AttentionBase):
    """Checks that forward and gradient share."""

    group: str
    form: str
    size: int = param("int")
    samples: ClassVar[Any] = staticmethod(lambda rng: iter(()))

    def bind(self):
        super().bind()
        self.effect = f"group:{self.group}"
        if self.form not in FORMS:
            self.fail(ValueError, f"a form of {FORMS}", repr(self.form))

    def check_parts(self, q, k, v, rows, chunks, size):
        """Refuse operands that are no part of one sequence; shape of the result and dtype."""
        shape, dtype = self.check(q, k, v, None)
        b, tokens, h, _ = q.shape
        require(self, k.shape[1] == tokens, "query, key and value of the same tokens", f"{tokens} and {k.shape[1]}")
        if rows.dtype is not dt.int32 or chunks.dtype is not dt.int64 or len(chunks.shape) != 2:
            got = f"{rows.dtype.name} and {chunks.dtype.name} {tuple(chunks.shape)}"
            self.fail(ValueError, "rows of int32, and chunks of int64, [ranks, chunks per rank]", got)
        ranks, each = chunks.shape
        require(self, ranks == size, f"chunks for each of the {size} ranks of group {self.group!r}", ranks)
        require(self, (each >= 1) & (tokens >= 1), "at least one chunk and token for each rank", (each, tokens))
        cut = f"tokens of a rank that are a multiple of its {each} chunks"
        require(self, tokens % dim.maximum(each, 1) == 0, cut, tokens)
        self.check_hidden(rows, b, h, tokens * size, k.shape[2])
        return shape, dtype


@register
class ContextAttention(ContextAttentionBase):
    """Attention of the rank's queries over the sequence."""

    inputs = ("query", "key", "value", "rows", "chunks")

    def infer(self, q, k, v, rows, chunks, scale, size):
        return Meta(*self.check_parts(q, k, v, rows, chunks, size))

    def forward_train(self, needs, q, k, v, rows, chunks, scale, size):
        out, lse = F.context_attention_train(q, k, v, rows, chunks, **self.attributes, scale=scale, size=size)
        return (out,), (lse,)

    def vjp(self, s, g):
        q, k, v, rows, chunks = s.inputs
        operands = q, k, v, s.outputs[0], s.residuals[0], g, rows, chunks
        gradients = F.context_attention_grad(*operands, **self.attributes, scale=s.params.scale, size=s.params.size)
        return (*gradients, None, None)


@register
class ContextAttentionTrain(ContextAttentionBase):
    """The same, with the log-sum-exp of the scores ``[batch, heads, query]``, in the compute type."""

    inputs = ("query", "key", "value", "rows", "chunks")
    vjp = None

    def infer(self, q, k, v, rows, chunks, scale, size):
        shape, dtype = self.check_parts(q, k, v, rows, chunks, size)
        return Meta(shape, dtype), Meta((shape[0], shape[2], shape[1]), dtype.compute)


@register
class ContextAttentionGrad(ContextAttentionBase):
    """Gradients of :class:`ContextAttention` for query, key and value of the rank's own tokens, of what all ranks
    compute of them."""

    inputs = ("query", "key", "value", "out", "lse", "grad", "rows", "chunks")
    vjp = None

    def infer(self, q, k, v, out, lse, g, rows, chunks, scale, size):
        self.check_parts(q, k, v, rows, chunks, size)
        return tuple(Meta(tuple(m.shape), m.dtype) for m in (q, k, v))


@register
class MergeAttention(Op):
    """Attention over keys of which some gave ``out`` and ``lse``, and others ``more`` and ``more_lse``: the result
    ``[batch, query, heads, dim]`` in the dtype of ``out``, and the log-sum-exp ``[batch, heads, query]``. A query that
    sees none of some keys has -inf there, and 0 where it sees none at all.
    """

    inputs = ("out", "lse", "more", "more_lse")

    def infer(self, out, lse, more, more_lse):
        (b, queries, h, _), metas = out.shape, (lse, more_lse)
        got = f"{tuple(out.shape)}, {tuple(more.shape)}, {tuple(lse.shape)} and {tuple(more_lse.shape)}"
        for m, n in zip(more.shape, out.shape, strict=True):
            require(self, m == n, "results of one shape", got)
        for meta in metas:
            for m, n in zip(meta.shape, (b, h, queries), strict=True):
                require(self, m == n, "a log-sum-exp [batch, heads, query] of each", got)
        return Meta(tuple(out.shape), out.dtype), Meta(tuple(lse.shape), lse.dtype)

    def decompose(self, out, lse, more, more_lse):
        top = F.maximum(lse, more_lse)
        top = F.where(F.eq(top, NEVER), 0, top)
        some, rest = F.exp(F.sub(lse, top)), F.exp(F.sub(more_lse, top))
        total = F.add(some, rest)
        divisor = F.where(F.eq(total, 0), 1, total)

        def share(x: Any, weight: Any) -> Any:
            weight = F.unsqueeze(F.permute(F.div(weight, divisor), perm=(0, 2, 1)), axes=(3,))
            return F.mul(widen(x), weight)

        merged = F.add(share(out, some), share(more, rest))
        return merged if merged.dtype is out.dtype else F.cast(merged, dtype=out.dtype), F.add(top, F.log(total))
