"""Choice of the implementations of attention."""

from paddle import _lazy
from paddle.nn.attention import sdpa

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
