"""Data types: interned objects, one per id. See docs/design/dtypes.md."""

from typing import Any, final

import numpy

@final
class DType:
    """The type of a tensor's elements. One object per type: compare with ``is`` or ``==``."""

    id: int
    value: int
    name: str
    bits: int
    npt: int
    numpy: numpy.dtype[Any]
    is_bool: bool
    is_integer: bool
    is_floating: bool
    is_complex: bool
    is_packed: bool
    is_continuous: bool
    compute: DType
    real: DType
    carrier: DType

    @property
    def itemsize(self) -> int: ...
    def nbytes(self, count: int) -> int: ...
    def __int__(self) -> int: ...
    def __dlpack_data_type__(self) -> tuple[int, int, int]:
        """DLPack's code of the type, bits of an element, and lanes (1)."""
    ALL_DTYPE: DType
    BFLOAT16: DType
    BOOL: DType
    COMPLEX64: DType
    COMPLEX128: DType
    FLOAT16: DType
    FLOAT32: DType
    FLOAT64: DType
    FLOAT8_E4M3FN: DType
    FLOAT8_E5M2: DType
    INT8: DType
    INT16: DType
    INT32: DType
    INT64: DType
    PSTRING: DType
    UINT8: DType
    UINT16: DType
    UINT32: DType
    UINT64: DType
    UNDEFINED: DType

bool: DType
uint8: DType
int8: DType
int16: DType
int32: DType
int64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
complex64: DType
complex128: DType
float8_e4m3fn: DType
float8_e5m2: DType
float8_e3m4: DType
float8_e4m3: DType
float8_e4m3b11fnuz: DType
float8_e4m3fnuz: DType
float8_e5m2fnuz: DType
float8_e8m0fnu: DType
int4: DType
uint4: DType
float4_e2m1fn: DType
uint32: DType  # of no tensor, like those below
uint64: DType
pstring: DType
undefined: DType

def convert(x: Any) -> DType:
    """The dtype of a DType, a name (``"float32"``, ``"paddle.float32"``, NumPy's spellings), a NumPy or Python type."""

def from_id(id: int) -> DType: ...
def named(name: str) -> DType:
    """The dtype of a name, of those that no tensor has, too."""

def all_dtypes() -> tuple[DType, ...]:
    """Every dtype, by id."""
