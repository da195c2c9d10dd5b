"""Convolutions of one channel each: see depthwise.pyx."""

def choose(use: bool = True) -> None:
    """Leave these convolutions to the library, or do not."""
