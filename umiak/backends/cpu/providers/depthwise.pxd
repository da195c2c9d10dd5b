"""Convolutions of one channel each."""
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef struct After:             # what follows, in this order
    const void* bias           # of the type of the images
    bint relu, hard_swish
    float scale, shift

cdef bint is_depthwise(const Geometry* q, bint low) noexcept nogil
cdef int by_depthwise(const Geometry* q, bint low, const void* x, const void* w, void* g, After after) noexcept nogil
