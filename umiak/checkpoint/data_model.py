"""Data model of checkpoints as plain frozen dataclasses: no tensors, no open files, no communication."""

from __future__ import annotations

from dataclasses import dataclass

from umiak.checkpoint.box import Box


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A logical tensor, as if on a single device. ``dtype`` is the name of a dtype: "float32", "bfloat16"…

    ``parts`` are the distinct boxes that ranks hold of it, sorted; empty where that is not known or it is whole.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    parts: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a logical tensor that lies in one piece in a memory or a file, in row-major order.

    ``flat`` is set for a piece of a fused buffer: the piece then holds only the elements ``[start, stop)`` of the
    row-major flattening of ``box``, as a 1-d array.
    """

    key: str
    dtype: str
    global_shape: tuple[int, ...]
    box: Box
    flat: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.box.size if self.flat is None else self.flat[1] - self.flat[0]


@dataclass(frozen=True, slots=True)
class Stored:
    """A block in a file of the checkpoint's folder: its first byte there and the checksum of its bytes.

    ``replica`` counts further copies of a block: 0 is the one that readers use.
    """

    block: Block
    file: str
    begin: int
    checksum: str = ""
    replica: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """Copy of one box of a source tensor into one box of a wanted tensor.

    ``target`` counts in the wanted tensor, ``source`` in the tensor named ``key``. The source box, with its axes
    permuted (``axes[i]`` is the source's axis that becomes axis i; None leaves them) and cast to each of ``casts`` in
    turn, is the target box.
    """

    target: Box
    key: str
    source: Box
    axes: tuple[int, ...] | None = None
    casts: tuple[str, ...] = ()
