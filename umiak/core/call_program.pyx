# cython: language_level=3, binding=False
"""Lists of op calls, replayed in C: decompositions, gradients, and the calls of captured programs."""
import weakref

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from umiak.core.context cimport EngineContext, MODE_GRAD, context_pointer
from umiak.core.dispatch cimport dispatch
from umiak.core.dtype cimport FLOAT32, bytes_of
from umiak.core.eager cimport apply_op
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.scalar cimport ScalarProgram
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)


cdef class StepObserver:
    """It is told of every step while a call program runs. Abstract: a subclass says what it does with a step."""

    cdef int step(self, int i, Operand* xs, PyObject** outs, bint into, uint64_t* params) except -1:
        """Step ``i`` was run on these operands and params and made these values, ``into`` memory that was there."""
        raise NotImplementedError(f"{type(self).__name__} defines no step")


cdef void gather_operands(CallProgram p, const Step* s, Operand* xs, PyObject** values, const int64_t* regs) noexcept:
    """Fill ``xs`` with the operands of a step: values computed so far (not owned), scalars from registers, or absent ones."""
    cdef int j, code
    for j in range(s.n_x):
        code = s.x[j]
        xs[j].n_bits = 0
        xs[j].t = values[code] if code >= 0 else NULL
        if xs[j].t != NULL:
            continue
        xs[j].desc = TAG_ABSENT << K_TAG_SHIFT
        if code < -1:
            xs[j].desc = p.scalar_tag[-2 - code] << K_TAG_SHIFT
            xs[j].bits[0] = <uint64_t>regs[p.scalar_reg[-2 - code]]
            xs[j].bits[1] = 0
            xs[j].n_bits = 1
            if p.scalar_tag[-2 - code] == TAG_COMPLEX:
                xs[j].bits[1] = <uint64_t>regs[p.scalar_reg2[-2 - code]]
                xs[j].n_bits = 2


cdef inline bint is_weight(Tensor t) noexcept:
    return t.node is None and t.key & K_NEEDS_GRAD != 0 and t.kind == 0 and (t.key & K_DTYPE_MASK) == FLOAT32


cdef object cast_weight(Tensor t, OpBase cast, int flags):
    """A parameter in low precision, cast once per version: forward and backward of all uses share it."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    if ctx.plan_mode & MODE_GRAD:
        return apply_op(cast, (t,), (), flags)          # under create_graph it has a history of its own
    if t.low is not None and t.low_version == tensor_version(t) and (<Tensor>t.low).dtype is cast.dtype:
        return t.low
    low = apply_op(cast, (t,), (), flags)
    if t.low is None:
        ctx.values.setdefault("cast_weights", []).append(weakref.ref(t))
        ctx.holds_low = True
    t.low = low
    t.low_version = tensor_version(t)
    return low


def drop_cast_weights():
    """Forget the low-precision copies of parameters (at the end of ``auto_cast``)."""
    (<EngineContext>context_pointer()).holds_low = False
    for ref in (<EngineContext>context_pointer()).values.pop("cast_weights", ()):
        t = ref()
        if t is not None:
            (<Tensor>t).low = None


cdef inline bint has_shape(Tensor t, const Step* s, const int64_t* regs) noexcept:
    """Return whether a tensor has the shape that a step's params ask for."""
    cdef int d
    if t.ndim != s.n_params or t.kind & ~<uint8_t>KIND_VIEW:
        return False
    for d in range(t.ndim):
        if t.dims[d] != regs[s.params[d]]:
            return False
    return True


cdef inline int drop_values(const Step* s, PyObject** values) except -1:
    """Forget what nobody reads after a step."""
    cdef int j, code
    for j in range(s.n_drop):
        code = s.drop[j]
        Py_XDECREF(values[code])
        values[code] = NULL
    return 0


