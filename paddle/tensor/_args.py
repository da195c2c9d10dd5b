"""Tidying of arguments: what every public function does before it calls a strict op."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dispatch
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import place_guard
from umiak.core.dispatch import assign
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast, default_float, promote
from umiak.util.errors import op_error

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<required>", "__slots__": ()})()

# Every function that has the parameter on the right also takes the keyword on the left.
ALIASES = {"input": "x", "other": "y", "dim": "axis"}


NUMBERS = (bool, int, float, complex)  # some modules of this package define names that shadow these


class AxisError(ValueError, IndexError):
    """An axis that the tensor does not have."""


# --- signatures ----------------------------------------------------------------------------------------------------


def _parameters(fn: Callable) -> tuple[str, ...]:
    code = fn.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def rename(op: str, table: dict[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """Keywords under the names of the signature."""
    out = {}
    for key, value in given.items():
        target = table.get(key, key)
        if target in out or (target != key and target in given):
            raise op_error(TypeError, op, f"one of {target!r} and {key!r}", "both")
        out[target] = value
    return out


def public(fn: Callable | None = None, /, *, strict: bool = False, variadic: int | None = None, **aliases: str) -> Any:
    """Let a function take the usual aliases of its parameters as keywords, and those given here (``size="shape"``).

    ``strict``: only those given here. ``variadic``: ints from this position on are one argument, ``zeros(2, 3)``.
    """

    def wrap(fn: Callable) -> Callable:
        params = _parameters(fn)
        table = {a: p for a, p in {**({} if strict else ALIASES), **aliases}.items() if p in params and a not in params}
        if not table and variadic is None:
            return fn
        op = fn.__name__

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs and not table.keys().isdisjoint(kwargs):
                kwargs = rename(op, table, kwargs)
            return fn(*args, **kwargs)

        def call_variadic(*args: Any, **kwargs: Any) -> Any:
            if len(args) > variadic + 1 and _is_int(args[variadic]) and _is_int(args[variadic + 1]):  # type: ignore[index, operator]
                args = (*args[:variadic], args[variadic:])
            return call(*args, **kwargs)

        shown = call if variadic is None else call_variadic
        shown.__name__ = op
        shown.__qualname__ = fn.__qualname__
        shown.__doc__ = fn.__doc__
        shown.__module__ = fn.__module__
        shown.__wrapped__ = fn
        return shown

    return wrap if fn is None else wrap(fn)


def _is_int(x: Any) -> bool:
    return (isinstance(x, (int, np.integer)) and not isinstance(x, bool)) or (isinstance(x, Tensor) and x.ndim == 0)


def named(fn: Any, name: str) -> None:
    """Name a function that was made by another one. Errors read the name from its code."""
    fn.__name__ = fn.__qualname__ = name
    fn.__code__ = fn.__code__.replace(co_name=name, co_qualname=name)


def hot(signature: str, **aliases: str) -> Callable[[Callable], Callable]:
    """For functions that must cost one frame: their rare keywords end in ``**kw`` and go to :func:`again`.

    ``signature`` is what the function shows; it is all that callers may rely on.
    """

    def mark(fn: Callable) -> Callable:
        shown = eval(f"lambda {signature}: None")
        shown.__name__ = fn.__name__
        params = _parameters(shown)
        fn.__wrapped__ = shown
        fn._aliases = {a: p for a, p in {**ALIASES, **aliases}.items() if p in params and a not in params}
        fn._known = frozenset(params)
        code, defaults = shown.__code__, shown.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        fn._defaults = dict(zip(names, defaults))
        return fn

    return mark


def again(fn: Any, kw: dict[str, Any], given: dict[str, Any], slow: Callable | None = None) -> Any:
    """Call a hot function with its aliases resolved, and write ``out``; ``slow`` takes its rarer keywords."""
    kw = rename(fn.__name__, fn._aliases, kw)
    for key, value in given.items():
        if value is MISSING:
            continue
        if key in kw:
            if value is fn._defaults.get(key, MISSING):
                continue
            raise TypeError(f"{fn.__name__}() got multiple values for argument {key!r}")
        kw[key] = value
    unknown = kw.keys() - fn._known
    if unknown:
        raise TypeError(f"{fn.__name__}() got an unexpected keyword argument {min(unknown)!r}")
    out = kw.pop("out", None)
    kw.pop("name", None)
    return into(out, (slow or fn)(**kw))


def missing(fn: Any, **given: Any) -> TypeError:
    """The error for required arguments that did not come."""
    return TypeError(f"{fn.__name__}() missing required argument {next(k for k, v in given.items() if v is MISSING)!r}")


def into(out: Any, value: Any) -> Any:
    """``value``, written into ``out`` where one is given (a tensor, or as many as there are values)."""
    if out is None:
        return value
    if isinstance(value, (tuple, list)):
        for o, v in zip(out, value, strict=True):
            into(o, v)
        return out
    if not isinstance(out, Tensor):
        raise op_error(TypeError, "out", "a Tensor", type(out).__name__)
    return become(out, value if out.dtype is value.dtype else cast(value, out.dtype))


def become(x: Tensor, value: Tensor) -> Tensor:
    """Write ``value`` into ``x``; where shape or dtype differ, ``x`` takes its memory and history. Returns ``x``."""
    if x.dtype is value.dtype and x.shape == value.shape:
        return assign(x, value)
    return dispatch.become(x, value)


def write_part(x: Tensor, part: Callable[[Any], Any], value: Tensor) -> Tensor:
    """Write ``value`` into the view that ``part`` makes of ``x``. Returns ``x``.

    A part of a packed tensor is a copy: there the whole is written anew.
    """
    if not x.dtype.is_packed:
        assign(part(x), value)
        return x
    wide = cast(x, x.dtype.carrier)
    assign(part(wide), cast(value, wide.dtype))
    return assign(x, cast(wide, x.dtype))


# --- numbers, axes, shapes -----------------------------------------------------------------------------------------


def integer(x: Any, op: str, what: str) -> int:
    """A Python int from an int, a NumPy integer or a tensor of one element."""
    if type(x) is int:
        return x
    if isinstance(x, Tensor):
        if x.size != 1:
            raise op_error(ValueError, op, f"{what} as one number", f"a tensor of shape {x.shape}")
        x = x.item()
    try:
        return operator.index(x)
    except TypeError:
        if isinstance(x, float) and x == int(x):
            return int(x)
        raise op_error(TypeError, op, f"an integer for {what}", type(x).__name__) from None


def number(x: Any) -> Any:
    """A 0-d (or one-element) tensor or NumPy scalar as a Python number; numbers pass."""
    if isinstance(x, Tensor):
        return x.item()
    return x.item() if isinstance(x, (np.generic, np.ndarray)) else x


def integers(x: Any, op: str, what: str) -> tuple[int, ...]:
    """A tuple of ints from an int, a sequence of ints and tensors, or an integer tensor."""
    if type(x) in (list, tuple):
        return tuple([i if type(i) is int else integer(i, op, what) for i in x])
    if isinstance(x, Tensor):
        return tuple(x.reshape([-1]).tolist())
    if isinstance(x, (int, np.integer)):
        return (int(x),)
    if isinstance(x, (np.ndarray, Iterable)):
        return tuple(integer(i, op, what) for i in x)
    raise op_error(TypeError, op, f"integers for {what}", type(x).__name__)


def axis_of(axis: Any, ndim: int, op: str) -> int:
    """One axis, counted from the front."""
    if type(axis) is not int:
        axis = integer(axis, op, "axis")
    if axis < 0:
        axis += ndim
    if not 0 <= axis < ndim:
        raise op_error(AxisError, op, f"an axis from {-ndim} to {ndim - 1}", axis - ndim if axis < 0 else axis)
    return axis


def axes_of(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Distinct axes, counted from the front and sorted."""
    found = sorted(axis_of(a, ndim, op) for a in integers(axis, op, "axis"))
    if len(set(found)) != len(found):
        raise op_error(ValueError, op, "different axes", axis)
    return tuple(found)


