"""What operations on elements of narrow dtypes mean: NumPy with the twins of ml_dtypes, one element per byte.

Tensors of whole bytes share memory with their views as arrays do. Of packed ones only reshapes do; all else is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

PACKED = ("int4", "uint4", "float4_e2m1fn")
FLOAT8 = (
    "float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
NARROW = (*PACKED, *FLOAT8)
OPAQUE = ("bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64")


class Unclear(Exception):
    """What the statement means is not agreed upon."""


def overflowing() -> np.errstate:
    """What the text of a program for the model runs in: infinity and NaN are results like others."""
    return np.errstate(all="ignore")


def twin(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def codes(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Any elements of a narrow dtype."""
    return rng.integers(0, 16 if name in PACKED else 256, shape).astype(np.uint8).view(twin(name))


def is_float(x: np.ndarray) -> bool:
    return "float" in x.dtype.name


def is_packed(x: np.ndarray) -> bool:
    return x.dtype.name in PACKED


def view(x: np.ndarray, how: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A part of a tensor, or another order of its elements."""
    y = how(x)
    return np.array(y, order="C") if is_packed(x) else y


def reshape(x: np.ndarray, how: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Another shape, of the same memory."""
    if not x.flags.c_contiguous:
        raise Unclear("whether the result is a view or a copy is not said")
    return how(x)


def parts(x: np.ndarray, axis: int) -> list[np.ndarray]:
    return [view(x, lambda x, k=k: np.moveaxis(x, axis, 0)[k, ...]) for k in range(x.shape[axis])]  # type: ignore[misc]


def halves(x: np.ndarray, axis: int) -> list[np.ndarray]:
    """The first element along an axis, and the rest."""
    if not x.shape[axis]:
        raise Unclear("there is no first element")
    return [copied(part) for part in np.split(x, [1], axis)]


def copied(x: Any) -> np.ndarray:
    return np.array(x, order="C")


def put(x: np.ndarray, index: Any, value: Any) -> None:
    """``x[index] = value``: elements of the same dtype, or a number that it has."""
    if isinstance(value, np.ndarray) and np.shares_memory(x, value):
        value = value.copy()
    x[index] = value if isinstance(value, np.ndarray) else number(x, value)


def number(x: np.ndarray, value: float) -> np.ndarray:
    return cast(np.array(value, np.float32), x.dtype.name)


def wide(x: np.ndarray) -> np.ndarray:
    """The numbers, in a dtype that NumPy computes with."""
    with np.errstate(all="ignore"):  # of signalling NaN
        return x.astype(np.float64) if is_float(x) else x.astype(np.int64)


def cast(x: np.ndarray, name: str) -> np.ndarray:
    """Floats are rounded once, to even; integers wrap. To its own dtype a tensor is cast as itself."""
    to = twin(name)
    if x.dtype == to:
        return x
    with np.errstate(all="ignore"):
        if name == "bool":
            return np.asarray(wide(x) != 0)
        if not is_float(x):
            x = x.astype(np.int64)
            if name in ("int4", "uint4"):
                return x.astype(np.int8).astype(to)
            return x.astype(to) if np.issubdtype(to, np.integer) else cast(x.astype(np.float32), name)
        if name in OPAQUE and "float" in name:
            return x.astype(to)
        single = x.astype(np.float32)
        if "float" in name:
            if x.dtype == np.float64 and not np.array_equal(x, single, equal_nan=True):
                raise Unclear("a float64 that the twins round twice")
            if name == "float8_e4m3fn":
                single = np.clip(single, -448, 448)  # which saturates, where the twin gives NaN
            return np.where(np.isnan(single), -0.0, single).astype(to) if name == "float4_e2m1fn" else single.astype(to)
        if not np.isfinite(single).all() or (np.abs(single) > 100).any() or (name == "uint8" and (single < 0).any()):
            raise Unclear("numbers that the dtype has not")
        return single.astype(np.int8).astype(to)


def zeros(shape: Sequence[int], name: str, value: float = 0) -> np.ndarray:
    return np.full(tuple(shape), number(np.zeros((), twin(name)), value), twin(name))


def compare(x: np.ndarray, y: np.ndarray, sign: str) -> np.ndarray:
    functions = {"==": np.equal, "!=": np.not_equal, "<": np.less, ">=": np.greater_equal}
    return np.asarray(functions[sign](wide(x), wide(y)))


def quantised(x: np.ndarray, rows: int, power_of_two: bool) -> list[np.ndarray]:
    """A matrix as float8_e4m3fn with a scale for each block of ``rows`` × 128 elements, one block at a time."""
    m, n = x.shape
    codes = np.zeros((m, n), twin("float8_e4m3fn"))
    scale = np.zeros((-(-m // rows), -(-n // 128)), np.float32)
    with np.errstate(all="ignore"):
        for i, j in np.ndindex(scale.shape):
            block = np.s_[i * rows : (i + 1) * rows, j * 128 : (j + 1) * 128]
            part = x[block].astype(np.float32)
            factor = np.float32(448) / np.max(np.abs(part))
            factor = np.minimum(factor, np.float32(2.0**127 if power_of_two else 2.0**128 - 2.0**120))
            if not part.any():
                factor = np.float32(1)
            elif power_of_two and factor > 0:
                factor = np.ldexp(np.float32(0.5), np.frexp(factor)[1])
            codes[block] = cast(part * factor, "float8_e4m3fn")
            scale[i, j] = np.float32(1) / factor
    return [codes, scale]


def dequantised(codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The numbers of codes in blocks of a row, as bfloat16."""
    with np.errstate(all="ignore"):
        spread = np.repeat(scale, 128, axis=1)[:, : codes.shape[1]]
        return cast(np.asarray(codes.astype(np.float32) * spread), "bfloat16")


def names() -> dict[str, Any]:
    """What the text of a program for the model uses."""
    return {"np": np, "view": view, "reshape": reshape, "parts": parts,
            "halves": halves, "copied": copied, "put": put,
            "cast": cast, "number": number, "zeros": zeros, "compare": compare,
            "quantised": quantised, "dequantised": dequantised}  # fmt: skip


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit, but for which NaN it is."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    x, y = wide(a), wide(b)
    if not is_float(a):
        return np.array_equal(x, y)
    return np.array_equal(x, y, equal_nan=True) and bool((np.isnan(x) | (np.signbit(x) == np.signbit(y))).all())
