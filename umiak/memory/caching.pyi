"""A caching allocator over any source of raw memory."""

from umiak.core.storage import Allocator

class Source:
    """Raw memory of one place; subclassed in Cython."""

class CachingAllocator(Allocator):
    place: int  # index
    source: Source
    cache_limit: int  # cached bytes in blocks of 1 MiB or more, 0 for no limit
    def __init__(self, place: int, source: Source, limit: int = 0, cache_limit: int = 0) -> None: ...

def size_class(nbytes: int) -> tuple[int, int]: ...
def host_allocator(place: int, limit: int = 0) -> CachingAllocator: ...
def null_allocator(place: int, limit: int = 0) -> CachingAllocator: ...
