# cython: language_level=3, binding=False
"""Calls from Python: of an op on operands and params, of the shapes that public functions use most, and of Python's operators."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject

from umiak.core.context cimport EngineContext, context_pointer
from umiak.core.dispatch cimport call1, dispatch, slow
from umiak.core.dtype cimport BOOL, COMPLEX_IDS, FLOATING_IDS, is_in
from umiak.core.operand cimport *
from umiak.core.plan cimport *
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    bint PyLong_CheckExact(object)
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    object PyLong_FromLongLong(long long)
    bint PySlice_Check(object)
    int PySlice_Unpack(object, Py_ssize_t*, Py_ssize_t*, Py_ssize_t*) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t*, Py_ssize_t*, Py_ssize_t) noexcept

BINARY_NAMES = ("add", "sub", "mul", "div", "floor_div", "remainder", "pow", "matmul", "bitwise_and", "bitwise_or", "bitwise_xor",
                "shift_left", "shift_right", "lt", "le", "gt", "ge", "eq", "ne")
UNARY_NAMES = ("neg", "abs", "bitwise_not")

cdef object PROMOTE = None
cdef PyObject* BINARY_OPS[B_COUNT]
cdef PyObject* UNARY_OPS[U_COUNT]
cdef list _operators = []      # keeps those


def install(dict binary=None, dict unary=None, promote=None):
    """Set the ops that Python's operators call, by name of the op, and ``promote(name, a, b)`` for mixed dtypes."""
    global PROMOTE
    cdef int i
    if binary is not None:
        _operators.append(binary)
        for i, key in enumerate(BINARY_NAMES):
            BINARY_OPS[i] = <PyObject*>binary[key]
    if unary is not None:
        _operators.append(unary)
        for i, key in enumerate(UNARY_NAMES):
            UNARY_OPS[i] = <PyObject*>unary[key]
    if promote is not None:
        PROMOTE = promote


# ---- any op ----------------------------------------------------------------------------------------------------------
cdef object apply_op(OpBase op, tuple operands, tuple params, int flags):
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
    if (<EngineContext>context_pointer()).observers and not flags & FLAG_UNOBSERVED:
        return slow(op, operands, params)
    for i in range(n):
        if xs[i].t != NULL and (<Tensor>xs[i].t).kind & ~<uint8_t>KIND_VIEW:
            return slow(op, operands, params)
    return dispatch(op, xs, n, words, np, sig, flags, NULL)


def apply(OpBase op not None, tuple operands not None, tuple params=()):
    """Run ``op``. Operands are tensors, numbers or None; returns a Tensor, or a tuple of them."""
    return apply_op(op, operands, params, 0)


def apply_plain(OpBase op not None, tuple operands not None, tuple params=()):
    """``apply`` past the observers (what an observer itself calls)."""
    return apply_op(op, operands, params, FLAG_UNOBSERVED)


def apply1(OpBase op not None, x):
    """Run an op of one operand and no params."""
    if isinstance(x, Tensor) and op.n_params == 0:
        return call1(op, <Tensor>x)
    return apply_op(op, (x,), (), 0)


def apply2(OpBase op not None, x, y):
    """Run an op of two operands and no params."""
    cdef Operand[2] xs
    if op.n_params or parse_operand(x, &xs[0]) or parse_operand(y, &xs[1]):
        return apply_op(op, (x, y), (), 0)
    return dispatch(op, xs, 2, NULL, 0, 0, 0, NULL)


# ---- an axis, a slice ------------------------------------------------------------------------------------------------
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


# ---- operators -------------------------------------------------------------------------------------------------------
cdef inline bint scalar_fits(int tag, uint32_t key) noexcept:
    """A scalar operand that needs no promotion: its kind is not above the tensor's."""
    cdef int dt = key & K_DTYPE_MASK
    if tag == TAG_BOOL: return True
    if tag == TAG_INT: return dt != BOOL
    if tag == TAG_FLOAT: return is_in(FLOATING_IDS | COMPLEX_IDS, dt)
    if tag == TAG_COMPLEX: return is_in(COMPLEX_IDS, dt)
    return False


cdef object promoted(int which, object a, object b):
    if PROMOTE is None:
        return NotImplemented
    pair = PROMOTE(BINARY_NAMES[which], a, b)
    return NotImplemented if pair is NotImplemented else apply_op(<OpBase>BINARY_OPS[which], (pair[0], pair[1]), (), 0)


cdef object binary(int which, object a, object b):
    cdef Operand[2] xs
    cdef uint32_t key
    if BINARY_OPS[which] == NULL:
        return NotImplemented
    if parse_operand(a, &xs[0]) or parse_operand(b, &xs[1]):
        if hasattr(a, "is_symbolic") or hasattr(b, "is_symbolic"):
            return apply_op(<OpBase>BINARY_OPS[which], (a, b), (), 0)
        return promoted(which, a, b)
    if xs[0].t != NULL and xs[1].t != NULL:
        key = (<Tensor>xs[0].t).key
        if (key ^ (<Tensor>xs[1].t).key) & K_DTYPE_MASK:
            return promoted(which, a, b)
    elif xs[0].t != NULL:
        key = (<Tensor>xs[0].t).key
        if not scalar_fits(xs[1].desc >> K_TAG_SHIFT, key):
            return promoted(which, a, b)
    else:
        key = (<Tensor>xs[1].t).key
        if not scalar_fits(xs[0].desc >> K_TAG_SHIFT, key):
            return promoted(which, a, b)
    if which == B_DIV or which == B_POW or which == B_MATMUL:
        # Integer division gives floats, a negative power of an integer is the face's business, and a number has no matmul.
        if not is_in(FLOATING_IDS | COMPLEX_IDS, key & K_DTYPE_MASK) or (which == B_MATMUL and (xs[0].t == NULL or xs[1].t == NULL)):
            return promoted(which, a, b)
    elif (key & K_DTYPE_MASK) == BOOL and which < B_MATMUL:
        return promoted(which, a, b)
    return dispatch(<OpBase>BINARY_OPS[which], xs, 2, NULL, 0, 0, 0, NULL)


cdef OpBase operator_op(int which):
    return None if BINARY_OPS[which] == NULL else <OpBase>BINARY_OPS[which]


cdef object unary(int which, object a):
    return call1(<OpBase>UNARY_OPS[which], <Tensor>a)


set_apply(apply_op)
tensor_slots().binary = binary
tensor_slots().unary = unary
