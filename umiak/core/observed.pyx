# cython: language_level=3, binding=False
"""Call programs as Python sees them: what each step reads, and a run that Python is observer of step by step.

For backends that record what a program hands to a device, and replay it: docs/design/cuda.md.
"""
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

cimport cython
from umiak.core.call_program cimport CallProgram, Step, StepObserver
from umiak.core.operand cimport Operand, float_bits, operand_tuple, unpack_params
from umiak.core.plan cimport FLAG_INNER, OpBase
from umiak.core.tensor cimport TAG_COMPLEX


@cython.final
cdef class _Told(StepObserver):
    cdef CallProgram program
    cdef object after

    cdef int step(self, int i, Operand* xs, PyObject** outs, bint into, uint64_t* params) except -1:
        cdef Step* s = &self.program.steps[i]
        cdef OpBase op = <OpBase>self.program.ops[i]
        cdef int k
        results = tuple([<object>outs[k] for k in range(s.n_out)])
        self.after(i, operand_tuple(xs, s.n_x), unpack_params(op, params, s.sig), results, into)
        return 0


def registers_read(CallProgram program not None):
    """For each step the registers of its numbers: those among its operands, then its params, a word each."""
    cdef Step* s
    cdef int i, j, k
    cdef list steps = []
    for i in range(program.n_steps):
        s = &program.steps[i]
        read = []
        for j in range(s.n_x):
            k = -2 - s.x[j]
            if k >= 0:
                read.append(program.scalar_reg[k])
                if program.scalar_tag[k] == TAG_COMPLEX:
                    read.append(program.scalar_reg2[k])
        for j in range(s.n_params):
            read.append(s.params[j])
        steps.append(tuple(read))
    return steps


def registers(CallProgram program not None, list words not None):
    """All registers of a run with these numbers, as signed words; ``words`` as for ``CallProgram.run``."""
    return program.scalar_program.evaluate([<int64_t>float_bits(w) if isinstance(w, float) else w for w in words])


def run(CallProgram program not None, list inputs not None, list words not None, bytes donation, after not None):
    """``CallProgram.run``, where ``after(i, operands, params, results, into)`` is called behind every step: ``into`` tells that the results
    were there before. What it raises ends the run."""
    cdef _Told observer = _Told.__new__(_Told)
    cdef PyObject** slots = <PyObject**>calloc(program.n_inputs + 1, sizeof(PyObject*))
    cdef PyObject** outs = <PyObject**>calloc(program.n_outputs + 1, sizeof(PyObject*))
    cdef int64_t* ints = <int64_t*>calloc(len(words) + 1, sizeof(int64_t))
    cdef int i
    cdef list results = []
    observer.program, observer.after = program, after
    try:
        if slots == NULL or outs == NULL or ints == NULL:
            raise MemoryError()
        for i in range(program.n_inputs):
            slots[i] = <PyObject*>inputs[i] if inputs[i] is not None else NULL
        for i in range(len(words)):
            ints[i] = <int64_t>float_bits(words[i]) if isinstance(words[i], float) else words[i]
        program.replay(slots, ints, outs, FLAG_INNER, NULL if donation is None else PyBytes_AS_STRING(donation), observer)
        for i in range(program.n_outputs):
            results.append(<object>outs[i] if outs[i] != NULL else None)
            Py_XDECREF(outs[i])
        return results
    finally:
        free(slots)
        free(outs)
        free(ints)
