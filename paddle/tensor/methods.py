"""Methods and properties that only make sense on a tensor. Functions that are methods as well say so themselves."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from paddle._public import also, constants, public
from paddle.framework import unique_name
from paddle.framework.place import place_of
from paddle.tensor import axes, casting, creation, indexing, logic, repeating, rounding, splitting, to_string
from paddle.tensor._args import axis_of, cast, dtype_of, need_tensor, op_error, shape_of
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.dtype import DType
from umiak.core.eager import apply1, install
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ops.promotion import promote

_COPY = F.Copy()
_PERMUTE: dict[int, Any] = {}
# The core's own element count; the public ``numel`` is a function.
_SIZE = Tensor.__dict__["numel"]


# --- to Python and NumPy -------------------------------------------------------------------------------------------


@public("Tensor")
def numpy(self: Tensor) -> np.ndarray:
    """Elements as an array over the same memory; of a device other than the host, a copy.

    The call waits until all work on the tensor is done.

    Returns:
        Array of the tensor's shape and dtype; bfloat16 and float8 elements have a type of ``ml_dtypes``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> a = x.numpy()
        >>> a[0] = 5.0
        >>> x.tolist()
        [5.0, 0.0]
    """
    return host_values(self)


@public("Tensor")
def item(self: Tensor, *args: int) -> Any:
    """One element as a Python number.

    Args:
        *args: nothing for the only element; an int, which counts in row-major order; or an int for each dim.

    Returns:
        A bool, int, float or complex number.

    Raises:
        ValueError: there is more than one element and no index, or no such element.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> x.item(2), x.item(0, 1), x[0, 0].item()
        (3, 2, 1)
    """
    a = numpy(self)
    if not args:
        if a.size != 1:
            raise op_error(ValueError, "item", "a tensor of one element, or an index", f"shape {self.shape}")
        return a.item()
    try:
        return a.item(*args)
    except (ValueError, IndexError) as error:
        raise op_error(ValueError, "item", f"an index into shape {self.shape}", args) from error


@public(usual=False)
def tolist(x: Tensor) -> Any:
    """Elements as nested lists of Python numbers.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        Lists as deep as x has dims; of a 0-d tensor a number.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.tolist(paddle.to_tensor([[1, 2], [3, 4]]))
        [[1, 2], [3, 4]]
    """
    return numpy(need_tensor(x, "tolist")).tolist()


def _single(self: Tensor, what: str) -> Any:
    if self.size != 1:
        raise op_error(TypeError, what, "a tensor of one element", f"shape {self.shape}")
    return item(self)


def _bool(self: Tensor) -> bool:
    """Truth of the only element.

    Returns:
        A bool.

    Raises:
        ValueError: there is not just one element.

    Example:
        >>> import paddle
        >>> bool(paddle.to_tensor([3.0]))
        True
    """
    if self.size != 1:
        raise op_error(ValueError, "bool", "a tensor of one element", f"shape {self.shape}", "Use any() or all().")
    return bool(item(self))


def _float(self: Tensor) -> float:
    """Only element as a float.

    Returns:
        A float.

    Raises:
        TypeError: there is not just one element, or it is complex.

    Example:
        >>> import paddle
        >>> float(paddle.to_tensor([3]))
        3.0
    """
    return float(_single(self, "float"))


def _int(self: Tensor) -> int:
    """Only element as an int; fractions are dropped.

    Returns:
        An int.

    Raises:
        TypeError: there is not just one element, or it is complex.

    Example:
        >>> import paddle
        >>> int(paddle.to_tensor([3.7]))
        3
    """
    return int(_single(self, "int"))


def _complex(self: Tensor) -> complex:
    """Only element as a complex number.

    Returns:
        A complex number.

    Raises:
        TypeError: there is not just one element.

    Example:
        >>> import paddle
        >>> complex(paddle.to_tensor([3]))
        (3+0j)
    """
    return complex(_single(self, "complex"))


def _index(self: Tensor) -> int:
    """Only element of an integer tensor, as Python asks for an index.

    Returns:
        An int.

    Raises:
        TypeError: there is not just one element, or the dtype is neither an integer one nor bool.

    Example:
        >>> import paddle
        >>> [10, 20, 30][paddle.to_tensor(1)]
        20
    """
    if not (self.dtype.is_integer or self.dtype.is_bool):
        raise op_error(TypeError, "index", "an integer tensor", self.dtype.name)
    return int(_single(self, "index"))


def _iter(self: Tensor) -> Any:
    """Iterator over the slices along the first dim, which are views.

    Returns:
        An iterator of tensors.

    Raises:
        TypeError: the tensor is 0-d.

    Example:
        >>> import paddle
        >>> [row.tolist() for row in paddle.to_tensor([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    if self.ndim == 0:
        raise op_error(TypeError, "iter", "a tensor of rank 1 or more", "a 0-d one")
    return (self[i] for i in range(self.shape[0]))


def _contains(self: Tensor, x: Any) -> bool:
    """Test for an element that equals ``x``.

    Args:
        x: number, or tensor that broadcasts with this one.

    Returns:
        A bool.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> 3 in paddle.to_tensor([1, 3]), 2 in paddle.to_tensor([1, 3])
        (True, False)
    """
    return bool((self == x).any())


def _format(self: Tensor, spec: str) -> str:
    """Text of a 0-d tensor in a given format; without a format, of any tensor as it prints.

    Args:
        spec: a format specification for a number.

    Returns:
        A str.

    Raises:
        TypeError: there is a format, and the tensor is not 0-d.

    Example:
        >>> import paddle
        >>> f"{paddle.to_tensor(2.0):.2f}"
        '2.00'
    """
    if not spec:
        return str(self)
    if self.ndim == 0:
        return format(item(self), spec)
    raise op_error(TypeError, "format", "a 0-d tensor for a format specification", f"shape {self.shape}")


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Array of the elements, as NumPy asks for it.

    Args:
        dtype: a NumPy dtype; by default that of the tensor.
        copy: True copies, False refuses to, None copies for another dtype.

    Returns:
        Array over the memory of the tensor, or a copy.

    Raises:
        ValueError: ``copy`` is False and the dtype is another one.

    Example:
        >>> import paddle
        >>> import numpy as np
        >>> np.asarray(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    a = numpy(self.detach())
    if dtype is not None and a.dtype != dtype:
        if copy is False:
            raise op_error(ValueError, "__array__", f"dtype {a.dtype} to share memory", dtype)
        return a.astype(dtype)
    return a.copy() if copy else a


def _repr(self: Tensor) -> str:
    """Text that shows shape, dtype, place and elements; see :func:`paddle.set_printoptions`.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> str(paddle.ones([2])).startswith("Tensor(shape=[2], dtype=float32, ")
        True
    """
    return to_string.to_string(self)


def _own(self: Tensor) -> dict[str, Any]:
    """The attributes that were set on a tensor; subclasses keep them in a dict of their own."""
    return {**getattr(self, "__dict__", {}), **self._attributes}


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    """Copy of the tensor, of its gradient and of its attributes, without history.

    Args:
        memo: the copies that :func:`copy.deepcopy` has made so far.

    Returns:
        Tensor of the same shape and dtype.

    Raises:
        RuntimeError: the tensor is the result of an operation that gradients pass through.

    Example:
        >>> import paddle
        >>> import copy
        >>> x = paddle.ones([2])
        >>> y = copy.deepcopy(x)
        >>> y[0] = 5.0
        >>> x.tolist()
        [1.0, 1.0]
    """
    if not self.is_leaf:
        raise RuntimeError(
            "[deepcopy] requires a tensor without history, got one with a grad_fn. Use detach() or clone()."
        )
    found = memo.get(id(self))
    if found is None:
        found = memo[id(self)] = apply1(_COPY, self.detach())
        found.stop_gradient = self.stop_gradient
        for key, value in _own(self).items():
            setattr(found, key, copy.deepcopy(value, memo))
        if self.grad is not None:
            found.grad = copy.deepcopy(self.grad, memo)
    return found


def _rebuild(cls: type, array: np.ndarray, dtype: str, stop_gradient: bool, attributes: dict) -> Tensor:
    d = dt.convert(dtype)
    made = from_numpy(array if array.dtype == d.numpy else array.view(d.numpy))
    if cls is not Tensor:
        shell = cls.__new__(cls)  # type: ignore[call-overload]
        shell._share(made)
        made = shell
    made.stop_gradient = stop_gradient
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


# Bits of types that other processes may lack travel as integers; those of packed types one element per byte.
_CARRIER = {2: np.uint16, 1: np.uint8}


def _reduce(self: Tensor) -> tuple:
    """Parts of which :mod:`pickle` makes the tensor again: elements, dtype and attributes.

    Returns:
        Pair of a function and its arguments.

    Example:
        >>> import paddle
        >>> import pickle
        >>> pickle.loads(pickle.dumps(paddle.to_tensor([1, 2]))).tolist()
        [1, 2]
    """
    a = numpy(self.detach())
    if a.dtype.kind not in "biufc":
        a = np.ascontiguousarray(a).reshape(a.shape).view(_CARRIER[a.dtype.itemsize])
    return _rebuild, (type(self), a, self.dtype.name, self.stop_gradient, _own(self))


def _reduce_ex(self: Tensor, protocol: Any) -> tuple:
    """Parts of which :mod:`pickle` makes the tensor again, the same for each version of its protocol.

    Args:
        protocol: the version.

    Returns:
        Pair of a function and its arguments.

    Raises:
        TypeError: no version is given.

    Example:
        >>> import paddle
        >>> import pickle
        >>> pickle.loads(pickle.dumps(paddle.to_tensor([1, 2]), 2)).tolist()
        [1, 2]
    """
    return _reduce(self)


def _hash(self: Tensor) -> int:
    """Hash of the tensor, which is that of its identity: equal elements do not matter.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x in {x: 1}, paddle.ones([2]) in {x: 1}
        (True, False)
    """
    return id(self)


def _div(self: Tensor, y: Any) -> Tensor:
    """Quotient ``self / y``, by the name that Python 2 gave it.

    Args:
        y: number, or tensor that broadcasts with this one.

    Returns:
        Tensor of the promoted dtype; of integers float32.

    Raises:
        TypeError: y is neither a tensor nor a number.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).__div__(2).tolist()
        [0.5, 1.0]
    """
    return self / y


def _rdiv(self: Tensor, y: Any) -> Tensor:
    """Quotient ``y / self``, by the name that Python 2 gave it.

    Args:
        y: number, or tensor that broadcasts with this one.

    Returns:
        Tensor of the promoted dtype; of integers float32.

    Raises:
        TypeError: y is neither a tensor nor a number.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).__rdiv__(2).tolist()
        [2.0, 1.0]
    """
    return y / self


# --- dtypes and places ---------------------------------------------------------------------------------------------


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


def _to_place(x: Tensor, place: Place) -> Tensor:
    if x.place is place:
        return x
    made = F.transfer(x, source=str(x.place), target=str(place))
    if made.stop_gradient != x.stop_gradient:
        made.stop_gradient = x.stop_gradient  # in no_grad
    return made


@public("Tensor")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Move the tensor to another place, convert it to another dtype, or both.

    ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(other)`` are all allowed.

    Args:
        *args: a place or the name of a device, an int, which is the number of a GPU, a dtype or its name, or a tensor
            whose place and dtype are taken.
        **kwargs: ``device``, ``dtype`` and ``other``, the same by keyword; ``copy``, whether to copy what is there
            already. ``blocking`` and ``non_blocking`` are without effect.

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
    kwargs.pop("blocking", None)
    kwargs.pop("non_blocking", None)
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
    out = self if device is None else _to_place(self, place_of(device, "to"))
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
        blocking: without effect.

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
    return _to_place(self, place_of(f"gpu:{device_id or 0}", "cuda"))


@public("Tensor")
def pin_memory(self: Tensor, blocking: bool = True) -> Tensor:
    """Tensor in memory of the host that devices read directly.

    Args:
        blocking: without effect.

    Returns:
        The tensor itself.

    Raises:
        TypeError: there are further arguments.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.pin_memory() is x
        True
    """
    return self


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


# --- gradients -----------------------------------------------------------------------------------------------------


@public("Tensor")
def gradient(self: Tensor) -> np.ndarray | None:
    """Gradient of the tensor as an array.

    Returns:
        Array over the memory of ``grad``; None if there is none.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([2.0], stop_gradient=False)
        >>> (x * x).sum().backward()
        >>> x.gradient().tolist()
        [4.0]
    """
    return None if self.grad is None else numpy(self.grad)


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


# --- shapes --------------------------------------------------------------------------------------------------------


def _transposed(self: Tensor) -> Tensor:
    n = self.ndim
    if n < 2:
        return self
    op = _PERMUTE.get(n)
    if op is None:
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


@public("paddle.tensor Tensor", ints_from=1)
def repeat(input: Tensor, repeats: Any) -> Tensor:
    """Repeat ``input`` as a whole along each dim, as :func:`tile` does.

    Args:
        input: tensor of any shape and dtype.
        repeats: how often along each dim, as a list, a tuple or separate ints; more numbers than dims add leading dims.

    Returns:
        Tensor of input's dtype, in memory of its own.

    Raises:
        TypeError: input is not a tensor.
        ValueError: a number is negative.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1, 2]).repeat(2, 2).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return repeating.tile(input, repeats)


@public("paddle.tensor Tensor")
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> list[Tensor]:
    """Divide the tensor into consecutive parts of given sizes.

    Args:
        split_sizes: sizes along the dim, a sequence of ints that add up to its size.
        dim: the dim to divide; negative counts from the end.

    Returns:
        List of tensors, in memory of their own.

    Raises:
        IndexError: there is no such dim.
        ValueError: the sizes do not add up.

    Example:
        >>> import paddle
        >>> [p.tolist() for p in paddle.arange(5).split_with_sizes([2, 3])]
        [[0, 1], [2, 3, 4]]
    """
    return splitting.split(self, list(split_sizes), dim)


@public("Tensor", ints_from=1)
def new_empty(
    self: Tensor,
    size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of the same dtype and place whose elements are not set.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_empty(2, 3).shape
        [2, 3]
    """
    return _new("new_empty", None, self, size, dtype, device, requires_grad)


@public("Tensor", ints_from=1)
def new_ones(
    self: Tensor,
    size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones, of the same dtype and place.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_ones([2]).tolist()
        [1, 1]
    """
    return _new("new_ones", 1, self, size, dtype, device, requires_grad)


@public("Tensor", ints_from=1)
def new_zeros(
    self: Tensor,
    size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros, of the same dtype and place.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_zeros([2]).tolist()
        [0, 0]
    """
    return _new("new_zeros", 0, self, size, dtype, device, requires_grad)


def _new(op: str, value: Any, x: Tensor, size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    d = x.dtype if dtype is None else dtype_of(dtype)
    where = x.place if device is None else device
    sizes = shape_of(size, op)
    if value is None:
        return creation.empty(sizes, d, device=where, requires_grad=requires_grad)
    return creation.full(sizes, value, d, device=where, requires_grad=requires_grad)


@public("Tensor")
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of the same dtype and place in which every element is ``fill_value``.

    Args:
        size: sizes, as a list, a tuple or an integer tensor.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_full([2], 7).tolist()
        [7, 7]
    """
    d = self.dtype if dtype is None else dtype_of(dtype)
    return creation.full(
        shape_of(size, "new_full"),
        fill_value,
        d,
        device=self.place if device is None else device,
        requires_grad=requires_grad,
    )


# --- what kind of tensor -------------------------------------------------------------------------------------------


@public("Tensor")
def is_dense(self: Tensor) -> bool:
    """Test for a tensor that stores every element.

    Returns:
        True, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_dense()
        True
    """
    return True


@public("Tensor")
def is_dist(self: Tensor) -> bool:
    """Test for a tensor that is spread over several processes.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_dist()
        False
    """
    return False


@public("Tensor")
def is_selected_rows(self: Tensor) -> bool:
    """Test for a tensor that stores only some rows.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_selected_rows()
        False
    """
    return False


@public("Tensor")
def is_sparse(self: Tensor) -> bool:
    """Test for a tensor that stores only elements other than zero.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse()
        False
    """
    return False


@public("Tensor")
def is_sparse_coo(self: Tensor) -> bool:
    """Test for a sparse tensor that stores the coordinates of its elements.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse_coo()
        False
    """
    return False


@public("Tensor")
def is_sparse_csr(self: Tensor) -> bool:
    """Test for a sparse tensor that stores its rows one after another.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_sparse_csr()
        False
    """
    return False


@public("Tensor")
def to_dense(self: Tensor) -> Tensor:
    """Tensor that stores every element.

    Returns:
        The tensor itself.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.to_dense() is x
        True
    """
    return self


@public("Tensor")
def value(self: Tensor) -> Tensor:
    """Tensor behind this one, which is itself: for programs that expect a variable.

    Returns:
        The tensor itself.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.value() is x
        True
    """
    return self


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


def _name(self: Tensor) -> str:
    try:
        return self._name
    except AttributeError:
        found = self._name = unique_name.generate("generated_tensor" if self.is_leaf else "eager_tmp")
        return found


def _set_name(self: Tensor, value: str) -> None:
    if not isinstance(value, str):
        raise op_error(TypeError, "name", "a str", type(value).__name__)
    self._name = value


def _attribute(key: str, default: Any) -> property:
    """A property kept among the tensor's own attributes."""

    def get(self: Tensor) -> Any:
        return getattr(self, key, default)

    def put(self: Tensor, value: Any) -> None:
        setattr(self, key, value)

    return property(get, put)


def _set_data(self: Tensor, value: Tensor) -> None:
    self._share(need_tensor(value, "data").detach())


def _set_requires(self: Tensor, value: bool) -> None:
    self.stop_gradient = not value


def _set_grad(self: Tensor, value: Any) -> None:
    self.grad = value


def _cuda_array(self: Tensor) -> dict:
    if self.place.device_type != "gpu":
        raise op_error(AttributeError, "__cuda_array_interface__", "a tensor on a CUDA device", f"one on {self.place}")
    return {
        "shape": tuple(self.shape),
        "typestr": self.dtype.numpy.str,
        "data": (self.data_ptr(), False),
        "strides": None if self.is_contiguous() else tuple(s * self.dtype.itemsize for s in self.strides),
        "version": 2,
    }


def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """DLPack capsule over the memory of the tensor, for other frameworks.

    Args:
        stream: the stream on which the consumer works, as the protocol defines it.
        max_version: the latest version of the protocol that the consumer knows.
        dl_device: the device on which the consumer wants the memory.
        copy: whether to copy; None copies only where memory cannot be shared.

    Returns:
        A capsule.

    Raises:
        RuntimeError: the tensor has ``stop_gradient=False``.
        BufferError: the memory cannot be shared in the way that is asked for.

    Example:
        >>> import paddle
        >>> import numpy as np
        >>> np.from_dlpack(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    from umiak.core.dlpack import dlpack

    if not self.stop_gradient:
        raise RuntimeError(
            "[__dlpack__] requires a tensor with stop_gradient=True, got one with stop_gradient=False. Use detach()."
        )
    return dlpack(self, stream, max_version, dl_device, copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """Device of the tensor in the numbers of DLPack.

    Returns:
        Pair of the type of device, 1 for the host, and its number.

    Example:
        >>> import paddle
        >>> [int(n) for n in paddle.ones([2]).__dlpack_device__()]
        [1, 0]
    """
    from umiak.core.dlpack import dlpack_device

    return dlpack_device(self)


PROPERTIES: dict[str, property] = {
    "T": property(_transposed, doc="The tensor with its dims in reverse order; a view."),
    "mT": property(_matrix_transposed, doc="The tensor with its last two dims swapped; a view."),
    "__cuda_array_interface__": property(_cuda_array),
    "block": _attribute("_block", None),
    "data": property(
        lambda self: self, _set_data, doc="The tensor itself; assigning makes it another tensor's memory."
    ),
    "device": property(lambda self: self.place, doc="The place."),
    "grad_": property(lambda self: self.grad, _set_grad, doc="The gradient."),
    "is_cuda": property(lambda self: self.place.device_type == "gpu", doc="Whether it lies on a CUDA device."),
    "itemsize": property(lambda self: self.dtype.itemsize, doc="Bytes per element."),
    "layout": property(lambda self: "NCHW", doc="The order of dims of images."),
    "name": property(_name, _set_name, doc="A name, unique unless it is set."),
    "nbytes": property(lambda self: self.dtype.nbytes(self.size), doc="Bytes of all elements."),
    "num_shard": _attribute("_num_shard", None),
    "persistable": _attribute("_persistable", False),
    "placements": _attribute("_placements", None),
    "process_mesh": _attribute("_process_mesh", None),
    "requires_grad": property(lambda self: not self.stop_gradient, _set_requires, doc="The opposite of stop_gradient."),
}

SPECIAL: dict[str, Any] = {
    "__array__": _array,
    "__array_ufunc__": None,  # NumPy leaves operators to us
    "__bool__": _bool,
    "__complex__": _complex,
    "__div__": _div,
    "__rdiv__": _rdiv,
    "__invert__": logic.bitwise_not,
    "__pos__": rounding.positive,
    "__contains__": _contains,
    "__deepcopy__": _deepcopy,
    "__dlpack__": __dlpack__,
    "__dlpack_device__": __dlpack_device__,
    "__float__": _float,
    "__format__": _format,
    "__getitem__": indexing.getitem,
    "__hash__": _hash,
    "__index__": _index,
    "__int__": _int,
    "__iter__": _iter,
    "__long__": _int,
    "__nonzero__": _bool,
    "__reduce__": _reduce,
    "__reduce_ex__": _reduce_ex,
    "__repr__": _repr,
    "__setitem__": indexing.setitem,
    "__str__": _repr,
}


public("paddle")(Tensor)
install(promote=promote)  # mixed operands of operators
constants("Tensor", __name__, {"size": _SIZE, **{name: _dtype_method(name, d) for name, d in DTYPE_METHODS.items()}})
constants("Tensor", __name__, {**PROPERTIES, **SPECIAL})
