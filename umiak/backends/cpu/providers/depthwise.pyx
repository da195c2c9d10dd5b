"""Convolutions of one channel each, of float32 or bfloat16, over images with channels last: when, and in which pieces. The arithmetic is
in depthwise.h. No sum is divided among threads, so results do not depend on them.
"""
from libc.stdint cimport int64_t

from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count
from umiak.backends.cpu.providers.common cimport threads
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef extern from "depthwise.h" nogil:
    ctypedef struct Depthwise:
        const void* x
        const void* w
        const void* bias
        void* y
        int64_t n, c, h, width, down, across, kh, kw, sh, sw, top, left, w_c, w_h, w_w
        int relu, hard_swish
        float scale, shift
        int64_t rows, bands, vectors, units, parts
    ctypedef struct DepthwiseKernels:
        int lanes
        part_t work
    enum:
        TAPS "DEPTHWISE_TAPS"
    const DepthwiseKernels* depthwise_kernels(int low)

cdef enum:
    BAND = 16                  # of results, of a unit of work: rows of images are read from the L1 cache by all that see them
    MOST_PARTS = 4             # of each thread
    FEWEST_ACROSS = 20         # places of a row: fewer are mostly beside pads
    WORK = 1 << 16             # multiplications of a part that is worth a thread


cdef bint wanted = True


def choose(bint use=True):
    """Leave these convolutions to the library, or do not."""
    global wanted
    wanted = use


cdef bint is_depthwise(const Geometry* q, bint low) noexcept nogil:
    """Return whether this is a convolution of one channel each that we have a kernel for; ``low``: of bfloat16."""
    cdef const DepthwiseKernels* kernels = depthwise_kernels(low)
    cdef int i, last = q.nd - 1
    cdef int64_t taps = 1
    if not wanted or kernels == NULL or q.nd > 2 or not (q.groups == q.c == q.o) or q.c < kernels.lanes:
        return False
    for i in range(q.nd):
        if q.dilation[i] != 1:
            return False
        taps *= q.kernel[i]
    # Kernels with 3 taps, and narrow images, the library's primitive reads in a better order.
    return taps <= TAPS and q.kernel[last] in (5, 7) and q.stride[last] <= 2 and q.out[last] >= FEWEST_ACROSS


cdef int by_depthwise(const Geometry* q, bint low, const void* x, const void* w, void* g, After after) noexcept nogil:
    cdef const DepthwiseKernels* kernels = depthwise_kernels(low)
    cdef Depthwise d
    cdef int last = q.nd - 1
    cdef int64_t most
    d.x, d.w, d.bias, d.y, d.n, d.c = x, w, after.bias, g, q.n, q.c
    d.relu, d.hard_swish, d.scale, d.shift = after.relu, after.hard_swish, after.scale, after.shift
    d.width, d.across, d.kw, d.sw, d.left = q.size[last], q.out[last], q.kernel[last], q.stride[last], q.lo[last]
    d.w_c, d.w_w = q.w_by[0], q.w_by[2 + last]
    if q.nd == 2:
        d.h, d.down, d.kh, d.sh, d.top, d.w_h = q.size[0], q.out[0], q.kernel[0], q.stride[0], q.lo[0], q.w_by[2]
    else:
        d.h = d.down = d.kh = d.sh = 1
        d.top = d.w_h = 0
    d.rows = min(BAND, d.down)
    d.bands = (d.down + d.rows - 1) // d.rows
    d.vectors = (d.c + kernels.lanes - 1) // kernels.lanes
    d.units = d.n * d.bands * d.vectors
    most = 1 if threads() == 1 else min(
        MOST_PARTS * thread_count(), d.n * d.down * d.across * d.c * d.kh * d.kw // WORK + 1
    )
    d.parts = min(d.units, most)
    return kernels.work(&d, 0) if d.parts == 1 else parallel_for(kernels.work, &d, d.parts)
