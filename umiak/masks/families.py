"""The families of masks that language models train with (Wang et al., FlashMask, 2024, figure 1).

Each constructor gives a :class:`~umiak.masks.ColumnMask` of one batch entry and, but for ``hash_sparse``, one head.
Lengths are counted in tokens; queries and keys are the same tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from umiak.masks.column_mask import ColumnMask
from umiak.util.errors import op_error


def _mask(causal: bool, *columns: np.ndarray) -> ColumnMask:
    indices = np.stack(columns, -1).astype(np.int32)
    return ColumnMask(indices.reshape(1, -1, *indices.shape[-2:]), causal, indices.shape[-2])


def _need(name: str, holds: bool, required: str, got: object) -> None:
    if not holds:
        raise op_error(ValueError, name, required, got)


def _segments(name: str, lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end, for each token, of the segment that it is in."""
    sizes = np.asarray(lengths, np.int64)
    _need(name, sizes.ndim == 1 and len(sizes) > 0 and bool((sizes >= 1).all()), "lengths of 1 at least", list(lengths))
    ends = np.repeat(np.cumsum(sizes), sizes)
    return ends - np.repeat(sizes, sizes), ends


def full(length: int) -> ColumnMask:
    """Every query sees every key."""
    return _mask(False, np.full(length, length), np.zeros(length))


def causal(length: int) -> ColumnMask:
    """A query sees the keys up to its own.

    Example:
        >>> from umiak import masks
        >>> masks.causal(4).density()
        0.625
    """
    return _mask(True, np.full(length, length))


def sliding_window(length: int, before: int, after: int | None = None) -> ColumnMask:
    """A query sees ``before`` keys before its own and ``after`` keys behind it; by default the mask is causal."""
    _need(
        "sliding_window",
        before >= 0 and (after is None or after >= 0),
        "numbers of keys of 0 at least",
        (before, after),
    )
    key = np.arange(length)
    begin = np.minimum(key + before + 1, length)
    return _mask(True, begin) if after is None else _mask(False, begin, np.maximum(key - after, 0))


def causal_document(lengths: Sequence[int]) -> ColumnMask:
    """Documents one after the other: a query sees the keys of its document up to its own."""
    return _mask(True, _segments("causal_document", lengths)[1])


def document(lengths: Sequence[int]) -> ColumnMask:
    """Documents one after the other: a query sees all keys of its document."""
    begins, ends = _segments("document", lengths)
    return _mask(False, ends, begins)


def share_question(groups: Sequence[tuple[int, Sequence[int]]]) -> ColumnMask:
    """Groups of a question and several answers to it: an answer sees its question and itself, up to its own place.

    Args:
        groups: of each group the length of the question and those of its answers.
    """
    lengths = [n for question, answers in groups for n in (question, *answers)]
    _, ends = _segments("share_question", lengths)
    at = 0
    for question, answers in groups:
        size = question + sum(answers)
        ends[at : at + question] = at + size
        at += size
    return _mask(True, ends)


def global_sliding(length: int, tokens: int, before: int, after: int) -> ColumnMask:
    """The first ``tokens`` see all and are seen by all; others see ``before`` keys before and ``after`` behind them."""
    _need(
        "global_sliding",
        0 <= tokens <= length and before >= 0 and after >= 0,
        f"tokens from 0 to {length}, and numbers of keys of 0 at least",
        (tokens, before, after),
    )
    key = np.arange(length)
    begin = np.where(key < tokens, length, np.minimum(key + before + 1, length))
    early = key <= tokens + after
    second_begin, second_end = np.where(early, 0, tokens), np.where(early, 0, key - after)
    return _mask(False, np.maximum(begin, tokens), np.full(length, length), second_begin, second_end)


def causal_blockwise(lengths: Sequence[int]) -> ColumnMask:
    """Documents of which the last sees all before it, and the others only themselves, up to a query's own place."""
    begins, ends = _segments("causal_blockwise", lengths)
    length, last = len(ends), begins[-1]
    inside = np.arange(length) < last
    return _mask(True, np.where(inside, ends, length), np.where(inside, last, length))


def prefix(length: int, seen: int) -> ColumnMask:
    """All see the first ``seen`` keys; a query sees the others up to its own."""
    _need("prefix", 0 <= seen <= length, f"a prefix from 0 to {length}", seen)
    key = np.arange(length)
    return _mask(False, np.full(length, length), np.where(key < seen, 0, key))


def prefix_document(lengths: Sequence[int], prefixes: Sequence[int]) -> ColumnMask:
    """Documents one after the other, each with a prefix that all its queries see; other keys up to a query."""
    begins, ends = _segments("prefix_document", lengths)
    fits = len(prefixes) == len(lengths) and all(0 <= p <= n for p, n in zip(prefixes, lengths))
    _need("prefix_document", fits, f"a prefix for each document, within lengths {list(lengths)}", list(prefixes))
    key = np.arange(len(ends))
    return _mask(False, ends, np.where(key - begins < np.repeat(prefixes, lengths), begins, key))


def qk_sparse(length: int, spans: Sequence[tuple[int, int]]) -> ColumnMask:
    """Causal attention in which the queries of a span see no key of it, not even their own.

    Args:
        length: how many tokens there are.
        spans: begin and length of spans that do not overlap.
    """
    begin = np.full(length, length)
    end = begin.copy()
    for first, size in spans:
        fits = (
            0 <= first and size >= 0 and first + size <= length and bool((begin[first : first + size] == length).all())
        )
        _need("qk_sparse", fits, f"spans that do not overlap, within {length} tokens", list(spans))
        begin[first : first + size] = np.arange(first, first + size)
        end[first : first + size] = first + size
    return _mask(True, begin, end)


def hash_sparse(buckets: Sequence[Sequence[int]]) -> ColumnMask:
    """Tokens sorted by the bucket of a hash, otherwise for each head: a query sees its bucket up to its own place.

    Args:
        buckets: of each head the sizes of its buckets, of which some may be 0.
    """
    totals = {int(np.sum(sizes)) for sizes in buckets}
    _need("hash_sparse", len(totals) == 1, "heads whose buckets hold equally many tokens", sorted(totals))
    return _mask(True, np.stack([_segments("hash_sparse", [n for n in sizes if n])[1] for sizes in buckets]))


def random_eviction(evicted: Sequence[int]) -> ColumnMask:
    """Causal attention over a cache that drops keys.

    Args:
        evicted: of each key the query from which on it is gone; the key's own query sees it at least.
    """
    begin = np.asarray(evicted, np.int64)
    key = np.arange(len(begin))
    _need("random_eviction", bool((begin > key).all()), "each key to be there for its own query", list(evicted))
    return _mask(True, np.minimum(begin, len(begin)))
