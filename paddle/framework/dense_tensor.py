"""``DenseTensor``: the memory of a tensor, as older programs and readers of data reach it."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.framework.place import place_of
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard
from umiak.core.dtype import DType, bfloat16, convert
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.runtime.program_tracer import outside
from umiak.util.errors import op_error


class DenseTensor:
    """Memory with a shape and a dtype, without gradients; of a tensor, or its own.

    ``Tensor.get_tensor()`` makes one: what is written here is written there.

    Example:
        >>> import numpy, paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> x.get_tensor().set(numpy.array([3.0], "float32"), paddle.CPUPlace())
        >>> x.tolist()
        [3.0]
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor | None = None) -> None:
        self._tensor = Tensor() if tensor is None else tensor

    def set(self, array: Any, place: Any = None, zero_copy: bool = False) -> None:
        """Take the shape, the dtype and the elements of an array.

        Args:
            array: an array, or what NumPy makes one of; uint16 holds the bits of bfloat16.
            place: where the elements go; None: where they are.
            zero_copy: share the array's memory where that is possible.
        """
        given = np.ascontiguousarray(array)
        if given.dtype == np.uint16:
            given = given.view(bfloat16.numpy)
        where = self._tensor.place if place is None else place_of(place)
        with outside(), no_grad_guard():
            self._tensor._share(from_numpy(given, where, copy=not zero_copy))

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self._tensor.shape)

    _get_dims = shape

    def _dtype(self) -> DType:
        return self._tensor.dtype

    def _place(self) -> Place:
        return self._tensor.place

    def _ptr(self) -> int:
        return self._tensor.data_ptr()

    def _numel(self) -> int:
        return self._tensor.size

    def _layout(self) -> str:
        return "NCHW"

    def _is_initialized(self) -> bool:
        return self._tensor._is_initialized() and self._tensor.size > 0

    def _clear(self) -> None:
        self._tensor._share(Tensor())

    def _copy(self, place: Any) -> DenseTensor:
        where = place_of(place)
        with outside():
            moved = self._tensor.detach()
            return DenseTensor(moved.clone() if moved.place is where else moved.to(where))

    def _as_type(self, dtype: Any) -> DenseTensor:
        with outside():
            return DenseTensor(self._tensor.detach().astype(convert(dtype)))

    def _slice(self, start: int, stop: int) -> DenseTensor:
        return self[start:stop]

    def _share_data_with(self, other: DenseTensor) -> DenseTensor:
        if not isinstance(other, DenseTensor):
            raise op_error(TypeError, "_share_data_with", "a DenseTensor", type(other).__name__)
        self._tensor._share(other._tensor)
        return self

    def _to_dlpack(self) -> Any:
        with outside():
            return self._tensor.detach().__dlpack__()

    def __getitem__(self, index: Any) -> DenseTensor:
        with outside():
            return DenseTensor(self._tensor.detach()[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._tensor.__array__(dtype, copy)

    def __str__(self) -> str:
        x = self._tensor
        lines = [f"shape: {self.shape()}", f"layout: {self._layout()}", f"place: {x.place!r}", f"dtype: {x.dtype.name}"]
        return "\n".join(f"  - {line}" for line in [*lines, f"data: {np.asarray(self).ravel()}"])


def dense_tensor_of(array: np.ndarray) -> DenseTensor:
    """The elements of an array, copied to the host."""
    made = DenseTensor()
    made.set(array, "cpu")
    return made


def tensor_of(memory: DenseTensor) -> Tensor:
    """A tensor over the memory."""
    if not isinstance(memory, DenseTensor):
        raise op_error(TypeError, "_transformed_from_lodtensor", "a DenseTensor", type(memory).__name__)
    return memory._tensor.detach()
