"""Convolutions of one channel each."""
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef struct After:             # what follows, in this order
    const float* bias
    bint relu, hard_swish
    float scale, shift

cdef bint is_depthwise(const Geometry* q) noexcept nogil
cdef int by_depthwise(const Geometry* q, const float* x, const float* w, float* g, After after) noexcept nogil
