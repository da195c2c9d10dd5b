"""Memory of a device and pinned memory of the host, as the allocator and the copies use them."""

from __future__ import annotations

import ctypes
import math
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from umiak.backends.cuda.driver import OUT_OF_MEMORY, CudaError, DeviceAttribute
from umiak.backends.foreign_tensor import tensor_at
from umiak.backends.late_failures import read_array
from umiak.core.buffer import Buffer
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device, Queue


class Memory:
    """Blocks of one device (``umiak.memory.caching.DeviceMemory``)."""

    has_handles = True  # that other processes open

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.RLock()
        self.sizes: dict[int, int] = {}  # of blocks, by address
        self.protected: Counter[int] = Counter()  # blocks that graphs will use again
        self.postponed: set[int] = set()  # of these, what the allocator has given back
        self._stream = 0

    @property
    def stream(self) -> int:
        """A stream of its own, for what is done when a call returns."""
        with self.lock:
            if not self._stream:
                self._stream = self.device.driver.stream_create()
            return self._stream

    def close(self) -> None:
        if self._stream:
            self.device.driver.stream_destroy(self._stream)
            self._stream = 0

    def take(self, nbytes: int) -> int:
        self.device.enter()
        try:
            address = self.allocate(nbytes)
        except CudaError as error:
            if error.code == OUT_OF_MEMORY:
                return 0
            raise
        with self.lock:
            self.sizes[address] = nbytes
        return address

    def give(self, address: int, nbytes: int) -> None:
        with self.lock:
            if address not in self.sizes or address in self.postponed:
                raise ValueError(f"[give] requires an address that take gave, got {address:#x}")
            if self.protected[address]:
                self.postponed.add(address)
                return
            nbytes = self.sizes.pop(address)
        if self.device.lost is None:  # else its memory went with it
            self.device.enter()
            self.release(address, nbytes)

    def allocate(self, nbytes: int) -> int:
        return self.device.driver.mem_alloc(nbytes)

    def release(self, address: int, nbytes: int) -> None:
        self.device.driver.mem_free(address)

    def protect(self, addresses: set[int]) -> set[int]:
        """Keep the blocks that hold these addresses until :meth:`unprotect`; the addresses of the blocks."""
        with self.lock:
            blocks = {b for b in map(self.block, addresses) if b}
            self.protected.update(blocks)
        return blocks

    def unprotect(self, blocks: set[int]) -> None:
        with self.lock:
            self.protected.subtract(blocks)
            free = {b for b in blocks if not self.protected[b]}
            for b in free:
                del self.protected[b]
            free &= self.postponed
            self.postponed -= free
        for b in free:
            self.give(b, 0)

    def block(self, address: int) -> int:
        """The address of the block that holds an address; 0 where it is none of this memory's."""
        with self.lock:
            return max((b for b, n in self.sizes.items() if b <= address < b + n), default=0)

    def move(self, target: int, source: int, nbytes: int) -> None:
        driver = self.device.enter()
        driver.memcpy_async(target, source, nbytes, self.stream)
        driver.stream_synchronize(self.stream)

    def read(self, address: int, nbytes: int) -> bytes:
        driver = self.device.enter()
        data = np.empty(nbytes, np.uint8)
        driver.memcpy_async(data.ctypes.data, address, nbytes, self.stream)
        driver.stream_synchronize(self.stream)
        return data.tobytes()

    def write(self, address: int, data: bytes) -> None:
        driver = self.device.enter()
        array = np.frombuffer(data, np.uint8)
        driver.memcpy_async(address, array.ctypes.data, array.nbytes, self.stream)
        driver.stream_synchronize(self.stream)

    def array(self, x: Buffer) -> np.ndarray:
        """The elements of a tensor as they are now, for the host to keep."""
        return read_array(x, self.read)


