# cython: language_level=3, binding=False
"""Dispatch by class of operands.

The first level of caching: op identity + the class of every operand (dtype, rank, layout, place, needs-grad, kind of number) + plan
modes → an immutable plan. Sizes and numbers are not part of the key; a plan evaluates them with its scalar program. What is not in the
table is Python's business: the slot ``on_miss`` builds a plan, everything after that is C.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM
from libc.stdlib cimport malloc
from libc.string cimport memcpy

from umiak.util.frames import folded
from umiak.core.context cimport AMP_MASK, EngineContext, MODE_GRAD, context_pointer
from umiak.core.dtype cimport bytes_of
from umiak.core.launches cimport *
from umiak.core.layout cimport reshape_strides
from umiak.core.operand cimport *
from umiak.core.place cimport Place
from umiak.core.plan cimport *
from umiak.core.record cimport record
from umiak.core.storage cimport resident, use_on_stream
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject*)

# What higher layers fill in (see install).
cdef object ON_MISS = None
cdef object SLOW_PATH = None
cdef object EXPLAIN = None
cdef object OUT_OF_RANGE = None
cdef OpBase COPY = None

cdef tensor_slots_t* SLOTS = tensor_slots()


def install(**slots):
    """Fill slots."""
    global ON_MISS, SLOW_PATH, EXPLAIN, OUT_OF_RANGE, COPY
    for name, value in slots.items():
        if name == "on_miss": ON_MISS = value
        elif name == "slow_path": SLOW_PATH = value
        elif name == "explain": EXPLAIN = value
        elif name == "out_of_range": OUT_OF_RANGE = value
        elif name == "copy": COPY = value
        else:
            raise TypeError(f"[install] has no slot {name!r}")


# ---- finding the plan ------------------------------------------------------------------------------------------------
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
    if kinds or ((<EngineContext>ctx).observers and not (flags & FLAG_UNOBSERVED)):
        if kinds & ~<uint32_t>KIND_VIEW or ((<EngineContext>ctx).observers and not (flags & FLAG_UNOBSERVED)):
            if flags & FLAG_INTO:
                raise TypeError(f"[{op.name}] requires dense tensors to write into, got {operand_tuple(xs, n)}")
            return slow(op, operand_tuple(xs, n), unpack_params(op, params, sig))
        any_grad = 0
        for i in range(n):
            t = xs[i].t
            if t != NULL:
                if (<Tensor>t).kind & KIND_VIEW and (<Tensor>t).view.seen != SLOTS.changes:
                    SLOTS.refresh(<Tensor>t)
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
                        if not flags & FLAG_INTO or plan.n_dims < 0 or writes_directly(plan, xs, n, into):
                            return run_native(plan, xs, n, params, np, into if flags & FLAG_INTO else NULL, <EngineContext>ctx)
                    if plan.kind == PLAN_VIEW and not flags & FLAG_INTO and plan.shape.n_regs <= INLINE_R:
                        return run_view(plan, xs, n, params, np, sig, flags)
                    return run(plan, xs, n, params, np, sig, flags, into, <EngineContext>ctx)
            j = (j + 1) & (op.capacity - 1)
    refuse_rehearsal(op)
    plan = miss(op, xs, n, descs, params, sig, modes, h)
    return run(plan, xs, n, params, np, sig, flags, into, <EngineContext>context_pointer())


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


cdef int write_into(Tensor x, Tensor value) except -1:
    """Copy data into ``x``; no history."""
    cdef Operand[1] xs
    cdef PyObject* outs[2]
    xs[0].t = <PyObject*>value
    xs[0].n_bits = 0
    outs[0] = <PyObject*>x
    outs[1] = NULL
    dispatch(COPY, xs, 1, NULL, 0, 0, FLAG_INTO | FLAG_UNOBSERVED, outs)
    return 0


cdef Tensor detached_copy(Tensor t):
    """A contiguous copy without history."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef uint64_t modes = ctx.plan_mode
    ctx.plan_mode = 0
    try:
        return call1(COPY, detached(t) if t.kind or t.key & K_NEEDS_GRAD else t)
    finally:
        ctx.plan_mode = modes


