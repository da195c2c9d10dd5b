"""Convolutions of float32 as one product of rows by kernels in strips, over images with channels last: when, and in which pieces. The arithmetic
is in pointwise.h. Unlike primitives of a library nothing is prepared for a size, so images of ever new sizes take no longer than others.
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free, threads
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef extern from "pointwise.h" nogil:
    ctypedef struct Pointwise:
        const float* x
        const float* w
        const float* bias
        const float* residual
        float* y
        int64_t m, k, n, strip
        int relu, hard_swish
        float scale, shift
        int64_t rows, strips, groups, units, parts
    ctypedef struct PointwiseKernels:
        int tallest, widest, lanes
        part_t work
    const PointwiseKernels* pointwise_kernels()

cdef enum:
    ROWS_BYTES = 1 << 18       # of x that all strips read from the L2 cache
    KERNEL_BYTES = 1 << 21     # kernels that the L2 cache does not hold: the library brings the next ones from memory meanwhile
    WINDOW = 3                 # taps of windows that are copied, at most, and
    WINDOW_CHANNELS = 64       # channels at least, in runs that are long, and
    WINDOW_OUTPUTS = 48        # outputs: copying is then a small part of multiplying
    WINDOW_BYTES = 1 << 21     # of all: over more the library, which copies nothing, soon makes up for its primitive
    PER_PART = 1 << 19         # multiplications of a part that is worth a thread
    PER_THREAD = 4             # units, so that threads end together


cdef bint wanted = True


def choose(bint use=True):
    """Leave these convolutions to the library, or do not."""
    global wanted
    wanted = use


def available():
    """Return the widest strips that this processor has a kernel for; 0: it has none."""
    return 0 if pointwise_kernels() == NULL else pointwise_kernels().widest


cdef inline bint sees_each_place_once(const Geometry* q) noexcept nogil:
    cdef int i
    for i in range(q.nd):
        if q.kernel[i] != 1 or q.stride[i] != 1 or q.lo[i] or q.hi[i]:
            return False
    return True


cdef inline int64_t positions(const Geometry* q) noexcept nogil:
    cdef int64_t m = q.n
    cdef int i
    for i in range(q.nd):
        m *= q.out[i]
    return m


cdef inline int64_t terms(const Geometry* q) noexcept nogil:
    cdef int64_t k = q.c
    cdef int i
    for i in range(q.nd):
        k *= q.kernel[i]
    return k


cdef bint multiplies_strips(const Geometry* q, int strip) noexcept nogil:
    """Return whether we have a kernel for such strips, and x is its rows, or windows are small enough to be copied."""
    cdef const PointwiseKernels* kernels = pointwise_kernels()
    if not wanted or kernels == NULL or strip > kernels.widest or strip % kernels.lanes or q.groups != 1:
        return False
    if terms(q) * q.o * <int64_t>sizeof(float) > KERNEL_BYTES:
        return False
    if sees_each_place_once(q):
        return True
    return (
        q.c < terms(q) <= WINDOW * q.c and q.c >= WINDOW_CHANNELS and q.o >= WINDOW_OUTPUTS
        and positions(q) * terms(q) * <int64_t>sizeof(float) <= WINDOW_BYTES
    )


cdef void copy_windows(const Geometry* q, const float* x, float* to, int64_t first, int64_t last) noexcept nogil:
    """Rows of [*kernel, c], one for each position from ``first`` to ``last``; zeros where it sees pads."""
    cdef int64_t size[3]
    cdef int64_t kernel[3]
    cdef int64_t out[3]
    cdef int64_t stride[3]
    cdef int64_t lo[3]
    cdef int64_t dilation[3]
    cdef int64_t row, n, a, b, c, i, j, k, d, h, w
    cdef int axis, lead = 3 - q.nd
    for axis in range(3):
        size[axis] = kernel[axis] = out[axis] = stride[axis] = dilation[axis] = 1
        lo[axis] = 0
        if axis >= lead:
            size[axis], kernel[axis], out[axis] = q.size[axis - lead], q.kernel[axis - lead], q.out[axis - lead]
            stride[axis], lo[axis], dilation[axis] = q.stride[axis - lead], q.lo[axis - lead], q.dilation[axis - lead]
    for row in range(first, last):
        c, b, a = row % out[2], row // out[2] % out[1], row // (out[1] * out[2]) % out[0]
        n = row // (out[0] * out[1] * out[2])
        for i in range(kernel[0]):
            d = a * stride[0] - lo[0] + i * dilation[0]
            for j in range(kernel[1]):
                h = b * stride[1] - lo[1] + j * dilation[1]
                for k in range(kernel[2]):
                    w = c * stride[2] - lo[2] + k * dilation[2]
                    if 0 <= d < size[0] and 0 <= h < size[1] and 0 <= w < size[2]:
                        memcpy(to, x + (((n * size[0] + d) * size[1] + h) * size[2] + w) * q.c, q.c * sizeof(float))
                    else:
                        memset(to, 0, q.c * sizeof(float))
                    to += q.c


cdef int multiply(const PointwiseKernels* kernels, Pointwise* p, int64_t rows, int64_t most) noexcept nogil:
    cdef int64_t blocks
    p.rows = rows
    if most > 1:
        p.rows = min(rows, (p.m + most * PER_THREAD - 1) // (most * PER_THREAD))
    p.rows = (p.rows + kernels.tallest - 1) // kernels.tallest * kernels.tallest
    blocks = (p.m + p.rows - 1) // p.rows
    p.groups = min(p.strips, (most * PER_THREAD + blocks - 1) // blocks) if most > 1 else 1
    p.units = blocks * p.groups
    p.parts = min(p.units, most)
    return kernels.work(p, 0) if p.parts == 1 else parallel_for(kernels.work, p, p.parts)


cdef int by_strips(const Geometry* q, int strip, const float* x, const float* w, float* g, const After* after, const float* residual) noexcept nogil:
    cdef const PointwiseKernels* kernels = pointwise_kernels()
    cdef Pointwise p
    cdef int64_t m = positions(q), most = 1, first = 0, rows, part
    cdef float* windows = NULL
    cdef int bad = 0
    p.w, p.bias = w, <const float*>after.bias
    p.relu, p.hard_swish, p.scale, p.shift = after.relu, after.hard_swish, after.scale, after.shift
    p.k, p.n, p.strip, p.strips = terms(q), q.o, strip, (q.o + strip - 1) // strip
    if threads() > 1:
        most = min(thread_count(), m * p.k * p.n // PER_PART + 1)
    rows = max(1, ROWS_BYTES // (p.k * <int64_t>sizeof(float)))
    part = m
    if not sees_each_place_once(q):
        # Windows of some blocks at a time, which are still in the caches when they are multiplied.
        rows = (rows + kernels.tallest - 1) // kernels.tallest * kernels.tallest
        part = min(m, rows * most)
        windows = <float*>scratch_alloc(part * p.k * sizeof(float))
        if windows == NULL:
            return NO_MEMORY
    while first < m and not bad:
        p.m, p.x, p.y = min(part, m - first), x, g + first * p.n
        p.residual = NULL if residual == NULL else residual + first * p.n
        if windows != NULL:
            copy_windows(q, x, windows, first, first + p.m)
            p.x = windows
        bad = multiply(kernels, &p, rows, most)
        first += p.m
    scratch_free(windows)
    return bad
