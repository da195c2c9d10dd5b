"""Making tensors: from data, from numbers, from other tensors' shapes."""

from __future__ import annotations

import builtins
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from paddle._public import inplace, into, public
from paddle.framework.place import place_of
from paddle.tensor._args import (
    NUMBERS,
    axis_of,
    cast,
    default_float,
    dtype_of,
    integer,
    made_on,
    need_tensor,
    number,
    op_error,
    shape_of,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy as _from_numpy
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor
from umiak.core.tensor import empty as _empty
from umiak.ir import sym as dim
from umiak.ops import scalars
from umiak.ops.promotion import LATTICE, kind

_COPY = F.Copy()


# --- from data -----------------------------------------------------------------------------------------------------


def _has_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and any(map(_has_tensor, x)))


def _plain(a: np.ndarray) -> DType:
    """The dtype of Python numbers that NumPy took to be of the dtype of ``a``."""
    if a.dtype.kind == "f":
        return default_float()
    if a.dtype.kind == "c":
        return dt.complex128 if default_float() is dt.float64 else dt.complex64
    return dt.int64 if a.dtype.kind in "iu" else dt.convert(a.dtype)


def check_integers(a: np.ndarray, d: DType, op: str) -> None:
    """Refuse numbers that an integer dtype has no place for."""
    low, high = scalars.bounds(d) or scalars.INT64
    if a.dtype.kind == "f" and a.size:
        for extreme in (np.min(a), np.max(a)):  # NaN where one is among them
            if not scalars.fits(float(extreme), low, high):
                raise scalars.overflow_error(op, float(extreme), low, high)
    elif a.dtype.kind == "O":
        for x in a.flat:
            if not scalars.fits(x, low, high):
                raise scalars.overflow_error(op, x, low, high)
    elif a.size and a.dtype.kind in "iu":
        for extreme in (int(np.min(a)), int(np.max(a))):
            if not scalars.fits(extreme, low, high):
                raise scalars.overflow_error(op, extreme, low, high)


def _large(a: np.ndarray, op: str) -> np.ndarray:
    """An array of objects, all of them numbers, integers beyond 64 bits among them: in float64, or refused."""
    if not all(isinstance(x, (*NUMBERS, np.number)) for x in a.flat):
        raise op_error(ValueError, op, "numbers", f"an array of {a.dtype}")
    try:
        return a.astype(np.complex128 if any(isinstance(x, builtins.complex) for x in a.flat) else np.float64)
    except OverflowError:
        raise op_error(OverflowError, op, "numbers that floats can hold", "an int beyond 1.8e308") from None


def _array(data: Any, op: str) -> np.ndarray:
    """An array of a number or nested lists; refuses ragged ones."""
    try:
        return np.asarray(data)
    except ValueError:
        raise op_error(ValueError, op, "nested lists of equal lengths", "ragged ones") from None


def _from_numbers(data: Any, d: DType | None, place: Any, op: str) -> Tensor:
    """A tensor of nested lists of Python numbers (and arrays), each rounded once, to the dtype that is wanted."""
    a = _array(data, op)
    if a.dtype.kind in "SUMm":
        raise op_error(ValueError, op, "numbers", f"an array of {a.dtype}")
    if a.dtype.kind == "O":
        if d is None and all(isinstance(x, (int, np.integer)) for x in a.flat):
            d = dt.int64
        if d is None or not d.is_integer:
            a = _large(a, op)
        elif not all(isinstance(x, (bool, int, float, np.integer, np.floating)) for x in a.flat):
            raise op_error(ValueError, op, "real numbers", f"an array of {a.dtype}")
    to = _plain(a) if d is None else d
    if to.is_integer:
        check_integers(a, to, op)
        if a.dtype.kind in "fO":  # ints beside floats: beyond 2**53 a float64 has not all of them
            a = np.asarray(data, dtype=to.numpy)
        elif a.dtype.kind == "u":
            a = a.astype(np.int64)
    elif a.dtype == np.uint64:
        a = a.astype(np.float64)
    if to.numpy.kind not in "biufc":  # bfloat16 and float8 are not NumPy's own
        return cast(_from_numpy(a, place), to)
    if a.dtype.kind == "c" and not to.is_complex:
        a = a.real
    with np.errstate(over="ignore", invalid="ignore"):
        return _from_numpy(a.astype(to.numpy, copy=False), place)


def _joined(data: Any) -> DType | None:
    """The dtype that the tensors in nested lists have together."""
    if isinstance(data, Tensor):
        return data.dtype
    found = None
    for d in data if isinstance(data, (list, tuple)) else ():
        other = _joined(d)
        found = other if found is None else found if other is None else LATTICE[found, other]
    return found


