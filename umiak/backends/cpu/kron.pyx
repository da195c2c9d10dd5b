# cython: binding=False
"""Launching Kronecker products: rows of the result in parts, each by kron.h."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport MAX_AXES, in_order, scratch_free

cdef extern from "umiak/backends/cpu/kron.h" nogil:
    void kron_f32(const float* a, int64_t m, const float* b, int64_t n, float* out, const float* end)
    void kron_f64(const double* a, int64_t m, const double* b, int64_t n, double* out, const double* end)
    void kron_i32(const uint32_t* a, int64_t m, const uint32_t* b, int64_t n, uint32_t* out, const uint32_t* end)
    void kron_i64(const uint64_t* a, int64_t m, const uint64_t* b, int64_t n, uint64_t* out, const uint64_t* end)

cdef enum:
    PARALLEL = 1 << 17          # numbers, from which on other threads help
    PARTS_PER_THREAD = 4

DTYPES = ("float32", "float64", "int32", "int64")

cdef struct Config:
    int type                    # a place in DTYPES
    int rank
    int itemsize

cdef struct Launch:
    const Config* config
    const char* x
    const char* y
    char* out
    const int64_t* x_sizes
    const int64_t* y_sizes
    int64_t rows, chunk


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef const Launch* w = <const Launch*>arg
    cdef int last = w.config.rank - 1, item = w.config.itemsize, d
    cdef int64_t m = w.x_sizes[last], n = w.y_sizes[last], stop = min((part + 1) * w.chunk, w.rows), r, left, at, by, i, j
    cdef const char* a
    cdef const char* b
    cdef char* out
    cdef char* end = w.out + stop * m * n * item
    for r in range(part * w.chunk, stop):
        left, i, j, at, by = r, 0, 0, m, n
        for d in range(last - 1, -1, -1):
            i += left // w.y_sizes[d] % w.x_sizes[d] * at
            j += left % w.y_sizes[d] * by
            left //= w.x_sizes[d] * w.y_sizes[d]
            at *= w.x_sizes[d]
            by *= w.y_sizes[d]
        a, b, out = w.x + i * item, w.y + j * item, w.out + r * m * n * item
        if w.config.type == 0:
            kron_f32(<float*>a, m, <float*>b, n, <float*>out, <float*>end)
        elif w.config.type == 1:
            kron_f64(<double*>a, m, <double*>b, n, <double*>out, <double*>end)
        elif w.config.type == 2:
            kron_i32(<uint32_t*>a, m, <uint32_t*>b, n, <uint32_t*>out, <uint32_t*>end)
        else:
            kron_i64(<uint64_t*>a, m, <uint64_t*>b, n, <uint64_t*>out, <uint64_t*>end)
    return 0


cdef int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: sizes and strides of x, then of y. Pointers: x, y, the result."""
    cdef Launch w
    cdef int rank = (<Config*>self).rank, d
    cdef int64_t parts = 1, row
    cdef void* rooms[2]
    w.config = <const Config*>self
    w.x, w.y, w.out = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2]
    w.x_sizes, w.y_sizes = dims, dims + 2 * rank
    w.rows, row = 1, w.x_sizes[rank - 1] * w.y_sizes[rank - 1]
    for d in range(rank - 1):
        w.rows *= w.x_sizes[d] * w.y_sizes[d]
    if w.rows * row == 0:
        return 0
    rooms[0] = rooms[1] = NULL
    if in_order(&w.x, dims, dims + rank, rank, w.config.itemsize, &rooms[0]) \
            or in_order(&w.y, w.y_sizes, w.y_sizes + rank, rank, w.config.itemsize, &rooms[1]):
        scratch_free(rooms[0])
        return no_memory()
    if w.rows > 1 and w.rows * row >= PARALLEL and thread_count() > 1:
        parts = min(w.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.rows + parts - 1) // parts
    parts = (w.rows + w.chunk - 1) // w.chunk
    if parts > 1:
        parallel_for(run_part, &w, parts)
    else:
        run_part(&w, 0)
    scratch_free(rooms[0])
    scratch_free(rooms[1])
    return 0


cdef class Kron:
    """A kernel for operands of one dtype and rank."""

    cdef Config config

    def __init__(self, str dtype, int rank):
        if dtype not in DTYPES or not 1 <= rank <= MAX_AXES:
            raise ValueError(f"[Kron] requires a dtype of {DTYPES} and 1 to {MAX_AXES} dims, got {dtype!r} and {rank}")
        self.config.type, self.config.rank = DTYPES.index(dtype), rank
        self.config.itemsize = 8 if dtype.endswith("64") else 4

    @property
    def address(self):
        return <size_t><void*>&launch

    @property
    def self_pointer(self):
        return <size_t>&self.config
