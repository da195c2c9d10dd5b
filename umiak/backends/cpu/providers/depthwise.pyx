"""Convolutions of one channel each, of float32 or bfloat16, over images with channels last: when, and in which pieces. The arithmetic is
in depthwise.h. No sum is divided among threads, so results do not depend on them.
"""
from libc.stdint cimport int64_t

from umiak.backends.cpu.launcher cimport parallel_for, part_t, thread_count
from umiak.backends.cpu.providers.common cimport NO_MEMORY, scratch_alloc, scratch_free, threads
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
        int64_t rows, bands, wide, blocks, vectors, groups, units, parts
        float* taps
    ctypedef struct DepthwiseKernels:
        int lanes, side
        void (*spread)(const Depthwise* q) noexcept nogil
        part_t work
    void depthwise_divide(Depthwise* q, int lanes, int side)
    const DepthwiseKernels* depthwise_kernels(int low)

cdef enum:
    BAND = 16                  # rows of results of a unit of work: rows of images are read from the L1 cache by all that see them
    FEWEST_ACROSS = 20         # places of a row of bfloat16 that were measured to be worth it
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
    if not wanted or kernels == NULL or q.nd > 2 or not (q.groups == q.c == q.o) or q.c < kernels.lanes:
        return False
    for i in range(q.nd):
        if q.dilation[i] != 1:
            return False
    if low and (q.kernel[last] == 3 or q.out[last] < FEWEST_ACROSS):
        return False
    return q.kernel[last] in (3, 5, 7) and q.stride[last] <= 2


cdef int by_depthwise(const Geometry* q, bint low, const void* x, const void* w, void* g, After after) noexcept nogil:
    cdef const DepthwiseKernels* kernels = depthwise_kernels(low)
    cdef Depthwise d
    cdef int last = q.nd - 1, bad
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
    depthwise_divide(&d, kernels.lanes, kernels.side)
    # Rows of an image go to threads as the library's do, whose convolutions read them from the caches of the same cores.
    d.rows = min(BAND, d.down if threads() == 1 or d.n > 1 else (d.down + thread_count() - 1) // thread_count())
    d.bands = (d.down + d.rows - 1) // d.rows
    d.units = d.n * d.bands * d.blocks * d.groups
    most = 1 if threads() == 1 else min(
        thread_count(), d.n * d.down * d.across * d.c * d.kh * d.kw // WORK + 1
    )
    d.parts = min(d.units, most)
    d.taps = <float*>scratch_alloc(d.vectors * kernels.lanes * d.kh * d.kw * sizeof(float))
    if d.taps == NULL:
        return NO_MEMORY
    kernels.spread(&d)
    bad = kernels.work(&d, 0) if d.parts == 1 else parallel_for(kernels.work, &d, d.parts)
    scratch_free(d.taps)
    return bad
