"""Copies between the host and devices on streams of their own, beside the work of the current ones."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Mapping

from umiak.backends import spare_streams, transfer
from umiak.backends.base import get
from umiak.core.buffer import Buffer, access
from umiak.core.place import Place
from umiak.core.storage import ACCESS_HOST, ACCESS_NOTHING
from umiak.core.stream import Event, Stream
from umiak.core.tensor import Tensor, empty

CPU = Place("cpu")


class PendingCopy:
    """A copy that was handed in; ``event`` is None where it is done. Its tensors live for as long as this does."""

    __slots__ = ("event", "place", "tensors")

    def __init__(self, event: Event | None, place: Place, tensors: tuple[Tensor, ...]) -> None:
        self.event, self.place, self.tensors = event, place, tensors

    def done(self) -> bool:
        """Return whether the elements have arrived."""
        return self.event is None or self.event.query()

    def wait(self) -> None:
        """Let the host wait. RuntimeError where work that the elements come from has failed."""
        if self.event is not None:
            self.event.synchronize()

    def order(self) -> None:
        """Let work wait that is handed in from now on to the current stream of the device; the host does not."""
        if self.event is not None:
            transfer.current_stream(self.place).wait(self.event)


class CopyStreams:
    """A stream of each device for copies, and what is under way there."""

    def __init__(self) -> None:
        self.queues: dict[Place, Stream] = {}
        self.pending: list[PendingCopy] = []
        # At the interpreter's end too, while there are modules: the memory of what is pending is in use until then.
        weakref.finalize(self, _give_back, self.queues, self.pending)

    def start(self, target: Tensor, source: Tensor) -> PendingCopy:
        """Hand in the copy of a contiguous tensor to a contiguous one of the same shape and dtype.

        It comes after all that the current streams have now. Until it is done, neither memory may be written to, and
        that of the target is not to be read.
        """
        here, there = source.place, target.place
        self.pending[:] = [copy for copy in self.pending if not copy.done()]
        ends = {access(here), access(there)}
        if ACCESS_NOTHING in ends or ACCESS_HOST not in ends or ends == {ACCESS_HOST} or 0 in target.shape:
            transfer.copy(target, source)  # by the current streams
            return PendingCopy(None, there, (target, source))
        device = here if access(there) == ACCESS_HOST else there
        if device not in self.queues:
            self.queues[device] = spare_streams.take(device)
        queue = self.queues[device]
        queue.wait(transfer.current_stream(device).record())
        if device is here:
            source.storage.come_after_users(queue.id)
        with transfer.unawaited() if get(device).is_pinned(source) else contextlib.nullcontext():
            if not get(device).copy(Buffer(target), Buffer(source), queue.id):
                transfer.copy(target, source)
                return PendingCopy(None, there, (target, source))
        (source if device is here else target).storage.use_on_stream(queue.id)
        copy = PendingCopy(queue.record(), device, (target, source))
        self.pending.append(copy)
        return copy


def _give_back(queues: Mapping[Place, Stream], pending: list[PendingCopy]) -> None:
    """Wait for the streams, so that the memory of pending copies is in use by none, and give them back."""
    for queue in queues.values():
        spare_streams.give(queue)
    pending.clear()


def host_memory(like: Tensor) -> Tensor:
    """A new tensor of the host, of a tensor's shape and dtype, which the tensor's device can write to by itself."""
    pinned = get(like.place).pinned(like.place, tuple(like.shape), like.dtype)
    return empty(tuple(like.shape), like.dtype, CPU) if pinned is None else pinned
