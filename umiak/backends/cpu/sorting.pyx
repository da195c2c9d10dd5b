# cython: binding=False
"""Launching sort and top-k: rows in parts, each by sorting.h."""
from libc.stdint cimport int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport scratch_alloc, scratch_free

cdef extern from "umiak/backends/cpu/sorting.h" nogil:
    ctypedef struct umiak_sorting:
        int kind
        int bytes
        int rank
        int axis
        int falling
    ctypedef struct umiak_rows:
        const umiak_sorting* config
        const char* x
        char* values
        int64_t* places
        const int64_t* sizes
        const int64_t* strides
        int64_t wanted
        int64_t inner
        int64_t rows
        int64_t chunk
    int64_t umiak_sort_room(const umiak_rows* w) noexcept
    void umiak_sort_rows(const umiak_rows* w, int64_t part, char* room) noexcept

cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)

cdef enum:
    PARALLEL = 4096             # numbers, from which on other threads help
    PARTS_PER_THREAD = 4

cdef int64_t LONGEST = (<int64_t>1 << 32) - 1    # places have 32 bits beside a short key

KINDS = ("bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")     # in sorting.h


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    """One part of the rows: 0, or -1 without memory."""
    cdef const umiak_rows* w = <const umiak_rows*>arg
    cdef void* room = scratch_alloc(umiak_sort_room(w))
    if room == NULL:
        return -1
    umiak_sort_rows(w, part, <char*>room)
    scratch_free(room)
    return 0


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: how many are wanted of each row, sizes, strides. Pointers: x, values, places."""
    cdef umiak_rows w
    cdef int d, code
    cdef int64_t parts = 1
    w.config = <umiak_sorting*>self
    w.x, w.values, w.places = <char*>ptrs[0], <char*>ptrs[1], <int64_t*>ptrs[2]
    w.wanted = dims[0]
    w.sizes = dims + 1
    w.strides = dims + 1 + w.config.rank
    w.rows = w.inner = 1
    for d in range(w.config.rank):
        if d != w.config.axis:
            w.rows *= w.sizes[d]
        if d > w.config.axis:
            w.inner *= w.sizes[d]
    if w.rows == 0 or w.wanted == 0:
        return 0
    if w.sizes[w.config.axis] > LONGEST:
        return too_long(w.sizes[w.config.axis])
    if w.rows > 1 and w.rows * w.sizes[w.config.axis] >= PARALLEL and thread_count() > 1:
        parts = min(w.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.rows + parts - 1) // parts
    parts = (w.rows + w.chunk - 1) // w.chunk
    code = parallel_for(run_part, &w, parts) if parts > 1 else run_part(&w, 0)
    return no_memory() if code else 0


cdef int too_long(int64_t n) noexcept with gil:
    PyErr_SetObject(OverflowError, f"[sort] requires at most {LONGEST} elements along the axis, got {n}")
    return -1


cdef class Sorting:
    """A kernel that sorts rows."""

    cdef umiak_sorting config

    def __init__(self, str dtype, int bytes, int rank, int axis, bint falling):
        if dtype == "uint8":
            dtype = "bool"
        if dtype not in KINDS or not 0 <= axis < rank:
            raise ValueError(f"[Sorting] requires a dtype of {KINDS} and an axis, got {dtype!r} and {axis} of {rank}")
        self.config.kind = KINDS.index(dtype)
        self.config.bytes = bytes
        self.config.rank = rank
        self.config.axis = axis
        self.config.falling = falling

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config
