"""Elements of small tensors that are known while a program is recorded: sizes, and what is computed from them.

``paddle.shape(x)[0] * 2`` is a tensor whose one element is an expression in the program's symbols. Where a size is
asked for, that expression serves, and the operations that made the tensor are dead code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.expr import Sym, conjunction, disjunction, negate
from umiak.ir.program import Operation, Value

MOST = 64  # elements of a tensor, which has as many sizes at most
_INTEGERS = (dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64)
_DEEP = 200  # operations between a size and what is computed from it

Elements = np.ndarray  # of objects: Python scalars and Sym


class _Unknown(Exception):
    """An element depends on data."""


def known_elements(value: Any, constant: Callable[[Value], Elements | None]) -> Elements | None:
    """Return the elements of a value.

    Args:
        value: a value of a program, or a number.
        constant: the elements of an argument of a block, None where data are fed to it.

    Returns:
        An array of Python scalars and symbolic ones; None where they depend on data.
    """
    try:
        return _Finder(constant).elements(value, 0)
    except (_Unknown, ZeroDivisionError, OverflowError, ValueError):
        return None  # the latter are what the tensors' arithmetic has other answers to


def element_of(x: Value) -> tuple[Value, int]:
    """Return the value that the one element of ``x`` is taken from, and its number among the elements there."""
    at = 0
    while (o := x.operation) is not None and all(type(n) is int for v in o.values for n in v.meta.shape):
        if o.name in ("reshape", "squeeze", "unsqueeze", "copy"):
            (x,) = o.values
        elif o.name == "slice" and x.meta.ndim == 1 and all(type(n) is int for n in _params(o)["starts"]):
            at = _params(o)["starts"][0] + at * _params(o)["steps"][0] if o.op.axes else at
            (x,) = o.values
        elif o.name == "stack" and x.meta.ndim == 1:
            x, at = o.values[at], 0
        elif o.name == "concat" and x.meta.ndim == 1:
            for part in o.values:
                if at < part.meta.shape[0]:
                    break
                at -= part.meta.shape[0]
            x = part
        else:
            break
    return x, at


def rounded(x: Any, dtype: DType) -> Any:
    """A number as an element of a dtype that is no complex one."""
    if type(x) is Sym:
        if dtype.is_floating:
            return dim.to_float(x)
        if dtype.is_bool:
            return x if x.kind == "bool" else x != 0
        return dim.where(x, 1, 0) if x.kind == "bool" else dim.to_int(x)
    return dtype.numpy.type(x).item() if dtype.is_floating else bool(x) if dtype.is_bool else int(x)


def floor(x: Any) -> Any:
    """The largest integer that is not above a number, as a float."""
    return dim.to_float(math.floor(x))


class _Finder:
    def __init__(self, constant: Callable[[Value], Elements | None]) -> None:
        self.constant = constant
        self.known: dict[int, Elements] = {}

    def elements(self, x: Any, depth: int) -> Elements:
        if type(x) is Sym or type(x) in (bool, int, float):
            return _array(x)
        if type(x) is not Value or depth > _DEEP:
            raise _Unknown
        if id(x) in self.known:
            return self.known[id(x)]
        o = x.operation
        if o is None:
            given = self.constant(x)
            if given is None:
                raise _Unknown
            return given
        rule = _RULES.get(o.name)
        if rule is None or not all(_small(v) for v in o.results):
            raise _Unknown
        results = rule(o, *(self.elements(v, depth + 1) for v in o.operands))
        results = results if isinstance(results, tuple) else (results,)
        for v, elements in zip(o.results, results, strict=True):
            if elements.shape != tuple(v.meta.shape):
                raise _Unknown
            self.known[id(v)] = _each(lambda n, v=v: _element(n, v.meta.dtype), elements)
        return self.known[id(x)]


def _small(x: Value) -> bool:
    dtype, shape = x.meta.dtype, x.meta.shape
    if dtype is None or dtype.is_packed:
        return False
    if not (dtype.is_integer or dtype.is_bool or dtype in (dt.float32, dt.float64)):
        return False
    return all(type(n) is int for n in shape) and math.prod(shape) <= MOST


def _element(x: Any, dtype: DType) -> Any:
    out = rounded(x, dtype)
    # Numbers that would wrap are no elements; sizes do not.
    if dtype.is_integer and type(out) is int and not np.iinfo(dtype.numpy).min <= out <= np.iinfo(dtype.numpy).max:
        raise _Unknown
    return out


def _array(x: Any) -> Elements:
    out = np.empty((), dtype=object)
    out[()] = x
    return out


def _each(f: Callable[..., Any], *arrays: Elements) -> Elements:
    given = np.broadcast_arrays(*arrays)
    out = np.empty(given[0].shape, dtype=object)
    for at in np.ndindex(out.shape):
        out[at] = f(*(a[at] for a in given))
    return out


def _params(o: Operation) -> dict[str, Any]:
    return dict(zip(o.op.param_fields, o.params, strict=True))


def _ints(xs: Any) -> tuple[int, ...]:
    if not all(type(n) is int for n in xs):
        raise _Unknown
    return tuple(xs)


# --- rules, by ops ---------------------------------------------------------------------------------------------------


def _full(o: Operation, value: Elements) -> Elements:
    return np.broadcast_to(value, _ints(o.results[0].meta.shape))


def _iota(o: Operation, start: Elements, step: Elements) -> Elements:
    (n,) = _ints(o.results[0].meta.shape)
    return _each(lambda i: start.item() + i * step.item(), np.arange(n).astype(object))


def _slice(o: Operation, x: Elements) -> Elements:
    given = _params(o)
    at = [slice(None)] * x.ndim
    for axis, start, size, step in zip(o.op.axes, given["starts"], given["sizes"], given["steps"], strict=True):
        start, size, step = _ints((start, size, step))
        stop = start + size * step
        at[axis] = slice(start, stop if stop >= 0 else None, step)
    return x[tuple(at)]


def _split(o: Operation, x: Elements) -> tuple[Elements, ...]:
    ends = np.cumsum(_ints(_params(o)["sections"]))[:-1]
    return tuple(np.split(x, ends, axis=o.op.axis))


def _take(o: Operation, x: Elements, index: Elements) -> Elements:
    at = np.array(_ints(index.ravel().tolist()), dtype=np.int64).reshape(index.shape)
    if at.size and not 0 <= at.min() <= at.max() < x.shape[o.op.axis]:
        raise _Unknown
    return np.take(x, at, axis=o.op.axis)


def _shaped(o: Operation, x: Elements) -> Elements:
    return x.reshape(_ints(o.results[0].meta.shape))


def _of_integers(f: Callable[[Any, Any], Any]) -> Callable[..., Elements]:
    def rule(o: Operation, x: Elements, y: Elements) -> Elements:
        if o.results[0].meta.dtype not in _INTEGERS:
            raise _Unknown
        return _each(f, x, y)

    return rule


def _reduced(f: Callable[[Any, Any], Any], first: int | None = None) -> Callable[..., Elements]:
    def rule(o: Operation, x: Elements) -> Elements:
        axes = tuple(o.op.axes)
        if axes != tuple(range(x.ndim)) or (first is None and not x.size):
            raise _Unknown
        items = list(x.flat)
        total = items.pop(0) if first is None else first
        for n in items:
            total = f(total, n)
        return _array(total).reshape(_ints(o.results[0].meta.shape))

    return rule


def _pointwise(f: Callable[..., Any]) -> Callable[..., Elements]:
    return lambda o, *xs: _each(f, *xs)


_RULES: dict[str, Callable[..., Any]] = {
    "full": _full,
    "iota": _iota,
    "concat": lambda o, *xs: np.concatenate(xs, axis=o.op.axis),
    "stack": lambda o, *xs: np.stack(xs, axis=o.op.axis),
    "unbind": lambda o, x: tuple(y.squeeze(o.op.axis) for y in np.split(x, x.shape[o.op.axis], axis=o.op.axis)),
    "slice": _slice,
    "split": _split,
    "take": _take,
    "flip": lambda o, x: np.flip(x, o.op.axes),
    "permute": lambda o, x: np.transpose(x, o.op.perm),
    "tile": lambda o, x: np.tile(x, _ints(_params(o)["repeats"])),
    "broadcast_to": lambda o, x: np.broadcast_to(x, _ints(o.results[0].meta.shape)),
    "reshape": _shaped,
    "squeeze": _shaped,
    "unsqueeze": _shaped,
    "copy": lambda o, x: x,
    "cast": lambda o, x: x,
    "add": _pointwise(operator.add),
    "sub": _pointwise(operator.sub),
    "mul": _pointwise(operator.mul),
    "neg": _pointwise(operator.neg),
    "div": _pointwise(lambda x, y: dim.to_float(x) / dim.to_float(y)),
    "floor_div": _of_integers(operator.floordiv),
    "remainder": _of_integers(operator.mod),
    "floor": _pointwise(floor),
    "ceil": _pointwise(lambda x: -floor(-x)),
    "abs": _pointwise(abs),
    "maximum": _pointwise(dim.maximum),
    "minimum": _pointwise(dim.minimum),
    "eq": _pointwise(operator.eq),
    "ne": _pointwise(operator.ne),
    "lt": _pointwise(operator.lt),
    "le": _pointwise(operator.le),
    "gt": _pointwise(operator.gt),
    "ge": _pointwise(operator.ge),
    "logical_and": _pointwise(conjunction),
    "logical_or": _pointwise(disjunction),
    "logical_not": _pointwise(negate),
    "where": _pointwise(dim.where),
    "sum": _reduced(operator.add, 0),
    "prod": _reduced(operator.mul, 1),
    "max": _reduced(dim.maximum),
    "min": _reduced(dim.minimum),
}
