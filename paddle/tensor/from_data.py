"""Tensors of data: numbers and lists, arrays, DLPack capsules, other tensors."""

from __future__ import annotations

import builtins
from array import array
from typing import Any

import numpy as np

from paddle._public import into, public
from paddle.framework.grad_mode import is_grad_enabled
from paddle.framework.place import place_of
from paddle.tensor._args import NUMBERS, default_float, dtype_of, need_tensor, of_sizes, op_error
from paddle.tensor._args import cast as _cast_to
from paddle.tensor._tensor_array import TensorArray
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy as _of_array
from umiak.core.context import capture_of
from umiak.core.dlpack import dlpack as _capsule
from umiak.core.dlpack import from_dlpack as _take
from umiak.core.dtype import DType
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray
from umiak.ir.tracer import SymTensor
from umiak.ops import scalars
from umiak.ops.promotion import LATTICE, kind

_COPY = F.Copy()


def _has_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and any(map(_has_tensor, x)))


def _plain(a: np.ndarray) -> DType:
    """The dtype of Python scalars that NumPy took to be of the dtype of ``a``."""
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


def _from_numpy(a: np.ndarray, *args: Any) -> Tensor:
    """A tensor of an array, of which a program that is recorded knows that it is a constant."""
    out = _of_array(a, *args)
    if (tracer := capture_of()) is not None:
        tracer.makes_of_data(out)
    return out


def of_numbers(a: np.ndarray, place: Any = None) -> Tensor:
    """A tensor of an array that was made of Python's numbers, whose elements captured functions know."""
    out = _from_numpy(a, place)
    if (tracer := capture_of()) is not None:
        tracer.makes_of_numbers(out)
    return out


def _from_numbers(data: Any, d: DType | None, place: Any, op: str) -> Tensor:
    """A tensor of nested lists of Python scalars (and arrays), each rounded once, to the dtype that is wanted."""
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
        return _cast_to(_from_numpy(a, place), to)
    if a.dtype.kind == "c" and not to.is_complex:
        a = a != 0 if to.is_bool else a.real
    with np.errstate(over="ignore", invalid="ignore"):
        return of_numbers(a.astype(to.numpy, copy=False), place)


def _joined(data: Any) -> DType | None:
    """The dtype that the tensors in nested lists have together."""
    if isinstance(data, Tensor):
        return data.dtype
    dtype = None
    for d in data if isinstance(data, (list, tuple)) else ():
        other = _joined(d)
        dtype = other if dtype is None else dtype if other is None else LATTICE[dtype, other]
    return dtype


def _nested(data: Any, d: DType | None, op: str) -> Tensor:
    """Lists with tensors in them, stacked, in one dtype: ``d``, or that of the tensors, which numbers join."""
    joined = _joined(data)
    assert joined is not None

    def stacked(part: Any) -> Tensor:
        if isinstance(part, Tensor):
            return part if d is None else _cast_to(part, d)
        if not _has_tensor(part):
            own = joined if d is None and kind(_plain(np.asarray(part))) <= kind(joined) else d
            return _from_numbers(part, own, None, op)
        parts = [stacked(p) for p in part]
        to = parts[0].dtype
        for p in parts:
            to = LATTICE[to, p.dtype]
        return F.stack([_cast_to(p, to) for p in parts], axis=0)

    return stacked(data)


@public("paddle paddle.tensor")
def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Tensor with a copy of ``data``.

    Args:
        data: a number, nested lists or tuples of numbers and tensors, an array, an object with ``__dlpack__``,
            ``__array__`` or ``__array_interface__``, a ``memoryview``, ``bytearray`` or ``array.array``, or a tensor,
            whose history is left behind. Arrays of uint16 hold the bits of bfloat16.
        dtype: the dtype. By default that of the array or tensor; for Python scalars bool, int64, the default floating
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
    if isinstance(data, SizeArray):
        data = of_sizes(data)
    elif type(data) is TensorArray:
        data = data.stack(0)
    elif capture_of() is not None and _has_size(data):
        data = _with_sizes(data)
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
    elif _is_like_array(data):
        out = _from_numpy(np.asarray(data), where)
    else:
        raise op_error(TypeError, "to_tensor", "a number, a list, a tuple, an array or a Tensor", type(data).__name__)
    if wanted is not None:
        out = _cast_to(out, wanted)
    if stop_gradient:
        out = _made_here(out)
    out.stop_gradient = stop_gradient
    return out


def _made_here(x: Tensor) -> Tensor:
    """A constant; in a branch or loop body a copy of it, which is made anew whenever the run comes there."""
    tracer = capture_of()
    return apply1(_COPY, x) if tracer is not None and tracer.frames and x.storage is not None else x


def _has_size(x: Any) -> bool:
    return type(x) is Sym or (isinstance(x, (list, tuple)) and any(map(_has_size, x)))


def _has_float(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_has_float, x))
    return isinstance(x, float) or (type(x) is Sym and x.kind == "float")


