"""Packed sequences by rank: the longest one first. A table of ranks has the number and the length of each, [n, 2].

``levels``: offsets of sequences, and of those that they consist of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.sequences import lengths_of, offsets_of, rows_of
from paddle.static.formats.operators.table import Raw, Tensors, integer_of, operator
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_INT = "int64"


def _picked(x: Tensor, levels: Sequence[Tensor], which: Tensor) -> tuple[Tensor, ...]:
    """The outermost sequences of these numbers, or rows where there are none, and the offsets of each level."""
    found = []
    for offsets in levels:
        starts = paddle.gather(offsets[:-1], which)
        lengths = paddle.gather(lengths_of(offsets), which)
        found.append(offsets_of(lengths))
        shifts = paddle.repeat_interleave(starts - found[-1][:-1], lengths, 0)
        which = shifts + rows_of(shifts)
    return paddle.gather(x, which), *found


def _joined(levels: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Offsets of what several tensors are one behind the other, of each level."""
    return [offsets_of(paddle.concat([lengths_of(offsets) for offsets in level])) for level in levels]


@operator("sequence_ranks")
def sequence_ranks(offsets: Tensor) -> Any:
    lengths = np.diff(offsets.numpy())
    order = np.argsort(-lengths, kind="stable")
    return paddle.to_tensor(np.stack([order, lengths[order]], 1))


def _ranks(op_name: str, table: Tensor) -> np.ndarray:
    """The numbers of sequences by rank, and their lengths."""
    ranks = table.numpy()
    if ranks.ndim != 2 or ranks.shape[1] != 2 or ranks.dtype != np.int64 or np.any(ranks < 0):
        raise op_error(ValueError, op_name, "ranks of sequences, as lod_rank_table makes them", list(ranks.shape))
    return ranks.T


@operator("sequence_longest")
def sequence_longest(table: Tensor) -> Any:
    return paddle.max(paddle.concat([table[:, 1], paddle.zeros([1], _INT)])).reshape([1])


@operator("sequence_by_rank")
def sequence_by_rank(x: Tensor, table: Tensor, levels: Tensors | None = None) -> Any:
    return _picked(x, levels or (), table[:, 0])


@operator("sequence_going_on")
def sequence_going_on(x: Tensor, table: Tensor, levels: Tensors | None, i: Tensor) -> Any:
    """Of sequences by rank those that have a step ``i``."""
    count = integer_of(paddle.sum((table[:, 1] > i.reshape([1])).astype(_INT)))
    return _picked(x, levels or (), paddle.arange(0, count, 1, _INT))


@operator("sequence_steps")
def sequence_steps(x: Tensor, table: Tensor, levels: Tensors) -> Any:
    """A list: for each step, its items of all sequences that have one, by rank; and lists of the offsets of items."""
    order, lengths = _ranks("lod_tensor_to_array", table)
    (begins, *below), steps = levels, []
    starts = begins.numpy()
    own = np.diff(starts)
    if len(order) != len(own) or np.any(lengths != own[order]):
        required = f"sequences of the lengths that its ranks were made of ({_shown(lengths)})"
        raise op_error(ValueError, "lod_tensor_to_array", required, _shown(own))
    for i in range(int(lengths.max(initial=0))):
        items = starts[order[lengths > i]] + i
        steps.append(_picked(x, below, paddle.to_tensor(items)))
    return tuple([step[j] for step in steps] for j in range(1 + len(below)))


@operator("sequence_of_steps")
def sequence_of_steps(steps: Raw, table: Tensor, below: Raw = ()) -> Any:
    """Sequences of their steps, as `sequence_steps` makes them."""
    order, lengths = _ranks("array_to_lod_tensor", table)
    parts = [[paddle.to_tensor(offsets) for offsets in level] for level in below]
    counts = [(len(lengths) - np.searchsorted(lengths[::-1], i, "right")) for i in range(int(lengths.max(initial=0)))]
    found = [(parts[0][i].shape[0] - 1 if parts else x.shape[0]) for i, x in enumerate(steps)]
    if sorted(order) != list(range(len(order))) or found[: len(counts)] != counts or len(steps) < len(counts):
        required = f"steps of {_shown(counts)} sequences, as its ranks have them"
        raise op_error(ValueError, "array_to_lod_tensor", required, _shown(found))
    if not counts:
        raise op_error(ValueError, "array_to_lod_tensor", "a sequence that is not empty", _shown(lengths))
    steps = steps[: len(counts)]
    before = np.cumsum([0, *counts])
    ranks = np.argsort(order)
    own = lengths[ranks]
    items = [before[:n] + rank for rank, n in zip(ranks, own, strict=True)]
    joined = _joined([level[: len(counts)] for level in parts])
    x, *levels = _picked(paddle.concat(list(steps)), joined, paddle.to_tensor(np.concatenate(items)))
    return x, offsets_of(paddle.to_tensor(own)), *levels


def _shown(numbers: Any) -> str:
    return f"{np.asarray(numbers).tolist()!r:.60}"


# --- one way or the other


@operator("sequence_split")
def sequence_split(x: Tensor, mask: Tensor, levels: Tensors | None = None, *, chosen: bool) -> Any:
    """Sequences, or rows, for which a mask says so."""
    taken = paddle.equal(mask.reshape([-1]).astype("bool"), paddle.to_tensor(chosen))
    return _picked(x, levels or (), paddle.nonzero(taken).reshape([-1]))


@operator("sequence_merged")
def sequence_merged(
    mask: Tensor, yes: Tensor, no: Tensor, levels: Tensors | None = None, others: Tensors | None = None
) -> Any:
    """Sequences, or rows, of the one for which a mask says so, and of the other, in the order of the mask."""
    flags = mask.reshape([-1]).astype("bool")
    ones = flags.astype(_INT)
    places = paddle.where(flags, paddle.cumsum(ones) - 1, paddle.sum(ones) + paddle.cumsum(1 - ones) - 1)
    joined = _joined(list(zip(levels or (), others or (), strict=True)))
    return _picked(paddle.concat([yes, no]), joined, places)
