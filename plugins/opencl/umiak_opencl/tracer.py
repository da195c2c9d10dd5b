"""Spans of the device's work for the profiler, from the events of its commands."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyopencl as cl

from umiak.backends.base import Span
from umiak.observe.event import KERNEL
from umiak_opencl.device import DEVICE_TYPE, Device

COMPARISONS = 5  # of clocks
COPIES = (
    cl.command_type.READ_BUFFER,
    cl.command_type.WRITE_BUFFER,
    cl.command_type.COPY_BUFFER,
)
KINDS = {
    cl.command_type.NDRANGE_KERNEL: KERNEL,
    cl.command_type.FILL_BUFFER: "Memset",
    **dict.fromkeys(COPIES, "Memcpy"),
}


class Tracer:
    """One recording of devices. Queues take the time of commands only meanwhile: some drivers do that slowly."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = devices

    def start(self) -> None:
        """Begin, when what is queued is done."""
        for device in self.devices:
            device.record(True)

    def stop(self) -> list[Span]:
        """End, when what is queued is done; the spans since the beginning."""
        spans = []
        for device in self.devices:
            offset = clock_offset(device)
            for id, commands in device.record(False).items():
                lane = f"{DEVICE_TYPE}:{device.number} stream {id}"
                spans += [span for name, event in commands for span in span_of(name, event, offset, lane)]
        return spans


def clock_offset(device: Device) -> int:
    """What a device's clock has to be put forward by to be that of ``time.time_ns``, up to the time of a wait.

    A thread may wake late, for as long as others compute: of a few waits the shortest counts.
    """
    profiled = cl.command_queue_properties.PROFILING_ENABLE
    offsets = []
    with cl.CommandQueue(device.context, device.device, properties=profiled) as commands:
        for _ in range(COMPARISONS):
            event = cl.enqueue_fill_buffer(commands, device.nothing, bytes(4), 0, 4)
            event.wait()
            offsets.append(time.time_ns() - event.profile.end)
    return min(offsets)


def span_of(name: str, event: cl.Event, offset: int, lane: str) -> list[Span]:
    """The span of a command; none of one that failed."""
    if event.command_execution_status != cl.command_execution_status.COMPLETE:
        return []
    kind = KINDS.get(event.command_type, cl.command_type.to_string(event.command_type))
    start, end = event.profile.start + offset, event.profile.end + offset
    return [Span(name, kind, start, end, lane, {"waited": event.profile.start - event.profile.queued})]
