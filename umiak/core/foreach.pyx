# cython: language_level=3, binding=False
"""One op on many rows of operands, in few native calls: docs/design/dispatch.md.

A row is classed as a call is; rows of one plan make a batch. Ops that work element by element see contiguous operands of one shape
as one dim, so that tensors of all shapes are of one class, and its kernel takes the whole batch (``Kernel.many``). Other rows with a
native kernel are launched one after the other; the rest are single calls.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Occurred
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from umiak.core.context cimport EngineContext, OBSERVE_TRACE, context_pointer
from umiak.core.dispatch cimport dispatch
from umiak.core.dtype cimport ITEMSIZE
from umiak.core.foreach_rows cimport *
from umiak.core.launches cimport *
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.slot cimport SlotRows
from umiak.core.storage cimport use_on_stream
from umiak.core.stream cimport RUNNING
from umiak.core.tensor cimport *

from umiak.core.eager import apply, apply_plain
from umiak.core.inplace import apply_into


# ---- whether the order matters ---------------------------------------------------------------------------------------
cdef bint rows_are_independent(ForeachCall w) except -1:
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


cdef int run_batch(ForeachCall w, const int* at, int count, bint apart) except -1:
    """Run rows of one plan: one native call, or a launch of each."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Row* r = &w.row[at[0]]
    cdef Plan plan = <Plan>r.plan
    cdef bint many = r.route == ROW_BATCH
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
    if w.new_outputs is None:                            # whatever failed, others were written
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


cdef int run_call(ForeachCall w, int at) except -1:
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    cdef Row* r = &w.row[at]
    try:
        if w.new_outputs is None:
            if w.queued and at:
                load_row(w, at)
            if overlaps_outputs(w, r):
                apply_into(w.op, *row_of(w, at))
            else:
                dispatch(w.op, r.xs, w.n, r.words + (r.n_words - r.np), r.np, r.sig, FLAG_INTO | FLAG_UNOBSERVED, r.into)
        else:
            ctx.plan_mode = plan_modes()
            try:
                w.new_outputs[at] = apply_plain(w.op, *row_of(w, at))
            finally:
                ctx.plan_mode = modes
    except Exception as error:
        refuse(error, at, w.count)
    return 0


cdef int run_by_plan(ForeachCall w, int* batch) except -1:
    """Run independent rows: calls of their own first, since only they can still fail, then the rows of each plan together."""
    cdef Row* r
    cdef int i, n, first
    for i in range(w.count):
        if w.row[i].route == ROW_CALL:
            run_call(w, i)
    for first in range(w.count):
        r = &w.row[first]
        if r.route == ROW_CALL:                            # by now it has been done
            continue
        n = 0
        for i in range(first, w.count):
            if w.row[i].plan == r.plan and w.row[i].route == r.route:
                batch[n] = i
                n += 1
        run_batch(w, batch, n, True)
        for i in range(n):
            w.row[batch[i]].route = ROW_CALL
    return 0


cdef int run_in_order(ForeachCall w, int* batch, bint independent) except -1:
    """Run rows one after the other; neighbours of one plan together."""
    cdef Row* last
    cdef int i, n = 0
    for i in range(w.count):
        if n:
            last = &w.row[batch[0]]
            if w.row[i].plan != last.plan or w.row[i].route != last.route:
                run_batch(w, batch, n, independent)
                n = 0
        if w.row[i].route == ROW_CALL:
            run_call(w, i)
        else:
            batch[n] = i
            n += 1
    if n:
        run_batch(w, batch, n, independent)
    return 0


cdef int run_rows(ForeachCall w) except -1:
    """Run all rows, with the results that they have one after the other."""
    cdef object memory = PyBytes_FromStringAndSize(NULL, w.count * sizeof(int) + 8)
    cdef int* batch = <int*>PyBytes_AS_STRING(memory)
    cdef int64_t work = 0
    cdef int i
    cdef bint independent, mixed = False
    if w.queued:
        for i in range(w.count):
            run_call(w, i)
        return 0
    for i in range(w.count):
        work += w.row[i].work
        mixed |= w.row[i].plan != w.row[0].plan or w.row[i].route != w.row[0].route
    # Where all rows are one batch and too small for threads, they run in order anyway.
    independent = w.count > 1 and (mixed or work >= NOGIL_ELEMENTS) and rows_are_independent(w)
    if independent and mixed:
        return run_by_plan(w, batch)
    return run_in_order(w, batch, independent)


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
                    apply_into(op, *(<SlotRows>row).python_row(i))
            else:
                apply_into(op, *row)
        return
    run_rows(read(op, taken, None))


def apply_foreach(OpBase op not None, rows):
    """``apply(op, operands, params)`` for every row of an op with one output, in few launches; no gradient is recorded."""
    cdef list taken = list(rows), new_outputs
    if not taken:
        return []
    if op.variadic or (<EngineContext>context_pointer()).observers & OBSERVE_TRACE:
        return [apply(op, operands, params) for operands, params in taken]
    new_outputs = [None] * len(taken)
    run_rows(read(op, taken, new_outputs))
    return new_outputs


def elements(Tensor x not None):
    """The elements of a contiguous tensor of one dim, as tensors without dims over the same memory."""
    cdef list views = []
    cdef int64_t i, none = 0
    cdef int size = ITEMSIZE[x.key & K_DTYPE_MASK]      # 0 where elements share bytes
    if not size or x.kind or x.ndim != 1 or (x.key >> K_LAYOUT_SHIFT) & K_LAYOUT_MASK:
        raise ValueError(f"[elements] requires a contiguous tensor of one dim and a dtype of whole bytes, got {x!r}")
    for i in range(x.numel):
        views.append(new_view(x, 0, &none, &none, x.offset + i * size))
    return views
