# cython: language_level=3, binding=False
"""Public functions that are called without a frame of Python: docs/design/public_api.md.

A ``Direct`` stands in for a Python function, whose usual calls it makes by itself: the operands alone, by position, and an axis. All other
calls are the function's, also those that fail here: they fail again there, in the function's words. Calls with keywords or operands that
the function does not have as they are go to ``normalise``.
"""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from umiak.core.context cimport AMP_MASK, MODE_GRAD, EngineContext, context_pointer
from umiak.core.dispatch cimport call1, call2, dispatch
from umiak.core.dtype cimport FLOATING_IDS, is_in
from umiak.core.eager cimport operator_op, reduction
from umiak.core.launches cimport write_hazard
from umiak.core.operand cimport Operand, parse_operand
from umiak.core.plan cimport FLAG_INTO, FLAG_UNOBSERVED, OpBase
from umiak.core.tensor cimport B_DIV, B_LT, B_SHL, K_DTYPE_MASK, K_NEEDS_GRAD, K_PLACE_MASK, K_PLACE_SHIFT, KIND_VIEW, Tensor, tensor_slots

from umiak.core.inplace import overwrite as overwrite_with_result

MAXIMUM = 1 << 30
SIGNS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=")

cdef extern from *:
    """
    static int umiak_open_call(PyTypeObject *t, Py_ssize_t offset) {
        t->tp_vectorcall_offset = offset;
        t->tp_call = PyVectorcall_Call;
        t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(t);
        return 0;
    }
    static PyObject *umiak_operate(int sign, PyObject *a, PyObject *b) {
        switch (sign) {                                  /* in the order of SIGNS */
        case 0: return PyNumber_Add(a, b);
        case 1: return PyNumber_Subtract(a, b);
        case 2: return PyNumber_Multiply(a, b);
        case 3: return PyNumber_TrueDivide(a, b);
        case 4: return PyNumber_FloorDivide(a, b);
        case 5: return PyNumber_Remainder(a, b);
        case 6: return PyNumber_Power(a, b, Py_None);
        case 7: return PyNumber_MatrixMultiply(a, b);
        case 8: return PyNumber_And(a, b);
        case 9: return PyNumber_Or(a, b);
        case 10: return PyNumber_Xor(a, b);
        case 11: return PyObject_RichCompare(a, b, Py_LT);
        case 12: return PyObject_RichCompare(a, b, Py_LE);
        case 13: return PyObject_RichCompare(a, b, Py_GT);
        case 14: return PyObject_RichCompare(a, b, Py_GE);
        case 15: return PyObject_RichCompare(a, b, Py_EQ);
        default: return PyObject_RichCompare(a, b, Py_NE);
        }
    }
    """
    int umiak_open_call(PyTypeObject*, Py_ssize_t offset) except -1
    object umiak_operate(int sign, object, object)

cdef extern from *:
    """
    static PyObject *umiak_module_getattro(PyObject *module, PyObject *name) {
        PyObject *value = PyDict_GetItemWithError(PyModule_GetDict(module), name);
        if (value) {
            Py_INCREF(value);
            return value;
        }
        return PyErr_Occurred() ? NULL : PyModule_Type.tp_getattro(module, name);
    }
    static PyType_Slot umiak_module_slots[] = {{Py_tp_getattro, (void *)umiak_module_getattro}, {0, NULL}};
    static PyType_Spec umiak_module_spec = {
        "umiak.core.direct.Module", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, umiak_module_slots};
    static PyObject *umiak_module_type(void) {
        return PyType_FromSpecWithBases(&umiak_module_spec, (PyObject *)&PyModule_Type);
    }
    """
    object umiak_module_type()

cdef extern from *:
    """
    static int umiak_set_beside_slots(PyTypeObject *t, PyObject *name, PyObject *value) {
        if (PyDict_SetItem(t->tp_dict, name, value) < 0)
            return -1;
        PyType_Modified(t);
        return 0;
    }
    """
    int umiak_set_beside_slots(PyTypeObject*, object, object) except -1


