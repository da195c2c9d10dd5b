"""Memory of their own for tensors: see own_memory.pyx."""
from umiak.core.tensor cimport Tensor

cdef Tensor set_apart(Tensor t, Py_ssize_t held)
cpdef int give_own(list tensors) except -1
