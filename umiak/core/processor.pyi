"""Refusal of processors that the libraries do not run on: see processor.pyx."""

def lacking() -> str:
    """An instruction set that is needed and that this processor does not have; empty where all are there."""

def check(lacks: str) -> None:
    """Raise ImportError if anything is lacking."""
