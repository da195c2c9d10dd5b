"""Callbacks of ``paddle.Model``: what is done beside training, at fixed moments of it."""

from paddle import _lazy
from paddle.callbacks import callback, checkpoints, early_stopping, experiment_logs, learning_rate, progress

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
