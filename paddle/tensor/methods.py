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
    """The elements as an array over the same memory (of the host; otherwise a copy, when all work on them is done).

    Example:
        >>> import paddle
        >>> paddle.ones([2]).numpy()
        array([1., 1.], dtype=float32)
    """
    return host_values(self)


@public("Tensor")
def item(self: Tensor, *args: int) -> Any:
    """One element as a Python number: of a tensor of one element, or at a flat index, or at coordinates.

    Raises ValueError where there is more than one element and no index.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([[1, 2]]).item(1)
        2
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
    """The elements as nested lists of Python numbers.

    Example:
        >>> import paddle
        >>> paddle.ones([1, 2]).tolist()
        [[1.0, 1.0]]
    """
    return numpy(need_tensor(x, "tolist")).tolist()


def _single(self: Tensor, what: str) -> Any:
    if self.size != 1:
        raise op_error(TypeError, what, "a tensor of one element", f"shape {self.shape}")
    return item(self)


def _bool(self: Tensor) -> bool:
    if self.size != 1:
        raise op_error(ValueError, "bool", "a tensor of one element", f"shape {self.shape}", "Use any() or all().")
    return bool(item(self))


def _float(self: Tensor) -> float:
    return float(_single(self, "float"))


def _int(self: Tensor) -> int:
    return int(_single(self, "int"))


def _complex(self: Tensor) -> complex:
    return complex(_single(self, "complex"))


def _index(self: Tensor) -> int:
    if not (self.dtype.is_integer or self.dtype.is_bool):
        raise op_error(TypeError, "index", "an integer tensor", self.dtype.name)
    return int(_single(self, "index"))


def _iter(self: Tensor) -> Any:
    if self.ndim == 0:
        raise op_error(TypeError, "iter", "a tensor of rank 1 or more", "a 0-d one")
    return (self[i] for i in range(self.shape[0]))


def _contains(self: Tensor, x: Any) -> bool:
    return bool((self == x).any())


def _format(self: Tensor, spec: str) -> str:
    if not spec:
        return str(self)
    if self.ndim == 0:
        return format(item(self), spec)
    raise op_error(TypeError, "format", "a 0-d tensor for a format specification", f"shape {self.shape}")


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    a = numpy(self.detach())
    if dtype is not None and a.dtype != dtype:
        if copy is False:
            raise op_error(ValueError, "__array__", f"dtype {a.dtype} to share memory", dtype)
        return a.astype(dtype)
    return a.copy() if copy else a


def _repr(self: Tensor) -> str:
    return to_string.to_string(self)


def _own(self: Tensor) -> dict[str, Any]:
    """The attributes that were set on a tensor; subclasses keep them in a dict of their own."""
    return {**getattr(self, "__dict__", {}), **self._attributes}


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
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
    a = numpy(self.detach())
    if a.dtype.kind not in "biufc":
        a = np.ascontiguousarray(a).reshape(a.shape).view(_CARRIER[a.dtype.itemsize])
    return _rebuild, (type(self), a, self.dtype.name, self.stop_gradient, _own(self))


def _hash(self: Tensor) -> int:
    return id(self)


# --- dtypes and places ---------------------------------------------------------------------------------------------


@public("Tensor")
def astype(self: Tensor, dtype: Any) -> Tensor:
    """The tensor in another dtype; itself when it has it already.

    Example:
        >>> import paddle
        >>> paddle.ones([1]).astype("int32").dtype
        paddle.int32
    """
    op = casting.cast_op(dtype)
    return self if self.dtype is op.dtype else apply1(op, self)


@public("Tensor")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another."""
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
    """The tensor on another place, in another dtype, or both.

    ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(other)``.

    ``blocking`` and ``copy`` may follow. What is already so is not copied, unless ``copy`` is True or the dtype is
    given by name (as in the reference framework).

    Example:
        >>> import paddle
        >>> paddle.ones([1]).to("float64").dtype
        paddle.float64
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
    if other is not None:
        dtype, device = dtype or other.dtype, device or other.place
    out = self if device is None else _to_place(self, place_of(device, "to"))
    if dtype is not None:
        out = cast(out, dtype_of(dtype))
    return apply1(_COPY, out) if (make_copy or named) and out is self else out


@public("Tensor")
def cpu(self: Tensor) -> Tensor:
    """The tensor in the memory of the host."""
    return _to_place(self, Place("cpu"))


@public("Tensor")
def cuda(self: Tensor, device_id: int | None = None, blocking: bool = True) -> Tensor:
    """The tensor on a CUDA device; ValueError where there is none."""
    return _to_place(self, place_of(f"gpu:{device_id or 0}", "cuda"))


@public("Tensor")
def pin_memory(self: Tensor, blocking: bool = True) -> Tensor:
    """The tensor in host memory that devices read directly; where there is none, the tensor itself."""
    return self


@public("Tensor")
def contiguous(self: Tensor) -> Tensor:
    """The tensor itself where its elements lie in row-major order, otherwise a copy for which this holds."""
    return self if self.is_contiguous() else apply1(_COPY, self)


@public("Tensor")
def element_size(self: Tensor) -> int:
    """Bytes per element; a TypeError where elements share bytes."""
    return self.dtype.itemsize


def _dtype_method(name: str, d: DType) -> Any:
    def fn(self: Tensor) -> Tensor:
        return cast(self, d)

    fn.__name__ = name
    fn.__qualname__ = f"Tensor.{name}"
    fn.__doc__ = f"The tensor as {d.name}."
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
    """``.grad`` as an array, or None."""
    return None if self.grad is None else numpy(self.grad)


@public("Tensor")
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether gradients reach this tensor; returns it."""
    self.stop_gradient = not requires_grad
    return self


