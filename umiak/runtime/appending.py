"""Tensors that grow at their end, slice by slice, in memory with room for more.

Elements are never written over: a tensor from before an append keeps its own, and one to which two others are appended
has the second one apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core import context, inplace
from umiak.core.tensor import KIND_VIEW, Tensor, empty

_ROOM = "_room"


class Room:
    """The memory of a tensor that grows: ``used`` slices of ``buffer`` are taken."""

    __slots__ = ("buffer", "used")

    def __init__(self, buffer: Tensor, used: int) -> None:
        self.buffer, self.used = buffer, used


def room_of(x: Any) -> Room | None:
    """The memory in which a tensor was appended to; None where it was not."""
    return getattr(x, _ROOM, None)


def appended(xs: Sequence[Tensor]) -> Tensor:
    """Tensors joined along their first axis. What the first one was appended to has room for as much again."""
    room = room_of(xs[0])
    ctx = context.current()
    if (
        ctx.trace
        or any(x._kind & ~KIND_VIEW for x in xs)
        or (ctx.grad_enabled and not all(x.stop_gradient for x in xs))
    ):
        return F.concat(xs, axis=0)
    if room is None:  # the first time, and perhaps the last one
        y = F.concat(xs, axis=0)
        setattr(y, _ROOM, Room(y, y.shape[0]))
        return y
    before = xs[0].shape[0]
    count = before + sum(x.shape[0] for x in xs[1:])
    if room.used != before or room.buffer.shape[0] < count:
        shape = tuple(xs[0].shape)
        room = Room(empty((2 * count, *shape[1:]), xs[0].dtype, xs[0].place), before)
        inplace.assign(_part(room.buffer, 0, before), xs[0])
    for x in xs[1:]:
        inplace.assign(_part(room.buffer, room.used, x.shape[0]), x)
        room.used += x.shape[0]
    y = _part(room.buffer, 0, count)
    setattr(y, _ROOM, room)
    return y


def _part(x: Tensor, start: int, size: int) -> Tensor:
    return F.slice(x, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))
