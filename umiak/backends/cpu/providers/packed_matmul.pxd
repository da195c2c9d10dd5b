"""Matmuls of float32 by packed operands."""
from libc.stdint cimport int64_t

cdef extern from "packed_matmul.h" nogil:
    enum:
        PACKED_STRIP
    ctypedef struct PackedMatmul:
        const float* a
        const float* b
        int64_t a_row, a_term, b_term, b_column
        const float* strips
        float* c
        int64_t c_row, m, n, k
        const float* bias
        const float* residual
        bint accumulate, relu, hard_swish
        int64_t down, across

cdef bint multiplies_packed() noexcept nogil           # whether there is a kernel, and it is wanted
# Whether oneDNN takes longer, of whose second matrix rows are ``bk`` and columns ``bn`` apart; by sizes alone.
cdef bint worth_packing(int64_t m, int64_t n, int64_t k, int64_t bk, int64_t bn) noexcept nogil
cdef int packed(
    int64_t m, int64_t n, int64_t k, const float* a, int64_t am, int64_t ak, const float* b, int64_t bk, int64_t bn, float* c,
    int64_t ldc, bint accumulate
) noexcept nogil                                       # ``c = a b``, or ``c += a b``, of any strides but that c's columns are contiguous
cdef int packed_matmul(PackedMatmul* q) noexcept nogil  # all but ``down`` and ``across`` given, no size is 0; NO_MEMORY or 0
