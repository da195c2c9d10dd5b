"""APIs that may still change."""

from paddle import _lazy
from paddle.incubate import offload
from paddle.incubate.optimizer import averages, lookahead

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "autograd distributed optimizer")
