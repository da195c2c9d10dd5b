"""Sizes of a tensor as an object."""
from libc.stdint cimport int64_t

cdef class Size(list):
    pass

cdef object new_size(const int64_t* dims, Py_ssize_t n)
cdef object new_count(int64_t numel, const int64_t* dims, Py_ssize_t n)
