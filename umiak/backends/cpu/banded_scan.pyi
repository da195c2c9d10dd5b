"""Launching banded scans."""

MOST_BANDS: int

class BandedScan:
    """Log-sums over paths, and the recurrence of their gradient, in float32 or float64.

    ``transpose``: against the arcs. Results are dense, operands have any strides.
    """

    def __init__(self, bands: int, doubles: bool, transpose: bool = False) -> None: ...
    @property
    def log_sums(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``.

        Pointers: arcs, walls, y, w. Dims: sizes and strides of the arcs, strides of the walls.
        """

    @property
    def sums(self) -> int:
        """Pointers: w, g, x. Dims: the sizes of w, its strides, the strides of g."""

    @property
    def self_pointer(self) -> int: ...