def _nested(data: Any, d: DType | None, op: str) -> Tensor:
    """Lists with tensors in them, stacked, in one dtype: ``d``, or that of the tensors, which numbers join."""
    joined = _joined(data)
    assert joined is not None

    def stacked(part: Any) -> Tensor:
        if isinstance(part, Tensor):
            return part if d is None else cast(part, d)
        if not _has_tensor(part):
            own = joined if d is None and kind(_plain(np.asarray(part))) <= kind(joined) else d
            return _from_numbers(part, own, None, op)
        parts = [stacked(p) for p in part]
        to = parts[0].dtype
        for p in parts:
            to = LATTICE[to, p.dtype]
        return F.stack([cast(p, to) for p in parts], axis=0)

    return stacked(data)


@public("paddle paddle.tensor")
def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Tensor with a copy of ``data``.

    Args:
        data: a number, nested lists or tuples of numbers and tensors, an array, an object with ``__dlpack__`` or
            ``__array__``, or a tensor, whose history is left behind. Arrays of uint16 hold the bits of bfloat16.
        dtype: the dtype. By default that of the array or tensor; for Python numbers bool, int64, the default floating
            dtype or the complex dtype that goes with it.
        place: where to put it; by default the current place, for a tensor its own.
        stop_gradient: whether gradients stop at it.

    Returns:
        Tensor of the shape of the data.

    Raises:
        TypeError: data is of another kind.
        ValueError: lists are ragged, or elements are of a type that tensors lack.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([[1, 2], [3, 4]])
        Tensor(shape=[2, 2], dtype=int64, place=Place(cpu), stop_gradient=True,
               [[1, 2],
                [3, 4]])
    """
    where = None if place is None else place_of(place, "to_tensor")
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(data, Tensor):
        out = apply1(_COPY, data.detach())
        if where is not None and where is not out.place:
            out = out.to(where)
    elif isinstance(data, (list, tuple)) and _has_tensor(data):
        out = _nested([_detached(d) for d in data], wanted, "to_tensor")
    elif isinstance(data, (np.ndarray, np.generic)):
        try:
            out = _from_numpy(np.asarray(data), where)
        except TypeError as error:
            raise op_error(ValueError, "to_tensor", "a type that tensors have", str(np.asarray(data).dtype)) from error
    elif isinstance(data, (*NUMBERS, list, tuple)):
        out = _from_numbers(data, wanted, where, "to_tensor")
    elif hasattr(data, "__dlpack__"):
        out = apply1(_COPY, from_dlpack(data))
    elif hasattr(data, "__array__"):
        out = _from_numpy(np.asarray(data), where)
    else:
        raise op_error(TypeError, "to_tensor", "a number, a list, a tuple, an array or a Tensor", type(data).__name__)
    if wanted is not None:
        out = cast(out, wanted)
    out.stop_gradient = stop_gradient
    return out


def _detached(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.detach()
    return [_detached(d) for d in x] if isinstance(x, (list, tuple)) else x


@public("paddle paddle.tensor")
def as_tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Tensor with a copy of ``data``: :func:`to_tensor` under other keywords.

    Args:
        data: a number, nested lists or tuples of numbers and tensors, an array or a tensor.
        dtype: the dtype; by default that of the data, as for :func:`to_tensor`.
        device: where to put it; by default the current place, for a tensor its own.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the shape of the data.

    Raises:
        TypeError: data is of another kind.
        ValueError: lists are ragged, or elements are of a type that tensors lack.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.as_tensor([1.0], requires_grad=True).stop_gradient
        False
    """
    return to_tensor(data, dtype, device, not requires_grad)


@public("paddle paddle.tensor")
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """Tensor of ``obj`` that shares its memory where it can.

    Args:
        obj: a tensor, an array, or anything else that :func:`to_tensor` takes.
        dtype: the dtype, by default that of the data; elements of another one are copied.
        device: where to put it; by default the current place, for a tensor its own.
        copy: True always copies, False refuses what cannot be shared, None shares what can be shared.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        Tensor of the shape of ``obj``; a tensor itself where nothing has to be done.

    Raises:
        TypeError: ``obj`` is of another kind.
        ValueError: ``copy`` is False and the memory cannot be shared, or elements are of a type that tensors lack.

    Example:
        >>> import paddle, numpy as np
        >>> a = np.zeros(2)
        >>> x = paddle.asarray(a)
        >>> a[0] = 5
        >>> x.tolist()
        [5.0, 0.0]
    """
    d = None if dtype is None else dtype_of(dtype)
    place = None if device is None else place_of(device, "asarray")
    if copy is True:
        shared = False
    elif isinstance(obj, Tensor):
        shared = d in (None, obj.dtype) and place in (None, obj.place)
    else:
        shared = isinstance(obj, np.ndarray) and (d is None or d.numpy == obj.dtype)
    if not shared:
        if copy is False:
            raise op_error(
                ValueError, "asarray", "a tensor or an array to share, of the dtype and place", type(obj).__name__
            )
        return to_tensor(obj, d, place, not requires_grad)
    if isinstance(obj, Tensor):
        out = obj.detach() if requires_grad else obj
    else:
        out = _from_numpy(obj, place, copy)
    if requires_grad:
        out.stop_gradient = False
    return out


