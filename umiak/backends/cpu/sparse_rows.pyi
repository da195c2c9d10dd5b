"""Matmuls of sparse and dense matrices of float32 or float64. Indices are contiguous and within bounds."""

class SparseRows:
    """Kernels for values of float64 (``doubles``) or float32, and indices of int64 (``longs``) or int32."""

    def __init__(self, doubles: bool, longs: bool) -> None: ...
    @property
    def times(self) -> int:
        """The address of the launch of a sparse matrix in compressed rows times a dense one."""

    @property
    def at_positions(self) -> int:
        """The address of the launch of the products of rows of two matrices, a pair for each position."""

    @property
    def self_pointer(self) -> int:
        """What the launch gets as ``self``."""
