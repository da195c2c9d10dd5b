"""Matmuls of float32 as steps: shapes, blocks and packed weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from umiak.backends.cpu.aot.epilogue import NOTHING, Epilogue
from umiak.backends.cpu.aot.kernels import Kernels
from umiak.backends.cpu.aot.memory import Place, weight
from umiak.backends.cpu.aot.step import Step, numbers, struct
from umiak.backends.cpu.gemm_kernel import Tile

K_BLOCK = 384  # steps of k of a block of a, which lies in the cache
MOST_BLOCKS, FEWEST_BLOCKS = 16, 4  # of rows, of that block
PARTS = 8  # that a product is cut into for threads
PAD = 16  # between rows of a block, as in runtime/gemm.c
MULTIPLY_ADDS_PER_NS = 20.0
FEW_COLUMNS = 256
MOST_BATCH = 6  # UM_MAX_BATCH


class Batch(NamedTuple):
    """A dim of a batch of products: its size, and the steps in a, b and c."""

    size: int
    a: int
    b: int
    c: int


class Blocks(NamedTuple):
    """Parts of a product: the function that computes them, rows of each (of pixels, where the function says so), panels
    of each, steps of k at a time, and how many parts there are."""

    run: str
    rows: int
    panels: int
    k: int
    parts: int


@dataclass
class Product:
    """``c = a b``. ``a`` and ``c`` are given by where they begin and by steps in elements; ``b`` likewise, or as a
    ``matrix`` that is known."""

    name: str
    a: Place
    c: Place
    m: int
    n: int
    k: int
    a_row: int
    a_step: int
    c_row: int
    b: Place | None = None
    b_row: int = 0
    b_step: int = 0
    matrix: np.ndarray | None = None
    batch: list[Batch] = field(default_factory=list)
    image: dict[str, Any] | None = None  # of which rows of a are windows
    after: Epilogue = NOTHING

    def folded(self) -> Product:
        """The same with dims of the batch as rows, where they continue these, and b is one matrix."""
        while self.batch and not self.batch[-1].b:
            last = self.batch[-1]
            if last.a != self.m * self.a_row or last.c != self.m * self.c_row:
                break
            self.m *= last.size
            self.batch.pop()
        return self

    def step(self, kernels: Kernels) -> Step | None:
        """The step; None where there is nothing to compute."""
        if not (self.m and self.n and prod(b.size for b in self.batch)):
            return None
        width = kernels.tile.width
        panels = -(-self.n // width)
        blocks = self.blocks(kernels.tile, panels)
        full, last = kernels.panel(width), kernels.panel(self.n - (panels - 1) * width)
        b = (weight(packed(self.matrix, width)), 0) if self.matrix is not None else self.b.ref  # type: ignore[union-attr]
        values = {
            "packed": int(self.matrix is not None), "m": self.m, "n": self.n, "k": self.k, "a_row": self.a_row,
            "a_step": self.a_step, "b_row": self.b_row, "b_step": self.b_step, "c_row": self.c_row, "width": width,
            "row_block": blocks.rows, "column_block": blocks.panels, "k_block": blocks.k, "n_batch": len(self.batch),
        }  # fmt: skip
        text = numbers(values) | {"full": f"&{full.name}", "last": f"&{last.name}"} | self.after.text
        if self.batch:
            columns = zip(*self.batch, strict=True)
            text.update(zip(("batch", "a_batch", "b_batch", "c_batch"), map(struct, columns), strict=True))
        count = prod(x.size for x in self.batch)
        own = 0 if self.matrix is not None else panels * self.k * width  # b, packed for each part
        local = 4 * (blocks.rows * (blocks.k + PAD) + own)
        return Step(
            run=blocks.run, kind="um_gemm", name=self.name, text=text, image=self.image,
            refs={"a": self.a.ref, "b": b, "c": self.c.ref} | self.after.refs, count=count * blocks.parts,
            work=count * self.m * self.n * self.k / MULTIPLY_ADDS_PER_NS, local=local,
        )  # fmt: skip

    def blocks(self, tile: Tile, panels: int) -> Blocks:
        """The way in which the work is cut."""
        rows = min(max(-(-self.m // (PARTS * tile.rows)), FEWEST_BLOCKS), MOST_BLOCKS) * tile.rows
        if self.image is not None and self.lies_in_rows(self.image, tile):
            length = self.image["out"][2]
            rows = -(-rows // length)
            return Blocks("um_run_rows", rows, panels, self.k, -(-self.m // length // rows))
        if self.matrix is None and self.batch:
            rows = self.m  # since b is packed for each part
        rows = min(rows, self.m)
        parts = -(-self.m // rows)
        wanted = -(-PARTS // parts) if self.matrix is not None and parts < PARTS else 1
        columns = -(-panels // min(panels, wanted))
        k = max(1, -(-self.k // max(1, -(-self.k // K_BLOCK))))
        return Blocks("um_run_gemm", rows, columns, k, parts * -(-panels // columns))

    def lies_in_rows(self, image: dict[str, Any], tile: Tile) -> bool:
        """Return whether windows are better read where they lie than gathered, which costs little where many columns
        are made of them: rows of the result that fill tiles, and are not all edges."""
        length, pads = image["out"][2], 2 * image["pad"][2]
        filled = length % tile.rows == 0 or length >= 3 * tile.rows
        return self.n <= FEW_COLUMNS and length >= tile.rows + pads and filled


def packed(b: np.ndarray, width: int) -> np.ndarray:
    """A matrix as panels of so many columns, zeros behind its last one."""
    k, n = b.shape
    panels = -(-n // width)
    out = np.zeros((panels, k, width), np.float32)
    for p in range(panels):
        part = b[:, p * width : (p + 1) * width]
        out[p, :, : part.shape[1]] = part
    return out


def matrix_product(
    name: str, x: Place, y: Place, c: Place, transposed: tuple[bool, bool], after: Epilogue = NOTHING
) -> Product:
    """A matmul with batch dims that broadcast, of x and y ``transposed`` or not; operands of one dim are a row and a
    column."""
    a, b = _as_matrix(x, transposed[0], row=True), _as_matrix(y, transposed[1], row=False)
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    lead = c.shape[: max(len(a.shape), len(b.shape)) - 2]
    batch, step = [], prod(c.shape)
    for i, size in enumerate(lead):
        step //= max(size, 1)
        if size != 1:
            batch.append(Batch(size, _step_of(a, i - len(lead), size), _step_of(b, i - len(lead), size), step))
    known = b.data if len(b.shape) == 2 else None
    return Product(
        name, a, c, m=m, n=n, k=k, a_row=a.strides[-2], a_step=a.strides[-1], c_row=n, b=b, b_row=b.strides[-2],
        b_step=b.strides[-1], matrix=known, batch=batch, after=after,
    ).folded()  # fmt: skip


def _as_matrix(x: Place, transpose: bool, row: bool) -> Place:
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    if len(x.shape) == 1:
        shape, strides = ((1, *x.shape), (0, *x.strides)) if row else ((*x.shape, 1), (*x.strides, 0))
    else:
        swap: Sequence[int] = (*range(len(x.shape) - 2), -1, -2) if transpose else range(len(x.shape))
        shape, strides = tuple(x.shape[i] for i in swap), tuple(x.strides[i] for i in swap)
    return Place(x.memory, x.dtype, shape, strides, x.offset)


def _step_of(x: Place, axis: int, size: int) -> int:
    """The step of a batch dim, counted from the end of the batch dims; 0 where the operand is the same for all."""
    at = len(x.shape) - 2 + axis
    return x.strides[at] if at >= 0 and x.shape[at] == size else 0
