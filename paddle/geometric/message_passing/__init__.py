"""Messages along the edges of a graph."""

from paddle import _lazy
from paddle.geometric.message_passing import send_recv

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
