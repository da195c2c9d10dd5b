"""Sorted rows, the best of rows, searches in rows: on contiguous memory, by address. ``type``: a place in ``TYPES``."""

TYPES: tuple[str, ...]
LONGEST: int  # the longest row that can be sorted

def sort(x: int, type: int, rows: int, n: int, k: int, falling: bool, values: int, index: int) -> None:
    """The first ``k`` of the ``n`` elements of each row in stable order, and their indices (int64); NaN is the largest.
    ``values`` may be 0."""

def unique(x: int, type: int, n: int, most: int = 0, first: int = 0, count: int = 0, inverse: int = 0) -> int:
    """How many distinct elements there are. Where not 0 (int64): in rising order of at most ``most`` elements, where each
    stands first and how often it occurs; of each element, which of them it is."""

def search(rows: int, type: int, count: int, n: int, values: int, m: int, after: bool, found: int) -> None:
    """Where ``m`` values each go in ``count`` rising rows of ``n`` (int64): int32, int64, float32 or float64."""

def gcd(x: int, y: int, type: int, n: int, out: int) -> None:
    """Element by element: int32 or int64."""
