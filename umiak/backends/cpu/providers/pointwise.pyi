"""Convolutions of kernel 1 by kernels in strips: see pointwise.pyx."""

def choose(use: bool = True) -> None:
    """Leave these convolutions to the library, or do not."""

def available() -> int:
    """Return the widest strips that this processor has a kernel for; 0: it has none."""
