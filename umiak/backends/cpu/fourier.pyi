"""Fourier transforms of rows of a power of two of numbers, on memory by address."""

USABLE: bool  # on this processor
KINDS: dict[str, int]

def serves(points: int, real: bool) -> bool:
    """Say whether rows of so many numbers, real at one of the two ends, are transformed here."""

def transform(
    x: int,
    out: int,
    doubles: bool,
    kind: str,
    inverse: bool,
    points: int,
    rows: int,
    x_bytes: int,
    out_bytes: int,
    scale: float,
) -> None:
    """Transform ``rows`` rows of ``points`` numbers each; rows begin ``x_bytes`` and ``out_bytes`` apart.

    ``kind``: "complex"; of real numbers "to_half" of the points or "to_whole"; "from_half" of the points to real ones.
    """
