"""Communication among ranks."""

from paddle import _lazy
from paddle.distributed.communication import (
    _paths,
    alltoall,
    broadcast,
    gather,
    group,
    objects,
    p2p,
    reduce,
    scatter,
    stream,
)

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "stream")
