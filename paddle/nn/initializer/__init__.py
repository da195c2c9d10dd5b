"""What new parameters are filled with."""

from paddle import _late
from paddle.nn.initializer import initializers

__getattr__, __dir__, __all__ = _late.contents(__name__)
