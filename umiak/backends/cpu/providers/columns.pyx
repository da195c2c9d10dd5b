"""Convolutions as products of matrices: patches as columns, a part of the positions at a time, so that they stay in cache."""
from libc.stdint cimport int64_t
from libc.string cimport memset

from umiak.backends.cpu.providers.common cimport NO_MEMORY, copy_strided, give, take
from umiak.backends.cpu.providers.gemm cimport T_F32, T_F64, gemm

cdef extern from "columns.h" nogil:
    void columns_gather_f32(const ColumnsOf* q, const float* x, float* col, int64_t first, int64_t last)
    void columns_gather_f64(const ColumnsOf* q, const double* x, double* col, int64_t first, int64_t last)
    void columns_add_f32(const ColumnsOf* q, float* x, const float* col, int64_t first, int64_t last)
    void columns_add_f64(const ColumnsOf* q, double* x, const double* col, int64_t first, int64_t last)

cdef enum:
    PART = 1 << 19             # bytes of columns at a time


cdef int by_columns(int libs, int kind, bint double_, const Geometry* q, void* x, void* w, void* g) noexcept nogil:
    """All three contiguous, of float32 or float64; no size is 0."""
    cdef ColumnsOf shape
    cdef int dtype = T_F64 if double_ else T_F32
    cdef int size = 8 if double_ else 4
    cdef int i, first_axis = 3 - q.nd, bad = 0
    cdef int64_t image = 1, positions = 1, places = 1, rows, at_a_time, first, last, p, count, depth, og = q.o // q.groups
    cdef int64_t group, n
    cdef bint pointwise = True
    cdef char* xs
    cdef char* ws
    cdef char* gs
    cdef void* col = NULL
    for i in range(3):
        if i < first_axis:
            shape.size[i] = shape.kernel[i] = shape.out[i] = shape.stride[i] = shape.dilation[i] = 1
            shape.lo[i] = 0
        else:
            shape.size[i], shape.kernel[i], shape.out[i] = q.size[i - first_axis], q.kernel[i - first_axis], q.out[i - first_axis]
            shape.stride[i], shape.lo[i], shape.dilation[i] = q.stride[i - first_axis], q.lo[i - first_axis], q.dilation[i - first_axis]
        image *= shape.size[i]
        positions *= shape.out[i]
        places *= shape.kernel[i]
        pointwise = pointwise and shape.kernel[i] == 1 and shape.lo[i] == 0 and shape.stride[i] == 1 and shape.size[i] == shape.out[i]
    shape.channels = q.c // q.groups
    depth = shape.channels * places
    rows = shape.out[0] * shape.out[1]
    at_a_time = rows if pointwise else min(rows, max(1, PART // (depth * shape.out[2] * size)))
    if not pointwise:
        col = take(depth * at_a_time * shape.out[2] * size)
        if col == NULL:
            return NO_MEMORY
    if kind == INPUT_GRAD and not pointwise:
        memset(x, 0, q.n * q.c * image * size)
    if kind == WEIGHT_GRAD:
        memset(w, 0, q.o * depth * size)
    for n in range(q.n):
        for group in range(q.groups):
            xs = <char*>x + (n * q.c + group * shape.channels) * image * size
            ws = <char*>w + group * og * depth * size
            first = -at_a_time
            while first + at_a_time < rows:
                first += at_a_time
                last = min(first + at_a_time, rows)
                p, count = first * shape.out[2], (last - first) * shape.out[2]
                gs = <char*>g + ((n * q.o + group * og) * positions + p) * size
                if pointwise:
                    col = xs
                elif kind != INPUT_GRAD:
                    if double_:
                        columns_gather_f64(&shape, <const double*>xs, <double*>col, first, last)
                    else:
                        columns_gather_f32(&shape, <const float*>xs, <float*>col, first, last)
                if kind == FORWARD:
                    bad = gemm(libs, dtype, og, count, depth, ws, depth, 1, col, count, 1, gs, positions, 1, False)
                elif kind == INPUT_GRAD:
                    bad = gemm(libs, dtype, depth, count, og, ws, 1, depth, gs, positions, 1, col, count, 1, False)
                    if not bad and not pointwise:
                        if double_:
                            columns_add_f64(&shape, <double*>xs, <const double*>col, first, last)
                        else:
                            columns_add_f32(&shape, <float*>xs, <const float*>col, first, last)
                else:
                    bad = gemm(libs, dtype, og, depth, count, gs, positions, 1, col, 1, count, ws, depth, 1, True)
                if bad:
                    break
            if bad:
                break
        if bad:
            break
    if not pointwise:
        give(col)
    return bad


cdef int pointwise_weights(int libs, const Geometry* q, bint last, const float* x, float* w, const float* g) noexcept nogil:
    """The gradient of a kernel of one place that visits every place: products of channels by positions.

    ``last``: channels are the last axis of x and g, else the second. What runs along the rows of the product is packed by
    the libraries: the smaller of the two.
    """
    cdef int64_t p = 1, n
    cdef int64_t sizes[3]
    cdef int64_t to[3]
    cdef int64_t by[3]
    cdef int i, bad = 0
    cdef float* block
    cdef float* packed
    for i in range(q.nd):
        p *= q.size[i]
    if last or p == 1:
        return gemm(libs, T_F32, q.o, q.c, q.n * p, g, 1, q.o, x, q.c, 1, w, q.c, 1, False)
    if p < 128 and q.n > 1:
        # Too few positions for a product of their own: those of all images side by side.
        block = <float*>take((q.c + q.o) * q.n * p * sizeof(float))
        if block == NULL:
            return NO_MEMORY
        packed = block + q.c * q.n * p
        sizes[0], sizes[1], sizes[2] = q.n, q.c, p
        to[0], to[1], to[2] = p, q.n * p, 1
        by[0], by[1], by[2] = q.c * p, p, 1
        copy_strided(<char*>block, to, <const char*>x, by, sizes, 3, sizeof(float))
        sizes[1], by[0] = q.o, q.o * p
        copy_strided(<char*>packed, to, <const char*>g, by, sizes, 3, sizeof(float))
        bad = gemm(libs, T_F32, q.o, q.c, q.n * p, packed, q.n * p, 1, block, 1, q.n * p, w, q.c, 1, False)
        give(block)
        return bad
    if q.o >= q.c:
        for n in range(q.n):
            bad = gemm(libs, T_F32, q.o, q.c, p, g + n * q.o * p, p, 1, x + n * q.c * p, 1, p, w, q.c, 1, n > 0)
            if bad:
                break
        return bad
    block = <float*>take(q.o * q.c * sizeof(float))
    if block == NULL:
        return NO_MEMORY
    for n in range(q.n):
        bad = gemm(libs, T_F32, q.c, q.o, p, x + n * q.c * p, p, 1, g + n * q.o * p, 1, p, block, q.o, 1, n > 0)
        if bad:
            break
    if not bad:
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.o, q.c, q.c, 1, 1, q.o
        copy_strided(<char*>w, to, <const char*>block, by, sizes, 2, sizeof(float))
    give(block)
    return bad
