# cython: binding=False
"""Launching concat and stack of many contiguous tensors: runs of bytes, one after the other."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from umiak.backends.cpu.launcher cimport parallel_for, thread_count

cdef enum:
    PARALLEL = 1 << 20         # bytes, from which on other threads help
    PARTS_PER_THREAD = 4

cdef struct Config:
    int64_t operands
    int64_t itemsize

cdef struct Launch:
    const Config* config
    void** ptrs                # of the operands, and of the result
    const int64_t* runs        # elements of each operand that lie together in the result
    int64_t row                # elements of all of them
    int64_t pieces, chunk


cdef int copy_pieces(void* arg, int64_t part) noexcept nogil:
    """Copy the runs of one part; piece ``i`` is operand ``i % operands`` of row ``i // operands``."""
    cdef Launch* w = <Launch*>arg
    cdef int64_t item = w.config.itemsize, n = w.config.operands
    cdef int64_t i = part * w.chunk, stop = min((part + 1) * w.chunk, w.pieces)
    cdef int64_t k = i % n, row = i // n, j
    cdef char* to = <char*>w.ptrs[n] + row * w.row * item
    for j in range(k):
        to += w.runs[j] * item
    while i < stop:
        memcpy(to, <char*>w.ptrs[k] + row * w.runs[k] * item, w.runs[k] * item)
        to += w.runs[k] * item
        i += 1
        k += 1
        if k == n:
            k = 0
            row += 1
    return 0


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: rows, then the run of each operand. Pointers: the operands, the result."""
    cdef Launch w
    cdef int64_t k, parts = 1
    w.config = <const Config*>self
    w.ptrs, w.runs = ptrs, dims + 1
    w.row = 0
    for k in range(w.config.operands):
        w.row += w.runs[k]
    w.pieces = dims[0] * w.config.operands
    if w.row * dims[0] == 0:
        return 0
    if w.row * dims[0] * w.config.itemsize >= PARALLEL and thread_count() > 1:
        parts = min(w.pieces, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.pieces + parts - 1) // parts
    parts = (w.pieces + w.chunk - 1) // w.chunk
    return parallel_for(copy_pieces, &w, parts) if parts > 1 else copy_pieces(&w, 0)


cdef class Joining:
    """A kernel that joins so many operands."""

    cdef Config config

    def __init__(self, int64_t operands, int64_t itemsize):
        if operands < 1 or itemsize < 1:
            raise ValueError(f"[Joining] requires operands and their itemsize, got {operands} and {itemsize}")
        self.config.operands, self.config.itemsize = operands, itemsize

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config
