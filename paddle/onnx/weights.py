"""Values of initializers, in the model or in a file beside it."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np
from onnx import StringStringEntryProto, TensorProto

from paddle.onnx.elements import BY_NUMPY, NUMBERS

SMALLEST = 1024  # bytes of a tensor that is worth a place in another file
PAGE = 4096  # bytes: tensors begin at a page, so that a runtime may map them into memory


def within(name: str, array: np.ndarray) -> TensorProto:
    """An initializer that holds its elements."""
    return TensorProto(name=name, data_type=NUMBERS[BY_NUMPY[array.dtype]], dims=array.shape, raw_data=array.tobytes())


class Beside:
    """Makes initializers whose elements are written into a file; small ones hold theirs.

    Args:
        file: what is written.
        location: its name, in the folder of the model.
    """

    def __init__(self, file: BinaryIO, location: str) -> None:
        self.file, self.location = file, location

    def __call__(self, name: str, array: np.ndarray) -> TensorProto:
        if array.nbytes < SMALLEST:
            return within(name, array)
        self.file.seek(-self.file.tell() % PAGE, 1)
        entries = {"location": self.location, "offset": str(self.file.tell()), "length": str(array.nbytes)}
        self.file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return TensorProto(
            name=name,
            data_type=NUMBERS[BY_NUMPY[array.dtype]],
            dims=array.shape,
            data_location=TensorProto.EXTERNAL,
            external_data=[StringStringEntryProto(key=k, value=v) for k, v in entries.items()],
        )
