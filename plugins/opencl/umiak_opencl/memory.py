"""The memory of a device: buffer objects, each of which gets a range of numbers as its addresses.

OpenCL names memory by objects. Addresses here are numbers that no processor has, so that a host which reads one as a
pointer faults; :meth:`Memory.find` gives the object and the offset in it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right

import numpy as np
import pyopencl as cl

from umiak.backends.late_failures import read_array
from umiak.core.buffer import Buffer

ALIGNMENT = 64
FIRST = 0xC1 << 48  # no address of x86-64 or AArch64
GAP = 1 << 12  # between ranges: what runs past the end of one is in none


class Memory:
    """Buffers of one device (``umiak.memory.caching.DeviceMemory``)."""

    def __init__(self, context: cl.Context, device: cl.Device) -> None:
        self.context = context
        self.limit, self.largest = device.global_mem_size, device.max_mem_alloc_size
        self.queue = cl.CommandQueue(context, device)  # for what is done when the call returns
        self.lock = threading.RLock()  # what is collected meanwhile may use memory
        self.starts: list[int] = []
        self.buffers: list[cl.Buffer] = []
        self.end = FIRST
        self.taken = 0

    def take(self, nbytes: int) -> int:
        # Atomics of parts of words change the whole word, so a buffer ends with one.
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        with self.lock:
            if size > self.largest or self.taken + size > self.limit:
                return 0
            try:
                buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
            except cl.MemoryError:
                return 0
            address = self.end
            self.end += -(-(size + GAP) // GAP) * GAP
            self.starts.append(address)
            self.buffers.append(buffer)
            self.taken += size
        return address

    def give(self, address: int, nbytes: int) -> None:
        with self.lock:
            at = bisect_right(self.starts, address) - 1
            if at < 0 or self.starts[at] != address:
                raise ValueError(f"[give] requires an address that take gave, got {address:#x}")
            self.taken -= self.buffers[at].size
            del self.starts[at]
            # The driver keeps it until commands that use it are done.
            self.buffers.pop(at).release()

    def find(self, address: int) -> tuple[cl.Buffer, int]:
        """The object that holds an address, and the offset in it."""
        with self.lock:
            at = bisect_right(self.starts, address) - 1
            if at >= 0:
                buffer, offset = self.buffers[at], address - self.starts[at]
                if offset < buffer.size:
                    return buffer, offset
        raise ValueError(f"address {address:#x} is none of this device's")

    def move(self, target: int, source: int, nbytes: int) -> None:
        (to, to_at), (of, of_at) = self.find(target), self.find(source)
        cl.enqueue_copy(self.queue, to, of, byte_count=nbytes, src_offset=of_at, dst_offset=to_at)
        self.queue.finish()

    def read(self, address: int, nbytes: int) -> bytes:
        buffer, at = self.find(address)
        found = np.empty(nbytes, np.uint8)
        cl.enqueue_copy(self.queue, found, buffer, src_offset=at, is_blocking=True)
        return found.tobytes()

    def write(self, address: int, data: bytes) -> None:
        buffer, at = self.find(address)
        cl.enqueue_copy(self.queue, buffer, np.frombuffer(data, np.uint8), dst_offset=at, is_blocking=True)

    def array(self, x: Buffer) -> np.ndarray:
        """The elements of a tensor as they are now, for the host to keep."""
        return read_array(x, self.read)
