"""Straight-line programs over 64-bit scalars: sizes, strides, params."""
from libc.stdint cimport int16_t, int64_t

cdef struct Instr:
    int op
    int dst
    int a
    int b
    int c

cdef class ScalarProgram:
    cdef readonly int n_regs
    cdef readonly int n_inputs
    cdef int n_const
    cdef int n_code
    cdef int64_t* consts                   # registers n_inputs .. n_inputs + n_const
    cdef Instr* code
    cdef int run(self, int64_t* regs) noexcept nogil     # 0, or 1 + index of the check that failed or sum that overflowed
