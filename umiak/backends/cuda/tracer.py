"""Work of CUDA devices as CUPTI records it, through ``cupti-python``: kernels, copies and fills with their times."""

from __future__ import annotations

import time
from typing import Any

from umiak.backends.base import Absent, Span
from umiak.util.clocks import clock_offset

# CUpti_ActivityKind of cupti_activity.h, and what a profile calls them
MEMCPY, MEMSET, CONCURRENT_KERNEL = 1, 2, 10
KINDS = {CONCURRENT_KERNEL: "Kernel", MEMCPY: "Memcpy", MEMSET: "Memset"}
# CUpti_ActivityMemcpyKind
DIRECTIONS = {1: "host to device", 2: "device to host", 8: "device to device", 10: "peer to peer"}
BUFFER = 8 << 20  # bytes of a buffer that CUPTI fills
FORCED = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED


def load() -> Any:
    """The bindings of CUPTI.

    Raises:
        Absent: there are none, or no library for them.
    """
    try:
        from cupti import cupti
    except ImportError as error:
        raise Absent(f"CUPTI is not installed (cupti-python has it): {error}") from error
    try:
        cupti.get_timestamp()
    except RuntimeError as error:  # the library is not there, or not of this machine
        raise Absent(f"CUPTI does not load: {error}") from error
    return cupti


class Tracer:
    """One recording (``umiak.backends.Tracer``). ``synchronize`` waits for all work of the devices."""

    def __init__(self, cupti: Any, device_type: str, synchronize: Any) -> None:
        self.cupti, self.device_type, self.synchronize = cupti, device_type, synchronize
        self.spans: list[Span] = []

    def start(self) -> None:
        """Begin. Work that was handed in before may be seen, too."""
        self.offset = clock_offset(time.time_ns, self.cupti.get_timestamp)
        self.cupti.activity_register_callbacks(lambda: (BUFFER, 0), self.completed)
        for kind in KINDS:
            self.cupti.activity_enable(kind)

    def stop(self) -> list[Span]:
        """End, when the work is done; the spans since the beginning, on the clock of ``time.time_ns``."""
        self.synchronize()
        try:
            self.cupti.activity_flush_all(FORCED)
        finally:
            for kind in KINDS:
                self.cupti.activity_disable(kind)
        spans, self.spans = self.spans, []
        return spans

    def completed(self, activities: list[Any]) -> None:
        """Called by CUPTI with what a buffer holds."""
        for x in activities:
            kind = int(x.kind)
            if kind not in KINDS:
                continue
            args: dict[str, Any] = {"correlation": x.correlation_id}
            if kind == CONCURRENT_KERNEL:
                name = x.name
                args |= {
                    "grid": [x.grid_x, x.grid_y, x.grid_z],
                    "block": [x.block_x, x.block_y, x.block_z],
                    "registers": x.registers_per_thread,
                    "shared": x.static_shared_memory + x.dynamic_shared_memory,
                }
            else:
                direction = DIRECTIONS.get(int(x.copy_kind), "copy") if kind == MEMCPY else "fill"
                name, args["bytes"] = direction, x.bytes
            lane = f"{self.device_type}:{x.device_id} stream {x.stream_id}"
            self.spans.append(Span(name, KINDS[kind], x.start + self.offset, x.end + self.offset, lane, args))