# ---- running a plan --------------------------------------------------------------------------------------------------
cdef int shape_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig) except -1:
    """A check of the shape program failed: ``infer`` on the concrete operands says why."""
    try:
        EXPLAIN(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig))
    except Exception as error:
        raise folded(error)
    raise OverflowError(
        f"[{plan.op.name}] requires sizes and offsets that 64 bits can hold, got operands of shapes "
        f"{[x.shape for x in operand_tuple(xs, n) if isinstance(x, Tensor)]} and params {unpack_params(plan.op, params, sig)}")


cdef object out_of_range(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** into):
    try:
        result = OUT_OF_RANGE(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig), plan.low, plan.high)
    except Exception as error:
        raise folded(error)
    if into == NULL:
        return result
    write_into(<Tensor>into[0], <Tensor>result)
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
    cdef PyObject* results[1]
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
        if plan.bounded and not scalars_fit(plan, xs, n):
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
    ensure_resident(xs, n)
    for i in range(n):
        if xs[i].t != NULL:
            ptrs[i] = tensor_data(<Tensor>xs[i].t)
            if (<Tensor>xs[i].t).numel > elements:
                elements = (<Tensor>xs[i].t).numel
        else:
            ptrs[i] = NULL
    ptrs[n] = tensor_data(o)
    results[0] = <PyObject*>o
    failed = launch(plan, ptrs, NULL if flat else regs, regs, scalars, stream, elements, xs, n, results)
    if failed:
        launch_otherwise(plan, xs, n, params, plan.sig, results, failed)
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
        record(plan, xs, n, scalars, results, ctx.saved_hooks)
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
        set_view_origin(o, <Tensor>xs[0].t, plan.op, params, np, sig)
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
    cdef tuple results

    if flags & FLAG_INTO:
        check_count(plan, into)
        if plan.n_dims >= 0 and not writes_directly(plan, xs, n, into):
            python = plan.kernel is not None
            if not python:
                results = run_to_new_outputs(plan, xs, n, params, np, sig, ctx)
                for i in range(plan.n_visible):
                    write_into(<Tensor>into[i], <Tensor>results[i])
                return None
    # The scalar pack: scalar operands, then params.
    for i in range(n):
        n_weak += xs[i].n_bits if xs[i].t == NULL else 0
    if n_weak == 0:
        scalars = <uint64_t*>params
    else:
        if plan.bounded and not scalars_fit(plan, xs, n):
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
            refuse_rehearsal(plan.op)
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
                ensure_resident(xs, n)
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
                    launch_otherwise(plan, xs, n, params, sig, outs, failed)
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
            results = PyTuple_New(plan.n_visible)
            for i in range(plan.n_visible):
                Py_INCREF(<object>outs[i])
                PyTuple_SET_ITEM(results, i, <object>outs[i])
            return results
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
            set_view_origin(o, t, plan.op, params, np, sig)
        return o

    # Composites: a call program, or Python over tensors.
    if plan.refuse_results is not None:
        results = run_checked(plan, xs, n, scalars, params, sig, ctx, regs)
    else:
        results = run_calls(plan, xs, n, scalars, params, sig, ctx)
    for i in range(plan.n_out):
        outs[i] = <PyObject*>results[i]                     # borrowed from `results`
    if flags & FLAG_INTO:
        for i in range(plan.n_visible):
            write_into(<Tensor>into[i], <Tensor>outs[i])
        return None
    if plan.records:
        record(plan, xs, n, scalars, outs, ctx.saved_hooks)
    if plan.single:
        return results[0]
    return results if plan.n_visible == plan.n_out else results[:plan.n_visible]


