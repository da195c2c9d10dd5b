"""Attention by masks that are objects."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
