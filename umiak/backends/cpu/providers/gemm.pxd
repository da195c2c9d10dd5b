"""Matmul of two matrices with any strides."""
from libc.stdint cimport int64_t

cdef enum:                     # dtypes
    T_F32 = 0
    T_F64 = 1
    T_C64 = 2
    T_C128 = 3
    T_BF16 = 4
    T_F16 = 5
    T_I8 = 6
    T_I16 = 7
    T_I32 = 8
    T_I64 = 9

cdef enum:                     # libraries that may be used, as bits
    USE_ONEDNN = 1
    USE_BLAS = 2
    USE_SMALL = 4

cdef int check(int libs) except -1         # refuse libraries that are not loaded
cdef int itemsize_of(int dtype) noexcept nogil
cdef bint small(
    int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk, int64_t bn, float* c,
    int64_t ldc, const float* bias
) noexcept nogil
cdef int gemm(
    int libs, int dtype, int64_t m, int64_t n, int64_t k, const void* a, int64_t am, int64_t ak,
    const void* b, int64_t bk, int64_t bn, void* c, int64_t cm, int64_t cn, bint accumulate
) noexcept nogil
cdef int widen(int dtype, const void* source, float* target, int64_t n) noexcept nogil
cdef int narrow(int dtype, const float* source, void* target, int64_t n) noexcept nogil
