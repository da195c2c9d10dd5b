"""Convolutions of kernel 3 × 3 by Winograd's minimal filtering."""
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef int winograd_tile(int kind, const Geometry* q, double direct, bint by_taps) noexcept nogil
cdef int by_winograd(
    int kind, int tile, bint low, const Geometry* q, bint x_last, bint g_last, void* x, void* w, void* g, const void* bias, bint relu
) noexcept nogil
