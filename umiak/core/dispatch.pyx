# cython: language_level=3, binding=False
"""Dispatch by class of operands.

The first level of caching: op identity + the class of every operand (dtype, rank, layout, place, needs-grad, kind of number) + plan
modes → an immutable plan. Sizes and numbers are not part of the key; a plan evaluates them with its scalar program. What is not in the
table is Python's business: the slot ``on_miss`` builds a plan, everything after that is C.
"""
import weakref

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Occurred
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdlib cimport calloc, free, malloc
from libc.math cimport trunc
from libc.string cimport memcmp, memcpy
from time import perf_counter

from umiak.core.buffer import Buffer
from umiak.util.errors import op_error
from umiak.util.frames import folded
from umiak.core.context import no_grad_guard
from umiak.core.array cimport operand_array, put_packed
from umiak.core.context cimport EngineContext, MODE_GRAD, OBSERVE_TRACE, RankState, context_pointer
from umiak.core.dtype cimport BITS, BOOL, COMPLEX_IDS, DType, FLOAT32, FLOATING_IDS, ITEMSIZE, PACKED_IDS, UINT8, bytes_of, dtype_from_id, is_in
from umiak.core.place cimport Place, place_from_index
from umiak.core.scalar cimport ScalarProgram
from umiak.core.storage cimport ACCESS_HOST, Storage, adopt, foreign_storage, forsake, pin, place_access, resident, unpin, use_on_stream
from umiak.core.stream cimport RUNNING
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    double PyFloat_AS_DOUBLE(PyObject*)
    bint PyFloat_CheckExact(object)
    bint PyLong_CheckExact(object)
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    Py_ssize_t Py_REFCNT(PyObject*)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    object PyLong_FromLongLong(long long)
    int Py_IS_TYPE "Py_IS_TYPE"(PyObject*, PyObject*)
    bint PySlice_Check(object)
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t) noexcept

# What higher layers fill in (see install).
cdef object ON_MISS = None
cdef object VJP_PLAN = None
cdef object SLOW_PATH = None
cdef object SLOW_ASSIGN = None
cdef object PROMOTE = None
cdef object EXPLAIN = None
cdef object OUT_OF_RANGE = None
cdef object SCATTER_VIEW = None
cdef object WRITE_THROUGH = None
cdef object SLOW_BECOME = None
cdef object TIMER = None
cdef object TRANSFER = None
cdef int64_t QUICK = NOGIL_ELEMENTS        # launches of fewer elements take the short way; while launches are timed, none
cdef OpBase COPY = None
cdef PyObject* BINARY_OPS[B_COUNT]
cdef PyObject* UNARY_OPS[U_COUNT]
cdef object _slot_refs = {}
BINARY_NAMES = ("add", "sub", "mul", "div", "floor_div", "remainder", "pow", "matmul", "bitwise_and", "bitwise_or", "bitwise_xor",
                "shift_left", "shift_right", "lt", "le", "gt", "ge", "eq", "ne")
UNARY_NAMES = ("neg", "abs", "bitwise_not")


def install(**slots):
    """Fill slots. ``binary`` and ``unary`` are dicts from operator name to interned op."""
    global ON_MISS, VJP_PLAN, SLOW_PATH, SLOW_ASSIGN, SLOW_BECOME, PROMOTE, EXPLAIN, OUT_OF_RANGE, COPY, SCATTER_VIEW, WRITE_THROUGH
    global TRANSFER
    cdef int i
    for name, value in slots.items():
        _slot_refs[name] = value
        if name == "on_miss": ON_MISS = value
        elif name == "vjp_plan": VJP_PLAN = value
        elif name == "slow_path": SLOW_PATH = value
        elif name == "slow_assign": SLOW_ASSIGN = value
        elif name == "slow_become": SLOW_BECOME = value
        elif name == "promote": PROMOTE = value
        elif name == "explain": EXPLAIN = value
        elif name == "out_of_range": OUT_OF_RANGE = value
        elif name == "scatter_view": SCATTER_VIEW = value
        elif name == "write_through": WRITE_THROUGH = value
        elif name == "copy": COPY = value
        elif name == "transfer": TRANSFER = value
        elif name == "binary":
            for i, key in enumerate(BINARY_NAMES):
                BINARY_OPS[i] = <PyObject*>value[key]
        elif name == "unary":
            for i, key in enumerate(UNARY_NAMES):
                UNARY_OPS[i] = <PyObject*>value[key]
        else:
            raise TypeError(f"[install] has no slot {name!r}")


def time_launches(timer):
    """Tell ``timer`` of every launch, on all threads; None ends that.

    ``timer.start()`` gives a token; after a launch that succeeded ``timer.stop(token, seconds, plan, operands, outputs, dims)``
    follows, where ``dims`` is what a native kernel got, None where it asked for nothing or was launched flat.
    """
    global TIMER, QUICK
    TIMER = timer
    QUICK = NOGIL_ELEMENTS if timer is None else -1


cdef bint timed() noexcept:
    """Whether a timer is told of every launch."""
    return TIMER is not None


# ---- op records ----------------------------------------------------------------------------------------------------
cdef class OpBase:
    """C part of an op record: how params are packed, and the table of plans."""

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
            self.kinds[i] = {"float": b"f", "int": b"i", "ints": b"t"}[kind][0]

    def __call__(self, *args):
        """``op(*operands, *params)`` for ops with a fixed number of operands."""
        return apply(self, args[:self.n_operands], args[self.n_operands:])

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
cdef Source* make_sources(list pairs) except NULL:
    cdef Source* s = <Source*>malloc((len(pairs) + 1) * sizeof(Source))
    cdef int i
    if s == NULL:
        raise MemoryError()
    for i, (operand, axis) in enumerate(pairs):
        s[i].operand = operand
        s[i].axis = axis
    return s


cdef class Plan:
    """How one op runs on one class of operands. Immutable once in a table."""

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

    def bound_numbers(self, int64_t low, int64_t high):
        """Number operands outside of these bounds go to the slot ``out_of_range``, as the op has no place for them."""
        self.low = low
        self.high = high
        self.bounded = True

    def set_program(self, CallProgram program not None):
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

    def set_vjp(self, uint64_t mask, CallProgram program not None, bint recorded=False):
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
        return f"<Plan {self.op!r} {kind} on {place_from_index(self.place)}>"


cdef int load_sources(const Source* s, int count, const Operand* xs, const uint64_t* scalars, int64_t* regs) noexcept:
    cdef int i
    cdef PyObject* t
    for i in range(count):
        if s[i].operand < 0:
            regs[i] = <int64_t>scalars[s[i].axis]
        else:
            t = xs[s[i].operand].t
            if s[i].axis < AXIS_STRIDE:
                regs[i] = (<Tensor>t).dims[s[i].axis]
            elif s[i].axis < AXIS_OFFSET:
                regs[i] = (<Tensor>t).strides[s[i].axis - AXIS_STRIDE]
            else:
                regs[i] = ((<Tensor>t).offset << 3) // BITS[(<Tensor>t).key & K_DTYPE_MASK]
    return 0


# ---- numbers -----------------------------------------------------------------------------------------------------------
cdef uint64_t _float_bits(double d) noexcept:
    cdef uint64_t bits
    memcpy(&bits, &d, 8)
    return bits


cdef double _bits_float(uint64_t bits) noexcept:
    cdef double d
    memcpy(&d, &bits, 8)
    return d


cdef object number_of(const Operand* x):
    cdef int tag = x.desc >> K_TAG_SHIFT
    if tag == TAG_FLOAT: return _bits_float(x.bits[0])
    if tag == TAG_INT: return <int64_t>x.bits[0]
    if tag == TAG_BOOL: return x.bits[0] != 0
    if tag == TAG_COMPLEX: return complex(_bits_float(x.bits[0]), _bits_float(x.bits[1]))
    return None


cdef object operand_object(const Operand* x):
    return <object>x.t if x.t != NULL else number_of(x)


cdef int parse_operand(object o, Operand* x) except -1:
    """0 when understood; 1 when it is something only the slow path may know (a symbolic scalar)."""
    cdef double d
    cdef int overflow = 0
    x.t = NULL
    x.n_bits = 0
    if isinstance(o, Tensor):
        x.t = <PyObject*>o
    elif o is None:
        x.desc = TAG_ABSENT << K_TAG_SHIFT
    elif PyFloat_CheckExact(o):
        x.desc = TAG_FLOAT << K_TAG_SHIFT
        d = <double>o
        memcpy(x.bits, &d, 8)
        x.bits[1] = 0
        x.n_bits = 1
    elif isinstance(o, bool):
        x.desc = TAG_BOOL << K_TAG_SHIFT
        x.bits[0] = o is True
        x.n_bits = 1
    elif PyLong_CheckExact(o):
        x.desc = TAG_INT << K_TAG_SHIFT
        x.bits[0] = <uint64_t>PyLong_AsLongLongAndOverflow(o, &overflow)
        x.n_bits = 1
        if overflow:
            # Beyond 64 bits an integer still has a meaning as a float; next to an integer tensor `infer` refuses it as one.
            d = <double>o
            x.desc = TAG_FLOAT << K_TAG_SHIFT
            memcpy(x.bits, &d, 8)
            x.bits[1] = 1                                # which no integer dtype holds, even where it rounds to -2**63
    elif isinstance(o, complex):
        x.desc = TAG_COMPLEX << K_TAG_SHIFT
        x.bits[0] = _float_bits(o.real)
        x.bits[1] = _float_bits(o.imag)
        x.n_bits = 2
    elif isinstance(o, float):
        return parse_operand(float(o), x)
    elif isinstance(o, int):
        return parse_operand(int(o), x)
    else:
        return 1
    return 0


cdef int bad_operand(OpBase op, object o) except -1:
    raise op_error(
        TypeError, op.name, "tensors or Python numbers as operands" if op.pointwise else "tensors as operands", type(o).__name__)


cdef int parse_params(OpBase op, tuple params, uint64_t* out, uint64_t* sig) except -2:
    """Pack params into words; the number of words, or -1 when one is symbolic."""
    cdef int j, k = 0, n_tuples = 0, overflow = 0
    cdef object value
    sig[0] = 0
    if len(params) != op.n_params:
        raise TypeError(f"[{op.name}] requires {op.n_params} params {tuple(op.param_fields)}, got {len(params)}")
    for j in range(op.n_params):
        value = params[j]
        if op.kinds[j] == c't':
            if not isinstance(value, (tuple, list)):
                raise op_error(TypeError, op.name, f"a tuple of ints for param {tuple(op.param_fields)[j]!r}", repr(value))
            value = tuple(value)                         # an item's __index__ may change a list
            if n_tuples == 8 or k + len(value) > INLINE_S or len(value) > 254:
                raise ValueError(f"[{op.name}] requires params of at most {INLINE_S} numbers, got more")
            sig[0] |= <uint64_t>(len(value) + 1) << (8 * n_tuples)
            n_tuples += 1
            for item in <tuple>value:
                if PyLong_CheckExact(item):
                    out[k] = <uint64_t>PyLong_AsLongLongAndOverflow(item, &overflow)
                    if not overflow:
                        k += 1
                        continue
                item = as_int(op, item, j)
                if item is None:
                    return -1
                out[k] = <uint64_t><int64_t>item
                k += 1
        else:
            if k >= INLINE_S:
                raise ValueError(f"[{op.name}] requires params of at most {INLINE_S} numbers, got more")
            if op.kinds[j] == c'f':
                if isinstance(value, (float, int)):
                    out[k] = _float_bits(<double>value)
                elif hasattr(value, "is_symbolic"):
                    return -1
                elif hasattr(value, "__float__"):
                    out[k] = _float_bits(float(value))
                else:
                    raise op_error(TypeError, op.name, f"a number for param {tuple(op.param_fields)[j]!r}", repr(value))
            else:
                item = as_int(op, value, j)
                if item is None:
                    return -1
                out[k] = <uint64_t><int64_t>item
            k += 1
    return k