def set_beside_slots(type owner, str name, value):
    """Let ``owner.name`` be this callable, while the operator stays that of the slot in C, without a frame of Python."""
    umiak_set_beside_slots(<PyTypeObject*>owner, name, value)


# The class of modules that have a ``__getattr__``, which keeps CPython from its fast path to their names: they are looked up before
# attributes of the class, and only what is missing takes CPython's way.
Module = umiak_module_type()

cdef extern from "umiak/util/object_pool.h":
    object umiak_own(PyObject*)

cdef extern from "Python.h":
    ctypedef object (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*)
    Py_ssize_t PyVectorcall_NARGS(size_t)
    object PyObject_Vectorcall(object, PyObject**, size_t, PyObject*)
    object PyObject_Call(object, tuple, dict)
    object PyMethod_New(object, object)
    object PyObject_VectorcallMethod(object, PyObject**, size_t, PyObject*)
    object PyObject_CallMethodOneArg(object, object, object)
    object PyObject_GenericGetDict(object, void*)
    Py_ssize_t PyDict_GET_SIZE(PyObject*)
    list PyDict_Values(object)
    PyObject* _PyType_Lookup(PyTypeObject*, object)
    bint PyLong_CheckExact(PyObject*)
    bint PyList_Check(object)
    bint PyTuple_CheckExact(PyObject*)
    object PyList_AsTuple(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    PyObject* PyDict_GetItemWithError(object, object) except? NULL
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t)
    Py_ssize_t PyTuple_GET_SIZE(PyObject*)
    bint PyUnicode_Compare(PyObject*, object)
    PyTypeObject* Py_TYPE(PyObject*)
    bint PyErr_ExceptionMatches(object)
    void PyErr_Clear()
    int PySet_Contains(object, PyObject*) except -1
    bint PyIndex_Check(object)
    bint PyObject_IsInstance(object, object) except -1

# What an attempt gives, an error included: to look at it costs less than a try.
ctypedef PyObject* (*attempt_t)(Direct, PyObject**, Py_ssize_t, PyObject*) noexcept

cdef enum:
    # what a call is
    OPERATOR = 0               # of two operands, by Python's operator, which promotes
    OPERANDS = 1               # of an op's operands, the last of which may be left out or None
    AXIS = 2                   # of a tensor and an axis: the op of the axis is in a table
    REDUCTION = 3              # likewise, by reduction_key
    FUNCTION = 4               # the function's, always
    INTS = 6                   # of a tensor and a list or tuple of ints: the op of these is in a dict
    LAYER = 5                  # of an object: its ``forward``, and of one input what usual hooks do behind it
    MOST = 3                   # operands


