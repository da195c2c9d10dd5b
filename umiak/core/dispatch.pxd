"""Dispatch by class of operands: see dispatch.pyx and docs/design/dispatch.md."""
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from umiak.core.operand cimport Operand
from umiak.core.plan cimport OpBase, Plan
from umiak.core.tensor cimport Tensor

cdef object dispatch(OpBase op, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, int flags, PyObject** into)
cdef object call1(OpBase op, Tensor x)
cdef object call2(OpBase op, Tensor x, Tensor y)
cdef object slow(OpBase op, tuple operands, tuple params)
cdef Plan miss(OpBase op, Operand* xs, int n, uint32_t* descs, const uint64_t* params, uint64_t sig, uint64_t modes, uint64_t h)
cdef int shape_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig) except -1
cdef int write_into(Tensor x, Tensor value) except -1
cdef Tensor detached_copy(Tensor t)
