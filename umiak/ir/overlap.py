"""Tensors over the same memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from umiak.core.tensor import Tensor


def overlap(x: Tensor, y: Tensor) -> bool:
    """Return whether the elements of concrete tensors lie between each other in one storage."""
    if x.storage is None or x.storage is not y.storage:
        return False
    (first, last), (low, high) = _extent(x), _extent(y)
    return low < last and first < high


def overlapping(tensors: Sequence[Tensor], chosen: Collection[int]) -> tuple[int, int] | None:
    """Return the numbers of two tensors that overlap, of which the first is among ``chosen``; None: there are none.

    Nothing but tensors over one storage is compared, each with two others: a captured step has thousands.
    """
    chosen = frozenset(chosen)
    by_storage: dict[int, list[int]] = {}
    for i, x in enumerate(tensors):
        if x.storage is not None:
            by_storage.setdefault(id(x.storage), []).append(i)
    for numbers in by_storage.values():
        if len(numbers) > 1 and not chosen.isdisjoint(numbers):
            pair = _first_overlap(tensors, numbers, chosen)
            if pair is not None:
                return pair
    return None


def _first_overlap(tensors: Sequence[Tensor], numbers: list[int], chosen: frozenset[int]) -> tuple[int, int] | None:
    extents = sorted((*_extent(tensors[i]), i) for i in numbers)
    # What reaches furthest so far, of all and of those that are chosen: if these do not reach the next, none does.
    furthest = furthest_chosen = (0, -1)
    for low, high, i in extents:
        if low == high:
            continue
        last, other = furthest if i in chosen else furthest_chosen
        if low < last:
            return (i, other) if i in chosen else (other, i)
        furthest = max(furthest, (high, i))
        if i in chosen:
            furthest_chosen = max(furthest_chosen, (high, i))
    return None


def _extent(x: Tensor) -> tuple[int, int]:
    """The bits of its storage that a tensor lies within, from the first to behind the last."""
    if not all(x.shape):
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    first = x.offset * 8
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + 1
    return first + low * x.dtype.bits, first + high * x.dtype.bits
