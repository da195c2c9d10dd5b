"""A call program for inputs of known sizes as a list of launches: see frozen.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t

from umiak.core.branches cimport Branches
from umiak.core.call_program cimport CallProgram
from umiak.core.launch_list cimport Launch

cdef struct Pointer:
    int root                   # -1: NULL
    int64_t offset

cdef struct Root:
    int kind                   # of memory: R_INPUT, R_SCRATCH, R_TENSOR
    int at                     # which input, or tensor
    int64_t offset             # in the scratch memory

cdef struct Copied:            # a value that an input gets in the end
    Pointer source
    int target
    int64_t nbytes

cdef class Scratch:
    """Memory for values inside, of which one run at a time makes use."""
    cdef void* memory
    cdef char* data
    cdef int64_t size
    cdef bint busy
    cdef int reserve(self, int64_t size) except -1

cdef class Frozen:
    cdef CallProgram program
    cdef list plans            # by launch
    cdef list ops              # (op, size of its table, plans in it): tables that were not cleared since
    cdef list explained        # by launch: how to describe its operands in an error
    cdef uint64_t modes
    cdef int place
    cdef int n_inputs, n_sizes, n_roots, n_launches, n_outputs, n_results, n_copied, n_guards
    cdef uint32_t* keys
    cdef int64_t* sizes
    cdef bytes donation
    cdef Root* roots
    cdef Launch* launches
    cdef Pointer* pointers
    cdef int* scalars          # registers
    cdef Copied* copied
    cdef int* targets
    cdef int* guards           # registers that sizes came from, and what was in them
    cdef int64_t* guarded
    cdef list new_tensors      # (dtype, place, shape, root) of new tensors
    cdef list outputs          # by output: None, an int for a new tensor, or (tensor, shape, strides, offset) for a view of one
    cdef int64_t work
    cdef Scratch scratch       # that of all sizes of a program
    cdef int64_t needed        # bytes of it
    cdef char* located         # where it was when `ptrs` were filled
    cdef void* room            # where pointers and numbers of a run are
    cdef char** bases
    cdef void** ptrs           # of all launches
    cdef uint64_t* words
    cdef int64_t stamp         # of the constants for which `ptrs` and `versions` are; -1: none
    cdef int* arguments        # inputs that come with every run; -1 ends it
    cdef int* moving           # roots that are elsewhere at every run, and pointers that begin there; -1 ends them
    cdef int* moved
    cdef int* all_roots        # likewise all
    cdef int* all_pointers
    cdef int* target_of        # by input: which target it is, or -1
    cdef uint32_t** versions   # by target: what counts its writes
    cdef int64_t* regs
    cdef list dims             # keeps `Launch.dims`
    cdef Branches branches     # launches that may run side by side; None where none may
    cdef list spans            # (root, first step, last step, bytes) of what is in the scratch memory
    cdef list written          # by launch: (what makes two launches equal, the bytes of each of its results)
    cdef int64_t most          # bytes that it may have
    cdef int n_ptrs, n_words
    cdef int run(self, PyObject** inputs, const int64_t* words, const int64_t* sizes, const char* donation, PyObject** outs, int64_t stamp) except -1
    cdef bint take(self, PyObject* t, int i) noexcept
    cdef int locate(self, PyObject** inputs, list new_tensors, const int* roots, const int* pointers) noexcept
    cdef int play(self, int64_t stream, int* at) noexcept nogil
    cdef int make_room(self) except -1
    cdef int divide(self) except -1
    cdef list accesses(self)
    cdef bint alike(self, int at) except -1
    cdef int fail(self, int at, int code, int64_t stream) except -1

cdef Frozen freeze(CallProgram p, PyObject** inputs, const int64_t* words, const int64_t* sizes, int n_sizes, const char* donation,
                   const int* targets, int n_targets, const int* arguments, PyObject** outs, int64_t most, Scratch scratch, bint rehearsed)