class MappedMemory(Memory):
    """Blocks of reserved addresses with physical memory mapped to them: ``FLAGS_cuda_mapped_memory``.

    Addresses and memory are apart, so that :meth:`reserve`, :meth:`map` and :meth:`unmap` can move memory to other
    addresses and back without a copy.
    """

    has_handles = False  # those of cuIpcGetMemHandle are of blocks that cuMemAlloc gave

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        if not device.attribute(DeviceAttribute.VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED):
            raise op_error(ValueError, "FLAGS_cuda_mapped_memory", "a device that maps memory", device.place.name)
        device.enter()
        self.granularity = device.driver.mem_get_allocation_granularity(device.number)
        self.handles: dict[int, tuple[int, int]] = {}  # what is mapped, by address: handle and bytes

    def in_pages(self, nbytes: int) -> int:
        """Bytes of the pages that hold so many."""
        return -(-nbytes // self.granularity) * self.granularity

    def reserve(self, nbytes: int) -> int:
        """Addresses without memory behind them, a number of whole pages."""
        return self.device.enter().mem_address_reserve(self.in_pages(nbytes))

    def unreserve(self, address: int, nbytes: int) -> None:
        """Give back addresses that nothing is mapped to."""
        self.device.enter().mem_address_free(address, self.in_pages(nbytes))

    def map(self, address: int, nbytes: int) -> None:
        """Put new memory behind reserved addresses."""
        driver, size = self.device.enter(), self.in_pages(nbytes)
        handle = driver.mem_create(size, self.device.number)
        try:
            driver.mem_map(address, size, handle)
        except CudaError:
            driver.mem_release(handle)
            raise
        self.handles[address] = handle, size
        driver.mem_set_access(address, size, [self.device.number])

    def unmap(self, address: int) -> None:
        """Take the memory behind addresses back; they stay reserved."""
        driver = self.device.enter()
        handle, size = self.handles.pop(address)
        driver.mem_unmap(address, size)
        driver.mem_release(handle)

    def allocate(self, nbytes: int) -> int:
        address = self.reserve(nbytes)
        try:
            self.map(address, nbytes)
        except CudaError:
            if address in self.handles:
                self.unmap(address)
            self.unreserve(address, nbytes)
            raise
        return address

    def release(self, address: int, nbytes: int) -> None:
        self.unmap(address)
        self.unreserve(address, nbytes)


class PinnedBlocks:
    """Pinned memory of the host, kept for reuse. Blocks are powers of two. Every device can use it."""

    SMALLEST = 1 << 12
    lent: ClassVar[dict[int, int]] = {}  # sizes by address of the blocks that tensors lie in, of all devices

    def __init__(self, device: Device) -> None:
        self.device = device
        self.lock = threading.RLock()  # what is collected meanwhile may give a block back
        self.free: dict[int, list[int]] = {}  # addresses by size

    def take(self, nbytes: int) -> tuple[int, int]:
        """Address and size of a block of at least so many bytes."""
        size = max(self.SMALLEST, 1 << (nbytes - 1).bit_length())
        with self.lock:
            kept = self.free.get(size)
            if kept:
                return kept.pop(), size
        return self.device.enter().mem_host_alloc(size), size

    def give(self, block: tuple[int, int]) -> None:
        """Take a block back that no stream uses any more."""
        address, size = block
        with self.lock:
            self.free.setdefault(size, []).append(address)

    def tensor(self, sizes: Sequence[int], dtype: DType) -> Tensor:
        """A new tensor of the host in such memory, which comes back with the tensor."""
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        lent = Lent(self, max(math.prod(sizes) * dtype.itemsize, 1))
        return tensor_at(Place("cpu"), lent.block[0], dtype, sizes, strides, lent)

    @classmethod
    def holds(cls, address: int) -> bool:
        """Return whether an address is one of a tensor's in such memory."""
        # A copy: tensors of other threads, and such as are collected meanwhile, come and go.
        return any(b <= address < b + n for b, n in cls.lent.copy().items())

    def trim(self) -> None:
        """Give all that is unused back to the system."""
        with self.lock:
            free, self.free = self.free, {}
            addresses = [a for kept in free.values() for a in kept]
        for address in addresses:
            self.device.enter().mem_free_host(address)


class Lent:
    """A block that a tensor lies in."""

    def __init__(self, blocks: PinnedBlocks, nbytes: int) -> None:
        self.blocks = blocks
        self.block = blocks.take(nbytes)
        blocks.lent[self.block[0]] = self.block[1]

    def __del__(self) -> None:
        if hasattr(self, "block") and not sys.is_finalizing():
            del self.blocks.lent[self.block[0]]
            self.blocks.give(self.block)


PIECE = 1 << 22  # bytes of a large upload that are staged at a time
STAGED = 8  # pieces of one upload that may wait for the device


def upload_later(queue: Queue, target: Buffer, source: Buffer) -> None:
    """Queue a copy of pinned memory of the host, which is read when the stream comes to it."""
    nbytes, address, driver = source.nbytes, source.pointer, queue.device.driver
    kept = source.storage
    queue.put(
        "copy",
        lambda s: driver.memcpy_async(target.pointer, address, nbytes, s),
        done=lambda kept=kept: None,  # type: ignore[misc]
        uses=(target,),
    )


def upload(queue: Queue, target: Buffer, source: np.ndarray) -> None:
    """Queue a copy of bytes of the host, which have been read when this returns: they are staged in pinned memory."""
    device = queue.device
    tickets: list[int] = []
    for first in range(0, source.nbytes, PIECE):
        n = min(PIECE, source.nbytes - first)
        if len(tickets) >= STAGED:
            queue.wait(tickets.pop(0))
        block = device.pinned.take(n)
        ctypes.memmove(block[0], source.ctypes.data + first, n)
        at, address = target.pointer + first, block[0]
        ticket = queue.put(
            "copy",
            lambda s, at=at, address=address, n=n: device.driver.memcpy_async(at, address, n, s),  # type: ignore[misc]
            done=lambda block=block: device.pinned.give(block),  # type: ignore[misc]
            uses=(target,),
        )
        tickets.append(ticket)
