"""Work in parts on several threads: see parallel.pyx."""
from libc.stdint cimport int64_t

ctypedef int (*part_t)(void* arg, int64_t part) noexcept nogil

cdef int parallel_for(part_t fn, void* arg, int64_t parts) noexcept nogil
cdef int thread_count() noexcept nogil
