# cython: binding=False
"""Launching banded scans: rows of the batch in parts, each by banded_scan.h."""
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count

cdef extern from "umiak/backends/cpu/banded_scan.h" nogil:
    int UMIAK_BANDED_SCAN_BANDS
    ctypedef struct umiak_banded_scan:
        int bands
        int transpose
        int doubles
    ctypedef struct umiak_banded_scan_launch:
        const umiak_banded_scan* config
        char* out
        char* shares
        const char* arcs
        const char* given
        int64_t batch
        int64_t layers
        int64_t states
        int64_t chunk
        const int64_t* arc_strides
        const int64_t* given_strides
    int umiak_banded_scan_part(void* arg, int64_t part) noexcept

cdef enum:
    PARALLEL = 8192             # arcs, from which on other threads help
    PARTS_PER_THREAD = 4

MOST_BANDS = UMIAK_BANDED_SCAN_BANDS


cdef int run(umiak_banded_scan_launch* w) noexcept nogil:
    cdef int64_t parts = 1
    if w.batch == 0 or w.states == 0:
        return 0
    if w.batch > 1 and w.batch * w.layers * w.states * w.config.bands >= PARALLEL and thread_count() > 1:
        parts = min(w.batch, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.batch + parts - 1) // parts
    parts = (w.batch + w.chunk - 1) // w.chunk
    if (parallel_for(umiak_banded_scan_part, w, parts) if parts > 1 else umiak_banded_scan_part(w, 0)) != 0:
        return no_memory()
    return 0


cdef int log_sums(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes and strides of the arcs, strides of the walls. Pointers: arcs, walls, y, w."""
    cdef umiak_banded_scan_launch w
    w.config = <umiak_banded_scan*>self
    w.arcs, w.given, w.out, w.shares = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2], <char*>ptrs[3]
    w.batch, w.layers, w.states = dims[0], dims[1], dims[3]
    w.arc_strides = dims + 4
    w.given_strides = dims + 8
    return run(&w)


cdef int sums(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """``dims``: sizes and strides of w, strides of g. Pointers: w, g, x."""
    cdef umiak_banded_scan_launch w
    w.config = <umiak_banded_scan*>self
    w.arcs, w.given, w.out, w.shares = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2], NULL
    w.batch, w.layers, w.states = dims[0], dims[1], dims[3]
    w.arc_strides = dims + 4
    w.given_strides = dims + 8
    return run(&w)


cdef class BandedScan:
    """A kernel of banded scans: the number of bands, the type and the direction."""

    cdef umiak_banded_scan config

    def __init__(self, int bands, bint doubles, bint transpose=False):
        if not 1 <= bands <= UMIAK_BANDED_SCAN_BANDS:
            raise ValueError(f"[BandedScan] requires 1 to {UMIAK_BANDED_SCAN_BANDS} bands, got {bands}")
        self.config.bands = bands
        self.config.doubles = doubles
        self.config.transpose = transpose

    @property
    def log_sums(self):
        return <size_t><void*>&log_sums

    @property
    def sums(self):
        return <size_t><void*>&sums

    @property
    def self_pointer(self):
        return <size_t>&self.config
