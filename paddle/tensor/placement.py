"""Methods that bring a tensor to a dtype, a place or an order in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from paddle._public import constants, public
from paddle.framework.place import available_types, place_of
from paddle.tensor import casting
from paddle.tensor._args import cast, dtype_of, need_tensor, op_error
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.core.eager import apply1
from umiak.core.place import Place
from umiak.core.tensor import Tensor

_COPY = F.Copy()


@public("Tensor")
def astype(self: Tensor, dtype: Any) -> Tensor:
    """Convert the tensor to another dtype, as :func:`paddle.cast` does.

    Args:
        dtype: the dtype: a dtype of this package, its name, or a NumPy or Python type.

    Returns:
        Tensor of the same shape; the tensor itself if it has the dtype already.

    Raises:
        TypeError: ``dtype`` is not a dtype.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.7]).astype("int32").tolist()
        [1]
    """
    op = casting.cast_op(dtype)
    return self if self.dtype is op.dtype else apply1(op, self)


@public("Tensor")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert the tensor to the dtype of another one.

    Args:
        other: tensor whose dtype is taken.

    Returns:
        Tensor of the same shape; the tensor itself if it has the dtype already.

    Raises:
        TypeError: ``other`` is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).type_as(paddle.arange(3)).dtype
        paddle.int64
    """
    return cast(self, need_tensor(other, "type_as", "other").dtype)


def _unawaited() -> AbstractContextManager[None]:
    from umiak.backends import transfer  # loaded with the first place that is used

    return transfer.unawaited()


def _to_place(x: Tensor, place: Place, blocking: bool = True) -> Tensor:
    if x.place is place:
        return x
    with nullcontext() if blocking else _unawaited():
        moved = F.transfer(x, source=x.place.name, target=place.name)
    if moved.stop_gradient != x.stop_gradient:
        moved.stop_gradient = x.stop_gradient  # in no_grad
    return moved


