"""The data types: one row each, from which everything that names, numbers or sizes them is derived.

Without the engine: processes that only move bytes import this, too. A new type is a new row at the end (ids are
positions, and programs on disk and keys of dispatch hold them only by name). ``python tools/make_dtype_ids.py`` then
writes the ids for Cython, ``core/dtype_ids.pxi``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

BOOL, SIGNED, UNSIGNED, FLOAT, COMPLEX, OTHER = "bool", "signed", "unsigned", "float", "complex", "other"


class Row(NamedTuple):
    """One data type. ``bits``: of an element in memory; types below 8 are packed, the first element in the low bits.

    ``exponent``, ``mantissa``, ``bias``: of a float's fields, the sign apart. ``special``: what a float has beside
    finite numbers: ``"ieee"`` infinities and NaNs (the largest exponent), ``"fn"`` NaNs alone (all bits of a
    magnitude), ``"fnuz"`` one NaN alone (what would be -0), ``"exponent"`` powers of two without sign, zero or
    infinities, and a NaN (all bits), ``"none"`` finite numbers alone.

    ``compute``: what arithmetic is done in, where it is another type. ``carrier``: for packed types, one of whole bytes
    that has all of its numbers. ``real``: of the parts of a complex number. ``short``: in printed programs and loop IR.
    ``dlpack``: DLPack's type code. ``safetensors``: in the headers of its files; None where the format lacks it.
    ``reference``: whether the reference framework has the type. ``saturates``: whether a cast gives the largest finite
    number for what is too large, infinities included, although there is a NaN.
    """

    name: str
    kind: str
    bits: int
    short: str
    dlpack: int
    safetensors: str | None = None
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    special: str = ""
    compute: str = ""
    carrier: str = ""
    real: str = ""
    reference: bool = True
    saturates: bool = False

    @property
    def packed(self) -> bool:
        """Return whether several elements share a byte."""
        return self.bits < 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """The twin in NumPy or ml_dtypes. Packed types have one element per byte there."""
        return np.dtype(getattr(ml_dtypes, self.name, None) or (np.bool_ if self.name == "bool" else self.name))

    @property
    def largest(self) -> float:
        """The largest finite number of a float type."""
        exponent = (1 << self.exponent) - 1 - self.bias - (self.special in ("ieee", "exponent"))
        missing = 1 if self.special == "fn" else 0  # magnitudes below all bits, which are NaN
        return 2.0**exponent * (2 - (1 + missing) * 2.0**-self.mantissa)

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and largest number of an integer type."""
        sign = self.kind == SIGNED
        return -sign << self.bits - 1, (1 << self.bits - sign) - 1

    def nbytes(self, count: int) -> int:
        """Bytes of ``count`` elements one after the other."""
        return (count * self.bits + 7) // 8


def _integer(name: str, bits: int, safetensors: str | None, **more: Any) -> Row:
    signed = name.startswith("int")
    short = f"{'i' if signed else 'u'}{bits}"
    return Row(name, SIGNED if signed else UNSIGNED, bits, short, 0 if signed else 1, safetensors, **more)


def _float(
    name: str,
    dlpack: int,
    safetensors: str | None,
    exponent: int,
    mantissa: int,
    special: str = "ieee",
    bias: int | None = None,
    **more: Any,
) -> Row:
    bits = (special != "exponent") + exponent + mantissa
    short = name.replace("bfloat", "bf").replace("float", "f").replace("_", "")
    bias = 2 ** (exponent - 1) - 1 if bias is None else bias
    return Row(name, FLOAT, bits, short, dlpack, safetensors, exponent, mantissa, bias, special, **more)


LOW: dict[str, Any] = {"compute": "float32"}
OURS: dict[str, Any] = {"compute": "float32", "reference": False}

# By id.
TABLE: tuple[Row, ...] = (
    Row("bool", BOOL, 8, "b1", 6, "BOOL"),
    _integer("uint8", 8, "U8"),
    _integer("int8", 8, "I8"),
    _integer("int16", 16, "I16"),
    _integer("int32", 32, "I32"),
    _integer("int64", 64, "I64"),
    _float("float16", 2, "F16", 5, 10, **LOW),
    _float("bfloat16", 4, "BF16", 8, 7, **LOW),
    _float("float32", 2, "F32", 8, 23),
    _float("float64", 2, "F64", 11, 52),
    Row("complex64", COMPLEX, 64, "c64", 5, "C64", real="float32"),
    Row("complex128", COMPLEX, 128, "c128", 5, None, real="float64"),
    _float("float8_e4m3fn", 10, "F8_E4M3", 4, 3, "fn", saturates=True, **LOW),
    _float("float8_e5m2", 12, "F8_E5M2", 5, 2, **LOW),
    _float("float8_e3m4", 7, None, 3, 4, **OURS),
    _float("float8_e4m3", 8, None, 4, 3, **OURS),
    _float("float8_e4m3b11fnuz", 9, None, 4, 3, "fnuz", 11, **OURS),
    _float("float8_e4m3fnuz", 11, "F8_E4M3FNUZ", 4, 3, "fnuz", 8, **OURS),
    _float("float8_e5m2fnuz", 13, "F8_E5M2FNUZ", 5, 2, "fnuz", 16, **OURS),
    _float("float8_e8m0fnu", 14, "F8_E8M0", 8, 0, "exponent", **OURS),
    _integer("int4", 4, None, carrier="int8", reference=False),
    _integer("uint4", 4, None, carrier="uint8", reference=False),
    _float("float4_e2m1fn", 17, "F4", 2, 1, "none", carrier="float32", **OURS),
)

ROWS: dict[str, Row] = {row.name: row for row in TABLE}

_SATURATING = {row.numpy: row.largest for row in TABLE if row.saturates}


def cast_array(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array cast to another type by NumPy and ml_dtypes, saturating where our casts do and theirs do not."""
    limit = _SATURATING.get(dtype)
    if limit is None or x.dtype == dtype:
        return x.astype(dtype)
    wide = x if x.dtype.kind == "f" else x.astype(np.float64 if x.dtype.kind in "biu" else np.float32)
    return np.clip(wide, -limit, limit).astype(dtype)


# Types that programs name and compare, and that no tensor has.
NAMES_ALONE: tuple[Row, ...] = (
    _integer("uint32", 32, None),
    _integer("uint64", 64, None),
    Row("pstring", OTHER, 0, "", 0),
    Row("undefined", OTHER, 0, "", 0),
)

# The reference's enumeration: names of its members with our names, and the numbers that its files and programs know.
_NUMBERED = (
    "undefined=0 bool=1 uint8=2 int8=3 int16=5 uint32=6 int32=7 uint64=8 int64=9 float32=10 float64=11 complex64=12 "
    "complex128=13 pstring=14 float16=15 bfloat16=16 float8_e4m3fn=17 float8_e5m2=18"
)
NUMBERS: dict[str, int] = {name: int(n) for name, n in (entry.split("=") for entry in _NUMBERED.split())}
FIRST_NUMBER_OF_OURS = 64
MEMBERS: dict[str, str] = {name.upper(): name for name in sorted(NUMBERS, key=NUMBERS.__getitem__)}
MEMBERS.update(UINT16="bfloat16", ALL_DTYPE="undefined")  # bfloat16 travels as uint16
