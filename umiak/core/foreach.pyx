# cython: language_level=3, binding=False
"""One op on many rows of operands, in few native calls: docs/design/dispatch.md.

A row is classed as a call is; rows of one plan make a batch. Ops that work element by element see contiguous operands of one shape
as one dim, so that tensors of all shapes are of one class, and its kernel takes the whole batch (``Kernel.many``). Other rows with a
native kernel are launched one after the other; the rest are single calls.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Occurred
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from umiak.core.context cimport AMP_MASK, EngineContext, MODE_GRAD, OBSERVE_TRACE, context_pointer
from umiak.core.dispatch cimport dispatch, miss, shape_failed
from umiak.core.dtype cimport ITEMSIZE
from umiak.core.launches cimport *
from umiak.core.layout cimport byte_range
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.slot cimport Slot
from umiak.core.storage cimport ACCESS_HOST, place_access, resident, use_on_stream
from umiak.core.stream cimport RUNNING
from umiak.core.tensor cimport *

from umiak.core.eager import apply, apply_plain
from umiak.core.inplace import apply_into
from umiak.core.dtype import int64

cdef enum:
    # how a row runs
    MANY = 0                   # as a part of a batch that one native call takes
    LAUNCH = 1                 # by a native launch of its own
    SINGLE = 2                 # by a call of its own

cdef enum:
    # what an operand of a row is, in a layout; from FIRST_VALUE on, a state tensor
    IS_TARGET = 0
    IS_GRAD = 1
    IS_RATE = 2
    IS_ABSENT = 3
    FIRST_VALUE = 4

cdef struct SlotRow:
    PyObject* slot             # borrowed from the lists that the rows were made of
    PyObject* grad
    PyObject* params
    double rate


@cython.final
@cython.no_gc
cdef class SlotRows:
    """The updates of slots, as rows ``(outs, operands, params)`` for ``apply_foreach_into``: it counts as that many."""
    cdef list slots            # these do not change
    cdef list grads
    cdef list kept             # the params
    cdef object memory
    cdef SlotRow* row
    cdef int count
    cdef int n                 # operands
    cdef int[INLINE_X] layout

    def __len__(self):
        return self.count

    cdef object operand(self, int at, int i):
        cdef SlotRow* r = &self.row[at]
        cdef int what = self.layout[i]
        if what == IS_TARGET: return (<Slot>r.slot).target
        if what == IS_GRAD: return <object>r.grad
        if what == IS_RATE: return r.rate
        if what == IS_ABSENT: return None
        if not 0 <= what - FIRST_VALUE < len((<Slot>r.slot).values):
            raise IndexError(f"[step_rows] requires a layout of values that there are, got {what}")
        return (<Slot>r.slot).values[what - FIRST_VALUE]

    cdef tuple whole(self, int at):
        """A row as Python writes it."""
        cdef int i
        return (<Slot>self.row[at].slot).outs, tuple([self.operand(at, i) for i in range(self.n)]), <object>self.row[at].params


cdef struct Row:
    Operand* xs
    PyObject** into            # its outputs, then NULL
    uint64_t* words            # its scalar pack
    PyObject* plan             # borrowed from `Work.plans`
    PyObject* params           # borrowed from where the row was read
    PyObject* held[3]          # of a slot, owned: its target, `outs` and `values`; else NULL
    int part                   # which of `Work.rows` it is, or is a row of
    int at                     # which one of these
    int way
    int count                  # of outputs
    int np                     # words of params, at the end of the pack
    int n_words
    uint64_t sig
    uint64_t fixed
    int64_t elements
    int64_t work

@cython.final
@cython.no_gc
cdef class Work:
    """The rows of one call and what they refer to."""
    cdef OpBase op
    cdef list rows             # of Python or `SlotRows`, which keep the tensors
    cdef list plans            # as an op's table may be cleared meanwhile
    cdef object memory
    cdef list made             # the outputs, where they are new; else None
    cdef Row* row
    cdef int params_at         # in a row of Python
    cdef int n                 # operands
    cdef int count
    cdef PyObject* last        # the latest plan that was found, and its key
    cdef uint32_t[INLINE_X] descs
    cdef uint64_t sig
    cdef uint64_t modes
    cdef bint queued

    def __dealloc__(self):
        cdef int i, k
        for i in range(self.count):
            for k in range(3):
                Py_XDECREF(self.row[i].held[k])


# ---- which plan ------------------------------------------------------------------------------------------------------
cdef Plan find(Work w, Row* r, const uint32_t* descs, uint64_t modes, bint flat):
    """The plan of a row's class, made if it is new. ``flat``: the class of one dim."""
    cdef OpBase op = w.op
    cdef Operand[INLINE_X] seen
    cdef Plan plan
    cdef Tensor t
    cdef list views
    cdef uint64_t h
    cdef int64_t one = 1
    cdef int i, j
    if w.last != NULL and w.modes == modes and w.sig == r.sig and same_words(w.descs, descs, w.n):
        return <Plan>w.last
    plan = None
    h = key_hash(descs, w.n, modes, r.sig)
    if op.capacity:
        j = h & (op.capacity - 1)
        while op.slots[j] != NULL:
            if op.hashes[j] == h:
                plan = <Plan>op.slots[j]
                if plan.n_descs == w.n and plan.modes == modes and plan.sig == r.sig and same_words(plan.descs, descs, w.n):
                    break
                plan = None
            j = (j + 1) & (op.capacity - 1)
    if plan is None:
        memcpy(seen, r.xs, w.n * sizeof(Operand))
        views = []
        if flat:
            for i in range(w.n):
                if seen[i].t != NULL and (<Tensor>seen[i].t).ndim > 1:
                    t = <Tensor>seen[i].t
                    t = new_view(t, 1, &t.numel, &one, t.offset)
                    views.append(t)
                    seen[i].t = <PyObject*>t
        plan = miss(op, seen, w.n, <uint32_t*>descs, r.words + (r.n_words - r.np), r.sig, modes, h)
    w.plans.append(plan)
    w.last = <PyObject*>plan
    w.modes = modes
    w.sig = r.sig
    memcpy(w.descs, descs, w.n * sizeof(uint32_t))
    return plan


