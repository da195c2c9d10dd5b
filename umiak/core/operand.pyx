# cython: language_level=3, binding=False
"""Operands and params of a call, in C: tensors and numbers become ``Operand``s, params become words.

A number keeps its kind in its descriptor and its value in one word (two for complex numbers), so that calls with other numbers share a plan.
"""
from libc.math cimport trunc

from umiak.util.errors import op_error
from umiak.core.plan cimport INLINE_S, OpBase, Plan
from umiak.core.tensor cimport *

cdef extern from "Python.h":
    bint PyFloat_CheckExact(object)
    bint PyLong_CheckExact(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1


# ---- operands --------------------------------------------------------------------------------------------------------
cdef object scalar_value(const Operand* x):
    cdef int tag = x.desc >> K_TAG_SHIFT
    if tag == TAG_FLOAT: return bits_float(x.bits[0])
    if tag == TAG_INT: return <int64_t>x.bits[0]
    if tag == TAG_BOOL: return x.bits[0] != 0
    if tag == TAG_COMPLEX: return complex(bits_float(x.bits[0]), bits_float(x.bits[1]))
    return None


cdef object operand_object(const Operand* x):
    return <object>x.t if x.t != NULL else scalar_value(x)


cdef tuple operand_tuple(const Operand* xs, int n):
    cdef int i
    return tuple([operand_object(&xs[i]) for i in range(n)])


cdef int parse_scalar(object o, Operand* x) except -1:
    """``parse_operand`` of what is no tensor: a number, or None for an absent operand."""
    cdef double d
    cdef int overflow = 0
    x.t = NULL
    x.n_bits = 0
    if o is None:
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
        x.bits[0] = float_bits(o.real)
        x.bits[1] = float_bits(o.imag)
        x.n_bits = 2
    elif isinstance(o, float):
        return parse_scalar(float(o), x)
    elif isinstance(o, int):
        return parse_scalar(int(o), x)
    else:
        return 1
    return 0


cdef int bad_operand(OpBase op, object o) except -1:
    raise op_error(
        TypeError, op.name, "tensors or Python scalars as operands" if op.pointwise else "tensors as operands", type(o).__name__)


cdef bint scalars_fit(Plan plan, const Operand* xs, int n) noexcept:
    """Return whether scalar operands lie within the plan's bounds; of a float the fraction does not count."""
    cdef int i, tag
    cdef double d
    for i in range(n):
        if xs[i].t == NULL and xs[i].n_bits == 1:
            tag = xs[i].desc >> K_TAG_SHIFT
            if tag == TAG_INT:
                if not plan.low <= <int64_t>xs[i].bits[0] <= plan.high:
                    return False
            elif tag == TAG_FLOAT:
                d = trunc(bits_float(xs[i].bits[0]))
                if xs[i].bits[1] or not (d >= <double>plan.low and d < <double>plan.high + 1.0):      # so NaN does not fit either
                    return False
    return True


# ---- params ----------------------------------------------------------------------------------------------------------
cdef int parse_params(OpBase op, tuple params, uint64_t* out, uint64_t* sig) except -2:
    """Pack params into words; the number of words, or -1 when one is symbolic."""
    cdef int j, k = 0, n_tuples = 0, overflow = 0
    cdef object value
    sig[0] = 0
    if len(params) != op.n_params:
        raise TypeError(f"[{op.name}] requires {op.n_params} params {tuple(op.param_fields)}, got {len(params)}")
    for j in range(op.n_params):
        value = params[j]
        if op.kinds[j] == c't' or op.kinds[j] == c'g':
            if not isinstance(value, (tuple, list)):
                kind = "ints" if op.kinds[j] == c't' else "floats"
                raise op_error(TypeError, op.name, f"a tuple of {kind} for param {tuple(op.param_fields)[j]!r}", repr(value))
            value = tuple(value)                         # an item's __index__ may change a list
            if n_tuples == 8 or k + len(value) > INLINE_S or len(value) > 254:
                raise ValueError(f"[{op.name}] requires params of at most {INLINE_S} numbers, got more")
            sig[0] |= <uint64_t>(len(value) + 1) << (8 * n_tuples)
            n_tuples += 1
            for item in <tuple>value:
                if op.kinds[j] == c'g':
                    item = as_float(op, item, j)
                    if item is None:
                        return -1
                    out[k] = float_bits(<double>item)
                    k += 1
                    continue
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
                item = as_float(op, value, j)
                if item is None:
                    return -1
                out[k] = float_bits(<double>item)
            else:
                item = as_int(op, value, j)
                if item is None:
                    return -1
                out[k] = <uint64_t><int64_t>item
            k += 1
    return k


cdef object as_float(OpBase op, object value, int j):
    """The float of param ``j``; None for a symbolic one."""
    if isinstance(value, (float, int)):
        return float(value)
    if hasattr(value, "is_symbolic"):
        return None
    if not hasattr(value, "__float__"):
        raise op_error(TypeError, op.name, f"a number for param {tuple(op.param_fields)[j]!r}", repr(value))
    return float(value)


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
        if op.kinds[j] == c't' or op.kinds[j] == c'g':
            count = <int>((sig >> (8 * n_tuples)) & 255) - 1
            n_tuples += 1
            item = []
            for i in range(count):
                if op.kinds[j] == c't':
                    item.append(<int64_t>bits[k])
                else:
                    item.append(bits_float(bits[k]))
                k += 1
            out.append(tuple(item))
        elif op.kinds[j] == c'f':
            out.append(bits_float(bits[k]))
            k += 1
        else:
            out.append(<int64_t>bits[k])
            k += 1
    return tuple(out)
