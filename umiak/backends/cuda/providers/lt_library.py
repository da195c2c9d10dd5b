"""The functions of cuBLASLt, and the numbers of its header that are used.

Constants are those of ``cublasLt.h`` and ``library_types.h``.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

# By dtype: the type of elements, of sums, and of the factors of a call.
DTYPES = {
    "float32": (0, 68, 0), "float64": (1, 70, 1), "float16": (2, 68, 0), "bfloat16": (14, 68, 0),
    "float8_e4m3fn": (28, 68, 0), "float8_e5m2": (29, 68, 0),
}  # fmt: skip
TF32 = (77, 0)  # of sums and factors, where operands of float32 may be rounded to TF32 first
HALF = (64, 2)  # where float16 is added up in float16


def factor(type: int, value: float) -> Any:
    """A factor of a call, of one of these types."""
    if type == HALF[1]:
        return ctypes.c_uint16(int(np.float16(value).view(np.uint16)))
    return (ctypes.c_float if type == DTYPES["float32"][2] else ctypes.c_double)(value)


# cublasLtMatmulDescAttributes_t
TRANSA, TRANSB = 3, 4
EPILOGUE, BIAS_POINTER = 7, 8
AUX_POINTER, AUX_STEP = 11, 12
SCALE_POINTERS, SCALE_MODES = (17, 18), (31, 32)
BATCH_COUNT, BATCH_OFFSET = 5, 6  # cublasLtMatrixLayoutAttribute_t
WORKSPACE, ALIGNMENTS = 1, (5, 6, 7, 8)  # cublasLtMatmulPreferenceAttributes_t
PLAIN, TRANSPOSED = 0, 1  # cublasOperation_t

# cublasLtEpilogue_t: bits, and what is there without any
EPILOGUE_NONE, EPILOGUE_BIAS, EPILOGUE_AUX = 1, 4, 128
ACTIVATIONS = {"": 0, "relu": 2, "gelu_tanh": 32}
RELU_GRADIENT, SUMS_OF_RESULT = 8 | EPILOGUE_AUX, 16
SUMS_OF_A, SUMS_OF_B = 256, 512

# cublasLtMatmulMatrixScale_t
SCALES = {"tensor": 0, "vector": 3, "strips": 4, "squares": 5}


class Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``."""

    _fields_ = [
        ("algo", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


class Library:
    """The functions of the library; a status other than 0 is an error."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.functions, f"cublasLt{name}")(*arguments)
        if status:
            raise RuntimeError(f"[cublasLt{name}] failed with status {status}")

    def new(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(f"{name}Create", ctypes.byref(made), *arguments)
        return made

    def set(self, kind: str, of: ctypes.c_void_p, attribute: int, value: Any) -> None:
        self.call(f"{kind}SetAttribute", of, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))
