"""Optimizers, and schedules of their learning rate in ``lr``."""

from paddle.optimizer import lr
from paddle.optimizer.adam import Adam, Adamax, AdamW, Lamb, NAdam, RAdam
from paddle.optimizer.gradient import ASGD, SGD, Adadelta, Adagrad, Momentum, RMSProp, Rprop
from paddle.optimizer.lbfgs import LBFGS
from paddle.optimizer.optimizer import Optimizer

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lamb",
    "Momentum",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "Rprop",
    "lr",
]
