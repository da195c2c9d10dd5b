"""Optimizers, and schedules of their learning rate in ``lr``."""

from typing import TYPE_CHECKING

from paddle import _late
from paddle.optimizer import lr
from paddle.optimizer.adam import Adam, Adamax, AdamW, Lamb, NAdam, RAdam
from paddle.optimizer.gradient import ASGD, SGD, Adadelta, Adagrad, Momentum, RMSProp, Rprop
from paddle.optimizer.optimizer import Optimizer

if TYPE_CHECKING:
    from paddle.optimizer.lbfgs import LBFGS

__getattr__, __dir__ = _late.attributes_of(__name__)

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
