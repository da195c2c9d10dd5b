"""Models of NumPy's functions of numbers, which code applies to sizes: ``np.prod(x.shape[1:])``.

What arithmetic says of sizes stays open, as an int or a float where NumPy makes a scalar of its own. Other functions
of sizes have these become constants of the graph, and give NumPy's scalars, as functions of constants do. So does
``to_tensor``, whose dtype is that of such a scalar.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.table import model
from paddle.tensor.from_data import to_tensor
from umiak.ir import sym
from umiak.ir.expr import Sym, floor, power

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


def are_numbers(values: Any) -> bool:
    """Return whether values are numbers: nothing that differs between runs but sizes."""
    return all(type(x) in (Sym, int, float, bool) or isinstance(x, np.generic) for x in values)


def _are_open(values: Any) -> bool:
    """Return whether values are integers, some of which are symbolic."""
    return any(type(x) is Sym for x in values) and all(
        type(x) is int or (type(x) is Sym and x.kind == "int") for x in values
    )


def _noted(sim: Simulator, x: Any, is_narrow: bool = False) -> Any:
    """Note a number that is a scalar of NumPy's, of which tensors have another dtype than of one of Python's."""
    if type(x) is Sym and (x.kind == "float" or is_narrow):
        sim.trace.of_numpy.add(x)
    return x


def _is_of_numpy(sim: Simulator, x: Any) -> bool:
    """Return whether a number is such a scalar, or may be computed of one."""
    return type(x) is Sym and (x in sim.trace.of_numpy or any(_is_of_numpy(sim, v) for v in x.args))


def _of_sequence(function: Any, of_sizes: Callable[[Simulator, Any], Any] | None) -> None:
    @model(function)
    def run(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not isinstance(args[0], (list, tuple)) or not are_numbers(args[0]):
            return sim.foreign(function, args, kwargs)
        if of_sizes is not None and _are_open(args[0]):  # NumPy's integers are those that Python's become
            return of_sizes(sim, args[0])
        return sim.pure(function, args, kwargs)


def _of_numbers(function: Any, of_sizes: Callable[..., Any], count: int = 1) -> None:
    @model(function)
    def run(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not are_numbers(args):
            return sim.foreign(function, args, kwargs)
        if len(args) == count and any(type(x) is Sym for x in args):
            made = of_sizes(sim, *args)
            if made is not NotImplemented:
                return _noted(sim, made)
        return sim.pure(function, args, kwargs)


def _whole(function: Any, of_size: Callable[[Any], Any]) -> None:
    """A function that gives a whole number as a float; of ints newer versions of NumPy give ints."""
    keeps = isinstance(function(1), np.integer)
    _of_numbers(function, lambda sim, x: x if keeps and x.kind == "int" else sym.to_float(of_size(x)))


def _extreme(builtin: Any) -> Callable[[Simulator, Any, Any], Any]:
    return lambda sim, x, y: sim.call(builtin, ((x, y),), {}) if _are_open((x, y)) else NotImplemented


def _folded(step: Callable[[Any, Any], Any]) -> Callable[[Simulator, Any], Any]:
    return lambda sim, items: functools.reduce(step, items)


def _largest(builtin: Any) -> Callable[[Simulator, Any], Any]:
    return lambda sim, items: sim.call(builtin, (items,), {})


_of_sequence(np.prod, _folded(operator.mul))
_of_sequence(np.sum, _folded(operator.add))
for _function in (np.max, np.amax):
    _of_sequence(_function, _largest(max))
for _function in (np.min, np.amin):
    _of_sequence(_function, _largest(min))
_of_sequence(np.mean, None)
_whole(np.ceil, Sym.__ceil__)
_whole(np.floor, floor)
_whole(np.trunc, sym.to_int)
_whole(np.rint, round)
_whole(np.round, round)
_of_numbers(np.sqrt, lambda sim, x: power(x, 0.5))
_of_numbers(np.maximum, _extreme(max), 2)
_of_numbers(np.minimum, _extreme(min), 2)


def _scalar(kind: Any, of_size: Callable[[Any], Any] | None) -> None:
    @model(kind)
    def made(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not are_numbers(args):
            return sim.instantiate(kind, args, kwargs)
        if of_size is not None and type(args[0]) is Sym and args[0].kind != "bool":
            return _noted(sim, of_size(args[0]), kind is np.int32)
        return sim.pure(kind, args, kwargs)


@model(to_tensor)
def _to_tensor(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    data = kwargs.get("data", args[0] if args else None)
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    if type(data) is Sym and dtype is None and _is_of_numpy(sim, data):
        sim.trace.steer(data)
    return sim.leaf(to_tensor, args, kwargs)


_scalar(np.int32, sym.to_int)
_scalar(np.int64, sym.to_int)
_scalar(np.float64, sym.to_float)
_scalar(np.float32, None)
