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
from umiak.core.dispatch import apply1
from umiak.core.dtype import DType
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


def _check_integers(a: np.ndarray, d: DType, op: str) -> None:
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


def _from_numbers(data: Any, d: DType | None, place: Any, op: str) -> Tensor:
    """A tensor of nested lists of Python numbers (and arrays), each rounded once, to the dtype that is wanted."""
    a = np.asarray(data)
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
        _check_integers(a, to, op)
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
    """A new tensor with a copy of ``data``.

    Args:
        data: a number, nested lists or tuples of numbers, an array, or a tensor (whose history is left behind).
        dtype: by default that of the array or tensor; for Python numbers bool, int64, the default floating dtype or its
            complex counterpart.
        place: where to put it, by default the current place.
        stop_gradient: whether gradients stop at it.

    Raises TypeError for other kinds of data and ValueError for ragged lists and types that tensors lack.

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
    """:func:`to_tensor` under other names.

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
    """A tensor of ``obj``: shared where it is a tensor or an array and ``copy`` is not True, else copied.

    Example:
        >>> import paddle, numpy as np
        >>> paddle.asarray(np.ones(2)).dtype
        paddle.float64
    """
    if copy is not True and dtype is None and isinstance(obj, Tensor):
        out = obj if not requires_grad else obj.detach()
    elif copy is not True and dtype is None and isinstance(obj, np.ndarray):
        out = _from_numpy(obj, None if device is None else place_of(device), copy)
    else:
        return to_tensor(obj, dtype, device, not requires_grad)
    if requires_grad:
        out.stop_gradient = False
    return out


