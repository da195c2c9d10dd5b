"""Elements of tensors as Python and NumPy objects, as text, and for other frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import constants, public
from paddle.tensor import to_string
from paddle.tensor._args import need_tensor, op_error
from umiak.backends.transfer import current_stream
from umiak.core.array import host_values
from umiak.core.buffer import access
from umiak.core.dlpack import dlpack as _capsule
from umiak.core.dlpack import dlpack_device as _device
from umiak.core.dlpack_exchange import EXCHANGE_API
from umiak.core.storage import ACCESS_HOST
from umiak.core.tensor import Tensor
from umiak.util.errors import NotOneElement


@public("Tensor")
def numpy(self: Tensor, blocking: bool = True) -> np.ndarray:
    """Elements as an array of their own, in row-major order.

    The call waits until all work on the tensor is done. ``numpy.asarray(x, copy=False)`` and ``numpy.from_dlpack(x)``
    give arrays over the tensor's memory.

    Args:
        blocking: accepted.

    Returns:
        Array of the tensor's shape and dtype; bfloat16 and float8 elements have a type of ``ml_dtypes``.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> a = x.numpy()
        >>> a[0] = 5.0
        >>> x.tolist()
        [0.0, 0.0]
    """
    a = host_values(self)
    return a.copy() if access(self.place) == ACCESS_HOST or not a.flags.writeable else a


@public("Tensor")
def item(self: Tensor, *args: int) -> Any:
    """One element as a Python scalar.

    Args:
        *args: nothing for the only element; an int, which counts in row-major order; or an int for each dim.

    Returns:
        A bool, int, float or complex number.

    Raises:
        ValueError: there is more than one element and no index, or no such element.
        TypeError: an index is no int.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1, 2], [3, 4]])
        >>> x.item(2), x.item(0, 1), x[0, 0].item()
        (3, 2, 1)
    """
    a = numpy(self)
    if not args:
        if a.size != 1:
            raise op_error(ValueError, "item", "a tensor of one element, or an index", f"shape {list(self.shape)}")
        return a.item()
    try:
        return a.item(*args)
    except (ValueError, IndexError) as error:
        raise op_error(ValueError, "item", f"an index into shape {list(self.shape)}", args) from error
    except TypeError as error:
        raise op_error(TypeError, "item", "ints as indices", args) from error


@public(usual=False)
def tolist(x: Tensor) -> Any:
    """Elements as nested lists of Python scalars.

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


