"""NumPy arrays of numbers some of which are symbolic: what code computes of sizes by ``np.array(x.shape)``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.ir import expr
from umiak.ir.elements import rounded
from umiak.ir.expr import Sym, conjunction, disjunction, negate

# What elements become, where Python's own operators, which loops over objects call, would ask whether a number is true.
_STEPS: dict[Any, np.ufunc] = {
    ufunc: np.frompyfunc(step, count, 1)
    for ufunc, step, count in (
        (np.maximum, expr.maximum, 2),
        (np.minimum, expr.minimum, 2),
        (np.fmax, expr.maximum, 2),
        (np.fmin, expr.minimum, 2),
        (np.floor, expr.floor, 1),
        (np.ceil, lambda x: -expr.floor(-x), 1),
        (np.trunc, expr.to_int, 1),
        (np.rint, expr.nearest, 1),
        (np.sqrt, lambda x: expr.power(x, 0.5), 1),
        (np.square, lambda x: x * x, 1),
        (np.absolute, abs, 1),
        (np.logical_and, conjunction, 2),
        (np.logical_or, disjunction, 2),
        (np.logical_not, negate, 1),
        (np.equal, expr.compare_eq, 2),
        (np.not_equal, expr.ne, 2),
        (np.less, expr.compare_lt, 2),
        (np.less_equal, expr.compare_le, 2),
        (np.greater, lambda x, y: expr.compare_lt(y, x), 2),
        (np.greater_equal, lambda x, y: expr.compare_le(y, x), 2),
    )
}  # fmt: skip
_ROUNDED = np.frompyfunc(rounded, 2, 1)
_CLIP = np.frompyfunc(lambda x, low, high: expr.minimum(expr.maximum(x, low), high), 3, 1)
_CHOICE = np.frompyfunc(expr.where, 3, 1)
_OPERATORS = frozenset((
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.power, np.negative, np.positive,
))  # fmt: skip


class SizeArray(np.ndarray):
    """Array of objects, numbers and symbols, which has the dtype that the array of the numbers would have."""

    held: np.dtype
    region: Any  # of the program that the array, or the one that it is a view of, was made in; None outside of all

    def __array_finalize__(self, other: Any) -> None:
        self.held = getattr(other, "held", np.dtype(object))
        self.region = other.region if isinstance(other, SizeArray) else _region()

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the numbers."""
        return self.held

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The numbers in another dtype."""
        return _typed(np.asarray(self), np.dtype(dtype))

    def __setitem__(self, key: Any, value: Any) -> None:
        if _region() is not self.region:  # which may not be run, or several times
            raise TypeError(
                "[numpy.ndarray] requires arrays of sizes to stay as they are in a branch or loop on tensors or sizes, "
                "got a write to one that was made before it. Choose between numbers, or write to a tensor"
            )
        kind = dt.convert(self.held)
        value = _objects(value) if isinstance(value, _ARRAYS) else value
        objects = np.asarray(self)
        objects[key] = _ROUNDED(value, kind) if isinstance(value, np.ndarray) else rounded(value, kind)

    def fill(self, value: Any) -> None:
        """Set all elements."""
        self[...] = value

    def tolist(self) -> Any:
        """The elements, in nested lists."""
        return np.asarray(self).tolist()

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """The same numbers in an array of their own."""
        return _typed(np.array(np.asarray(self), dtype=object), self.held)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """The numbers that a function of NumPy gives."""
        if any(getattr(type(x), "__array_ufunc__", None) is None for x in inputs if not isinstance(x, _SCALARS)):
            return NotImplemented  # a tensor, which knows what to do
        if kwargs.pop("where", True) is not True:
            raise _refused(ufunc, "where left out")
        if (out := kwargs.pop("out", None)) is not None:
            out[0][...] = self.__array_ufunc__(ufunc, method, *inputs, **kwargs)
            return out[0]
        asked = kwargs.pop("dtype", None)
        taken = {k: v for k, v in kwargs.items() if k in ("axis", "keepdims", "initial") and v is not np._NoValue}
        step = _CLIP if ufunc.__name__ == "clip" else _STEPS.get(ufunc, ufunc if ufunc in _OPERATORS else None)
        if step is None or method not in ("__call__", "reduce", "accumulate", "outer"):
            raise _refused(ufunc, "arithmetic, comparisons, maximum, minimum and rounding")
        sample = getattr(ufunc, method)(*map(_example, inputs), **({} if method != "reduce" else {"keepdims": True}))
        held = np.asarray(sample).dtype if asked is None else np.dtype(asked)
        plain = [_objects(x) if isinstance(x, (np.ndarray, list, tuple)) else x for x in inputs]
        if isinstance(step, np.ufunc) and step in _OPERATORS:
            taken["dtype"] = object
        elif (method == "reduce" and taken.get("axis", 0) is None) or isinstance(taken.get("axis"), tuple):
            axis = taken.pop("axis")
            keep = taken.pop("keepdims", False)
            return _folded(step, plain[0], axis, keep, held)
        return _typed(getattr(step, method)(*plain, **taken), held)


def _region() -> Any:
    trace = current().trace
    return trace[-1].frames[-1] if trace and trace[-1].frames else None


def _folded(step: Any, x: np.ndarray, axis: Any, keep: bool, held: np.dtype) -> Any:
    """A reduction over several axes, which functions made of Python's do not know."""
    axes = sorted({a % x.ndim for a in (range(x.ndim) if axis is None else axis)}, reverse=True)
    for a in axes:
        x = np.asarray(step.reduce(x, axis=a), dtype=object)
        x = np.expand_dims(x, a) if keep else x
    return _typed(x, held)