@public("paddle paddle.tensor")
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of an array where it can (writable, a type tensors have), else a copy.

    Example:
        >>> import paddle, numpy as np
        >>> a = np.zeros(2)
        >>> x = paddle.from_numpy(a)
        >>> a[0] = 5
        >>> float(x[0])
        5.0
    """
    if not isinstance(ndarray, np.ndarray):
        raise op_error(TypeError, "from_numpy", "an array", type(ndarray).__name__)
    return _from_numpy(ndarray, None, None)


@public("paddle paddle.tensor")
def from_dlpack(dlpack: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of an object that has ``__dlpack__``, or of a capsule.

    Args:
        dlpack: for example an array or another framework's tensor.
        device: where to put it.
        copy: None copies only what cannot be shared; False raises BufferError there; True copies.

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
    """A DLPack capsule over the memory of ``x``; it may be consumed once.

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
    """A tensor of zeros.

    Args:
        shape: sizes, as a list, separate ints, or an integer tensor.
        dtype: by default the default floating dtype.
        out: written instead of making a tensor.
        device: where to put it.
        requires_grad: the opposite of ``stop_gradient``.

    Raises ValueError for a negative size.

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
    """A tensor of ones; arguments as for :func:`zeros`.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).tolist()
        [1.0, 1.0]
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
    """A tensor whose elements are not set; arguments as for :func:`zeros`.

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
    """A tensor with every element ``fill_value``, a number or a tensor of one element.

    The dtype is by default bool for bools, complex for complex numbers, else the default floating dtype.

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
        return float(v)
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
    """:func:`full` with its arguments in the order of static programs.

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
    """Zeros of the shape, dtype and place of ``x``, or of those given.

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
    """Ones of the shape, dtype and place of ``x``, or of those given.

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
    """``fill_value`` everywhere, in the shape, dtype and place of ``x``, or in those given.

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
    """Elements that are not set, in the shape, dtype and place of ``x``, or in those given.

    Example:
        >>> import paddle
        >>> paddle.empty_like(paddle.ones([2])).shape
        [2]
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
    """Numbers from ``start`` up to, not including, ``end``, ``step`` apart; ``arange(n)`` is from 0 to n.

    int64 where all three are integers, else the default floating dtype, unless ``dtype`` says otherwise.
    Raises ValueError for a step of 0.

    Example:
        >>> import paddle
        >>> paddle.arange(1, 7, 2).tolist()
        [1, 3, 5]
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
    """Numbers from ``start`` up to and including ``end``, ``step`` apart.

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
            raise op_error(ValueError, op, "a step other than 0", step)
    if all(dim.kind_of(v) == "int" for v in (start, end, step)):
        size = dim.maximum(0, (end - start) // step + 1 if closed else -((start - end) // step))
    else:
        span = (end - start) / step
        size = max(0, int(np.floor(span)) + 1 if closed else int(np.ceil(span)))
    if d.is_integer and type(size) is int and size:
        _check_integers(np.array([start, start + (size - 1) * step], object), d, op)
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
    """``num`` numbers from ``start`` to ``stop``, both included, evenly apart.

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
    """``num`` numbers from ``base**start`` to ``base**stop``, both included, with evenly spaced exponents.

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
        _check_integers(np.array(ends, object), d, op)
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
    """A matrix with ones on the main diagonal and zeros elsewhere; square by default.

    Example:
        >>> import paddle
        >>> paddle.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
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
    """A matrix with the vector ``x`` on a diagonal; of a matrix ``x``, that diagonal.

    Args:
        x: 1-d or 2-d.
        offset: 0 is the main diagonal; positive ones lie above it.
        padding_value: fills the rest of the matrix.

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
    """A matrix with all elements of ``x``, in row-major order, on a diagonal.

    Example:
        >>> import paddle
        >>> paddle.diagflat(paddle.to_tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    need_tensor(x, "diagflat")
    return F.diag_embed(F.reshape(x, (x.size,)), 0, 1, offset)


@public(aliases={"x": "input"})
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dim of ``input`` on diagonals of new matrices in dims ``dim1`` and ``dim2``.

    Example:
        >>> import paddle
        >>> paddle.diag_embed(paddle.ones([2, 3])).shape
        [2, 3, 3]
    """
    x = input if isinstance(input, Tensor) else to_tensor(input)
    n = x.ndim + 1
    return F.diag_embed(x, axis1=axis_of(dim1, n, "diag_embed"), axis2=axis_of(dim2, n, "diag_embed"), offset=offset)


@public
def tril(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """The lower triangle of matrices: zero above the given diagonal.

    Args:
        x: of rank 2 or more.
        diagonal: the last diagonal that is kept: 0 the main one, positive above it.

    Example:
        >>> import paddle
        >>> paddle.tril(paddle.ones([2, 2])).tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    return F.tril(need_tensor(x, "tril"), integer(diagonal, "tril", "diagonal"))


tril_ = inplace(tril)


@public
def triu(x: Tensor, diagonal: int = 0, name: str | None = None, *, out: Any = None) -> Tensor:
    """The upper triangle of matrices: zero below the given diagonal.

    Args:
        x: of rank 2 or more.
        diagonal: the first diagonal that is kept: 0 the main one, positive above it.

    Example:
        >>> import paddle
        >>> paddle.triu(paddle.ones([2, 2])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
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
    """Row and column indices, ``[2, n]``, of the lower triangle of a matrix of ``row`` by ``col``.

    Example:
        >>> import paddle
        >>> paddle.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


@public("paddle paddle.tensor")
def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: Any = "int64") -> Tensor:
    """Row and column indices, ``[2, n]``, of the upper triangle of a matrix of ``row`` by ``col``.

    Example:
        >>> import paddle
        >>> paddle.triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)


# --- grids and combinations ----------------------------------------------------------------------------------------


@public("paddle paddle.tensor")
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """The coordinates of a grid: for each 1-d tensor, its values over all points.

    Args:
        args: 1-d (or 0-d) tensors, or one list of them.
        indexing: ``"ij"``, the first tensor along the first dim, or ``"xy"``, along the second.

    Example:
        >>> import paddle
        >>> a, b = paddle.meshgrid(paddle.arange(2), paddle.arange(3))
        >>> a.tolist(), b.shape
        ([[0, 0, 0], [1, 1, 1]], [2, 3])
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
    """Every way to take one element of each 1-d tensor, a row each; of one tensor, the tensor.

    Example:
        >>> import paddle
        >>> paddle.cartesian_prod([paddle.arange(2), paddle.arange(2)]).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    tensors = list(x)
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(tensors)
    return F.stack([F.reshape(g, (g.size,)) for g in grids], axis=1)


@public
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> Tensor:
    """Every choice of ``r`` elements of the 1-d ``x``, in its order, a row each.

    Example:
        >>> import paddle
        >>> paddle.combinations(paddle.to_tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    if need_tensor(x, "combinations").ndim != 1:
        raise op_error(ValueError, "combinations", "a 1-d tensor", x.shape)
    if r < 0:
        raise op_error(ValueError, "combinations", "an r of 0 or more", r)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(builtins.range(x.size), r)), np.int64).reshape(-1, r)
    if r == 0:
        return made_on(x.place, F.full, 0, x.dtype, (0,))
    return F.take(x, _from_numpy(rows, x.place), axis=0)


