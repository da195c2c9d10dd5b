"""The backend of one plug-in's device type."""

from __future__ import annotations

import atexit
import ctypes
from typing import Any

from umiak.backends.base import Backend, Kernel, Properties, get
from umiak.backends.host_calls import HostCalls
from umiak.backends.plugin import copies, tracer
from umiak.backends.plugin.collectives import NEEDED, XcclCollectives
from umiak.backends.plugin.device import PluginDevice
from umiak.backends.plugin.library import Library, PluginError, log
from umiak.backends.plugin.streams import asynchronous
from umiak.backends.plugin.tracer import Tracer
from umiak.core.buffer import Buffer
from umiak.core.place import Place
from umiak.memory import caching


class PluginBackend(Backend):
    """The devices of a library. It brings memory, streams and copies; all kernels run on the host."""

    fuses = True  # a group of operations is moved to the host and back once

    def __init__(self, library: Library) -> None:
        self.library = library
        self.name = self.device_type = library.device_type
        self.has_streams = asynchronous(library)
        self.host = HostCalls(log)
        self.devices: dict[int, PluginDevice] = {}  # by index of the place
        self._ids: list[int] | None = None

    @property
    def ids(self) -> list[int]:
        """The plug-in's own numbers of its devices."""
        with self.library.lock:
            if self._ids is None:
                self._ids = self._initialise()
            return self._ids

    def _initialise(self) -> list[int]:
        library = self.library
        if library.has("initialize"):
            library.call("initialize")
        atexit.register(self.close)
        count = ctypes.c_size_t()
        library.call("get_device_count", ctypes.byref(count))
        numbers = (ctypes.c_size_t * max(1, count.value))()
        library.call("get_device_list", numbers)
        return list(numbers)[: count.value]

    def device_count(self) -> int:
        return len(self.ids)

    def device(self, place: Place) -> PluginDevice:
        with self.library.lock:
            if place.index not in self.devices:
                id = self.ids[place.device_id]
                self.devices[place.index] = PluginDevice(self.library, place.device_id, id)
            return self.devices[place.index]

    def properties(self, place: Place) -> Properties:
        library, device = self.library, self.device(place)
        _, total = self.memory_info(place) or (0, 0)
        capability = library.number("get_compute_capability", device.pointer) or 0
        units = library.number("get_multi_process", device.pointer) or 0
        name = library.sub_device_type or library.device_type
        return Properties(name, capability // 10, capability % 10, total, units)

    def memory_info(self, place: Place) -> tuple[int, int] | None:
        if not self.library.has("device_memory_stats"):
            return None
        total, free = ctypes.c_size_t(), ctypes.c_size_t()
        self.device(place).call("device_memory_stats", ctypes.byref(total), ctypes.byref(free))
        return free.value, total.value

    def allocator(self, place: Place) -> Any:
        return caching.device_allocator(place.index, self.device(place).memory)

    def stream_driver(self, place: Place) -> PluginDevice | None:
        return self.device(place) if self.has_streams else None

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        to, of = (self.devices.get(x.place.index) for x in (target, source))
        if to is None:
            assert of is not None, "one of the two is this backend's"
            copies.to_host(of, target.host_bytes(), source.pointer, stream)
        elif of is None:
            copies.to_device(to, target.pointer, source.host_bytes(), stream)
        elif to is of:
            copies.within(to, target.pointer, source.pointer, target.nbytes, stream)
        else:
            return copies.between(to, of, target.pointer, source.pointer, target.nbytes, stream)
        return True

    def collectives(self, place: Place) -> XcclCollectives | None:
        return XcclCollectives(self.device(place)) if self.library.has(*NEEDED) else None

    def tracer(self) -> Tracer | None:
        return Tracer(self.library, self.ids) if self.library.has(*tracer.NEEDED) else None

    def supports(self, op: Any) -> bool:
        return op.decompose is not None or get("cpu").supports(op) or get("ref").supports(op)

    def kernel(self, call: Any) -> Kernel | None:
        if call.op.name == "copy":
            device = self.device(call.place)
            return Kernel(run=lambda op, outs, ins, params: copies.copy(device, outs[0], ins[0]), name="copy")
        return None if call.needs is not None else self.host.kernel(call)

    def close(self) -> None:
        """Wait for all work, end the devices and the plug-in. Later calls are refused; memory is freed no more."""
        library = self.library
        with library.lock:
            if library.closed:
                return
            for device in self.devices.values():
                device.close()
            if library.has("finalize"):
                try:
                    library.call("finalize")
                except PluginError as error:
                    log.warning("%s", error)
            library.closed = True
        atexit.unregister(self.close)
