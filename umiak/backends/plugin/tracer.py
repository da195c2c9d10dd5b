"""The profiler of a plug-in (the functions ``profiler_...`` of its table): spans of the device's own work."""

from __future__ import annotations

import ctypes
import time
from ctypes import POINTER, byref, c_void_p
from typing import Any

from umiak.backends.base import Span
from umiak.backends.plugin import exports
from umiak.backends.plugin.library import Library
from umiak.backends.plugin.structures import AddEvent, DeviceTraceEvent, EventType, Profiler, RuntimeTraceEvent

STEPS = ("initialize", "prepare_tracing", "start_tracing", "stop_tracing", "collect_trace_data", "finalize")
NEEDED = tuple(f"profiler_{step}" for step in STEPS)


class Tracer:
    """One recording: ``start``, then ``stop``. ``ids``: the plug-in's own numbers of its devices."""

    def __init__(self, library: Library, ids: list[int]) -> None:
        self.library, self.ids = library, ids
        self.spans: list[Span] = []
        self._data = c_void_p()
        self._profiler = Profiler(add=AddEvent(self._add))

    def _call(self, step: str, *args: Any) -> None:
        self.library.call(f"profiler_{step}", byref(self._profiler), *args)

    def start(self) -> None:
        """Begin. Work that was handed in before may be seen, too."""
        self.began = time.time_ns()
        self._call("initialize", byref(self._data))
        try:
            self._call("prepare_tracing", self._data)
            self._call("start_tracing", self._data)
        except BaseException:
            self._call("finalize", self._data)
            raise

    def stop(self) -> list[Span]:
        """End; the spans since the beginning, on the clock of ``time.time_ns``."""
        try:
            self._call("stop_tracing", self._data)
            self._call("collect_trace_data", self.began, self._data)
        finally:
            self._call("finalize", self._data)
        spans, self.spans = self.spans, []
        return spans

    def _add(self, profiler: Any, event: int, kind: int) -> None:
        """Called by the plug-in, whose event is gone when this returns."""
        if kind == exports.RUNTIME_EVENT:
            e = ctypes.cast(event, POINTER(RuntimeTraceEvent)).contents
            args: dict[str, Any] = {"correlation": e.correlation_id, "callback": e.callback_id}
            lane = f"{self.library.device_type} runtime, thread {e.thread_id}"
        else:
            e = ctypes.cast(event, POINTER(DeviceTraceEvent)).contents
            args = {"correlation": e.correlation_id, **_details(e)}
            number = self.ids.index(e.device_id) if e.device_id in self.ids else e.device_id
            lane = f"{self.library.device_type}:{number} stream {e.stream_id}"
        known = EventType(e.type).name if e.type in set(EventType) else f"type {e.type}"
        self.spans.append(Span(str(e.name), known, e.start_ns, e.end_ns, lane, args))


def _details(e: Any) -> dict[str, Any]:
    """The part of an event's union that its type names."""
    if e.type == EventType.Memcpy:
        return {"bytes": e.info.memcpy_info.num_bytes}
    if e.type == EventType.Memset:
        return {"bytes": e.info.memset_info.num_bytes}
    if e.type == EventType.Kernel:
        k = e.info.kernel_info
        return {"block": [k.block_x, k.block_y, k.block_z], "grid": [k.grid_x, k.grid_y, k.grid_z]}
    return {}
