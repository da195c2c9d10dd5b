"""What may still change."""

from paddle import _late
from paddle.incubate import offload
from paddle.incubate.optimizer import averages, lookahead

__getattr__, __dir__, __all__ = _late.contents(__name__, "autograd distributed optimizer")
