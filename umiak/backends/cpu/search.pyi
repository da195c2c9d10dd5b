"""Distinct elements, searches in rows, greatest common divisors: on contiguous memory, by address.

``type``: a place in ``TYPES``.
"""

TYPES: tuple[str, ...]
LONGEST: int  # what unique can take

def unique(x: int, type: int, n: int, most: int = 0, first: int = 0, count: int = 0, inverse: int = 0) -> int:
    """How many distinct elements there are.

    Where not 0 (int64): in rising order of at most ``most`` elements, where each stands first and how often it occurs;
    of each element, which of them it is.
    """

def search(rows: int, type: int, count: int, n: int, values: int, m: int, after: bool, found: int) -> None:
    """Where ``m`` values each go in ``count`` rising rows of ``n`` (int64): int32, int64, float32 or float64."""

def gcd(x: int, y: int, type: int, n: int, out: int) -> None:
    """Element by element: int32 or int64."""
