"""BLAS as SciPy brings it: see blas.pyx."""

def load() -> None:
    """Find the functions; ImportError or KeyError where SciPy is not as expected."""

def loaded() -> bool: ...
def follows_threads() -> bool:
    """Return whether its thread count can be set."""
