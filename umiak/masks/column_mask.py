"""A mask of attention that says for each key which queries do not see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from umiak.masks import picture
from umiak.masks.tiles import TILE, Tile
from umiak.util.errors import op_error

# Columns of the indices, by whether the mask is causal. One of them alone: to the last query, or from the first.
_COUNTS = {True: (1, 2), False: (2, 4)}


@dataclass(frozen=True, eq=False)
class ColumnMask:
    """Half-open intervals of queries that do not see a key, at most two for each key.

    A number outside the queries stands for the nearest end; an interval that ends before it begins holds no query.

    Attributes:
        indices: int32 ``[batch, heads, keys, columns]``, what ``startend_row_indices`` of
            :func:`paddle.nn.functional.flashmask_attention` is. Of a causal mask the columns are the begin of an
            interval, which lasts to the last query, or its begin and end; of others the begin of one that lasts to the
            last query and the end of one that starts at the first, or begin, end, begin and end.
        causal: whether query i sees keys 0 to ``keys - queries + i`` at most.
        queries: how many queries there are.

    Raises:
        ValueError: indices of another dtype or shape.
    """

    indices: np.ndarray
    causal: bool
    queries: int

    def __post_init__(self) -> None:
        shape, counts = self.indices.shape, _COUNTS[self.causal]
        if self.indices.dtype != np.int32 or len(shape) != 4 or shape[3] not in counts:
            required = f"indices of int32, [batch, heads, keys, {counts[0]} or {counts[1]}]"
            raise op_error(ValueError, "ColumnMask", required, f"{self.indices.dtype} {list(shape)}")

    @property
    def keys(self) -> int:
        """The number of keys."""
        return self.indices.shape[2]

    def intervals(self) -> np.ndarray:
        """Return begin, end, second begin and second end of every key: int64 ``[4, batch, heads, keys]``."""
        x = np.clip(np.moveaxis(self.indices, 3, 0).astype(np.int64), 0, self.queries)
        none, last = np.zeros_like(x[0]), np.full_like(x[0], self.queries)
        if len(x) == 1:
            return np.stack([x[0], last, none, none])
        if len(x) == 2:
            return np.stack([*x, none, none] if self.causal else [x[0], last, none, x[1]])
        return x

    def visible(self) -> np.ndarray:
        """Return the dense mask: bool ``[batch, heads, queries, keys]``, True where a query sees a key."""
        begin, end, second_begin, second_end = self.intervals()[:, :, :, None, :]
        query = np.arange(self.queries)[:, None]
        seen = ~((query >= begin) & (query < end)) & ~((query >= second_begin) & (query < second_end))
        if self.causal:
            seen &= np.arange(self.keys) <= query + self.keys - self.queries
        return seen

    def count(self, first: int, last: int) -> np.ndarray:
        """Return how many of queries ``first`` to before ``last`` see a key: int64 ``[batch, heads, keys]``."""
        begin, end, second_begin, second_end = self.intervals()
        low = np.maximum(first, np.arange(self.keys) - (self.keys - self.queries)) if self.causal else first

        def length(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return np.maximum(np.minimum(b, last) - np.maximum(a, low), 0)

        both = length(np.maximum(begin, second_begin), np.minimum(end, second_end))
        return np.maximum(last - low, 0) - length(begin, end) - length(second_begin, second_end) + both

    def density(self) -> float:
        """Return the part of all scores that counts, from 0 to 1."""
        seen = self.count(0, self.queries)
        return float(seen.mean() / self.queries) if seen.size and self.queries else 0.0

    def tiles(self, rows: int = TILE, columns: int = TILE) -> np.ndarray:
        """Return the class (:class:`umiak.masks.Tile`) of every tile: int8 ``[batch, heads, rows, columns]``.

        Exact, also at the ends, where tiles are smaller. The dense mask is not formed.

        Raises:
            ValueError: tiles of no queries or keys.
        """
        if rows < 1 or columns < 1:
            raise op_error(ValueError, "ColumnMask.tiles", "tiles of 1 query and 1 key at least", (rows, columns))
        if not self.queries or not self.keys:
            return np.zeros((*self.indices.shape[:2], -(-self.queries // rows), -(-self.keys // columns)), np.int8)
        starts = np.arange(0, self.keys, columns)
        widths = np.minimum(columns, self.keys - starts)
        kinds = []
        for first in range(0, self.queries, rows):
            last = min(first + rows, self.queries)
            seen = np.add.reduceat(self.count(first, last), starts, -1)
            kind = np.where(seen == 0, Tile.SKIP, np.where(seen == widths * (last - first), Tile.FULL, Tile.PARTIAL))
            kinds.append(kind.astype(np.int8))
        return np.stack(kinds, 2)

    def tile_density(self, rows: int = TILE, columns: int = TILE) -> float:
        """Return the part of all tiles that has a score that counts, from 0 to 1."""
        kinds = self.tiles(rows, columns)
        return float((kinds != Tile.SKIP).mean()) if kinds.size else 0.0

    def svg(self, rows: int = TILE, columns: int = TILE) -> str:
        """Return a picture of the first head's mask: its scores that count, and its tiles."""
        return picture.svg(self, rows, columns)

    def png(self, rows: int = TILE, columns: int = TILE) -> bytes:
        """Return the picture of :meth:`svg` as the bytes of a PNG file."""
        return picture.png(self, rows, columns)


