# cython: binding=False
"""Launching sort and top-k: rows in parts, each by sorting.h."""
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count

cdef extern from "umiak/backends/cpu/sorting.h" nogil:
    ctypedef struct umiak_sorting:
        int kind
        int bytes
        int rank
        int axis
        int falling
    ctypedef struct umiak_rows:
        const umiak_sorting* how
        const char* x
        char* values
        int64_t* places
        const int64_t* sizes
        const int64_t* strides
        int64_t wanted
        int64_t inner
        int64_t rows
        int64_t chunk
    int umiak_sort_rows(void* arg, int64_t part) noexcept

cdef extern from "Python.h":
    void PyErr_NoMemory()
    void PyErr_SetObject(object type, object value)

cdef enum:
    PARALLEL = 4096             # numbers, from which on other threads help
    PARTS_PER_THREAD = 4

cdef int64_t LONGEST = (<int64_t>1 << 32) - 1    # places have 32 bits beside a short key

KINDS = ("bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")     # in sorting.h


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: how many are wanted of each row, sizes, strides. Pointers: x, values, places."""
    cdef umiak_rows w
    cdef int d, code
    cdef int64_t parts = 1
    w.how = <umiak_sorting*>self
    w.x, w.values, w.places = <char*>ptrs[0], <char*>ptrs[1], <int64_t*>ptrs[2]
    w.wanted = dims[0]
    w.sizes = dims + 1
    w.strides = dims + 1 + w.how.rank
    w.rows = w.inner = 1
    for d in range(w.how.rank):
        if d != w.how.axis:
            w.rows *= w.sizes[d]
        if d > w.how.axis:
            w.inner *= w.sizes[d]
    if w.rows == 0 or w.wanted == 0:
        return 0
    if w.sizes[w.how.axis] > LONGEST:
        return too_long(w.sizes[w.how.axis])
    if w.rows > 1 and w.rows * w.sizes[w.how.axis] >= PARALLEL and thread_count() > 1:
        parts = min(w.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.rows + parts - 1) // parts
    parts = (w.rows + w.chunk - 1) // w.chunk
    code = parallel_for(umiak_sort_rows, &w, parts) if parts > 1 else umiak_sort_rows(&w, 0)
    return no_memory() if code else 0


cdef int too_long(int64_t n) noexcept with gil:
    PyErr_SetObject(OverflowError, f"[sort] requires at most {LONGEST} elements along the axis, got {n}")
    return -1


cdef int no_memory() noexcept with gil:
    PyErr_NoMemory()
    return -1


cdef class Sorting:
    """A kernel that sorts rows."""

    cdef umiak_sorting how

    def __init__(self, str dtype, int bytes, int rank, int axis, bint falling):
        if dtype == "uint8":
            dtype = "bool"
        if dtype not in KINDS or not 0 <= axis < rank:
            raise ValueError(f"[Sorting] requires a dtype of {KINDS} and an axis, got {dtype!r} and {axis} of {rank}")
        self.how.kind = KINDS.index(dtype)
        self.how.bytes = bytes
        self.how.rank = rank
        self.how.axis = axis
        self.how.falling = falling

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.how
