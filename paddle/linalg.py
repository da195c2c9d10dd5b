"""Linear algebra under one name."""

from paddle import _late

__getattr__, __dir__, __all__ = _late.contents(__name__)
