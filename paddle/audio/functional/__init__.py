"""Windows, mel and DCT matrices, and decibels."""

from paddle import _lazy
from paddle.audio.functional import functional, window

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