@cython.final
cdef class CallProgram(TensorProgram):
    """A list of op calls over numbered values, replayed in C: a vjp, or a composite's decomposition.

    ``steps``: (op, operands, param registers, lengths of tuple params, dtype ids of the outputs, values to drop after it, donors); an operand is
    a value index, -1 for none, or ``-2 - k`` for scalar ``k`` of ``scalars`` (tag, register, register of the imaginary part). Values are the
    inputs, then the outputs of the steps in order.

    Donors are pairs (output, value) of a step that works element by element: the value is of the output's dtype and shape, and nobody reads it
    later, so that the output may take its memory, if nobody else has it (see ``reuse_memory``).
    """

    def __cinit__(self, int n_inputs, list steps, list outputs, list scalars, ScalarProgram scalar_program not None, list sources):
        cdef int i, value = n_inputs, shift
        cdef Step* s
        self.n_inputs = n_inputs
        self.n_steps = len(steps)
        self.ops = [step[0] for step in steps]
        self.steps = <Step*>calloc(self.n_steps + 1, sizeof(Step))
        if self.steps == NULL:
            raise MemoryError()
        self.dtypes = int_array([id for step in steps for id in step[4]])
        for i, (op, xs, params, lengths, produced, drop, donors) in enumerate(steps):
            n_out = len(produced)
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
        self.n_scalars = len(scalars)
        self.scalar_tag = int_array([tag for tag, _, _ in scalars])
        self.scalar_reg = int_array([reg for _, reg, _ in scalars])
        self.scalar_reg2 = int_array([reg for _, _, reg in scalars])
        self.scalar_program = scalar_program
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
        free(self.scalar_tag)
        free(self.scalar_reg)
        free(self.scalar_reg2)
        free(self.sources)

    def __repr__(self):
        return "CallProgram(" + "; ".join(
            f"%{self.steps[i].out0} = {self.ops[i]!r}({', '.join(str(self.steps[i].x[j]) for j in range(self.steps[i].n_x))})"
            for i in range(self.n_steps)) + f"; return {[self.outputs[i] for i in range(self.n_outputs)]})"

    @property
    def steps_ops(self):
        return list(self.ops)

    def run(self, list inputs, list ints, bytes donation=None):
        """Run from Python: tensors (or None) in the order of the inputs, sizes and numbers as 64-bit words in the order of the sources.

        ``donation``: a byte per input; 1: its memory may become a result's; 2: it may itself become the result that takes its place.
        """
        cdef int i
        cdef PyObject** slots
        cdef PyObject** outs
        cdef int64_t* words
        if len(inputs) != self.n_inputs or len(ints) != self.scalar_program.n_inputs:
            raise ValueError(
                f"[program] requires {self.n_inputs} inputs and {self.scalar_program.n_inputs} numbers, got {len(inputs)} and {len(ints)}")
        if donation is not None and len(donation) != self.n_inputs:
            raise ValueError(f"[program] requires a byte per input ({self.n_inputs}) in `donation`, got {len(donation)}")
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
                    words[i] = <int64_t>float_bits(ints[i])
                else:
                    words[i] = ints[i]
            self.replay(slots, words, outs, FLAG_INNER, NULL if donation is None else PyBytes_AS_STRING(donation), None)
            for i in range(self.n_outputs):
                result.append(<object>outs[i] if outs[i] != NULL else None)
                Py_XDECREF(outs[i])
            return result
        finally:
            free(slots)
            free(outs)
            free(words)

    cdef int execute(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags) except -1:
        return self.replay(inputs, ints, outs, flags, NULL, None)

    cdef int replay(self, PyObject** inputs, const int64_t* ints, PyObject** outs, int flags, const char* donation,
                    StepObserver observer) except -1:
        """``execute``; ``donation`` as in ``run``, ``observer`` is told of every step."""
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
        if self.scalar_program.n_regs > INLINE_R:
            scratch2 = PyBytes_FromStringAndSize(NULL, (self.scalar_program.n_regs + 1) * 8)
            regs = <int64_t*>PyBytes_AS_STRING(scratch2)
        for i in range(self.n_inputs):
            values[i] = inputs[i]
        memcpy(regs, ints, self.scalar_program.n_inputs * sizeof(int64_t))
        if self.scalar_program.run(regs):
            raise ValueError("a size check inside a composite or gradient failed; the operands' shapes are inconsistent")
        try:
            for i in range(self.n_steps):
                s = &self.steps[i]
                if observer is None:                     # an observer sees every call: no fast paths
                    if s.identity and s.x[0] >= 0 and has_shape(<Tensor>values[s.x[0]], s, regs):
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
                if s.n_donors and self.reuse_memory(s, xs, values, into, flags, donation):
                    for j in range(s.n_out):
                        values[filled] = into[j]         # owned from here on
                        filled += 1
                    dispatch(<OpBase>self.ops[i], xs, s.n_x, params, s.n_params, s.sig, flags | FLAG_INTO, into)
                    if observer is not None:
                        observer.step(i, xs, into, True, params)
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
                if observer is not None:
                    observer.step(i, xs, values + filled - s.n_out, False, params)
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

    cdef bint reuse_memory(self, Step* s, Operand* xs, PyObject** values, PyObject** into, int flags, const char* donation) except -1:
        """Fill ``into`` with tensors of which at least one has the memory of an operand that dies; owned references.

        Memory changes hands where the tensor is the only one that has it, and all of it. False if there is no such operand.
        """
        cdef EngineContext ctx = <EngineContext>context_pointer()
        cdef Tensor t, o, like = None
        cdef int i, j, k
        cdef bint own
        if ctx.observers and not flags & FLAG_UNOBSERVED:
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
            if into[j] != NULL or values[k] == NULL or not own and (donation == NULL or not donation[k]):
                continue
            t = <Tensor>values[k]                        # one more reference
            if t.kind or (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or t.storage.later is not None:
                continue
            if not own and donation[k] == 2:
                o = t
            elif (
                own and Py_REFCNT(values[k]) > 2 or Py_REFCNT(<PyObject*>t.storage) > 1 or t.storage.allocator is None
                or t.storage.pins or t.counter is not None or t.offset
                or t.storage.stream != ctx.stream[t.storage.place]      # whose own stream may still read it
                or t.storage.nbytes != bytes_of(t.key & K_DTYPE_MASK, t.numel)
            ):
                continue
            else:
                o = t if own else detached(t)
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
