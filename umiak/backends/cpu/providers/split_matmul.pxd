"""Matmuls of float32 by tile registers of bfloat16, where that is faster."""
from libc.stdint cimport int64_t

# A matmul of contiguous rows or columns (`ta`, `tb`: transposed) by a library; 0, or what it failed with.
ctypedef int (*library_matmul_t)(
    int libs, bint ta, bint tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb, float* c,
    int64_t ldc, bint accumulate
) noexcept nogil

cdef int prepare() except -1           # before launches that may ask what is worth it
cdef bint worth_splitting(int64_t m, int64_t n, int64_t k) noexcept nogil
cdef int split_matmul(
    library_matmul_t library, int libs, bint ta, bint tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
    int64_t ldb, float* c, int64_t ldc, bint accumulate
) noexcept nogil
