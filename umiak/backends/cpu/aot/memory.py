"""Places of values: in the arena, among the weights, in an input."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from umiak.core.dtype import DType
from umiak.ir.meta import Strided, dense

ALIGN = 64
ARENA, WEIGHTS, PREPARED, FIRST_INPUT = 0, 1, 2, 3  # bases, as in runtime/aot.h


@dataclass(eq=False)
class Memory:
    """A block of ``bytes`` behind a base. In the arena it is used from step ``first`` to step ``last``.

    ``data``: of a weight, its elements.
    """

    base: int
    bytes: int
    offset: int = 0
    first: int = -1
    last: int = -1
    data: np.ndarray | None = None

    def use(self, step: int) -> None:
        self.first = step if self.first < 0 else self.first
        self.last = max(self.last, step)


Ref = tuple[Memory, int]  # a block, and bytes from its beginning


def itemsize(dtype: DType) -> int:
    return max(dtype.bits // 8, 1)


@dataclass(frozen=True)
class Place:
    """A value: elements of a block, by strides."""

    memory: Memory
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def strided(self) -> Strided:
        return Strided(self.shape, self.strides, self.offset, self.dtype)

    @property
    def contiguous(self) -> bool:
        return self.strided.contiguous or 0 in self.shape

    @property
    def ref(self) -> Ref:
        return self.memory, self.offset * itemsize(self.dtype)

    @property
    def data(self) -> np.ndarray | None:
        """The elements, where they are known."""
        x = self.memory.data
        if x is None or 0 in self.shape:
            return None
        steps = [s * x.itemsize for s in self.strides]
        return np.lib.stride_tricks.as_strided(x.reshape(-1)[self.offset :], self.shape, steps, writeable=False)


def place_of(memory: Memory, dtype: DType, shape: Sequence[int]) -> Place:
    """Dense, at the beginning of a block."""
    return Place(memory, dtype, tuple(shape), tuple(int(s) for s in dense(tuple(shape)).strides))


def scratch(dtype: DType, shape: Sequence[int]) -> Place:
    """A new place in the arena."""
    return place_of(Memory(ARENA, prod(shape) * itemsize(dtype)), dtype, shape)


def weight(x: np.ndarray) -> Memory:
    """A block with these elements."""
    data = np.ascontiguousarray(x)
    return Memory(WEIGHTS, data.nbytes, data=data)


def joined_weights(blocks: Iterable[Memory]) -> bytes:
    """Give blocks of weights their places, equal ones the same; all of them as bytes."""
    known: dict[bytes, int] = {}
    parts: list[bytes] = []
    end = 0
    for block in blocks:
        assert block.data is not None
        contents = block.data.tobytes()
        key = hashlib.sha256(contents).digest()
        if key not in known:
            known[key] = end
            parts.append(contents.ljust(-(-len(contents) // ALIGN) * ALIGN, b"\0"))
            end += len(parts[-1])
        block.offset = known[key]
    return b"".join(parts)


def arrange(blocks: Iterable[Memory]) -> int:
    """Give blocks of the arena their places, so that those that live at the same time lie apart; its size. The largest
    come first, each where there is room lowest."""
    placed: list[Memory] = []
    top = 0
    for block in sorted(blocks, key=lambda b: (-b.bytes, b.first)):
        size, at = _room(block), 0
        alive = (b for b in placed if b.first <= block.last and block.first <= b.last)
        for other in sorted(alive, key=lambda b: b.offset):
            if at + size <= other.offset:
                break
            at = max(at, other.offset + _room(other))
        block.offset = at
        placed.append(block)
        top = max(top, at + size)
    return top


def _room(block: Memory) -> int:
    return -(-max(block.bytes, 1) // ALIGN) * ALIGN
