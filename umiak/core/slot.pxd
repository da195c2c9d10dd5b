"""The state that an optimizer keeps for one parameter, and its updates as rows of operands: see slot.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from umiak.core.plan cimport INLINE_X

cdef enum:
    # what an operand of an update is (the layout of `SlotRows`); from VALUE on, a state tensor
    TARGET = 0
    GRAD = 1
    RATE = 2
    ABSENT = 3
    VALUE = 4

cdef class Slot:
    cdef public object target              # what is updated
    cdef public tuple outs                 # what a step writes into: the target, then the values
    cdef public tuple values               # state tensors
    cdef public object hyper               # numbers, one object for all that are equal
    cdef public dict rate                  # its "learning_rate" is a factor on the optimizer's
    cdef public int64_t steps              # steps done

cdef struct SlotRow:
    PyObject* slot             # borrowed from the lists that the rows were made of
    PyObject* grad
    PyObject* params
    double rate

cdef class SlotRows:
    cdef list slots            # these do not change
    cdef list grads
    cdef list kept             # the params, one after the other as they changed
    cdef object memory
    cdef SlotRow* row
    cdef int count
    cdef int n                 # operands
    cdef int[INLINE_X] layout
    cdef object operand(self, int at, int i)
    cdef tuple python_row(self, int at)
