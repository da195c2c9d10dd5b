"""Launching sort and top-k."""

KINDS: tuple[str, ...]

class Sorting:
    """Rows along ``axis`` in rising or falling order; equal elements keep theirs, NaN is the largest.

    Pointers of a launch: x, values, places (int64), both outputs dense. Its dims: how many are wanted of each row, the
    sizes of x, its strides.
    """

    def __init__(self, dtype: str, bytes: int, rank: int, axis: int, falling: bool) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
