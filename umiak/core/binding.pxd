"""Binding of a program: the work around its calls at every run: see binding.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t

from umiak.core.call_program cimport CallProgram
from umiak.core.context cimport EngineContext
from umiak.core.frozen cimport Scratch
from umiak.core.place cimport PLACE_COUNT
from umiak.core.scalar cimport ScalarProgram
from umiak.core.tensor cimport Tensor

cdef enum Fit:
    MISFIT = 0                 # another dtype, rank or size, or a condition that does not hold
    GENERAL = 1                # the executor has to see each operation, or its inputs are no dense tensors
    FITS = 2

cdef struct Origin:            # where the value of a symbol comes from
    int input                  # >= 0: an input, whose size on axis `at` it is; -1: number `at` of the caller
    int at

cdef struct Known:             # what a constant was when it was looked at
    PyObject* tensor
    uint32_t key, shaped
    uint8_t kind
    PyObject* storage
    PyObject* counter
    char* data

cdef class Lowering:
    """One way to run a program."""
    cdef CallProgram calls
    cdef int* at               # which symbols of the program the calls want
    cdef int count
    cdef ScalarProgram conditions          # over all symbols; None where this way always stands for the program
    cdef list frozen           # as lists of launches, for some sizes; None where that is not tried
    cdef Scratch scratch       # their memory
    cdef int tried             # how often it was
    cdef int unforeseen        # how often it could not be said without a run what sizes give
    cdef bint ran

cdef class Table:
    """A set of addresses with a count and a mark each."""
    cdef object memory
    cdef void** keys
    cdef int* counts
    cdef int64_t mask
    cdef int64_t find(self, void* key) noexcept
    cdef int add(self, void* key) noexcept
    cdef int mark(self, void* key) noexcept
    cdef bint marked(self, void* key) noexcept

cdef class Frame:
    """The state of one run. Inputs are borrowed, results owned."""
    cdef void* memory
    cdef size_t size           # of it, in words
    cdef PyObject** inputs
    cdef PyObject** outs
    cdef int64_t* regs         # symbols, then whatever the scalar program computes
    cdef int64_t* words        # what the calls want
    cdef int64_t* scratch
    cdef char* donation
    cdef int n_outs
    cdef int* fresh            # inputs to be looked at; -1 ends it
    cdef Lowering lowering     # None: not run from here

cdef class Binding:
    cdef readonly int n_inputs, n_arguments, n_symbols, n_scalars
    cdef object owner
    cdef list constants        # by input; None for an argument
    cdef int* argument         # by input: number of the argument, -1 for a constant
    cdef uint32_t* keys        # dtype and rank of the inputs
    cdef Origin* origins       # of the symbols
    cdef int* size_registers   # what sizes of inputs are
    cdef int n_size_registers
    cdef ScalarProgram scalar_program
    cdef int* sizes            # registers of the sizes of all inputs, one input after the other
    cdef int n_outputs
    cdef list outputs          # None: a tensor; (register, kind) of a number; otherwise (value,)
    cdef int* extras           # registers of further scalars that were asked for
    cdef int n_targets
    cdef int* targets          # inputs that are written to
    cdef int* written          # arguments among them, as inputs; -1 ends it
    cdef bytes donated         # a byte per input: given up with every run
    cdef bint donates, disjoint, general
    cdef int64_t arena         # the most bytes of scratch memory of a form
    cdef int most_words, most_scratch
    cdef Lowering apart
    cdef list fused            # by place
    # Constants are looked at again where one of them is not as it was. `stamp` counts how often.
    cdef Known* roster
    cdef int n_roster
    cdef bint fixed            # the sizes of constants follow from no symbol
    cdef bint settled          # the roster is as it was when a run with it was admitted
    cdef int64_t stamp
    cdef uint32_t keys_known   # of all constants, or-ed
    cdef PyObject** pattern    # the inputs, NULL where an argument is
    cdef int* first_size       # by input: its first in `sizes`
    cdef int* given_inputs     # inputs that are arguments; -1 ends it
    cdef int* all_inputs       # likewise all
    # What is known of the storages of constants, while these are those of `storages`.
    cdef void** storages
    cdef Table known
    cdef bytearray donation
    cdef Frame spare           # of a run that is over, for the next one; its constants are in their places
    cdef list forms(self)                                  # the forms that are lists of launches
    cdef Frame frame(self)
    cdef int give_back(self, Frame f) noexcept
    cdef bint unchanged(self) noexcept
    cdef int remember(self) noexcept
    cdef int enter(self, Frame f, PyObject** arguments) except -1
    cdef int set_symbols(self, Frame f, const int64_t* scalars) except -1
    cdef int admit(self, Frame f, EngineContext ctx) except -1
    cdef bint prepare(self, Lowering lowering)
    cdef list execute(self, Frame f)
    cdef int replay(self, Frame f, const char* donation) except -1
    cdef bint give(self, Frame f) except -1
    cdef int learn(self, Frame f) except -1
    cdef bint overlapped(self, Frame f, int at) noexcept
    cdef bint in_target(self, Frame f, Tensor v) noexcept
    cdef int write(self, Frame f) except -1
    cdef int put(self, Frame f, int at, Tensor output) except -1
