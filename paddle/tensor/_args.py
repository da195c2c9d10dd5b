"""Tidying of arguments: what every public function does before it calls a strict op."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from paddle._public import need_tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import capture_of, current, place_guard
from umiak.core.dtype import DType
from umiak.core.inplace import assign
from umiak.core.place import Place
from umiak.core.tensor import KIND_SYMBOLIC, Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym, to_float
from umiak.ir.size_array import SizeArray
from umiak.ir.tracer import SymTensor
from umiak.ops.promotion import cast, default_float, of_sizes, promote
from umiak.util.errors import LeafError, OperandError, op_error
from umiak.util.size import plain_ints

NUMBERS = (bool, int, float, complex)  # some modules of this package define names that shadow these

_OPERANDS = (Tensor, *NUMBERS, np.generic, np.ndarray)


class AxisError(ValueError, IndexError):
    """An axis that the tensor does not have."""


class InternedOps(dict):
    """The interned ops of one class by attribute: a dict lookup instead of a constructor call."""

    def __init__(self, cls: Any) -> None:
        super().__init__()
        self.cls = cls

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, Tensor):
            raise TypeError("requires a number, got a tensor")  # it would stay as a key
        op = self[key] = self.cls(*key) if isinstance(key, tuple) else self.cls(key)
        return op


# --- writing -------------------------------------------------------------------------------------------------------


def refuse_leaf(x: Tensor, op: str) -> None:
    """Raise LeafError for a leaf that wants a gradient: views of its elements may be written to, but it may not."""
    if not x.stop_gradient and current().grad_enabled:
        leaf = x._tracer.is_leaf(x) if x._kind & KIND_SYMBOLIC and x._tracer is not None else x.is_leaf
        if leaf:
            got = "a leaf with stop_gradient=False"
            raise op_error(LeafError, op, "a tensor that is no leaf, or no_grad", got, "Use paddle.no_grad().")


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


def integer(x: Any, op: str, arg_name: str) -> int:
    """A Python int from an int, a NumPy integer or a tensor of one element; a size of a program stays symbolic."""
    if type(x) is int:
        return x
    if type(x) is Sym and x.kind == "int":
        return x  # type: ignore[return-value]
    if isinstance(x, Tensor):
        x = _one_element(x, op, arg_name)
        if (known := _symbol(x, None)) is not None:
            return known
        x = x.item()
        if type(x) is Sym and x.kind == "int":
            return x  # type: ignore[return-value]
    try:
        return operator.index(x)
    except TypeError:
        if isinstance(x, float) and x == int(x):
            return int(x)
        raise op_error(TypeError, op, f"an integer for {arg_name}", type(x).__name__) from None


def number(x: Any) -> Any:
    """A 0-d (or one-element) tensor or NumPy scalar as a Python scalar; numbers pass. A program in which the tensor's
    size is open is for runs in which it has one element."""
    if isinstance(x, Tensor):
        return (x if type(x._count) is int else F.reshape(x, ())).item()
    return x.item() if isinstance(x, (np.generic, np.ndarray)) else x


def real_number(x: Any, op: str, arg_name: str) -> Any:
    """A Python float from a real number, a NumPy scalar or a tensor of one element; a symbolic one stays symbolic."""
    if type(x) is float:
        return x
    value = number(_one_element(x, op, arg_name) if isinstance(x, Tensor) else x)
    if type(value) is Sym:
        return to_float(value)
    if not isinstance(value, (int, float)):
        raise op_error(TypeError, op, f"a number for {arg_name}", type(x).__name__)
    return float(value)


def _one_element(x: Tensor, op: str, arg_name: str) -> Tensor:
    """A tensor of one element; where its size is open, the program is for runs in which it has one."""
    if type(x._count) is not int:
        return F.reshape(x, ())
    if x._count != 1:
        raise op_error(ValueError, op, f"{arg_name} as one number", f"a tensor of shape {list(x.shape)}")
    return x


def data_of_run(x: Any) -> Any:
    """The element of a tensor of one element that only a run of the recorded program knows, as a tensor without dims;
    None for all else, which :func:`number` has as a number."""
    if not (isinstance(x, Tensor) and reads_numbers() and capture_of().varies(x)):
        return None
    known = isinstance(x, SymTensor) and x._tracer is not None and x._tracer.elements(x) is not None
    return None if known else F.reshape(x, ()).detach()


def number_tensor(x: Any) -> Tensor:
    """A number, or one that only a run of the recorded program knows, as a tensor without dims that rounds nothing."""
    data = data_of_run(x)
    if data is not None:
        return data
    value = number(x)
    return F.full(value, dt.float64 if dim.kind_of(value) == "float" else dt.int64, ())


def fraction(x: Any, op: str, arg_name: str) -> float:
    """A Python float from 0 to 1."""
    value = x if type(x) is float else real_number(x, op, arg_name)
    if not 0.0 <= value <= 1.0:
        raise op_error(ValueError, op, f"{arg_name} between 0 and 1", value)
    return value


def integers(x: Any, op: str, arg_name: str, count: int | None = None) -> tuple[int, ...]:
    """A tuple of ints from an int, a sequence of ints and tensors, or an integer tensor.

    ``count``: how many a tensor of an open size has to hold when it runs; None: such tensors are refused.
    """
    plain = plain_ints(x)
    if plain is not None:
        return plain
    if isinstance(x, (list, tuple)):
        return tuple([i if type(i) is int else integer(i, op, arg_name) for i in x])
    if isinstance(x, Tensor):
        flat = x.reshape([-1])
        if reads_numbers():
            if type(x._count) is int or not capture_of().varies(x):
                count = x._count
            elif count is None:
                got = f"a tensor of shape {list(x.shape)}"
                raise op_error(ValueError, op, f"a fixed number of integers for {arg_name}", got, "Declare its size.")
            else:
                message = f"[{op}] requires {count} integers for {arg_name}, got a tensor of shape {list(x.shape)}"
                dim.require(dim.eq(x._count, count), message)
            return tuple(integer(flat[i], op, arg_name) for i in range(count))
        return tuple(flat.tolist())
    if isinstance(x, (int, np.integer, Sym)):
        return (integer(x, op, arg_name),)
    if isinstance(x, (np.ndarray, Iterable)):
        return tuple(integer(i, op, arg_name) for i in x)
    raise op_error(TypeError, op, f"integers for {arg_name}", type(x).__name__)


def apart(y: Tensor, x: Tensor) -> Tensor:
    """``y``, computed of ``x``, with memory of its own: views and ``x`` itself are copied."""
    if y.storage is None:  # while a function is captured
        shares = y is x or (hasattr(y, "root") and y.root() is x.root())
    else:
        shares = y.storage is x.storage
    return F.copy(y) if shares else y


def _no_flag(axis: Any, op: str) -> Any:
    """The axis, which is no bool: Python would take one that is meant for another argument for 0 or 1."""
    if isinstance(axis, (bool, np.bool_)):
        raise op_error(TypeError, op, "an integer for axis, and bools by their names (keepdim=True)", axis)
    return axis


def axis_of(axis: Any, ndim: int, op: str) -> int:
    """One axis, counted from the front."""
    if type(axis) is not int:
        axis = integer(_no_flag(axis, op), op, "axis")
    if type(axis) is Sym:
        if (known := dim.known(axis)) is None:
            raise op_error(AxisError, op, "an axis that is known while the program is recorded", axis)
        axis = known
    if axis < 0:
        axis += ndim
    if not 0 <= axis < ndim:
        required = f"an axis from {-ndim} to {ndim - 1}" if ndim else "an axis, so a rank of 1 or more"
        raise op_error(AxisError, op, required, (axis - ndim if axis < 0 else axis) if ndim else "rank 0")
    return axis


def axes_of(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Distinct axes, counted from the front and sorted."""
    axes = sorted(axis_of(a, ndim, op) for a in integers(_no_flag(axis, op), op, "axis"))
    if len(set(axes)) != len(axes):
        raise op_error(ValueError, op, "different axes", axis)
    return tuple(axes)


