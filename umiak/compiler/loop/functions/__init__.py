"""Functions and casts of narrow floats as basic operations: the same formulas on all targets."""

from umiak.compiler.loop.functions.expand import expand

__all__ = ["expand"]
