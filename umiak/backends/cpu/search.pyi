"""Launching distinct and most frequent elements, searches in rows, greatest common divisors."""

TYPES: tuple[str, ...]

class Search:
    """A kernel of one of these kinds for one dtype. ``rank`` and ``rank_rows`` are those of the operands."""

    def __init__(
        self,
        dtype: str,
        rank: int,
        axis: int = ...,
        rank_rows: int = ...,
        right: bool = ...,
        narrow: bool = ...,
    ) -> None: ...
    @property
    def unique(self) -> int: ...
    @property
    def mode(self) -> int: ...
    @property
    def search(self) -> int: ...
    @property
    def gcd(self) -> int: ...
    @property
    def gcd_flat(self) -> int: ...
    @property
    def self_pointer(self) -> int: ...