def reduced_axes(axis: Any, ndim: int, op: str) -> tuple[int, ...]:
    """The axes to reduce over: all of them for None and for an empty sequence."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis + ndim if axis < 0 else axis,)
    if ndim == 0 and integers(_no_flag(axis, op), op, "axis") in ((0,), (-1,)):
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
    return dt.convert(_WORDS.get(dtype, dtype) if isinstance(dtype, str) else dtype)


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
        return F.full(x, dtype=d, shape=()) if like is None else create_on(like.place, F.full, x, d, ())
    if isinstance(x, SizeArray):
        return of_sizes(x)
    return from_numpy(np.asarray(x), None if like is None else like.place)


def create_on(place: Place, make: Callable[..., Tensor], *args: Any, **kw: Any) -> Tensor:
    """Call a creation function on ``place``."""
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
        raise op_error(OperandError, op, "tensors or numbers as operands", type(bad).__name__)
    return pair


# --- operands that work element by element -------------------------------------------------------------------------


def floats(x: Any, op: str, arg_name: str = "x") -> Tensor:
    """The operand of a floating function: integers and bools become float32."""
    return floating(need_tensor(x, op, arg_name))


def numeric(x: Any, op: str) -> Tensor:
    """An operand that is not bool."""
    if need_tensor(x, op).dtype.is_bool:
        raise op_error(TypeError, op, "a numeric dtype", x.dtype.name)
    return x


def promoted(op: Callable[[Any, Any], Tensor], name: str, x: Any, y: Any) -> Tensor:
    """An op of two operands, brought to one dtype if it refuses them as they are; one may be a number."""
    try:
        return op(x, y)
    except TypeError:
        if not isinstance(x, Tensor) and not isinstance(y, Tensor):
            raise op_error(OperandError, name, "a Tensor for x", type(x).__name__) from None
    x, y = same_dtype(op.__name__, x, y)
    return op(x, y)


def operate(way: Callable[[Any, Any], Any], op: Callable[[Any, Any], Tensor], name: str, x: Any, y: Any) -> Tensor:
    """A function that Python has an operator for, which promotes by itself where x is a tensor."""
    if not isinstance(x, Tensor):
        return promoted(op, name, x, y)
    if isinstance(y, _OPERANDS) or hasattr(y, "is_symbolic"):  # a size, while a function is captured
        return way(x, y)
    # `==` of anything is a bool, and a list is repeated.
    raise op_error(OperandError, name, "a tensor or a number for y", type(y).__name__)


def number_in(x: Tensor) -> Any:
    """Return the integer in a tensor without dims: a size that data decide. It is a symbol in static programs."""
    known = _symbol(x, 0)
    return int(x.item()) if known is None else known


def number_unless_negative(x: Tensor, least: Tensor) -> Any:
    """Return the integer in a tensor without dims, or a negative one where ``least`` is negative. A program that uses
    the number tests it: of one that nothing needs it would test nothing."""
    if reads_numbers():
        return integer(F.where(F.lt(least, 0), -1, x), "number", "x")
    negative = int(least.item())
    return negative if negative < 0 else int(x.item())


def number_when_run(x: Tensor) -> Any:
    """Return the integer in a tensor of one element; in a program a symbol of what it will hold, also where a read of
    data otherwise ends a graph: nobody may ask what it is while the program is recorded."""
    tracer = capture_of()
    return int(x.item()) if tracer is None else tracer.number_in(F.reshape(x, ()), None)


def equal_shapes(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Are two shapes known to be equal? Of sizes that differ between runs nothing is asked, where ``==`` would settle
    the program on what it finds.
    """
    if len(a) != len(b):
        return False
    for m, n in zip(a, b):  # noqa: SIM110  a generator takes three times as long, at every call
        if m is not n and not (m == n if type(m) is type(n) is int else dim.same(m, n)):
            return False
    return True


def reads_numbers() -> bool:
    """Are numbers that data decide symbols, in a program that is recorded as a whole?"""
    tracer = capture_of()
    return tracer is not None and tracer.one_program


def _symbol(x: Tensor, least: int | None) -> Any:
    """The integer in a tensor of one element as a symbol, of at least ``least``; None but in static programs."""
    if not (reads_numbers() and x.dtype.is_integer and capture_of().varies(x)):
        return None
    if isinstance(x, SymTensor) and x._tracer is not None and x._tracer.elements(x) is not None:
        return None
    return capture_of().number_in(F.reshape(x, ()), least)
