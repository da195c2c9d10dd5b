"""Models of built-in functions, operators and types: what each does with simulated values."""

from __future__ import annotations

import builtins
import collections
import datetime
import enum
import functools
import inspect
import itertools
import operator
import sys
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.framework.grad_mode import _Mode, set_grad_enabled
from paddle.jit.sot import psdb
from paddle.jit.sot.breakpoints import BM
from paddle.jit.sot.control import Control
from paddle.jit.sot.flow_instructions import enter, match_class
from paddle.jit.sot.iterators import (
    EnumerateIterator,
    FilterIterator,
    MapIterator,
    RangeIterator,
    SequenceIterator,
    ZipIterator,
)
from paddle.jit.sot.sources import fixed
from paddle.jit.sot.trace import MUTABLE, TABLES, Policy, Trace, symbolic_in
from paddle.jit.sot.translation import is_library
from paddle.jit.sot.value_instructions import formatted
from paddle.nn.layer.layers import Layer
from umiak.core.context import current
from umiak.core.direct import in_order
from umiak.core.tensor import Tensor
from umiak.ir import sym
from umiak.ir.expr import Sym
from umiak.ir.tracer import SymTensor
from umiak.util.size import Size

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

NOTHING = object()  # no such attribute
DELETED = type("Deleted", (), {"__repr__": lambda self: "<deleted>"})()
_MODELS: dict[int, Callable[..., Any]] = {}
_HELD: list[Any] = []  # so that ids stay those of these objects

