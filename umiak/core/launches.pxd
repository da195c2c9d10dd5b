"""Launches of kernels: see launches.pyx and docs/design/launch.md."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Occurred
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t

from umiak.core.operand cimport Operand
from umiak.core.plan cimport INLINE_D, OpBase, Plan
from umiak.core.storage cimport resident
from umiak.core.tensor cimport Tensor

cdef enum:
    NOGIL_ELEMENTS = 1 << 16   # releasing the GIL costs 0.04 us: only for kernels that run longer than that
    LEFT_TO_PYTHON = -64       # of a native launch: it has done nothing, the plan's Python kernel does this call

cdef int64_t LONG_LAUNCH       # launches of fewer elements keep the GIL and are not timed; while a timer is told of launches, none

cdef int rehearse(bint on) except -1
cdef int refuse_rehearsal(OpBase op) except -1

cdef int launch_long(Plan plan, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream, int64_t elements,
                     Operand* xs, int n, PyObject** outs) except? -1
cdef int launch_python(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** outs) except -1
cdef int launch_failed(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, int code) except -1
cdef int launch_otherwise(Plan plan, Operand* xs, int n, const uint64_t* params, uint64_t sig, PyObject** outs, int code) except -1
cdef bint writes_directly(Plan plan, const Operand* xs, int n, PyObject** into) noexcept
cdef int check_count(Plan plan, PyObject** into) except -1
cdef int check_into(Plan plan, int i, Tensor o, const int64_t* same, const int64_t* regs, int k) except -1
cdef bint write_hazard(OpBase op, Tensor o, Operand* xs, int n) noexcept
cdef int refuse_into(Plan plan, int i, Tensor o, list want) except -1

cdef inline bint timed() noexcept:
    """Return whether a timer is told of every launch."""
    return LONG_LAUNCH < 0

cdef inline int launch(Plan plan, void** ptrs, const int64_t* dims, const int64_t* regs, const uint64_t* scalars, int64_t stream,
                       int64_t elements, Operand* xs, int n, PyObject** outs) except? -1:
    """Call a native kernel; a long one without the GIL, during which nothing on the place may move. On a place with streams a launch hands
    work in and returns: it keeps the GIL, whatever the sizes.

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
    if elements < LONG_LAUNCH or (plan.has_streams and not timed()):
        failed = plan.flat(plan.launch_self, ptrs, elements, scalars, stream) if flat else \
            plan.launch(plan.launch_self, ptrs, dims, scalars, stream)
    else:
        failed = launch_long(plan, ptrs, dims, scalars, stream, elements, xs, n, outs)
    if failed < 0 and failed != LEFT_TO_PYTHON and not PyErr_Occurred():
        raise RuntimeError(f"[{plan.op.name}] kernel failed with code {failed}")
    return failed

cdef inline void* address(PyObject* t) except? NULL:
    """The address of the data; an offloaded storage is brought back first."""
    if (<Tensor>t).storage.data == NULL:
        resident((<Tensor>t).storage)
    return (<Tensor>t).storage.data + (<Tensor>t).offset

cdef inline int ensure_resident(Operand* xs, int n) except -1:
    """Offloaded operands come back before any address is read: bringing one back may move another."""
    cdef int i
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).storage.data == NULL:
            resident((<Tensor>xs[i].t).storage)
    return 0
