"""Tensors that have memory in common: what a kernel writes to one of them it has to see in the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from umiak import ops as F
from umiak.core.context import place_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


def _bounds(x: Tensor) -> tuple[int, int]:
    """The first byte of its elements in its storage, and the one behind them."""
    size = x.dtype.itemsize
    if x.is_contiguous():
        return x.offset, x.offset + size * x._count
    steps = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    return x.offset + size * sum(s for s in steps if s < 0), x.offset + size * (1 + sum(s for s in steps if s > 0))


def _places(x: Tensor) -> np.ndarray:
    """Offsets of its elements in its storage, in bytes."""
    at = np.full((1,) * x.ndim, x.offset, np.int64)
    for d, (n, s) in enumerate(zip(x.shape, x.strides, strict=True)):
        axis = np.arange(n, dtype=np.int64) * (s * x.dtype.itemsize)
        at = at + axis.reshape([-1 if k == d else 1 for k in range(x.ndim)])
    return at.ravel()


def _overlap(x: Tensor, y: Tensor) -> bool:
    if x is y:
        return True
    if not x._count or not y._count or x.storage is not y.storage:
        return False
    (low, high), (start, end) = _bounds(x), _bounds(y)
    if high <= start or end <= low:
        return False
    if x.is_contiguous() and y.is_contiguous():
        return True
    return np.intersect1d(_places(x), _places(y)).size > 0


def sharing(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Those of the tensors that have an element in common with another one, or are there twice."""
    if len({id(x.storage) for x in tensors}) == len(tensors):
        return []
    found = {
        k for i, j in itertools.combinations(range(len(tensors)), 2) if _overlap(tensors[i], tensors[j]) for k in (i, j)
    }
    return [tensors[k] for k in sorted(found)]


def copies_of(name: str, tensors: Sequence[Tensor]) -> dict[int, Tensor]:
    """Copies, by identity of the tensors, that have the same elements in common.

    Raises:
        ValueError: parts that overlap, one of which has no elements one after the other, or of different dtypes.
    """
    copies: dict[int, Tensor] = {}
    for x in tensors:
        if id(x) in copies:
            continue
        group = list({id(y): y for y in tensors if y.storage is x.storage}.values())
        if len(group) == 1:
            copies[id(x)] = F.copy(x.detach())
            continue
        if not all(y.is_contiguous() and y.dtype is x.dtype for y in group):
            raise ValueError(
                f"[{name}] requires tensors to write to that are contiguous and of one dtype where they overlap, got "
                + ", ".join(f"{y.dtype.name} of shape {list(y.shape)} and strides {list(y.strides)}" for y in group)
                + ". Pass copies, x.clone()"
            )
        low = min(_bounds(y)[0] for y in group)
        high = max(_bounds(y)[1] for y in group)
        size = x.dtype.itemsize
        with place_guard(x.place):
            memory = F.full(0, dtype=x.dtype, shape=((high - low) // size,))
        for y in group:
            start = (y.offset - low) // size
            part = F.slice(memory, axes=(0,), starts=(start,), sizes=(y._count,), steps=(1,))
            copies[id(y)] = F.reshape(part, tuple(y.shape))
            assign(copies[id(y)], y.detach())
    return copies