PURE_TYPES = frozenset(
    (
        slice, range, frozenset, complex, bytes, bytearray, object, collections.deque, collections.OrderedDict,
        collections.defaultdict, collections.Counter, collections.ChainMap, property, staticmethod, classmethod,
        functools.partial, functools.cmp_to_key, itertools.chain, itertools.count, itertools.cycle, itertools.repeat,
        itertools.product, itertools.combinations, itertools.permutations, itertools.islice, itertools.accumulate,
        itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.zip_longest, itertools.groupby,
        itertools.compress, operator.itemgetter, operator.attrgetter, operator.methodcaller, datetime.timedelta,
        memoryview,
        *((itertools.pairwise,) if sys.version_info >= (3, 10) else ()),
    )
)  # fmt: skip
PURE_MODULES = frozenset(("math", "cmath", "_operator", "operator", "itertools", "_functools", "_collections"))
PURE = frozenset(
    (
        abs, all, any, ascii, bin, callable, chr, divmod, format, hex, isinstance, issubclass, max, min, oct, ord, pow,
        repr, round, sorted, sum, hash,
    )
)  # fmt: skip
# Functions that may be given symbolic numbers, of which they make others, or conditions that become guards.
SYMBOLIC = frozenset((abs, max, min, pow, sum, any, all, divmod, callable))
OF_FRAMES = frozenset(
    (exec, eval, locals, globals, vars, dir, breakpoint, sys._getframe, compile)
)  # fmt: skip
EXACT = (int, float, bool, complex, str, bytes, type(None), tuple, list, dict, set, frozenset, range, slice, *MUTABLE)
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor",
)  # fmt: skip
_BITS = (
    operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor,
    operator.ilshift, operator.irshift, operator.iand, operator.ior, operator.ixor,
)  # fmt: skip
_COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")
_REFLECTED = {"lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "gt": "lt", "ge": "le"}


_DIVISIONS = (
    operator.truediv, operator.floordiv, operator.mod, operator.itruediv, operator.ifloordiv, operator.imod,
)  # fmt: skip


def find(f: Any) -> Callable[..., Any] | None:
    """Return the model of a function, or None."""
    return _MODELS.get(id(f))


def model(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions do. A model gets the simulator and the arguments."""

    def register(m: Callable[..., Any]) -> Callable[..., Any]:
        for f in functions:
            _MODELS[id(f)] = m
            _HELD.append(f)
        return m

    return register


def class_attribute(kind: type, name: str) -> tuple[Any, Any]:
    """Return an entry of a class or its bases, as it stands there, and the class that has it."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name], base
    return NOTHING, None


def bound(descriptor: Any, x: Any) -> Any:
    """Return a function of a class as the method of an object."""
    return descriptor.__get__(x, type(x)) if hasattr(descriptor, "__get__") else descriptor


def is_enum(x: Any) -> bool:
    """Return whether ``x`` is a class of enumeration members."""
    return isinstance(x, enum.EnumMeta)


def is_iterator(x: Any) -> bool:
    """Return whether ``x`` is an iterator."""
    return hasattr(type(x), "__next__")


def special(x: Any, name: str) -> Any:
    """Return a special method that is written in Python; None for others."""
    found, owner = class_attribute(type(x), name)
    return found if type(found) is FunctionType and not (isinstance(x, Tensor) or owner is object) else None


# --- operators


def _operator(name: str) -> None:
    function = getattr(operator, name)
    method = f"__{name.strip('_')}__"
    reflected = f"__{_REFLECTED[name]}__" if name in _REFLECTED else f"__r{name.strip('_')}__"

    def binary(sim: Simulator, x: Any, y: Any) -> Any:
        return _binary(sim, function, x, y, (method,), reflected)

    model(function)(binary)
    if name in _COMPARE:
        return
    inplace = getattr(operator, "i" + name.strip("_"))

    def in_place(sim: Simulator, x: Any, y: Any) -> Any:
        return _binary(sim, inplace, x, y, (f"__i{name.strip('_')}__", method), reflected)

    model(inplace)(in_place)


def _binary(
    sim: Simulator, function: Callable[..., Any], x: Any, y: Any, methods: tuple[str, ...], reflected: str
) -> Any:
    if _is_exact(x) and _is_exact(y):
        if type(y) is Sym and function in _DIVISIONS and not isinstance(x, Tensor) and y == 0:
            sim.trace.steer(y)  # divided by zero
        if type(x) is str and function is operator.mod:
            if isinstance(y, Tensor) or (type(y) is tuple and any(isinstance(v, Tensor) for v in y)):
                return sim.break_graph("a text is made of a tensor")
            if (symbolic := symbolic_in((y,))) is not None:
                sim.trace.steer(symbolic)
        if function in _BITS and (symbolic := symbolic_in((x, y))) is not None:
            sim.trace.steer(symbolic)
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            if type(x) in (list, tuple, dict, set) or type(y) in (list, tuple, dict, set):
                return (
                    sim.leaf(function, (x, y), {})
                    if function in (operator.add, operator.mul)
                    else sim.break_graph(f"{function.__name__} of a tensor and a container")
                )
            return sim.leaf(function, (x, y), {})
        if type(x) in (dict, set, *MUTABLE) and holds_tensors(x) and function in (operator.eq, operator.ne):
            return sim.break_graph("containers of tensors are compared")
        if (
            type(x) in (tuple, list)
            and type(y) in (tuple, list, Size)
            and function in (operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge)
        ):
            if holds_tensors(x) or holds_tensors(y):
                return sim.break_graph("containers of tensors are compared")
        return function(x, y)
    right = special(y, reflected)
    if right is not None and type(y) is not type(x) and isinstance(y, type(x)):
        methods, x, y, reflected = (reflected,), y, x, methods[-1]
    for name in methods:
        f = special(x, name)
        if f is not None:
            result = sim.call(f, (x, y), {})
            if result is not NotImplemented:
                return result
    f = special(y, reflected)
    if f is not None and (type(x) is not type(y) or reflected in ("__eq__", "__ne__")):
        result = sim.call(f, (y, x), {})
        if result is not NotImplemented:
            return result
    if function is operator.ne:
        f = special(x, "__eq__")
        if f is not None:
            result = sim.call(f, (x, y), {})
            if result is not NotImplemented:
                return not sim.call(bool, (result,), {})
    if function in (operator.eq, operator.ne) and not (_has_c_eq(x) or _has_c_eq(y)):
        return (x is y) == (function is operator.eq)
    if _is_plain_object(x) and _is_plain_object(y):
        return function(x, y)
    if any(special(v, m) for v in (x, y) for m in (*methods, reflected)):
        raise TypeError(
            f"unsupported operand type(s) for {function.__name__}: {type(x).__name__!r} and {type(y).__name__!r}"
        )
    return sim.break_graph(f"{function.__name__} of {type(x).__name__} and {type(y).__name__}")


def _is_exact(x: Any) -> bool:
    kind = type(x)
    return (
        kind in EXACT
        or kind is Sym
        or isinstance(x, (Tensor, np.generic, enum.Enum, type))
        or (isinstance(x, tuple) and special(x, "__eq__") is None)
    )


def _has_c_eq(x: Any) -> bool:
    """Return whether equality of an object is other than identity, by a function in C."""
    found, owner = class_attribute(type(x), "__eq__")
    return owner is not object and type(found) is not FunctionType


def _is_plain_object(x: Any) -> bool:
    """Return whether operators of the object have no effect and depend on nothing that changes."""
    return (
        _is_exact(x)
        or is_library(type(x).__module__)
        or isinstance(x, (datetime.timedelta, type({}.keys()), type({}.items()), ModuleType, FunctionType))
    )


def holds_tensors(x: Any) -> bool:
    values = x.values() if isinstance(x, dict) else x
    return any(isinstance(v, Tensor) or (type(v) in (list, tuple, dict) and holds_tensors(v)) for v in values)


for _name in (*_BINARY, *_COMPARE):
    _operator(_name)


def _register_unary(function: Callable[..., Any], method: str) -> None:
    @model(function)
    def unary(sim: Simulator, x: Any) -> Any:
        f = special(x, method)
        if f is not None:
            return sim.call(f, (x,), {}, direct=True)
        if isinstance(x, Tensor):
            return sim.leaf(function, (x,), {})
        return function(x) if _is_exact(x) else sim.break_graph(f"{function.__name__} of {type(x).__name__}")


for _function, _method in (
    (operator.neg, "__neg__"),
    (operator.pos, "__pos__"),
    (operator.invert, "__invert__"),
    (abs, "__abs__"),
):
    _register_unary(_function, _method)


@model(operator.contains)
def _contains(sim: Simulator, container: Any, x: Any) -> Any:
    f = special(container, "__contains__")
    if f is not None:
        return sim.call(bool, (sim.call(f, (container, x), {}),), {})
    if isinstance(container, Tensor):
        return sim.break_graph("in of a tensor")
    must_be_known(sim, container, "in")
    if isinstance(container, (dict, set, frozenset)):
        return sim.trace.number_of(x) in container
    if type(container) in EXACT or isinstance(
        container, (tuple, type({}.keys()), type({}.values()), type({}.items()), enum.EnumMeta)
    ):
        if isinstance(x, Tensor) or (
            not isinstance(container, (str, bytes, range, enum.EnumMeta)) and holds_tensors(container)
        ):
            return sim.break_graph("in compares tensors")
        return x in container
    if special(container, "__iter__") or is_iterator(container):
        return any(_equal(sim, v, x) for v in sim.call(iter, (container,), {}))
    return sim.break_graph(f"in of {type(container).__name__}")


def _equal(sim: Simulator, x: Any, y: Any) -> bool:
    return x is y or bool(sim.call(bool, (sim.call(operator.eq, (x, y), {}),), {}))


@model(operator.getitem)
def _getitem(sim: Simulator, x: Any, key: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(operator.getitem, (x, key), {})
    f = special(x, "__getitem__")
    if f is not None:
        return sim.call(f, (x, key), {}, direct=True)
    kind = type(x)
    if isinstance(x, type):
        maker, _ = class_attribute(x, "__class_getitem__")
        return sim.break_graph("a class is subscripted") if isinstance(maker, classmethod) else x[key]  # type: ignore[index]
    if isinstance(x, (dict, *TABLES)):
        key = sim.trace.number_of(key)
        missing = special(x, "__missing__")
        if missing is not None and key not in x:
            return sim.call(missing, (x, key), {}, direct=True)
        if isinstance(x, collections.defaultdict) and key not in x and x.default_factory is not None:
            value = x[key] = sim.call(x.default_factory, (), {})
            return value
        return x[key]
    if kind in EXACT or isinstance(x, tuple):
        if isinstance(key, Tensor):
            return sim.break_graph("a tensor is the index of a container")
        if (symbolic := symbolic_in((key,))) is not None:
            sim.trace.steer(symbolic)
        return x[key]
    return sim.break_graph(f"an element of {kind.__name__}")


@model(tuple.__new__)
def _new_tuple(sim: Simulator, kind: type, items: Any = ()) -> Any:
    return tuple.__new__(kind, tuple(sim.call(iter, (items,), {})))


@model(MethodType)
def _bound_method(sim: Simulator, function: Any, owner: Any) -> Any:
    return MethodType(function, owner)


@model(operator.setitem)
def _setitem(sim: Simulator, x: Any, key: Any, value: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(operator.setitem, (x, key, value), {})
    f = special(x, "__setitem__")
    if f is not None:
        return sim.call(f, (x, key, value), {}, direct=True)
    if type(x) in MUTABLE:
        if isinstance(key, Tensor):
            return sim.break_graph("a tensor is the index of a container")
        if (symbolic := symbolic_in((key,))) is not None:
            sim.trace.steer(symbolic)
        x[key] = value
        return None
    if type(x) in (tuple, str, int, range):
        x[key] = value  # which is refused
    return sim.break_graph(f"an element of {type(x).__name__} is set")


@model(operator.delitem)
def _delitem(sim: Simulator, x: Any, key: Any) -> Any:
    f = special(x, "__delitem__")
    if f is not None:
        return sim.call(f, (x, key), {}, direct=True)
    if type(x) not in MUTABLE:
        return sim.break_graph(f"an element of {type(x).__name__} is deleted")
    if (symbolic := symbolic_in((key,))) is not None:
        sim.trace.steer(symbolic)
    del x[key]
    return None


# --- truth, length, kinds


@model(bool)
def _bool(sim: Simulator, *args: Any) -> bool:
    if not args:
        return False
    (x,) = args
    if isinstance(x, Tensor):
        return sim.break_graph("a branch depends on the data of a tensor")
    for name in ("__bool__", "__len__"):
        f = special(x, name)
        if f is not None:
            return bool(sim.call(f, (x,), {}))
    if isinstance(x, np.ndarray):
        return sim.break_graph("a branch depends on the data of an array")
    if any(class_attribute(type(x), name)[0] is not NOTHING for name in ("__bool__", "__len__")):
        must_be_known(sim, x, "the truth")
    return bool(x)


@model(operator.not_)
def _not(sim: Simulator, x: Any) -> bool:
    return not _bool(sim, x)


@model(operator.truth)
def _truth(sim: Simulator, x: Any) -> bool:
    return _bool(sim, x)


def must_be_known(sim: Simulator, x: Any, what: str) -> None:
    """Break the graph at a look into an object in C from outside, whose contents no guard compares."""
    outside = id(x) in sim.trace.sources and id(x) not in sim.trace.shadow_of
    if outside and not (isinstance(x, (Tensor, Layer, type, *TABLES)) or type(x) in EXACT or type(x) in _KINDS):
        if not (isinstance(x, tuple) or is_enum(x)):
            sim.break_graph(f"{what} of {type(x).__name__}")


@model(len)
def _len(sim: Simulator, x: Any) -> Any:
    if isinstance(x, SymTensor) and x.ndim:
        return x.shape[0]
    f = special(x, "__len__")
    if f is not None:
        return sim.call(f, (x,), {}, direct=True)
    if isinstance(x, np.ndarray):
        return sim.break_graph("the length of an array")
    must_be_known(sim, x, "the length")
    return len(x)


def kind_of(x: Any) -> type:
    """Return the type that a value has for the user's code."""
    if type(x) is Sym:
        return {"int": int, "float": float, "bool": bool}[x.kind]
    if isinstance(x, SymTensor):
        return Tensor
    if type(x) in _KINDS:
        return _KINDS[type(x)]
    return type(x)


_KINDS: dict[type, type] = {
    SequenceIterator: type(iter([])),
    RangeIterator: type(iter(range(0))),
    EnumerateIterator: enumerate,
    ZipIterator: zip,
    MapIterator: map,
    FilterIterator: filter,
}


@model(type)
def _type(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    return kind_of(args[0]) if len(args) == 1 else sim.break_graph("a class is made")


@model(isinstance)
def _isinstance(sim: Simulator, x: Any, kinds: Any) -> bool:
    if type(x) is Sym:
        return issubclass(kind_of(x), kinds)
    return isinstance(x, kinds) or (type(x) in _KINDS and issubclass(_KINDS[type(x)], kinds))


@model(issubclass)
def _issubclass(sim: Simulator, x: Any, kinds: Any) -> bool:
    return issubclass(x, kinds)


@model(int)
def _int(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    if args and type(args[0]) is Sym and args[0].kind == "int":
        return args[0]
    return _number(sim, int, args, kwargs)


@model(float)
def _float(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    if args and type(args[0]) is Sym and args[0].kind != "bool":
        return args[0] if args[0].kind == "float" else sym.to_float(args[0])
    return _number(sim, float, args, kwargs)


def _number(sim: Simulator, kind: type, args: tuple, kwargs: dict[str, Any]) -> Any:
    x = args[0] if args else None
    if isinstance(x, (Tensor, np.ndarray)):
        return sim.break_graph(f"{kind.__name__}() of a tensor")
    for name in (f"__{kind.__name__}__", "__index__"):
        f = special(x, name)
        if f is not None:
            return sim.call(f, (x,), {}, direct=True)
    if (symbolic := symbolic_in(args)) is not None:
        sim.trace.steer(symbolic)
    return kind(*args, **kwargs)


@model(complex)
def _complex(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    return _number(sim, complex, args, kwargs)


def _text(kind: Callable[..., str]) -> None:
    @model(kind)
    def text(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        if not args:
            return ""
        x = args[0]
        if (symbolic := symbolic_in(args)) is not None:
            sim.trace.steer(symbolic)
        for name in ("__str__", "__repr__") if kind is str else ("__repr__",):
            f = special(x, name)
            if f is not None and not is_library(type(x).__module__):
                return sim.call(f, (x,), {}, direct=True)
        if _has_plain_text(x):
            return kind(*args, **kwargs)
        return sim.break_graph(f"a text is made of {type(x).__name__}")


def _has_plain_text(x: Any) -> bool:
    if isinstance(x, (list, tuple, set, frozenset, collections.deque)):
        return all(map(_has_plain_text, x))
    if isinstance(x, dict):
        return all(map(_has_plain_text, x)) and all(map(_has_plain_text, x.values()))
    return (
        type(x) in EXACT
        or isinstance(x, (np.generic, enum.Enum, type, BaseException))
        or is_library(type(x).__module__)
    ) and not isinstance(x, (Tensor, Layer))


for _kind in (str, repr, ascii):
    _text(_kind)


@model(formatted)
def _formatted(sim: Simulator, x: Any, conversion: Any, spec: str) -> Any:
    if conversion is not None:
        return format(sim.call(conversion, (x,), {}), spec)
    return _format(sim, x, spec)


@model(format)
def _format(sim: Simulator, x: Any, spec: str = "") -> Any:
    if type(x) is Sym:
        sim.trace.steer(x)
    f = special(x, "__format__")
    if f is not None:
        return sim.call(f, (x, spec), {}, direct=True)
    if not spec:
        return sim.call(str, (x,), {})
    return format(x, spec) if _has_plain_text(x) else sim.break_graph(f"a text is made of {type(x).__name__}")


@model(hash)
def _hash(sim: Simulator, x: Any) -> Any:
    return hash(x) if type(x) in (int, float, str, bool, type(None)) else sim.break_graph("hash()")


@model(round)
def _round(sim: Simulator, x: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(round, (x, *args), kwargs)
    if (symbolic := symbolic_in((x, *args))) is not None:
        sim.trace.steer(symbolic)
    return round(x, *args, **kwargs)


@model(pow)
def _pow(sim: Simulator, x: Any, y: Any, mod: Any = None) -> Any:
    return (
        sim.call(operator.pow, (x, y), {})
        if mod is None
        else pow(sim.trace.number_of(x), sim.trace.number_of(y), sim.trace.number_of(mod))
    )


@model(divmod)
def _divmod(sim: Simulator, x: Any, y: Any) -> Any:
    return sim.call(operator.floordiv, (x, y), {}), sim.call(operator.mod, (x, y), {})


def _extremum(function: Callable[..., Any]) -> None:
    @model(function)
    def extremum(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        items = list(sim.call(iter, (args[0],), {})) if len(args) == 1 else list(args)
        if any(isinstance(x, Tensor) for x in items) and "key" not in kwargs:
            return sim.break_graph(f"{function.__name__}() compares tensors")
        return sim.pure(function, (items,), kwargs)


_extremum(min)
_extremum(max)


@model(sum)
def _sum(sim: Simulator, items: Any, start: Any = 0) -> Any:
    total = start
    for x in sim.call(iter, (items,), {}):
        total = sim.call(operator.add, (total, x), {})
    return total


@model(any)
def _any(sim: Simulator, items: Any) -> bool:
    return any(sim.call(bool, (x,), {}) for x in sim.call(iter, (items,), {}))


@model(all)
def _all(sim: Simulator, items: Any) -> bool:
    return all(sim.call(bool, (x,), {}) for x in sim.call(iter, (items,), {}))


# --- attributes


@model(getattr)
def get_attribute(sim: Simulator, x: Any, name: Any, *default: Any) -> Any:
    """Return an attribute."""
    if not isinstance(name, str):
        return getattr(x, name)
    if not default:
        return sim.attribute(x, name)
    try:
        return sim.attribute(x, name)
    except AttributeError:
        return default[0]


@model(hasattr)
def _hasattr(sim: Simulator, x: Any, name: str) -> bool:
    try:
        sim.attribute(x, name)
    except AttributeError:
        return False
    return True


@model(setattr)
def _setattr(sim: Simulator, x: Any, name: str, value: Any) -> Any:
    kind = type(x)
    if isinstance(x, Tensor):
        changes_flag = name == "stop_gradient" and bool(value) != x.stop_gradient
        kept = not changes_flag or ((value or sim.trace.policy.full_graph) and not sim.trace.input_of(x))
        if isinstance(x, SymTensor) and kept and changes_flag and value and x._base is None:
            sim.leaf(x.detach_, (), {})  # what was computed of it before has its history
            return None
        if isinstance(x, SymTensor) and kept and changes_flag and not value:
            sim.leaf(setattr, (x, name, value), {})
            x.retain_grads()  # which is what a leaf does
            return None
        if (isinstance(x, SymTensor) and kept) or name == "grad":
            return sim.leaf(setattr, (x, name, value), {})
        return sim.break_graph(f"the attribute {name} of a tensor is set")
    if isinstance(x, (ModuleType, type)):
        return sim.break_graph(f"an attribute of {x.__name__} is set")
    if isinstance(x, Layer):
        if isinstance(value, (Layer,)) or name in ("_parameters", "_buffers", "_sub_layers"):
            return sim.break_graph(f"{kind.__name__}.{name} is set")
        if name in x._parameters or name in x._sub_layers:
            return sim.break_graph(f"{kind.__name__}.{name} is set")
        setter, owner = class_attribute(kind, "__setattr__")
        if owner is not Layer:
            return sim.call(setter, (x, name, value), {}, direct=True)
        return write_attribute(sim, x, name, value, False)
    setter, owner = class_attribute(kind, "__setattr__")
    if type(setter) is FunctionType:
        return sim.call(setter, (x, name, value), {}, direct=True)
    return write_attribute(sim, x, name, value)


def write_attribute(sim: Simulator, x: Any, name: str, value: Any, plainly: bool = True) -> Any:
    """Set an attribute as ``object.__setattr__`` does; ``plainly``: so, later, too."""
    found, _ = class_attribute(type(x), name)
    if type(found) is property:
        if found.fset is None:
            raise AttributeError(f"property {name!r} of {type(x).__name__!r} object has no setter")
        return sim.call(found.fset, (x, value), {}, direct=True)
    if found is not NOTHING and hasattr(type(found), "__set__"):
        setter = special(found, "__set__")
        if setter is not None:
            return sim.call(setter, (found, x, value), {}, direct=True)
        if not sim.trace.is_fresh(x) and (type(found) is not MemberDescriptorType or is_library(type(x).__module__)):
            return sim.break_graph(f"{type(x).__name__}.{name} is set")
    if sim.trace.is_fresh(x):
        return object.__setattr__(x, name, value)
    if not hasattr(x, "__dict__") and type(found) is not MemberDescriptorType:
        return sim.break_graph(f"{type(x).__name__}.{name} is set")
    sim.trace.attributes[id(x), name] = x, value, plainly
    if id(x) not in sim.trace.sources:
        sim.trace._know(x, fixed(x))
    return None


@model(delattr)
def remove_attribute(sim: Simulator, x: Any, name: str) -> Any:
    """Remove an attribute."""
    if isinstance(x, (Tensor, ModuleType, type, Layer)) or special(x, "__delattr__"):
        return sim.break_graph(f"an attribute of {type(x).__name__} is deleted")
    if sim.trace.is_fresh(x):
        return object.__delattr__(x, name)
    sim.attribute(x, name)
    sim.trace.attributes[id(x), name] = x, DELETED, True
    return None


@model(enter)
def _enter(sim: Simulator, x: Any) -> Any:
    return sim.call(sim.special(x, "__enter__"), (), {}, direct=True)


@model(_Mode.__enter__)
def _enter_mode(sim: Simulator, mode: _Mode) -> None:
    ctx = current()
    sim.forced(sim.attribute(mode, "_saved")).append(ctx.grad_enabled)
    ctx.grad_enabled = sim.attribute(mode, "mode")


@model(set_grad_enabled.__enter__)
def _enter_set_mode(sim: Simulator, mode: set_grad_enabled) -> None:
    sim.forced(sim.attribute(mode, "_saved")).append(sim.attribute(mode, "_before"))
    current().grad_enabled = sim.attribute(mode, "mode")


@model(_Mode.__exit__)
def _leave_mode(sim: Simulator, mode: _Mode, *error: Any) -> None:
    current().grad_enabled = sim.forced(sim.attribute(mode, "_saved")).pop()


@model(Layer.train)
def _train(sim: Simulator, layer: Layer, mode: Any = True) -> Layer:
    if sim.attribute(layer, "training") is not mode:
        write_attribute(sim, layer, "training", mode, False)
    for inner in sim.attribute(layer, "_sub_layers").values():
        if inner is not None:
            _train(sim, inner, mode)
    return layer


@model(match_class)
def _match_class(sim: Simulator, x: Any, kind: Any, positional: int, names: tuple[str, ...]) -> Any:
    if not sim.call(isinstance, (x, kind), {}):
        return None
    wanted = [*(kind.__match_args__[:positional] if positional and hasattr(kind, "__match_args__") else ()), *names]
    if positional and not hasattr(kind, "__match_args__"):
        return (x, *(sim.forced(sim.attribute(x, n)) for n in names))
    try:
        return tuple(sim.forced(sim.attribute(x, n)) for n in wanted)
    except AttributeError:
        return None


@model(in_order)
def _in_order(sim: Simulator, layers: dict, call: Any, x: Any) -> Any:
    for layer in layers.values():
        x = sim.call(layer, (x,), {})
    return x


@model(super)
def _super(sim: Simulator, *args: Any) -> Any:
    if args:
        return super(*args)
    frame = sim.frames[-1]
    code = frame.code
    if "__class__" not in frame.cells or not code.co_argcount:
        raise RuntimeError("super(): no arguments")
    first = code.co_varnames[0]
    owner = sim.trace.contents(frame.cells[first], first) if first in frame.cells else frame.variable(first)
    return super(sim.trace.contents(frame.cells["__class__"], "__class__"), owner)


@model(builtins.__import__)
def _import(
    sim: Simulator, name: str, space: Any = None, variables: Any = None, names: Any = (), level: int = 0
) -> Any:
    package = space.get("__package__") if space else None
    full = (
        name
        if not level
        else f"{'.'.join((package or '').split('.')[: len((package or '').split('.')) - level + 1])}.{name}".rstrip(".")
    )
    if full not in sys.modules:
        return sim.break_graph(f"the module {name} is imported")
    return __import__(name, space, variables, names or (), level)


@model(inspect.currentframe)
def _currentframe(sim: Simulator) -> Any:
    return sim._needs_real_frame(inspect.currentframe)


@model(callable)
def _callable(sim: Simulator, x: Any) -> bool:
    return callable(x)


@model(id)
def _id(sim: Simulator, x: Any) -> Any:
    return sim.break_graph("id() of an object")


def effects_of(sim: Simulator, f: Callable[..., Any], like: list[Any], by_simulator: bool = False) -> str | None:
    """Say what ``f(*like)`` does beyond computing with tensors; None for nothing.

    It is simulated in a trace of its own, which is thrown away, or, ``by_simulator``, does so itself:
    ``f(simulator, *like)``.
    """
    trace = Trace(Policy(), "probe")
    inner = type(sim)(trace)
    with trace.capture:
        given = [trace.like(x) if isinstance(x, Tensor) else x for x in like]
        try:
            f(inner, *given) if by_simulator else inner.call(f, tuple(given), {})
        except Control as stop:
            reasons = list(trace.policy.breaks.values())
            return f"cannot be captured: {reasons[0] if reasons else stop}"
        except Exception as error:
            return f"raises {type(error).__name__}"
    appended = any(values for _, values in trace.appended.values())
    if appended or trace.attributes or trace.cells or trace.globals or any(s.changed() for s in trace.shadows.values()):
        return "changes Python state"
    return None


@model(psdb.assert_true)
def _assert_true(sim: Simulator, input: Any) -> None:
    psdb.assert_true(bool(sim.call(bool, (input,), {})))


@model(psdb.breakgraph)
def _breakgraph(sim: Simulator) -> None:
    sim.break_graph("psdb.breakgraph() asks for it")


@model(psdb.fallback)
def _fallback(sim: Simulator, recursive: bool = False) -> None:
    sim._needs_real_frame(psdb.fallback)


@model(psdb.breakpoint)
def _breakpoint(sim: Simulator) -> None:
    BM.stop(sim.frames)


@model(psdb.in_sot)
def _in_sot(sim: Simulator) -> bool:
    return True


@model(psdb.print)
def _print(sim: Simulator, *args: Any, **kwargs: Any) -> None:
    print(*args, **kwargs)
