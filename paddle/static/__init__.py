"""Declared inputs of captured functions."""

from paddle.static.input import InputSpec

__all__ = ["InputSpec"]