cdef class Direct:
    """A callable in the place of a function; as an attribute of a class it is a method."""
    cdef vectorcallfunc vectorcall
    cdef readonly object function
    cdef dict __dict__         # of the function's attributes
    cdef int call_kind
    cdef int sign              # of an operator
    cdef int binary            # its number among those of tensors
    cdef int fewest            # operands that a call must have
    cdef readonly OpBase op
    cdef object normalise      # called with this, the tuple and the dict of a call that the function cannot take as it is:
    cdef object keywords       # with one of these keywords,
    cdef Py_ssize_t most       # with more operands by position than these,
    cdef Py_ssize_t ints       # or with several ints from this one on, if it is not negative
    cdef Py_ssize_t other_at   # or with an instance of other_types at this position: a call in another order
    cdef tuple other_types
    cdef tuple required        # parameters without a default
    cdef tuple parameters      # those that may be given by position
    cdef object table          # a dict, or of a class of its own
    cdef int64_t axis          # where none is given
    cdef int64_t last          # the latest key of a reduction, and its op
    cdef PyObject* last_op

    def __init__(self, function, normalise=None, keywords=frozenset(), Py_ssize_t most=MAXIMUM, Py_ssize_t ints=-1, tuple required=()):
        self.function = function
        self.normalise = normalise
        self.keywords = keywords
        self.most = most
        self.ints = ints
        self.required = required
        self.parameters = function.__code__.co_varnames[:function.__code__.co_argcount]
        self.call_kind = FUNCTION
        self.last = -1
        self.other_at = MAXIMUM
        setattr(self, "__wrapped__", function)                   # whose signature is shown, unless it has a shown one itself
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(function, name))
        for name, value in vars(function).items():
            setattr(self, name, value)
        self.vectorcall = <vectorcallfunc>call

    def __call__(self, *args, **kwargs):                 # the type has the slot: see umiak_open_call
        return PyObject_Call(self, args, kwargs)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    @property
    def quick(self):
        """True where there are calls that enter no function."""
        return self.call_kind != FUNCTION

    @property
    def __code__(self):
        return self.function.__code__

    @property
    def __defaults__(self):
        return self.function.__defaults__

    @property
    def __kwdefaults__(self):
        return self.function.__kwdefaults__

    def __reduce__(self):
        return self.function.__qualname__

    def __repr__(self):
        return f"<function {self.function.__qualname__}>"


cdef object call(PyObject* callee, PyObject** args, size_t flags, PyObject* names):
    cdef Direct f = <Direct>callee
    cdef Py_ssize_t n = PyVectorcall_NARGS(flags)
    cdef Py_ssize_t n_positional = n
    cdef PyObject* result
    cdef PyObject* others = names
    if f.call_kind == LAYER:
        if names == NULL and unhooked(<object>args[0]):
            return PyObject_VectorcallMethod("forward", args, n, NULL)
        if names == NULL and n == 2 and hooked_behind(<object>args[0]):
            return with_hooks_behind(args)
    elif f.call_kind != FUNCTION:
        if names != NULL and as_by_position(f, n, names):
            n_positional += PyTuple_GET_SIZE(names)
            others = NULL
        if n_positional and isinstance(<object>args[0], Tensor) and not (<EngineContext>context_pointer()).observers:
            result = (<attempt_t><void*>attempt)(f, args, n_positional, others)
            if result == NULL:
                if not PyErr_ExceptionMatches(Exception):
                    return umiak_own(NULL)
                PyErr_Clear()                            # a mistake, of which the function says more
            elif result != <PyObject*>None:
                return umiak_own(result)
            else:
                Py_DECREF(None)
    if f.normalise is not None:
        if n > f.most or names != NULL and named_otherwise(f, names):
            return normalised(f, args, n, names)
        if n > f.other_at and PyObject_IsInstance(<object>args[f.other_at], f.other_types):
            return normalised(f, args, n, names)
        if f.ints >= 0 and n > f.ints + 1 and PyIndex_Check(<object>args[f.ints]):
            if names == NULL and f.ints <= MOST and PyLong_CheckExact(args[f.ints]) and PyLong_CheckExact(args[f.ints + 1]):
                return packed(f, args, n)
            return normalised(f, args, n, names)
    if n < PyTuple_GET_SIZE(<PyObject*>f.required):
        check_given(f, n, names)
    return PyObject_Vectorcall(f.function, args, flags, names)


cdef bint as_by_position(Direct f, Py_ssize_t n, PyObject* names) noexcept:
    """Return whether the keywords are the next parameters, in their order: ``add(x=a, y=b)``."""
    cdef Py_ssize_t i, k = PyTuple_GET_SIZE(names)
    if n + k > PyTuple_GET_SIZE(<PyObject*>f.parameters):
        return False
    for i in range(k):
        if PyTuple_GET_ITEM(names, i) != PyTuple_GET_ITEM(<PyObject*>f.parameters, n + i):       # both are interned
            return False
    return True


