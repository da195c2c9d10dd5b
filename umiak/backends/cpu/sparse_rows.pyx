# cython: binding=False
"""Launching matmuls of sparse and dense matrices: rows in parts, each by sparse_rows.h."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from umiak.backends.cpu.launcher cimport no_memory, parallel_for, thread_count
from umiak.backends.cpu.providers.common cimport in_order, scratch_free

cdef extern from "umiak/backends/cpu/sparse_rows.h" nogil:
    void sparse_times_f32_i32(int64_t, int64_t, const int32_t*, const int32_t*, const float*, const float*, float*)
    void sparse_times_f32_i64(int64_t, int64_t, const int64_t*, const int64_t*, const float*, const float*, float*)
    void sparse_times_f64_i32(int64_t, int64_t, const int32_t*, const int32_t*, const double*, const double*, double*)
    void sparse_times_f64_i64(int64_t, int64_t, const int64_t*, const int64_t*, const double*, const double*, double*)
    void sparse_at_f32_i32(int64_t, int64_t, const int32_t*, const int32_t*, const float*, const float*, float*)
    void sparse_at_f32_i64(int64_t, int64_t, const int64_t*, const int64_t*, const float*, const float*, float*)
    void sparse_at_f64_i32(int64_t, int64_t, const int32_t*, const int32_t*, const double*, const double*, double*)
    void sparse_at_f64_i64(int64_t, int64_t, const int64_t*, const int64_t*, const double*, const double*, double*)

cdef enum:
    PARALLEL = 1 << 16          # products, from which on other threads help
    PARTS_PER_THREAD = 4

cdef struct Config:
    int doubles, longs

cdef struct Launch:
    const Config* config
    const char* first           # crows, or the rows of positions
    const char* cols
    const char* x               # values, or the left matrix
    const char* y               # the dense matrix, or the right one
    char* out
    int64_t rows, length        # of the result, or of the positions; of a row of the dense matrix
    int64_t chunk
    bint sampled


cdef int run_part(void* arg, int64_t part) noexcept nogil:
    cdef const Launch* w = <const Launch*>arg
    cdef int64_t begin = part * w.chunk, count = min(w.chunk, w.rows - begin)
    cdef int64_t item = 8 if w.config.doubles else 4, index = 8 if w.config.longs else 4
    cdef const void* p = w.first + begin * index
    cdef const void* c = w.cols
    cdef void* z = w.out + begin * item * (1 if w.sampled else w.length)
    if w.sampled:
        c = w.cols + begin * index
        if w.config.doubles and w.config.longs:
            sparse_at_f64_i64(count, w.length, <int64_t*>p, <int64_t*>c, <double*>w.x, <double*>w.y, <double*>z)
        elif w.config.doubles:
            sparse_at_f64_i32(count, w.length, <int32_t*>p, <int32_t*>c, <double*>w.x, <double*>w.y, <double*>z)
        elif w.config.longs:
            sparse_at_f32_i64(count, w.length, <int64_t*>p, <int64_t*>c, <float*>w.x, <float*>w.y, <float*>z)
        else:
            sparse_at_f32_i32(count, w.length, <int32_t*>p, <int32_t*>c, <float*>w.x, <float*>w.y, <float*>z)
    elif w.config.doubles and w.config.longs:
        sparse_times_f64_i64(count, w.length, <int64_t*>p, <int64_t*>c, <double*>w.x, <double*>w.y, <double*>z)
    elif w.config.doubles:
        sparse_times_f64_i32(count, w.length, <int32_t*>p, <int32_t*>c, <double*>w.x, <double*>w.y, <double*>z)
    elif w.config.longs:
        sparse_times_f32_i64(count, w.length, <int64_t*>p, <int64_t*>c, <float*>w.x, <float*>w.y, <float*>z)
    else:
        sparse_times_f32_i32(count, w.length, <int32_t*>p, <int32_t*>c, <float*>w.x, <float*>w.y, <float*>z)
    return 0


cdef int run(Launch* w, const int64_t* dims, int x_rank, int64_t products) noexcept nogil:
    """``dims``: sizes and strides of x, then of y, which may lie in any way."""
    cdef const int64_t* of_y = dims + 2 * x_rank
    cdef int item = 8 if w.config.doubles else 4
    cdef int64_t parts = 1
    cdef void* rooms[2]
    if w.rows == 0:
        return 0
    rooms[0] = rooms[1] = NULL
    if in_order(&w.x, dims, dims + x_rank, x_rank, item, &rooms[0]) or in_order(&w.y, of_y, of_y + 2, 2, item, &rooms[1]):
        scratch_free(rooms[0])
        return no_memory()
    if products >= PARALLEL and thread_count() > 1:
        parts = min(w.rows, <int64_t>thread_count() * PARTS_PER_THREAD)
    w.chunk = (w.rows + parts - 1) // parts
    parts = (w.rows + w.chunk - 1) // w.chunk
    if parts > 1:
        parallel_for(run_part, w, parts)
    else:
        run_part(w, 0)
    scratch_free(rooms[0])
    scratch_free(rooms[1])
    return 0


cdef int launch_times(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """The native launch ABI. ``dims``: rows of the result; size and stride of the values, sizes and strides of the dense
    matrix. Pointers: crows, rows (unread), cols, values, the dense matrix, the result."""
    cdef Launch w
    w.config, w.sampled = <const Config*>self, False
    w.first, w.cols, w.x, w.y, w.out = <char*>ptrs[0], <char*>ptrs[2], <char*>ptrs[3], <char*>ptrs[4], <char*>ptrs[5]
    w.rows, w.length = dims[0], dims[4]
    return run(&w, dims + 1, 1, dims[1] * w.length)


cdef int launch_at(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil:
    """``dims``: how many positions; sizes and strides of both matrices. Pointers: rows, cols, left, right, the result."""
    cdef Launch w
    w.config, w.sampled = <const Config*>self, True
    w.first, w.cols, w.x, w.y, w.out = <char*>ptrs[0], <char*>ptrs[1], <char*>ptrs[2], <char*>ptrs[3], <char*>ptrs[4]
    w.rows, w.length = dims[0], dims[2]
    return run(&w, dims + 1, 2, w.rows * w.length)


cdef class SparseRows:
    """Kernels for values of float64 or float32 and indices of int64 or int32."""

    cdef Config config

    def __init__(self, bint doubles, bint longs):
        self.config.doubles, self.config.longs = doubles, longs

    @property
    def times(self):
        return <size_t><void*>&launch_times

    @property
    def at_positions(self):
        return <size_t><void*>&launch_at

    @property
    def self_pointer(self):
        return <size_t>&self.config
