"""Common parts of all launchers: scratch memory, one lock, the thread count, strided copies."""
from libc.stdint cimport int64_t, uint64_t

ctypedef int (*launch_t)(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil

cdef enum:
    NO_MEMORY = 11             # what launchers return beside 0
    LIBRARY_FAILED = 12
    MAX_AXES = 64

cdef int lock() noexcept nogil
cdef int unlock() noexcept nogil
cdef int threads() noexcept nogil                       # how many the libraries may use now; 1 in a forked child
cdef void* scratch_alloc(int64_t nbytes) noexcept nogil          # scratch, aligned to 64 bytes; NULL: no memory
cdef void scratch_free(void* block) noexcept nogil
cdef int copy_strided(
    char* target, const int64_t* to, const char* source, const int64_t* by, const int64_t* sizes, int rank, int itemsize
) noexcept nogil
cdef int zero_strided(char* target, const int64_t* to, const int64_t* sizes, int rank, int itemsize) noexcept nogil
cdef void dense(const int64_t* sizes, int rank, int64_t* strides) noexcept nogil
# `x` made to point to its elements in order: where it does, or in `room`, which the caller frees. NO_MEMORY or 0
cdef int in_order(
    const char** x, const int64_t* sizes, const int64_t* strides, int rank, int itemsize, void** room) noexcept nogil
