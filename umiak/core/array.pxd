"""Tensors as NumPy arrays and back."""
from libc.stdint cimport int64_t
from umiak.core.tensor cimport Tensor

cdef enum:
    SHARE_NEVER = 0            # values of `share`
    SHARE_ALWAYS = 1           # or ValueError
    SHARE_IF_POSSIBLE = 2

cdef object operand_array(Tensor t)        # for the time of one kernel call: keeps nothing alive, pins nothing, checks nothing; a copy of a packed tensor
cdef int put_packed(Tensor t, object array) except -1     # what was computed in the array that operand_array gave of a packed tensor
cdef object array_over(int dtype, int ndim, const int64_t* dims, const int64_t* strides, char* data)
    # keeps nothing alive; strides in elements, or NULL where contiguous; elements of a packed dtype have a byte each
cdef int ask_tracer(Tensor t) except -1    # the tracer of a captured function may refuse that data are read
cdef object tensor_to_numpy(Tensor t)      # shares the memory and pins it for as long as the array lives
cdef Tensor tensor_from_numpy(object array, int place, int share)
cdef Tensor tensor_over(int dtype, int ndim, const int64_t* dims, const int64_t* strides, char* data, int place, object owner)
cdef Tensor moved(Tensor t, int place)      # the elements on another place, without history
