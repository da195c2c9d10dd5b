"""Operands and params of a call: see operand.pyx."""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from umiak.core.dtype cimport BITS
from umiak.core.plan cimport AXIS_OFFSET, AXIS_STRIDE, OpBase, Plan, Source
from umiak.core.tensor cimport K_DTYPE_MASK, Tensor

cdef struct Operand:
    PyObject* t                # the tensor (borrowed), or NULL
    uint32_t desc              # its descriptor, or a tag
    int n_bits                 # words of a scalar operand: 0, 1 or 2
    uint64_t[2] bits

cdef int parse_scalar(object o, Operand* x) except -1
cdef int bad_operand(OpBase op, object o) except -1
cdef object scalar_value(const Operand* x)
cdef object operand_object(const Operand* x)
cdef tuple operand_tuple(const Operand* xs, int n)
cdef bint scalars_fit(Plan plan, const Operand* xs, int n) noexcept
cdef int parse_params(OpBase op, tuple params, uint64_t* out, uint64_t* sig) except -2
cdef tuple unpack_params(OpBase op, const uint64_t* bits, uint64_t sig)

cdef inline int parse_operand(object o, Operand* x) except -1:
    """0 when understood; 1 when it is something that only the slow path may know (a symbolic scalar)."""
    if isinstance(o, Tensor):
        x.t = <PyObject*>o
        x.n_bits = 0
        return 0
    return parse_scalar(o, x)

cdef inline uint64_t float_bits(double d) noexcept:
    cdef uint64_t bits
    memcpy(&bits, &d, 8)
    return bits

cdef inline double bits_float(uint64_t bits) noexcept:
    cdef double d
    memcpy(&d, &bits, 8)
    return d

cdef inline bint one_shape(const Operand* xs, int n, PyObject** first) noexcept:
    """Return whether all tensor operands have the same sizes; ``first`` receives one of them."""
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

cdef inline int load_sources(const Source* s, int count, const Operand* xs, const uint64_t* scalars, int64_t* regs) noexcept:
    """Put the inputs of a scalar program into its registers."""
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
