"""A caching allocator over any source of raw memory."""
from libc.stdint cimport int32_t, int64_t

from umiak.core.storage cimport Allocator, Storage

cdef enum:
    CLASS_COUNT = 320          # 64, 128, ... 512, then eight sizes per power of two, up to 2^48
    LARGE = 1 << 20            # blocks from here on count against cache_limit
    LARGE_CLASS = 95           # their first class

cdef struct Bin:               # cached blocks of one size class and stream: a stack, the warmest on top
    char** items
    int32_t n
    int32_t room

cdef struct Pending            # a freed block that other streams may still use

cdef class Source:
    """Raw memory of one place. ``nothing`` is the address of empty storages: valid, aligned, never read or written."""
    cdef char* nothing
    cdef int access            # ACCESS_* of storage.pxd
    cdef char* take(self, int64_t nbytes) except? NULL          # NULL without an exception: there is no more
    cdef void give(self, char* data, int64_t nbytes) noexcept
    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1
    cdef object save(self, const char* source, int64_t nbytes)
    cdef int load(self, char* target, int64_t nbytes, object kept) except -1

cdef class CachingAllocator(Allocator):
    cdef readonly Source source
    cdef readonly int place
    cdef public int64_t limit              # bytes of raw memory, 0 for no limit
    cdef public int64_t cache_limit        # cached bytes in blocks of LARGE or more, 0 for no limit
    cdef public object pressure            # None, or what is asked to give memory up before a request fails: see memory.on_pressure
    cdef Bin* bins[256]                    # by stream, then by size class
    cdef Pending* first
    cdef Pending* last
    cdef int64_t allocated, allocated_peak, requested, requested_peak, reserved, reserved_peak
    cdef int64_t pending, cached_large
    cdef int64_t allocations, frees, source_allocations, source_frees, retries, failures
    cdef Bin* open_stream(self, int64_t stream) except NULL
    cdef char* pop(self, Bin* bin, int c) noexcept
    cdef char* refill(self, Bin* bin, int c, int64_t nbytes) except NULL
    cdef char* take_raw(self, int c) except? NULL
    cdef void give_raw(self, char* data, int c) noexcept
    cdef void keep(self, Bin* bin, int c, char* data) noexcept
    cdef bint settled(self, Storage s) noexcept
    cdef int defer(self, Storage s) except -1
    cdef int collect(self) except -1
    cdef int64_t drop_cached(self, int64_t smallest) except -1
