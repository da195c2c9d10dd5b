"""The state that an optimizer keeps for one parameter: see slot.pyx."""
from libc.stdint cimport int64_t

cdef class Slot:
    cdef public object target              # what is updated
    cdef public tuple outs                 # what a step writes into: the target, then the values
    cdef public tuple values               # state tensors
    cdef public object hyper               # numbers, one object for all that are equal
    cdef public dict rate                  # its "learning_rate" is a factor on the optimizer's
    cdef public int64_t steps              # steps done
