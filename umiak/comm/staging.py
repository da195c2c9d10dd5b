"""Staging of operands: memory of the host as it is, memory of a device through a buffer of the host."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from umiak.backends import transfer
from umiak.core.array import to_numpy
from umiak.core.buffer import Buffer, access
from umiak.core.context import current
from umiak.core.storage import ACCESS_HOST
from umiak.core.tensor import Tensor, empty
from umiak.util.errors import op_error

Data: TypeAlias = Tensor | np.ndarray


def described(x: Data) -> tuple[str, tuple[int, ...]]:
    """Return what ranks must agree on: dtype and shape."""
    return x.dtype.name, tuple(x.shape)


def nbytes(x: Data) -> int:
    """Bytes of the elements."""
    return math.prod(x.shape) * x.dtype.itemsize


class StagedArray:
    """Contiguous elements as a flat ``array`` of the host: over their memory, or a copy where that is a device's.

    ``copy_to_host`` fills the copy once pending work on the elements is done, ``write_back`` writes it to the device;
    work that is submitted to the device later sees that.
    """

    __slots__ = ("_array", "device", "dtype", "host", "size", "stream")

    def __init__(self, x: Data) -> None:
        self.device: Tensor | None = None
        self._array: np.ndarray | None = None
        self.size, self.dtype = math.prod(x.shape), x.dtype.name
        if isinstance(x, np.ndarray):
            if not x.flags.c_contiguous:
                raise op_error(ValueError, "comm", "arrays that are contiguous", f"strides {x.strides} of {x.shape}")
            self._array = x.reshape(-1)
            return
        if not x.is_contiguous():
            raise op_error(ValueError, "comm", "tensors that are contiguous", f"strides {x.strides} of {x.shape}")
        if access(x.place) == ACCESS_HOST:
            self._array = to_numpy(x).reshape(-1)
        else:
            self.device, self.stream = x, current().get_stream(x.place)

    @property
    def array(self) -> np.ndarray:
        if self._array is None:
            assert self.device is not None
            self.host = empty(tuple(self.device.shape), self.device.dtype, transfer.CPU)
            self._array = to_numpy(self.host).reshape(-1)
        return self._array

    @property
    def buffer(self) -> Any:
        """The elements where they are, for a channel that reaches them there."""
        return self.array if self.device is None else Buffer(self.device)

    def without_overlap(self, out: StagedArray) -> StagedArray:
        """These elements, outside of the memory of ``out``: it is written while they have yet to be sent."""
        if self.device is out.device is None and np.may_share_memory(self.array, out.array):
            self._array = self.array.copy()
        return self

    def copy_to_host(self) -> None:
        if self.device is not None:
            self._copy(False)

    def write_back(self) -> None:
        if self.device is not None:
            self._copy(True)

    def _copy(self, back: bool) -> None:
        assert self.device is not None
        assert self.array is not None, "which makes the tensor of the host"
        ctx, place = current(), self.device.place
        former = ctx.set_stream(place, self.stream)  # whoever moves the operation on
        try:
            transfer.copy(*((self.device, self.host) if back else (self.host, self.device)))
        finally:
            ctx.set_stream(place, former)