cdef tuple run_to_new_outputs(Plan plan, Operand* xs, int n, const uint64_t* params, int np, uint64_t sig, EngineContext ctx):
    """The visible outputs in memory of their own, as a tuple."""
    results = run(plan, xs, n, params, np, sig, 0, NULL, ctx)
    return (results,) if plan.single else results


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
    refuse_rehearsal(plan.op)
    # Inside a composite nothing is recorded and no cast is added: its own node and plan stand for all of it.
    ctx.plan_mode = modes & ~<uint64_t>(MODE_GRAD | AMP_MASK)
    ctx.inner_place = plan.place
    try:
        if plan.kind == PLAN_PYTHON:
            results = plan.kernel(operand_tuple(xs, n), unpack_params(plan.op, params, sig))
            return results if isinstance(results, tuple) else (results,)
        if n > INLINE_X:
            scratch = PyBytes_FromStringAndSize(NULL, n * sizeof(void*))
            inputs = <PyObject**>PyBytes_AS_STRING(scratch)
        if plan.program.n_sources > INLINE_R:
            scratch2 = PyBytes_FromStringAndSize(NULL, plan.program.n_sources * 8)
            ints = <int64_t*>PyBytes_AS_STRING(scratch2)
        for i in range(n):
            inputs[i] = xs[i].t
        load_sources(plan.program.sources, plan.program.n_sources, xs, scalars, ints)
        plan.program.execute(inputs, ints, outs, FLAG_INNER | FLAG_UNOBSERVED)
        for i in range(plan.program.n_outputs):
            o = <Tensor>outs[i]
            Py_DECREF(o)
            result.append(o)
        for i in range(plan.program.n_outputs):
            o = <Tensor>result[i]
            # Ours alone: the list and `o` refer to the tensor, the tensor to its storage. Otherwise it is an operand, a view of one, a cast
            # parameter kept for later, or shares memory with another output; only view ops may alias.
            if Py_REFCNT(<PyObject*>o) > 2 or Py_REFCNT(<PyObject*>o.storage) > 1:
                result[i] = call1(COPY, detached(o))
        o = None
        return tuple(result)
    finally:
        ctx.plan_mode = modes
        ctx.inner_place = outer_place


cdef tuple run_checked(Plan plan, Operand* xs, int n, const uint64_t* scalars, const uint64_t* params, uint64_t sig, EngineContext ctx,
                       const int64_t* regs):
    """Results of a function that a user wrote: of the plan's sizes and dtypes, and each with memory and a history of its own."""
    cdef uint32_t[INLINE_X] versions
    cdef int i, j, d, k = 0, wrong = -2, written = n if n < INLINE_X else INLINE_X
    cdef Tensor o
    cdef list outputs
    for i in range(written):
        versions[i] = tensor_version(<Tensor>xs[i].t) if xs[i].t != NULL else 0
    results = run_calls(plan, xs, n, scalars, params, sig, ctx)
    for i in range(written):
        if xs[i].t != NULL and not plan.writes >> i & 1 and tensor_version(<Tensor>xs[i].t) != versions[i]:
            wrong = i
    if len(results) != plan.n_out:
        wrong = -1
    elif wrong == -2:
        for i in range(plan.n_out):
            if not isinstance(<object>PyTuple_GET_ITEM(results, i), Tensor):
                wrong = -1
                break
            o = <Tensor>PyTuple_GET_ITEM(results, i)
            if o.kind & ~<uint8_t>KIND_VIEW or o.key & K_DTYPE_MASK != plan.out_dtype[i] or o.ndim != plan.out_rank[i] or \
                    o.storage.place != plan.place:
                wrong = -1
                break
            for d in range(o.ndim):
                if o.dims[d] != regs[plan.out_regs[k]]:
                    wrong = -1
                k += 1
    if wrong != -2:
        o = None
        plan.refuse_results(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig), results, wrong)
        raise RuntimeError(f"[{plan.op.name}] requires other results")
    outputs = []
    for i in range(plan.n_out):
        o = <Tensor>PyTuple_GET_ITEM(results, i)
        for j in range(n):
            if xs[j].t != NULL and (<Tensor>xs[j].t).storage is o.storage:
                o = call1(COPY, detached(o))
                break
        else:
            for j in range(i):
                if (<Tensor>PyTuple_GET_ITEM(results, j)).storage is o.storage:
                    o = call1(COPY, detached(o))
                    break
            else:
                # The tuple and `o` refer to a tensor that is nobody else's.
                if o.kind or o.node is not None or o.key & K_NEEDS_GRAD or Py_REFCNT(<PyObject*>o) > 2:
                    o = detached(o)
        outputs.append(o)
    return tuple(outputs)


# ---- views -----------------------------------------------------------------------------------------------------------
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


cdef Tensor reshape_of(Plan plan, Tensor t, int nd, const int64_t* dims):
    cdef int64_t[K_RANK_MASK + 1] strides
    cdef Tensor o
    if reshape_strides(t, nd, dims, strides):
        return new_view(t, nd, dims, strides, t.offset)
    o = detached_copy(t)
    reshape_strides(o, nd, dims, strides)
    return new_view(o, nd, dims, strides, o.offset)


cdef int set_view_origin(Tensor o, Tensor parent, object op, const uint64_t* params, int np, uint64_t sig) except -1:
    cdef ViewOrigin r = ViewOrigin.__new__(ViewOrigin)
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
