"""A caching allocator over any source of raw memory."""

from typing import Protocol

from umiak.core.storage import Allocator

class Source:
    """Raw memory of one place; subclassed in Cython."""

class CachingAllocator(Allocator):
    place: int  # index
    source: Source
    cache_limit: int  # cached bytes in blocks of 1 MiB or more, 0 for no limit
    def __init__(self, place: int, source: Source, limit: int = 0, cache_limit: int = 0) -> None: ...

class DeviceMemory(Protocol):
    """Raw memory of a device. Addresses mean something to the device alone; they are multiples of 64, and never 0.

    ``move``, ``read`` and ``write`` are done when they return; nothing that runs uses the memory.
    """

    def take(self, nbytes: int) -> int:
        """The address of new memory; 0 where there is no more."""

    def give(self, address: int, nbytes: int) -> None:
        """Take back what :meth:`take` gave."""

    def move(self, target: int, source: int, nbytes: int) -> None:
        """Copy bytes within the memory; the two regions share none."""

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes of the memory, for the host to keep."""

    def write(self, address: int, data: bytes) -> None:
        """Put kept bytes into the memory."""

def size_class(nbytes: int) -> tuple[int, int]: ...
def host_allocator(place: int, limit: int = 0) -> CachingAllocator: ...
def null_allocator(place: int, limit: int = 0) -> CachingAllocator: ...
def device_allocator(place: int, memory: DeviceMemory, limit: int = 0) -> CachingAllocator: ...
