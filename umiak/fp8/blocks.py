"""Matrices in blocks that share a scale, the last ones of which may be cut short."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym

Block = tuple[int | None, int | None]  # rows and columns of a block; None: all that there are


def block_sizes(shape: Any, block: Block) -> tuple[Any, Any]:
    """Return rows and columns of a block of a matrix; a block has one of each at least."""
    rows, columns = (_at_least_one(n) if size is None else size for n, size in zip(shape, block, strict=True))
    return rows, columns


def _at_least_one(size: Any) -> Any:
    return size if isinstance(size, Sym) else max(size, 1)


def in_blocks(x: Tensor, block: Block) -> Tensor:
    """Return a matrix as ``[block rows, rows of each, block columns, columns of each]``, the last blocks filled with
    zeros."""
    sizes = block_sizes(x.shape, block)
    counts = [1 if given is None else -(-n // size) for n, size, given in zip(x.shape, sizes, block, strict=True)]
    missing = tuple(count * size - n for n, size, count in zip(x.shape, sizes, counts, strict=True))
    if any(isinstance(n, Sym) or n != 0 for n in missing):
        x = F.pad(x, 0.0, axes=(0, 1), lo=(0, 0), hi=missing)
    return F.reshape(x, (counts[0], sizes[0], counts[1], sizes[1]))


def out_of_blocks(blocks: Tensor, shape: Any) -> Tensor:
    """Return the matrix of ``shape`` that ``in_blocks`` has divided."""
    r, rows, c, columns = blocks.shape
    filled = F.reshape(blocks, (r * rows, c * columns))
    if all(map(dim.same, filled.shape, shape)):
        return filled
    return F.copy(F.slice(filled, (0, 1), (0, 0), tuple(shape), (1, 1)))  # not a view that keeps what was added
