"""Properties of tensors, and methods that tell one: shape, strides, name, gradients."""

from __future__ import annotations

from typing import Any

from paddle._public import also, constants, public
from paddle.framework import unique_name
from paddle.tensor import axes
from paddle.tensor._args import axis_of, need_tensor, op_error
from umiak import ops as F
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_PERMUTE: dict[int, Any] = {}


def _transposed(self: Tensor) -> Tensor:
    n = self.ndim
    if n < 2:
        return self
    try:
        op = _PERMUTE[n]
    except KeyError:
        op = _PERMUTE[n] = F.Permute(tuple(range(n))[::-1])
    return apply1(op, self)


def _matrix_transposed(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise op_error(ValueError, "mT", "a tensor of rank 2 or more", f"rank {self.ndim}")
    return axes.matrix_transpose(self)


@public("Tensor")
def dim(self: Tensor) -> int:
    """Number of dims.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3]).dim()
        2
    """
    return self.ndim


ndimension = also(dim, "ndimension", "Tensor")


@public("Tensor")
def is_same_shape(self: Tensor, y: Tensor) -> bool:
    """Comparison of the shapes of two tensors.

    Args:
        y: tensor whose shape is compared.

    Returns:
        A bool.

    Raises:
        TypeError: y is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_same_shape(paddle.zeros([2])), paddle.ones([2]).is_same_shape(paddle.zeros([3]))
        (True, False)
    """
    return self.shape == need_tensor(y, "is_same_shape", "y").shape


@public("Tensor")
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps in memory from an element to its neighbour along each dim.

    Args:
        dim: the dim whose step is asked for; negative counts from the end. By default all.

    Returns:
        List of ints, in elements; an int for one dim.

    Raises:
        IndexError: there is no such dim.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2, 3])
        >>> x.stride(), x.stride(0)
        ([3, 1], 3)
    """
    return self.strides if dim is None else self.strides[axis_of(dim, self.ndim, "stride")]


@public("Tensor")
def get_strides(self: Tensor) -> list[int]:
    """Steps in memory from an element to its neighbour along each dim.

    Returns:
        List of ints, in elements.

    Example:
        >>> import paddle
        >>> paddle.ones([2, 3]).get_strides()
        [3, 1]
    """
    return self.strides


@public("Tensor")
def element_size(self: Tensor) -> int:
    """Number of bytes of an element.

    Returns:
        An int.

    Raises:
        TypeError: elements of the dtype share bytes.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).element_size()
        4
    """
    return self.dtype.itemsize


@public("Tensor")
def get_device(self: Tensor) -> int:
    """Number of the device on which the tensor lies.

    Returns:
        An int; -1 on the host.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).get_device()
        -1
    """
    return -1 if self.place.device_type == "cpu" else self.place.device_id


@public("Tensor")
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether gradients reach the tensor.

    Args:
        requires_grad: the opposite of ``stop_gradient``.

    Returns:
        The tensor itself.

    Raises:
        TypeError: there are further arguments.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).requires_grad_().stop_gradient
        False
    """
    self.stop_gradient = not requires_grad
    return self


@public("Tensor")
def apply(self: Tensor, func: Any) -> Tensor:
    """Apply a function to a tensor that gradients do not reach.

    Args:
        func: a function of a tensor.

    Returns:
        The result of ``func(self)``.

    Raises:
        RuntimeError: the tensor has ``stop_gradient=False``.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).apply(lambda x: x * 3).tolist()
        [3.0, 6.0]
    """
    if not self.stop_gradient:
        raise RuntimeError("[apply] requires a tensor with stop_gradient=True, got one with stop_gradient=False")
    return func(self)


def _name(self: Tensor) -> str:
    try:
        return self._name
    except AttributeError:
        name = unique_name.generate("generated_tensor" if self.is_leaf else "eager_tmp")
        _set_name(self, name)
        return name


def _set_name(self: Tensor, value: str) -> None:
    if not isinstance(value, str):
        raise op_error(TypeError, "name", "a str", type(value).__name__)
    self._name = value
    tracer = getattr(self, "_tracer", None)
    if tracer is not None and tracer.static:
        tracer.names[value] = self  # programs are asked for their variables by name


def _attribute(key: str, default: Any) -> property:
    """A property kept among the tensor's own attributes."""

    def get(self: Tensor) -> Any:
        return getattr(self, key, default)

    def put(self: Tensor, value: Any) -> None:
        setattr(self, key, value)

    return property(get, put)


def _set_persistable(self: Tensor, value: bool) -> None:
    self._persistable = value
    if value and getattr(self, "_tracer", None) is not None:
        _name(self)  # by which the program finds it


def _device(self: Tensor) -> str:
    from paddle.device.places import Device  # loaded after tensors

    return Device(self.place)


def _set_data(self: Tensor, value: Tensor) -> None:
    self._share(need_tensor(value, "data").detach())


def _set_requires(self: Tensor, value: bool) -> None:
    self.stop_gradient = not value


def _set_grad(self: Tensor, value: Any) -> None:
    self.grad = value


_PROPERTIES: dict[str, Any] = {
    "T": property(_transposed, doc="The tensor with its dims in reverse order; a view."),
    "mT": property(_matrix_transposed, doc="The tensor with its last two dims swapped; a view."),
    "block": _attribute("_block", None),
    "data": property(
        lambda self: self.detach(),
        _set_data,
        doc="A tensor of the same memory without history; assigning makes it another tensor's memory.",
    ),
    "device": property(_device, doc="The name of the device, a ``paddle.device``."),
    "grad_": property(lambda self: self.grad, _set_grad, doc="The gradient."),
    "is_cuda": property(lambda self: self.place.device_type == "gpu", doc="Whether it lies on a CUDA device."),
    "itemsize": property(lambda self: self.dtype.itemsize, doc="Bytes per element."),
    "layout": property(lambda self: "NCHW", doc="The order of dims of images."),
    "name": property(_name, _set_name, doc="A name, unique unless it is set."),
    "nbytes": property(lambda self: self.dtype.nbytes(self._count), doc="Bytes of all elements."),
    "num_shard": _attribute("_num_shard", None),
    "persistable": property(
        lambda self: getattr(self, "_persistable", False),
        _set_persistable,
        doc="Whether a program keeps it between runs; of a variable, whether ``append_backward`` differentiates by it.",
    ),
    "placements": _attribute("_placements", None),
    "process_mesh": _attribute("_process_mesh", None),
    "requires_grad": property(lambda self: not self.stop_gradient, _set_requires, doc="The opposite of stop_gradient."),
}

public("paddle")(Tensor)
constants("Tensor", __name__, _PROPERTIES)
