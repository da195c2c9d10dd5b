"""Windows over the stored positions of sparse tensors: convolutions and pooling.

A rulebook lists, for each offset of the kernel, which stored values meet which positions of the result. It is made of
the positions alone, with sorted numbers in place of a hash table, and kept with them: convolutions one after another
that do not change the positions make it once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from umiak import ops as F
from umiak.core.dtype import int64 as _INT64
from umiak.core.tensor import Tensor
from umiak.runtime.sparse_tensor import SparseCoo, added, coo_at, flat_index, from_flat, index_tensor, taken
from umiak.util.errors import op_error


class Rulebook(NamedTuple):
    """Pairs of values and results that meet."""

    inputs: np.ndarray  # of each pair, the number of the value, for one offset of the kernel after another
    outputs: np.ndarray  # of each pair, the number of the result
    counts: np.ndarray  # pairs of each offset
    where: np.ndarray  # the positions of the results, sorted
    sizes: tuple[int, ...]  # of the result: the batch, and space


class Window(NamedTuple):
    """Sizes of a sliding window, one for each dim of space."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilations: tuple[int, ...]
    ceil: bool = False

    def sizes(self, space: Sequence[int], op: str) -> tuple[int, ...]:
        """The sizes of the result."""
        sizes_out = []
        for n, k, s, a, b, d in zip(space, self.kernel, self.strides, self.low, self.high, self.dilations):
            room = n + a + b - d * (k - 1) - 1
            count = (-(-room // s) if self.ceil else room // s) + 1
            if self.ceil and (count - 1) * s >= n + a:  # a window that begins behind the end
                count -= 1
            sizes_out.append(count)
        if min(sizes_out) < 1:
            got = f"space {list(space)} and windows of {list(self.kernel)}"
            raise op_error(ValueError, op, "windows that fit into the padded space", got)
        return tuple(sizes_out)


def _targets(x: SparseCoo, window: Window, sizes: tuple[int, ...]) -> Any:
    """For each offset of the kernel the values that it meets, and the numbers of the positions where."""
    where = x.coordinates()
    n = len(window.kernel)
    spread = np.array(window.dilations)[:, None]
    low, strides, last = (np.array(v)[:, None] for v in (window.low, window.strides, sizes[1:]))
    for offset in itertools.product(*map(range, window.kernel)):
        scaled = where[1 : n + 1] + low - spread * np.array(offset)[:, None]
        place = scaled // strides
        inside = ((place >= 0) & (place < last) & (place * strides == scaled)).all(axis=0)
        at = np.flatnonzero(inside)
        yield at, flat_index(np.concatenate([where[:1, at], place[:, at]]), sizes)


def rulebook(x: SparseCoo, window: Window, op: str) -> Rulebook:
    """The pairs of a window that gives a result wherever it meets a value."""
    known = x._kept.get(window)
    if known is None:
        sizes = (x.shape[0], *window.sizes(x.shape[1 : len(window.kernel) + 1], op))
        pairs = list(_targets(x, window, sizes))
        keys, outputs = np.unique(np.concatenate([key for _, key in pairs]), return_inverse=True)
        counts = np.array([at.size for at, _ in pairs])
        inputs = np.concatenate([at for at, _ in pairs])
        known = Rulebook(inputs, outputs.reshape(-1), counts, from_flat(keys, sizes), sizes)
        x._kept[window] = known
    return known


def same_positions(x: SparseCoo, kernel: tuple[int, ...], dilations: tuple[int, ...]) -> Rulebook:
    """The pairs of a window whose middle stands on each value, so that the result has the positions of x."""
    low = tuple(d * (k // 2) for k, d in zip(kernel, dilations))
    window = Window(kernel, (1,) * len(kernel), low, low, dilations)
    known = x._kept.get(("same", window))
    if known is None:
        sizes = tuple(x.shape[: len(kernel) + 1])
        own = flat_index(x.coordinates(), sizes)
        order = np.argsort(own, kind="stable")
        inputs, outputs, counts = [], [], []
        for at, key in _targets(x, window, sizes):
            place = np.minimum(np.searchsorted(own[order], key), max(own.size - 1, 0))
            here = own[order][place] == key
            inputs.append(at[here])
            outputs.append(order[place[here]])
            counts.append(int(here.sum()))
        joined = np.concatenate(inputs), np.concatenate(outputs)
        known = x._kept["same", window] = Rulebook(*joined, np.array(counts), x.coordinates(), sizes)
    return known


def convolve(x: SparseCoo, weight: Tensor, rules: Rulebook) -> Tensor:
    """The values of the result: a matmul for each offset of the kernel, then sums over the pairs."""
    channels = weight.shape[-1]
    n = rules.where.shape[1]
    if not rules.inputs.size:
        return F.full(0, dtype=weight.dtype, shape=(n, channels))
    matrices = F.reshape(weight, shape=(math.prod(weight.shape[:-2]), weight.shape[-2], channels))
    rows = taken(x._values, rules.inputs)
    parts, first = [], 0
    for i, count in enumerate(rules.counts.tolist()):
        if count:
            part = F.slice(rows, axes=(0,), starts=(first,), sizes=(count,), steps=(1,))
            matrix = F.slice(matrices, axes=(0,), starts=(i,), sizes=(1,), steps=(1,))
            parts.append(F.matmul(part, F.squeeze(matrix, axes=(0,))))
            first += count
    products = F.concat(parts, axis=0) if len(parts) > 1 else parts[0]
    return added(products, rules.outputs, n)


def result(x: SparseCoo, rules: Rulebook, values: Tensor) -> SparseCoo:
    """Values at the positions of the rulebook."""
    return coo_at(rules.where, x._indices.dtype, values, [*rules.sizes, *values.shape[1:]], True)


def largest(x: SparseCoo, rules: Rulebook) -> SparseCoo:
    """The largest stored value of each window."""
    low = F.full(-math.inf, dtype=x.dtype, shape=(rules.where.shape[1], *x._values.shape[1:]))
    index = index_tensor(rules.outputs, _INT64, x.place)
    return result(x, rules, F.put(low, index, taken(x._values, rules.inputs), axis=0, mode="max"))
