"""Products of a few rows by a matrix that is read once."""
from libc.stdint cimport int64_t

cdef enum:
    NOT_TAKEN = -8             # the matrix lies in another way

cdef int few_rows(
    int dtype, int64_t m, int64_t n, int64_t k, const char* a, int64_t am, int64_t ak, const char* b, int64_t bk, int64_t bn, char* c,
    int64_t cm, int64_t cn
) noexcept nogil
