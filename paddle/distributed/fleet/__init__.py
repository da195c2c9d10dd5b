"""Training at large."""

from paddle import _lazy
from paddle.distributed.fleet import facade, recompute, role_maker, strategy, topology, utility, utils

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "recompute utils")
