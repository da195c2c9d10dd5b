"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.optimizer import functional as functional
from paddle.incubate.optimizer.averages import ExponentialMovingAverage as ExponentialMovingAverage
from paddle.incubate.optimizer.averages import ModelAverage as ModelAverage
from paddle.incubate.optimizer.lars_momentum import LarsMomentumOptimizer as LarsMomentumOptimizer
from paddle.incubate.optimizer.lookahead import LookAhead as LookAhead
from paddle.optimizer.lbfgs import LBFGS as LBFGS

__all__ = [
    "LBFGS",
    "ExponentialMovingAverage",
    "LarsMomentumOptimizer",
    "LookAhead",
    "ModelAverage",
    "functional",
]
