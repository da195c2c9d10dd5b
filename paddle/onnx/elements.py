"""Element types: their numbers in ONNX, and the nearest one that an operator takes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from onnx import TensorProto

# Element type by name → its number, its name in schemas, its type in NumPy.
ELEMENTS = {
    "bool": (TensorProto.BOOL, "bool", np.bool_),
    "uint8": (TensorProto.UINT8, "uint8", np.uint8),
    "int8": (TensorProto.INT8, "int8", np.int8),
    "int16": (TensorProto.INT16, "int16", np.int16),
    "int32": (TensorProto.INT32, "int32", np.int32),
    "int64": (TensorProto.INT64, "int64", np.int64),
    "uint16": (TensorProto.UINT16, "uint16", np.uint16),
    "uint32": (TensorProto.UINT32, "uint32", np.uint32),
    "uint64": (TensorProto.UINT64, "uint64", np.uint64),
    "float16": (TensorProto.FLOAT16, "float16", np.float16),
    "bfloat16": (TensorProto.BFLOAT16, "bfloat16", bfloat16),
    "float32": (TensorProto.FLOAT, "float", np.float32),
    "float64": (TensorProto.DOUBLE, "double", np.float64),
    "float8_e4m3fn": (TensorProto.FLOAT8E4M3FN, "float8e4m3fn", float8_e4m3fn),
    "float8_e5m2": (TensorProto.FLOAT8E5M2, "float8e5m2", float8_e5m2),
}
NUMBERS = {name: number for name, (number, _, _) in ELEMENTS.items()}
NUMPY = {name: type for name, (_, _, type) in ELEMENTS.items()}
BY_SCHEMA = {f"tensor({text})": name for name, (_, text, _) in ELEMENTS.items()}
BY_NUMPY = {np.dtype(type): name for name, (_, _, type) in ELEMENTS.items()}

# A complex number is a pair of these: an added last axis of two.
PARTS = {"complex64": "float32", "complex128": "float64"}

INTEGERS = "uint8", "int8", "int16", "int32", "int64"
FLOATS = "float16", "bfloat16", "float32", "float64"

# What stands for a type that an operator does not take, the first that it takes. Integers become floating
# last, in the type whose integers reach farthest.
_INSTEAD = {
    "bool": ("uint8", "int32", "int64", "float32"),
    "uint8": ("int32", "int64", "float32", "float64"),
    "int8": ("int32", "int64", "float32", "float64"),
    "int16": ("int32", "int64", "float32", "float64"),
    "int32": ("int64", "float64", "float32"),
    "int64": ("float64", "float32", "int32"),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "float32": ("float64",),
    "float64": ("float32",),
}


def nearest(dtype: str, allowed: Collection[str]) -> str | None:
    """The type in which an operator computes what is ``dtype``; None if there is none."""
    if dtype in allowed:
        return dtype
    return next((x for x in _INSTEAD.get(dtype, ()) if x in allowed), None)
