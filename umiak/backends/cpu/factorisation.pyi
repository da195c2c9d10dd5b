"""Factorisations and solvers of batches of matrices, by LAPACK."""

TYPES: tuple[str, ...]
KINDS: dict[str, int]
CODES: dict[str, int]

def load() -> None:
    """Find LAPACK in SciPy; ImportError or KeyError where SciPy is not as expected."""

class Factorisation:
    """A kernel for matrices of one dtype, with ``rank`` axes of a batch.

    Pointers of a launch: x, y for solvers, the outputs, which are dense. Its dims: sizes of the batch, rows and columns
    of x, columns of y or 0; for x, and then for y, the sizes of the own batch and the strides of all axes, in elements.
    """

    def __init__(
        self,
        kind: str,
        dtype: str,
        rank: int,
        upper: bool = False,
        transpose: bool = False,
        unit: bool = False,
        vectors: bool = True,
        full: bool = False,
    ) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def self_pointer(self) -> int: ...
