"""Matmul of two matrices with any strides: what Python has to know of it."""

DTYPES: dict[str, int]  # the number of a dtype

# Libraries that may be used, as bits.
USE_ONEDNN: int
USE_BLAS: int
USE_SMALL: int
