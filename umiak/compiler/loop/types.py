"""Scalar types of the loop IR.

Unsigned and signed integers differ; the narrow floats are storage types: values are cast to ``f32`` before any
arithmetic. Complex numbers are pairs of floats everywhere below the ops.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScalarType:
    """One type: ``kind`` is ``b`` (bool), ``i``, ``u`` or ``f``; ``bits`` in memory (bool takes a byte there)."""

    name: str
    kind: str
    bits: int

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_storage(self) -> bool:
        """Whether values are only loaded, stored and cast."""
        return self.kind == "f" and self.name not in ("f32", "f64")

    def __repr__(self) -> str:
        return self.name


BOOL = ScalarType("bool", "b", 1)
I8, I16, I32, I64 = (ScalarType(f"i{n}", "i", n) for n in (8, 16, 32, 64))
U8, U16, U32, U64 = (ScalarType(f"u{n}", "u", n) for n in (8, 16, 32, 64))
F16, BF16 = ScalarType("f16", "f", 16), ScalarType("bf16", "f", 16)
F8E4M3, F8E5M2 = ScalarType("f8e4m3", "f", 8), ScalarType("f8e5m2", "f", 8)
F32, F64 = ScalarType("f32", "f", 32), ScalarType("f64", "f", 64)

TYPES = {
    t.name: t for t in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F8E4M3, F8E5M2, F32, F64)
}  # fmt: skip