@public
def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """Powers of the 1-d ``x`` as columns, falling from n - 1 to 0 unless ``increasing``.

    Example:
        >>> import paddle
        >>> paddle.vander(paddle.to_tensor([1, 2, 3]), 2).tolist()
        [[1, 1], [2, 1], [3, 1]]
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
    """A copy of ``x``, written into ``output`` if one is given. Gradients pass.

    Args:
        x: a tensor, an array, a number, or a list or tuple of numbers.

    Example:
        >>> import paddle
        >>> paddle.assign(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if isinstance(x, Tensor):
        value = apply1(_COPY, x)
    elif isinstance(x, (list, tuple)) and _has_tensor(x):
        value = _nested(x, None, "assign")
    elif isinstance(x, (*NUMBERS, list, tuple, np.ndarray, np.generic)):
        a = np.asarray(x)
        if not isinstance(x, (np.ndarray, np.generic)) and a.dtype.kind in "uO":
            _check_integers(a if a.dtype.kind == "u" else np.asarray(_large(a, "assign")), dt.int64, "assign")
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
    """A copy of ``x`` through which gradients pass.

    Example:
        >>> import paddle
        >>> paddle.clone(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    return apply1(_COPY, need_tensor(x, "clone"))


@public("paddle paddle.tensor")
def complex(real: Tensor, imag: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers with the given real and imaginary parts, float32 or float64 tensors that broadcast.

    Example:
        >>> import paddle
        >>> paddle.complex(paddle.ones([1]), paddle.ones([1])).tolist()
        [(1+1j)]
    """
    return F.complex(need_tensor(real, "complex", "real"), need_tensor(imag, "complex", "imag"))


@public
def polar(abs: Tensor, angle: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Complex numbers of the given sizes and angles.

    Example:
        >>> import paddle
        >>> paddle.polar(paddle.ones([1]), paddle.zeros([1])).tolist()
        [(1+0j)]
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
    return to_tensor(args[0], d, device)


@public("paddle paddle.tensor paddle.device")
def BFloat16Tensor(*args: Any, device: Any = None) -> Tensor:
    """A bfloat16 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.BFloat16Tensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.bfloat16, args, device)


@public("paddle paddle.tensor paddle.device")
def BoolTensor(*args: Any, device: Any = None) -> Tensor:
    """A bool tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.BoolTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.bool, args, device)


@public("paddle paddle.tensor paddle.device")
def ByteTensor(*args: Any, device: Any = None) -> Tensor:
    """A uint8 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.ByteTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.uint8, args, device)


@public("paddle paddle.tensor paddle.device")
def CharTensor(*args: Any, device: Any = None) -> Tensor:
    """A int8 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.CharTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int8, args, device)


@public("paddle paddle.tensor paddle.device")
def DoubleTensor(*args: Any, device: Any = None) -> Tensor:
    """A float64 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.DoubleTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float64, args, device)


@public("paddle paddle.tensor paddle.device")
def FloatTensor(*args: Any, device: Any = None) -> Tensor:
    """A float32 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.FloatTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float32, args, device)


@public("paddle paddle.tensor paddle.device")
def HalfTensor(*args: Any, device: Any = None) -> Tensor:
    """A float16 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.HalfTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.float16, args, device)


@public("paddle paddle.tensor paddle.device")
def IntTensor(*args: Any, device: Any = None) -> Tensor:
    """A int32 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.IntTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int32, args, device)


@public("paddle paddle.tensor paddle.device")
def LongTensor(*args: Any, device: Any = None) -> Tensor:
    """A int64 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.LongTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int64, args, device)


@public("paddle paddle.tensor paddle.device")
def ShortTensor(*args: Any, device: Any = None) -> Tensor:
    """A int16 tensor of the given data, or of the given sizes.

    Example:
        >>> import paddle
        >>> paddle.ShortTensor(2, 3).shape
        [2, 3]
    """
    return _typed(dt.int16, args, device)
