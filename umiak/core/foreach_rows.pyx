# cython: language_level=3, binding=False
"""Rows of operands of one op: read, classed as calls are, and given a way to run."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from umiak.core.context cimport AMP_MASK, EngineContext, MODE_GRAD, context_pointer
from umiak.core.dispatch cimport miss, shape_failed
from umiak.core.launches cimport *
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.slot cimport ABSENT, GRAD, RATE, Slot, SlotRow, SlotRows
from umiak.core.tensor cimport *
from umiak.util.errors import OperandError, ShapeError


@cython.final
@cython.no_gc
cdef class ForeachCall:
    """The rows of one call and what they refer to."""

    def __dealloc__(self):
        cdef int i, k
        for i in range(self.count):
            for k in range(3):
                Py_XDECREF(self.row[i].held[k])


# ---- which plan ------------------------------------------------------------------------------------------------------
cdef Plan find(ForeachCall w, Row* r, const uint32_t* descs, uint64_t modes, bint flat):
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


cdef Tensor shape_of(ForeachCall w, Row* r, uint64_t* fixed):
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


cdef uint64_t plan_modes() except? 0:
    # As `apply_into` has them: nothing is recorded, and what is written has its dtype.
    return (<EngineContext>context_pointer()).plan_mode & ~<uint64_t>(MODE_GRAD | AMP_MASK)


cdef int make_output(ForeachCall w, Row* r, Plan plan, int ndim, const int64_t* dims) except -1:
    cdef Tensor o
    if plan.n_visible == 1:                              # else the count is refused
        (<EngineContext>context_pointer()).running = <PyObject*>plan.op
        o = new_tensor(plan.out_dtype[0], ndim, dims, plan.place, (<EngineContext>context_pointer()).stream[plan.place])
        w.new_outputs[r - w.row] = o
        r.into[0] = <PyObject*>o
        r.work += o.numel
    return 0


cdef bint joins_batch(ForeachCall w, Row* r) except -1:
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
    if w.new_outputs is not None:
        make_output(w, r, plan, first.ndim, first.dims)
    check_count(plan, r.into)
    for i in range(r.count):
        o = <Tensor>r.into[i]
        if (o.key & K_DTYPE_MASK) != <uint32_t>plan.out_dtype[i] or not same_dims(o, first) or \
                ((o.key >> K_PLACE_SHIFT) & K_PLACE_MASK) != <uint32_t>plan.place:
            refuse_into(plan, i, o, list(first.shape))
    if not writes_directly(plan, r.xs, w.n, r.into):
        return False
    r.plan = <PyObject*>plan
    r.route = ROW_BATCH
    r.fixed = fixed
    r.elements = first.numel
    return True


cdef bint launches_itself(ForeachCall w, Row* r) except -1:
    """Return whether a native kernel may write straight into a row's outputs; they are checked then."""
    cdef uint32_t[INLINE_X] descs
    cdef int64_t[INLINE_R] regs
    cdef int64_t[K_RANK_MASK + 1] dims
    cdef Plan plan
    cdef int i, k = 0
    cdef bint any_tensor = False
    for i in range(w.n):
        descs[i] = r.xs[i].desc
        if r.xs[i].t != NULL:
            descs[i] = (<Tensor>r.xs[i].t).key & ~<uint32_t>K_NEEDS_GRAD
            any_tensor = True
    if not any_tensor:
        return False
    plan = find(w, r, descs, plan_modes(), False)
    if plan.launch == NULL or plan.n_dims < 0 or plan.kind != PLAN_LAUNCH or plan.n_out != plan.n_visible or plan.has_streams or \
            plan.shape is None or plan.shape.n_regs > INLINE_R or plan.n_dims > INLINE_D or plan.bounded:
        return False
    load_sources(plan.sources, plan.n_sources, r.xs, r.words, regs)
    if plan.shape.run(regs):
        shape_failed(plan, r.xs, w.n, r.words + (r.n_words - r.np), r.sig)
    if w.new_outputs is not None:
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
    r.route = ROW_LAUNCH
    return True


# ---- reading rows ----------------------------------------------------------------------------------------------------
cdef int read_row(ForeachCall w, Row* r, tuple row) except -1:
    """A row of Python: outputs (where they are given), operands, params."""
    cdef OpBase op = w.op
    cdef tuple outs = (), operands
    cdef int i
    if w.new_outputs is None:
        outs, operands, params = row
    else:
        operands, params = row
    r.params = <PyObject*>params
    if w.new_outputs is None and len(outs) != r.count:
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