def reduced_axes(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """The axes to reduce over: all of them for None and for an empty sequence."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis + ndim if axis < 0 else axis,)
    if ndim == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return axes_of(axis, ndim, op) or tuple(range(ndim))


def shape_of(shape: Any, op: str) -> tuple[int, ...]:
    """A shape from an int, a sequence of ints and 0-d tensors, or a 1-d tensor."""
    return integers(shape, op, "shape")


def spread(first: Any, rest: tuple) -> Any:
    """``f(2, 3)`` as ``f([2, 3])``."""
    return first if not rest else (first, *rest)


# --- dtypes, tensors -----------------------------------------------------------------------------------------------


# As dtypes, these words mean what the Python types do.
_WORDS = {"int": "int64", "float": "float64", "complex": "complex128"}


def dtype_of(dtype: Any, default: DType | None = None) -> DType:
    """A dtype from a dtype, a name, or a NumPy or Python type; ``default`` (or the default dtype) for None."""
    if dtype is None:
        return default if default is not None else default_float()
    return (
        dtype if isinstance(dtype, DType) else dt.convert(_WORDS.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    )


def need_tensor(x: Any, op: str, what: str = "x") -> Tensor:
    """Refuse what is no tensor."""
    if not isinstance(x, Tensor):
        raise op_error(TypeError, op, f"a Tensor for {what}", type(x).__name__)
    return x


def tensor(x: Any, like: Tensor | None = None) -> Tensor:
    """A tensor from a tensor, a number or an array; a number takes the dtype of ``like``."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, (bool, int, float, complex)):
        d = (
            like.dtype
            if like is not None
            else dt.bool
            if isinstance(x, bool)
            else dt.int64
            if isinstance(x, int)
            else default_float()
        )
        return F.full(x, dtype=d, shape=()) if like is None else made_on(like.place, F.full, x, d, ())
    return from_numpy(np.asarray(x), None if like is None else like.place)


def made_on(place: Place, make: Callable[..., Tensor], *args: Any, **kw: Any) -> Tensor:
    """What a function makes of no tensor, on ``place``."""
    with place_guard(place):
        return make(*args, **kw)


def floating(x: Tensor) -> Tensor:
    """Integers and bools as float32; other dtypes pass."""
    d = x.dtype
    return x if d.is_floating or d.is_complex else F.cast(x, dtype=dt.float32)


def same_dtype(op: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands in one dtype, by the promotion table."""
    pair = promote(op, x, y)
    if pair is NotImplemented:
        bad = y if isinstance(x, Tensor) else x
        raise op_error(TypeError, op, "tensors or numbers as operands", type(bad).__name__)
    return pair
