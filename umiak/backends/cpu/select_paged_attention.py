"""Kernels of attention over pages, and of writing to them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from umiak.backends.base import Kernel
from umiak.backends.cpu import attention_kernels, gemm_kernel
from umiak.backends.cpu.paged_attention import CODES, PagedAttention, WritePages
from umiak.backends.cpu.registry import serves
from umiak.backends.cpu.select_attention import STORED
from umiak.compiler.loop.types import F32, F64
from umiak.core.array import to_numpy
from umiak.ops import pages as ops


@serves(ops.WritePages, opaque=True)
def write(call: Any) -> Kernel | None:
    """The kernel that writes new rows into pages."""
    pages, rows, tables, *_ = metas = call.classes.metas
    if not call.symbolic or not lies_densely(call, 0):
        return None
    launcher = WritePages(pages.dtype.itemsize, [m.dtype.itemsize for m in metas[2:]])
    dims = [*sizes(pages), rows.shape[0], *tables.shape]
    for i in range(1, 5):
        dims += call.strides(i)
    return Kernel(launcher.address, launcher.self_pointer, keep=launcher, dims=dims, explain=explain)


@serves(ops.PagedAttention, opaque=True)
def attention(call: Any) -> Kernel | None:
    """The kernel of a class of calls; None for types that the processor does not convert."""
    op, metas = call.op, call.classes.metas
    q, keys, values, tables, _, _, mask, key_scale, value_scale = metas
    stored = STORED.get(q.dtype.name)
    if stored is None or not attention_kernels.supported(stored) or not call.symbolic:
        return None
    if not lies_densely(call, 1, 2):
        return None
    functions, tile, keep = attention_kernels.functions(stored, None if mask is None else stored, False)
    query = functions["copy"], functions["copy_any"]
    if key_scale is not None:
        rows, library = attention_kernels.byte_functions(attention_kernels.host(), F64 if stored is F64 else F32)
        functions, keep = functions | rows, [keep, library]
    launcher = PagedAttention(
        functions,
        keep,
        gradient=0,
        wide=stored is F64,
        stored=stored.bytes,
        lanes=tile.lanes,
        width=tile.width,
        sizes=gemm_kernel.sizes_of(tile),
        keys=attention_kernels.KEYS,
        causal=op.causal,
        mask=None if mask is None else "added",
        mask_stored=0 if mask is None else mask.dtype.itemsize,
    )
    launcher.read_pages(*query, keys.dtype.itemsize, [m.dtype.itemsize for m in metas[3:6]])
    asked = [*q.shape, *sizes(keys), values.shape[-1], *tables.shape]
    asked += [1] * 4 if mask is None else mask.shape
    asked += [1 if m is None else m.shape[0] for m in (key_scale, value_scale)]
    for i, m in enumerate(metas):
        if i not in (1, 2):
            asked += [0] * (4 if i == 6 else 2) if m is None else call.strides(i)
    return Kernel(launcher.address, launcher.self_pointer, keep=launcher, dims=asked, explain=explain)


def sizes(pages: Any) -> tuple:
    """Return how many pages there are, heads, rows and dim."""
    return math.prod(pages.shape[:-3]), *pages.shape[-3:]


def lies_densely(call: Any, *operands: int) -> bool:
    return all(call.operands[i].is_contiguous() for i in operands)


def explain(op: Any, operands: tuple, params: tuple, code: int) -> None:
    """Raise the error of a launch that was refused, which has written nothing."""
    if code == CODES["NO_MEMORY"]:
        raise MemoryError(f"[{op.name}] requires scratch memory, and there is none left")
    given = dict(zip((name.rstrip("?") for name in op.inputs), operands, strict=True))
    tables, counts, before = (
        np.asarray(to_numpy(given[name])).astype(np.int64) for name in ("tables", "counts", "before")
    )
    pages, _, size, _ = sizes(given["pages" if "pages" in given else "key_pages"])
    new, ends, room = given["rows" if "rows" in given else "query"].shape[0], before + counts, tables.shape[1] * size
    if code == CODES["NEGATIVE"]:
        op.fail(ValueError, "counts and positions of at least 0", f"counts {counts.tolist()}, before {before.tolist()}")
    if code == CODES["TOKENS"]:
        op.fail(ValueError, f"counts that add up to {new} tokens", f"{counts.tolist()}, which is {counts.sum()}")
    worst = int(np.argmax(np.where(counts > 0, ends, -1)))
    if code == CODES["OVERFLOW"]:
        op.fail(
            ValueError,
            f"sequences of at most {room} tokens, {tables.shape[1]} pages of {size}",
            f"{ends[worst]} tokens in sequence {worst}",
            "Give it a table with more pages.",
        )
    if code == CODES["MASK"]:
        shape = tuple(given["mask"].shape)
        op.fail(
            ValueError,
            f"a mask with a row for each of {counts.max()} new tokens, or one row, and with {ends[worst]} positions",
            f"a mask of shape {shape}",
        )
    used = [(int(tables[b, i]), b) for b in range(len(counts)) if counts[b] > 0 for i in range(-(-ends[b] // size))]
    if code == CODES["PAGE"]:
        page, b = next(x for x in used if not 0 <= x[0] < pages)
        op.fail(IndexError, f"pages from 0 to {pages - 1} up to each sequence's end", f"page {page} in sequence {b}")
    written = [int(t) for b in np.flatnonzero(counts > 0) for t in tables[b, before[b] // size : -(-ends[b] // size)]]
    page = next(p for p in written if sum(p == q for q, _ in used) > 1)
    owners = [b for q, b in used if q == page]
    op.fail(
        ValueError,
        "pages that are written to in one place of one table alone",
        f"page {page} in tables of sequences {owners}",
        "Copy a page that sequences share before one of them writes to it.",
    )
