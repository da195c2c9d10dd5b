"""Recording a call: see record.pyx and docs/design/tape.md."""
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from umiak.core.operand cimport Operand
from umiak.core.plan cimport Plan

cdef int record(Plan plan, Operand* xs, int n, const uint64_t* scalars, PyObject** outs, object hooks) except -1
