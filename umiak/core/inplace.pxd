"""Writes that need no copy."""
from umiak.core.tensor cimport Tensor

cdef bint take_memory(Tensor x, Tensor value) noexcept
