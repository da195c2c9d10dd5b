"""APIs of training on many devices that may still change."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "fleet")
