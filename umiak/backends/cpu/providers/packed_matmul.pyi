"""Matmuls of float32 by packed operands: see packed_matmul.pyx."""

STRIP: int

def choose(use: bool | None = None) -> None:
    """Multiply so where the processor can, do not, or do on processors that are faster so (None)."""

def available() -> bool:
    """Return whether matmuls may be done so here."""
