"""Models of functions of Python scalars."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from paddle.jit.sot.models.arrays import is_array
from paddle.jit.sot.models.classes import special
from paddle.jit.sot.models.table import model
from paddle.jit.sot.models.values import must_be_known
from paddle.jit.sot.trace import symbolic_in
from paddle.jit.source.builtins_ import are_open_sizes
from paddle.jit.state import is_simple
from umiak.core.tensor import Tensor
from umiak.ir import sym
from umiak.ir.expr import Sym

if TYPE_CHECKING:
    from paddle.jit.sot.simulator import Simulator


@model(int)
def _int(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and type(args[0]) is Sym and not kwargs:
        return sym.to_int(args[0])
    return _number(sim, int, args, kwargs)


@model(float)
def _float(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    if args and type(args[0]) is Sym and args[0].kind != "bool":
        return args[0] if args[0].kind == "float" else sym.to_float(args[0])
    return _number(sim, float, args, kwargs)


def _number(sim: Simulator, kind: type, args: tuple, kwargs: dict[str, Any]) -> Any:
    x = args[0] if args else None
    if isinstance(x, np.ndarray) and is_array(sim, x) and x.size == 1 and len(args) == 1:
        return sim.call(kind, (x.flat[0],), kwargs)
    if isinstance(x, (Tensor, np.ndarray)):
        return sim.break_graph(f"{kind.__name__}() of a tensor")
    for name in (f"__{kind.__name__}__", "__index__"):
        f = special(x, name)
        if f is not None:
            return sim.call(f, (x,), {}, direct=True)
    if (symbolic := symbolic_in(args)) is not None:
        sim.trace.steer(symbolic)
    must_be_known(sim, x, f"{kind.__name__}()")
    return kind(*args, **kwargs)


@model(math.prod)
def _product(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    items = args[0] if len(args) == 1 and not kwargs and isinstance(args[0], (list, tuple)) else ()
    if any(type(x) is Sym for x in items) and all(type(x) in (Sym, int, float) for x in items):
        return functools.reduce(operator.mul, items)
    return sim.built_in(math.prod, args, kwargs)


@model(complex)
def _complex(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
    return _number(sim, complex, args, kwargs)


@model(hash)
def _hash(sim: Simulator, x: Any) -> Any:
    if (symbolic := symbolic_in((x,))) is not None:
        sim.trace.steer(symbolic)
    return hash(x) if is_simple(x) else sim.break_graph("hash()")


@model(round)
def _round(sim: Simulator, x: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(x, Tensor):
        return sim.leaf(round, (x, *args), kwargs)
    if (symbolic := symbolic_in((x, *args))) is not None and (args or kwargs):
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


def _extremum(function: Callable[..., Any], of_sizes: Callable[[Any, Any], Any]) -> None:
    @model(function)
    def extremum(sim: Simulator, *args: Any, **kwargs: Any) -> Any:
        items = list(sim.call(iter, (args[0],), {})) if len(args) == 1 else list(args)
        if any(isinstance(x, Tensor) for x in items) and "key" not in kwargs:
            return sim.break_graph(f"{function.__name__}() compares tensors")
        if are_open_sizes(items) and not kwargs:
            return functools.reduce(of_sizes, items)
        return sim.pure(function, (items,), kwargs)


_extremum(min, sym.minimum)
_extremum(max, sym.maximum)


@model(sum)
def _sum(sim: Simulator, items: Any, start: Any = 0) -> Any:
    total = start
    for x in sim.call(iter, (items,), {}):
        total = sim.call(operator.add, (total, x), {})
    return total
