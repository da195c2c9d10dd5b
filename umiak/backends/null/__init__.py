"""The backend that computes nothing, on any number of devices.

Every op has a kernel here, which counts its launch in its stream and does no more. Memory is addresses without anything
behind them. So plans, memory, streams and schedules of any size run on any machine.
"""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Backend, Kernel
from umiak.backends.null import launch
from umiak.core import storage
from umiak.core import stream as streams
from umiak.core.buffer import Buffer
from umiak.core.place import Place
from umiak.memory import caching


class NullBackend(Backend):
    name = "null"
    device_type = "null"
    has_streams = True

    def device_count(self) -> int:
        return 1 << 20

    def allocator(self, place: Place) -> storage.Allocator:
        return caching.null_allocator(place.index)

    def stream_driver(self, place: Place) -> streams.StreamDriver:
        return launch.NullDriver()

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        streams.stream(target.storage.place, stream).submit()
        return True

    def kernel(self, call: Any) -> Kernel:
        return Kernel(launch.ADDRESS, launch.self_pointer(call.place.index), residuals=True)

    def supports(self, op: Any) -> bool:
        return True


backend = NullBackend()