cdef object as_int(OpBase op, object value, int j):
    """The int of param ``j``; None for a symbolic one."""
    cdef int overflow = 0
    if not PyLong_CheckExact(value):
        if hasattr(value, "is_symbolic"):
            return None
        if not hasattr(value, "__index__"):
            raise op_error(TypeError, op.name, f"an int for param {tuple(op.param_fields)[j]!r}", repr(value))
        value = value.__index__()
    PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        raise op_error(OverflowError, op.name, f"a 64-bit int for param {tuple(op.param_fields)[j]!r}", value)
    return value


cdef tuple unpack_params(OpBase op, const uint64_t* bits, uint64_t sig):
    cdef int j, k = 0, i, count, n_tuples = 0
    cdef list out = [], item
    for j in range(op.n_params):
        if op.kinds[j] == c't':
            count = <int>((sig >> (8 * n_tuples)) & 255) - 1
            n_tuples += 1
            item = []
            for i in range(count):
                item.append(<int64_t>bits[k])
                k += 1
            out.append(tuple(item))
        elif op.kinds[j] == c'f':
            out.append(_bits_float(bits[k]))
            k += 1
        else:
            out.append(<int64_t>bits[k])
            k += 1
    return tuple(out)


# ---- the path every call takes ------------------------------------------------------------------------------------------
cdef tuple operand_tuple(const Operand* xs, int n):
    cdef int i
    return tuple([operand_object(&xs[i]) for i in range(n)])


cdef Plan miss(OpBase op, Operand* xs, int n, uint32_t* descs, const uint64_t* params, uint64_t sig, uint64_t modes, uint64_t h):
    cdef Plan plan
    if ON_MISS is None:
        raise RuntimeError(f"[{op.name}] requires an installed planner, got none. Import umiak, not umiak.core.")
    try:
        plan = ON_MISS(op, operand_tuple(xs, n), unpack_params(op, params, sig), modes)
    except Exception as error:
        raise folded(error)
    if plan is None:
        raise RuntimeError(f"[{op.name}] got no plan for operands {operand_tuple(xs, n)}")
    plan.descs = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
    if plan.descs == NULL:
        raise MemoryError()
    memcpy(plan.descs, descs, n * sizeof(uint32_t))
    plan.n_descs = n
    plan.native = plan.native and n <= 8
    plan.modes = modes
    plan.sig = sig
    insert(op, h, plan)
    return plan


cdef object slow(OpBase op, tuple operands, tuple params):
    if SLOW_PATH is None:
        raise TypeError(f"[{op.name}] requires dense tensors, got {operands}")
    return SLOW_PATH(op, operands, params)


cdef object dispatch(OpBase op, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, int flags, PyObject** into):
    cdef PyObject* ctx = context_pointer()
    cdef uint32_t[INLINE_X] inline_descs
    cdef uint32_t* descs = inline_descs
    cdef object scratch
    cdef uint32_t kinds = 0, any_grad = 0, place_desc = 0
    cdef uint64_t h, modes
    cdef int i, j
    cdef bint found_tensor = False
    cdef Plan plan
    cdef PyObject* t
    if n > INLINE_X:
        scratch = PyBytes_FromStringAndSize(NULL, n * sizeof(uint32_t))
        descs = <uint32_t*>PyBytes_AS_STRING(scratch)
    for i in range(n):
        t = xs[i].t
        if t != NULL:
            kinds |= (<Tensor>t).kind
            any_grad |= (<Tensor>t).key
            descs[i] = (<Tensor>t).key
            found_tensor = True
        else:
            descs[i] = xs[i].desc
    if kinds or ((<EngineContext>ctx).observers and not (flags & FLAG_QUIET)):
        if kinds & ~<uint32_t>KIND_VIEW or ((<EngineContext>ctx).observers and not (flags & FLAG_QUIET)):
            if flags & FLAG_INTO:
                raise TypeError(f"[{op.name}] requires dense tensors to write into, got {operand_tuple(xs, n)}")
            return slow(op, operand_tuple(xs, n), unpack_params(op, params, sig))
        any_grad = 0
        for i in range(n):
            t = xs[i].t
            if t != NULL:
                if (<Tensor>t).kind & KIND_VIEW:
                    refresh(<Tensor>t)
                any_grad |= (<Tensor>t).key
                descs[i] = (<Tensor>t).key
    modes = (<EngineContext>ctx).plan_mode
    if not (modes & MODE_GRAD and any_grad & K_NEEDS_GRAD) or flags & FLAG_INTO:
        # Without a gradient to record, calls inside and outside no_grad share a plan.
        modes &= ~<uint64_t>MODE_GRAD
        if any_grad & K_NEEDS_GRAD:
            for i in range(n):
                descs[i] &= ~<uint32_t>K_NEEDS_GRAD
        if flags & FLAG_INTO:
            modes &= ~<uint64_t>AMP_MASK                 # what is written has its dtype
    if not found_tensor:
        i = (<EngineContext>ctx).inner_place
        modes |= <uint64_t>((i if i >= 0 else (<Place>(<EngineContext>ctx).state.place).index) + 1) << 40
    h = key_hash(descs, n, modes, sig)
    if op.capacity:
        j = h & (op.capacity - 1)
        while op.slots[j] != NULL:
            if op.hashes[j] == h:
                plan = <Plan>op.slots[j]
                if plan.n_descs == n and plan.modes == modes and plan.sig == sig and same_words(plan.descs, descs, n):
                    if plan.native:
                        if not flags & FLAG_INTO or plan.n_dims < 0 or in_place(plan, xs, n, into):
                            return run_native(plan, xs, n, params, np, into if flags & FLAG_INTO else NULL, <EngineContext>ctx)
                    if plan.kind == PLAN_VIEW and not flags & FLAG_INTO and plan.shape.n_regs <= INLINE_R:
                        return run_view(plan, xs, n, params, np, sig, flags)
                    return run(plan, xs, n, params, np, sig, flags, into, <EngineContext>ctx)
            j = (j + 1) & (op.capacity - 1)
    plan = miss(op, xs, n, descs, params, sig, modes, h)
    return run(plan, xs, n, params, np, sig, flags, into, <EngineContext>context_pointer())


cdef int shape_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig) except -1:
    """A check of the shape program failed: ``infer`` on the concrete operands says why."""
    try:
        EXPLAIN(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig))
    except Exception as error:
        raise folded(error)
    raise OverflowError(
        f"[{plan.op.name}] requires sizes and offsets that 64 bits can hold, got operands of shapes "
        f"{[x.shape for x in operand_tuple(xs, n) if isinstance(x, Tensor)]} and params {unpack_params(plan.op, params, sig)}")


cdef void* address(PyObject* t) except? NULL:
    """Where the data are now; an offloaded storage is brought back first."""
    if (<Tensor>t).storage.data == NULL:
        resident((<Tensor>t).storage)
    return (<Tensor>t).storage.data + (<Tensor>t).offset


cdef inline int launch(Plan plan, void** ptrs, const int64_t* dims, const int64_t* regs, const uint64_t* scalars, int64_t stream,
                       int64_t elements, Operand* xs, int n, PyObject** outs) except? -1:
    """Call a native kernel; a long one without the GIL, during which nothing on the place may move.

    ``dims`` is what a kernel gets that asked for nothing; NULL: the flat entry. Gives the kernel's code, 0 when all went well.
    """
    cdef int64_t inline[INLINE_D]
    cdef int64_t* asked = inline
    cdef object scratch
    cdef int failed, i
    cdef bint flat = dims == NULL
    if not flat and plan.n_dims >= 0:
        if plan.n_dims > INLINE_D:
            scratch = PyBytes_FromStringAndSize(NULL, plan.n_dims * 8)
            asked = <int64_t*>PyBytes_AS_STRING(scratch)
        for i in range(plan.n_dims):
            asked[i] = regs[plan.dims[i]]
        dims = asked
    if elements < QUICK:
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream) if flat else \
            plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    elif TIMER is None:
        failed = launch_long(plan, ptrs, dims, scalars, stream, elements)
    else:
        failed = launch_timed(plan, ptrs, dims, scalars, stream, elements, xs, n, outs)
    if failed < 0 and not PyErr_Occurred():
        raise RuntimeError(f"[{plan.op.name}] kernel failed with code {failed}")
    return failed


cdef int launch_long(Plan plan, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream,
                     int64_t elements) noexcept:
    cdef int failed
    RUNNING[plan.place] += 1
    with nogil:
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream) if dims == NULL else \
            plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    RUNNING[plan.place] -= 1
    return failed


cdef int launch_timed(Plan plan, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream, int64_t elements,
                      Operand* xs, int n, PyObject** outs) except? -1:
    cdef object timer = TIMER, token, start
    cdef int failed, i
    token = timer.start()
    start = perf_counter()
    if elements >= NOGIL_ELEMENTS:
        failed = launch_long(plan, ptrs, dims, scalars, stream, elements)
    elif dims == NULL:
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream)
    else:
        failed = plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    if failed == 0:
        asked = None if dims == NULL or plan.n_dims < 0 else tuple([dims[i] for i in range(plan.n_dims)])
        told(timer, token, perf_counter() - start, plan, xs, n, outs, asked)
    return failed


cdef int told(object timer, object token, object seconds, Plan plan, Operand* xs, int n, PyObject** outs, object dims) except -1:
    cdef int i
    made = tuple([<object>outs[i] for i in range(plan.n_out)])
    timer.stop(token, seconds, plan, operand_tuple(xs, n), made, dims)
    return 0


cdef int launch_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, int code) except -1:
    """Raise for a kernel's code > 0: in the op's words where the backend knows them."""
    if plan.explain_failure is not None:
        try:
            plan.explain_failure(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig), code)
        except Exception as error:
            raise folded(error)
    raise RuntimeError(f"[{plan.op.name}] kernel failed with code {code}")


