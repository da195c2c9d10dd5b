"""Functions of tensors that may still change."""

from paddle import _lazy
from paddle.incubate.operators import graphs, losses, softmax_mask

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
