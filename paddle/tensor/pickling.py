"""Copies and pickles of tensors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from paddle._public import constants
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy, host_values
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_COPY = F.Copy()


def own_attributes(self: Tensor) -> dict[str, Any]:
    """The attributes that were set on a tensor; subclasses keep them in a dict of their own."""
    return {**getattr(self, "__dict__", {}), **self._attributes}


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    """Copy of the tensor and of its attributes, without gradient and history.

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
    copied = memo.get(id(self))
    if copied is None:
        copied = memo[id(self)] = apply1(_COPY, self.detach())
        copied.stop_gradient = self.stop_gradient
        for key, value in own_attributes(self).items():
            setattr(copied, key, copy.deepcopy(value, memo))
    return copied


def _rebuild(cls: type, array: np.ndarray, dtype: str, stop_gradient: bool, attributes: dict) -> Tensor:
    d = dt.convert(dtype)
    x = from_numpy(array if array.dtype == d.numpy else array.view(d.numpy))
    return with_class(x, cls, stop_gradient, attributes)


def with_class(x: Tensor, cls: type, stop_gradient: bool, attributes: dict) -> Tensor:
    """A new tensor as one of a subclass, with what was set on it."""
    if cls is not Tensor:
        shell = cls.__new__(cls)  # type: ignore[call-overload]
        shell._share(x)
        x = shell
    x.stop_gradient = stop_gradient
    for key, value in attributes.items():
        setattr(x, key, value)
    return x


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
    a = host_values(self.detach())
    if a.dtype.kind not in "biufc":
        a = np.ascontiguousarray(a).reshape(a.shape).view(_CARRIER[a.dtype.itemsize])
    return _rebuild, (type(self), a, self.dtype.name, self.stop_gradient, own_attributes(self))


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


_SPECIAL = {"__deepcopy__": _deepcopy, "__reduce__": _reduce, "__reduce_ex__": _reduce_ex}

constants("Tensor", __name__, _SPECIAL)