@public("paddle paddle.tensor")
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Tensor over the memory of an array.

    Args:
        ndarray: an array. One that is not writable, or whose bytes are not in the order of the machine, is copied.
            Arrays of uint16 hold the bits of bfloat16.

    Returns:
        Tensor of the array's shape and dtype.

    Raises:
        TypeError: it is not an array, or its elements are of a type that tensors lack.

    Example:
        >>> import paddle, numpy as np
        >>> a = np.zeros(2)
        >>> x = paddle.from_numpy(a)
        >>> a[0] = 5
        >>> x.tolist()
        [5.0, 0.0]
    """
    if not isinstance(ndarray, np.ndarray):
        raise op_error(TypeError, "from_numpy", "an array", type(ndarray).__name__)
    return _from_numpy(ndarray, None, None)


@public("paddle paddle.tensor")
def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Tensor over the memory of an object that speaks DLPack.

    Args:
        dlpack: an object with ``__dlpack__``, such as an array or another framework's tensor, or a capsule.
        device: where to put the result; by default it stays where the memory is.
        copy: None copies only what cannot be shared, False refuses that, True always copies.

    Returns:
        Tensor of the object's shape and dtype.

    Raises:
        TypeError: the object has no ``__dlpack__``.
        BufferError: the memory cannot be shared and ``copy`` is False.

    Example:
        >>> import paddle, numpy as np
        >>> paddle.from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
    """
    from umiak.core.dlpack import from_dlpack as take

    out = take(dlpack, copy)
    return out if device is None else out.to(place_of(device))


@public("paddle paddle.tensor", usual=False)
def to_dlpack(x: Tensor) -> Any:
    """DLPack capsule over the memory of ``x``, which may be consumed once.

    Args:
        x: tensor of any shape.

    Returns:
        A capsule, for :func:`from_dlpack` of this package or of another.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.from_dlpack(paddle.to_dlpack(paddle.ones([2]))).tolist()
        [1.0, 1.0]
    """
    from umiak.core.dlpack import dlpack

    return dlpack(need_tensor(x, "to_dlpack"))


# --- from numbers --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _on(device: Any) -> Iterator[None]:
    """Make tensors on ``device`` inside."""
    if device is None:
        yield
        return
    state = current().state
    old, state.place = state.place, place_of(device)
    try:
        yield
    finally:
        state.place = old


