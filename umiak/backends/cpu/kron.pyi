"""Kronecker products of operands of one rank, which may lie in any way."""

DTYPES: tuple[str, ...]

class Kron:
    """A kernel for operands of one dtype and rank.

    Pointers of a launch: x, y, the result. Its dims: sizes and strides of x, then of y.
    """

    def __init__(self, dtype: str, rank: int) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
