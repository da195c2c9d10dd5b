"""The rows of one call of `apply_foreach`: what each one is, and how it runs."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from umiak.core.operand cimport Operand
from umiak.core.plan cimport INLINE_X, OpBase

cdef enum:
    ROW_BATCH = 0              # as a part of a batch that one native call takes
    ROW_LAUNCH = 1             # by a native launch of its own
    ROW_CALL = 2               # by a call of its own

cdef struct Row:
    Operand* xs
    PyObject** into            # its outputs, then NULL
    uint64_t* words            # its scalar pack
    PyObject* plan             # borrowed from `ForeachCall.plans`
    PyObject* params           # borrowed from where the row was read
    PyObject* held[3]          # of a slot, owned: its target, `outs` and `values`; else NULL
    int part                   # which of `ForeachCall.rows` it is, or is a row of
    int at                     # which one of these
    int route                  # one of ROW_*
    int count                  # of outputs
    int np                     # words of params, at the end of the pack
    int n_words
    uint64_t sig
    uint64_t fixed
    int64_t elements
    int64_t work

cdef class ForeachCall:
    """The rows of one call and what they refer to."""
    cdef OpBase op
    cdef list rows             # of Python or `SlotRows`, which keep the tensors
    cdef list plans            # as an op's table may be cleared meanwhile
    cdef object memory
    cdef list new_outputs      # the outputs, where they are new; else None
    cdef Row* row
    cdef int params_at         # in a row of Python
    cdef int n                 # operands
    cdef int count
    cdef PyObject* last        # the latest plan that was found, and its key
    cdef uint32_t[INLINE_X] descs
    cdef uint64_t sig
    cdef uint64_t modes
    cdef bint queued

cdef ForeachCall read(OpBase op, list rows, list new_outputs)
cdef int load_row(ForeachCall w, int at) except -1
cdef uint64_t plan_modes() except? 0
cdef bint overlaps_outputs(ForeachCall w, Row* r) noexcept
cdef tuple row_of(ForeachCall w, int at)
cdef int refuse(object error, int at, int count) except -1
