"""Launches through the driver's function by its address: see launch_entry.pyx."""
from libc.stdint cimport int64_t, uint64_t

# CUresult cuLaunchKernel(function, grid x, y, z, block x, y, z, shared bytes, stream, arguments, extra)
ctypedef int (*LaunchKernel)(
    void*, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, void*, void**, void**
) noexcept nogil

cdef struct Given:             # arguments of a launch beside its integers
    Py_ssize_t n_pointers
    const uint64_t* pointers
    const uint64_t* words      # the scalar pack
    Py_ssize_t n_first         # of the entry's integers, the first ones, which are others in this launch
    const int64_t* first
    uint64_t local
    uint64_t global_scratch
    uint64_t error

cdef class Entry:
    cdef LaunchKernel call
    cdef void* function
    cdef unsigned int blocks, threads, shared
    cdef uint64_t* dims
    cdef Py_ssize_t n_dims, n_words
    cdef uint64_t begin, end

    cdef int put(self, void* stream, Given* given) except? -1      # the driver's code