def size_array(data: Any, dtype: Any = None) -> Any:
    """An array of nested lists of numbers, or of one number."""
    if isinstance(data, SizeArray):
        return data if dtype is None else data.astype(dtype)
    objects = np.array(data, dtype=object)
    held = np.dtype(dtype) if dtype is not None else np.result_type(*(_kind(x) for x in objects.flat))
    return _typed(objects, held, scalars=False)


def holds_symbols(values: Iterable[Any]) -> bool:
    """Return whether there is a symbolic number among values, or in lists, tuples and arrays of them."""
    return any(
        type(x) is Sym or type(x) is SizeArray or (isinstance(x, (list, tuple)) and holds_symbols(x)) for x in values
    )


def computes(f: Any) -> Callable[..., Any] | None:
    """Return what stands for a function of NumPy where numbers are symbolic; None for what has none."""
    if isinstance(f, np.ufunc):
        return functools.partial(_applied, f)
    if isinstance(f, type) and issubclass(f, np.generic):
        return functools.partial(_number, f)
    known = _FUNCTIONS.get(id(f))
    return None if known is None else known[1]


def _applied(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of the values of arrays."""
    kwargs = {k: _as_array(v) for k, v in kwargs.items()}
    made = f(*map(_as_array, args), **kwargs)
    if type(made) is np.ndarray and made.dtype == object:  # functions that join arrays make one of the common class
        return _typed(made, np.result_type(*(_example(x) for x in args if isinstance(x, _ARRAYS))))
    return made[()] if isinstance(made, SizeArray) and made.ndim == 0 else made


def _of_list(f: Any, those: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of a list of arrays."""
    held = np.result_type(*map(_example, those))
    return _typed(f([_objects(x) for x in those], *args, **kwargs), held)


def _array(f: Any, data: Any, dtype: Any = None, *, copy: Any = True, **kwargs: Any) -> Any:
    if set(kwargs) - {"order"}:
        raise _refused(f, "data, dtype and copy alone")
    made = size_array(data, dtype)
    return made.copy() if f is np.array and made is data and copy else made


def _number(kind: Any, x: Any = 0) -> Any:
    """NumPy's scalar of a symbolic number, which is one of Python's."""
    return rounded(x, dt.convert(np.dtype(kind)))


def _where(f: Any, condition: Any, *those: Any) -> Any:
    if len(those) != 2:
        raise _refused(f, "numbers to choose from")
    held = np.result_type(*map(_example, those))
    return _typed(_CHOICE(*map(_objects, (condition, *those))), held)


def _taken_over(kind: Callable[..., Any], *functions: Any) -> dict[int, tuple[Any, Callable[..., Any]]]:
    return {id(f): (f, functools.partial(kind, f)) for f in functions}


def _as_array(x: Any) -> Any:
    if type(x) is Sym or (isinstance(x, (list, tuple)) and holds_symbols(x)):
        return size_array(x)
    return x


def _objects(x: Any) -> np.ndarray:
    return np.asarray(x).view(np.ndarray) if isinstance(x, SizeArray) else np.array(x, dtype=object)


def _kind(x: Any) -> np.dtype:
    if type(x) is Sym:
        return np.dtype({"int": np.int64, "float": np.float64, "bool": np.bool_}[x.kind])
    return np.asarray(x).dtype


def _example(x: Any) -> Any:
    """An operand with the dtype of ``x``, which says what dtype a function gives."""
    if isinstance(x, SizeArray):
        return np.ones(1, x.held)
    if type(x) is Sym:
        return {"int": 1, "float": 1.0, "bool": True}[x.kind]
    if isinstance(x, (np.ndarray, list, tuple)):
        return np.ones(1, size_array(x).dtype if holds_symbols((x,)) else np.asarray(x).dtype)
    return x


def _typed(objects: Any, held: np.dtype, scalars: bool = True) -> Any:
    """Numbers as an array of symbols, or as NumPy's own where none is symbolic; one number as it is."""
    source = np.asarray(objects, dtype=object)
    if held not in _DTYPES and (held.kind not in "biuf" or any(type(x) is Sym for x in source.flat)):
        raise _refused(held, "bool, int32, int64, float32 or float64")
    kind = dt.convert(held)
    array = np.empty(source.shape, object)
    for at in np.ndindex(array.shape):
        array[at] = rounded(source[at], kind)
    if not any(type(x) is Sym for x in array.flat):
        array = array.astype(held)
        return array[()] if scalars and array.ndim == 0 else array
    if scalars and array.ndim == 0:
        return array[()]
    out = array.view(SizeArray)
    out.held = held
    return out


def _refused(f: Any, required: str) -> TypeError:
    name = getattr(f, "__name__", str(f))
    return TypeError(
        f"[numpy.{name}] requires {required} of sizes that are not declared, got others. Compute it with tensors, "
        "or declare the sizes"
    )


# Others overflow where sizes do not.
_DTYPES = frozenset(map(np.dtype, (np.bool_, np.int32, np.int64, np.float32, np.float64)))
_ARRAYS = (np.ndarray, list, tuple)
_SCALARS = (Sym, bool, int, float, complex, np.generic, np.ndarray, list, tuple)
_FUNCTIONS = {
    **_taken_over(_array, np.array, np.asarray, np.asanyarray),
    **_taken_over(
        _applied, np.sum, np.prod, np.max, np.amax, np.min, np.amin, np.mean, np.cumsum, np.cumprod, np.size, np.shape,
        np.ndim, np.dot, np.diff, np.clip, np.reshape, np.flip, np.squeeze, np.expand_dims, np.transpose, np.ravel,
        np.repeat, np.tile, np.roll, np.append, np.round, np.take, np.outer, np.all, np.any,
    ),
    **_taken_over(_of_list, np.stack, np.concatenate, np.hstack, np.vstack),
    **_taken_over(_where, np.where),
}  # fmt: skip
