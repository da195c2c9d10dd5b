"""Scalar types of the loop IR.

Unsigned and signed integers differ; the narrow floats are storage types: values are cast to ``f32`` before any
arithmetic. Complex numbers are pairs of floats everywhere below the ops.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from umiak.util import dtypes


@dataclass(frozen=True, eq=False)
class ScalarType:
    """One type: ``kind`` is ``b`` (bool), ``i``, ``u`` or ``f``; ``bits`` in memory (bool takes a byte there).

    There is one object of each, which ``scalar_type`` gives: types are compared by identity.
    """

    name: str
    kind: str
    bits: int

    @cached_property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    @cached_property
    def is_float(self) -> bool:
        return self.kind == "f"

    @cached_property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @cached_property
    def is_storage(self) -> bool:
        """Return whether values are only loaded, stored and cast."""
        return self.kind == "f" and self.name not in ("f32", "f64")

    def __reduce__(self) -> tuple:
        return scalar_type, (self.name, self.kind, self.bits)

    def __repr__(self) -> str:
        return self.name


@cache
def scalar_type(name: str, kind: str, bits: int) -> ScalarType:
    """Return the type of this name, kind and size."""
    return ScalarType(name, kind, bits)


_KINDS = {dtypes.BOOL: "b", dtypes.SIGNED: "i", dtypes.UNSIGNED: "u", dtypes.FLOAT: "f"}


def _scalar(row: dtypes.Row) -> ScalarType:
    if row.kind == dtypes.BOOL:
        return scalar_type("bool", "b", 1)
    return scalar_type(row.short, _KINDS[row.kind], row.bits)


# By the name of the data type. The parts of complex numbers are floats, and packed types are moved as whole bytes.
STORED: dict[str, ScalarType] = {
    row.name: _scalar(dtypes.ROWS[row.real or row.name]) for row in dtypes.TABLE if not row.packed
}

BOOL = STORED["bool"]
I8, I16, I32, I64 = (STORED[f"int{n}"] for n in (8, 16, 32, 64))
U8 = STORED["uint8"]
U16, U32, U64 = (scalar_type(f"u{n}", "u", n) for n in (16, 32, 64))  # of numbers on their way: no tensor has them
F16, BF16, F32, F64 = (STORED[name] for name in ("float16", "bfloat16", "float32", "float64"))
F8E4M3FN, F8E5M2 = STORED["float8_e4m3fn"], STORED["float8_e5m2"]

TYPES = {t.name: t for t in (*STORED.values(), U16, U32, U64)}

# Their twins in NumPy, by name.
DTYPES: dict[str, np.dtype[Any]] = {
    **{t.name: np.dtype(f"uint{t.bits}") for t in TYPES.values() if t.kind == "u"},
    **{t.name: dtypes.ROWS[name].numpy for name, t in STORED.items() if not dtypes.ROWS[name].real},
}


def bits_of(value: float, t: ScalarType) -> int:
    """The bits of a number in a narrow float."""
    with np.errstate(all="ignore"):
        return int(dtypes.cast_array(np.asarray(value), DTYPES[t.name]).view(f"u{t.bytes}"))
