"""Convolutions as matmuls."""
from libc.stdint cimport int64_t

cdef extern from "im2col.h" nogil:
    ctypedef struct Im2col:
        int64_t channels
        int64_t[3] kernel
        int64_t[3] out
        int64_t[3] stride
        int64_t[3] lo
        int64_t[3] dilation
        int64_t[3] size "in"

cdef enum:                     # which of the three is computed
    FORWARD = 0
    INPUT_GRAD = 1
    WEIGHT_GRAD = 2

cdef struct Geometry:
    int nd
    int64_t n, c, o, groups    # images, channels of x, channels of g
    int64_t size[3]            # spatial sizes of x, of the kernel, of g
    int64_t kernel[3]
    int64_t out[3]
    int64_t stride[3]
    int64_t lo[3]
    int64_t hi[3]
    int64_t dilation[3]
    int64_t x_by[5]            # strides in elements: images or output channels, channels, spatial
    int64_t w_by[5]
    int64_t g_by[5]

cdef int by_im2col(int libs, int kind, bint double_, const Geometry* q, void* x, void* w, void* g) noexcept nogil
cdef int pointwise_weight_grad(int libs, const Geometry* q, bint last, const float* x, float* w, const float* g) noexcept nogil
cdef bint is_one_matmul(const Geometry* q) noexcept nogil
cdef int one_matmul(int libs, int kind, int dtype, const Geometry* q, char* x, char* w, char* g) noexcept nogil
cdef int by_taps(
    int libs, const Geometry* q, bint x_last, bint g_last, const float* x, float* w, const float* g
) noexcept nogil
cdef bint take_taps(const Geometry* q, const int64_t* kernel, int itemsize, void* to, const void* w) noexcept nogil
cdef bint put_taps(
    const Geometry* q, const int64_t* kernel, int64_t first, int itemsize, void* w, const void* taken
) noexcept nogil
