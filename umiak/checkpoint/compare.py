"""Comparison of two checkpoints of any formats and layouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from umiak.checkpoint.convert import Contents


@dataclass(frozen=True)
class Difference:
    """One difference: ``kind`` is "missing" (in the second), "extra", "shape", "dtype" or "values".

    ``most`` is the largest absolute difference of two elements, ``count`` how many differ.
    """

    key: str
    kind: str
    detail: str
    most: float | None = None
    count: int | None = None


def compare(a: Contents, b: Contents, progress: Callable[[int, int], object] | None = None) -> list[Difference]:
    """All differences of two checkpoints, in the order of the keys. NaN equals NaN.

    Args:
        progress: called with the bytes compared since the last call and the bytes of all tensors.
    """
    out = []
    common = [key for key in a.infos if key in b.infos and a.infos[key].shape == b.infos[key].shape]
    total = sum(_size(a, key) for key in common)
    for key in sorted(set(a.infos) | set(b.infos)):
        x, y = a.infos.get(key), b.infos.get(key)
        if y is None and x is not None:
            out.append(Difference(key, "missing", f"{x.dtype} {list(x.shape)}"))
        elif x is None and y is not None:
            out.append(Difference(key, "extra", f"{y.dtype} {list(y.shape)}"))
        elif x is not None and y is not None:
            if x.dtype != y.dtype:
                out.append(Difference(key, "dtype", f"{x.dtype} and {y.dtype}"))
            if x.shape != y.shape:
                out.append(Difference(key, "shape", f"{list(x.shape)} and {list(y.shape)}"))
                continue
            most, count = _values(a, b, key, progress, total)
            if count:
                detail = f"{count} of {np.prod(x.shape, dtype=int)} elements, by at most {most:.6g}"
                out.append(Difference(key, "values", detail, most, count))
    return out


def _size(contents: Contents, key: str) -> int:
    info = contents.infos[key]
    return int(np.prod(info.shape, dtype=int)) * contents.itemsize(key)


def _values(
    a: Contents, b: Contents, key: str, progress: Callable[[int, int], object] | None, total: int
) -> tuple[float, int]:
    most, count = 0.0, 0
    itemsize = max(a.itemsize(key), b.itemsize(key))
    for x, y in zip(a.parts(key, itemsize), b.parts(key, itemsize)):
        if progress is not None:
            progress(x.nbytes, total)
        if x.dtype == y.dtype and np.array_equal(x.reshape(-1).view(np.uint8), y.reshape(-1).view(np.uint8)):
            continue
        wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
        if x.dtype.kind in "iub" and y.dtype.kind in "iub":
            differ = x != y
        else:
            differ = (x.astype(wide) != y.astype(wide)) & ~((x != x) & (y != y))
        if not differ.any():
            continue
        count += int(differ.sum())
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(x[differ].astype(wide) - y[differ].astype(wide))
        most = max(most, float("nan") if np.isnan(distance).any() else float(distance.max()), key=_nan_last)
    return most, count


def _nan_last(value: float) -> float:
    return float("inf") if value != value else value
