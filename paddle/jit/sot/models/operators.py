"""Models of operators: exact values are computed with, tensors recorded, methods in Python simulated."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.arrays import is_array, note, of_numbers, operate
from paddle.jit.sot.models.classes import class_attribute, special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import (
    VIEWS,
    has_in_c,
    holds_tensors,
    is_exact,
    is_plain_object,
    look_up,
    must_be_known,
)
from paddle.jit.sot.trace import MUTABLE, TensorMethod, symbolic_in
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.util.size import Size

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

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
_WHOLE = (operator.floordiv, operator.mod, operator.ifloordiv, operator.imod)


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
    if is_exact(x) and is_exact(y):
        if type(y) is Sym and function in _DIVISIONS and not isinstance(x, Tensor) and y == 0:
            sim.trace.steer(y)  # divided by zero
        numbers = type(x) in (Sym, int, float, bool) and type(y) in (Sym, int, float, bool)
        if numbers and function in _WHOLE and (symbolic := symbolic_in((x, y))) is not None:
            if any(type(v) is float or (type(v) is Sym and v.kind == "float") for v in (x, y)):
                sim.trace.steer(symbolic)  # which symbols have of integers alone
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
        if function.__name__ in _COMPARE:
            look_up(sim, x, y)
        if (
            type(x) in (tuple, list)
            and type(y) in (tuple, list, Size)
            and function in (operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge)
        ):
            if holds_tensors(x) or holds_tensors(y):
                return sim.break_graph("containers of tensors are compared")
        return function(x, y)
    if isinstance(x, np.dtype) and isinstance(y, (np.dtype, type, str)):
        return function(x, y)
    if is_array(sim, x) or is_array(sim, y):
        other = y if is_array(sim, x) else x
        made = sim.leaf(function, (x, y), {}) if isinstance(other, Tensor) else operate(sim, function, x, y)
        if made is not NotImplemented:
            return made
    if type(x) is type(y) is TensorMethod and function in (operator.eq, operator.ne):
        return (x.name == y.name and sim.identical(x.tensor, y.tensor)) == (function is operator.eq)
    right = _asked(sim, y, reflected)
    if right is not None and type(y) is not type(x) and isinstance(y, type(x)):
        methods, x, y, reflected = (reflected,), y, x, methods[-1]
    for name in methods:
        f = _asked(sim, x, name)
        if f is not None:
            result = f(y)
            if result is not NotImplemented:
                return result
    f = _asked(sim, y, reflected)
    if f is not None and (type(x) is not type(y) or reflected in ("__eq__", "__ne__")):
        result = f(x)
        if result is not NotImplemented:
            return result
    if function in (operator.eq, operator.ne) and not (has_in_c(x, reflected) or has_in_c(y, reflected)):
        return (x is y) == (function is operator.eq)
    if is_plain_object(x) and is_plain_object(y):
        for v in (x, y):
            if isinstance(v, VIEWS):
                must_be_known(sim, v, function.__name__)
        return function(x, y)
    if function not in (operator.eq, operator.ne) and any(special(v, m) for v in (x, y) for m in (*methods, reflected)):
        raise TypeError(
            f"unsupported operand type(s) for {function.__name__}: {type(x).__name__!r} and {type(y).__name__!r}"
        )
    return sim.break_graph(f"{function.__name__} of {type(x).__name__} and {type(y).__name__}")


def _asked(sim: Simulator, x: Any, name: str) -> Callable[[Any], Any] | None:
    """Return a special method that is written in Python; ``object.__ne__`` denies what ``__eq__`` says."""
    f = special(x, name)
    if f is not None or name != "__ne__" or class_attribute(type(x), name)[1] is not object:
        return None if f is None else lambda y: sim.call(f, (x, y), {})
    equal = special(x, "__eq__")

    def unequal(y: Any) -> Any:
        result = sim.call(equal, (x, y), {})
        return result if result is NotImplemented else not sim.call(bool, (result,), {})

    return None if equal is None else unequal


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
        if is_array(sim, x):
            return note(sim, of_numbers(sim, function, x))
        return function(x) if is_exact(x) else sim.break_graph(f"{function.__name__} of {type(x).__name__}")


for _function, _method in (
    (operator.neg, "__neg__"),
    (operator.pos, "__pos__"),
    (operator.invert, "__invert__"),
    (abs, "__abs__"),
):
    _register_unary(_function, _method)
