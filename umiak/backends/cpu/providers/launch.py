"""The answer of a provider: a native launch function and the integers that it reads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple


class Dim(NamedTuple):
    """One of the integers of a launch: the ``extent`` ("size" or "stride") of an axis of an operand.

    Operands are numbered as pointers are: inputs, what an epilogue adds, then results.
    """

    operand: int
    extent: str
    axis: int


class Launch(NamedTuple):
    """``int address(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``.

    ``pointer`` is ``self``, alive as long as ``keep``. ``scalars`` are the words of the op's params. The result may be
    given with any strides that do not overlap. It returns 0 or an error code; any number of threads may run it.
    """

    provider: str
    address: int
    pointer: int
    dims: tuple[Dim, ...]
    keep: Any


def sizes(operand: int, rank: int) -> tuple[Dim, ...]:
    return tuple(Dim(operand, "size", axis) for axis in range(rank))


def strides(operand: int, rank: int) -> tuple[Dim, ...]:
    return tuple(Dim(operand, "stride", axis) for axis in range(rank))


def call(launch: Launch, inputs: list[Any], outputs: list[Any], words: tuple[int, ...] = ()) -> Callable[[], int]:
    """A launch on NumPy arrays as a function without arguments, for tests and benchmarks; it gives the error code."""
    operands = [*inputs, *outputs]
    values = [
        operands[d.operand].shape[d.axis]
        if d.extent == "size"
        else operands[d.operand].strides[d.axis] // operands[d.operand].itemsize
        for d in launch.dims
    ]
    pointers = (ctypes.c_void_p * len(operands))(*(x.ctypes.data for x in operands))
    dims = (ctypes.c_int64 * max(len(values), 1))(*values)
    scalars = (ctypes.c_int64 * max(len(words), 1))(*words)
    native = ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 4, ctypes.c_int64)(launch.address)
    addresses = [ctypes.c_void_p(ctypes.addressof(x)) for x in (pointers, dims, scalars)]
    state, stream = ctypes.c_void_p(launch.pointer), ctypes.c_int64(0)

    def run(_: Any = (launch, operands, pointers, dims, scalars)) -> int:
        return native(state, *addresses, stream)

    return run