cdef bint named_otherwise(Direct f, PyObject* names) except -1:
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE(names)):
        if PySet_Contains(f.keywords, PyTuple_GET_ITEM(names, i)):
            return True
    return False


cdef object packed(Direct f, PyObject** args, Py_ssize_t n):
    """A call whose last operands are ints, which the function takes as one."""
    cdef PyObject* repacked[4]                           # MOST, and one more
    cdef Py_ssize_t i
    cdef tuple ints = tuple([<object>args[i] for i in range(f.ints, n)])
    for i in range(f.ints):
        repacked[i] = args[i]
    repacked[f.ints] = <PyObject*>ints
    return PyObject_Vectorcall(f.function, repacked, f.ints + 1, NULL)


cdef object normalised(Direct f, PyObject** args, Py_ssize_t n, PyObject* names):
    cdef tuple positional = tuple([<object>args[i] for i in range(n)])
    cdef dict named = {}
    cdef Py_ssize_t i
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            named[<object>PyTuple_GET_ITEM(names, i)] = <object>args[n + i]
    return f.normalise(f, positional, named)


cdef int check_given(Direct f, Py_ssize_t n, PyObject* names) except -1:
    """Refuse a call without a required argument."""
    cdef tuple known = () if names == NULL else <tuple><object>names
    for name in f.required[n:]:
        if name not in known:
            raise TypeError(f"{f.function.__name__}() missing required argument {name!r}")
    return 0


cdef bint unhooked(object layer) except -1:
    """Return whether the tables of hooks of a layer are there and empty."""
    cdef object own = PyObject_GenericGetDict(layer, NULL)
    cdef PyObject* before = PyDict_GetItemWithError(own, "_forward_pre_hooks")
    cdef PyObject* after = PyDict_GetItemWithError(own, "_forward_post_hooks")
    return before != NULL and after != NULL and PyDict_GET_SIZE(before) == 0 and PyDict_GET_SIZE(after) == 0


cdef bint hooked_behind(object layer) except -1:
    """Return whether all hooks of a layer are behind its ``forward``, and none is called in another way."""
    cdef object own = PyObject_GenericGetDict(layer, NULL)
    cdef PyObject* before = PyDict_GetItemWithError(own, "_forward_pre_hooks")
    cdef PyObject* rare = PyDict_GetItemWithError(own, "_rare_hooks")
    return before != NULL and rare != NULL and PyDict_GET_SIZE(before) == 0 and <object>rare is False


cdef object with_hooks_behind(PyObject** args):
    """``forward`` of a layer and one input, and ``hook(layer, inputs, outputs)``, which may replace the outputs."""
    cdef object outputs = PyObject_VectorcallMethod("forward", args, 2, NULL), inputs = (<object>args[1],), result
    cdef PyObject* given[3]
    given[0], given[1] = args[0], <PyObject*>inputs
    for hook in <tuple?>(<object>args[0])._forward_post_hooks.order:
        given[2] = <PyObject*>outputs
        result = PyObject_Vectorcall(hook, given, 3, NULL)
        if result is not None:
            outputs = result
    return outputs


def in_order(layers not None, call, x):
    """``x`` through one layer after the other: as ``call`` would, where that is how they are called, without its frames."""
    for layer in PyDict_Values(layers):
        if <PyObject*>call == _PyType_Lookup(Py_TYPE(<PyObject*>layer), "__call__") and unhooked(layer):
            x = PyObject_CallMethodOneArg(layer, "forward", x)
        else:
            x = layer(x)
    return x