cdef bint in_place(Plan plan, const Operand* xs, int n, PyObject** into) noexcept:
    """Whether a kernel that takes its outputs to be contiguous may write straight into these tensors: contiguous ones that no
    operand overlaps, but for an elementwise op's that is the same memory."""
    cdef int i, k
    cdef Tensor o, t
    for k in range(plan.n_visible):
        if into[k] == NULL:
            return True                                  # too few: refused later
        o = <Tensor>into[k]
        if (o.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
            return False
        for i in range(n):
            if xs[i].t != NULL:
                t = <Tensor>xs[i].t
                if t.storage is o.storage and not ((plan.op.pointwise or plan.op.overwrites >> min(i, 63) & 1) and t.offset == o.offset and t.numel == o.numel and
                                                   not (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK):
                    return False
    return True


cdef inline bint one_shape(const Operand* xs, int n, PyObject** first) noexcept:
    """Whether all tensor operands have the same sizes; ``first`` receives one of them."""
    cdef int i, d
    cdef PyObject* t
    cdef PyObject* f = NULL
    for i in range(n):
        t = xs[i].t
        if t != NULL:
            if f == NULL:
                f = t
            elif t != f:
                if (<Tensor>t).ndim != (<Tensor>f).ndim:
                    return False
                for d in range((<Tensor>f).ndim):
                    if (<Tensor>t).dims[d] != (<Tensor>f).dims[d]:
                        return False
    first[0] = f
    return f != NULL


cdef bint numbers_fit(Plan plan, const Operand* xs, int n) noexcept:
    """Whether number operands lie within the plan's bounds; of a float the fraction does not count."""
    cdef int i, tag
    cdef double d
    for i in range(n):
        if xs[i].t == NULL and xs[i].n_bits == 1:
            tag = xs[i].desc >> K_TAG_SHIFT
            if tag == TAG_INT:
                if not plan.low <= <int64_t>xs[i].bits[0] <= plan.high:
                    return False
            elif tag == TAG_FLOAT:
                d = trunc(_bits_float(xs[i].bits[0]))
                if xs[i].bits[1] or not (d >= <double>plan.low and d < <double>plan.high + 1.0):      # so NaN does not fit either
                    return False
    return True


cdef object out_of_range(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** into):
    try:
        made = OUT_OF_RANGE(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig), plan.low, plan.high)
    except Exception as error:
        raise folded(error)
    if into == NULL:
        return made
    write_into(<Tensor>into[0], <Tensor>made)
    return None


cdef object run_native(Plan plan, Operand* xs, int n, const uint64_t* params, int np, PyObject** into, EngineContext ctx):
    """A native kernel with one output and few operands: the common case of ``run``, with nothing to clean up."""
    cdef uint64_t scalars_inline[INLINE_S + 16]
    cdef uint64_t* scalars = scalars_inline
    cdef int64_t regs_inline[INLINE_R]
    cdef int64_t* regs = regs_inline
    cdef int64_t dims[K_RANK_MASK + 1]
    cdef void* ptrs[10]
    cdef PyObject* first = NULL
    cdef PyObject* made[1]
    cdef int i, d, k = 0, failed
    cdef int64_t stream = ctx.stream[plan.place], elements
    cdef Tensor o
    cdef bint flat = False
    for i in range(n):
        if xs[i].t == NULL and xs[i].n_bits:
            scalars[k] = xs[i].bits[0]
            k += 1
            if xs[i].n_bits == 2:
                scalars[k] = xs[i].bits[1]
                k += 1
    if k == 0:
        scalars = <uint64_t*>params
    else:
        if plan.bounded and not numbers_fit(plan, xs, n):
            return out_of_range(plan, xs, n, params, plan.sig, into)
        memcpy(scalars + k, params, np * 8)
    ctx.running = <PyObject*>plan.op
    if plan.elementwise and (plan.n_dims < 0 or plan.flat != NULL) and one_shape(xs, n, &first):
        flat = plan.flat != NULL
        regs = (<Tensor>first).dims
        if into != NULL:
            check_count(plan, into)
            check_into(plan, 0, <Tensor>into[0], regs, NULL, 0)
            o = <Tensor>into[0]
        else:
            o = new_tensor(plan.out_dtype[0], (<Tensor>first).ndim, regs, plan.place, stream)
    else:
        load_sources(plan.sources, plan.n_sources, xs, scalars, regs)
        failed = plan.shape.run(regs)
        if failed:
            shape_failed(plan, xs, n, params, plan.sig)
        if into != NULL:
            check_count(plan, into)
            check_into(plan, 0, <Tensor>into[0], NULL, regs, 0)
            o = <Tensor>into[0]
        else:
            for d in range(plan.out_rank[0]):
                dims[d] = regs[plan.out_regs[d]]
            o = new_tensor(plan.out_dtype[0], plan.out_rank[0], dims, plan.place, stream)
    elements = o.numel
    if o.storage.data == NULL:
        resident(o.storage)
    bring_back(xs, n)
    for i in range(n):
        if xs[i].t != NULL:
            ptrs[i] = tensor_data(<Tensor>xs[i].t)
            if (<Tensor>xs[i].t).numel > elements:
                elements = (<Tensor>xs[i].t).numel
        else:
            ptrs[i] = NULL
    ptrs[n] = tensor_data(o)
    made[0] = <PyObject*>o
    failed = launch(plan, ptrs, NULL if flat else regs, regs, scalars, stream, elements, xs, n, made)
    if failed:
        launch_failed(plan, xs, n, params, plan.sig, failed)
    if plan.has_streams:
        for i in range(n):
            if xs[i].t != NULL and (<Tensor>xs[i].t).storage.stream != stream:
                use_on_stream((<Tensor>xs[i].t).storage, stream)
    if into != NULL:
        if o.storage.stream != stream:
            use_on_stream(o.storage, stream)
        bump_version(o)
        return None
    if plan.records:
        record(plan, xs, n, scalars, made, ctx.saved_hooks)
    return o if plan.single else (o,)


cdef object run_view(Plan plan, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, int flags):
    """Sizes, strides and offset over the operand's storage; no kernel."""
    cdef int64_t regs[INLINE_R]
    cdef PyObject* outs[1]
    cdef Tensor o
    load_sources(plan.sources, plan.n_sources, xs, params, regs)
    if plan.shape.run(regs):
        shape_failed(plan, xs, n, params, sig)
    o = view_of(plan, <Tensor>xs[0].t, regs)
    if plan.records:
        outs[0] = <PyObject*>o
        record(plan, xs, n, params, outs, (<EngineContext>context_pointer()).saved_hooks)
    if not flags & FLAG_INNER:
        remember_view(o, <Tensor>xs[0].t, plan.op, params, np, sig)
    return o


cdef object run(Plan plan, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, int flags, PyObject** into, EngineContext ctx):
    cdef uint64_t[INLINE_S + 32] scalars_inline
    cdef uint64_t* scalars = scalars_inline
    cdef int64_t[INLINE_R] regs_inline
    cdef int64_t* regs = regs_inline
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef PyObject* outs[MAX_OUT]
    cdef void* ptrs_inline[INLINE_X + MAX_OUT]
    cdef void** ptrs = ptrs_inline
    cdef object scratch, scratch2, scratch3
    cdef int i, k, d, n_weak = 0, failed
    cdef int64_t stream = ctx.stream[plan.place], elements
    cdef Tensor o, t, first = None
    cdef PyObject* firstp = NULL
    cdef bint same, python = plan.launch == NULL
    cdef tuple made

    if flags & FLAG_INTO:
        check_count(plan, into)
        if plan.n_dims >= 0 and not in_place(plan, xs, n, into):
            python = plan.kernel is not None
            if not python:
                made = run_apart(plan, xs, n, params, np, sig, ctx)
                for i in range(plan.n_visible):
                    write_into(<Tensor>into[i], <Tensor>made[i])
                return None
    # The scalar pack: number operands, then params.
    for i in range(n):
        n_weak += xs[i].n_bits if xs[i].t == NULL else 0
    if n_weak == 0:
        scalars = <uint64_t*>params
    else:
        if plan.bounded and not numbers_fit(plan, xs, n):
            return out_of_range(plan, xs, n, params, sig, into if flags & FLAG_INTO else NULL)
        if n_weak > 32:
            scratch = PyBytes_FromStringAndSize(NULL, (n_weak + np) * 8)
            scalars = <uint64_t*>PyBytes_AS_STRING(scratch)
        k = 0
        for i in range(n):
            if xs[i].t == NULL:
                for d in range(xs[i].n_bits):
                    scalars[k] = xs[i].bits[d]
                    k += 1
        memcpy(scalars + k, params, np * 8)

    # Sizes.
    ctx.running = <PyObject*>plan.op
    same = plan.elementwise and plan.n_dims < 0 and one_shape(xs, n, &firstp)
    if same:
        first = <Tensor>firstp
    if not same and (plan.shape is not None or plan.infer_python is not None):
        if plan.infer_python is not None:
            scratch2 = plan.infer_python(operand_tuple(xs, n), unpack_params(plan.op, params, sig))
            scratch3 = PyBytes_FromStringAndSize(NULL, (len(scratch2) + 1) * 8)
            regs = <int64_t*>PyBytes_AS_STRING(scratch3)
            for i, value in enumerate(scratch2):
                regs[i] = value               # as many as at the first call: `infer` may not change the rank within a class
        else:
            if plan.shape.n_regs > INLINE_R:
                scratch3 = PyBytes_FromStringAndSize(NULL, (plan.shape.n_regs + 1) * 8)
                regs = <int64_t*>PyBytes_AS_STRING(scratch3)
            load_sources(plan.sources, plan.n_sources, xs, scalars, regs)
            failed = plan.shape.run(regs)
            if failed:
                shape_failed(plan, xs, n, params, sig)

    if plan.same_is_identity and not flags & FLAG_INTO:
        t = <Tensor>xs[0].t
        if t.ndim == plan.out_rank[0]:
            for d in range(t.ndim):
                if regs[plan.out_regs[d]] != t.dims[d]:
                    break
            else:
                return t

    if plan.kind == PLAN_LAUNCH:
        k = 0
        for i in range(plan.n_out):
            outs[i] = NULL
        try:
            for i in range(plan.n_out):
                if flags & FLAG_INTO and i < plan.n_visible:
                    check_into(plan, i, <Tensor>into[i], first.dims if same else NULL, regs, k)
                    k += plan.out_rank[i]
                    outs[i] = into[i]
                    Py_INCREF(<object>outs[i])
                    continue
                if same:
                    o = new_tensor(plan.out_dtype[i], first.ndim, first.dims, plan.place, stream)
                else:
                    for d in range(plan.out_rank[i]):
                        dims[d] = regs[plan.out_regs[k]]
                        k += 1
                    o = new_tensor(plan.out_dtype[i], plan.out_rank[i], dims, plan.place, stream)
                Py_INCREF(o)
                outs[i] = <PyObject*>o
            if not python:
                if n + plan.n_out > INLINE_X + MAX_OUT:
                    scratch2 = PyBytes_FromStringAndSize(NULL, (n + plan.n_out) * sizeof(void*))
                    ptrs = <void**>PyBytes_AS_STRING(scratch2)
                elements = 0
                bring_back(xs, n)
                for i in range(n):
                    ptrs[i] = NULL
                    if xs[i].t != NULL:
                        ptrs[i] = address(xs[i].t)
                        elements += (<Tensor>xs[i].t).numel
                for i in range(plan.n_out):
                    ptrs[n + i] = address(outs[i])
                    elements += (<Tensor>outs[i]).numel
                failed = launch(plan, ptrs, first.dims if same else regs, regs, scalars, stream, elements, xs, n, outs)
                if failed:
                    launch_failed(plan, xs, n, params, sig, failed)
            else:
                launch_python(plan, xs, n, params, sig, outs)
            if plan.has_streams:
                for i in range(n):
                    if xs[i].t != NULL and (<Tensor>xs[i].t).storage.stream != stream:
                        use_on_stream((<Tensor>xs[i].t).storage, stream)
            if flags & FLAG_INTO:
                for i in range(plan.n_visible):
                    if (<Tensor>outs[i]).storage.stream != stream:
                        use_on_stream((<Tensor>outs[i]).storage, stream)
                    bump_version(<Tensor>outs[i])
                return None
            if plan.records:
                record(plan, xs, n, scalars, outs, ctx.saved_hooks)
            if plan.single:
                return <object>outs[0]
            made = PyTuple_New(plan.n_visible)
            for i in range(plan.n_visible):
                Py_INCREF(<object>outs[i])
                PyTuple_SET_ITEM(made, i, <object>outs[i])
            return made
        finally:
            for i in range(plan.n_out):
                Py_XDECREF(outs[i])

    if plan.kind == PLAN_VIEW:
        t = <Tensor>xs[0].t
        o = view_of(plan, t, regs)
    elif plan.kind == PLAN_RESHAPE:
        t = <Tensor>xs[0].t
        for d in range(plan.out_rank[0]):
            dims[d] = regs[plan.out_regs[d]]
        o = reshape_of(plan, t, plan.out_rank[0], dims)
    if plan.kind == PLAN_VIEW or plan.kind == PLAN_RESHAPE:
        if flags & FLAG_INTO:
            write_into(<Tensor>into[0], o)
            return None
        if plan.records:
            outs[0] = <PyObject*>o
            record(plan, xs, n, scalars, outs, ctx.saved_hooks)
        if not flags & FLAG_INNER and o.storage is t.storage:
            remember_view(o, t, plan.op, params, np, sig)
        return o

    # Composites: a call program, or Python over tensors.
    made = run_calls(plan, xs, n, scalars, params, sig, ctx)
    for i in range(plan.n_out):
        outs[i] = <PyObject*>made[i]                     # borrowed from `made`
    if flags & FLAG_INTO:
        for i in range(plan.n_visible):
            write_into(<Tensor>into[i], <Tensor>outs[i])
        return None
    if plan.records:
        record(plan, xs, n, scalars, outs, ctx.saved_hooks)
    if plan.single:
        return made[0]
    return made if plan.n_visible == plan.n_out else made[:plan.n_visible]


cdef tuple run_apart(Plan plan, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, EngineContext ctx):
    """The visible outputs in memory of their own, as a tuple."""
    made = run(plan, xs, n, params, np, sig, 0, NULL, ctx)
    return (made,) if plan.single else made


cdef int check_count(Plan plan, PyObject** into) except -1:
    """``into`` ends with NULL; it must hold one tensor per output."""
    cdef int i = 0
    while i < plan.n_visible and into[i] != NULL:
        i += 1
    if i < plan.n_visible or into[plan.n_visible] != NULL:
        raise ValueError(f"[{plan.op.name}] requires {plan.n_visible} tensors to write into, got {'fewer' if i < plan.n_visible else 'more'}")
    return 0


cdef int check_into(Plan plan, int i, Tensor o, const int64_t* same, const int64_t* regs, int k) except -1:
    cdef int d
    cdef bint ok = (o.key & K_DTYPE_MASK) == <uint32_t>plan.out_dtype[i] and o.ndim == plan.out_rank[i] and \
        ((o.key >> K_PLACE_SHIFT) & K_PLACE_MASK) == <uint32_t>plan.place
    if ok:
        for d in range(o.ndim):
            if o.dims[d] != (same[d] if same != NULL else regs[plan.out_regs[k + d]]):
                ok = False
    if overlaps(o):
        refuse_overlap(plan.op.name, o)
    if not ok:
        refuse_into(plan, i, o, [(same[d] if same != NULL else regs[plan.out_regs[k + d]]) for d in range(plan.out_rank[i])])
    return 0


cdef int refuse_into(Plan plan, int i, Tensor o, list want) except -1:
    raise ValueError(
        f"[{plan.op.name}] requires an output of shape {want} and dtype {dtype_from_id(plan.out_dtype[i]).name} on "
        f"{place_from_index(plan.place)}, got shape {o.shape}, dtype {o.dtype.name} on {o.place}")


cdef int launch_python(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** outs) except -1:
    cdef list ins = [], results = []
    cdef object timer = TIMER, token, start, seconds
    cdef int i
    cdef bint host = place_access(plan.place) == ACCESS_HOST
    bring_back(xs, n)
    RUNNING[plan.place] += 1                             # nothing moves under the arrays
    try:
        for i in range(n):
            if xs[i].t == NULL:
                ins.append(number_of(&xs[i]))
            else:
                ins.append(operand_array(<Tensor>xs[i].t) if host else Buffer(<Tensor>xs[i].t))
        for i in range(plan.n_out):
            results.append(operand_array(<Tensor>outs[i]) if host else Buffer(<Tensor>outs[i]))
        token = None if timer is None else timer.start()
        start = perf_counter()
        plan.kernel(plan.op, results, ins, unpack_params(plan.op, params, sig))
        for i in range(plan.n_out):
            if host and is_in(PACKED_IDS, plan.out_dtype[i]):
                put_packed(<Tensor>outs[i], results[i])
        seconds = perf_counter() - start
    finally:
        RUNNING[plan.place] -= 1
    if timer is not None:
        told(timer, token, seconds, plan, xs, n, outs, None)
    return 0


cdef int bring_back(Operand* xs, int n) except -1:
    """Offloaded operands come back before any address is read: bringing one back may move another."""
    cdef int i
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).storage.data == NULL:
            resident((<Tensor>xs[i].t).storage)
    return 0