@public("Tensor")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Move the tensor to another place, convert it to another dtype, or both.

    ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(other)`` are all allowed.

    Args:
        *args: a place or the name of a device, an int, which is the number of a GPU, a dtype or its name, or a tensor
            whose place and dtype are taken.
        **kwargs: ``device``, ``dtype`` and ``other``, the same by keyword; ``copy``, whether to copy what is there
            already; ``blocking=False`` or ``non_blocking=True``: memory that :meth:`pin_memory` gave may be read after
            the call has returned, so it must not be written before the device is done.

    Returns:
        Tensor of the same shape. Without ``copy`` the tensor itself where nothing changes, unless the dtype is given by
        name.

    Raises:
        TypeError: there is no such keyword, or a dtype is not one.
        ValueError: there is no such device.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1])
        >>> x.to("float64").dtype, x.to(paddle.arange(2)).dtype
        (paddle.float64, paddle.int64)
    """
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    named = isinstance(dtype, str)
    other, make_copy = kwargs.pop("other", None), kwargs.pop("copy", False)
    blocking, non_blocking = kwargs.pop("blocking", None), kwargs.pop("non_blocking", None)
    blocking = not non_blocking if blocking is None else bool(blocking)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument {min(kwargs)!r}")
    for a in args:
        if isinstance(a, Tensor):
            other = a
        elif isinstance(a, (DType, np.dtype, type)):
            dtype = a
        elif isinstance(a, Place):
            device = a
        elif isinstance(a, str):
            try:
                dtype, named = dtype_of(a), True
            except (TypeError, ValueError):
                device = a
        elif isinstance(a, int) and not isinstance(a, bool):
            device = f"gpu:{a}"
        elif a is not None and not isinstance(a, bool):
            raise op_error(TypeError, "to", "a device, a dtype or a Tensor", type(a).__name__)
    if other is not None:
        dtype, device = dtype or other.dtype, device or other.place
    out = self if device is None else _to_place(self, place_of(device, "to"), blocking)
    if dtype is not None:
        out = cast(out, dtype_of(dtype))
    return apply1(_COPY, out) if (make_copy or named) and out is self else out


@public("Tensor")
def cpu(self: Tensor) -> Tensor:
    """Move the tensor to the memory of the host.

    Returns:
        The tensor itself if it is there already, otherwise a copy.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.cpu().place
        Place(cpu)
    """
    return _to_place(self, Place("cpu"))


@public("Tensor")
def cuda(self: Tensor, device_id: int | None = None, blocking: bool = True) -> Tensor:
    """Move the tensor to a CUDA device.

    Args:
        device_id: the number of the device, by default 0.
        blocking: False: memory that :meth:`pin_memory` gave may be read after the call has returned, so it must not be
            written before the device is done.

    Returns:
        The tensor itself if it is there already, otherwise a copy.

    Raises:
        ValueError: there is no such device.

    Example:
        >>> import paddle
        >>> try:
        ...     paddle.ones([2]).cuda(99)
        ... except ValueError:
        ...     print("There is no such device.")
        There is no such device.
    """
    return _to_place(self, place_of(f"gpu:{device_id or 0}", "cuda"), blocking)


@public("Tensor")
def pin_memory(self: Tensor, blocking: bool = True) -> Tensor:
    """Tensor in memory of the host that a CUDA device reads and writes by itself, page-locked.

    Copies to the device with ``blocking=False`` begin without the host reading the tensor first. Its place is the
    host's, and the host computes with it as with any other. Such memory is scarce: the system cannot move it away.

    Args:
        blocking: accepted; the elements are there when the call returns.

    Returns:
        The tensor itself where it lies in such memory, or where there is no CUDA device; otherwise a copy.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2]).pin_memory()
        >>> x.place
        Place(cpu)
        >>> if paddle.cuda.is_available():
        ...     y = x.cuda(blocking=False)
    """
    if "gpu" not in available_types() or not self.size:
        return self.cpu()
    from umiak import backends
    from umiak.backends import transfer

    place = self.place if self.place.device_type == "gpu" else place_of("gpu", "pin_memory")
    backend = backends.get(place)
    if self.place.device_type == "cpu" and backend.is_pinned(self):
        return self
    pinned = backend.pinned(place, tuple(self.shape), self.dtype)
    if pinned is None:
        return self.cpu()
    source = self if self.is_contiguous() else apply1(_COPY, self)
    transfer.copy(pinned, source.detach())
    if self.is_leaf or self.stop_gradient:
        pinned.stop_gradient = self.stop_gradient
        return pinned
    out = source.cpu() if self.place.device_type != "cpu" else apply1(_COPY, source)
    out._share(pinned)  # with the history of the copy
    return out


@public("Tensor")
def contiguous(self: Tensor) -> Tensor:
    """Tensor whose elements lie in memory in row-major order.

    Returns:
        The tensor itself if this holds already, otherwise a copy.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3]).T
        >>> x.is_contiguous(), x.contiguous().is_contiguous()
        (False, True)
    """
    return self if self.is_contiguous() else apply1(_COPY, self)


_DTYPE_METHOD = """Convert the tensor to {dtype}.

    Returns:
        Tensor of the same shape; the tensor itself if it has the dtype already.

    Example:
        >>> import paddle
        >>> paddle.ones([1]).{name}().dtype
        paddle.{dtype}
    """


def _dtype_method(name: str, d: DType) -> Any:
    def fn(self: Tensor) -> Tensor:
        return cast(self, d)

    fn.__name__ = name
    fn.__qualname__ = f"Tensor.{name}"
    fn.__doc__ = _DTYPE_METHOD.format(name=name, dtype=d.name)
    return fn


DTYPE_METHODS = {
    "bfloat16": dt.bfloat16,
    "bool": dt.bool,
    "byte": dt.uint8,
    "cdouble": dt.complex128,
    "cfloat": dt.complex64,
    "char": dt.int8,
    "complex128": dt.complex128,
    "complex64": dt.complex64,
    "double": dt.float64,
    "float": dt.float32,
    "float16": dt.float16,
    "float32": dt.float32,
    "float64": dt.float64,
    "half": dt.float16,
    "int": dt.int32,
    "int16": dt.int16,
    "int32": dt.int32,
    "int64": dt.int64,
    "int8": dt.int8,
    "long": dt.int64,
    "short": dt.int16,
    "uint8": dt.uint8,
}


constants("Tensor", __name__, {name: _dtype_method(name, d) for name, d in DTYPE_METHODS.items()})
