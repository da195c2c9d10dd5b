"""Kernels in C for what no nest can be: distinct elements, searches, loops whose length is data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.backends.base import Kernel
from umiak.backends.cpu import search
from umiak.backends.cpu.registry import serves
from umiak.backends.ref.elementwise import together
from umiak.core.dtype import DType, convert
from umiak.ops import elementwise, index

TYPE_INDEX = {name: k for k, name in enumerate(search.TYPES)} | {"bool": 0}
SEARCHED = ("int32", "int64", "float32", "float64")


def runs(*classes: type) -> Callable[[Any], Any]:
    """Register a function that returns the kernel for a call, on NumPy arrays, or None where it has none."""

    def enter(make: Callable[[Any], Callable[..., None] | None]) -> Any:
        @serves(*classes)
        def kernel(call: Any) -> Kernel | None:
            run = make(call)
            return None if run is None else Kernel(run=run)

        return make

    return enter


def type_of(x: np.ndarray) -> int:
    """Return the index of an array's dtype among the types of the C functions."""
    return TYPE_INDEX[convert(x.dtype).name]


def address(x: np.ndarray) -> int:
    return x.ctypes.data


def _sortable(dtype: DType) -> bool:
    return dtype.name in TYPE_INDEX


@runs(index.UniqueCount, index.UniqueSized)
def unique(call: Any) -> Callable[..., None] | None:
    """Return the kernel of the sorted distinct elements of a whole tensor, or of their count."""
    dtype = call.metas[0].dtype
    if not _sortable(dtype) or call.op.axis is not None or call.op.consecutive:
        return None
    counts = isinstance(call.op, index.UniqueCount)

    def run(op: Any, outs: list, ins: list, params: tuple) -> None:
        flat = np.ascontiguousarray(ins[0]).reshape(-1)
        if counts:
            outs[0][...] = search.unique(address(flat), type_of(flat), flat.size)
            return
        most = outs[1].size
        first, many, inverse = (np.empty(size, np.int64) for size in (most, most, flat.size))
        found = search.unique(
            address(flat), type_of(flat), flat.size, most, address(first), address(many), address(inverse)
        )  # fmt: skip
        if found != most:
            op.fail(ValueError, f"the count {found} of distinct elements", most)
        for part, y in zip(outs, (flat[first], first, inverse, many), strict=True):
            part[...] = y

    return run


@runs(index.SearchSorted)
def search_sorted(call: Any) -> Callable[..., None] | None:
    """Return the kernel of binary searches in sorted rows."""
    if call.metas[0].dtype.name not in SEARCHED:
        return None

    def run(op: Any, outs: list, ins: list, params: tuple) -> None:
        rows, values = (np.ascontiguousarray(x) for x in ins)
        found = np.empty(values.shape, np.int64)
        one = rows.ndim == 1
        count = 1 if one else int(np.prod(rows.shape[:-1], dtype=np.int64))
        each = values.size if one else values.shape[-1]
        search.search(
            address(rows), type_of(rows), count, rows.shape[-1], address(values), each, op.right, address(found)
        )  # fmt: skip
        outs[0][...] = found

    return run


@runs(elementwise.Gcd)
def gcd(call: Any) -> Callable[..., None] | None:
    """Return the kernel of greatest common divisors."""
    if call.outs[0].dtype.name not in ("int32", "int64"):
        return None

    def run(op: Any, outs: list, ins: list, params: tuple) -> None:
        x, y = (np.ascontiguousarray(np.broadcast_to(v, outs[0].shape)) for v in together(*ins))
        out = np.empty(outs[0].shape, outs[0].dtype)
        search.gcd(address(x), address(y), type_of(out), out.size, address(out))
        outs[0][...] = out

    return run
