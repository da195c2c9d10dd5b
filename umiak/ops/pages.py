"""Attention over keys and values that lie in pages, and writing to these.

A cache is ``[pages, key heads, page size, dim]``, one for keys and one for values; pages may have several dims.
Row b of ``tables``, ``[batch, pages
of a sequence]``, says in which pages sequence b lies, in order: its position p is row ``p % page size`` of page
``tables[b, p // page size]``. Entries beyond a sequence's end are not looked at. A call brings new tokens of several
sequences, packed one sequence after the other: ``counts[b]`` of them, at the positions from ``before[b]`` on (Kwon et
al., Efficient Memory Management for Large Language Model Serving with PagedAttention, 2023).
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
from umiak.ops._common import accept, cast_to, draw, is_tensor, same_dtype, shard_string, sizes, widen
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.dot_product_attention import NEVER
from umiak.ops.index import counter
from umiak.ops.movement import require
from umiak.util.errors import OperandError

ZERO = 128  # what a page of uint8 has for the number 0


def places(counts: Any, before: Any, tokens: Any) -> tuple[Any, Any, Any]:
    """Of each of ``tokens`` packed tokens: its sequence, its number among the sequence's new ones, its position."""
    counts, before = cast_to(counts, dt.int64), cast_to(before, dt.int64)
    ends, token = F.cumsum(counts, axis=0), counter(tokens)
    sequence = F.minimum(F.search_sorted(ends, token, right=True), counts.shape[0] - 1)
    within = F.sub(token, F.take(F.sub(ends, counts), sequence, axis=0))
    return sequence, within, F.add(within, F.take(before, sequence, axis=0))


def listed(pages: Any) -> Any:
    """Pages in one list: ``[pages, heads, page size, dim]``."""
    shape = sizes(pages)
    return pages if len(shape) == 4 else F.reshape(pages, shape=(math.prod(shape[:-3]), *shape[-3:]))


def page_factors(pages: Any, last: str) -> list[str]:
    """Factors of pages; only heads and the last dim may be sharded."""
    return [*["1"] * (len(pages.shape) - 3), "h", "1", last]


class Paged(Op):
    """Checks that writing and attention share."""

    amp = "keep"
    abstract = True

    def check_pages(self, pages: Any, tables: Any, counts: Any, before: Any) -> None:
        """Refuse pages, tables and lengths that do not belong together."""
        if len(pages.shape) < 4:
            self.fail(ValueError, "pages of shape [..., heads, page size, dim]", tuple(pages.shape))
        fits = (pages.shape[-3] >= 1) & (pages.shape[-2] >= 1)
        require(self, fits, "pages of at least one head and row", tuple(pages.shape))
        for name, m, rank in (("tables", tables, 2), ("counts", counts, 1), ("before", before, 1)):
            if m.dtype not in (dt.int32, dt.int64):
                self.fail(OperandError, f"{name} of int32 or int64", "a number" if m.dtype is None else m.dtype.name)
            if len(m.shape) != rank:
                wanted = "[batch, pages of a sequence]" if rank == 2 else "[batch]"
                self.fail(ValueError, f"{name} of shape {wanted}", tuple(m.shape))
        b, got = tables.shape[0], ", ".join(str(tuple(m.shape)) for m in (tables, counts, before))
        require(self, dim.eq(counts.shape[0], b) & dim.eq(before.shape[0], b), "one batch size", got)
        require(self, b >= 1, "at least one sequence", got)