@public("Tensor")
def apply(self: Tensor, func: Any) -> Tensor:
    """``func(x)`` for a tensor outside gradients."""
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
    """The number of dims."""
    return self.ndim


ndimension = also(dim, "ndimension", "Tensor")


@public("Tensor")
def is_same_shape(self: Tensor, y: Tensor) -> bool:
    """Return whether another tensor has the same shape."""
    return self.shape == y.shape


@public("Tensor")
def stride(self: Tensor, dim: int | None = None) -> Any:
    """Strides in elements: all, or that of one dim."""
    return self.strides if dim is None else self.strides[axis_of(dim, self.ndim, "stride")]


@public("Tensor")
def get_strides(self: Tensor) -> list[int]:
    """Strides in elements."""
    return self.strides


@public("paddle.tensor Tensor", ints_from=1)
def repeat(input: Tensor, repeats: Any) -> Tensor:
    """The tensor repeated as a whole along each dim, as by ``tile``.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).repeat(2, 2).shape
        [2, 4]
    """
    return repeating.tile(input, repeats)


@public("paddle.tensor Tensor")
def split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> list[Tensor]:
    """Consecutive parts of the given sizes."""
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
    """A tensor of elements that are not set, of this dtype and place."""
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
    """A tensor of ones, of this dtype and place."""
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
    """A tensor of zeros, of this dtype and place."""
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
    """A tensor filled with a number, of this dtype and place."""
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
    """Return whether every element is stored."""
    return True


@public("Tensor")
def is_dist(self: Tensor) -> bool:
    """Return whether it is spread over several processes."""
    return False


@public("Tensor")
def is_selected_rows(self: Tensor) -> bool:
    """Return whether only some rows are stored."""
    return False


@public("Tensor")
def is_sparse(self: Tensor) -> bool:
    """Return whether only elements other than zero are stored."""
    return False


@public("Tensor")
def is_sparse_coo(self: Tensor) -> bool:
    """Return whether it is sparse with coordinates."""
    return False


@public("Tensor")
def is_sparse_csr(self: Tensor) -> bool:
    """Return whether it is sparse with compressed rows."""
    return False


@public("Tensor")
def to_dense(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


@public("Tensor")
def value(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


@public("Tensor")
def get_device(self: Tensor) -> int:
    """The number of the device; -1 on the host."""
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
    """A DLPack capsule over this memory."""
    from umiak.core.dlpack import dlpack

    if not self.stop_gradient:
        raise RuntimeError(
            "[__dlpack__] requires a tensor with stop_gradient=True, got one with stop_gradient=False. Use detach()."
        )
    return dlpack(self, stream, max_version, dl_device, copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """The DLPack device type and number."""
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
    "__div__": Tensor.__truediv__,
    "__rdiv__": Tensor.__rtruediv__,
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
    "__reduce_ex__": lambda self, protocol: _reduce(self),
    "__repr__": _repr,
    "__setitem__": indexing.setitem,
    "__str__": _repr,
}


public("paddle")(Tensor)
install(promote=promote)  # mixed operands of operators
constants("Tensor", __name__, {"size": _SIZE, **{name: _dtype_method(name, d) for name, d in DTYPE_METHODS.items()}})
constants("Tensor", __name__, {**PROPERTIES, **SPECIAL})
