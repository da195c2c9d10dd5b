"""Call programs: see call_program.pyx and docs/design/dispatch.md."""
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from umiak.core.operand cimport Operand
from umiak.core.plan cimport TensorProgram
from umiak.core.scalar cimport ScalarProgram

cdef struct Step:
    int n_x
    int n_params
    int n_out
    int out0
    int n_drop
    int n_donors
    int* donors                # pairs (result, value): the value dies here, and the result may take its memory
    int* x                     # value index; -1 none; -2 - k: scalar k
    int* params                # registers
    int* drop                  # values not needed after this step
    uint64_t sig
    bint identity              # gives its operand when that has the wanted shape already
    bint casts_weight          # an operand of the program to low precision: parameters are cast once per version

cdef class StepObserver:
    cdef int step(self, int i, Operand* xs, PyObject** outs, bint into, uint64_t* params) except -1

@cython.final
cdef class CallProgram(TensorProgram):
    cdef readonly int n_inputs
    cdef readonly int n_values
    cdef int n_steps
    cdef list ops
    cdef Step* steps
    cdef int* outputs          # value index or -1
    cdef int n_scalars
    cdef int* scalar_tag
    cdef int* scalar_reg
    cdef int* scalar_reg2      # imaginary parts
    cdef ScalarProgram scalar_program
    cdef int* dtypes           # of the values that steps make
    cdef int replay(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags, const char* donation, StepObserver observer) except -1
    cdef bint reuse_memory(self, Step* s, Operand* xs, PyObject** values, PyObject** into, int flags, const char* donation) except -1
