"""Mixed precision of static programs: an optimizer that scales losses, and casts of what is recorded."""

from paddle import _lazy
from paddle.static.amp import casting, lists, optimizer

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
