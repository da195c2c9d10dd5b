"""Elements from one place to another, by the backends that know both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from umiak import ops as F
from umiak.backends.base import Kernel, get
from umiak.core import eager
from umiak.core.buffer import Buffer, access
from umiak.core.context import current, no_grad_guard
from umiak.core.place import Place
from umiak.core.storage import ACCESS_DEVICE, ACCESS_HOST, ACCESS_NOTHING
from umiak.core.stream import Stream, stream
from umiak.core.tensor import Tensor, empty
from umiak.ops.places import parse_place

CPU = Place("cpu")
_COPY = F.Copy()


class _Copies(threading.local):
    unawaited = False


_copies = _Copies()


@contextmanager
def unawaited() -> Iterator[None]:
    """Within, copies of this thread from pinned memory may read it later; it stays as it is until then."""
    before, _copies.unawaited = _copies.unawaited, True
    try:
        yield
    finally:
        _copies.unawaited = before


def reads_later() -> bool:
    """Return whether the copy that a backend makes may read pinned memory when it has returned."""
    return _copies.unawaited


def current_stream(place: Place) -> Stream:
    """The stream that this thread's work on a place goes to."""
    return stream(place.index, current().get_stream(place))


def copy(target: Tensor, source: Tensor) -> None:
    """Copy the elements of a contiguous tensor to a contiguous one of the same shape and dtype, on any two places.

    The order of work on both places holds. What is written to memory of the host is there when this returns, and what
    is read there is not needed any more. The host reads behind all streams that the source's memory is known to be
    used on, whichever is the current one.

    Raises:
        RuntimeError: work that the elements come from has failed, and the host had to wait for it.
    """
    here, there = source.place, target.place
    if access(here) == ACCESS_NOTHING and access(there) != ACCESS_NOTHING:
        raise RuntimeError(f"[to] requires a tensor with data, got one on {here.name}, which keeps none")
    if 0 in target.shape:
        return
    if access(there) == access(here) == ACCESS_HOST:
        np.copyto(Buffer(target).host_bytes(), Buffer(source).host_bytes())
    elif access(there) == ACCESS_HOST:
        source.storage.come_after_users(current_stream(here).id)
        queue = _queued(target, source, here)
        if queue is None:
            _refuse(target, source, here)
        source.storage.use_on_stream(queue.id)
        queue.synchronize()
    elif access(here) == ACCESS_HOST:
        queue = _queued(target, source, there)
        if queue is None:
            _refuse(target, source, there)
        target.storage.use_on_stream(queue.id)
    else:
        before, after = current_stream(here), current_stream(there)
        after.wait(before.record())
        if _queued(target, source, there) is None:
            copy(target, moved(source, CPU))
            return
        # Work that is handed in later on the source's place may get its memory.
        before.wait(after.record())
        source.storage.use_on_stream(before.id)
        target.storage.use_on_stream(after.id)


def _queued(target: Tensor, source: Tensor, device: Place) -> Stream | None:
    """The stream of a device that has got the copy; None where its backend cannot make it."""
    queue = current_stream(device)
    return queue if get(device).copy(Buffer(target), Buffer(source), queue.id) else None


def _refuse(target: Tensor, source: Tensor, device: Place) -> NoReturn:
    raise RuntimeError(
        f"[to] requires a backend that copies from {source.place.name} to {target.place.name}, "
        f"got {get(device)}, which does not"
    )


def moved(x: Tensor, place: Place) -> Tensor:
    """The elements on ``place``, contiguous and without history."""
    with no_grad_guard():
        if not x.is_contiguous():
            if access(x.place) == ACCESS_DEVICE and access(place) == ACCESS_HOST:
                x.storage.come_after_users(current_stream(x.place).id)
            x = eager.apply_plain(_COPY, (x.detach(),))
        out = empty(tuple(x.shape), x.dtype, place)
        copy(out, x)
    return out


def kernel(call: Any) -> Kernel:
    """Return the kernel of ``transfer``."""
    source, target = parse_place(call.op, call.op.source), parse_place(call.op, call.op.target)
    if call.place is not source:
        call.op.fail(ValueError, f"an operand on {source.name}", f"one on {call.place.name}")
    return Kernel(call=lambda operands, params: (moved(operands[0], target),))
