"""Memory of a tensor as those see it who may not read it as an array: kernels of a device, copies, channels."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING

import numpy as np

from umiak.core.place import Place, from_index
from umiak.core.storage import ACCESS_HOST, Storage, allocator

if TYPE_CHECKING:
    from umiak.core.dtype import DType
    from umiak.core.tensor import Tensor


def access(place: Place) -> int:
    """The access of the host to memory of ``place``: one of ``ACCESS_DEVICE``, ``ACCESS_HOST``, ``ACCESS_NOTHING``."""
    return allocator(place.index).access


class Buffer:
    """Elements in memory of any place: a storage, an offset in bytes, dtype, sizes, and strides in elements.

    It keeps the storage alive, but not where it is: read ``pointer`` when work is handed to the device, and do not keep
    it beyond that work.
    """

    __slots__ = ("dtype", "offset", "shape", "storage", "strides")

    def __init__(self, x: Tensor) -> None:
        self.storage: Storage = x.storage
        self.offset: int = x.offset
        self.dtype: DType = x.dtype
        self.shape = tuple(x.shape)
        self.strides = tuple(x.strides)

    @property
    def place(self) -> Place:
        return from_index(self.storage.place)

    @property
    def pointer(self) -> int:
        """The address of the first element now; memory that was offloaded is brought back first."""
        return self.storage.data_ptr() + self.offset

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, gaps between them left out."""
        return self.dtype.nbytes(self.size)

    def host_bytes(self) -> np.ndarray:
        """The bytes of contiguous elements in memory of the host, as an array over them. It keeps nothing alive."""
        if access(self.place) != ACCESS_HOST:
            raise ValueError(f"[host_bytes] requires memory of the host, got a buffer on {self.place.name}")
        if not self.nbytes:
            return np.empty(0, np.uint8)
        return np.ctypeslib.as_array((ctypes.c_uint8 * self.nbytes).from_address(self.pointer))

    def __repr__(self) -> str:
        return f"Buffer({self.dtype.name}{list(self.shape)} on {self.place.name})"
