"""Convolutions as matmuls: patches as columns, a part of the positions at a time, so that they stay in cache."""
from libc.stdint cimport int64_t, uint16_t
from libc.string cimport memcpy, memset

from umiak.backends.cpu.providers.common cimport NO_MEMORY, copy_strided, scratch_free, scratch_alloc
from umiak.backends.cpu.providers.gemm cimport T_F32, T_F64, gemm, itemsize_of

cdef extern from "im2col.h" nogil:
    void im2col_f32(const Im2col* q, const float* x, float* col, int64_t first, int64_t last)
    void im2col_f64(const Im2col* q, const double* x, double* col, int64_t first, int64_t last)
    void col2im_f32(const Im2col* q, float* x, const float* col, int64_t first, int64_t last)
    void col2im_f64(const Im2col* q, double* x, const double* col, int64_t first, int64_t last)

cdef extern from "taps.h" nogil:
    void taps_pack_16(uint16_t* to, const uint16_t* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_pack_f32(float* to, const float* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_pack_f64(double* to, const double* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_spread_16(uint16_t* to, const uint16_t* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_spread_f32(float* to, const float* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_spread_f64(double* to, const double* source, int64_t n, int64_t apart, const int64_t* at, int64_t taps)
    void taps_join_f32(float* to, const float* source, int64_t n, int64_t apart, int64_t taps)

cdef enum:
    PART = 1 << 19             # bytes of columns at a time
    MAX_TAPS = 64


cdef void shape_of(const Geometry* q, Im2col* shape) noexcept nogil:
    """Three spatial dims, the first of size 1 where there are fewer."""
    cdef int i, j
    for i in range(3):
        j = i - (3 - q.nd)
        if j < 0:
            shape.size[i] = shape.kernel[i] = shape.out[i] = shape.stride[i] = shape.dilation[i] = 1
            shape.lo[i] = 0
        else:
            shape.size[i], shape.kernel[i], shape.out[i] = q.size[j], q.kernel[j], q.out[j]
            shape.stride[i], shape.lo[i], shape.dilation[i] = q.stride[j], q.lo[j], q.dilation[j]
    shape.channels = q.c // q.groups


cdef int by_im2col(int libs, int kind, bint double_, const Geometry* q, void* x, void* w, void* g) noexcept nogil:
    """All three contiguous, of float32 or float64; no size is 0."""
    cdef Im2col shape
    cdef int dtype = T_F64 if double_ else T_F32
    cdef int size = 8 if double_ else 4
    cdef int i, bad = 0
    cdef int64_t image = 1, positions = 1, places = 1, rows, at_a_time, first, last, p, count, depth, og = q.o // q.groups
    cdef int64_t group, n
    cdef bint pointwise = True
    cdef char* xs
    cdef char* ws
    cdef char* gs
    cdef void* col = NULL
    shape_of(q, &shape)
    for i in range(3):
        image *= shape.size[i]
        positions *= shape.out[i]
        places *= shape.kernel[i]
        pointwise = pointwise and shape.kernel[i] == 1 and shape.lo[i] == 0 and shape.stride[i] == 1 and shape.size[i] == shape.out[i]
    depth = shape.channels * places
    rows = shape.out[0] * shape.out[1]
    at_a_time = rows if pointwise else min(rows, max(1, PART // (depth * shape.out[2] * size)))
    if not pointwise:
        col = scratch_alloc(depth * at_a_time * shape.out[2] * size)
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
                        im2col_f64(&shape, <const double*>xs, <double*>col, first, last)
                    else:
                        im2col_f32(&shape, <const float*>xs, <float*>col, first, last)
                if kind == FORWARD:
                    bad = gemm(libs, dtype, og, count, depth, ws, depth, 1, col, count, 1, gs, positions, 1, False)
                elif kind == INPUT_GRAD:
                    bad = gemm(libs, dtype, depth, count, og, ws, 1, depth, gs, positions, 1, col, count, 1, False)
                    if not bad and not pointwise:
                        if double_:
                            col2im_f64(&shape, <double*>xs, <const double*>col, first, last)
                        else:
                            col2im_f32(&shape, <float*>xs, <const float*>col, first, last)
                else:
                    bad = gemm(libs, dtype, og, depth, count, gs, positions, 1, col, 1, count, ws, depth, 1, True)
                if bad:
                    break
            if bad:
                break
        if bad:
            break
    if not pointwise:
        scratch_free(col)
    return bad


cdef int pointwise_weight_grad(int libs, const Geometry* q, bint last, const float* x, float* w, const float* g) noexcept nogil:
    """Weight gradient of a 1 × 1 convolution of stride 1 without padding: matmuls of channels by positions, of ``g`` and ``x``.

    ``last``: channels are the last axis of x and g, else the second. Libraries pack the right operand of a matmul, so that is
    the smaller one. Returns 0 or an error code.
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
        # Too few positions for a matmul per image: one matmul over the positions of all images side by side.
        block = <float*>scratch_alloc((q.c + q.o) * q.n * p * sizeof(float))
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
        scratch_free(block)
        return bad
    if q.o >= q.c:
        for n in range(q.n):
            bad = gemm(libs, T_F32, q.o, q.c, p, g + n * q.o * p, p, 1, x + n * q.c * p, 1, p, w, q.c, 1, n > 0)
            if bad:
                break
        return bad
    block = <float*>scratch_alloc(q.o * q.c * sizeof(float))
    if block == NULL:
        return NO_MEMORY
    for n in range(q.n):
        bad = gemm(libs, T_F32, q.c, q.o, p, x + n * q.c * p, p, 1, g + n * q.o * p, 1, p, block, q.o, 1, n > 0)
        if bad:
            break
    if not bad:
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.o, q.c, q.c, 1, 1, q.o
        copy_strided(<char*>w, to, <const char*>block, by, sizes, 2, sizeof(float))
    scratch_free(block)
    return bad


cdef bint is_one_matmul(const Geometry* q) noexcept nogil:
    """Return whether there is one position and its window starts where x does: all of x, or one place of each channel.

    Both x and w are contiguous, channels first.
    """
    cdef int i
    cdef bint covers_image = True, one = True
    for i in range(q.nd):
        if q.out[i] != 1 or q.lo[i]:
            return False
        one = one and q.kernel[i] == 1
        covers_image = covers_image and q.kernel[i] == q.size[i] and (q.dilation[i] == 1 or q.kernel[i] == 1)
    return q.groups == 1 and (one or covers_image)


cdef int one_matmul(int libs, int kind, int dtype, const Geometry* q, char* x, char* w, char* g) noexcept nogil:
    """Images by channels: what :func:`is_one_matmul` finds. g is contiguous too."""
    cdef int64_t places = 1, image = 1, depth, step
    cdef int64_t sizes[2]
    cdef int64_t to[2]
    cdef int64_t by[2]
    cdef int i, bad
    cdef char* transposed
    for i in range(q.nd):
        places *= q.kernel[i]
        image *= q.size[i]
    depth, step = q.c * places, image // places
    if kind == FORWARD and dtype == T_F32 and q.n * 4 <= q.o:
        # Libraries pack what runs along the rows of the matmul, which had better be the smaller one.
        transposed = <char*>scratch_alloc(q.n * q.o * 4)
        if transposed == NULL:
            return NO_MEMORY
        bad = gemm(libs, dtype, q.o, q.n, depth, w, depth, 1, x, step, q.c * image, transposed, q.n, 1, False)
        sizes[0], sizes[1], to[0], to[1], by[0], by[1] = q.n, q.o, q.o, 1, 1, q.n
        copy_strided(g, to, transposed, by, sizes, 2, 4)
        scratch_free(transposed)
        return bad
    if kind == FORWARD:
        return gemm(libs, dtype, q.n, q.o, depth, x, q.c * image, step, w, 1, depth, g, q.o, 1, False)
    if kind == WEIGHT_GRAD:
        return gemm(libs, dtype, q.o, depth, q.n, g, 1, q.o, x, q.c * image, step, w, depth, 1, False)
    if step != 1:
        memset(x, 0, q.n * q.c * image * itemsize_of(dtype))
    return gemm(libs, dtype, q.n, depth, q.o, g, q.o, 1, w, depth, 1, x, q.c * image, step, False)


cdef int by_taps(
    int libs, const Geometry* q, bint x_last, bint g_last, const float* x, float* w, const float* g
) noexcept nogil:
    """The gradient of kernels as a matmul for each of their taps, over the positions where it sees a place of x.

    All three are contiguous, in one group; ``x_last`` and ``g_last``: channels are last there.
    """
    cdef Im2col shape
    cdef int64_t image = 1, positions = 1, places = 1, tap, n, p, rows, d, h, at, part, first
    cdef int64_t sizes[3]
    cdef int64_t to[3]
    cdef int64_t by[3]
    cdef int64_t k[3]
    cdef int i, bad = 0
    cdef float* block
    cdef const float* xs = x
    cdef const float* gs = g
    cdef float* xr
    cdef float* gr
    cdef float* made
    shape_of(q, &shape)
    for i in range(3):
        image *= shape.size[i]
        positions *= shape.out[i]
        places *= shape.kernel[i]
    part = min(q.o, max(16, PART // (places * q.c * 4)))
    block = <float*>scratch_alloc((q.n * (q.c * (image + places * positions) + q.o * (positions + places * positions)) + places * part * q.c) * 4)
    if block == NULL:
        return NO_MEMORY
    xr = block + q.n * (q.c * image + q.o * positions)
    gr = xr + places * q.n * positions * q.c
    made = gr + places * q.n * positions * q.o
    if not x_last:
        channels_last(q.n, q.c, image, x, block)
        xs = block
    if not g_last:
        channels_last(q.n, q.o, positions, g, block + q.n * q.c * image)
        gs = block + q.n * q.c * image
    first = 0
    while first < q.o and not bad:
        part = min(part, q.o - first)
        for tap in range(places):
            k[0], k[1], k[2] = tap // (shape.kernel[1] * shape.kernel[2]), tap // shape.kernel[2] % shape.kernel[1], tap % shape.kernel[2]
            # Rows of both for this tap: gathered once, whatever part of the channels is computed.
            rows = 0
            for p in range(positions):
                d = p // (shape.out[1] * shape.out[2]) * shape.stride[0] - shape.lo[0] + k[0] * shape.dilation[0]
                h = p // shape.out[2] % shape.out[1] * shape.stride[1] - shape.lo[1] + k[1] * shape.dilation[1]
                at = p % shape.out[2] * shape.stride[2] - shape.lo[2] + k[2] * shape.dilation[2]
                if 0 <= d < shape.size[0] and 0 <= h < shape.size[1] and 0 <= at < shape.size[2]:
                    at += (d * shape.size[1] + h) * shape.size[2]
                    if first == 0:
                        for n in range(q.n):
                            memcpy(xr + (rows + n) * q.c, xs + (n * image + at) * q.c, q.c * 4)
                            memcpy(gr + (rows + n) * q.o, gs + (n * positions + p) * q.o, q.o * 4)
                    rows += q.n
            if rows:
                bad = gemm(
                    libs, T_F32, part, q.c, rows, gr + first, 1, q.o, xr, q.c, 1, made + tap * part * q.c, q.c, 1, False
                )
            else:
                memset(made + tap * part * q.c, 0, part * q.c * 4)
            xr += q.n * positions * q.c
            gr += q.n * positions * q.o
            if bad:
                break
        xr -= places * q.n * positions * q.c
        gr -= places * q.n * positions * q.o
        taps_join_f32(w + first * q.c * places, made, part * q.c, part * q.c, places)
        first += part
    scratch_free(block)
    return bad


cdef void channels_last(int64_t n, int64_t c, int64_t places, const float* x, float* y) noexcept nogil:
    cdef int64_t sizes[3]
    cdef int64_t to[3]
    cdef int64_t by[3]
    sizes[0], sizes[1], sizes[2] = n, places, c
    to[0], to[1], to[2] = places * c, c, 1
    by[0], by[1], by[2] = places * c, 1, places
    copy_strided(<char*>y, to, <const char*>x, by, sizes, 3, 4)


cdef bint taps_within(const Geometry* q, const int64_t* kernel, int64_t* at, int64_t* apart, int64_t* taps) noexcept nogil:
    """Return the offsets of the taps of q in kernels of sizes ``kernel`` that are contiguous, channels first: how far each is behind
    the first; whether they do, and are few."""
    cdef int64_t t, rest
    cdef int64_t by = 1
    cdef int i
    taps[0] = apart[0] = 1
    for i in range(q.nd - 1, -1, -1):
        if q.w_by[2 + i] != by:
            return False
        by *= kernel[i]
        taps[0] *= q.kernel[i]
    apart[0] = by
    if taps[0] > MAX_TAPS or q.w_by[1] != by or q.w_by[0] != by * (q.c // q.groups):
        return False
    for t in range(taps[0]):
        at[t], rest = 0, t
        for i in range(q.nd - 1, -1, -1):
            at[t] += rest % q.kernel[i] * q.w_by[2 + i]
            rest //= q.kernel[i]
    return True


cdef bint take_taps(const Geometry* q, const int64_t* kernel, int itemsize, void* to, const void* w) noexcept nogil:
    """Copy the taps of q out of kernels of sizes ``kernel``; False where they do not lie so that it is quick."""
    cdef int64_t at[MAX_TAPS]
    cdef int64_t apart, taps
    if itemsize > 8 or itemsize < 2 or not taps_within(q, kernel, at, &apart, &taps):
        return False
    if itemsize == 2:
        taps_pack_16(<uint16_t*>to, <const uint16_t*>w, q.o * (q.c // q.groups), apart, at, taps)
    elif itemsize == 4:
        taps_pack_f32(<float*>to, <const float*>w, q.o * (q.c // q.groups), apart, at, taps)
    else:
        taps_pack_f64(<double*>to, <const double*>w, q.o * (q.c // q.groups), apart, at, taps)
    return True


cdef bint put_taps(const Geometry* q, const int64_t* kernel, int64_t first, int itemsize, void* w, const void* taken) noexcept nogil:
    """The reverse: into kernels whose other taps become zeros; the first tap is ``first`` elements in."""
    cdef int64_t at[MAX_TAPS]
    cdef int64_t apart, taps
    cdef int t
    if itemsize > 8 or itemsize < 2 or not taps_within(q, kernel, at, &apart, &taps):
        return False
    for t in range(taps):
        at[t] += first
    if itemsize == 2:
        taps_spread_16(<uint16_t*>w, <const uint16_t*>taken, q.o * (q.c // q.groups), apart, at, taps)
    elif itemsize == 4:
        taps_spread_f32(<float*>w, <const float*>taken, q.o * (q.c // q.groups), apart, at, taps)
    else:
        taps_spread_f64(<double*>w, <const double*>taken, q.o * (q.c // q.groups), apart, at, taps)
    return True