def _with_sizes(data: Any) -> Any:
    """Symbolic sizes, what is computed of them, and the numbers beside them in nested lists, as tensors."""
    if isinstance(data, (list, tuple)):
        return [_with_sizes(d) for d in data]
    if type(data) is Sym:
        return F.full(data, shape=(), dtype={"int": dt.int64, "bool": dt.bool}.get(data.kind) or default_float())
    return F.full(data, shape=(), dtype=_plain(np.asarray(data))) if isinstance(data, NUMBERS) else data


def _is_like_array(x: Any) -> bool:
    """Return whether NumPy can show the memory of an object as an array."""
    if isinstance(x, (bytearray, memoryview, array)):
        return True
    return hasattr(x, "__array__") or hasattr(x, "__array_interface__")


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
        obj: a tensor, an array, or anything else that :func:`to_tensor` takes. What has memory of its own is shared,
            by ``__dlpack__`` or as NumPy sees it.
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
    if copy is not True and not isinstance(obj, (Tensor, np.ndarray)):
        obj = _shown(obj)
    shared = copy is not True and (
        (isinstance(obj, Tensor) and d in (None, obj.dtype) and place in (None, obj.place))
        or (isinstance(obj, np.ndarray) and (d is None or d.numpy == obj.dtype))
    )
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


def _shown(x: Any) -> Any:
    """An object's memory as a tensor or an array over it; what has none as it is."""
    if hasattr(x, "__dlpack__"):
        return _take(x, None)
    return np.asarray(x) if _is_like_array(x) else x


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


@public("paddle paddle.tensor paddle.utils.dlpack", usual=False)
def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Tensor over the memory of an object that speaks DLPack.

    Args:
        dlpack: an object with ``__dlpack__``, such as an array or another framework's tensor, or a capsule, which can
            be taken once.
        device: where to put the result, a place or a device's name; by default it stays where the memory is.
        copy: None copies only what cannot be shared (read-only or unaligned memory, memory of another device, unsigned
            integers of 16 to 64 bits, which become int32 or int64), False refuses that, True always copies.

    Returns:
        Tensor of the object's shape, strides and dtype, with ``stop_gradient=True``. The memory belongs to the producer
        until the tensor is gone.

    Raises:
        TypeError: the object has no ``__dlpack__``, or elements of a type that tensors lack.
        ValueError: the capsule was taken before, or the device is not known.
        BufferError: the memory cannot be shared and ``copy`` is False; or the producer refuses, as tensors do that
            want gradients.
        OverflowError: integers of uint64 are too large for int64.

    Example:
        >>> import paddle, numpy as np
        >>> paddle.from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
    """
    return _take(dlpack, copy, None if device is None else place_of(device, "from_dlpack"))


@public("paddle paddle.tensor paddle.utils.dlpack", usual=False)
def to_dlpack(x: Tensor) -> Any:
    """DLPack capsule over the memory of ``x``, which may be consumed once.

    It is of the form from before DLPack 1.0, ``"dltensor"``, which every library reads.

    Args:
        x: tensor of any shape and dtype; gradients do not pass.

    Returns:
        A capsule, for :func:`from_dlpack` of this package or of another.

    Raises:
        TypeError: x is not a tensor.
        BufferError: x is sparse or symbolic.

    Example:
        >>> import paddle
        >>> paddle.from_dlpack(paddle.to_dlpack(paddle.ones([2]))).tolist()
        [1.0, 1.0]
    """
    return _capsule(x if isinstance(x, Tensor) else need_tensor(x, "to_dlpack"))


@public("paddle paddle.tensor", usual=False)
def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Copy of ``x`` through which gradients pass.

    Args:
        x: a tensor, an array, a number, or nested lists or tuples of numbers and tensors.
        output: tensor that is written with the copy and returned. A leaf gets no gradient from then on if x wants one.

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
    elif capture_of() is not None and _has_size(x):
        value = to_tensor(x if isinstance(x, (list, tuple)) else [x], "float64" if _has_float(x) else None)
    elif isinstance(x, (list, tuple)) and _has_tensor(x):
        value = _nested(x, None, "assign")
    elif isinstance(x, (*NUMBERS, list, tuple, np.ndarray, np.generic)):
        a = _array(x, "assign")
        if not isinstance(x, (np.ndarray, np.generic)) and a.dtype.kind in "uO":
            check_integers(a if a.dtype.kind == "u" else np.asarray(_large(a, "assign")), dt.int64, "assign")
        if a.dtype.kind in "OSU":
            raise op_error(TypeError, "assign", "numbers", f"an array of {a.dtype}")
        value = _made_here(_from_numpy(a if isinstance(x, np.ndarray) or a.ndim else a.reshape(1)))
    else:
        raise op_error(TypeError, "assign", "a Tensor, an array, a number or a list of numbers", type(x).__name__)
    if output is None:
        return value
    tracer = capture_of()
    if tracer is not None and tracer.static and not isinstance(output, SymTensor):
        return into(output, value)  # a program's parameters and constants stay what they are
    if isinstance(output, Tensor) and output.is_leaf and not output.stop_gradient and is_grad_enabled():
        # A leaf takes the history of the value; without one it stays a leaf.
        output.stop_gradient = True
        into(output, value)
        if value.stop_gradient:
            output.stop_gradient = False
        return output
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
