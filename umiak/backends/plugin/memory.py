"""The memory of a plug-in's device, and the host's memory that copies are staged in."""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from umiak.backends.plugin.library import PluginError, log
from umiak.backends.plugin.structures import Status

if TYPE_CHECKING:
    from umiak.backends.plugin.device import PluginDevice

ALIGNMENT = 64


class Memory:
    """Raw memory of one device (``umiak.memory.caching.DeviceMemory``)."""

    def __init__(self, device: PluginDevice) -> None:
        self.device = device
        library, pointer = device.library, device.pointer
        self.padding = library.number("device_extra_padding_size", pointer) or 0
        self.chunk = max(1, library.number("device_min_chunk_size", pointer) or 1)
        self.largest = library.number("device_max_alloc_size", pointer)
        self.aligns = True  # the plug-in gives addresses that are multiples of ALIGNMENT
        self.lock = threading.RLock()  # what is collected meanwhile may give memory back
        self.blocks: dict[int, tuple[int, int]] = {}  # address given out -> the plug-in's, and its size

    def take(self, nbytes: int) -> int:
        with self.lock:
            block = self._block(nbytes)
            if block and block[0] % ALIGNMENT:
                self.aligns = False
                self._free(*block)
                block = self._block(nbytes)
            if not block:
                return 0
            address = -(-block[0] // ALIGNMENT) * ALIGNMENT
            self.blocks[address] = block
            return address

    def _block(self, nbytes: int) -> tuple[int, int] | None:
        size = nbytes + self.padding + (0 if self.aligns else ALIGNMENT - 1)
        size = -(-size // self.chunk) * self.chunk
        if self.largest and size > self.largest:
            return None
        found = c_void_p()
        device = self.device
        device.choose()
        status = device.library.status("device_memory_allocate", device.pointer, byref(found), size)
        if status == Status.C_FAILED:  # there is no more
            return None
        device.library.check("device_memory_allocate", status, device.place.name)
        return (found.value, size) if found.value else None

    def give(self, address: int, nbytes: int) -> None:
        with self.lock:
            block = self.blocks.pop(address, None)
        if block is None:
            raise ValueError(f"[give] requires an address that take gave, got {address:#x}")
        self._free(*block)

    def _free(self, address: int, size: int) -> None:
        if self.device.library.closed:
            return  # the plug-in has let go of everything
        try:
            self.device.call("device_memory_deallocate", address, size)
        except PluginError as error:  # whoever frees memory cannot be told; it is not tried again
            log.warning("%s. %d bytes are lost", error, size)

    def move(self, target: int, source: int, nbytes: int) -> None:
        if self.device.library.has("memory_copy_d2d"):
            self.device.call("memory_copy_d2d", target, source, nbytes)
        else:
            self.write(target, self.read(source, nbytes))

    def read(self, address: int, nbytes: int) -> bytes:
        found = ctypes.create_string_buffer(nbytes)
        self.device.call("memory_copy_d2h", found, address, nbytes)
        return found.raw

    def write(self, address: int, data: bytes) -> None:
        self.device.call("memory_copy_h2d", address, data, len(data))

    # --- the host's, from which a device copies while the host goes on

    def staged(self, data: np.ndarray) -> tuple[int, Any]:
        """A copy of bytes: its address, and what to keep until the device has read it."""
        if self.device.library.has("host_memory_allocate", "host_memory_deallocate"):
            block = HostBlock(self.device, data.nbytes)
            block.array[:] = data
            return block.address, block
        copied = data.copy()
        return copied.ctypes.data, copied


class HostBlock:
    """Memory of the host that the plug-in gives: it is freed with its last user."""

    def __init__(self, device: PluginDevice, nbytes: int) -> None:
        self.device, self.nbytes, self.address = device, nbytes, 0
        found = c_void_p()
        device.call("host_memory_allocate", byref(found), nbytes)
        if not found.value:
            raise MemoryError(f"[host_memory_allocate] of {device.library.path} gave nothing for {nbytes} bytes")
        self.address = found.value
        self.array = np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(self.address))

    def __del__(self) -> None:
        if self.address and not self.device.library.closed:
            try:
                self.device.call("host_memory_deallocate", self.address, self.nbytes)
            except PluginError as error:
                log.warning("%s. %d bytes are lost", error, self.nbytes)