cdef int read_slot(ForeachCall w, Row* r, SlotRows rows) except -1:
    """A row that a slot stands for."""
    cdef OpBase op = w.op
    cdef SlotRow* slot_row = &rows.row[r.at]
    cdef Slot slot = <Slot>slot_row.slot
    cdef tuple outs = slot.outs, values = slot.values
    cdef object target = slot.target, x
    cdef int i
    r.params = slot_row.params
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
        if rows.layout[i] == RATE:
            r.xs[i].desc = TAG_FLOAT << K_TAG_SHIFT
            r.xs[i].n_bits = 1
            memcpy(r.xs[i].bits, &slot_row.rate, 8)
            r.xs[i].bits[1] = 0
        elif rows.layout[i] == ABSENT:
            r.xs[i].desc = TAG_ABSENT << K_TAG_SHIFT
        elif rows.layout[i] == GRAD:
            r.xs[i].t = slot_row.grad
        else:
            x = rows.operand(r.at, i)
            if not isinstance(x, Tensor):
                bad_operand(op, x)
            r.xs[i].t = <PyObject*>x                     # which `held` keeps
    for i in range(r.count):
        r.into[i] = <PyObject*><Tensor?>outs[i]
    r.into[r.count] = NULL
    return 0


cdef int load_row(ForeachCall w, int at) except -1:
    """Read row ``at``."""
    cdef OpBase op = w.op
    cdef Row* r = &w.row[at]
    cdef object source_row = w.rows[r.part]
    cdef uint64_t[INLINE_S] words
    cdef Tensor t
    cdef int i, k = 0
    if type(source_row) is SlotRows:
        read_slot(w, r, <SlotRows>source_row)
    else:
        read_row(w, r, <tuple>source_row)
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


cdef bint overlaps_outputs(ForeachCall w, Row* r) noexcept:
    """Return whether writing an output may destroy an operand before it is read."""
    cdef int i = 0
    while r.into[i] != NULL:
        if write_hazard(w.op, <Tensor>r.into[i], r.xs, w.n):
            return True
        i += 1
    return False


cdef int prepare(ForeachCall w, int at) except -1:
    """Read row ``at``, find its plan, check its outputs."""
    cdef Row* r = &w.row[at]
    load_row(w, at)
    r.route = ROW_CALL
    if overlaps_outputs(w, r):
        return 0
    if not timed() and not joins_batch(w, r):             # a timer hears of each launch: they are calls of their own
        launches_itself(w, r)
    return 0


cdef tuple row_of(ForeachCall w, int at):
    """Row ``at`` as one of Python."""
    cdef object source_row = w.rows[w.row[at].part]
    return (<SlotRows>source_row).python_row(w.row[at].at) if type(source_row) is SlotRows else source_row


cdef int refuse(object error, int at, int count) except -1:
    """Raise the error that is being handled, with the row that it is about."""
    if count > 1 and type(error) in (TypeError, ValueError, RuntimeError, OverflowError, OperandError, ShapeError):
        raise type(error)(f"{error} (row {at} of {count})") from error
    raise error


cdef inline bint all_tuples(tuple row) noexcept:
    for part in row:
        if not isinstance(part, tuple):
            return False
    return True


cdef ForeachCall read(OpBase op, list rows, list new_outputs):
    """The rows, all checked, but where the device queues work: there each is a call of its own."""
    cdef ForeachCall w = ForeachCall.__new__(ForeachCall)
    cdef int i, k, part = 0, at = 0, n = op.n_operands, count = 0, m = 1, np
    cdef uint64_t[INLINE_S] words
    cdef uint64_t sig
    cdef Py_ssize_t per_row
    cdef char* room
    w.op = op
    w.rows = rows
    w.new_outputs = new_outputs
    w.params_at = 2 if new_outputs is None else 1
    w.plans = []
    w.n = n
    for row in rows:
        if type(row) is SlotRows and new_outputs is None:
            count += (<SlotRows>row).count
            continue
        count += 1
        if not isinstance(row, tuple) or len(<tuple>row) != w.params_at + 1 or not all_tuples(<tuple>row):
            what = "(outs, operands, params)" if new_outputs is None else "(operands, params)"
            raise TypeError(f"[{op.name}] requires rows {what} of tuples, got {row!r}")
    row = rows[0]
    if type(row) is SlotRows:
        m = <int>len((<Slot>(<SlotRows>row).row[0].slot).outs)
        params = <object>(<SlotRows>row).row[0].params
    else:
        params = (<tuple>row)[w.params_at]
        if new_outputs is None:
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
