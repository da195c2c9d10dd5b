"""What a provider answers: a native launch function and what it wants to be told."""

from __future__ import annotations

from typing import Any, NamedTuple


class Dim(NamedTuple):
    """One of the integers of a launch: the ``what`` ("size" or "stride") of an axis of an operand.

    Operands are numbered as pointers are: inputs, what an epilogue adds, then results.
    """

    operand: int
    what: str
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