cdef object attempt(Direct f, PyObject** args, Py_ssize_t n, PyObject* names):
    """The result of a usual call; None for others."""
    cdef Operand[MOST] xs
    cdef int i
    cdef Tensor x
    if (<Tensor>args[0]).kind & ~<uint8_t>KIND_VIEW:
        return None
    if f.call_kind == OPERATOR:
        if n != 2 or names != NULL:
            return None
        if Py_TYPE(args[0]) == <PyTypeObject*>Tensor and Py_TYPE(args[1]) == <PyTypeObject*>Tensor:
            return tensor_slots().binary(f.binary, <object>args[0], <object>args[1])      # as the type's operator does
        value = umiak_operate(f.sign, <object>args[0], <object>args[1])
        return value if isinstance(value, Tensor) else None                                    # what `==` says of anything
    x = <Tensor>args[0]
    if f.call_kind == OPERANDS:
        if names != NULL or n < f.fewest or n > f.op.n_operands:
            return None
        if f.op.n_operands == 1:
            return call1(f.op, x)
        if n == 2 and f.op.n_operands == 2 and Py_TYPE(args[1]) == <PyTypeObject*>Tensor and not (<Tensor>args[1]).kind:
            return call2(f.op, x, <Tensor>args[1])
        for i in range(f.op.n_operands):
            if i >= n:
                parse_operand(None, &xs[i])
            elif parse_operand(<object>args[i], &xs[i]) or xs[i].t != NULL and (<Tensor>xs[i].t).kind & ~<uint8_t>KIND_VIEW:
                return None
        return dispatch(f.op, xs, f.op.n_operands, NULL, 0, 0, 0, NULL)
    if f.call_kind == INTS:
        return of_ints(f, x, args[1]) if n == 2 and names == NULL else None
    return along(f, x, args, n, names)


# ---- in-place forms --------------------------------------------------------------------------------------------------
def overwrite(function, Tensor x not None, tuple args, dict kwargs, differs=None):
    """Write ``function(x, *args, **kwargs)`` into ``x``, and return ``x``: see :func:`umiak.core.inplace.overwrite`.

    An op that works element by element, whose result no gradient wants, runs in the memory of ``x``.
    """
    if not kwargs and isinstance(function, Direct) and runs_in(<Direct>function, x, args):
        return x
    return overwrite_with_result(function, x, args, kwargs, differs)


cdef bint runs_in(Direct f, Tensor x, tuple args) except -1:
    """Run a function's op in the memory of ``x``. False, and nothing is done, where the call is another one or the result something else."""
    cdef EngineContext ctx = <EngineContext>context_pointer()
    cdef Operand[MOST] xs
    cdef PyObject* into[2]
    cdef OpBase op = f.op if f.call_kind == OPERANDS else operator_op(f.binary) if f.call_kind == OPERATOR and f.binary <= B_DIV else None
    cdef int i, n = len(args) + 1
    cdef Tensor t
    if op is None or not op.pointwise or n != op.n_operands or ctx.observers or ctx.plan_mode & AMP_MASK or \
            not is_in(FLOATING_IDS, x.key & K_DTYPE_MASK):
        return False
    for i in range(n):
        if parse_operand(x if i == 0 else args[i - 1], &xs[i]):
            return False
        if xs[i].t == NULL:
            if type(args[i - 1]) is not float and type(args[i - 1]) is not int:
                return False
            continue
        t = <Tensor>xs[i].t
        if t.kind & ~<uint8_t>KIND_VIEW or (t.key ^ x.key) & (K_DTYPE_MASK | K_PLACE_MASK << K_PLACE_SHIFT) or t.ndim != x.ndim or \
                memcmp(t.dims, x.dims, 8 * x.ndim) != 0 or t.key & K_NEEDS_GRAD and ctx.plan_mode & MODE_GRAD:
            return False
    if write_hazard(op, x, xs, n):
        return False
    into[0], into[1] = <PyObject*>x, NULL
    try:
        dispatch(op, xs, n, NULL, 0, 0, FLAG_INTO | FLAG_UNOBSERVED, into)
    except ValueError:                                   # of another dtype than x: the function says what becomes of it
        return False
    return True


