# cython: binding=False
"""Launching chains of nests: one launch after the other, with temporaries among the pointers.

A result may lie in the memory of an operand: some launches are for that alone, and some for when it does not.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from umiak.backends.cpu.launcher cimport no_memory

cdef extern from *:
    """
    #include <stdlib.h>
    static inline void *umiak_temporary(int64_t bytes)
    {
        return aligned_alloc(64, (size_t)((bytes + 127) & ~(int64_t)63));
    }
    """
    void* umiak_temporary(int64_t bytes) nogil

ctypedef int (*launch_t)(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil

cdef enum:
    MAX_POINTERS = 64
    MAX_TEMPORARIES = 16
    APART_ONLY = 1              # when a nest is launched
    TOGETHER_ONLY = 2

# When a nest is launched: only where the result lies apart from the operand, or only in its memory.
ALWAYS, APART, TOGETHER = 0, APART_ONLY, TOGETHER_ONLY

cdef struct Link:
    launch_t launch
    void* self
    int64_t first               # of its dims
    int when

cdef struct Links:
    int count
    int pointers                # of a launch, without temporaries
    int temporaries
    int operand, result         # pointers that may be the same; -1: none
    Link* links


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: bytes of the temporaries, then what each nest asks for."""
    cdef Links* chain = <Links*>self
    cdef void* own[MAX_POINTERS + MAX_TEMPORARIES]
    cdef int i, made = 0, result = 0, left_out = TOGETHER_ONLY
    if chain.result >= 0 and ptrs[chain.operand] == ptrs[chain.result]:
        left_out = APART_ONLY
    if chain.temporaries:
        memcpy(own, ptrs, chain.pointers * sizeof(void*))
        while made < chain.temporaries:
            own[chain.pointers + made] = umiak_temporary(dims[made])
            if own[chain.pointers + made] == NULL:
                result = no_memory()
                break
            made += 1
        ptrs = own
    if result == 0:
        for i in range(chain.count):
            if chain.links[i].when == left_out:
                continue
            result = chain.links[i].launch(chain.links[i].self, ptrs, dims + chain.links[i].first, scalars, stream)
            if result != 0:
                break
    for i in range(made):
        free(own[chain.pointers + i])
    return result


cdef class ChainLauncher:
    """``links``: per nest its launch address, its ``self``, how many dims it asks for and when it is launched; ``pointers``:
    of a launch; ``into``: of them, an operand and the result that may lie in its memory."""

    cdef Links chain
    cdef object keep

    def __init__(self, links, int pointers, int temporaries, keep, into=None):
        cdef int64_t first = temporaries
        cdef size_t address, own
        cdef int i = 0, when
        if self.chain.links != NULL:
            raise RuntimeError("a ChainLauncher is initialised once")
        if not links:
            raise ValueError("[ChainLauncher] requires a nest at least, got none")
        if not 0 <= temporaries <= MAX_TEMPORARIES or not 0 <= pointers <= MAX_POINTERS:
            raise ValueError(
                f"[ChainLauncher] requires at most {MAX_POINTERS} pointers and {MAX_TEMPORARIES} temporaries, "
                f"got {pointers} and {temporaries}")
        self.chain.links = <Link*>calloc(len(links), sizeof(Link))
        if self.chain.links == NULL:
            raise MemoryError()
        self.chain.count = len(links)
        self.chain.pointers = pointers
        self.chain.temporaries = temporaries
        self.chain.operand, self.chain.result = (-1, -1) if into is None else into
        self.keep = keep
        for address, own, count, when in links:
            self.chain.links[i].launch = <launch_t><void*>address
            self.chain.links[i].self = <void*>own
            self.chain.links[i].first = first
            self.chain.links[i].when = when
            first += count
            i += 1

    def __dealloc__(self):
        free(self.chain.links)

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.chain
