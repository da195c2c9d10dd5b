"""The families of masks that language models train with (Wang et al., FlashMask, 2024, figure 1).

Each constructor gives a :class:`~umiak.masks.ColumnMask` of one batch entry and, but for ``hash_sparse``, one head.
Lengths are counted in tokens; queries and keys are the same tokens. What is no integer is refused by a TypeError;
lengths below 1, more tokens than int32 can number, and what does not fit to the lengths by a ValueError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from umiak.masks.column_mask import ColumnMask
from umiak.util.errors import op_error

MOST_TOKENS = np.iinfo(np.int32).max  # of the dtype of indices


def _mask(causal: bool, *columns: np.ndarray) -> ColumnMask:
    indices = np.stack(columns, -1).astype(np.int32)
    return ColumnMask(indices.reshape(1, -1, *indices.shape[-2:]), causal, indices.shape[-2])


def _need(name: str, holds: bool, required: str, got: object) -> None:
    if not holds:
        raise op_error(ValueError, name, required, got)


def _integers(name: str, values: Any) -> np.ndarray:
    """Numbers as int64, of which there is one at least."""
    try:
        numbers = np.asarray(values)
    except ValueError:  # rows of different lengths
        numbers = np.empty(0)
    if not numbers.size or numbers.dtype.kind not in "iu":
        got = values.tolist() if isinstance(values, np.ndarray) else values
        raise op_error(TypeError if numbers.size else ValueError, name, "64-bit integers", f"{got!r}")
    return numbers.astype(np.int64)


def _length(name: str, length: int) -> int:
    n = _integers(name, length)
    _need(name, n.ndim == 0 and bool(1 <= n <= MOST_TOKENS), f"a length from 1 to {MOST_TOKENS}", length)
    return int(n)


def _reach(name: str, *numbers: int) -> list[int]:
    """Numbers of keys beside a query's own, of which those beyond a mask's end are no more."""
    _need(name, all(bool(_integers(name, n) >= 0) for n in numbers), "numbers of keys of 0 at least", numbers)
    return [min(int(n), MOST_TOKENS) for n in numbers]


def _segments(name: str, lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end, for each token, of the segment that it is in."""
    sizes = _integers(name, lengths)
    _need(name, sizes.ndim == 1 and bool((sizes >= 1).all()), "lengths of 1 at least", sizes.tolist())
    total = sum(sizes.tolist())
    _need(name, total <= MOST_TOKENS, f"{MOST_TOKENS} tokens at most", total)
    ends = np.repeat(np.cumsum(sizes), sizes)
    return ends - np.repeat(sizes, sizes), ends


def full(length: int) -> ColumnMask:
    """Every query sees every key."""
    n = _length("full", length)
    return _mask(False, np.full(n, n), np.zeros(n, np.int64))


def causal(length: int) -> ColumnMask:
    """A query sees the keys up to its own.

    Example:
        >>> from umiak import masks
        >>> masks.causal(4).density()
        0.625
    """
    n = _length("causal", length)
    return _mask(True, np.full(n, n))


def sliding_window(length: int, before: int, after: int | None = None) -> ColumnMask:
    """A query sees ``before`` keys before its own and ``after`` keys behind it; by default the mask is causal."""
    n = _length("sliding_window", length)
    before, behind = _reach("sliding_window", before, 0 if after is None else after)
    key = np.arange(n)
    begin = np.minimum(key + before + 1, n)
    return _mask(True, begin) if after is None else _mask(False, begin, np.maximum(key - behind, 0))


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
    try:
        lengths = [n for question, answers in groups for n in (question, *answers)]
    except (TypeError, ValueError):
        required = "pairs of a question's length and a list of those of its answers"
        raise op_error(TypeError, "share_question", required, f"{groups!r}") from None
    _, ends = _segments("share_question", lengths)
    at = 0
    for question, answers in groups:
        size = question + sum(answers)
        ends[at : at + question] = at + size
        at += size
    return _mask(True, ends)


