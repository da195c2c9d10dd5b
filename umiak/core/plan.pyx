# cython: language_level=3, binding=False
"""Ops, each with a table of plans, and the plans that dispatch finds there for a call."""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free, malloc

from umiak.core.place cimport place_from_index
from umiak.core.scalar cimport ScalarProgram

cdef apply_t APPLY = NULL


cdef void set_apply(apply_t function) noexcept:
    global APPLY
    APPLY = function


# ---- ops -------------------------------------------------------------------------------------------------------------
cdef class OpBase:
    """C part of an op: how params are packed, and the table of plans."""

    def _bind(self, int n_operands, tuple kinds):
        cdef int i
        if len(kinds) > 32:
            raise ValueError(f"[{type(self).__name__}] requires at most 32 params, got {len(kinds)}")
        self.n_operands = n_operands
        self.n_params = len(kinds)
        self.identity_if_same = self.name == "sum_to"
        self.pointwise = self.elementwise
        self.overwrites = 0xFFFFFFFFFFFFFFFF if self.pointwise else self.overwritable
        self.variadic = any(name.startswith("*") for name in self.inputs)
        for i, kind in enumerate(kinds):
            self.kinds[i] = {"float": b"f", "int": b"i", "ints": b"t", "floats": b"g"}[kind][0]

    def __call__(self, *args):
        """``op(*operands, *params)`` for ops with a fixed number of operands."""
        if APPLY == NULL:
            raise RuntimeError(f"[{self.name}] requires the engine, got umiak.core alone. Import umiak.")
        return APPLY(self, args[:self.n_operands], args[self.n_operands:], 0)

    def table_size(self):
        """Number of plans in the table (distinct operand classes met)."""
        return self.entries

    def plans(self):
        """The plans in the table."""
        return [<object>self.slots[i] for i in range(self.capacity) if self.slots[i] != NULL]

    def clear(self):
        """Forget all plans, e.g. after a backend's kernels changed."""
        free_table(self)

    def __dealloc__(self):
        free_table(self)


cdef void free_table(OpBase op) noexcept:
    cdef int i
    cdef PyObject** old = op.slots
    cdef uint64_t* hashes = op.hashes
    cdef int capacity = op.capacity
    op.slots = NULL                                      # first of all: a plan's destructor may call the op again
    op.hashes = NULL
    op.capacity = 0
    op.entries = 0
    for i in range(capacity):
        Py_XDECREF(old[i])
    free(old)
    free(hashes)


cdef int insert(OpBase op, uint64_t h, Plan plan) except -1:
    cdef PyObject** slots
    cdef uint64_t* hashes
    cdef int i, j, capacity
    if (op.entries + 1) * 2 > op.capacity:
        capacity = op.capacity * 2 if op.capacity else 8
        slots = <PyObject**>calloc(capacity, sizeof(PyObject*))
        hashes = <uint64_t*>calloc(capacity, sizeof(uint64_t))
        if slots == NULL or hashes == NULL:
            free(slots)
            free(hashes)
            raise MemoryError()
        for i in range(op.capacity):
            if op.slots[i] != NULL:
                j = op.hashes[i] & (capacity - 1)
                while slots[j] != NULL:
                    j = (j + 1) & (capacity - 1)
                slots[j] = op.slots[i]
                hashes[j] = op.hashes[i]
        free(op.slots)
        free(op.hashes)
        op.slots = slots
        op.hashes = hashes
        op.capacity = capacity
    j = h & (op.capacity - 1)
    while op.slots[j] != NULL:
        j = (j + 1) & (op.capacity - 1)
    Py_INCREF(plan)
    op.hashes[j] = h
    op.slots[j] = <PyObject*>plan
    op.entries += 1
    return 0

# ---- plans -----------------------------------------------------------------------------------------------------------
cdef int* int_array(values) except NULL:
    cdef int* a = <int*>malloc((len(values) + 1) * sizeof(int))
    cdef int i
    if a == NULL:
        raise MemoryError()
    for i, v in enumerate(values):
        a[i] = v
    return a


cdef Source* make_sources(list pairs) except NULL:
    cdef Source* s = <Source*>malloc((len(pairs) + 1) * sizeof(Source))
    cdef int i
    if s == NULL:
        raise MemoryError()
    for i, (operand, axis) in enumerate(pairs):
        s[i].operand = operand
        s[i].axis = axis
    return s


cdef class TensorProgram:
    cdef int execute(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags) except -1:
        """Run; ``outs`` receives owned references (NULL where an output is none)."""
        raise NotImplementedError(f"{type(self).__name__} defines no execute")