def _finish(x: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        x.stop_gradient = False
    return x


def _filled(value: Any, shape: Any, dtype: DType, device: Any, requires_grad: bool, op: str) -> Tensor:
    sizes = shape_of(shape, op)
    if isinstance(value, Tensor) and value.ndim:
        value = value.reshape([]) if value.size == 1 else value
    elif isinstance(value, builtins.complex) and not dtype.is_complex:
        value = value.real
    if device is not None:
        with _on(device):
            return _finish(F.full(value, dtype, sizes), requires_grad)
    x = F.full(value, dtype, sizes)
    return _finish(x, requires_grad) if requires_grad else x


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def zeros(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.zeros([2, 2], dtype="int32").tolist()
        [[0, 0], [0, 0]]
    """
    return _filled(0, shape, dtype_of(dtype), device, requires_grad, "zeros")


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def ones(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 2], dtype="int32").tolist()
        [[1, 1], [1, 1]]
    """
    return _filled(1, shape, dtype_of(dtype), device, requires_grad, "ones")


@public("paddle paddle.tensor", aliases={"size": "shape"}, ints_from=0)
def empty(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor whose elements are not set.

    Args:
        shape: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.empty([2, 3]).shape
        [2, 3]
    """
    x = _empty(shape_of(shape, "empty"), dtype_of(dtype), None if device is None else place_of(device))
    return _finish(x, requires_grad)


@public("paddle paddle.tensor", aliases={"size": "shape"})
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in which every element is ``fill_value``.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype. By default bool for a bool, complex128 for a complex number, else the default floating dtype;
            for a tensor its own, unless that is an integer one.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: ``fill_value`` is neither a number nor a tensor, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.full([2], 7, dtype="int64").tolist()
        [7, 7]
    """
    if dtype is None:
        if isinstance(fill_value, Tensor):
            d = fill_value.dtype if not fill_value.dtype.is_integer else default_float()
        elif isinstance(fill_value, (bool, np.bool_)):
            d = dt.bool
        else:
            d = dt.complex128 if isinstance(fill_value, builtins.complex) else default_float()
    else:
        d = dtype_of(dtype)
    value = fill_value if isinstance(fill_value, Tensor) else _fill_number(fill_value)
    return _filled(value, shape, d, device, requires_grad, "full")


def _fill_number(v: Any) -> Any:
    if isinstance(v, (np.generic, np.ndarray)):
        return v.item()
    if isinstance(v, str):
        try:
            return float(v)
        except ValueError:
            raise op_error(ValueError, "full", "a number", repr(v)) from None
    if not isinstance(v, NUMBERS):
        raise op_error(TypeError, "full", "a number or a Tensor to fill with", type(v).__name__)
    return v


@public("paddle.tensor")
def fill_constant(
    shape: Any,
    dtype: Any,
    value: Any,
    force_cpu: bool = False,
    out: Any = None,
    place: Any = None,
    name: str | None = None,
) -> Tensor:
    """Tensor in which every element is ``value``: :func:`full` with its parameters in another order.

    Args:
        shape: sizes, as a list, a tuple or an integer tensor.
        dtype: the dtype.
        value: a number, or a tensor of one element.
        force_cpu: without effect.
        out: tensor that is written with the result and returned.
        place: where to put the tensor; by default the current place.

    Returns:
        Tensor of the given shape and dtype.

    Raises:
        TypeError: ``value`` is neither a number nor a tensor, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.tensor.fill_constant([2], "int64", 3).tolist()
        [3, 3]
    """
    return _filled(_fill_number(number(value)), shape, dtype_of(dtype), place, False, "fill_constant")


def _like(value: Any, x: Tensor, dtype: Any, device: Any, requires_grad: bool, op: str) -> Tensor:
    need_tensor(x, op)
    d = x.dtype if dtype is None else dtype_of(dtype)
    where = x.place if device is None else device
    return _filled(value, tuple(x.shape), d, where if where is not current().state.place else None, requires_grad, op)


@public("paddle paddle.tensor")
def zeros_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros in the shape of ``x``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.zeros_like(paddle.ones([2])).tolist()
        [0.0, 0.0]
    """
    return _like(0, x, dtype, device, requires_grad, "zeros_like")


@public("paddle paddle.tensor")
def ones_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones in the shape of ``x``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.ones_like(paddle.zeros([2])).tolist()
        [1.0, 1.0]
    """
    return _like(1, x, dtype, device, requires_grad, "ones_like")


@public("paddle paddle.tensor")
def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in the shape of ``x`` in which every element is ``fill_value``.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor, or ``fill_value`` is neither a number nor a tensor.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.full_like(paddle.ones([2]), 5).tolist()
        [5.0, 5.0]
    """
    value = fill_value if isinstance(fill_value, Tensor) else _fill_number(fill_value)
    return _like(value, x, dtype, device, requires_grad, "full_like")


@public("paddle paddle.tensor")
def empty_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor in the shape of ``x`` whose elements are not set.

    Args:
        x: tensor of any shape and dtype, whose elements are not read.
        dtype: the dtype; by default that of x.
        device: where to put the tensor; by default the place of x.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.empty_like(paddle.ones([2, 3])).shape
        [2, 3]
    """
    need_tensor(x, "empty_like")
    out = _empty(
        tuple(x.shape), x.dtype if dtype is None else dtype_of(dtype), x.place if device is None else place_of(device)
    )
    return _finish(out, requires_grad)


@public("paddle paddle.tensor")
def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers from ``start`` up to, not including, ``end``, with equal steps; ``arange(n)`` counts from 0.

    Args:
        start: the first number; a number or a tensor of one element. Alone it is the end.
        end: the bound, which is not reached.
        step: from one number to the next; negative counts down.
        dtype: the dtype. By default int64 where all three are integers, otherwise the default floating dtype or that of
            a floating tensor among them.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        1-d tensor, empty where ``end`` lies on the other side.

    Raises:
        TypeError: a bound or the step is not a real number, or the dtype is bool or complex.
        ValueError: the step is 0, or becomes 0 in an integer dtype.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.arange(1, 7, 2).tolist()
        [1, 3, 5]
        >>> paddle.arange(3).tolist()
        [0, 1, 2]
    """
    if end is None:
        start, end = 0, start
    return _count("arange", start, end, step, dtype, False, device, requires_grad)


@public("paddle paddle.tensor")
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    name: str | None = None,
) -> Tensor:
    """Numbers from ``start`` up to and including ``end``, with equal steps; ``range(n)`` counts from 0.

    Args:
        start: the first number; a number or a tensor of one element. Alone it is the end.
        end: the bound, which is included where a step reaches it.
        step: from one number to the next; negative counts down.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        1-d tensor, empty where ``end`` lies on the other side.

    Raises:
        TypeError: a bound or the step is not a real number, or the dtype is bool or complex.
        ValueError: the step is 0, or becomes 0 in an integer dtype.
        OverflowError: an integer dtype cannot hold a number.

    Example:
        >>> import paddle
        >>> paddle.range(0, 3).tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    if end is None:
        start, end = 0, start
    return _count("range", start, end, step, dtype_of(dtype), True, device, requires_grad)


def _count(
    op: str, start: Any, end: Any, step: Any, dtype: Any, closed: bool, device: Any, requires_grad: bool
) -> Tensor:
    given = (start, end, step)
    start, end, step = (number(v) for v in given)
    for v in (start, end, step):
        if isinstance(v, (str, builtins.complex)) or v is None:
            raise op_error(TypeError, op, "real numbers", type(v).__name__)
    if step == 0:
        raise op_error(ValueError, op, "a step other than 0", step)
    if dtype is not None:
        d = dtype_of(dtype)
    else:
        tensors = [v.dtype for v in given if isinstance(v, Tensor)]
        floats = [t for t in tensors if t.is_floating]
        d = (
            floats[0]
            if floats
            else default_float()
            if any(isinstance(v, float) for v in (start, end, step))
            else dt.int64
        )
    if d.is_integer:
        start, end, step = dim.to_int(start), dim.to_int(end), dim.to_int(step)
        if step == 0:
            raise op_error(ValueError, op, f"a step that does not become 0 in {d.name}", number(given[2]))
    if all(dim.kind_of(v) == "int" for v in (start, end, step)):
        size = dim.maximum(0, (end - start) // step + 1 if closed else -((start - end) // step))
    else:
        span = (end - start) / step
        size = max(0, int(np.floor(span)) + 1 if closed else int(np.ceil(span)))
    if d.is_integer and type(size) is int and size:
        check_integers(np.array([start, start + (size - 1) * step], object), d, op)
    with _on(device):
        return _finish(F.iota(start, step, d, size), requires_grad)


@public("paddle paddle.tensor", aliases={"end": "stop", "steps": "num"})
def linspace(
    start: Any,
    stop: Any,
    num: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` to ``stop``, both included, at equal distances.

    Args:
        start: the first number; a number or a tensor of one element.
        stop: the last number, in the same form.
        num: how many; 1 gives ``start`` alone.
        dtype: the dtype; by default that of a floating tensor among the ends, otherwise the default floating dtype. For
            an integer dtype fractions are dropped.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).

    Returns:
        1-d tensor of ``num`` elements.

    Raises:
        TypeError: ``num`` is not an integer, or the dtype is bool or complex.
        ValueError: ``num`` is negative.
        OverflowError: an integer dtype cannot hold an end.

    Example:
        >>> import paddle
        >>> paddle.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    d = _float_of(dtype, start, stop)
    a, b, n = _ends("linspace", start, stop, num, d)
    with _on(device):
        return _finish(F.linspace(a, b, d, n) if n else F.full(0, d, (0,)), requires_grad)


@public("paddle paddle.tensor")
def logspace(start: Any, stop: Any, num: Any, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """Powers of ``base`` from ``base**start`` to ``base**stop``, both included, with exponents at equal distances.

    Args:
        start: the first exponent; a number or a tensor of one element.
        stop: the last exponent, in the same form.
        num: how many; 1 gives the first power alone.
        base: a number or a tensor of one element.
        dtype: the dtype; by default that of a floating tensor among the ends, otherwise the default floating dtype.

    Returns:
        1-d tensor of ``num`` elements.

    Raises:
        TypeError: ``num`` is not an integer, or the dtype is bool or complex.
        ValueError: ``num`` is negative.

    Example:
        >>> import paddle
        >>> paddle.logspace(0, 2, 3).tolist()
        [1.0, 10.0, 100.0]
    """
    d = _float_of(dtype, start, stop)
    a, b, n = _ends("logspace", start, stop, num, default_float())
    return F.logspace(a, b, d, n, number(base)) if n else F.full(0, d, (0,))


def _float_of(dtype: Any, *given: Any) -> DType:
    if dtype is not None:
        return dtype_of(dtype)
    return next((v.dtype for v in given if isinstance(v, Tensor) and v.dtype.is_floating), default_float())


def _ends(op: str, start: Any, stop: Any, num: Any, d: DType) -> tuple[Any, Any, int]:
    """Both ends and the count; ``d``: what the ends must be numbers of."""
    n = integer(num, op, "num")
    if n < 0:
        raise op_error(ValueError, op, "a num of 0 or more", n)
    ends = number(start), number(stop)
    if d.is_integer:
        check_integers(np.array(ends, object), d, op)
    return *ends, n


def _from_array(a: np.ndarray, d: DType) -> Tensor:
    return _from_numpy(a.astype(d.numpy))


@public("paddle paddle.tensor", aliases={"n": "num_rows", "m": "num_columns"})
def eye(
    num_rows: Any,
    num_columns: Any = None,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Matrix with ones on the main diagonal and zeros elsewhere.

    Args:
        num_rows: the number of rows.
        num_columns: the number of columns; by default that of rows.
        dtype: the dtype; by default the default floating dtype.
        out: tensor that is written with the result and returned.
        device: where to put the tensor; by default the current place.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of shape ``[num_rows, num_columns]``.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.eye(2, 3).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows = integer(num_rows, "eye", "num_rows")
    columns = rows if num_columns is None else integer(num_columns, "eye", "num_columns")
    if rows < 0 or columns < 0:
        raise op_error(ValueError, "eye", "sizes of 0 or more", (rows, columns))
    with _on(device):
        at = F.eq(F.iota(0, 1, dt.int64, columns), F.unsqueeze(F.iota(0, 1, dt.int64, rows), (1,)))
        return _finish(F.cast(at, dtype=dtype_of(dtype)), requires_grad)


# --- diagonals and triangles ---------------------------------------------------------------------------------------


@public
def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """Matrix with a vector on a diagonal, or the diagonal of a matrix.

    Args:
        x: tensor of any dtype: of rank 0 or 1, the diagonal of a new matrix; of rank 2, a matrix to read.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        padding_value: number, one that x's dtype can hold, which fills the rest of a new matrix.

    Returns:
        Tensor of x's dtype: a square matrix, or a 1-d tensor in memory of its own.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank above 2.

    Example:
        >>> import paddle
        >>> paddle.diag(paddle.to_tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
        >>> paddle.diag(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    need_tensor(x, "diag")
    if x.ndim == 2:
        return apply1(_COPY, F.diagonal(x, 0, 1, offset))
    if x.ndim > 1:
        raise op_error(ValueError, "diag", "a tensor of rank 0, 1 or 2", f"rank {x.ndim}")
    if x.ndim == 0:
        x = F.reshape(x, (1,))
    out = F.diag_embed(x, 0, 1, offset)
    if number(padding_value) == 0:
        return out
    on = F.diag_embed(made_on(x.place, F.full, True, dt.bool, tuple(x.shape)), 0, 1, offset)
    return F.where(on, out, number(padding_value))


@public
def diagflat(x: Tensor, offset: int = 0, name: str | None = None) -> Tensor:
    """Matrix with all elements of ``x``, in row-major order, on a diagonal and zeros elsewhere.

    Args:
        x: tensor of any shape and dtype.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.

    Returns:
        Square matrix of x's dtype.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.diagflat(paddle.to_tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    need_tensor(x, "diagflat")
    return F.diag_embed(F.reshape(x, (x.size,)), 0, 1, offset)


@public(aliases={"x": "input"})
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the rows of ``input`` on a diagonal and zeros elsewhere.

    Args:
        input: tensor of rank 1 or more, of any dtype, or data for :func:`to_tensor`. Its last dim goes onto diagonals.
        offset: which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
        dim1: the dim of the result that counts as rows; negative counts from the end.
        dim2: the dim of the result that counts as columns.

    Returns:
        Tensor of input's dtype, with one dim more.

    Raises:
        IndexError: the result has no such dim, or input is 0-d.
        ValueError: the two dims are the same.

    Example:
        >>> import paddle
        >>> paddle.diag_embed(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    """
    x = input if isinstance(input, Tensor) else to_tensor(input)
    n = x.ndim + 1
    return F.diag_embed(x, axis1=axis_of(dim1, n, "diag_embed"), axis2=axis_of(dim2, n, "diag_embed"), offset=offset)


@public
def tril(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Lower triangle of matrices, with zeros above it.

    Args:
        x: tensor of shape ``[..., m, n]``, of any dtype.
        diagonal: the highest diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones below.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2.

    Example:
        >>> import paddle
        >>> paddle.tril(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[1, 0], [3, 4]]
    """
    return F.tril(need_tensor(x, "tril"), integer(diagonal, "tril", "diagonal"))


tril_ = inplace(tril)


@public
def triu(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """Upper triangle of matrices, with zeros below it.

    Args:
        x: tensor of shape ``[..., m, n]``, of any dtype.
        diagonal: the lowest diagonal that is kept: 0 is the main one, positive ones lie above it, negative ones below.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x has a rank below 2.

    Example:
        >>> import paddle
        >>> paddle.triu(paddle.to_tensor([[1, 2], [3, 4]])).tolist()
        [[1, 2], [0, 4]]
    """
    return F.triu(need_tensor(x, "triu"), integer(diagonal, "triu", "diagonal"))


triu_ = inplace(triu)


def _triangle(op: str, find: Any, row: Any, col: Any, offset: Any, dtype: Any) -> Tensor:
    r = integer(row, op, "row")
    c = r if col is None else integer(col, op, "col")
    if r < 0 or c < 0:
        raise op_error(ValueError, op, "sizes of 0 or more", (r, c))
    return _from_array(np.stack(find(r, integer(offset, op, "offset"), c)), dtype_of(dtype, dt.int64))


@public("paddle paddle.tensor")
def tril_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Coordinates of the lower triangle of a matrix, row by row.

    Args:
        row: the number of rows.
        col: the number of columns; by default that of rows.
        offset: the highest diagonal of the triangle: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the coordinates.

    Returns:
        Tensor of shape ``[2, n]``: rows and columns.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.tril_indices(2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


@public("paddle paddle.tensor")
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Coordinates of the upper triangle of a matrix, row by row.

    Args:
        row: the number of rows.
        col: the number of columns; by default that of rows.
        offset: the lowest diagonal of the triangle: 0 is the main one, positive ones lie above it.
        dtype: the dtype of the coordinates.

    Returns:
        Tensor of shape ``[2, n]``: rows and columns.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)


# --- grids and combinations ----------------------------------------------------------------------------------------


@public("paddle paddle.tensor")
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates of a grid: for each 1-d tensor, its elements at all points.

    Args:
        *args: tensors of rank 0 or 1, of any dtype, separately or in one list.
        **kwargs: ``indexing``: ``"ij"``, the default, puts the first tensor along the first dim and the second along
            the second; ``"xy"`` swaps these two.

    Returns:
        List of tensors, one for each of those given and of its dtype, all of one shape.

    Raises:
        TypeError: an argument is not a tensor, or there is no such keyword.
        ValueError: a tensor has a rank above 1, or there is no such indexing.

    Example:
        >>> import paddle
        >>> a, b = paddle.meshgrid(paddle.arange(2), paddle.arange(3))
        >>> a.tolist(), b.tolist()
        ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    indexing = kwargs.pop("indexing", None) or "ij"
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"meshgrid() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if indexing not in ("ij", "xy"):
        raise op_error(ValueError, "meshgrid", "an indexing of 'ij' or 'xy'", repr(indexing))
    tensors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    for x in tensors:
        if need_tensor(x, "meshgrid").ndim > 1:
            raise op_error(ValueError, "meshgrid", "1-d tensors", x.shape)
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors[:2] = tensors[1::-1]
    shape = tuple(x.size for x in tensors)
    out = []
    for k, x in enumerate(tensors):
        column = F.reshape(x, tuple(x.size if i == k else 1 for i in builtins.range(len(shape))))
        out.append(apply1(_COPY, F.broadcast_to(column, shape)))
    if swap:
        out[:2] = out[1::-1]
    return out


@public("paddle paddle.tensor", usual=False)
def cartesian_prod(x: Sequence[Tensor], name: str | None = None) -> Tensor:
    """Cartesian product: every combination of one element from each of several 1-d tensors.

    Args:
        x: a list or tuple of tensors of rank 0 or 1 and of one dtype.

    Returns:
        Tensor with a row for each choice and a column for each tensor; of a single tensor, that tensor.

    Raises:
        TypeError: x is not a list or tuple of tensors, or dtypes differ.
        ValueError: a tensor has a rank above 1, or there is no tensor.

    Example:
        >>> import paddle
        >>> paddle.cartesian_prod([paddle.arange(2), paddle.arange(2)]).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    if not isinstance(x, (list, tuple)):
        raise op_error(TypeError, "cartesian_prod", "a list or tuple of tensors", type(x).__name__)
    tensors = [need_tensor(v, "cartesian_prod", "each of x") for v in x]
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(tensors)
    return F.stack([F.reshape(g, (g.size,)) for g in grids], axis=1)


@public
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """Combinations of ``r`` elements of a vector, one in each row, in lexicographic order of their indices.

    Args:
        x: 1-d tensor of any dtype.
        r: the number of elements in a combination, 0 or more.
        with_replacement: whether an element may be chosen more than once.

    Returns:
        Tensor of x's dtype ``[number of combinations, r]``; for ``r = 0`` an empty tensor ``[0]``.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x is not 1-d, or ``r`` is negative.

    Example:
        >>> import paddle
        >>> paddle.combinations(paddle.to_tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    if need_tensor(x, "combinations").ndim != 1:
        raise op_error(ValueError, "combinations", "a 1-d tensor", x.shape)
    r = integer(r, "combinations", "r")
    if r < 0:
        raise op_error(ValueError, "combinations", "an r of 0 or more", r)
    if r == 0:
        return made_on(x.place, F.full, 0, x.dtype, (0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(builtins.range(x.size), r)), np.int64).reshape(-1, r)
    return F.take(x, _from_numpy(rows, x.place), axis=0)


@public
def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """Vandermonde matrix: powers of a vector as columns.

    Args:
        x: 1-d tensor of a numeric dtype.
        n: the number of columns; by default the size of x.
        increasing: whether powers rise from 0; otherwise they fall to 0.

    Returns:
        Tensor of x's dtype, with a row for each element and ``n`` columns.

    Raises:
        TypeError: x is not a tensor.
        ValueError: x is not 1-d, or ``n`` is negative.

    Example:
        >>> import paddle
        >>> paddle.vander(paddle.to_tensor([1, 2, 3]), 3).tolist()
        [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    """
    if need_tensor(x, "vander").ndim != 1:
        raise op_error(ValueError, "vander", "a 1-d tensor", x.shape)
    n = x.shape[0] if n is None else integer(n, "vander", "n")
    if n < 0:
        raise op_error(ValueError, "vander", "an n of 0 or more", n)
    powers = made_on(x.place, F.iota, 0 if increasing else n - 1, 1 if increasing else -1, dt.int64, n)
    return F.pow(F.unsqueeze(x, (1,)), cast(powers, x.dtype))


# --- copies and complex numbers ------------------------------------------------------------------------------------


@public("paddle paddle.tensor", usual=False)
def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Copy of ``x`` through which gradients pass.

    Args:
        x: a tensor, an array, a number, or nested lists or tuples of numbers and tensors.
        output: tensor that is written with the copy and returned.

    Returns:
        Tensor of x's shape and dtype; of a number, of shape ``[1]``.

    Raises:
        TypeError: x is of another kind.
        ValueError: lists are ragged.
        OverflowError: an integer does not fit 64 bits.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> paddle.assign(paddle.ones([2]), x).tolist(), x.tolist()
        ([1.0, 1.0], [1.0, 1.0])
    """
    if isinstance(x, Tensor):
        value = apply1(_COPY, x)
    elif isinstance(x, (list, tuple)) and _has_tensor(x):
        value = _nested(x, None, "assign")
    elif isinstance(x, (*NUMBERS, list, tuple, np.ndarray, np.generic)):
        a = _array(x, "assign")
        if not isinstance(x, (np.ndarray, np.generic)) and a.dtype.kind in "uO":
            check_integers(a if a.dtype.kind == "u" else np.asarray(_large(a, "assign")), dt.int64, "assign")
        if a.dtype.kind in "OSU":
            raise op_error(TypeError, "assign", "numbers", f"an array of {a.dtype}")
        value = _from_numpy(a if isinstance(x, np.ndarray) or a.ndim else a.reshape(1))
    else:
        raise op_error(TypeError, "assign", "a Tensor, an array, a number or a list of numbers", type(x).__name__)
    if output is None:
        return value
    return into(output, value)


@public(op=_COPY)
def clone(x: Tensor, name: str | None = None) -> Tensor:
    """Copy of ``x`` through which gradients pass.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        Tensor of x's shape and dtype, in memory of its own.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> y = paddle.clone(x)
        >>> y[0] = 5.0
        >>> x.tolist(), y.tolist()
        ([1.0, 1.0], [5.0, 1.0])
    """
    return apply1(_COPY, need_tensor(x, "clone"))


@public("paddle paddle.tensor")
def complex(real: Tensor, imag: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers of real and imaginary parts.

    Args:
        real: float32 or float64 tensor of any shape.
        imag: tensor of real's dtype that broadcasts with it.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of dtype complex64 or complex128.

    Raises:
        TypeError: a part is not a tensor, the dtypes differ or are others.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.complex(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist()
        [(1+2j)]
    """
    return F.complex(need_tensor(real, "complex", "real"), need_tensor(imag, "complex", "imag"))


@public
def polar(abs: Tensor, angle: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers of absolute values and angles.

    Args:
        abs: float32 or float64 tensor of any shape: absolute values.
        angle: tensor of the same dtype that broadcasts with it: angles in radians.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of dtype complex64 or complex128.

    Raises:
        TypeError: an operand is not a tensor, the dtypes differ or are others.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.polar(paddle.to_tensor([2.0]), paddle.to_tensor([0.0])).tolist()
        [(2+0j)]
    """
    need_tensor(abs, "polar", "abs")
    need_tensor(angle, "polar", "angle")
    return F.polar(abs, angle)


# --- by dtype ------------------------------------------------------------------------------------------------------


def _typed(d: DType, args: tuple, device: Any) -> Tensor:
    """``FloatTensor([1, 2])`` makes a tensor of data, ``FloatTensor(2, 3)`` one of a shape, not filled."""
    if not args:
        return empty([0], d, device=device)
    if all(isinstance(a, int) for a in args):
        return empty(list(args), d, device=device)
    if len(args) > 1:
        raise op_error(TypeError, "to_tensor", "data in one argument, or sizes", f"{len(args)} arguments")
    return to_tensor(args[0], d, device)


@public("paddle paddle.tensor paddle.device")
def BFloat16Tensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype bfloat16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype bfloat16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.BFloat16Tensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.BFloat16Tensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.bfloat16, args, device)


@public("paddle paddle.tensor paddle.device")
def BoolTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype bool: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype bool.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.BoolTensor([1, 2]).tolist()
        [True, True]
        >>> paddle.BoolTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.bool, args, device)


@public("paddle paddle.tensor paddle.device")
def ByteTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype uint8: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype uint8.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ByteTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.ByteTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.uint8, args, device)


@public("paddle paddle.tensor paddle.device")
def CharTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int8: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int8.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.CharTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.CharTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int8, args, device)


@public("paddle paddle.tensor paddle.device")
def DoubleTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float64: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float64.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.DoubleTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.DoubleTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float64, args, device)


@public("paddle paddle.tensor paddle.device")
def FloatTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float32: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float32.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.FloatTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.FloatTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float32, args, device)


@public("paddle paddle.tensor paddle.device")
def HalfTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype float16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype float16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.HalfTensor([1, 2]).tolist()
        [1.0, 2.0]
        >>> paddle.HalfTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float16, args, device)


@public("paddle paddle.tensor paddle.device")
def IntTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int32: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int32.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.IntTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.IntTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int32, args, device)


@public("paddle paddle.tensor paddle.device")
def LongTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int64: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int64.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.LongTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.LongTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int64, args, device)


@public("paddle paddle.tensor paddle.device")
def ShortTensor(*args: Any, device: Any = None) -> Tensor:
    """Tensor of dtype int16: of the given data, or of the given sizes with elements that are not set.

    Args:
        *args: data as for :func:`to_tensor`, or sizes as separate ints; nothing makes an empty tensor.
        device: where to put the tensor; by default the current place.

    Returns:
        Tensor of dtype int16.

    Raises:
        TypeError: the data are of a kind that tensors are not made of, or there are several.
        ValueError: lists are ragged, or a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ShortTensor([1, 2]).tolist()
        [1, 2]
        >>> paddle.ShortTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int16, args, device)