cdef inline bint same_dims(Tensor a, Tensor b) noexcept:
    cdef int d
    if a.ndim != b.ndim:
        return False
    for d in range(a.ndim):
        if a.dims[d] != b.dims[d]:
            return False
    return True


cdef Tensor shape_of(Work w, Row* r, uint64_t* fixed):
    """The operand whose shape the contiguous tensors of a row have, except for those without dims (``fixed``); else None."""
    cdef Tensor first = None, t
    cdef int i
    fixed[0] = 0
    for i in range(w.n):
        if r.xs[i].t == NULL:
            continue
        t = <Tensor>r.xs[i].t
        if (t.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
            return None
        if first is None or (first.ndim == 0 and t.ndim):
            first = t
        elif t.ndim and t is not first and not same_dims(t, first):
            return None
    if first is not None and first.ndim:
        for i in range(w.n):
            if r.xs[i].t != NULL and (<Tensor>r.xs[i].t).ndim == 0:
                fixed[0] |= <uint64_t>1 << i
    return first


cdef inline uint64_t plan_modes() except? 0:
    # As `apply_into` has them: nothing is recorded, and what is written has its dtype.
    return (<EngineContext>context_pointer()).plan_mode & ~<uint64_t>(MODE_GRAD | AMP_MASK)


cdef int make_output(Work w, Row* r, Plan plan, int ndim, const int64_t* dims) except -1:
    cdef Tensor o
    if plan.n_visible == 1:                              # else the count is refused
        (<EngineContext>context_pointer()).running = <PyObject*>plan.op
        o = new_tensor(plan.out_dtype[0], ndim, dims, plan.place, (<EngineContext>context_pointer()).stream[plan.place])
        w.made[r - w.row] = o
        r.into[0] = <PyObject*>o
        r.work += o.numel
    return 0


cdef bint joins_many(Work w, Row* r) except -1:
    """Return whether a row is one of many that a native call takes; its outputs are checked then."""
    cdef uint32_t[INLINE_X] descs
    cdef uint64_t fixed
    cdef Tensor first, o
    cdef Plan plan
    cdef int i
    cdef bint flat
    if not w.op.pointwise or w.n + r.count > 64:
        return False
    first = shape_of(w, r, &fixed)
    if first is None:
        return False
    flat = first.ndim > 0
    for i in range(w.n):
        if r.xs[i].t == NULL:
            descs[i] = r.xs[i].desc
        else:
            descs[i] = (<Tensor>r.xs[i].t).key & ~<uint32_t>(K_NEEDS_GRAD | K_ALIGNED)
            if flat and (<Tensor>r.xs[i].t).ndim:
                descs[i] = (descs[i] & ~<uint32_t>(K_RANK_MASK << K_RANK_SHIFT)) | 1 << K_RANK_SHIFT
    plan = find(w, r, descs, plan_modes(), flat)
    if plan.many == NULL or plan.kind != PLAN_LAUNCH or plan.n_out != plan.n_visible or plan.has_streams or plan.bounded:
        return False
    if w.made is not None:
        make_output(w, r, plan, first.ndim, first.dims)
    check_count(plan, r.into)
    for i in range(r.count):
        o = <Tensor>r.into[i]
        if (o.key & K_DTYPE_MASK) != <uint32_t>plan.out_dtype[i] or not same_dims(o, first) or \
                ((o.key >> K_PLACE_SHIFT) & K_PLACE_MASK) != <uint32_t>plan.place:
            refuse_into(plan, i, o, first.shape)
    if not writes_directly(plan, r.xs, w.n, r.into):
        return False
    r.plan = <PyObject*>plan
    r.way = MANY
    r.fixed = fixed
    r.elements = first.numel
    return True


cdef bint launches(Work w, Row* r) except -1:
    """Return whether a native kernel may write straight into a row's outputs; they are checked then."""
    cdef uint32_t[INLINE_X] descs
    cdef int64_t[INLINE_R] regs
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef Plan plan
    cdef int i, k = 0
    cdef bint found = False
    for i in range(w.n):
        descs[i] = r.xs[i].desc
        if r.xs[i].t != NULL:
            descs[i] = (<Tensor>r.xs[i].t).key & ~<uint32_t>K_NEEDS_GRAD
            found = True
    if not found:
        return False
    plan = find(w, r, descs, plan_modes(), False)
    if plan.launch == NULL or plan.n_dims < 0 or plan.kind != PLAN_LAUNCH or plan.n_out != plan.n_visible or plan.has_streams or \
            plan.shape is None or plan.shape.n_regs > INLINE_R or plan.n_dims > INLINE_D or plan.bounded:
        return False
    load_sources(plan.sources, plan.n_sources, r.xs, r.words, regs)
    if plan.shape.run(regs):
        shape_failed(plan, r.xs, w.n, r.words + (r.n_words - r.np), r.sig)
    if w.made is not None:
        for i in range(plan.out_rank[0]):
            dims[i] = regs[plan.out_regs[i]]
        make_output(w, r, plan, plan.out_rank[0], dims)
    check_count(plan, r.into)
    for i in range(r.count):
        check_into(plan, i, <Tensor>r.into[i], NULL, regs, k)
        k += plan.out_rank[i]
    if not writes_directly(plan, r.xs, w.n, r.into):
        return False
    r.plan = <PyObject*>plan
    r.way = LAUNCH
    return True


# ---- reading rows ----------------------------------------------------------------------------------------------------
cdef int read_row(Work w, Row* r, tuple row) except -1:
    """A row of Python: outputs (where they are given), operands, params."""
    cdef OpBase op = w.op
    cdef tuple outs = (), operands
    cdef int i
    if w.made is None:
        outs, operands, params = row
    else:
        operands, params = row
    r.params = <PyObject*>params
    if w.made is None and len(outs) != r.count:
        raise ValueError(f"[{op.name}] requires rows with as many outputs as the first, {r.count}, got {len(outs)}")
    if len(operands) != w.n:
        raise TypeError(f"[{op.name}] requires {w.n} operands {op.inputs}, got {len(operands)}")
    for i in range(w.n):
        if parse_operand(operands[i], &r.xs[i]):
            bad_operand(op, operands[i])
    for i in range(<int>len(outs)):
        r.into[i] = <PyObject*><Tensor?>outs[i]
    r.into[len(outs)] = r.into[r.count] = NULL
    return 0


cdef int read_slot(Work w, Row* r, SlotRows rows) except -1:
    """A row that a slot stands for."""
    cdef OpBase op = w.op
    cdef SlotRow* given = &rows.row[r.at]
    cdef Slot slot = <Slot>given.slot
    cdef tuple outs = slot.outs, values = slot.values
    cdef object target = slot.target, x
    cdef int i
    r.params = given.params
    r.held[0], r.held[1], r.held[2] = <PyObject*>target, <PyObject*>outs, <PyObject*>values
    Py_INCREF(target)
    Py_INCREF(outs)
    Py_INCREF(values)
    if len(outs) != r.count or rows.n != w.n:
        raise ValueError(
            f"[{op.name}] requires slots with {r.count} outputs and {w.n} operands, got {len(outs)} and {rows.n}")
    for i in range(w.n):
        r.xs[i].t = NULL
        r.xs[i].n_bits = 0
        if rows.layout[i] == IS_RATE:
            r.xs[i].desc = TAG_FLOAT << K_TAG_SHIFT
            r.xs[i].n_bits = 1
            memcpy(r.xs[i].bits, &given.rate, 8)
            r.xs[i].bits[1] = 0
        elif rows.layout[i] == IS_ABSENT:
            r.xs[i].desc = TAG_ABSENT << K_TAG_SHIFT
        elif rows.layout[i] == IS_GRAD:
            r.xs[i].t = given.grad
        else:
            x = rows.operand(r.at, i)
            if not isinstance(x, Tensor):
                bad_operand(op, x)
            r.xs[i].t = <PyObject*>x                     # which `held` keeps
    for i in range(r.count):
        r.into[i] = <PyObject*><Tensor?>outs[i]
    r.into[r.count] = NULL
    return 0


cdef int parse(Work w, int at) except -1:
    """Read row ``at``."""
    cdef OpBase op = w.op
    cdef Row* r = &w.row[at]
    cdef object given = w.rows[r.part]
    cdef uint64_t[INLINE_S] words
    cdef Tensor t
    cdef int i, k = 0
    if type(given) is SlotRows:
        read_slot(w, r, <SlotRows>given)
    else:
        read_row(w, r, <tuple>given)
    for i in range(w.n):
        if r.xs[i].t != NULL:
            t = <Tensor>r.xs[i].t
            if t.kind:
                if t.kind & ~<uint8_t>KIND_VIEW:
                    raise TypeError(f"[{op.name}] requires dense tensors to write into, got {row_of(w, at)[w.params_at - 1]}")
                refresh_if_view(t)
            r.work += t.numel
        else:
            memcpy(r.words + k, r.xs[i].bits, 8 * r.xs[i].n_bits)
            k += r.xs[i].n_bits
    i = 0
    while r.into[i] != NULL:
        t = <Tensor>r.into[i]
        if t.kind & ~<uint8_t>KIND_VIEW:
            raise TypeError(f"[{op.name}] requires dense tensors to write into, got {t!r}")
        r.work += t.numel
        i += 1
    if at and r.params == w.row[at - 1].params:
        r.np = w.row[at - 1].np
        r.sig = w.row[at - 1].sig
        memcpy(r.words + k, w.row[at - 1].words + (w.row[at - 1].n_words - r.np), 8 * r.np)
    else:
        i = parse_params(op, <tuple?><object>r.params, words, &r.sig)
        if i < 0:
            raise TypeError(f"[{op.name}] requires concrete params, got {<object>r.params}")
        if i != r.np:
            raise ValueError(f"[{op.name}] requires rows with as many params as the first, {r.np} numbers, got {i}")
        memcpy(r.words + k, words, 8 * i)
    r.n_words = k + r.np
    return 0


cdef bint through_other_memory(Work w, Row* r) noexcept:
    """Return whether writing an output may destroy an operand before it is read."""
    cdef int i = 0
    while r.into[i] != NULL:
        if write_hazard(w.op, <Tensor>r.into[i], r.xs, w.n):
            return True
        i += 1
    return False


cdef int prepare(Work w, int at) except -1:
    """Read row ``at``, find its plan, check its outputs."""
    cdef Row* r = &w.row[at]
    parse(w, at)
    r.way = SINGLE
    if through_other_memory(w, r):
        return 0
    if not timed() and not joins_many(w, r):             # a timer hears of each launch: they are calls of their own
        launches(w, r)
    return 0


cdef tuple row_of(Work w, int at):
    """Row ``at`` as one of Python."""
    cdef object given = w.rows[w.row[at].part]
    return (<SlotRows>given).whole(w.row[at].at) if type(given) is SlotRows else given


cdef int refuse(object error, int at, int count) except -1:
    """Raise the error that is being handled, with the row that it is about."""
    if count > 1 and type(error) in (TypeError, ValueError, RuntimeError, OverflowError):
        raise type(error)(f"{error} (row {at} of {count})") from error
    raise error


cdef inline bint all_tuples(tuple row) noexcept:
    for part in row:
        if not isinstance(part, tuple):
            return False
    return True


cdef Work read(OpBase op, list rows, list made):
    """The rows, all checked, but where the device queues work: there each is a call of its own."""
    cdef Work w = Work.__new__(Work)
    cdef int i, k, part = 0, at = 0, n = op.n_operands, count = 0, m = 1, np
    cdef uint64_t[INLINE_S] words
    cdef uint64_t sig
    cdef Py_ssize_t per_row
    cdef char* room
    w.op = op
    w.rows = rows
    w.made = made
    w.params_at = 2 if made is None else 1
    w.plans = []
    w.n = n
    for row in rows:
        if type(row) is SlotRows and made is None:
            count += (<SlotRows>row).count
            continue
        count += 1
        if not isinstance(row, tuple) or len(<tuple>row) != w.params_at + 1 or not all_tuples(<tuple>row):
            what = "(outs, operands, params)" if made is None else "(operands, params)"
            raise TypeError(f"[{op.name}] requires rows {what} of tuples, got {row!r}")
    row = rows[0]
    if type(row) is SlotRows:
        m = <int>len((<Slot>(<SlotRows>row).row[0].slot).outs)
        params = <object>(<SlotRows>row).row[0].params
    else:
        params = (<tuple>row)[w.params_at]
        if made is None:
            m = <int>len(<tuple>(<tuple>row)[0])
    np = parse_params(op, <tuple?>params, words, &sig)
    if np < 0:
        raise TypeError(f"[{op.name}] requires concrete params, got {params}")
    if n > INLINE_X or m > MAX_OUT:
        raise ValueError(f"[{op.name}] requires at most {INLINE_X} operands and {MAX_OUT} outputs to write into, got {n} and {m}")
    per_row = sizeof(Row) + n * sizeof(Operand) + (m + 1) * sizeof(PyObject*) + (2 * n + np) * 8
    w.memory = PyBytes_FromStringAndSize(NULL, count * per_row)
    room = PyBytes_AS_STRING(w.memory)
    w.row = <Row*>room
    room += count * sizeof(Row)
    memset(w.row, 0, count * sizeof(Row))
    w.count = count
    for row in rows:
        for k in range((<SlotRows>row).count if type(row) is SlotRows else 1):
            w.row[at].part = part
            w.row[at].at = k
            at += 1
        part += 1
    for i in range(count):
        w.row[i].xs = <Operand*>room
        room += n * sizeof(Operand)
        w.row[i].into = <PyObject**>room
        room += (m + 1) * sizeof(PyObject*)
        w.row[i].words = <uint64_t*>room
        room += (2 * n + np) * 8
        w.row[i].count = m
        w.row[i].np = np
    at = 0
    try:
        while at < count and not w.queued:
            prepare(w, at)
            w.queued = at == 0 and w.last != NULL and (<Plan>w.last).has_streams
            at += 1
    except Exception as error:
        refuse(error, at, count)
    return w


# ---- whether the order matters ---------------------------------------------------------------------------------------
cdef bint lie_apart(Work w) except -1:
    """Return whether no row writes into a storage that another one uses. An op's own operands may be its outputs.

    By storage, not by address: slices of one buffer count as one. They run in order, which is never wrong.
    """
    cdef int64_t size = 16, j
    cdef int i, k
    cdef bint written
    cdef object memory
    cdef void** keys
    cdef int* owners
    cdef void* s
    cdef Row* r
    while size < 4 * w.count * (w.n + w.row[0].count):
        size *= 2
    memory = PyBytes_FromStringAndSize(NULL, size * (sizeof(void*) + sizeof(int)))
    keys = <void**>PyBytes_AS_STRING(memory)
    owners = <int*>(keys + size)
    memset(keys, 0, size * sizeof(void*))
    # Outputs first, each with its row; then an operand may lie in the outputs of no other row.
    for written in (True, False):
        for i in range(w.count):
            r = &w.row[i]
            for k in range(r.count if written else w.n):
                if written:
                    if r.into[k] == NULL:                # a call of its own will make it
                        break
                    s = <void*>(<Tensor>r.into[k]).storage
                elif r.xs[k].t == NULL:
                    continue
                else:
                    s = <void*>(<Tensor>r.xs[k].t).storage
                j = (<int64_t>(<uint64_t>s * <uint64_t>0x9E3779B97F4A7C15 >> 20)) & (size - 1)
                while keys[j] != NULL and keys[j] != s:
                    j = (j + 1) & (size - 1)
                if keys[j] == s:
                    if owners[j] != i:
                        return False
                elif written:
                    keys[j] = s
                    owners[j] = i
    return True


# ---- running ---------------------------------------------------------------------------------------------------------
cdef int note_writes(Row* r, int64_t stream) noexcept:
    cdef int i
    cdef Tensor o
    for i in range(r.count):
        o = <Tensor>r.into[i]
        if o.storage.stream != stream:
            use_on_stream(o.storage, stream)
        bump_version(o)
    return 0


cdef int run_batch(Work w, const int* at, int count, bint apart) except -1:
    """Run rows of one plan: one native call, or a launch of each."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Row* r = &w.row[at[0]]
    cdef Plan plan = <Plan>r.plan
    cdef bint many = r.way == MANY
    cdef int n = w.n, width = n + r.count, words = r.n_words, n_dims = 1 if many else plan.n_dims
    cdef int64_t[INLINE_R] regs
    cdef int64_t stream = ctx.stream[plan.place], work = 0
    cdef object memory = PyBytes_FromStringAndSize(NULL, count * 8 * (width + words + n_dims) + 8)
    cdef void** ptrs = <void**>PyBytes_AS_STRING(memory)
    cdef uint64_t* scalars = <uint64_t*>(ptrs + count * width)
    cdef int64_t* dims = <int64_t*>(scalars + count * words)
    cdef Rows rows
    cdef int i, k, failed = 0
    ctx.running = <PyObject*>plan.op
    for i in range(count):
        ensure_resident(w.row[at[i]].xs, n)
    for i in range(count):
        r = &w.row[at[i]]
        for k in range(n):
            ptrs[i * width + k] = address(r.xs[k].t) if r.xs[k].t != NULL else NULL
        for k in range(r.count):
            ptrs[i * width + n + k] = address(r.into[k])
        memcpy(scalars + i * words, r.words, words * 8)
        if many:
            dims[i] = r.elements
        else:
            load_sources(plan.sources, plan.n_sources, r.xs, r.words, regs)
            plan.shape.run(regs)                         # its checks have been passed
            for k in range(n_dims):
                dims[i * n_dims + k] = regs[plan.dims[k]]
        work += r.work
    rows.count = count
    rows.width = width
    rows.words = words
    rows.ptrs = ptrs
    rows.sizes = dims
    rows.scalars = scalars
    rows.fixed = r.fixed
    rows.apart = apart
    rows.failed = 0
    if work < NOGIL_ELEMENTS:
        failed = call(plan, &rows, many, n_dims, stream)
    else:
        RUNNING[plan.place] += 1
        with nogil:
            failed = call(plan, &rows, many, n_dims, stream)
        RUNNING[plan.place] -= 1
    if w.made is None:                                   # whatever failed, others were written
        for i in range(count):
            note_writes(&w.row[at[i]], stream)
    if failed < 0 and not PyErr_Occurred():
        raise RuntimeError(f"[{plan.op.name}] kernel failed with code {failed}")
    if failed < 0:
        return -1
    if failed > 0:
        r = &w.row[at[rows.failed]]
        try:
            launch_failed(plan, r.xs, n, r.words + (r.n_words - r.np), r.sig, failed)
        except Exception as error:
            refuse(error, at[rows.failed], w.count)
    return 0


cdef int call(Plan plan, Rows* rows, bint many, int n_dims, int64_t stream) noexcept nogil:
    cdef int64_t i
    cdef int failed = 0
    if many:
        return plan.many(plan.launch_self, rows, stream)
    for i in range(rows.count):
        failed = plan.launch(plan.launch_self, rows.ptrs + i * rows.width, rows.sizes + i * n_dims,
                             rows.scalars + i * rows.words, stream)
        if failed != 0:
            rows.failed = i
            break
    return failed


cdef int run_single(Work w, int at) except -1:
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    cdef Row* r = &w.row[at]
    try:
        if w.made is None:
            if w.queued and at:
                parse(w, at)
            if through_other_memory(w, r):
                apply_into(w.op, *row_of(w, at))
            else:
                dispatch(w.op, r.xs, w.n, r.words + (r.n_words - r.np), r.np, r.sig, FLAG_INTO | FLAG_UNOBSERVED, r.into)
        else:
            ctx.plan_mode = plan_modes()
            try:
                w.made[at] = apply_plain(w.op, *row_of(w, at))
            finally:
                ctx.plan_mode = modes
    except Exception as error:
        refuse(error, at, w.count)
    return 0


cdef int run_rows(Work w) except -1:
    cdef object memory = PyBytes_FromStringAndSize(NULL, w.count * sizeof(int) + 8)
    cdef int* batch = <int*>PyBytes_AS_STRING(memory)
    cdef Row* r
    cdef int64_t work = 0
    cdef int i, n, first
    cdef bint apart, mixed = False
    if w.queued:
        for i in range(w.count):
            run_single(w, i)
        return 0
    for i in range(w.count):
        work += w.row[i].work
        mixed |= w.row[i].plan != w.row[0].plan or w.row[i].way != w.row[0].way
    # Where all rows are one batch and too small for threads, they run in order anyway.
    apart = w.count > 1 and (mixed or work >= NOGIL_ELEMENTS) and lie_apart(w)
    if apart and mixed:
        for i in range(w.count):
            if w.row[i].way == SINGLE:
                run_single(w, i)
        for first in range(w.count):
            n = 0
            r = &w.row[first]
            for i in range(first, w.count if r.way != SINGLE else 0):
                if w.row[i].plan == r.plan and w.row[i].way == r.way:
                    batch[n] = i
                    n += 1
            if n:
                run_batch(w, batch, n, True)
            for i in range(n):
                w.row[batch[i]].way = SINGLE             # done
        return 0
    n = 0
    for i in range(w.count):
        if n and (w.row[i].plan != w.row[batch[0]].plan or w.row[i].way != w.row[batch[0]].way):
            run_batch(w, batch, n, apart)
            n = 0
        if w.row[i].way == SINGLE:
            run_single(w, i)
        else:
            batch[n] = i
            n += 1
    if n:
        run_batch(w, batch, n, apart)
    return 0


def apply_foreach_into(OpBase op not None, rows):
    """``apply_into(op, outs, operands, params)`` for every row, in few launches."""
    cdef list taken = list(rows)
    cdef int i
    if not taken:
        return
    if op.variadic or (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        for row in taken:
            if type(row) is SlotRows:
                for i in range((<SlotRows>row).count):
                    apply_into(op, *(<SlotRows>row).whole(i))
            else:
                apply_into(op, *row)
        return
    run_rows(read(op, taken, None))


def apply_foreach(OpBase op not None, rows):
    """``apply(op, operands, params)`` for every row of an op with one output, in few launches; no gradient is recorded."""
    cdef list taken = list(rows), made
    if not taken:
        return []
    if op.variadic or (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        return [apply(op, operands, params) for operands, params in taken]
    made = [None] * len(taken)
    run_rows(read(op, taken, made))
    return made


def elements(Tensor x not None):
    """The elements of a contiguous tensor of one dim, as tensors without dims over the same memory."""
    cdef list found = []
    cdef int64_t i, none = 0
    cdef int size = ITEMSIZE[x.key & K_DTYPE_MASK]      # 0 where elements share bytes
    if not size or x.kind or x.ndim != 1 or (x.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
        raise ValueError(f"[elements] requires a contiguous tensor of one dim and a dtype of whole bytes, got {x!r}")
    for i in range(x.numel):
        found.append(new_view(x, 0, &none, &none, x.offset + i * size))
    return found


def gradients(list tensors not None):
    """``.grad`` of each, None where it wants none."""
    cdef list found = []
    cdef Tensor t
    for x in tensors:
        t = <Tensor?>x
        found.append(tensor_grad(t) if t.key & K_NEEDS_GRAD else None)
    return found


def lacks_slot(list slots not None, list grads not None):
    """Return whether there is a gradient whose slot is None."""
    cdef Py_ssize_t i
    for i in range(min(len(slots), len(grads))):
        if slots[i] is None and grads[i] is not None:
            return True
    return False


def drop_gradients(list tensors not None):
    """Set ``.grad`` of each to None."""
    for x in tensors:
        set_grad(<Tensor?>x, None)


def zero_gradients(list tensors not None):
    """``clear_grad()`` of each."""
    for x in tensors:
        tensor_slots().clear_grad(<Tensor?>x, True)


# ---- steps of optimizers ---------------------------------------------------------------------------------------------
def step_rows(list slots not None, list grads not None, double rate, layout, params_of, list stepped not None, list others not None):
    """Count a step of every slot that has a gradient, and the rows of their updates, as one ``SlotRows``; None where there are none.

    ``layout`` says what the operands are; ``params_of(slot)`` is asked anew where the numbers or the count of steps differ from those
    before. Slots are appended to ``stepped``; those whose gradient is not dense are not counted but appended to ``others``, with it.
    """
    cdef SlotRows rows = SlotRows.__new__(SlotRows)
    cdef Slot slot
    cdef SlotRow* row
    cdef object hyper = None, params = None, factor = None, own
    cdef double used = rate
    cdef int64_t steps = -1
    cdef int i
    if len(slots) != len(grads):
        raise ValueError(f"[step_rows] requires a gradient or None for each of {len(slots)} slots, got {len(grads)}")
    rows.n = <int>len(layout)
    if rows.n > INLINE_X:
        raise ValueError(f"[step_rows] requires at most {INLINE_X} operands, got {rows.n}")
    for i in range(rows.n):
        rows.layout[i] = layout[i]
    rows.slots, rows.grads, rows.kept = slots, grads, []
    rows.memory = PyBytes_FromStringAndSize(NULL, (len(slots) + 1) * sizeof(SlotRow))
    rows.row = <SlotRow*>PyBytes_AS_STRING(rows.memory)
    for i in range(<int>len(slots)):
        grad = grads[i]
        if grad is None:
            continue
        slot = <Slot?>slots[i]
        if (<Tensor?>grad).kind & ~<uint8_t>KIND_VIEW:
            others.append((slot, grad))
            continue
        slot.steps += 1
        stepped.append(slot)
        if slot.hyper is not hyper or slot.steps != steps:
            hyper, steps = slot.hyper, slot.steps
            params = params_of(slot)
            rows.kept.append(params)
        own = slot.rate["learning_rate"]
        if own is not factor:
            factor = own
            used = rate * <double>own
        row = &rows.row[rows.count]
        row.slot, row.grad, row.params, row.rate = <PyObject*>slot, <PyObject*>grad, <PyObject*>params, used
        rows.count += 1
    return rows if rows.count else None


def step_slots(OpBase op not None, list tensors not None, list slots not None, double rate, layout, params_of):
    """``gradients`` of the tensors, ``step_rows`` and ``apply_foreach_into`` in one. False, and nothing is done, where there is more to do:
    a gradient is not dense or has no slot yet, or calls are traced. A step that is refused is not counted.
    """
    cdef list grads, stepped = []
    cdef SlotRows rows
    cdef int i
    if len(slots) != len(tensors) or op.variadic or (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        return False
    grads = gradients(tensors)
    for i in range(<int>len(grads)):
        if grads[i] is not None and (slots[i] is None or (<Tensor?>grads[i]).kind & ~<uint8_t>KIND_VIEW):
            return False
    try:
        rows = step_rows(slots, grads, rate, layout, params_of, stepped, [])
        if rows is not None:
            run_rows(read(op, [rows], None))
    except BaseException:
        for slot in stepped:
            (<Slot>slot).steps -= 1
        raise
    return True


# ---- some rows of a tensor -------------------------------------------------------------------------------------------
def write_rows(Tensor into not None, Tensor rows not None, Tensor values not None):
    """``into[rows] = values``, in place: the rows alone are touched. Of a row that comes twice the last one stays.

    All are contiguous, ``rows`` of int64; memory is the host's.
    """
    cdef int64_t i, row, size, step = ITEMSIZE[into.key & K_DTYPE_MASK]
    cdef const int64_t* at
    cdef const char* source
    cdef char* target
    cdef int d
    if not step:
        raise TypeError(f"[write_rows] requires a dtype of whole bytes, got {into.dtype.name}")
    for t in (into, rows, values):
        if (<Tensor>t).kind & ~<uint8_t>KIND_VIEW or ((<Tensor>t).key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK or \
                place_access((<Tensor>t).storage.place) != ACCESS_HOST:
            raise ValueError(f"[write_rows] requires contiguous tensors in the host's memory, got {t!r}")
    if rows.ndim != 1 or rows.dtype is not int64:
        raise ValueError(f"[write_rows] requires rows of one dim and int64, got {rows!r}")
    if not into.ndim or values.ndim != into.ndim or values.dims[0] != rows.numel or values.dtype is not into.dtype or \
            list(values.shape[1:]) != list(into.shape[1:]):
        raise ValueError(
            f"[write_rows] requires values of {into.dtype.name} {[rows.numel, *into.shape[1:]]}, got {values.dtype.name} {values.shape}")
    for d in range(1, into.ndim):
        step *= into.dims[d]
    size = into.dims[0]
    at = <const int64_t*>tensor_data(rows)
    for i in range(rows.numel):
        if not 0 <= at[i] < size:
            raise IndexError(f"[write_rows] requires rows from 0 to {size - 1}, got {at[i]}")
    resident(into.storage)
    resident(values.storage)
    target = tensor_data(into)
    source = tensor_data(values)
    with nogil:
        for i in range(rows.numel):
            memcpy(target + at[i] * step, source + i * step, step)
    bump_version(into)
