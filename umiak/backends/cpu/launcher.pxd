"""Launching nests: see launcher.pyx."""
from libc.stdint cimport int64_t

ctypedef int (*part_t)(void* arg, int64_t part) noexcept nogil
ctypedef int (*parallel_for_t)(part_t fn, void* arg, int64_t parts) noexcept nogil
ctypedef int (*thread_count_t)() noexcept nogil

# What runtime/parallel installs (see install_parallel); serial before that.
cdef parallel_for_t parallel_for
cdef thread_count_t thread_count

cdef int no_memory() noexcept nogil       # raises MemoryError for scratch of a kernel; gives what a launch returns then
