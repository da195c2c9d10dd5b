"""The memory of a tensor, as its sizes and strides describe it: see layout.pyx."""
from libc.stdint cimport int64_t

from umiak.core.tensor cimport Tensor

cdef bint reshape_strides(Tensor t, int nd, const int64_t* dims, int64_t* strides) noexcept
cdef bint self_overlaps(Tensor x) noexcept
cdef int refuse_overlap(str name, Tensor x) except -1
cdef int byte_range(Tensor t, int64_t* low, int64_t* high) noexcept
