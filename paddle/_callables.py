"""Modules and factories that the reference lets programs call: ``paddle.tensor(data)``,
``paddle.device("cpu")``, ``paddle.Tensor(2, 3)``."""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle.device
import paddle.tensor
from paddle.device.places import Device
from paddle.tensor.from_data import as_tensor, to_tensor
from paddle.tensor.typed_tensors import FloatTensor
from umiak.core.direct import Module
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


class _TensorModule(Module):
    """``paddle.tensor``: functions on tensors, and as a function :func:`paddle.as_tensor`."""

    def __call__(
        self,
        data: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        return as_tensor(data, dtype, device, requires_grad, pin_memory)


class _DeviceModule(Module):
    """``paddle.device``: functions about devices, and as a function :class:`paddle.device.Device`."""

    def __call__(self, type: Any = None, index: int | None = None) -> Device:
        return Device(type, index)


def _made(data: tuple, dtype: Any, place: Any) -> Tensor:
    """``Tensor(2, 3)``: sizes, whose elements are not set. ``Tensor([2, 3])``: numbers, as float32."""
    if not data:
        return FloatTensor(device=place)
    if len(data) == 1 and isinstance(data[0], (Tensor, np.ndarray)):
        return to_tensor(data[0], dtype, place)
    if len(data) == 1 and isinstance(data[0], (list, tuple)):
        return to_tensor(data[0], "float32" if dtype is None else dtype, place)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in data):
        got = ", ".join(type(x).__name__ for x in data)
        raise op_error(ValueError, "Tensor", "sizes, or a list, a tuple, an array or a Tensor", got)
    tensor = FloatTensor(*map(int, data), device=place)
    return tensor if dtype is None else tensor.astype(dtype)


def _construct(self: Tensor, *args: Any, **kwargs: Any) -> None:
    if "data" in kwargs and not args:
        args = (kwargs.pop("data"),)
    stop_gradient = kwargs.pop("stop_gradient", True)
    place = kwargs.pop("place", None)
    place = kwargs.pop("device", place)
    dtype = kwargs.pop("dtype", None)
    if kwargs:
        raise TypeError(f"Tensor() got an unexpected keyword argument {next(iter(kwargs))!r}")
    self._share(_made(args, dtype, place))
    self.stop_gradient = stop_gradient


Tensor._construct = _construct
paddle.tensor.__class__ = _TensorModule
paddle.device.__class__ = _DeviceModule
