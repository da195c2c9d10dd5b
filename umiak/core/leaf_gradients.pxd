"""`.grad` of leaves: see leaf_gradients.pyx."""
from cpython.object cimport PyObject

from umiak.core.plan cimport OpBase
from umiak.core.tensor cimport Tensor

cdef OpBase ADD                # the sum of gradients

cdef class Sink:
    cdef readonly object owner
    cdef readonly object key

cdef int accumulate(Tensor leaf, PyObject* grad, bint create) except -1
cdef object full_like(Tensor t, double value, PyObject** into=*)
