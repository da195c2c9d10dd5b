"""Convolutions of float32 as one product of rows by kernels in strips."""
from umiak.backends.cpu.providers.depthwise cimport After
from umiak.backends.cpu.providers.im2col cimport Geometry

cdef bint multiplies_strips(const Geometry* q, int strip) noexcept nogil
cdef int by_strips(const Geometry* q, int strip, const float* x, const float* w, float* g, const After* after, const float* residual) noexcept nogil
