"""A caching allocator over any source of raw memory.

Blocks come in size classes: multiples of 64 bytes up to 512, above that eight sizes per power of two, so that at most
1/9 of a block is waste. A freed block goes on a stack of its class and stream and is handed out again to work
on the same stream, which by stream order runs after its last use. If other streams used it, it first waits until they have passed the
point they were at when it was freed. Everything runs under the GIL.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from umiak.core.storage cimport ACCESS_DEVICE, ACCESS_HOST, ACCESS_NOTHING, Allocator, Storage, move_to, out_of_memory
from umiak.core.stream cimport MAX_STREAMS, record_ticket, stream_idle, stream_state, synchronize_place, ticket_done

import os

cdef extern from *:
    """
    #include <stdlib.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #define UMIAK_MAX_REQUEST ((int64_t)1 << 47)
    static char umiak_nothing[64] __attribute__((aligned(64)));
    #include "umiak/util/large_pages.h"
    #define UMIAK_HUGE_PAGE ((int64_t)UMIAK_LARGE_PAGE)
    #define UMIAK_SLAB ((int64_t)1 << 23)
    #define UMIAK_OPEN 4
    #ifndef MAP_ANONYMOUS
    #define MAP_ANONYMOUS MAP_ANON
    #endif
    /* Blocks below a huge page are cut from slabs of four of them, one after the other; a slab goes back as a whole, with its last block.
       Its first 64 bytes hold these. It lies at a multiple of its size, so that a block finds it. All under the GIL. */
    typedef struct { int64_t used, live; } umiak_slab_t;
    static umiak_slab_t *umiak_open[UMIAK_OPEN];
    static umiak_slab_t *umiak_new_slab(void) {
        char *p = (char*)mmap(0, 2 * UMIAK_SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
        if (p == (char*)MAP_FAILED) return 0;
        at = (char*)(((uintptr_t)p + UMIAK_SLAB - 1) & -(uintptr_t)UMIAK_SLAB);
        if (at > p) munmap(p, (size_t)(at - p));
        munmap(at + UMIAK_SLAB, (size_t)(p + UMIAK_SLAB - at));
    #ifdef MADV_HUGEPAGE
        /* Streaming through small pages costs up to a third. A refusal is fine. */
        madvise(at, (size_t)UMIAK_SLAB, MADV_HUGEPAGE);
    #endif
        ((umiak_slab_t*)at)->used = 64;
        ((umiak_slab_t*)at)->live = 0;
        return (umiak_slab_t*)at;
    }
    static char *umiak_host_take(int64_t n) {
        char *p;
        umiak_slab_t *s = 0;
        int i, fullest = 0;
        if (n >= UMIAK_HUGE_PAGE) return (char*)umiak_numbers((size_t)n);
        for (i = 0; i < UMIAK_OPEN; i++) {
            if (umiak_open[i] && umiak_open[i]->used + n <= UMIAK_SLAB) { s = umiak_open[i]; break; }
            if (!umiak_open[i] || (umiak_open[fullest] && umiak_open[i]->used > umiak_open[fullest]->used)) fullest = i;
        }
        if (!s) {
            s = umiak_new_slab();
            if (!s) return 0;
            umiak_open[fullest] = s;
        }
        p = (char*)s + s->used;
        s->used += (n + 63) & -64;
        s->live++;
        return (char*)p;
    }
    static void umiak_host_give(char *p, int64_t n) {
        umiak_slab_t *s = (umiak_slab_t*)((uintptr_t)p & -(uintptr_t)UMIAK_SLAB);
        int i;
        if (n >= UMIAK_HUGE_PAGE) { free(p); return; }
        if (--s->live) return;
        for (i = 0; i < UMIAK_OPEN; i++) if (umiak_open[i] == s) umiak_open[i] = 0;
        munmap((void*)s, (size_t)UMIAK_SLAB);
    }
    static inline int umiak_size_class(int64_t n) {     /* n >= 1 */
        if (n <= 512) return (int)((n - 1) >> 6);
        int e = 63 - __builtin_clzll((unsigned long long)(n - 1));
        return 8 + (e - 9) * 8 + (int)(((n - 1) >> (e - 3)) & 7);
    }
    """
    int64_t MAX_REQUEST "UMIAK_MAX_REQUEST"
    char* umiak_nothing
    char* umiak_host_take(int64_t n) nogil
    void umiak_host_give(char* p, int64_t n) nogil
    int umiak_size_class(int64_t n) nogil

cdef struct Pending:
    Pending* next
    char* data
    int64_t nbytes
    int32_t size_class
    int32_t stream
    int32_t n              # tickets still open, of those behind `tickets`
    int64_t* tickets       # stream, ticket, stream, ticket, ...

cdef int64_t[CLASS_COUNT] SIZES

cdef int fill_sizes() except -1:
    cdef int c, e, j
    for c in range(8):
        SIZES[c] = (c + 1) * 64
    for c in range(8, CLASS_COUNT):
        e = 9 + (c - 8) // 8
        j = (c - 8) % 8
        SIZES[c] = (<int64_t>1 << e) + (<int64_t>(j + 1) << (e - 3))
    return 0

fill_sizes()


# ---- sources

cdef class Source:
    """Raw memory of one place."""

    cdef char* take(self, int64_t nbytes) except? NULL:
        raise NotImplementedError(f"{type(self).__name__} has no memory")

    cdef void give(self, char* data, int64_t nbytes) noexcept:
        pass

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot copy")

    cdef object save(self, const char* source, int64_t nbytes):
        raise NotImplementedError(f"{type(self).__name__} cannot offload")

    cdef int load(self, char* target, int64_t nbytes, object kept) except -1:
        raise NotImplementedError(f"{type(self).__name__} cannot offload")


cdef class HostSource(Source):
    """Memory of the process, aligned to a cache line."""

    def __cinit__(self):
        self.nothing = umiak_nothing
        self.access = ACCESS_HOST

    cdef char* take(self, int64_t nbytes) except? NULL:
        return umiak_host_take(nbytes)

    cdef void give(self, char* data, int64_t nbytes) noexcept:
        umiak_host_give(data, nbytes)

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        if nbytes > 65536:
            with nogil:
                memcpy(target, source, nbytes)
        else:
            memcpy(target, source, nbytes)
        return 0

    cdef object save(self, const char* source, int64_t nbytes):
        return PyBytes_FromStringAndSize(source, nbytes)

    cdef int load(self, char* target, int64_t nbytes, object kept) except -1:
        memcpy(target, PyBytes_AS_STRING(kept), nbytes)
        return 0


cdef class NullSource(Source):
    """Addresses without memory. Each place has a range of its own, so that addresses of two places never mix unnoticed."""

    cdef uint64_t next

    def __cinit__(self, int place):
        self.next = <uint64_t>(place + 1) << 56
        self.nothing = <char*>self.next
        self.next += 64
        self.access = ACCESS_NOTHING

    cdef char* take(self, int64_t nbytes) except? NULL:
        cdef char* p = <char*>self.next
        self.next += nbytes
        return p

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        return 0

    cdef object save(self, const char* source, int64_t nbytes):
        return ()

    cdef int load(self, char* target, int64_t nbytes, object kept) except -1:
        return 0


cdef class DeviceSource(Source):
    """Memory that the host cannot read, through an object in Python: see caching.pyi."""

    cdef object memory

    def __cinit__(self, memory):
        self.memory = memory
        self.access = ACCESS_DEVICE
        self.nothing = <char*><size_t>memory.take(64)
        if self.nothing == NULL:
            raise MemoryError(f"{type(memory).__name__} has no memory")

    cdef char* take(self, int64_t nbytes) except? NULL:
        return <char*><size_t>self.memory.take(nbytes)

    cdef void give(self, char* data, int64_t nbytes) noexcept:
        self.memory.give(<size_t>data, nbytes)

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        self.memory.move(<size_t>target, <size_t>source, nbytes)
        return 0

    cdef object save(self, const char* source, int64_t nbytes):
        return self.memory.read(<size_t>source, nbytes)

    cdef int load(self, char* target, int64_t nbytes, object kept) except -1:
        self.memory.write(<size_t>target, kept)
        return 0


# ---- the allocator

cdef void postpone(CachingAllocator a, Pending* p) noexcept:
    """Put a freed block behind those that wait for other streams."""
    p.next = NULL
    if a.last == NULL:
        a.first = p
    else:
        a.last.next = p
    a.last = p


cdef class CachingAllocator(Allocator):
    """Keeps freed blocks for reuse. Policy in the module's docstring; figures in :meth:`stats`."""

    def __cinit__(self, int place, Source source not None, int64_t limit=0, int64_t cache_limit=0):
        self.place = place
        self.source = source
        self.access = source.access
        self.limit = limit
        self.cache_limit = cache_limit

    def __dealloc__(self):
        # Storages keep their allocator alive, so all blocks are cached or pending.
        cdef int i, c
        cdef int32_t j
        cdef Pending* p
        for i in range(MAX_STREAMS):
            if self.bins[i] != NULL:
                for c in range(CLASS_COUNT):
                    for j in range(self.bins[i][c].n):
                        self.source.give(self.bins[i][c].items[j], SIZES[c])
                    free(self.bins[i][c].items)
                free(self.bins[i])
        while self.first != NULL:
            p = self.first
            self.first = p.next
            self.source.give(p.data, SIZES[p.size_class])
            free(p)

    cdef int allocate(self, Storage s, int64_t nbytes, int64_t stream) except -1:
        cdef int c
        cdef Bin* bin
        cdef char* data
        if nbytes <= 0 or nbytes > MAX_REQUEST:
            if nbytes < 0:
                raise ValueError(f"requires a size of at least 0 bytes, got {nbytes}")
            if nbytes > 0:
                self.failures += 1
                out_of_memory(self.place, nbytes, self.allocated, self.reserved, self.limit, "more than any allocation may have")
            s.data = self.source.nothing
            s.capacity = 0
            s.handle = -1
            return 0
        if <uint64_t>stream >= <uint64_t>MAX_STREAMS or self.bins[stream] == NULL:
            self.open_stream(stream)
        c = umiak_size_class(nbytes)
        bin = self.bins[stream] + c
        if bin.n == 0:
            data = self.refill(bin, c, nbytes)
        else:
            data = self.pop(bin, c)
        s.data = data
        s.capacity = SIZES[c]
        s.handle = c
        self.allocations += 1
        self.requested += nbytes
        self.allocated += SIZES[c]
        if self.allocated > self.allocated_peak:
            self.allocated_peak = self.allocated
        if self.requested > self.requested_peak:
            self.requested_peak = self.requested
        return 0

    cdef void release(self, Storage s) noexcept:
        cdef int c = <int>s.handle
        if c < 0:
            return
        self.frees += 1
        self.requested -= s.nbytes
        self.allocated -= SIZES[c]
        if s.later is not None and not self.settled(s):
            return
        self.keep(self.bins[s.stream] + c, c, s.data)

    cdef bint settled(self, Storage s) noexcept:
        """Return whether a freed block may be reused at once. If not, it is queued, or lost when its streams cannot be asked."""
        self.pending += SIZES[s.handle]
        if self.defer(s):
            return False
        self.pending -= SIZES[s.handle]
        return True

    cdef Bin* open_stream(self, int64_t stream) except NULL:
        stream_state(self.place, stream)            # refuses ids that the place does not have
        cdef Bin* bins = <Bin*>calloc(CLASS_COUNT, sizeof(Bin))
        if bins == NULL:
            raise MemoryError()
        self.bins[stream] = bins
        return bins

    cdef void keep(self, Bin* bin, int c, char* data) noexcept:
        """Put a free block on its stack."""
        cdef char** items
        cdef int32_t room
        if bin.n == bin.room:
            room = 2 * bin.room if bin.room else 8
            items = <char**>realloc(bin.items, room * sizeof(char*))
            if items == NULL:
                self.give_raw(data, c)
                return
            bin.items = items
            bin.room = room
        bin.items[bin.n] = data
        bin.n += 1
        if c >= LARGE_CLASS:
            self.cached_large += SIZES[c]
            if self.cache_limit > 0 and self.cached_large > self.cache_limit:
                # The program's sizes have changed, or it is done with a big part: start afresh rather than choose.
                try:
                    self.drop_cached(LARGE)
                except BaseException:
                    pass                            # they stay cached

    cdef inline char* pop(self, Bin* bin, int c) noexcept:
        bin.n -= 1
        if c >= LARGE_CLASS:
            self.cached_large -= SIZES[c]
        return bin.items[bin.n]

    cdef char* refill(self, Bin* bin, int c, int64_t nbytes) except NULL:
        """A block although the stack is empty, or MemoryError."""
        cdef char* data
        cdef int attempt = 0
        if self.first != NULL:
            self.collect()
            if bin.n:
                return self.pop(bin, c)
        data = self.take_raw(c)
        if data == NULL:
            self.retries += 1
            self.drop_cached(0)                     # what no stream is using
            data = self.take_raw(c)
        if data == NULL:
            synchronize_place(self.place)           # then wait, and try with all of it
            self.collect()
            if bin.n:
                return self.pop(bin, c)
            self.drop_cached(0)
            data = self.take_raw(c)
        while data == NULL and self.pressure is not None and self.pressure(SIZES[c], attempt):
            attempt += 1
            self.collect()
            if bin.n:
                return self.pop(bin, c)
            self.drop_cached(0)
            data = self.take_raw(c)
        if data == NULL:
            self.failures += 1
            out_of_memory(
                self.place, nbytes, self.allocated, self.reserved, self.limit,
                "the limit is reached" if self.limit > 0 and self.reserved + SIZES[c] > self.limit else "the system has no more"
            )
        return data

    cdef char* take_raw(self, int c) except? NULL:
        cdef char* data
        if self.limit > 0 and self.reserved + SIZES[c] > self.limit:
            return NULL
        data = self.source.take(SIZES[c])
        if data != NULL:
            self.source_allocations += 1
            self.reserved += SIZES[c]
            if self.reserved > self.reserved_peak:
                self.reserved_peak = self.reserved
        return data

    cdef void give_raw(self, char* data, int c) noexcept:
        self.source_frees += 1
        self.reserved -= SIZES[c]
        self.source.give(data, SIZES[c])

    cdef int defer(self, Storage s) except -1:
        """Queue a freed block until other streams are done with it; 0 if they are."""
        cdef Pending* p
        cdef int64_t stream
        cdef list users = list(s.later)                 # while they are asked, others may use memory that is offloaded
        p = <Pending*>malloc(sizeof(Pending) + 2 * len(users) * sizeof(int64_t))
        if p == NULL:
            raise MemoryError()
        p.tickets = <int64_t*>(p + 1)
        p.n = 0
        try:
            for stream in users:
                if not stream_idle(self.place, stream):
                    p.tickets[2 * p.n] = stream
                    p.tickets[2 * p.n + 1] = record_ticket(self.place, stream)
                    p.n += 1
        except BaseException:
            free(p)
            raise
        if p.n == 0:
            free(p)
            return 0
        p.data = s.data
        p.size_class = <int32_t>s.handle
        p.stream = <int32_t>s.stream
        postpone(self, p)
        return 1

    cdef int collect(self) except -1:
        """Take back blocks whose last users are done."""
        # To ask a stream may end work that frees other blocks, and let other threads run, which may be short of memory, too: the block
        # that is asked for is out of their reach, and no other.
        cdef Pending* p = self.first
        cdef int64_t left = 0
        while p != NULL:
            left += 1
            p = p.next
        while left and self.first != NULL:
            left -= 1
            p = self.first
            self.first = p.next
            if self.first == NULL:
                self.last = NULL
            try:
                while p.n and ticket_done(self.place, p.tickets[2 * p.n - 2], p.tickets[2 * p.n - 1]):
                    p.n -= 1
            except BaseException:
                postpone(self, p)
                raise
            if p.n:
                postpone(self, p)
            else:
                self.pending -= SIZES[p.size_class]
                self.keep(self.bins[p.stream] + p.size_class, p.size_class, p.data)
                free(p)
        return 0

    cdef int64_t drop_cached(self, int64_t smallest) except -1:
        """Give cached blocks of at least ``smallest`` bytes back to the source, where their stream is idle."""
        cdef int i, c, start = umiak_size_class(smallest) if smallest > 0 else 0
        cdef int64_t before = self.reserved
        cdef Bin[CLASS_COUNT] idle
        for i in range(MAX_STREAMS):
            if self.bins[i] == NULL or not stream_idle(self.place, i):
                continue
            # While the source gets blocks other threads may run, and put more here that work in flight uses.
            memcpy(idle, self.bins[i], sizeof(idle))
            memset(self.bins[i] + start, 0, (CLASS_COUNT - start) * sizeof(Bin))
            for c in range(start, CLASS_COUNT):
                if c >= LARGE_CLASS:
                    self.cached_large -= idle[c].n * SIZES[c]
            for c in range(start, CLASS_COUNT):
                while idle[c].n:
                    idle[c].n -= 1
                    self.give_raw(idle[c].items[idle[c].n], c)
                free(idle[c].items)
        return before - self.reserved

    cdef int relocate(self, Storage s) except -1:
        cdef int c = <int>s.handle
        cdef char* old
        cdef char* new
        cdef Bin* bin
        if c < 0:
            return 0
        bin = self.bins[s.stream] + c
        new = self.pop(bin, c) if bin.n else self.refill(bin, c, s.nbytes)
        old = s.data                                    # others may have run
        try:
            move_to(s, new, SIZES[c], c)
        except BaseException:
            self.keep(bin, c, new)
            raise
        self.keep(bin, c, old)
        return 0

    cdef int copy(self, char* target, const char* source, int64_t nbytes) except -1:
        return self.source.copy(target, source, nbytes)

    cdef object save(self, Storage s):
        return self.source.save(s.data, s.nbytes)

    cdef int load(self, Storage s, object kept) except -1:
        return self.source.load(s.data, s.nbytes, kept)

    def stats(self):
        """Bytes: ``allocated`` (in blocks handed out), ``requested`` (of them asked for), ``reserved`` (held from the source), ``pending``
        (freed, in use by other streams), ``cached``, each peak. Counts: allocations, frees, calls of the source, retries after making room, failures."""
        return {
            "allocated": self.allocated,
            "allocated_peak": self.allocated_peak,
            "requested": self.requested,
            "requested_peak": self.requested_peak,
            "reserved": self.reserved,
            "reserved_peak": self.reserved_peak,
            "pending": self.pending,
            "cached": self.reserved - self.allocated - self.pending,
            "allocations": self.allocations,
            "frees": self.frees,
            "source_allocations": self.source_allocations,
            "source_frees": self.source_frees,
            "retries": self.retries,
            "failures": self.failures,
        }

    def reset_peaks(self):
        """Let the peaks start from what is in use now."""
        self.allocated_peak = self.allocated
        self.requested_peak = self.requested
        self.reserved_peak = self.reserved

    def empty_cache(self):
        """Give cached blocks back to the system, those of busy streams excepted. Returns the bytes given back."""
        self.collect()
        return self.drop_cached(0)


def size_class(int64_t nbytes):
    """(class, bytes of its blocks) for a request of 1 byte or more."""
    if nbytes < 1 or nbytes > MAX_REQUEST:
        raise ValueError(f"requires a size in [1, 2**47], got {nbytes}")
    cdef int c = umiak_size_class(nbytes)
    return c, SIZES[c]


def host_allocator(int place, int64_t limit=0):
    """An allocator of process memory for a place (by index). It caches large blocks up to a quarter of the machine's memory."""
    return CachingAllocator(place, HostSource(), limit, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)


def null_allocator(int place, int64_t limit=0):
    """An allocator of addresses without memory."""
    return CachingAllocator(place, NullSource(place), limit, 0)


def device_allocator(int place, memory, int64_t limit=0):
    """An allocator of memory that only a device can read."""
    return CachingAllocator(place, DeviceSource(memory), limit, 0)
