"""Optimizers around optimizers, averages of parameters, and minimisers of functions."""

from paddle import _late
from paddle.incubate.optimizer import functional
from paddle.incubate.optimizer.averages import ExponentialMovingAverage, ModelAverage
from paddle.incubate.optimizer.lars_momentum import LarsMomentumOptimizer
from paddle.incubate.optimizer.lookahead import LookAhead
from paddle.optimizer.lbfgs import LBFGS

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["LBFGS", "ExponentialMovingAverage", "LarsMomentumOptimizer", "LookAhead", "ModelAverage", "functional"]
