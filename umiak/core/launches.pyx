# cython: language_level=3, binding=False
"""Launches of kernels: what they may write into, the call itself, what is told of it, and how a failure is put into words."""
from cpython.object cimport PyObject
from libc.string cimport memcmp
from time import perf_counter

from umiak.core.buffer import Buffer
from umiak.util.frames import folded
from umiak.core.array cimport operand_array, put_packed
from umiak.core.context cimport context_pointer
from umiak.core.dtype cimport PACKED_IDS, dtype_from_id, is_in
from umiak.core.layout cimport refuse_overlap, self_overlaps
from umiak.core.operand cimport Operand, scalar_value, operand_tuple, unpack_params
from umiak.core.place cimport place_from_index
from umiak.core.plan cimport OpBase, Plan
from umiak.core.storage cimport ACCESS_HOST, place_access
from umiak.core.stream cimport RUNNING
from umiak.core.tensor cimport *

cdef object TIMER = None
cdef int64_t LONG_LAUNCH = NOGIL_ELEMENTS
cdef void* REHEARSES = NULL    # the context of the thread whose calls launch nothing

globals().update(LEFT_TO_PYTHON=LEFT_TO_PYTHON)


def time_launches(timer):
    """Tell ``timer`` of every launch, on all threads; None ends that.

    ``timer.start()`` gives a token; after a launch that succeeded ``timer.stop(token, seconds, plan, operands, outputs, dims)``
    follows, where ``dims`` is what a native kernel got, None where it asked for nothing or was launched flat.
    """
    global TIMER, LONG_LAUNCH
    TIMER = timer
    LONG_LAUNCH = NOGIL_ELEMENTS if timer is None and REHEARSES == NULL else -1


cdef int rehearse(bint on) except -1:
    """From now on let calls of this thread find plans, sizes and memory, but launch nothing; what needs Python refuses that. One thread at a time."""
    global LONG_LAUNCH, REHEARSES
    if on and REHEARSES != NULL:
        raise RuntimeError("another thread rehearses calls")
    REHEARSES = <void*>context_pointer() if on else NULL
    LONG_LAUNCH = NOGIL_ELEMENTS if TIMER is None and REHEARSES == NULL else -1
    return 0


cdef int refuse_rehearsal(OpBase op) except -1:
    """Raise where calls of this thread are rehearsed: for Python, which may read data, and for what no list of launches holds."""
    if REHEARSES != NULL and REHEARSES == <void*>context_pointer():
        raise RuntimeError(f"[{op.name}] cannot be rehearsed")
    return 0


# ---- native kernels --------------------------------------------------------------------------------------------------
cdef int launch_long(Plan plan, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream, int64_t elements,
                     Operand* xs, int n, PyObject** outs) except? -1:
    """A launch without the GIL, of which a timer is told; only the latter, where the kernel is short."""
    cdef object timer = TIMER, token, start
    cdef int failed, i
    if REHEARSES != NULL and REHEARSES == <void*>context_pointer():
        return 0
    if timer is None:
        return launch_nogil(plan, ptrs, dims, scalars, stream, elements)
    token = timer.start()
    start = perf_counter()
    if elements >= NOGIL_ELEMENTS and not plan.has_streams:
        failed = launch_nogil(plan, ptrs, dims, scalars, stream, elements)
    elif dims == NULL:
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream)
    else:
        failed = plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    if failed == 0:
        asked = None if dims == NULL or plan.n_dims < 0 else tuple([dims[i] for i in range(plan.n_dims)])
        report_launch(timer, token, perf_counter() - start, plan, xs, n, outs, asked)
    return failed


cdef int launch_nogil(Plan plan, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream, int64_t elements) noexcept:
    cdef int failed
    RUNNING[plan.place] += 1
    with nogil:
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream) if dims == NULL else \
            plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    RUNNING[plan.place] -= 1
    return failed


cdef int report_launch(object timer, object token, object seconds, Plan plan, Operand* xs, int n, PyObject** outs, object dims) except -1:
    cdef int i
    outputs = tuple([<object>outs[i] for i in range(plan.n_out)])
    timer.stop(token, seconds, plan, operand_tuple(xs, n), outputs, dims)
    return 0


cdef int launch_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, int code) except -1:
    """Raise for a kernel's code > 0: in the op's words where the backend knows them."""
    if plan.explain_failure is not None:
        try:
            plan.explain_failure(plan.op, operand_tuple(xs, n), unpack_params(plan.op, params, sig), code)
        except Exception as error:
            raise folded(error)
    raise RuntimeError(f"[{plan.op.name}] kernel failed with code {code}")


cdef int launch_otherwise(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** outs, int code) except -1:
    """Go on after a native launch that gave another code than 0: with the Python kernel that it left the call to, or the error."""
    if code == LEFT_TO_PYTHON:
        return launch_python(plan, xs, n, params, sig, outs)
    return launch_failed(plan, xs, n, params, sig, code)


# ---- kernels in Python -----------------------------------------------------------------------------------------------
cdef int launch_python(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** outs) except -1:
    cdef list ins = [], results = []
    cdef object timer = TIMER, token, start, seconds
    cdef int i
    cdef bint host = place_access(plan.place) == ACCESS_HOST
    refuse_rehearsal(plan.op)
    ensure_resident(xs, n)
    RUNNING[plan.place] += 1                             # nothing moves under the arrays
    try:
        for i in range(n):
            if xs[i].t == NULL:
                ins.append(scalar_value(&xs[i]))
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
        report_launch(timer, token, seconds, plan, xs, n, outs, None)
    return 0


# ---- tensors to write into -------------------------------------------------------------------------------------------
cdef bint writes_directly(Plan plan, const Operand* xs, int n, PyObject** into) noexcept:
    """Return whether a kernel that takes its outputs to be contiguous may write straight into these tensors: contiguous ones that no
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
    if self_overlaps(o):
        refuse_overlap(plan.op.name, o)
    if not ok:
        refuse_into(plan, i, o, [(same[d] if same != NULL else regs[plan.out_regs[k + d]]) for d in range(plan.out_rank[i])])
    return 0


cdef int refuse_into(Plan plan, int i, Tensor o, list want) except -1:
    raise ValueError(
        f"[{plan.op.name}] requires an output of shape {want} and dtype {dtype_from_id(plan.out_dtype[i]).name} on "
        f"{place_from_index(plan.place).name}, got shape {list(o.shape)}, dtype {o.dtype.name} on {o.place.name}")


cdef bint write_hazard(OpBase op, Tensor o, Operand* xs, int n) noexcept:
    """Return whether writing ``o`` may destroy an operand before it is read: the same storage, unless the op works element by element and the
    operand lies at the same places."""
    cdef int i
    cdef Tensor t
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).storage is o.storage:
            t = <Tensor>xs[i].t
            if not (op.pointwise or op.overwrites >> min(i, 63) & 1) or t.offset != o.offset or t.ndim != o.ndim or memcmp(t.dims, o.dims, 8 * t.ndim) != 0 \
                    or memcmp(t.strides, o.strides, 8 * t.ndim) != 0:
                return True
    return False