cdef tuple run_calls(Plan plan, Operand* xs, int n, const uint64_t* scalars, const uint64_t* params, uint64_t sig, EngineContext ctx):
    cdef PyObject* inputs_inline[INLINE_X]
    cdef PyObject** inputs = inputs_inline
    cdef PyObject* outs[MAX_OUT]
    cdef int64_t[INLINE_R] ints_inline
    cdef int64_t* ints = ints_inline
    cdef object scratch, scratch2
    cdef uint64_t modes = ctx.plan_mode
    cdef int i, outer_place = ctx.inner_place
    cdef list result = []
    cdef Tensor o
    # Inside a composite nothing is recorded and no cast is added: its own node and plan stand for all of it.
    ctx.plan_mode = modes & ~<uint64_t>(MODE_GRAD | AMP_MASK)
    ctx.inner_place = plan.place
    try:
        if plan.kind == PLAN_PYTHON:
            made = plan.kernel(operand_tuple(xs, n), unpack_params(plan.op, params, sig))
            return made if isinstance(made, tuple) else (made,)
        if n > INLINE_X:
            scratch = PyBytes_FromStringAndSize(NULL, n * sizeof(void*))
            inputs = <PyObject**>PyBytes_AS_STRING(scratch)
        if plan.program.n_sources > INLINE_R:
            scratch2 = PyBytes_FromStringAndSize(NULL, plan.program.n_sources * 8)
            ints = <int64_t*>PyBytes_AS_STRING(scratch2)
        for i in range(n):
            inputs[i] = xs[i].t
        load_sources(plan.program.sources, plan.program.n_sources, xs, scalars, ints)
        plan.program.execute(inputs, ints, outs, FLAG_INNER | FLAG_QUIET)
        for i in range(plan.program.n_outputs):
            o = <Tensor>outs[i]
            Py_DECREF(o)
            result.append(o)
        for i in range(plan.program.n_outputs):
            o = <Tensor>result[i]
            # Ours alone: the list and `o` refer to the tensor, the tensor to its storage. Otherwise it is an operand, a view of one, a cast
            # parameter kept for later, or shares memory with another output; only view ops may alias.
            if Py_REFCNT(<PyObject*>o) > 2 or Py_REFCNT(<PyObject*>o.storage) > 1:
                result[i] = call1(COPY, shallow(o))
        o = None
        return tuple(result)
    finally:
        ctx.plan_mode = modes
        ctx.inner_place = outer_place


# ---- views -------------------------------------------------------------------------------------------------------------
cdef Tensor view_of(Plan plan, Tensor t, const int64_t* regs):
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef int64_t[K_RANK_MASK + 1] strides
    cdef int i, d = plan.out_rank[0]
    for i in range(d):
        dims[i] = regs[plan.out_regs[i]]
        strides[i] = regs[plan.out_regs[d + i]]
    cdef Tensor o = new_view(t, d, dims, strides, bytes_of(plan.out_dtype[0], regs[plan.out_regs[2 * d]]))
    o.key = (o.key & ~<uint32_t>K_DTYPE_MASK) | plan.out_dtype[0]
    return o


