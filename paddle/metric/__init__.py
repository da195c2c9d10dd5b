"""Measures of how good predictions are, counted over batches."""

from paddle import _lazy
from paddle.metric import metrics

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