cdef class Plan:
    """The way in which one op runs on one class of operands. Immutable once in a table."""

    def __init__(self, OpBase op not None, int kind, list outs, int n_visible, bint single, int place, list sources,
                 ScalarProgram shape, list out_regs, bint elementwise=False, bint same_is_identity=False, bint has_streams=False,
                 infer_python=None):
        cdef int i
        if len(outs) > MAX_OUT:
            raise ValueError(f"[{op}] requires at most {MAX_OUT} outputs and residuals, got {len(outs)}")
        self.op = op
        self.kind = kind
        self.n_out = len(outs)
        self.n_visible = n_visible
        self.single = single
        self.place = place
        self.sources = make_sources(sources)
        self.n_sources = len(sources)
        self.shape = shape
        self.out_regs = <int*>malloc((len(out_regs) + 1) * sizeof(int))
        if self.out_regs == NULL:
            raise MemoryError()
        for i, reg in enumerate(out_regs):
            self.out_regs[i] = reg
        for i, (dtype_id, rank) in enumerate(outs):
            self.out_dtype[i] = dtype_id
            self.out_rank[i] = rank
        self.elementwise = elementwise
        self.same_is_identity = same_is_identity
        self.has_streams = has_streams
        self.infer_python = infer_python
        self.vjps = {}
        self.recorded = {}
        self.n_dims = -1

    def set_kernel(self, size_t address=0, size_t launch_self=0, kernel=None, keep=None, dims=None, size_t flat=0, explain=None,
                   kernel_name="", work=None, size_t many=0):
        """A native launch function by address, or a Python kernel. ``dims``: registers of the shape program to hand over."""
        self.kernel_name = kernel_name
        self.work = work
        self.launch = <launch_t><void*>address
        self.launch_self = <void*>launch_self
        self.explain_failure = explain
        if dims is not None:
            self.n_dims = len(dims)
            self.dims = <int*>malloc((self.n_dims + 1) * sizeof(int))
            if self.dims == NULL:
                raise MemoryError()
            for i, register in enumerate(dims):
                self.dims[i] = register
            self.flat = <flat_t><void*>flat
            self.many = <many_t><void*>many
        self.native = address != 0 and self.kind == PLAN_LAUNCH and self.n_out == 1 and not self.same_is_identity and \
            self.shape is not None and self.shape.n_regs <= INLINE_R and self.n_dims <= INLINE_D
        self.kernel = kernel
        self.keep = keep

    def check_results(self, refuse not None, uint64_t writes):
        """Compare what a Python kernel gives with the sizes and dtypes of the plan, and which operands it has written to with
        ``writes`` (bits). ``refuse(op, operands, params, results, operand)`` raises; ``operand``: that was written to, or -1."""
        self.refuse_results = refuse
        self.writes = writes

    def bound_scalars(self, int64_t low, int64_t high):
        """Scalar operands outside of these bounds go to the slot ``out_of_range``, as the op has no place for them."""
        self.low = low
        self.high = high
        self.bounded = True

    def set_program(self, TensorProgram program not None):
        self.program = program

    def set_gradient(self, uint64_t out_mask, list save_in, list save_out, list ints, residuals=None, bint fused=False):
        """Record a node at every run: which outputs get it, which operands and outputs are kept, which sizes and numbers."""
        cdef int i
        if len(save_in) > 16 or len(save_out) > 16:
            raise ValueError(f"[{self.op}] requires at most 16 saved inputs and outputs, got {len(save_in)} and {len(save_out)}")
        self.records = True
        self.out_differentiable = out_mask
        self.n_save_in = len(save_in)
        self.n_save_out = len(save_out)
        for i, index in enumerate(save_in):
            self.save_in[i] = index
        for i, index in enumerate(save_out):
            self.save_out[i] = index
        self.ints = make_sources(ints)
        self.n_ints = len(ints)
        self.residuals = residuals
        self.fused = fused

    def set_vjp(self, uint64_t mask, TensorProgram program not None, bint recorded=False):
        """The gradient for one set of present output gradients; ``recorded``: under create_graph, where that is another."""
        if recorded:
            self.recorded[mask] = program
            return
        if self.vjp is None:
            self.vjp = program
            self.vjp_mask = mask
        self.vjps[mask] = program

    @property
    def keep(self):
        return self.keep

    @keep.setter
    def keep(self, value):
        self.keep = value

    @property
    def saves(self):
        """(indices of saved operands, indices of saved outputs)"""
        return ([self.save_in[i] for i in range(self.n_save_in)], [self.save_out[i] for i in range(self.n_save_out)])

    def __dealloc__(self):
        free(self.descs)
        free(self.out_regs)
        free(self.dims)
        free(self.sources)
        free(self.ints)

    def __repr__(self):
        kind = ("launch", "view", "reshape", "calls", "python")[self.kind]
        return f"<Plan {self.op!r} {kind} on {place_from_index(self.place).name}>"


globals().update(
    PLAN_LAUNCH=PLAN_LAUNCH, PLAN_VIEW=PLAN_VIEW, PLAN_RESHAPE=PLAN_RESHAPE, PLAN_CALLS=PLAN_CALLS, PLAN_PYTHON=PLAN_PYTHON,
    AXIS_STRIDE=AXIS_STRIDE, AXIS_OFFSET=AXIS_OFFSET)
