"""``VarDesc.VarType``: dtypes and kinds of values under the names that older programs use."""

from __future__ import annotations

import enum
from typing import Any

from umiak.core import dtype as _dt
from umiak.core.dtype import convert
from umiak.core.tensor import Tensor

Variable = Tensor  # values of dynamic programs are tensors


class Kind(enum.IntEnum):
    """Kind of a value of a program, if not an array of a dtype; numbered as in files of programs."""

    DENSE_TENSOR = 7
    LOD_TENSOR = 7
    SELECTED_ROWS = 8
    FEED_MINIBATCH = 9
    FETCH_LIST = 10
    STEP_SCOPES = 11
    DENSE_TENSOR_ARRAY = 13
    LOD_TENSOR_ARRAY = 13
    PLACE_LIST = 14
    READER = 15
    RAW = 17
    STRING = 25
    STRINGS = 26
    VOCAB = 27


class VarDesc:
    """Description of a value; only its types are of use here."""

    class VarType:
        """Dtypes, which are those of ``paddle``, and kinds of values."""

        BOOL = _dt.bool
        UINT8, INT8, INT16, INT32, INT64 = _dt.uint8, _dt.int8, _dt.int16, _dt.int32, _dt.int64
        FP16, BF16, FP32, FP64 = _dt.float16, _dt.bfloat16, _dt.float32, _dt.float64
        COMPLEX64, COMPLEX128 = _dt.complex64, _dt.complex128
        FP8_E4M3FN, FP8_E5M2 = _dt.float8_e4m3fn, _dt.float8_e5m2
        DENSE_TENSOR = LOD_TENSOR = Kind.DENSE_TENSOR
        DENSE_TENSOR_ARRAY = LOD_TENSOR_ARRAY = Kind.DENSE_TENSOR_ARRAY
        SELECTED_ROWS, FEED_MINIBATCH, FETCH_LIST = Kind.SELECTED_ROWS, Kind.FEED_MINIBATCH, Kind.FETCH_LIST
        STEP_SCOPES, PLACE_LIST, READER, RAW = Kind.STEP_SCOPES, Kind.PLACE_LIST, Kind.READER, Kind.RAW
        STRING, STRINGS, VOCAB = Kind.STRING, Kind.STRINGS, Kind.VOCAB


def size_of_dtype(dtype: Any) -> int:
    """Bytes of an element."""
    return (convert(dtype).bits + 7) // 8