def from_dense(visible: np.ndarray) -> ColumnMask:
    """Return the mask in the form with the fewest columns.

    Args:
        visible: bool ``[queries, keys]`` or ``[batch, heads, queries, keys]``, True where a query sees a key.

    Raises:
        ValueError: the mask is not representable: a key is hidden from queries in more intervals than there are columns
            for.

    Example:
        >>> import numpy as np
        >>> from umiak import masks
        >>> mask = masks.from_dense(np.tri(4, dtype=bool))
        >>> mask.causal, mask.indices.ravel().tolist()
        (True, [4, 4, 4, 4])
    """
    seen = np.asarray(visible)
    if seen.dtype != bool or seen.ndim not in (2, 4):
        required = "a mask of bool, [queries, keys] or [batch, heads, queries, keys]"
        raise op_error(ValueError, "from_dense", required, f"{seen.dtype} {list(seen.shape)}")
    seen = seen.reshape((1, 1, *seen.shape)[-4:])
    queries, keys = seen.shape[2:]
    later = np.arange(keys) > np.arange(queries)[:, None] + (keys - queries)
    forms = []
    if not (seen & later).any():
        below = _runs(~seen & ~later)
        if below.shape[0] <= 1:
            begin, end = below[0] if len(below) else _no_run(seen.shape)
            forms = [(True, [begin])] if (end == queries).all() else [(True, [begin, end])]
    runs = _runs(~seen)
    if runs.shape[0] <= 2:
        forms += [(False, columns) for columns in _two_columns(runs, seen.shape)]
        first, second = [*runs, *[_no_run(seen.shape)] * 2][:2]
        forms.append((False, [*first, *second]))
    if not forms:
        raise op_error(
            ValueError, "from_dense", "a mask that hides each key from at most two intervals of queries", "more of them"
        )
    is_causal, columns = min(forms, key=lambda form: len(form[1]))
    return ColumnMask(np.stack(columns, -1).astype(np.int32), is_causal, queries)


def _no_run(shape: tuple[int, ...]) -> np.ndarray:
    """An interval for each key that holds no query."""
    return np.full((2, *shape[:2], shape[3]), shape[2])


def _runs(hidden: np.ndarray) -> np.ndarray:
    """Runs of True along axis 2, as many as a key has at most: ``[runs, 2, batch, heads, keys]``, begin and end."""
    b, h, queries, keys = hidden.shape
    edges = np.diff(np.pad(hidden.astype(np.int8), ((0, 0), (0, 0), (1, 1), (0, 0))), axis=2)
    number = np.cumsum(edges == 1, axis=2)
    count = int(number.max(initial=0))
    runs = np.full((count, 2, b, h, keys), queries)
    for which, edge in enumerate((1, -1)):
        at = np.nonzero(edges == edge)
        runs[number[at] - 1, which, at[0], at[1], at[3]] = at[2]
    return runs


def _two_columns(runs: np.ndarray, shape: tuple[int, ...]) -> list[list[np.ndarray]]:
    """The begin of a run to the last query, and the end of one from the first, where all runs are such."""
    queries = shape[2]
    begin, end = np.full((shape[0], shape[1], shape[3]), queries), np.zeros((shape[0], shape[1], shape[3]), np.int64)
    for low, high in runs:
        there = low < high
        if (there & (low > 0) & (high < queries)).any():
            return []
        from_first = there & (low == 0) & (high < queries)
        end = np.where(from_first, high, end)
        begin = np.where(there & ~from_first, low, begin)
    return [[begin, end]]