def global_sliding(length: int, tokens: int, before: int, after: int) -> ColumnMask:
    """The first ``tokens`` see all and are seen by all; others see ``before`` keys before and ``after`` behind them."""
    n = _length("global_sliding", length)
    _need("global_sliding", bool(0 <= _integers("global_sliding", tokens) <= n), f"tokens from 0 to {n}", tokens)
    before, after = _reach("global_sliding", before, after)
    key = np.arange(n)
    begin = np.where(key < tokens, n, np.minimum(key + before + 1, n))
    early = key <= tokens + after
    second_begin, second_end = np.where(early, 0, tokens), np.where(early, 0, key - after)
    return _mask(False, np.maximum(begin, tokens), np.full(n, n), second_begin, second_end)


def causal_blockwise(lengths: Sequence[int]) -> ColumnMask:
    """Documents of which the last sees all before it, and the others only themselves, up to a query's own place."""
    begins, ends = _segments("causal_blockwise", lengths)
    length, last = len(ends), begins[-1]
    inside = np.arange(length) < last
    return _mask(True, np.where(inside, ends, length), np.where(inside, last, length))


def prefix(length: int, seen: int) -> ColumnMask:
    """All see the first ``seen`` keys; a query sees the others up to its own."""
    n = _length("prefix", length)
    _need("prefix", bool(0 <= _integers("prefix", seen) <= n), f"a prefix from 0 to {n}", seen)
    key = np.arange(n)
    return _mask(False, np.full(n, n), np.where(key < seen, 0, key))


def prefix_document(lengths: Sequence[int], prefixes: Sequence[int]) -> ColumnMask:
    """Documents one after the other, each with a prefix that all its queries see; other keys up to a query."""
    begins, ends = _segments("prefix_document", lengths)
    sizes, seen = np.asarray(lengths), _integers("prefix_document", prefixes)
    fits = seen.shape == sizes.shape and bool(((0 <= seen) & (seen <= sizes)).all())
    _need("prefix_document", fits, f"a prefix for each document, within lengths {sizes.tolist()}", seen.tolist())
    key = np.arange(len(ends))
    return _mask(False, ends, np.where(key - begins < np.repeat(seen, sizes), begins, key))


def qk_sparse(length: int, spans: Sequence[tuple[int, int]]) -> ColumnMask:
    """Causal attention in which the queries of a span see no key of it, not even their own.

    Args:
        length: how many tokens there are.
        spans: begin and length of spans that do not overlap.
    """
    n = _length("qk_sparse", length)
    begin = np.full(n, n)
    end = begin.copy()
    pairs = _integers("qk_sparse", spans) if len(spans) else np.empty((0, 2), np.int64)
    _need("qk_sparse", pairs.ndim == 2 and pairs.shape[1] == 2, "pairs of begin and length", list(spans))
    for first, size in pairs.tolist():
        fits = 0 <= first and size >= 0 and first + size <= n and bool((begin[first : first + size] == n).all())
        _need("qk_sparse", fits, f"spans that do not overlap, within {n} tokens", pairs.tolist())
        begin[first : first + size] = np.arange(first, first + size)
        end[first : first + size] = first + size
    return _mask(True, begin, end)


def hash_sparse(buckets: Sequence[Sequence[int]]) -> ColumnMask:
    """Tokens sorted by the bucket of a hash, otherwise for each head: a query sees its bucket up to its own place.

    Args:
        buckets: of each head the sizes of its buckets, of which some may be 0.
    """
    heads = [_integers("hash_sparse", sizes) for sizes in buckets]
    _need("hash_sparse", all(sizes.ndim == 1 for sizes in heads), "a list of sizes for each head", list(buckets))
    totals = {sum(sizes.tolist()) for sizes in heads}
    _need("hash_sparse", len(totals) == 1, "heads whose buckets hold equally many tokens", sorted(totals))
    return _mask(True, np.stack([_segments("hash_sparse", sizes[sizes != 0])[1] for sizes in heads]))


def random_eviction(evicted: Sequence[int]) -> ColumnMask:
    """Causal attention over a cache that drops keys.

    Args:
        evicted: of each key the query from which on it is gone; the key's own query sees it at least.
    """
    begin = _integers("random_eviction", evicted)
    _need("random_eviction", begin.ndim == 1, "a number for each key", f"shape {list(begin.shape)}")
    key = np.arange(len(begin))
    _need("random_eviction", bool((begin > key).all()), "each key to be there for its own query", begin.tolist())
    return _mask(True, np.minimum(begin, len(begin)))
