"""Graphs: messages along edges, reductions of segments, sampled neighbors and their numbers."""

from paddle import _lazy
from paddle.geometric import math, reindex
from paddle.geometric.message_passing import send_recv
from paddle.geometric.sampling import neighbors

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "math message_passing reindex sampling")
