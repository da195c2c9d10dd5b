"""Launching nests: strides and sizes of a call become a variant, its integers, and parts of its loops.

Launches follow the native ABI (docs/design/loop_ir.md). They return 0, the code (> 0) of a ``Fail``, or -1 with a
Python exception set in the calling thread: what ``compile`` raised, or MemoryError for scratch.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from umiak.compiler.nest import Variant

Phase: TypeAlias = tuple[int, int, int, int] | tuple[int, int, int, int, int]
Compile: TypeAlias = Callable[..., tuple[Sequence[Phase], Any]]

MOST_AXES: int  # of a nest
MAX_ACCESSES: int

class NestLauncher:
    """The configuration of one nest and its compiled variants. It must outlive its launches; plans keep it.

    ``access_pointers``: for each access, the index of its buffer among the pointers of a launch, or -1. ``outputs``: a
    bit per pointer that is written. ``cost_per_point``: ns of one thread for one point of P and R; decides on how many
    threads a launch runs, and nothing else. ``splittable``: the nest has split schedules. ``scatters``: how the
    output lies decides on the schedule. ``ordered``: the axes of R stay in their order. ``sums``: there are sums of
    floats, whose variants differ where they are long. ``itemsize``: bytes of an
    element of the first output; from ``stream_bytes`` on (0: never) it bypasses the caches.

    ``compile(schedule, p, r, kinds, tile[, streams, long])``, the fields of a ``Variant``, is called with the GIL
    when a launch needs a variant that there is not yet. It returns the phases and whatever must live as long as their
    code. A phase is (address of the kernel, of ``k_local``, of ``k_global``, what its parallel range counts, and for
    COLUMN_BLOCKS and TILE_BLOCKS the block). 0 in place of ``k_local`` and ``k_global`` says that no scratch is needed,
    and makes small launches cheaper.
    """

    name: str
    misses: int  # calls of compile
    def __init__(
        self,
        *,
        compile: Compile,
        n_parallel: int,
        n_reduced: int,
        access_pointers: Sequence[int],
        outputs: int,
        n_extras: int = 0,
        cost_per_point: float = 1.0,
        splittable: bool = False,
        name: str = "",
        itemsize: int = 0,
        stream_bytes: int = 0,
        scatters: bool = False,
        ordered: bool = False,
        sums: bool = False,
    ) -> None: ...
    @property
    def address(self) -> int:
        """``int launch(void* self, void** ptrs, const int64_t* dims, const uint64_t* scalars, int64_t stream)``."""

    @property
    def flat_address(self) -> int:
        """``int launch_flat(void* self, void** ptrs, int64_t n, const uint64_t* scalars)``: every access has stride 1
        along one axis of n points. 0 for nests with axes R or extras, which cannot be launched so."""

    @property
    def many_address(self) -> int:
        """``int many(void* self, Rows* rows, int64_t stream)``: flat launches of many rows (core/rows.pxd), where there
        are flat launches; else 0."""

    @property
    def self_pointer(self) -> int: ...
    def decide(
        self, given: Sequence[int]
    ) -> tuple[tuple, list[int], tuple[int, int, tuple[int, ...], int, int]] | None:
        """Return the work of a launch with these integers, for code that is compiled ahead of it: fields of its
        variant, integers of its kernels, and the space that it walks (axes of P, of R, their sizes, the tile's axis,
        blocks of R). None where there is nothing to do. Only without ``stream_bytes``, since pointers decide on these.
        """

    def variants(self) -> list[Variant]:
        """The compiled variants, oldest first."""

def install_parallel(parallel: int, threads: int) -> None:
    """Addresses of ``parallel_for`` and ``thread_count`` (runtime/parallel); the assembler gives them. Without, one
    thread does all."""

def threads_of_launches() -> int:
    """Return how many threads a launch may use now."""

def scratch_sizes() -> tuple[int, int]:
    """Bytes of scratch that this thread keeps: for parts, for launches."""
