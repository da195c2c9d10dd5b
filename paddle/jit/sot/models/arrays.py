"""NumPy's arrays that a frame makes of numbers: constants of its graph, or of symbols where the numbers are.

Arrays from outside end the graph, as their elements may differ from call to call.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.table import model
from paddle.jit.sot.trace import symbolic_in
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray, computes, holds_symbols
from umiak.util.size import Size

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator

_DIVISIONS = (operator.truediv, operator.floordiv, operator.mod, operator.itruediv, operator.ifloordiv, operator.imod)
MOST = 1 << 16  # elements of a constant
_WRITES = frozenset((
    "sort", "fill", "resize", "put", "partition", "itemset", "setfield", "setflags", "byteswap", "tofile", "dump",
))  # fmt: skip
# Beside the functions that symbols have a form of (``size_array``).
_MAKERS: tuple[Any, ...] = (
    np.zeros, np.ones, np.full, np.arange, np.linspace, np.eye, np.zeros_like, np.ones_like, np.full_like, np.argmax,
    np.argmin, np.argsort, np.sort, np.std, np.var, np.median, np.triu, np.tril, np.hanning, np.hamming, np.blackman,
)  # fmt: skip


@model(np.size)
def _size(sim: Simulator, x: Any, axis: Any = None) -> Any:
    if isinstance(x, Tensor):
        return sim.call(math.prod, (tuple(x.shape),), {}) if axis is None else x.shape[axis]
    return sim.foreign(np.size, (x, axis), {})


@model(np.shape)
def _shape(sim: Simulator, x: Any) -> Any:
    return tuple(x.shape) if isinstance(x, Tensor) else sim.foreign(np.shape, (x,), {})


@model(np.ndim)
def _ndim(sim: Simulator, x: Any) -> Any:
    return x.ndim if isinstance(x, Tensor) else sim.foreign(np.ndim, (x,), {})


def is_array(sim: Simulator, x: Any) -> bool:
    """Return whether a value is an array that the frame has made."""
    return isinstance(x, np.ndarray) and sim.trace.is_fresh(x)


def may_call(sim: Simulator, f: Any, values: tuple) -> bool:
    """Return whether a function of NumPy computes with nothing but numbers and such arrays."""
    known = isinstance(f, np.ufunc) or computes(f) is not None or any(f is maker for maker in _MAKERS)
    return known and all(_is_constant(sim, x) for x in values)


def call(sim: Simulator, f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return what such a call gives; NotImplemented where the numbers have to be known for it."""
    if not holds_symbols((*args, *kwargs.values())):
        return note(sim, f(*args, **kwargs))
    computed = computes(f)
    if computed is None:
        return NotImplemented
    try:
        return note(sim, computed(*args, **kwargs))
    except TypeError:
        return NotImplemented


def note(sim: Simulator, x: Any) -> Any:
    """Note the arrays of a result as the frame's own."""
    if isinstance(x, np.ndarray):
        if x.size > MOST or (x.dtype == object and not isinstance(x, SizeArray)):
            sim.break_graph("an array of many elements, or of objects, is made")
        sim.trace.made(x)
    elif type(x) in (list, tuple):
        for item in x:
            note(sim, item)
    return x


def operate(sim: Simulator, function: Any, x: Any, y: Any) -> Any:
    """Return what an operator on such arrays, or on one and a number or a tensor, gives; otherwise NotImplemented."""
    writes = function.__name__.startswith("i")
    if writes and (sim.trace.capture.frames or (holds_symbols((y,)) and not isinstance(x, SizeArray))):
        return NotImplemented
    if not all(_is_constant(sim, v) for v in (x, y)):
        return NotImplemented
    if function in _DIVISIONS:
        for divisor in np.asarray(y).flat if isinstance(y, SizeArray) else (y,):
            if type(divisor) is Sym and divisor == 0:
                sim.trace.steer(divisor)  # of which NumPy's arrays have a result
    return note(sim, of_numbers(sim, function, x, y))


def of_numbers(sim: Simulator, f: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what a call gives. Where it needs the numbers that symbols stand for, they become constants."""
    try:
        return f(*args, **kwargs)
    except (TypeError, ZeroDivisionError, IndexError):
        symbolic = symbolic_in((*args, *kwargs.values(), getattr(f, "__self__", None)))
        if symbolic is None:
            raise
        return sim.trace.steer(symbolic)


def write(sim: Simulator, x: Any, key: Any, value: Any) -> bool:
    """Set elements of an array that the frame has made. Return False where that cannot be a part of the graph."""
    if not is_array(sim, x) or sim.trace.capture.frames or not all(_is_constant(sim, v) for v in (key, value)):
        return False
    if holds_symbols((key,)) or (holds_symbols((value,)) and not isinstance(x, SizeArray)):
        return False
    x[key] = value
    return True


def may_be_called(sim: Simulator, owner: Any, name: str, values: tuple) -> bool:
    """Return whether a method of an array has no effect, and depends on nothing that differs between runs."""
    if not is_array(sim, owner):
        return False
    return name not in _WRITES and not name.startswith("__i") and all(_is_constant(sim, x) for x in values)


def _is_constant(sim: Simulator, x: Any) -> bool:
    kind = type(x)
    if (
        x is None
        or x is Ellipsis
        or kind in (int, float, bool, str, Sym, type)
        or isinstance(x, (np.generic, np.dtype))
    ):
        return True
    if kind in (list, tuple, Size):
        return all(_is_constant(sim, v) for v in x)
    if kind is slice:
        return all(_is_constant(sim, v) for v in (x.start, x.stop, x.step))
    return is_array(sim, x)
