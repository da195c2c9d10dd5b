"""Neighbors of nodes, drawn at random."""

from paddle import _lazy
from paddle.geometric.sampling import neighbors

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
