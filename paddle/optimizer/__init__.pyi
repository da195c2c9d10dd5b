"""Made by ``tools/public_stubs.py``."""

from paddle.optimizer import lr as lr
from paddle.optimizer.adam import Adam as Adam
from paddle.optimizer.adam import Adamax as Adamax
from paddle.optimizer.adam import AdamW as AdamW
from paddle.optimizer.adam import Lamb as Lamb
from paddle.optimizer.adam import NAdam as NAdam
from paddle.optimizer.adam import RAdam as RAdam
from paddle.optimizer.gradient import ASGD as ASGD
from paddle.optimizer.gradient import SGD as SGD
from paddle.optimizer.gradient import Adadelta as Adadelta
from paddle.optimizer.gradient import Adagrad as Adagrad
from paddle.optimizer.gradient import Momentum as Momentum
from paddle.optimizer.gradient import RMSProp as RMSProp
from paddle.optimizer.gradient import Rprop as Rprop
from paddle.optimizer.lbfgs import LBFGS as LBFGS
from paddle.optimizer.optimizer import Optimizer as Optimizer

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
