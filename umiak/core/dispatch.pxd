"""Dispatch by class of operands: see dispatch.pyx and docs/design/dispatch.md."""
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from umiak.core.rows cimport Rows
from umiak.core.scalar cimport ScalarProgram
from umiak.core.tensor cimport Node, Tensor, ViewRecord

# `dims` are the integers that the kernel asked for; a failure is a code > 0, or < 0 with a Python error set.
ctypedef int (*launch_t)(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil

# The same where every operand and the output are contiguous, of one shape with n elements.
ctypedef int (*flat_t)(void* self, void** ptrs, int64_t n, const uint64_t* scalars, int64_t stream) noexcept nogil

# The same for many rows, each with a size and numbers of its own.
ctypedef int (*many_t)(void* self, Rows* rows, int64_t stream) noexcept nogil

cdef struct Operand:
    PyObject* t                # the tensor (borrowed), or NULL
    uint32_t desc              # its descriptor, or a tag
    int n_bits                 # words of a number operand: 0, 1 or 2
    uint64_t[2] bits

cdef struct Source:            # where a scalar input comes from
    int16_t operand            # >= 0: a tensor operand; -1: the scalar pack
    int16_t axis               # size `axis`; stride `axis - 64`; 128: element offset; or the index in the pack

cdef enum:
    AXIS_STRIDE = 64
    AXIS_OFFSET = 128
    INLINE_X = 32              # operands kept on the stack
    INLINE_S = 256             # scalar words
    INLINE_R = 128             # registers
    INLINE_D = 128             # integers for a kernel
    AMP_MASK = 0xFFFF00FE      # level, dtype and lists in the plan modes
    NOGIL_ELEMENTS = 1 << 16   # releasing the GIL costs 0.04 us: only for kernels that run longer than that
    MAX_OUT = 64               # outputs and residuals; sets of them are 64-bit masks
    PLAN_LAUNCH = 0            # one kernel
    PLAN_VIEW = 1              # sizes, strides and offset only
    PLAN_RESHAPE = 2           # a view when strides allow, else a copy
    PLAN_CALLS = 3             # a call program
    PLAN_PYTHON = 4            # a Python function over tensors
    FLAG_INTO = 1              # outputs are given
    FLAG_QUIET = 2             # observers have had their turn
    FLAG_INNER = 4             # a step of a call program: no view records

cdef class OpBase:
    cdef public dict attributes
    cdef int n_operands
    cdef int n_params
    cdef char[32] kinds        # 'f' float, 'i' int, 't' tuple of ints
    cdef PyObject** slots      # open-addressing table of plans
    cdef uint64_t* hashes
    cdef int capacity
    cdef readonly int entries
    cdef bint pointwise        # element by element
    cdef uint64_t overwrites   # operands, as bits, whose memory a result may take: all, or those that are read element by element
    cdef bint variadic         # the last operand is a list
    cdef bint identity_if_same # a call whose target shape is the operand's shape gives the operand (sum_to)

cdef class Plan:
    cdef readonly OpBase op    # the op that runs (under AMP: with its casts)
    cdef uint32_t* descs
    cdef int n_descs
    cdef uint64_t modes
    cdef uint64_t sig
    cdef readonly int kind
    cdef readonly int n_out    # outputs and residuals
    cdef readonly int n_visible
    cdef readonly bint single
    cdef readonly int place
    cdef bint elementwise      # equal operand shapes are the output shape
    cdef bint same_is_identity # returns its operand when the shape is the wanted one already
    cdef bint has_streams
    cdef bint native           # run_native serves it
    cdef bint bounded          # number operands lie from `low` to `high`, the bounds of an integer dtype
    cdef int64_t low, high
    cdef int[64] out_dtype
    cdef int[64] out_rank
    cdef int* out_regs         # registers of sizes (PLAN_VIEW: sizes, strides, offset)
    cdef ScalarProgram shape
    cdef Source* sources
    cdef int n_sources
    cdef readonly object infer_python      # set when infer could not be made a scalar program
    cdef launch_t launch
    cdef flat_t flat
    cdef many_t many
    cdef void* launch_self
    cdef int n_dims            # integers that the kernel asked for; -1: none at all, it gets what there is
    cdef int* dims             # their registers
    cdef readonly object explain_failure   # (op, operands, params, code): raises in the op's words
    cdef readonly object kernel
    cdef readonly object kernel_name       # for tables of launches; "": as the op
    cdef readonly object work              # (operands, outputs, dims) -> (bytes, flops) of a launch, or None
    cdef object keep
    cdef readonly CallProgram program
    # gradient
    cdef readonly bint records
    cdef uint64_t out_differentiable
    cdef int[16] save_in
    cdef int n_save_in
    cdef int[16] save_out
    cdef int n_save_out
    cdef Source* ints
    cdef int n_ints
    cdef public object gradient            # what the planner needs to trace the vjp for other masks
    cdef CallProgram vjp       # the usual one: all gradients present
    cdef uint64_t vjp_mask
    cdef dict vjps             # mask of present grads -> CallProgram
    cdef bint fused            # the programs above are of fused groups, and not to be recorded under create_graph
    cdef dict recorded         # mask -> CallProgram that is
    cdef object residuals      # CallProgram that recomputes them, or None

cdef struct Step:
    int n_x
    int n_params
    int n_out
    int out0
    int n_drop
    int n_donors
    int* donors                # pairs (result, value): the value dies here, and the result may take its memory
    int* x                     # value index; -1 none; -2 - k: number k
    int* params                # registers
    int* drop                  # values not needed after this step
    uint64_t sig
    bint identity              # gives its operand when that has the wanted shape already
    bint casts_weight          # an operand of the program to low precision: parameters are cast once per version

cdef class Witness:
    cdef int step(self, int i, Operand* xs, PyObject** made, bint into, uint64_t* params) except -1

cdef class CallProgram:
    cdef readonly int n_inputs
    cdef readonly int n_values
    cdef readonly int n_outputs
    cdef int n_steps
    cdef list ops
    cdef Step* steps
    cdef int* outputs          # value index or -1
    cdef int n_numbers
    cdef int* number_tag
    cdef int* number_reg
    cdef int* number_reg2       # imaginary parts
    cdef ScalarProgram scalars
    cdef Source* sources       # for forward programs
    cdef int n_sources
    cdef int* dtypes           # of the values that steps make
    cdef int execute(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags, const char* given=*, Witness witness=*) except -1
    cdef bint take_over(self, Step* s, Operand* xs, PyObject** values, PyObject** into, int flags, const char* given) except -1

cdef inline uint64_t key_hash(const uint32_t* descs, int n, uint64_t modes, uint64_t sig) noexcept:
    cdef int i
    cdef uint64_t h = (modes ^ sig) * <uint64_t>0x9E3779B97F4A7C15
    for i in range(n):
        h = (h ^ descs[i]) * <uint64_t>0x100000001b3
    return h ^ h >> 29

cdef inline bint same_words(const uint32_t* a, const uint32_t* b, int n) noexcept:
    """For a few words a call of memcmp costs more than the comparison."""
    cdef int i
    for i in range(n):
        if a[i] != b[i]:
            return False
    return True

cdef object dispatch(OpBase op, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, int flags, PyObject** into)
cdef object call1(OpBase op, Tensor x)
cdef object call2(OpBase op, Tensor x, Tensor y)
cdef int write_into(Tensor x, Tensor value) except -1
cdef object apply_raw(OpBase op, tuple operands, tuple params, int flags)
cdef int64_t reduction(Tensor x, object axis, bint keepdim) except -2      # see reduction_key
cdef int* int_array(values) except NULL     # with room for one more; freed by the caller
cdef Tensor quiet_copy(Tensor t)
cdef int extent(Tensor t, int64_t* low, int64_t* high) noexcept
cdef tuple view_params(ViewRecord r)

# For each.pyx.
cdef bint timed() noexcept
cdef int parse_operand(object o, Operand* x) except -1
cdef int bad_operand(OpBase op, object o) except -1
cdef int parse_params(OpBase op, tuple params, uint64_t* out, uint64_t* sig) except -2
cdef Plan miss(OpBase op, Operand* xs, int n, uint32_t* descs, const uint64_t* params, uint64_t sig, uint64_t modes, uint64_t h)
cdef int load_sources(const Source* s, int count, const Operand* xs, const uint64_t* scalars, int64_t* regs) noexcept
cdef int shape_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig) except -1
cdef int launch_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, int code) except -1
cdef bint in_place(Plan plan, const Operand* xs, int n, PyObject** into) noexcept
cdef bint clashes(OpBase op, Tensor o, Operand* xs, int n) noexcept
cdef int check_count(Plan plan, PyObject** into) except -1
cdef int check_into(Plan plan, int i, Tensor o, const int64_t* same, const int64_t* regs, int k) except -1
cdef int refuse_into(Plan plan, int i, Tensor o, list want) except -1
cdef int bring_back(Operand* xs, int n) except -1
cdef void* address(PyObject* t) except? NULL
