# cython: language_level=3, binding=False
"""Tensors that somebody may write to who is to change nothing else by it: gradients, and results of programs."""
from cpython.object cimport PyObject

from umiak.core.dispatch cimport detached_copy
from umiak.core.layout cimport self_overlaps
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)


cdef Tensor set_apart(Tensor t, Py_ssize_t held):
    """``t``, where nobody has it but the caller, who holds it ``held`` times, nobody has its memory, and its elements are
    apart; else a copy. One with a history, and what is no array, are left as they are."""
    if t.node is not None or t.kind & ~<uint32_t>KIND_VIEW:
        return t
    if Py_REFCNT(<PyObject*>t) > held or Py_REFCNT(<PyObject*>t.storage) > 1 or self_overlaps(t):
        return detached_copy(t)
    return t


cpdef int give_own(list tensors) except -1:
    """Give tensors of a list that nobody else has memory of their own. What is no tensor is left as it is."""
    cdef Py_ssize_t i
    cdef object x
    for i in range(len(tensors)):
        x = tensors[i]
        if isinstance(x, Tensor):
            tensors[i] = set_apart(<Tensor>x, 2)         # held by the list and by `x`
    return 0
