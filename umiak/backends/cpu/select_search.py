"""Kernels in C for what no nest can be: distinct elements, searches, loops whose length is data."""

from __future__ import annotations

from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.cpu.registry import serves
from umiak.backends.cpu.search import TYPES, Search
from umiak.ir import sym as dim
from umiak.ops import elementwise, index, sorting

SORTED = (*TYPES, "bool")
SEARCHED = ("int32", "int64", "float32", "float64")
DIVIDED = ("int32", "int64")


@serves(index.UniqueCount, index.UniqueSized)
def unique(call: Any) -> Kernel | None:
    """The kernel of the sorted distinct elements of a whole tensor, or of their count."""
    op, meta = call.op, call.classes.metas[0]
    if not call.symbolic or meta.dtype.name not in SORTED or op.axis is not None or op.consecutive:
        return None
    made = Search(meta.dtype.name, len(meta.shape))
    sized = isinstance(op, index.UniqueSized)
    return Kernel(made.unique, made.self_pointer, keep=made, dims=[int(sized), *meta.shape, *call.strides(0)])


@serves(sorting.Mode, opaque=True)
def mode(call: Any) -> Kernel | None:
    """The kernel of the most frequent elements along an axis."""
    op, meta = call.op, call.classes.metas[0]
    if not call.symbolic or not meta.shape or meta.dtype.name not in SORTED:
        return None
    made = Search(meta.dtype.name, len(meta.shape), axis=op.axis)
    return Kernel(made.mode, made.self_pointer, keep=made, dims=[*meta.shape, *call.strides(0)])


@serves(index.SearchSorted)
def search_sorted(call: Any) -> Kernel | None:
    """The kernel of binary searches in sorted rows."""
    op, (rows, values) = call.op, call.classes.metas
    if not call.symbolic or rows.dtype.name not in SEARCHED or op.dtype.name not in DIVIDED:
        return None
    made = Search(
        rows.dtype.name,
        len(values.shape),
        rank_rows=len(rows.shape),
        right=op.right,
        narrow=op.dtype.name == "int32",
    )
    dims = [*rows.shape, *call.strides(0), *values.shape, *call.strides(1)]
    return Kernel(made.search, made.self_pointer, keep=made, dims=dims)


@serves(elementwise.Gcd)
def gcd(call: Any) -> Kernel | None:
    """The kernel of greatest common divisors, of tensors or of one and a number."""
    out = call.outs[0]
    numbers = [x for x in call.operands if type(x) is int]
    tensors = [m for m in call.classes.metas if m is not None and m.dtype is out.dtype]
    if not call.symbolic or out.dtype.name not in DIVIDED or len(numbers) > 1 or len(numbers) + len(tensors) != 2:
        return None
    made = Search(out.dtype.name, len(out.shape))
    dims = list(out.shape)
    for i, (x, meta) in enumerate(zip(call.operands, call.classes.metas, strict=True)):
        dims += [0] * len(out.shape) if type(x) is int else broadcast_strides(out.shape, meta.shape, call.strides(i))
    flat = made.gcd_flat if call.contiguous else 0
    return Kernel(made.gcd, made.self_pointer, keep=made, dims=dims, flat=flat)


def broadcast_strides(shape: Any, own: Any, strides: Any) -> list:
    """Strides of an operand along the axes of the result: 0 where it is repeated."""
    missing = len(shape) - len(own)
    return [0] * missing + [dim.where(size == 1, 0, stride) for size, stride in zip(own, strides, strict=True)]
