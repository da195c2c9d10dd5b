"""Calls from Python: see eager.pyx."""
from libc.stdint cimport int64_t

from umiak.core.plan cimport OpBase
from umiak.core.tensor cimport Tensor

cdef object apply_op(OpBase op, tuple operands, tuple params, int flags)
cdef OpBase operator_op(int which)                                         # of a binary operator; None: there is none yet
cdef int64_t reduction(Tensor x, object axis, bint keepdim) except -2      # see reduction_key
