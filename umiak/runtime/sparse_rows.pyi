"""Matmuls of sparse and dense matrices of float32 or float64, on contiguous arrays.

Indices are int64 or int32, within bounds.
"""

import numpy as np

def times(
    double_precision: bool,
    long_index: bool,
    m: int,
    n: int,
    crows: np.ndarray,
    cols: np.ndarray,
    values: np.ndarray,
    dense: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the product of a matrix of ``m`` compressed rows and a dense one of ``n`` columns."""

def at_positions(
    double_precision: bool,
    long_index: bool,
    count: int,
    k: int,
    rows: np.ndarray,
    cols: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write, for each position, the product of the row of ``left`` and the row of ``right``, of length ``k``."""
