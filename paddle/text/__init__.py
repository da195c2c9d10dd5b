"""Text: datasets, and the best path through tags."""

from paddle import _lazy
from paddle.text import viterbi

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "datasets")
