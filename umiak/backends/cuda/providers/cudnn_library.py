"""The functions of cuDNN's backend interface (version 9), and the numbers of its header that are used.

Operations, their graph, engines and plans are descriptors: attributes are set by number, then a descriptor is
finalised. Constants are those of ``cudnn_graph_v9.h``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

DTYPES = {"float32": 0, "float16": 2, "bfloat16": 9}  # cudnnDataType_t
FLOAT = DTYPES["float32"]

# cudnnBackendDescriptorType_t
POINTWISE, CONVOLUTION, ENGINE, ENGINE_CONFIG, HEURISTICS, PLAN = 0, 1, 2, 3, 4, 5
FORWARD, WEIGHT_GRADIENT, INPUT_GRADIENT, POINTWISE_OPERATION, GRAPH, PACK, TENSOR = 10, 11, 12, 13, 15, 16, 17

# cudnnBackendAttributeType_t, with the type of C
HANDLE = (0, ctypes.c_void_p)
DATA_TYPE = (1, ctypes.c_int)
BOOLEAN = (2, ctypes.c_bool)
INT64 = (3, ctypes.c_int64)
SINGLE = (4, ctypes.c_float)
POINTER = (6, ctypes.c_void_p)
MODE = (7, ctypes.c_int)
HEURISTIC_MODE = (8, ctypes.c_int)
NOTE = (11, ctypes.c_int)
POINTWISE_MODE = (14, ctypes.c_int)
DESCRIPTOR = (15, ctypes.c_void_p)
Kind = tuple[int, Any]

# cudnnBackendAttributeName_t
POINTWISE_MODE_NAME, POINTWISE_PRECISION = 0, 1
CONVOLUTION_TYPE, CONVOLUTION_MODE, DILATIONS, STRIDES, POST_PADS, PRE_PADS, SPATIAL_DIMS = range(100, 107)
HEURISTICS_MODE, HEURISTICS_GRAPH, HEURISTICS_RESULTS = 200, 201, 202
CONFIG_ENGINE = 300
PLAN_HANDLE, PLAN_CONFIG, PLAN_WORKSPACE = 400, 401, 402
# By kind of operation: alpha, beta, the convolution; the image, the weights and the result or its gradient.
OPERATIONS = {
    FORWARD: (700, 701, 702, 704, 703, 705),
    INPUT_GRADIENT: (706, 707, 708, 710, 709, 711),
    WEIGHT_GRADIENT: (712, 713, 714, 716, 715, 717),
}
STEP_OF, STEP_X, STEP_B, STEP_Y = 750, 751, 752, 753
GRAPH_HANDLE, GRAPH_OPERATIONS = 800, 801
ALIGNMENT, TENSOR_TYPE, DIMENSIONS, TENSOR_STRIDES, UNIQUE_ID, IS_VIRTUAL = 900, 901, 902, 903, 906, 907
PACK_IDS, PACK_POINTERS, PACK_WORKSPACE = 1000, 1001, 1003
ENGINE_NOTES = 1303

CROSS_CORRELATION = 1  # cudnnConvolutionMode_t
ADD, RELU = 0, 100  # cudnnPointwiseMode_t
MODE_A, MODE_FALLBACK = 3, 2  # cudnnBackendHeurMode_t
TENSOR_CORE, DOWN_CONVERT, NONDETERMINISTIC, NOTES = 0, 1, 4, 10  # cudnnBackendNumericalNote_t


class CudnnError(RuntimeError):
    """A function that failed, with its status."""


class Library:
    """The functions of the library."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.functions, f"cudnn{name}")(*arguments)
        if status:
            raise CudnnError(f"[cudnn{name}] failed with status {status}")

    def version(self) -> int:
        """The version: 10000 for each major one, 100 for each minor one."""
        get = self.functions.cudnnGetVersion
        get.restype = ctypes.c_size_t
        return get()


