"""Activations that leave a device's memory when it has no room: those that gradients alone still need."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable

from umiak import memory
from umiak.core.node import Node
from umiak.core.place import Place
from umiak.core.saved_tensors import held_alone
from umiak.core.storage import ACCESS_DEVICE, Storage, allocator
from umiak.core.tensor import Tensor
from umiak.util import flags

RETRIES = flags.define(
    "offload_retry_times", -1,
    "how often a request for memory of a device is tried again after activations were moved to the host, where "
    "paddle.incubate.tensor.manipulation.enable_activation_offload was called",
)  # fmt: skip


class ActivationOffload:
    """Asked where a place has no memory left (:func:`umiak.memory.on_pressure`): moves what the tape alone holds to
    the host, the largest first. The next use brings it back.

    Memory of ``keep`` stays, and so does all that a variable, a call that runs or a captured program holds. ``moved``
    counts bytes.
    """

    def __init__(self, place: Place, keep: Iterable[Tensor]) -> None:
        self.place = place
        self.keep = weakref.WeakSet(x.storage for x in keep)
        self.moved = 0
        self.busy = False

    def __call__(self, nbytes: int, attempt: int) -> int:
        if self.busy or attempt >= RETRIES.value:
            return 0
        self.busy = True
        try:
            return self.relieve(nbytes)
        finally:
            self.busy = False

    def relieve(self, nbytes: int) -> int:
        """Move so many bytes, or all that there are; how many these were."""
        nodes = [x for x in gc.get_objects() if type(x) is Node]
        found = [s for s in held_alone(nodes, self.place.index) if s not in self.keep]
        freed = 0
        for storage in sorted(found, key=_size, reverse=True):
            if freed >= nbytes:
                break
            size = storage.capacity
            try:
                storage.offload()
            except RuntimeError:  # a stream or another thread uses it, which says no more than that it stays
                continue
            freed += size
        self.moved += freed
        return freed


def _size(x: Storage) -> int:
    return x.capacity


def enable(places: Iterable[Place], keep: Iterable[Tensor], retries: int) -> None:
    """Move activations of these places where memory is short, ``retries`` times for a request."""
    kept = list(keep)
    RETRIES.set(retries)
    for place in places:
        if allocator(place.index).access == ACCESS_DEVICE:
            memory.on_pressure(place, ActivationOffload(place, kept))


def disable(places: Iterable[Place]) -> None:
    """Move activations of these places no longer; what was moved still comes back."""
    RETRIES.set(-1)
    for place in places:
        if isinstance(allocator(place.index).pressure, ActivationOffload):
            memory.on_pressure(place, None)