cdef object of_ints(Direct f, Tensor x, PyObject* ints):
    cdef PyObject* op
    if PyList_Check(<object>ints):
        op = PyDict_GetItemWithError(f.table, PyList_AsTuple(<object>ints))
    elif PyTuple_CheckExact(ints):
        op = PyDict_GetItemWithError(f.table, <object>ints)
    else:
        return None
    return None if op == NULL else call1(<OpBase>op, x)


cdef object along(Direct f, Tensor x, PyObject** args, Py_ssize_t n, PyObject* names):
    cdef PyObject* axis = NULL
    cdef PyObject* op
    cdef int64_t key = f.axis
    cdef int overflow = 0
    if n == 2 and names == NULL:
        axis = args[1]
    elif n == 1 and names != NULL and PyTuple_GET_SIZE(names) == 1 and PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), "axis") == 0:
        axis = args[1]
    elif n != 1 or names != NULL:
        return None
    if f.call_kind == REDUCTION:
        key = reduction(x, None if axis == NULL else <object>axis, False)
        if key < 0:
            return None
    else:
        if axis != NULL:
            if not PyLong_CheckExact(axis):
                return None
            key = PyLong_AsLongLongAndOverflow(<object>axis, &overflow)
        if key < 0:
            key += x.ndim
        if overflow or not 0 <= key < x.ndim:
            return None
    if key != f.last:
        op = PyDict_GetItemWithError(f.table, key)       # skips __missing__
        if op == NULL:
            return None
        f.last = key
        f.last_op = op                                   # ops live for ever
    return call1(<OpBase>f.last_op, x)


cdef Direct _sample = Direct.__new__(Direct)
umiak_open_call(<PyTypeObject*>Direct, <char*>&_sample.vectorcall - <char*><PyObject*>_sample)


cdef Direct direct(function):
    return function if isinstance(function, Direct) else Direct(function)


def by_operator(function, str sign):
    """``function(x, y)`` by ``x + y``, or what else ``sign`` says."""
    cdef Direct f = direct(function)
    f.call_kind = OPERATOR
    f.sign = SIGNS.index(sign)
    f.binary = f.sign if f.sign < B_SHL else f.sign + B_LT - B_SHL          # there are no functions for shifts
    return f


def by_op(function, OpBase op not None, int fewest=-1):
    """``function(*operands)`` by an op without params, with at least ``fewest`` of its operands (all)."""
    cdef Direct f = direct(function)
    if op.n_params or op.variadic or op.n_operands > MOST:
        raise ValueError(f"[by_op] requires an op of 1 to {MOST} operands without params, got {op!r}")
    f.call_kind = OPERANDS
    f.op = op
    f.fewest = op.n_operands if fewest < 0 else fewest
    return f


def by_axis(function, table, int64_t axis):
    """``function(x, axis)`` by ``table[axis]``, an op of one operand; ``axis`` is what it is by default."""
    cdef Direct f = direct(function)
    f.call_kind = AXIS
    f.table = table
    f.axis = axis
    return f


def by_reduction(function, table):
    """``function(x, axis)`` by ``table[reduction_key(x, axis, False)]``, if it is there; over all axes without an axis."""
    cdef Direct f = direct(function)
    f.call_kind = REDUCTION
    f.table = table
    return f


def by_ints(function, dict table not None):
    """``function(x, ints)`` by ``table[tuple(ints)]``, an op of one operand, if it is there."""
    cdef Direct f = direct(function)
    f.call_kind = INTS
    f.table = table
    return f


def with_other_order(Direct f not None, frozenset keywords not None, Py_ssize_t at, tuple types not None):
    """Calls with one of these keywords, or with an instance of ``types`` at a position, are normalised, too."""
    f.keywords = f.keywords | keywords
    f.other_at = at
    f.other_types = types


def by_forward(function):
    """``function(layer, *inputs)`` by ``layer.forward(*inputs)``, where the layer has no hooks, or usual ones behind it."""
    cdef Direct f = Direct(function)
    f.call_kind = LAYER
    return f
