"""Convolutions of one channel each."""
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef bint is_depthwise(const Geometry* q) noexcept nogil
cdef int by_depthwise(const Geometry* q, const float* x, const float* w, float* g, const float* bias, bint relu) noexcept nogil