cdef bint reshape_strides(Tensor t, int nd, const int64_t* dims, int64_t* strides) noexcept:
    """Strides of ``t`` seen with other sizes, if its layout allows that without a copy."""
    cdef int64_t[K_RANK_MASK + 1] od
    cdef int64_t[K_RANK_MASK + 1] os
    cdef int i, n = 0, a, b
    cdef int64_t have, want, s
    if t.numel == 0 or ((t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK) == LAYOUT_CONTIGUOUS:
        s = 1
        for i in range(nd - 1, -1, -1):
            strides[i] = s
            s *= dims[i] if dims[i] else 1
        return True
    for i in range(t.ndim):                              # axes of size 1 have no say
        if t.dims[i] != 1:
            od[n] = t.dims[i]
            os[n] = t.strides[i]
            n += 1
    # Runs of old axes that are contiguous among themselves are matched with runs of new axes of the same product, from the last axis on.
    a = n - 1
    b = nd - 1
    while a >= 0:
        have = od[a]
        s = os[a]
        while a > 0 and os[a - 1] == od[a] * os[a]:
            a -= 1
            have *= od[a]
        a -= 1
        want = 1
        while b >= 0 and want * dims[b] <= have:
            want *= dims[b]
            strides[b] = s
            s *= dims[b]
            b -= 1
            if want == have and (b < 0 or dims[b] != 1):
                break
        if want != have:
            return False
    while b >= 0:
        strides[b] = 1
        b -= 1
    return True


cdef Tensor reshape_of(Plan plan, Tensor t, int nd, const int64_t* dims):
    cdef int64_t[K_RANK_MASK + 1] strides
    cdef Tensor o
    if reshape_strides(t, nd, dims, strides):
        return new_view(t, nd, dims, strides, t.offset)
    o = quiet_copy(t)
    reshape_strides(o, nd, dims, strides)
    return new_view(o, nd, dims, strides, o.offset)


cdef Tensor quiet_copy(Tensor t):
    """A contiguous copy without history."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    ctx.plan_mode = 0
    try:
        return call1(COPY, shallow(t) if t.kind or t.key & K_NEEDS_GRAD else t)
    finally:
        ctx.plan_mode = modes


cdef int remember_view(Tensor o, Tensor parent, object op, const uint64_t* params, int np, uint64_t sig) except -1:
    cdef ViewRecord r = ViewRecord.__new__(ViewRecord)
    r.parent = parent
    r.op = op
    r.sig = sig
    r.n_words = np
    if np <= VIEW_WORDS:
        memcpy(r.words, params, np * 8)
    else:
        r.more_words = PyBytes_FromStringAndSize(<char*>params, np * 8)
    r.parent_node = parent.node
    r.parent_index = parent.out_index
    r.parent_shaped = parent.shaped
    r.seen = tensor_slots().changes
    o.view = r
    o.kind |= KIND_VIEW
    return 0


cdef tuple view_params(ViewRecord r):
    """The params of the view op: seldom wanted, so they are no tuples before."""
    if r.n_words <= VIEW_WORDS:
        return unpack_params(<OpBase>r.op, r.words, r.sig)
    return unpack_params(<OpBase>r.op, <uint64_t*>PyBytes_AS_STRING(r.more_words), r.sig)


cdef int refresh(Tensor t) except -1:
    """A view whose parent was written to (by any alias) gets its history anew: view op of the parent's new value."""
    cdef Tensor v
    cdef list chain
    if t.view.seen == tensor_slots().changes or drop_stale_view(t):
        return 0
    if not t.view.parent.kind & KIND_VIEW:
        return refresh_one(t)
    chain = [t]                                          # a loop, not recursion: chains of views may be long
    v = t.view.parent
    while v.kind & KIND_VIEW and not drop_stale_view(v):
        chain.append(v)
        v = v.view.parent
    while chain:
        refresh_one(<Tensor>chain.pop())
    return 0


cdef bint drop_stale_view(Tensor t) noexcept:
    """Find the former self of the parent that a view was taken of. Without it (``_share``) the view is a tensor of its own, with the
    history it has."""
    cdef ViewRecord r = t.view
    cdef Tensor p = r.parent
    while p.shaped != r.parent_shaped and p.view is not None and p.view.former:
        p = p.view.parent
    r.parent = p
    if p.shaped != r.parent_shaped or t.storage is not p.storage:
        t.view = None
        t.kind &= ~<uint8_t>KIND_VIEW
        return True
    return False


cdef int refresh_one(Tensor t) except -1:
    cdef ViewRecord r = t.view
    cdef Tensor fresh
    cdef EngineContext ctx
    cdef uint64_t modes
    cdef uint64_t changes = tensor_slots().changes       # as it is now: a change meanwhile must not be missed
    if r.parent_node is r.parent.node and (r.parent_node is None or r.parent_index == r.parent.out_index):
        r.seen = changes
        return 0
    ctx = <EngineContext>context_pointer()
    modes = ctx.plan_mode
    ctx.plan_mode = modes | MODE_GRAD
    try:
        fresh = apply_raw(<OpBase>r.op, (shallow_live(r.parent),), view_params(r), FLAG_INNER | FLAG_QUIET)
    finally:
        ctx.plan_mode = modes
    r.parent_node = r.parent.node
    r.parent_index = r.parent.out_index
    r.seen = changes
    take_history(t, fresh)
    return 0


cdef Tensor shallow_live(Tensor t):
    """``t`` with the history it has now, but no view record: nothing below refreshes it again."""
    cdef Tensor o = shallow(t)
    o.node = t.node
    o.out_index = t.out_index
    o.key = t.key
    return o


tensor_slots().refresh = refresh


# ---- writing in place ----------------------------------------------------------------------------------------------------
cdef int write_into(Tensor x, Tensor value) except -1:
    """Copy data into ``x``; no history."""
    cdef Operand[1] xs
    cdef PyObject* outs[2]
    xs[0].t = <PyObject*>value
    xs[0].n_bits = 0
    outs[0] = <PyObject*>x
    outs[1] = NULL
    dispatch(COPY, xs, 1, NULL, 0, 0, FLAG_INTO | FLAG_QUIET, outs)
    return 0


def assign(Tensor x not None, Tensor value not None):
    """Write ``value`` into ``x``: data, version, and history (of the bases of views too). Returns ``x``.

    Raises RuntimeError for a leaf that requires grad outside ``no_grad``, ValueError when shapes differ.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef bint tracked
    if (x.kind | value.kind) & ~<uint8_t>KIND_VIEW or ctx.observers & OBSERVE_TRACE:
        if SLOW_ASSIGN is None:
            raise TypeError(f"[assign] requires dense tensors, got {x!r} and {value!r}")
        return SLOW_ASSIGN(x, value)
    refresh_if_view(x)
    refresh_if_view(value)
    tracked = ctx.plan_mode & MODE_GRAD != 0 and ((x.key | value.key) & K_NEEDS_GRAD) != 0
    if ctx.plan_mode & MODE_GRAD:
        check_leaf(x)
    if overlaps(x):
        refuse_overlap("assign", x)
    if x is value:
        return x
    if (x.key ^ value.key) & (K_PLACE_MASK << K_PLACE_SHIFT):
        value = TRANSFER(value, x.place)
    if tracked and value.node is None:
        value = call1(COPY, value)                       # a node of its own, so that x becomes no leaf
    write_into(x, value)
    if tracked:
        rebase(x, value)
    return x


cdef bint overlaps(Tensor x) noexcept:
    """Whether elements may share memory (expanded views, sliding windows)."""
    cdef int order[K_RANK_MASK + 1]
    cdef int i, j, k, n = 0
    cdef int64_t span = 0, s
    if ((x.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK) == LAYOUT_CONTIGUOUS:
        return False
    for i in range(x.ndim):
        if x.dims[i] > 1:
            j = n
            while j > 0 and abs64(x.strides[order[j - 1]]) > abs64(x.strides[i]):
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
            n += 1
    for k in range(n):
        s = abs64(x.strides[order[k]])
        if s <= span:
            return True
        span += s * (x.dims[order[k]] - 1)
    return False


cdef inline int64_t abs64(int64_t v) noexcept:
    return -v if v < 0 else v


cdef int refuse_overlap(str name, Tensor x) except -1:
    raise RuntimeError(
        f"[{name}] requires a tensor whose elements have memory of their own, got a view of shape {x.shape} with strides {(<object>x).strides}. "
        "Write into a copy of it instead.")


cdef int check_leaf(Tensor x) except -1:
    cdef Tensor root = x
    while root.kind & KIND_VIEW:
        root = root.view.parent
    if root.node is None and root.key & K_NEEDS_GRAD:
        raise RuntimeError(
            "[in-place] requires a tensor that is no leaf, or no_grad, got a leaf with stop_gradient=False"
            + (" (through a view of it)" if x._base is not None else "") + ". Use paddle.no_grad() to update parameters.")
    return 0


cdef int rebase(Tensor x, Tensor value) except -1:
    """``x`` now is ``value``. For a view, the parent becomes scatter_view(parent, value), up to the base."""
    cdef ViewRecord r = x.view
    cdef Tensor whole, t
    cdef list regions
    tensor_slots().changes += 1
    if not x.kind & KIND_VIEW or drop_stale_view(x):
        if x.key & K_NEEDS_GRAD and not value.key & K_NEEDS_GRAD:
            # It still wants a gradient, which what it was before gets zeros of.
            value = SCATTER_VIEW(shallow_live(x), value, None, ())
        take_history(x, value)
        return 0
    t = r.parent
    regions = [(r.op, view_params(r))]
    while overlaps(t):                                   # what is written through this parent appears in other elements of it, too
        if not t.kind & KIND_VIEW or drop_stale_view(t):
            refuse_overlap("assign", t)
        regions.append((t.view.op, view_params(t.view)))
        t = t.view.parent
    if len(regions) == 1:
        whole = SCATTER_VIEW(shallow_live(t), value, *regions[0])
    else:
        regions.reverse()
        whole = WRITE_THROUGH(shallow_live(t), value, regions)
    rebase(t, whole)
    r.parent_node = None                                 # whatever it was, it lags now
    refresh(x)
    return 0


cdef int take_history(Tensor x, Tensor value) except -1:
    if x.retains and x.node is not None and x.node.retained is not None:
        x.node.retained.pop(x.out_index, None)
    x.node = value.node
    x.out_index = value.out_index
    x.key = (x.key & ~<uint32_t>K_NEEDS_GRAD) | (value.key & K_NEEDS_GRAD)
    if x.retains and x.key & K_NEEDS_GRAD:
        x.retain_grads()
    return 0


# ---- becoming another value ----------------------------------------------------------------------------------------------
def become(Tensor x not None, Tensor value not None):
    """``x`` becomes what was computed of it: sizes, dtype, memory and history of ``value``, which is not to be used any more.

    Where ``value`` is a view of ``x``, both keep their memory. Tensors that are views of ``x`` stay what they are: views of what
    ``x`` was.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Tensor v, before
    cdef uint32_t version
    cdef uint8_t view = 0
    if (x.kind | value.kind) & ~<uint8_t>KIND_VIEW or ctx.observers & OBSERVE_TRACE:
        if SLOW_BECOME is None:
            raise TypeError(f"[become] requires dense tensors, got {x!r} and {value!r}")
        return SLOW_BECOME(x, value)
    if x is value:
        return x
    refresh_if_view(x)
    refresh_if_view(value)
    if ctx.plan_mode & MODE_GRAD:
        check_leaf(x)
        if value.node is None and value.key & K_NEEDS_GRAD:
            value = call1(COPY, value)                   # a node of its own, so that x becomes no leaf
    version = tensor_version(x)
    before = shallow_live(x)                             # what older views are views of
    before.view = x.view
    before.kind = x.kind
    before.shaped = x.shaped
    v = value
    while v.kind & KIND_VIEW and v.view.parent is not x:
        v = v.view.parent
    if v.kind & KIND_VIEW:
        view = KIND_VIEW
        v.view.parent = before
        x.view = value.view
        while v is not value:                            # views between the two: no former self of x
            v.shaped = x.shaped + 1
            v.view.former = True
            v = child_of(value, v)
            v.view.parent_shaped = x.shaped + 1
        x.view.former = True
    elif x.node is not None:
        x.view = former_self(before)
    else:
        x.view = None                                    # nothing of what x was can get another history
    x.kind = (x.kind & ~<uint8_t>KIND_VIEW) | view
    take_layout(x, value)
    if tensor_version(x) + x.shaped <= version + before.shaped:
        x.shaped = version + before.shaped + 1 - tensor_version(x)
    if not (x.key & ~value.key) & K_NEEDS_GRAD:
        take_history(x, value)
    elif x.node is not None and view:                    # in no_grad: the history stays, seen through the views
        v = x
        while v is not before:
            v.view.parent_node = None
            v = v.view.parent
        tensor_slots().changes += 1
        refresh(x)
    tensor_slots().changes += 1
    return x


cdef Tensor child_of(Tensor view, Tensor parent):
    """The view in the chain from ``view`` down whose parent is ``parent``."""
    while view.view.parent is not parent:
        view = view.view.parent
    return view


cdef ViewRecord former_self(Tensor before):
    """A record that leads to a former self with other memory; it makes no view."""
    cdef ViewRecord r = ViewRecord.__new__(ViewRecord)
    r.parent = before
    r.parent_shaped = before.shaped
    r.former = True
    return r


# ---- operands that are about to be overwritten -----------------------------------------------------------------------------
cdef int extent(Tensor t, int64_t* low, int64_t* high) noexcept:
    """The bytes of the storage that hold elements of ``t``."""
    cdef int64_t size = ITEMSIZE[t.key & K_DTYPE_MASK]
    cdef int i
    low[0] = t.offset
    if size == 0:                                        # packed, so contiguous
        high[0] = t.offset + bytes_of(t.key & K_DTYPE_MASK, t.numel)
        return 0
    high[0] = t.offset + size
    for i in range(t.ndim):
        if t.strides[i] < 0:
            low[0] += t.strides[i] * (t.dims[i] - 1) * size
        else:
            high[0] += t.strides[i] * (t.dims[i] - 1) * size
    return 0


cdef bint meets(object o, Storage s, int64_t low, int64_t high) noexcept:
    """Whether ``o`` is a tensor with elements in these bytes."""
    cdef int64_t a, b
    if not isinstance(o, Tensor) or (<Tensor>o).storage is not s or (<Tensor>o).kind & ~<uint8_t>KIND_VIEW or (<Tensor>o).numel == 0:
        return False
    extent(<Tensor>o, &a, &b)
    return a < high and low < b


cdef object apart_from(object o, Storage s, int64_t low, int64_t high, Storage apart):
    """``o`` (or what it contains) over ``apart`` where it has elements in these bytes."""
    cdef Tensor t
    if isinstance(o, (list, tuple)) and type(o) in (list, tuple):
        return type(o)([apart_from(item, s, low, high, apart) for item in o])
    if not meets(o, s, low, high):
        return o
    t = <Tensor>o
    refresh_if_view(t)
    if t.node is None and t.key & K_NEEDS_GRAD:
        return o                                         # a leaf is itself; if it is kept, its version tells
    t = shallow_live(t)
    t.storage = apart
    t.counter = None
    t.offset -= low
    return t


cdef bint wants_grad(object o):
    if isinstance(o, Tensor):
        refresh_if_view(<Tensor>o)
        return (<Tensor>o).key & K_NEEDS_GRAD != 0
    if isinstance(o, (list, tuple)):
        for item in o:
            if wants_grad(item):
                return True
    return False


def call_apart(function, Tensor x not None, tuple args not None, dict kwargs not None):
    """``function(x, *args, **kwargs)`` where ``x`` is about to be overwritten: what is kept of it for gradients is kept as it is now.

    The function gets tensors over a storage of their own, which at first has the memory of ``x``. If somebody holds it when the function
    is done, a node has saved one of them, and the storage gets a copy.
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Storage s = x.storage, apart
    cdef Tensor whole
    cdef int64_t low, high, a, b, one = 1
    cdef list operands
    if not ctx.plan_mode & MODE_GRAD or ctx.observers & OBSERVE_TRACE or s is None or x.kind & ~<uint8_t>KIND_VIEW or x.numel == 0 \
            or not (wants_grad(x) or wants_grad(args) or wants_grad(list(kwargs.values()))):
        return function(x, *args, **kwargs)
    extent(x, &low, &high)
    for o in (*args, *kwargs.values()):
        for item in (o if isinstance(o, (list, tuple)) else (o,)):
            if meets(item, s, low, high):
                extent(<Tensor>item, &a, &b)
                low = min(low, a)
                high = max(high, b)
    low &= ~<int64_t>63                                  # descriptors speak of alignment to 64 bytes
    pin(s)
    try:
        resident(s)
        apart = foreign_storage(s.place, s.data + low, high - low, s)
        apart.stream = s.stream
        operands = [apart_from(o, s, low, high, apart) for o in (x, *args)]
        kwargs = {key: apart_from(o, s, low, high, apart) for key, o in kwargs.items()}
        try:
            value = function(*operands, **kwargs)
        except BaseException:
            forsake(apart)
            raise
        operands = kwargs = None
        if Py_REFCNT(<PyObject*>apart) > 1:
            high -= low
            whole = new_view(x, 1, &high, &one, 0)
            whole.storage = apart
            whole.counter = None
            whole.key = (whole.key & ~<uint32_t>K_DTYPE_MASK) | UINT8
            classify(whole)
            adopt(apart, quiet_copy(whole).storage)
        return value
    finally:
        unpin(s)


# ---- gradient nodes --------------------------------------------------------------------------------------------------------
cdef int record(Plan plan, Operand* xs, int n, const uint64_t* scalars, PyObject** outs, object hooks) except -1:
    cdef Node node = new_node()
    cdef PyObject* t
    cdef Tensor o
    cdef int i, k = plan.n_save_in + plan.n_save_out
    node.plan = plan
    node.n_out = plan.n_visible
    if n > 3 or k > 2 or plan.n_ints > NODE_ROOM:
        make_room(node, n, k, plan.n_ints)
    else:
        node.n_edges = n
        node.n_saved = k
    for i in range(n):
        t = xs[i].t
        if t != NULL and (<Tensor>t).key & K_NEEDS_GRAD:
            if (<Tensor>t).node is not None:
                set_edge(node, i, (<Tensor>t).node)
                node.edge_index[i] = (<Tensor>t).out_index
            else:
                set_edge(node, i, <Tensor>t)
                node.edge_index[i] = (<Tensor>t).shaped
        elif i > 2:
            set_edge(node, i, None)
    for i in range(plan.n_save_in):
        t = xs[plan.save_in[i]].t
        if t == NULL:
            set_saved(node, i, None)
        else:
            set_saved(node, i, <Tensor>t)
            node.versions[i] = saved_version(<Tensor>t)
    for i in range(plan.n_save_in, k):
        o = shallow(<Tensor>outs[plan.save_out[i - plan.n_save_in]])
        set_saved(node, i, o)
        node.versions[i] = tensor_version(o)
    if k and hooks is not None:
        pack_saved(node, hooks)
    if plan.n_ints:
        load_sources(plan.ints, plan.n_ints, xs, scalars, node.ints)
    for i in range(plan.n_visible):
        if plan.out_differentiable >> i & 1:
            o = <Tensor>outs[i]
            o.node = node
            o.out_index = i
            o.key |= K_NEEDS_GRAD
    return 0


cdef int pack_saved(Node node, object hooks) except -1:
    """Let the user's ``pack`` decide what is kept for each saved tensor; ``unpack`` gives it back.

    The node holds (what ``pack`` gave, its version if that is a tensor, shape, dtype).
    """
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    cdef Plan plan = <Plan>node.plan
    cdef list kept = []
    cdef Tensor t
    cdef int i
    pack, unpack = hooks
    ctx.plan_mode = modes & ~<uint64_t>MODE_GRAD
    ctx.saved_hooks = None                               # what pack itself computes is not packed
    try:
        for i in range(node.n_saved):
            if saved_at(node, i) == <PyObject*>None:
                kept.append(None)
                continue
            t = shallow(<Tensor>saved_at(node, i))
            if i < plan.n_save_in and isinstance(<object>edge_at(node, plan.save_in[i]), Tensor):
                t.key |= K_NEEDS_GRAD                    # shows that a leaf keeps this memory
            packed = pack(t)
            version = tensor_version(<Tensor>packed) if isinstance(packed, Tensor) and (<Tensor>packed).storage is not None else 0
            kept.append((packed, version, t.shape, t.dtype))
        if node.n_saved > 2:
            node.more_saved = PyTuple_New(node.n_saved - 2)
        for i in range(node.n_saved):
            set_saved(node, i, kept[i])
        node.unpack = unpack
    finally:
        ctx.plan_mode = modes
        ctx.saved_hooks = hooks
    return 0


# ---- call programs -----------------------------------------------------------------------------------------------------------
cdef int* int_array(values) except NULL:
    cdef int* a = <int*>malloc((len(values) + 1) * sizeof(int))
    cdef int i
    if a == NULL:
        raise MemoryError()
    for i, v in enumerate(values):
        a[i] = v
    return a


cdef void gather_operands(CallProgram p, const Step* s, Operand* xs, PyObject** values, const int64_t* regs) noexcept:
    """The operands of a step: tensors among the values so far, and numbers."""
    cdef int j, code
    for j in range(s.n_x):
        code = s.x[j]
        xs[j].n_bits = 0
        xs[j].t = values[code] if code >= 0 else NULL
        if xs[j].t != NULL:
            continue
        xs[j].desc = TAG_ABSENT << K_TAG_SHIFT
        if code < -1:
            xs[j].desc = p.number_tag[-2 - code] << K_TAG_SHIFT
            xs[j].bits[0] = <uint64_t>regs[p.number_reg[-2 - code]]
            xs[j].bits[1] = 0
            xs[j].n_bits = 1
            if p.number_tag[-2 - code] == TAG_COMPLEX:
                xs[j].bits[1] = <uint64_t>regs[p.number_reg2[-2 - code]]
                xs[j].n_bits = 2


cdef inline bint is_weight(Tensor t) noexcept:
    return t.node is None and t.key & K_NEEDS_GRAD != 0 and t.kind == 0 and (t.key & K_DTYPE_MASK) == FLOAT32


cdef object cast_weight(Tensor t, OpBase cast, int flags):
    """A parameter in low precision, cast once per version: forward and backward of all uses share it."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    if ctx.plan_mode & MODE_GRAD:
        return apply_raw(cast, (t,), (), flags)          # under create_graph it has a history of its own
    if t.low is not None and t.low_version == tensor_version(t) and (<Tensor>t.low).dtype is cast.dtype:
        return t.low
    made = apply_raw(cast, (t,), (), flags)
    if t.low is None:
        ctx.values.setdefault("cast_weights", []).append(weakref.ref(t))
        ctx.holds_low = True
    t.low = made
    t.low_version = tensor_version(t)
    return made


def drop_cast_weights():
    """Forget the low-precision copies of parameters (at the end of ``auto_cast``)."""
    (<EngineContext>context_pointer()).holds_low = False
    for ref in (<EngineContext>context_pointer()).values.pop("cast_weights", ()):
        t = ref()
        if t is not None:
            (<Tensor>t).low = None


cdef inline bint is_shape(Tensor t, const Step* s, const int64_t* regs) noexcept:
    """Whether a tensor has the shape that a step's params ask for."""
    cdef int d
    if t.ndim != s.n_params or t.kind & ~<uint8_t>KIND_VIEW:
        return False
    for d in range(t.ndim):
        if t.dims[d] != regs[s.params[d]]:
            return False
    return True


cdef class Witness:
    """What looks on while a call program runs. Abstract: a subclass says what it does with a step."""

    cdef int step(self, int i, Operand* xs, PyObject** made, bint into, uint64_t* params) except -1:
        """Step ``i`` was run on these operands and params and made these values, ``into`` memory that was there."""
        raise NotImplementedError(f"{type(self).__name__} defines no step")


cdef inline int drop_values(const Step* s, PyObject** values) except -1:
    """Forget what nobody reads after a step."""
    cdef int j, code
    for j in range(s.n_drop):
        code = s.drop[j]
        Py_XDECREF(values[code])
        values[code] = NULL
    return 0


cdef class CallProgram:
    """A list of op calls over numbered values, replayed in C: a vjp, or a composite's decomposition.

    ``steps``: (op, operands, param registers, lengths of tuple params, dtype ids of the outputs, values to drop after it, donors); an operand is
    a value index, -1 for none, or ``-2 - k`` for number ``k`` of ``numbers`` (tag, register, register of the imaginary part). Values are the
    inputs, then the outputs of the steps in order.

    Donors are pairs (output, value) of a step that works element by element: the value is of the output's dtype and shape, and nobody reads it
    later, so that the output may take its memory, if nobody else has it (see ``take_over``).
    """

    def __cinit__(self, int n_inputs, list steps, list outputs, list numbers, ScalarProgram scalars not None, list sources):
        cdef int i, value = n_inputs, shift
        cdef Step* s
        self.n_inputs = n_inputs
        self.n_steps = len(steps)
        self.ops = [step[0] for step in steps]
        self.steps = <Step*>calloc(self.n_steps + 1, sizeof(Step))
        if self.steps == NULL:
            raise MemoryError()
        self.dtypes = int_array([id for step in steps for id in step[4]])
        for i, (op, xs, params, lengths, made, drop, donors) in enumerate(steps):
            n_out = len(made)
            s = &self.steps[i]
            s.n_donors = len(donors)
            s.donors = int_array([x for pair in donors for x in pair])
            s.n_x = len(xs)
            s.x = int_array(xs)
            if len(params) > INLINE_S:
                raise ValueError(f"[{op.name}] requires params of at most {INLINE_S} numbers, got {len(params)}")
            s.n_params = len(params)
            s.params = int_array(params)
            s.n_out = n_out
            s.identity = (<OpBase>op).identity_if_same
            s.casts_weight = op.name == "cast" and op.dtype.name in ("bfloat16", "float16") and 0 <= xs[0] < n_inputs
            s.out0 = value
            s.n_drop = len(drop)
            s.drop = int_array(drop)
            for shift, length in enumerate(lengths):
                s.sig |= <uint64_t>(length + 1) << (8 * shift)
            value += n_out
        self.n_values = value
        self.n_outputs = len(outputs)
        self.outputs = int_array(outputs)
        self.n_numbers = len(numbers)
        self.number_tag = int_array([tag for tag, _, _ in numbers])
        self.number_reg = int_array([reg for _, reg, _ in numbers])
        self.number_reg2 = int_array([reg for _, _, reg in numbers])
        self.scalars = scalars
        self.sources = make_sources(sources)
        self.n_sources = len(sources)

    def __dealloc__(self):
        cdef int i
        if self.steps != NULL:
            for i in range(self.n_steps):
                free(self.steps[i].x)
                free(self.steps[i].params)
                free(self.steps[i].drop)
                free(self.steps[i].donors)
        free(self.dtypes)
        free(self.steps)
        free(self.outputs)
        free(self.number_tag)
        free(self.number_reg)
        free(self.number_reg2)
        free(self.sources)

    def __repr__(self):
        return "CallProgram(" + "; ".join(
            f"%{self.steps[i].out0} = {self.ops[i]!r}({', '.join(str(self.steps[i].x[j]) for j in range(self.steps[i].n_x))})"
            for i in range(self.n_steps)) + f"; return {[self.outputs[i] for i in range(self.n_outputs)]})"

    @property
    def steps_ops(self):
        return list(self.ops)

    def run(self, list inputs, list ints, bytes given=None):
        """Run from Python: tensors (or None) in the order of the inputs, sizes and numbers as 64-bit words in the order of the sources.

        ``given``: a byte per input; 1: its memory may become a result's; 2: it may itself become the result that takes its place.
        """
        cdef int i
        cdef PyObject** slots
        cdef PyObject** outs
        cdef int64_t* words
        if len(inputs) != self.n_inputs or len(ints) != self.scalars.n_inputs:
            raise ValueError(
                f"[program] requires {self.n_inputs} inputs and {self.scalars.n_inputs} numbers, got {len(inputs)} and {len(ints)}")
        if given is not None and len(given) != self.n_inputs:
            raise ValueError(f"[program] requires a byte per input ({self.n_inputs}) in `given`, got {len(given)}")
        slots = <PyObject**>calloc(self.n_inputs + 1, sizeof(PyObject*))
        outs = <PyObject**>calloc(self.n_outputs + 1, sizeof(PyObject*))
        words = <int64_t*>calloc(len(ints) + 1, sizeof(int64_t))
        result = []
        try:
            if slots == NULL or outs == NULL or words == NULL:
                raise MemoryError()
            for i in range(self.n_inputs):
                slots[i] = <PyObject*><Tensor?>inputs[i] if inputs[i] is not None else NULL
            for i in range(len(ints)):
                if isinstance(ints[i], float):
                    words[i] = <int64_t>_float_bits(ints[i])
                else:
                    words[i] = ints[i]
            self.execute(slots, words, outs, FLAG_INNER, NULL if given is None else PyBytes_AS_STRING(given))
            for i in range(self.n_outputs):
                result.append(<object>outs[i] if outs[i] != NULL else None)
                Py_XDECREF(outs[i])
            return result
        finally:
            free(slots)
            free(outs)
            free(words)

    cdef int execute(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags, const char* given=NULL,
                     Witness witness=None) except -1:
        """Run; ``outs`` receives owned references (NULL where an output is none). ``witness`` is told of every step."""
        cdef PyObject* values_inline[INLINE_R]
        cdef PyObject** values = values_inline
        cdef int64_t[INLINE_R] regs_inline
        cdef int64_t* regs = regs_inline
        cdef Operand[INLINE_X] xs_inline
        cdef Operand* xs = xs_inline
        cdef uint64_t[INLINE_S] params
        cdef PyObject* into[MAX_OUT + 1]
        cdef object scratch, scratch2, scratch3, result
        cdef Step* s
        cdef int i, j, code, filled = self.n_inputs
        if self.n_values > INLINE_R:
            scratch = PyBytes_FromStringAndSize(NULL, self.n_values * sizeof(void*))
            values = <PyObject**>PyBytes_AS_STRING(scratch)
        if self.scalars.n_regs > INLINE_R:
            scratch2 = PyBytes_FromStringAndSize(NULL, (self.scalars.n_regs + 1) * 8)
            regs = <int64_t*>PyBytes_AS_STRING(scratch2)
        for i in range(self.n_inputs):
            values[i] = inputs[i]
        memcpy(regs, ints, self.scalars.n_inputs * sizeof(int64_t))
        if self.scalars.run(regs):
            raise ValueError("a size check inside a composite or gradient failed; the operands' shapes are inconsistent")
        try:
            for i in range(self.n_steps):
                s = &self.steps[i]
                if witness is None:                      # who looks on sees calls, not the short ways
                    if s.identity and s.x[0] >= 0 and is_shape(<Tensor>values[s.x[0]], s, regs):
                        values[filled] = values[s.x[0]]
                        Py_INCREF(<object>values[filled])
                        filled += 1
                        drop_values(s, values)
                        continue
                    if s.casts_weight and is_weight(<Tensor>values[s.x[0]]):
                        result = cast_weight(<Tensor>values[s.x[0]], <OpBase>self.ops[i], flags)
                        Py_INCREF(result)
                        values[filled] = <PyObject*>result
                        filled += 1
                        result = None
                        continue
                xs = xs_inline
                if s.n_x > INLINE_X:
                    scratch3 = PyBytes_FromStringAndSize(NULL, s.n_x * sizeof(Operand))
                    xs = <Operand*>PyBytes_AS_STRING(scratch3)
                gather_operands(self, s, xs, values, regs)
                for j in range(s.n_params):
                    params[j] = <uint64_t>regs[s.params[j]]
                if s.n_donors and self.take_over(s, xs, values, into, flags, given):
                    for j in range(s.n_out):
                        values[filled] = into[j]         # owned from here on
                        filled += 1
                    dispatch(<OpBase>self.ops[i], xs, s.n_x, params, s.n_params, s.sig, flags | FLAG_INTO, into)
                    if witness is not None:
                        witness.step(i, xs, into, True, params)
                    drop_values(s, values)
                    continue
                result = dispatch(<OpBase>self.ops[i], xs, s.n_x, params, s.n_params, s.sig, flags, NULL)
                if s.n_out == 1 and isinstance(result, Tensor):
                    Py_INCREF(result)
                    values[filled] = <PyObject*>result
                    filled += 1
                else:
                    if not isinstance(result, tuple) or len(<tuple>result) != s.n_out:
                        raise TypeError(f"[{(<OpBase>self.ops[i]).name}] requires {s.n_out} tensors as results, got {type(result).__name__}")
                    for item in <tuple>result:
                        if not isinstance(item, Tensor):
                            raise TypeError(
                                f"[{(<OpBase>self.ops[i]).name}] requires tensors as results, got {type(item).__name__}")
                        Py_INCREF(item)
                        values[filled] = <PyObject*>item
                        filled += 1
                result = None
                if witness is not None:
                    witness.step(i, xs, values + filled - s.n_out, False, params)
                drop_values(s, values)
            for i in range(self.n_outputs):
                code = self.outputs[i]
                outs[i] = NULL
                if code >= 0 and values[code] != NULL:
                    outs[i] = values[code]
                    Py_INCREF(<object>outs[i])
            return 0
        finally:
            for i in range(self.n_inputs, filled):
                Py_XDECREF(values[i])

    cdef bint take_over(self, Step* s, Operand* xs, PyObject** values, PyObject** into, int flags, const char* given) except -1:
        """Fill ``into`` with tensors of which at least one has the memory of an operand that dies; owned references.

        Memory changes hands where the tensor is the only one that has it, and all of it. False if there is no such operand.
        """
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef Tensor t, o, like = None
        cdef int i, j, k
        cdef bint own
        if ctx.observers and not flags & FLAG_QUIET:
            return False
        if ctx.plan_mode & MODE_GRAD:
            for i in range(s.n_x):
                if xs[i].t != NULL and (<Tensor>xs[i].t).key & K_NEEDS_GRAD:
                    return False                         # a gradient may want the operands as they are
        for j in range(s.n_out + 1):
            into[j] = NULL
        for i in range(s.n_donors):
            j, k = s.donors[2 * i], s.donors[2 * i + 1]
            own = k >= self.n_inputs
            if into[j] != NULL or values[k] == NULL or not own and (given == NULL or not given[k]):
                continue
            t = <Tensor>values[k]                        # one more reference
            if t.kind or (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or t.storage.later is not None:
                continue
            if not own and given[k] == 2:
                o = t
            elif (
                own and Py_REFCNT(values[k]) > 2 or Py_REFCNT(<PyObject*>t.storage) > 1 or t.storage.allocator is None
                or t.storage.pins or t.counter is not None or t.offset
                or t.storage.nbytes != bytes_of(t.key & K_DTYPE_MASK, t.numel)
            ):
                continue
            else:
                o = t if own else shallow(t)
            for k in range(s.n_out):
                if into[k] != NULL and (<Tensor>into[k]).storage is o.storage:
                    break
            else:
                Py_INCREF(o)
                into[j] = <PyObject*>o
                like = o
        if like is None:
            return False
        for j in range(s.n_out):
            if into[j] == NULL:
                k = self.dtypes[s.out0 - self.n_inputs + j]
                i = (like.key >> K_PLACE_SHIFT) & K_PLACE_MASK
                try:
                    o = new_tensor(k, like.ndim, like.dims, i, ctx.stream[i])
                except BaseException:
                    for i in range(s.n_out):
                        Py_XDECREF(into[i])
                    raise
                Py_INCREF(o)
                into[j] = <PyObject*>o
        return True


# ---- entries from Python -------------------------------------------------------------------------------------------------------
cdef object apply_raw(OpBase op, tuple operands, tuple params, int flags):
    cdef Operand[INLINE_X] xs_inline
    cdef Operand* xs = xs_inline
    cdef uint64_t[INLINE_S] words
    cdef uint64_t sig
    cdef int i, np, n = len(operands)
    cdef object scratch
    cdef bint foreign = False
    if n != op.n_operands and not op.variadic:
        raise TypeError(f"[{op.name}] requires {op.n_operands} operands {op.inputs}, got {n}")
    if n > INLINE_X:
        scratch = PyBytes_FromStringAndSize(NULL, n * sizeof(Operand))
        xs = <Operand*>PyBytes_AS_STRING(scratch)
    for i in range(n):
        if parse_operand(operands[i], &xs[i]):
            if not hasattr(operands[i], "is_symbolic"):
                bad_operand(op, operands[i])
            foreign = True
    if foreign:
        return slow(op, operands, params)
    np = parse_params(op, params, words, &sig)
    if np < 0:
        return slow(op, operands, params)
    if (<EngineContext>context_pointer()).observers and not flags & FLAG_QUIET:
        return slow(op, operands, params)
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).kind & ~<uint8_t>KIND_VIEW:
            return slow(op, operands, params)
    return dispatch(op, xs, n, words, np, sig, flags, NULL)


def apply(OpBase op not None, tuple operands not None, tuple params=()):
    """Run ``op``. Operands are tensors, numbers or None; returns a Tensor, or a tuple of them."""
    return apply_raw(op, operands, params, 0)


def apply_plain(OpBase op not None, tuple operands not None, tuple params=()):
    """``apply`` past the observers (what an observer itself calls)."""
    return apply_raw(op, operands, params, FLAG_QUIET)


cdef object call1(OpBase op, Tensor x):
    cdef Operand[1] xs
    xs[0].t = <PyObject*>x
    xs[0].n_bits = 0
    return dispatch(op, xs, 1, NULL, 0, 0, 0, NULL)


cdef object call2(OpBase op, Tensor x, Tensor y):
    cdef Operand[2] xs
    xs[0].t = <PyObject*>x
    xs[0].n_bits = 0
    xs[1].t = <PyObject*>y
    xs[1].n_bits = 0
    return dispatch(op, xs, 2, NULL, 0, 0, 0, NULL)


def apply1(OpBase op not None, x):
    """Run an op of one operand and no params."""
    if isinstance(x, Tensor) and op.n_params == 0:
        return call1(op, <Tensor>x)
    return apply_raw(op, (x,), (), 0)


cdef int64_t reduction(Tensor x, object axis, bint keepdim) except -2:
    """See reduction_key."""
    cdef int overflow = 0
    cdef int64_t at = 64
    if axis is not None:
        if not PyLong_CheckExact(axis):
            return -1
        at = PyLong_AsLongLongAndOverflow(axis, &overflow)
        if overflow or not -64 <= at < 64:
            return -1
    return (at + 64) << 12 | keepdim << 11 | (x.key & (K_DTYPE_MASK | K_RANK_MASK << K_RANK_SHIFT))


def reduction_key(Tensor x not None, axis, bint keepdim):
    """A key for a reduction: the tensor's dtype and rank, the axis (None: all), keepdim. -1 for what has none (a list of axes)."""
    return reduction(x, axis, keepdim)


def apply_reduce(dict table not None, x, axis, bint keepdim):
    """Run ``table[reduction_key(x, axis, keepdim)]`` on x; None when the table has no such op."""
    cdef PyObject* op
    cdef int64_t key
    if not isinstance(x, Tensor):
        return None
    key = reduction(<Tensor>x, axis, keepdim)
    if key < 0:
        return None
    op = PyDict_GetItemWithError(table, key)
    return None if op == NULL else call1(<OpBase?>op, <Tensor>x)


def apply_axis(table, x, axis):
    """Run ``table[axis]``, an op of one operand and no params; a negative axis counts from the end. None for a 0-d tensor.

    Raises what ``table.__missing__`` raises for an axis it has no op for.
    """
    cdef PyObject* op
    cdef long long at
    cdef int overflow = 0
    if not isinstance(x, Tensor):
        raise TypeError(f"requires a Tensor, got {type(x).__name__}")
    if (<Tensor>x).ndim == 0:
        return None
    if PyLong_CheckExact(axis):
        at = PyLong_AsLongLongAndOverflow(axis, &overflow)
        if at < 0 and not overflow:
            axis = PyLong_FromLongLong(at + (<Tensor>x).ndim)
    elif axis < 0:
        axis += (<Tensor>x).ndim
    op = PyDict_GetItemWithError(table, axis)            # skips __missing__
    return call1(<OpBase?>table[axis] if op == NULL else <OpBase>op, <Tensor>x)


def apply_rows(OpBase op not None, x, item):
    """``x[item]`` by ``op``, the slice of axis 0, where ``item`` is a slice whose bounds and step are ints or None; None for all else."""
    cdef Operand[1] xs
    cdef uint64_t[3] words
    cdef Py_ssize_t start, stop, step
    if not isinstance(x, Tensor) or (<Tensor>x).kind & ~<uint8_t>KIND_VIEW or not (<Tensor>x).ndim or not PySlice_Check(item):
        return None
    for bound in (item.start, item.stop, item.step):
        if not (bound is None or PyLong_CheckExact(bound)):
            return None
    if item.step is not None and item.step <= 0:
        return None
    PySlice_Unpack(item, &start, &stop, &step)
    words[1] = <uint64_t>PySlice_AdjustIndices((<Tensor>x).dims[0], &start, &stop, step)
    words[0] = <uint64_t>start
    words[2] = <uint64_t>step if <int64_t>words[1] > 1 else 1    # from one element no step is taken, however long it is
    xs[0].t = <PyObject*>x
    xs[0].n_bits = 0
    return dispatch(op, xs, 1, words, 3, 0x020202, 0, NULL)


def apply2(OpBase op not None, x, y):
    """Run an op of two operands and no params."""
    cdef Operand[2] xs
    if op.n_params or parse_operand(x, &xs[0]) or parse_operand(y, &xs[1]):
        return apply_raw(op, (x, y), (), 0)
    return dispatch(op, xs, 2, NULL, 0, 0, 0, NULL)


def apply_into(OpBase op not None, tuple outs not None, tuple operands not None, tuple params=()):
    """Run ``op`` writing into existing tensors; no gradient is recorded and versions are bumped.

    While a tracer is active, the results are written as values (``assign``).
    """
    cdef Operand[INLINE_X] xs
    cdef PyObject* into[MAX_OUT + 1]
    cdef uint64_t[INLINE_S] words
    cdef uint64_t sig
    cdef int i, np, n = len(operands), m = len(outs)
    if n != op.n_operands and not op.variadic:
        raise TypeError(f"[{op.name}] requires {op.n_operands} operands {op.inputs}, got {n}")
    if (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        with no_grad_guard():
            made = slow(op, operands, params)
            for x, value in zip(outs, made if isinstance(made, tuple) else (made,)):
                SLOW_ASSIGN(x, value)
        return
    if n > INLINE_X or m > MAX_OUT:
        raise ValueError(f"[{op.name}] requires at most {INLINE_X} operands and {MAX_OUT} outputs to write into, got {n} and {m}")
    for i in range(n):
        if parse_operand(operands[i], &xs[i]):
            bad_operand(op, operands[i])
    for i in range(m):
        into[i] = <PyObject*><Tensor?>outs[i]
        if (<Tensor>into[i]).kind & ~<uint8_t>KIND_VIEW:
            raise TypeError(f"[{op.name}] requires dense tensors to write into, got {outs[i]!r}")
    into[m] = NULL
    np = parse_params(op, params, words, &sig)
    if np < 0:
        raise TypeError(f"[{op.name}] requires concrete params, got {params}")
    for i in range(m):
        if clashes(op, <Tensor>into[i], xs, n):
            made = apply_raw(op, operands, params, FLAG_QUIET)
            for x, value in zip(outs, made if isinstance(made, tuple) else (made,)):
                write_into(<Tensor>x, <Tensor>value)
            return
    dispatch(op, xs, n, words, np, sig, FLAG_INTO | FLAG_QUIET, into)


cdef bint clashes(OpBase op, Tensor o, Operand* xs, int n) noexcept:
    """Whether writing ``o`` may destroy an operand before it is read: the same storage, unless the op works element by element and the
    operand lies at the same places."""
    cdef int i
    cdef Tensor t
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).storage is o.storage:
            t = <Tensor>xs[i].t
            if not op.pointwise or t.offset != o.offset or t.ndim != o.ndim or memcmp(t.dims, o.dims, 8 * t.ndim) != 0 \
                    or memcmp(t.strides, o.strides, 8 * t.ndim) != 0:
                return True
    return False


# ---- operators -----------------------------------------------------------------------------------------------------------------
cdef inline bint number_fits(int tag, uint32_t key) noexcept:
    """A number operand that needs no promotion: its kind is not above the tensor's."""
    cdef int dt = key & K_DTYPE_MASK
    if tag == TAG_BOOL: return True
    if tag == TAG_INT: return dt != BOOL
    if tag == TAG_FLOAT: return is_in(FLOATING_IDS | COMPLEX_IDS, dt)
    if tag == TAG_COMPLEX: return is_in(COMPLEX_IDS, dt)
    return False


cdef object binary_slow(int which, object a, object b):
    if PROMOTE is None:
        return NotImplemented
    pair = PROMOTE(BINARY_NAMES[which], a, b)
    return NotImplemented if pair is NotImplemented else apply_raw(<OpBase>BINARY_OPS[which], (pair[0], pair[1]), (), 0)


cdef object binary(int which, object a, object b):
    cdef Operand[2] xs
    cdef uint32_t key
    if BINARY_OPS[which] == NULL:
        return NotImplemented
    if parse_operand(a, &xs[0]) or parse_operand(b, &xs[1]):
        if hasattr(a, "is_symbolic") or hasattr(b, "is_symbolic"):
            return apply_raw(<OpBase>BINARY_OPS[which], (a, b), (), 0)
        return binary_slow(which, a, b)
    if xs[0].t != NULL and xs[1].t != NULL:
        key = (<Tensor>xs[0].t).key
        if (key ^ (<Tensor>xs[1].t).key) & K_DTYPE_MASK:
            return binary_slow(which, a, b)
    elif xs[0].t != NULL:
        key = (<Tensor>xs[0].t).key
        if not number_fits(xs[1].desc >> K_TAG_SHIFT, key):
            return binary_slow(which, a, b)
    else:
        key = (<Tensor>xs[1].t).key
        if not number_fits(xs[0].desc >> K_TAG_SHIFT, key):
            return binary_slow(which, a, b)
    if which == B_DIV or which == B_POW or which == B_MATMUL:
        # Integer division gives floats, a negative power of an integer is the face's business, and a number has no matmul.
        if not is_in(FLOATING_IDS | COMPLEX_IDS, key & K_DTYPE_MASK) or (which == B_MATMUL and (xs[0].t == NULL or xs[1].t == NULL)):
            return binary_slow(which, a, b)
    elif (key & K_DTYPE_MASK) == BOOL and which < B_MATMUL:
        return binary_slow(which, a, b)
    return dispatch(<OpBase>BINARY_OPS[which], xs, 2, NULL, 0, 0, 0, NULL)


cdef object unary(int which, object a):
    return call1(<OpBase>UNARY_OPS[which], <Tensor>a)


tensor_slots().binary = binary
tensor_slots().unary = unary
