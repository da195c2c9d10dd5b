"""APIs that may still change."""

from typing import TYPE_CHECKING

from paddle import _lazy
from paddle.incubate import offload, random_states
from paddle.incubate.optimizer import averages, lookahead

if TYPE_CHECKING:
    from paddle.incubate import asp, autotune, jit, layers, multiprocessing, nn, operators

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "autograd distributed optimizer")
