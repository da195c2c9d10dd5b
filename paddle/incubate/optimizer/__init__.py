"""Optimizers around optimizers, averages of parameters, and minimisers of functions."""

from paddle import _lazy
from paddle.incubate.optimizer import averages, lars_momentum, lookahead
from paddle.optimizer import lbfgs

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "functional")
