"""Convolutions of kernel 3 × 3 by Winograd's minimal filtering."""
from libc.stdint cimport int64_t

from umiak.backends.cpu.providers.depthwise cimport After
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef int winograd_tile(int kind, const Geometry* q, double direct, bint by_taps) noexcept nogil
cdef bint takes_residual(const Geometry* q, bint g_last) noexcept nogil
cdef bint takes_strips(int64_t width) noexcept nogil
cdef int by_winograd(
    int kind, int tile, bint low, const Geometry* q, bint x_last, bint g_last, void* x, void* w, void* g, const After* after,
    const void* residual, int64_t strip
) noexcept nogil