def _single(self: Tensor, arg_name: str) -> Any:
    if self._count != 1:
        raise op_error(NotOneElement, arg_name, "a tensor of one element", f"shape {list(self.shape)}")
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
    if self._count != 1:
        got = f"shape {list(self.shape)}"
        raise op_error(NotOneElement, "bool", "a tensor of one element", got, "Use any() or all().")
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
    raise op_error(TypeError, "format", "a 0-d tensor for a format specification", f"shape {list(self.shape)}")


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


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Array of the elements, as NumPy asks for it.

    Args:
        dtype: a NumPy dtype; by default that of the tensor.
        copy: True and None copy, False refuses to.

    Returns:
        A copy; with ``copy=False`` an array over the memory of the tensor.

    Raises:
        ValueError: ``copy`` is False, and the dtype is another one or one of 4 bits, or the tensor is on a device whose
            memory the host cannot read.

    Example:
        >>> import paddle
        >>> import numpy as np
        >>> np.asarray(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if copy is False:
        if self.dtype.is_packed or access(self.place) != ACCESS_HOST:
            given = f"{self.dtype.name} on {self.place.name}"
            raise op_error(ValueError, "__array__", "elements of whole bytes on the host to share memory", given)
        a = host_values(self)
        if dtype is not None and a.dtype != dtype:
            raise op_error(ValueError, "__array__", f"dtype {a.dtype} to share memory", dtype)
        return a
    if dtype is not None and self.dtype.numpy != dtype:
        return host_values(self).astype(dtype)
    return numpy(self)


def _cuda_array(self: Tensor) -> dict[str, Any]:
    if self.place.device_type != "gpu":
        raise op_error(
            AttributeError, "__cuda_array_interface__", "a tensor on a CUDA device", f"one on {self.place.name}"
        )
    if self._count:
        self.storage.wait_for_users()  # this version of the interface names no stream to wait for
    return {
        "shape": tuple(self.shape),
        "typestr": self.dtype.numpy.str,
        "data": (self.data_ptr() if self._count else 0, False),
        "strides": None if self.is_contiguous() else tuple(s * self.dtype.itemsize for s in self.strides),
        "version": 2,
    }


def __dlpack__(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """DLPack capsule over the memory of the tensor, for other frameworks.

    Args:
        stream: the stream on which the consumer works, as the protocol defines it: of a device, -1 waits for nothing,
            and anything else for the work on the tensor; on the host None.
        max_version: the latest version of the protocol that the consumer knows, a pair of ints. None: one before 1.0,
            whose capsules have no flags.
        dl_device: the device on which the consumer wants the memory, as :meth:`__dlpack_device__` gives it; None: where
            it is.
        copy: True copies, False refuses to, None copies only from a device to the host.

    Returns:
        A capsule.

    Raises:
        BufferError: the tensor has ``stop_gradient=False``, or its memory cannot be shared in the way that is asked
            for.
        TypeError: an argument of another type.

    Example:
        >>> import paddle
        >>> import numpy as np
        >>> np.from_dlpack(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """
    if not self.stop_gradient:
        raise op_error(
            BufferError, "__dlpack__", "a tensor with stop_gradient=True", "stop_gradient=False", "Use detach()."
        )
    if copy is not None and not isinstance(copy, bool):
        raise op_error(TypeError, "__dlpack__", "True, False or None as copy", repr(copy))
    return _capsule(self, stream, max_version, dl_device, copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """Device of the tensor in the numbers of DLPack.

    Returns:
        Pair of the type of device, 1 for the host, and its number.

    Example:
        >>> import paddle
        >>> [int(n) for n in paddle.ones([2]).__dlpack_device__()]
        [1, 0]
    """
    return _device(self)


def __tvm_ffi_env_stream__(self: Tensor) -> int:
    """Current stream of the tensor's device, on which functions of TVM-FFI are to launch their work.

    Returns:
        The address by which the device's own library knows the stream; 0 is its default one.

    Raises:
        RuntimeError: the tensor is on the host, which has no streams.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).__tvm_ffi_env_stream__()
        Traceback (most recent call last):
        RuntimeError: [__tvm_ffi_env_stream__] requires a tensor on a device with streams, got one on cpu
    """
    if access(self.place) == ACCESS_HOST:
        raise op_error(
            RuntimeError, "__tvm_ffi_env_stream__", "a tensor on a device with streams", f"one on {self.place.name}"
        )
    return current_stream(self.place).handle


_SPECIAL: dict[str, Any] = {
    "__array__": _array,
    "__array_ufunc__": None,  # NumPy leaves operators to us
    "__bool__": _bool,
    "__complex__": _complex,
    "__c_dlpack_exchange_api__": EXCHANGE_API,  # the name that TVM-FFI looked for before 0.1.5
    "__cuda_array_interface__": property(_cuda_array),
    "__dlpack__": __dlpack__,
    "__dlpack_c_exchange_api__": EXCHANGE_API,
    "__dlpack_device__": __dlpack_device__,
    "__float__": _float,
    "__format__": _format,
    "__index__": _index,
    "__int__": _int,
    "__long__": _int,
    "__nonzero__": _bool,
    "__repr__": _repr,
    "__str__": _repr,
    "__tvm_ffi_env_stream__": __tvm_ffi_env_stream__,
}

constants("Tensor", __name__, _SPECIAL)
