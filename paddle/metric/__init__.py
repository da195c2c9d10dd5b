"""Measures of how good predictions are, counted over batches."""

from paddle import _late
from paddle.metric import metrics

__getattr__, __dir__, __all__ = _late.contents(__name__)
