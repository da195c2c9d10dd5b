"""Ops, their tables of plans, and plans: see plan.pyx and docs/design/dispatch.md."""
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int64_t, uint32_t, uint64_t

from umiak.core.rows cimport Rows
from umiak.core.scalar cimport ScalarProgram

# `dims` are the integers that the kernel asked for; a failure is a code > 0, or < 0 with a Python error set.
ctypedef int (*launch_t)(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream) noexcept nogil

# The same where every operand and the output are contiguous, of one shape with n elements.
ctypedef int (*flat_t)(void* self, void** ptrs, int64_t n, const uint64_t* scalars, int64_t stream) noexcept nogil

# The same for many rows, each with a size and scalars of its own.
ctypedef int (*many_t)(void* self, Rows* rows, int64_t stream) noexcept nogil

cdef struct Source:            # where an input of a scalar program comes from
    int16_t operand            # >= 0: a tensor operand; -1: the scalar pack
    int16_t axis               # size `axis`; stride `axis - 64`; 128: element offset; or the index in the pack

cdef enum:
    AXIS_STRIDE = 64
    AXIS_OFFSET = 128
    INLINE_X = 32              # operands kept on the stack
    INLINE_S = 256             # scalar words
    INLINE_R = 128             # registers
    INLINE_D = 128             # integers for a kernel
    MAX_OUT = 64               # outputs and residuals; sets of them are 64-bit masks
    PLAN_LAUNCH = 0            # one kernel
    PLAN_VIEW = 1              # sizes, strides and offset only
    PLAN_RESHAPE = 2           # a view when strides allow, else a copy
    PLAN_CALLS = 3             # a call program
    PLAN_PYTHON = 4            # a Python function over tensors
    FLAG_INTO = 1              # outputs are given
    FLAG_UNOBSERVED = 2        # observers have had their turn
    FLAG_INNER = 4             # a step of a call program: no view origins

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

cdef class TensorProgram:
    """Tensors and words to tensors: a composite's decomposition, or a gradient. Abstract: call_program.pyx has the one kind there is."""
    cdef readonly int n_outputs
    cdef Source* sources       # of the words, for forward programs
    cdef int n_sources
    cdef int execute(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags) except -1

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
    cdef bint bounded          # scalar operands lie from `low` to `high`, the bounds of an integer dtype
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
    cdef object refuse_results             # of results that users compute: (op, operands, params, results, operand) raises
    cdef uint64_t writes                   # the operands that these may write to, as bits
    cdef readonly TensorProgram program
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
    cdef TensorProgram vjp     # the usual one: all gradients present
    cdef uint64_t vjp_mask
    cdef dict vjps             # mask of present grads -> TensorProgram
    cdef bint fused            # the programs above are of fused groups, and not to be recorded under create_graph
    cdef dict recorded         # mask -> TensorProgram that is
    cdef object residuals      # TensorProgram that recomputes them, or None

ctypedef object (*apply_t)(OpBase op, tuple operands, tuple params, int flags)

cdef void set_apply(apply_t function) noexcept      # what `op(*operands, *params)` calls
cdef int insert(OpBase op, uint64_t h, Plan plan) except -1
cdef Source* make_sources(list pairs) except NULL
cdef int* int_array(values) except NULL     # with room for one more; freed by the caller

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
