"""BLAS as SciPy brings it: Fortran interface, column-major, 32-bit sizes."""
ctypedef void (*gemm_t)(
    char* ta, char* tb, int* m, int* n, int* k, void* alpha, void* a, int* lda, void* b, int* ldb, void* beta, void* c, int* ldc
) noexcept nogil

cdef struct Blas:
    gemm_t s, d, c, z

cdef Blas* blas() noexcept nogil          # NULL unless load() found it
cdef int follow_threads() noexcept nogil
cdef int set_threads(int n) noexcept nogil
cdef int pointer(dict exported, str name, void** target) except -1
