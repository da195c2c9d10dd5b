"""Convolutions of kernel 3 × 3 by Winograd's minimal filtering: see winograd.pyx."""

def choose(tile: int = -1, lanes: int = 16) -> None:
    """The tiles of convolutions from now on: 2 or 4 outputs along an axis wherever it is possible, 0: never, -1: what
    was measured to be fastest. Of the kernels those for vectors of at most ``lanes`` elements."""

def available() -> bool:
    """Return whether this processor has the instructions."""