class Descriptor:
    """One descriptor. It keeps those that it refers to, and goes with the last reference."""

    def __init__(self, library: Library, kind: int) -> None:
        self.library, self.kind = library, kind
        self.keep: list[Descriptor] = []
        self.handle = ctypes.c_void_p()
        library.call("BackendCreateDescriptor", kind, ctypes.byref(self.handle))

    def set(self, name: int, kind: Kind, *values: Any) -> Descriptor:
        """Set an attribute to values of one kind."""
        number, c_type = kind
        if kind is DESCRIPTOR:
            self.keep += values
            values = tuple(x.handle for x in values)
        array = (c_type * len(values))(*values)
        count = ctypes.c_int64(len(values))
        self.library.call("BackendSetAttribute", self.handle, name, number, count, array)
        return self

    def finalise(self) -> Descriptor:
        """Have the attributes checked; none changes any more."""
        self.library.call("BackendFinalize", self.handle)
        return self

    def get(self, name: int, kind: Kind, most: int) -> list[Any]:
        """Return at most so many values of an attribute."""
        number, c_type = kind
        array, count = (c_type * most)(), ctypes.c_int64()
        arguments = (ctypes.c_int64(most), ctypes.byref(count), array)
        self.library.call("BackendGetAttribute", self.handle, name, number, *arguments)
        return list(array[: min(most, count.value)])

    def get_descriptors(self, name: int, kind: int, most: int) -> list[Descriptor]:
        """Return at most so many descriptors of a kind that an attribute has."""
        into = [Descriptor(self.library, kind) for _ in range(most)]
        array = (ctypes.c_void_p * most)(*(x.handle for x in into))
        count = ctypes.c_int64()
        arguments = (ctypes.c_int64(most), ctypes.byref(count), array)
        self.library.call("BackendGetAttribute", self.handle, name, DESCRIPTOR[0], *arguments)
        return into[: min(most, count.value)]

    def __del__(self) -> None:
        if self.handle:
            self.library.functions.cudnnBackendDestroyDescriptor(self.handle)


def tensor(
    library: Library, number: int, dtype: int, sizes: Sequence[int], strides: Sequence[int], aligned: int, virtual: bool
) -> Descriptor:
    """The descriptor of a tensor; ``virtual``: it is never in memory."""
    return (
        Descriptor(library, TENSOR)
        .set(TENSOR_TYPE, DATA_TYPE, dtype)
        .set(DIMENSIONS, INT64, *sizes)
        .set(TENSOR_STRIDES, INT64, *strides)
        .set(UNIQUE_ID, INT64, number)
        .set(ALIGNMENT, INT64, aligned)
        .set(IS_VIRTUAL, BOOLEAN, virtual)
        .finalise()
    )


def convolution(
    library: Library, pre: Sequence[int], post: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Descriptor:
    """The descriptor of a cross-correlation that adds in float32."""
    return (
        Descriptor(library, CONVOLUTION)
        .set(CONVOLUTION_TYPE, DATA_TYPE, FLOAT)
        .set(CONVOLUTION_MODE, MODE, CROSS_CORRELATION)
        .set(SPATIAL_DIMS, INT64, len(strides))
        .set(PRE_PADS, INT64, *pre)
        .set(POST_PADS, INT64, *post)
        .set(STRIDES, INT64, *strides)
        .set(DILATIONS, INT64, *dilations)
        .finalise()
    )


def operation(library: Library, kind: int, of: Descriptor, x: Descriptor, w: Descriptor, y: Descriptor) -> Descriptor:
    """A convolution, or one of its gradients, of an image, weights and a result."""
    alpha, beta, convolution, *names = OPERATIONS[kind]
    made = Descriptor(library, kind).set(convolution, DESCRIPTOR, of)
    for name, value in zip(names, (x, w, y), strict=True):
        made.set(name, DESCRIPTOR, value)
    return made.set(alpha, SINGLE, 1.0).set(beta, SINGLE, 0.0).finalise()


def step(library: Library, mode: int, x: Descriptor, y: Descriptor, b: Descriptor | None = None) -> Descriptor:
    """A pointwise operation on ``x``, perhaps with ``b``, in float32."""
    of = Descriptor(library, POINTWISE).set(POINTWISE_MODE_NAME, POINTWISE_MODE, mode)
    of.set(POINTWISE_PRECISION, DATA_TYPE, FLOAT).finalise()
    made = Descriptor(library, POINTWISE_OPERATION).set(STEP_OF, DESCRIPTOR, of).set(STEP_X, DESCRIPTOR, x)
    if b is not None:
        made.set(STEP_B, DESCRIPTOR, b)
    return made.set(STEP_Y, DESCRIPTOR, y).finalise()
