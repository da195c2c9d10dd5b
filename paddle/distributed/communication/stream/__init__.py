"""The operations among ranks, with a choice of the stream that they run on."""

from paddle import _lazy
from paddle.distributed.communication.stream import alltoall, broadcast, gather, p2p, reduce, scatter

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