@register
class WritePages(Paged):
    """Pages with the ``rows`` of new tokens, ``[tokens, heads, dim]``, written where ``tables`` say.

    A page that is written to belongs to one sequence alone, and comes once in its table. The result may take the memory
    of the pages: then the new rows are all that is written.
    """

    inputs = ("pages", "rows", "tables", "counts", "before")
    packed = True
    overwritable = 1

    def infer(self, pages, rows, tables, counts, before):
        self.check_pages(pages, tables, counts, before)
        same_dtype(self, pages, rows)
        got = f"{tuple(pages.shape)} and {tuple(rows.shape)}"
        if len(rows.shape) != 3:
            self.fail(ValueError, "rows of rank 3, [tokens, heads, dim]", tuple(rows.shape))
        fits = dim.eq(rows.shape[1], pages.shape[-3]) & dim.eq(rows.shape[2], pages.shape[-1])
        require(self, fits, "rows of the heads and dim of the pages", got)
        return Meta(tuple(pages.shape), pages.dtype)

    def decompose(self, pages, rows, tables, counts, before):
        sequence, _, position = places(counts, before, rows.shape[0])
        page = F.index_get(tables, [sequence, F.floor_div(position, pages.shape[-2])])
        row = F.remainder(position, pages.shape[-2])
        new = F.index_put(listed(pages), rows, [page, row], axes=(0, 2))
        return F.reshape(new, shape=sizes(pages))

    def shard(self, pages, rows, tables, counts, before):
        marks = dict.fromkeys("tbm", "replicated")
        pages = page_factors(pages, "d")
        return shard_string([pages, ["t", "h", "d"], ["b", "m"], ["b"], ["b"]], [pages], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for pages, _, tables, counts, before, note in cases(rng):
            rows = draw(rng, (int(counts.sum()), *pages.shape[1::2]), dt.convert(pages.dtype))
            yield Sample((pages, rows, tables, counts, before), note=note)
        yield Sample(
            (
                draw(rng, (2, 2, 1, 3, 2)),
                draw(rng, (2, 1, 2)),
                np.array([[3], [0]]),
                np.ones(2, np.int32),
                np.arange(2),
            ),
            note="pages in two dims",
        )
        none = np.zeros(2, np.int32)
        for type in (dt.bfloat16, dt.uint8):
            pages, rows = draw(rng, (3, 1, 2, 2), type, 0, 99), draw(rng, (3, 1, 2), type, 0, 99)
            yield Sample((pages, rows, np.array([[0, 2], [1, -1]]), np.array([1, 2]), none))


def cases(rng: Any) -> Iterator[tuple]:
    """Pages of keys and of values, tables, counts, positions before, and a note."""

    def pages(n, heads, size, d, e, dtype=dt.float64):
        return draw(rng, (n, heads, size, d), dtype, 0, 2), draw(rng, (n, heads, size, e), dtype, 0, 2)

    def ints(*numbers, dtype=np.int32):
        return np.array(numbers, dtype)

    yield *pages(5, 2, 2, 3, 3), ints([4, 0, -1], [1, 3, 2]), ints(3, 1), ints(0, 4), "prompts and single tokens"
    yield *pages(4, 1, 3, 2, 1), ints([2, 1, 7]), ints(2), ints(2), "more queries than one, after others"
    yield *pages(3, 1, 2, 2, 2), ints([0], [9], [2], dtype=np.int64), ints(1, 0, 2), ints(1, 0, 0), "one that rests"
    yield *pages(3, 2, 2, 2, 2, dt.float32), ints([1], [2]), ints(1, 1), ints(0, 1), ""
    yield *pages(2, 1, 2, 2, 2), ints([0], [1]), ints(0, 0), ints(0, 1), "0-size"


@register
class PagedAttention(Paged):
    """``softmax(scale * query @ key^T + mask) @ value`` of packed tokens ``[tokens, heads, dim]`` over pages.

    Sequence b has the keys at positions below ``before[b] + counts[b]``; with ``causal`` a token sees those up to its
    own position. ``mask``, ``[batch or 1, heads or 1, new tokens of a sequence or 1, positions]``, is added to the
    scores; it has at least as many rows and positions as a sequence of the call. Pages of uint8 hold ``(x - 128) *
    scale``, with scales ``[batch or 1, key heads]`` of float32.
    """

    inputs = (
        "query",
        "key_pages",
        "value_pages",
        "tables",
        "counts",
        "before",
        "mask?",
        "key_scale?",
        "value_scale?",
    )
    causal: bool = True
    scale: float = param()

    def infer(self, q, key_pages, value_pages, tables, counts, before, mask, key_scale, value_scale, scale):
        for pages in (key_pages, value_pages):
            self.check_pages(pages, tables, counts, before)
        accept(self, "f", q, mask)
        got = f"{tuple(key_pages.shape)} and {tuple(value_pages.shape)}"
        if key_pages.dtype is not value_pages.dtype:
            got = f"{key_pages.dtype.name} and {value_pages.dtype.name}"
            self.fail(OperandError, "pages of keys and values of one dtype", got)
        alike = "as many pages, heads and rows for values as for keys"
        if len(key_pages.shape) != len(value_pages.shape):
            self.fail(ValueError, alike, got)
        for m, n in zip(key_pages.shape[:-1], value_pages.shape[:-1], strict=True):
            require(self, dim.eq(m, n), alike, got)
        heads, d, b = key_pages.shape[-3], key_pages.shape[-1], tables.shape[0]
        got = f"{tuple(q.shape)} and {tuple(key_pages.shape)}"
        if len(q.shape) != 3:
            self.fail(ValueError, "a query of rank 3, [tokens, heads, dim]", tuple(q.shape))
        require(self, dim.eq(q.shape[2], d), "query and keys of one dim", got)
        require(self, q.shape[1] % dim.maximum(heads, 1) == 0, "query heads that are a multiple of key heads", got)
        self.check_scales(q, key_pages, b, heads, key_scale, value_scale)
        if mask is not None:
            same_dtype(self, q, mask)
            wanted = f"a mask [{b} or 1, {q.shape[1]} or 1, new tokens, positions]"
            if len(mask.shape) != 4:
                self.fail(ValueError, wanted, tuple(mask.shape))
            m, h = mask.shape[:2]
            fits = ((m == 1) | (m == b)) & ((h == 1) | (h == q.shape[1])) & (mask.shape[2] >= 1)
            require(self, fits, wanted, tuple(mask.shape))
        return Meta((q.shape[0], q.shape[1], value_pages.shape[-1]), q.dtype)

    def check_scales(self, q, pages, b, heads, *scales):
        """Refuse pages of uint8 without scales, scales without such pages, and scales of another shape."""
        low = pages.dtype is dt.uint8
        if not low and pages.dtype is not q.dtype:
            self.fail(OperandError, f"pages of {q.dtype.name}, or of uint8 with scales", pages.dtype.name)
        for m in scales:
            if (m is not None) is not low:
                self.fail(
                    TypeError, "two scales with pages of uint8, and none with others", f"pages of {pages.dtype.name}"
                )
            if m is None:
                continue
            wanted = f"scales of float32 of shape [{b} or 1, {heads}]"
            if m.dtype is not dt.float32:
                self.fail(OperandError, wanted, "a number" if m.dtype is None else m.dtype.name)
            if len(m.shape) != 2:
                self.fail(ValueError, wanted, tuple(m.shape))
            fits = ((m.shape[0] == 1) | (m.shape[0] == b)) & dim.eq(m.shape[1], heads)
            require(self, fits, wanted, tuple(m.shape))

    def decompose(self, q, key_pages, value_pages, tables, counts, before, mask, key_scale, value_scale, scale):
        low, tokens = q.dtype, q.shape[0]
        q, mask = widen(q), None if mask is None else widen(mask)
        sequence, within, position = places(counts, before, tokens)
        ends = F.add(cast_to(counts, dt.int64), cast_to(before, dt.int64))
        keys = self.rows_of(q, key_pages, tables, key_scale, ends)
        values = self.rows_of(q, value_pages, tables, value_scale, ends)
        span = keys.shape[1]
        last = position if self.causal else F.sub(F.take(ends, sequence, axis=0), 1)
        seen = F.le(counter(span), F.unsqueeze(last, axes=(1,)))
        seen = F.unsqueeze(seen, axes=(1, 2))
        if mask is not None:
            added = self.mask_rows(mask, sequence, within, span)
            seen = F.where(seen, added, NEVER)
        out = F.attention(
            F.unsqueeze(q, axes=(1,)),
            F.take(keys, sequence, axis=0),
            F.take(values, sequence, axis=0),
            seen,
            causal=False,
            scale=scale,
        )
        return cast_to(F.squeeze(out, axes=(1,)), low)

    def rows_of(self, q, pages, tables, scale, ends):
        """``[batch, positions, heads, dim]`` in the type of ``q``; 0 from ``ends`` on: pages hold anything there, and
        a weight of 0 does not hide a NaN."""
        pages, (b, m) = listed(pages), sizes(tables)
        n, heads, size, d = sizes(pages)
        # What a table has beyond a sequence's end may be no page.
        table = F.minimum(F.maximum(cast_to(tables, dt.int64), 0), n - 1)
        taken = widen(F.take(pages, table, axis=0))
        if is_tensor(scale):
            taken = F.sub(F.cast(taken, dtype=q.dtype), ZERO)
            taken = F.mul(taken, F.unsqueeze(cast_to(scale, q.dtype), axes=(1, 3, 4)))
        rows = F.reshape(F.permute(taken, perm=(0, 1, 3, 2, 4)), shape=(b, m * size, heads, d))
        written = F.lt(counter(m * size), F.unsqueeze(ends, axes=(1,)))
        return F.where(F.unsqueeze(written, axes=(2, 3)), rows, 0)

    def mask_rows(self, mask, sequence, within, span):
        """``[tokens, heads or 1, 1, span]``: what is added to the scores of each token."""
        b, _, rows, columns = sizes(mask)
        of = F.take(mask, F.minimum(sequence, b - 1), axis=0)
        row = F.unsqueeze(F.minimum(within, rows - 1), axes=(1, 2, 3))
        of = F.take_along(of, F.broadcast_to(row, shape=(of.shape[0], of.shape[1], 1, columns)), axis=2)
        # Columns of a mask may be fewer than a table's positions, or more.
        column = F.minimum(counter(span), columns - 1)
        return F.take(of, column, axis=3)

    def shard(self, q, key_pages, value_pages, tables, counts, before, mask, key_scale, value_scale, scale):
        def named(m, names):
            return [] if m is None else ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(m.shape, names)]

        pages = [page_factors(key_pages, "d"), page_factors(value_pages, "e")]
        operands = [["t", "h", "d"], *pages, ["b", "m"], ["b"], ["b"]]
        operands += [named(mask, "bhrc"), named(key_scale, "bh"), named(value_scale, "bh")]
        marks = dict.fromkeys("tdbmrc", "replicated") | {"h": "nonempty"}
        return shard_string(operands, [["t", "h", "e"]], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for i, (key_pages, value_pages, tables, counts, before, note) in enumerate(cases(rng)):
            heads, d = key_pages.shape[1::2]
            q = draw(rng, (int(counts.sum()), 2 * heads, d), dt.convert(key_pages.dtype))
            where = (q, key_pages, value_pages, tables, counts, before)
            yield Sample((*where, None, None, None), {"causal": i != 1}, {"scale": 0.7}, note=note)
            if i > 1:
                continue
            shape = (len(counts), 1, int(counts.max()), 12) if i else (1, 2 * heads, 1, 6)
            mask = draw(rng, shape, dt.convert(q.dtype))
            yield Sample((*where, mask, None, None), {"causal": not i}, {"scale": 0.7}, note="a mask that is added")
        tables, counts, before = np.array([[3, 0], [1, 2]], np.int32), np.array([1, 2]), np.array([2, 0])
        for type, rows in ((dt.float32, 1), (dt.bfloat16, 2), (dt.float64, 1)):
            pages = [draw(rng, (4, 2, 2, n), dt.uint8, 100, 150) for n in (2, 3)]
            scales = [draw(rng, (rows, 2), dt.float32, 0.01, 0.1) for _ in pages]
            where = (draw(rng, (3, 4, 2), type), *pages, tables, counts, before)
            yield Sample((*where, None, *scales), {"causal": True}, {"scale": 0.7}, (), "pages of bytes")
