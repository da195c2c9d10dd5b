"""Made by ``tools/public_stubs.py``."""

from paddle.incubate import autograd as autograd
from paddle.incubate import distributed as distributed
from paddle.incubate import optimizer as optimizer
from paddle.incubate.offload import offload_saved_tensors as offload_saved_tensors
from paddle.incubate.optimizer.averages import ModelAverage as ModelAverage
from paddle.incubate.optimizer.lookahead import LookAhead as LookAhead

__all__ = [
    "LookAhead",
    "ModelAverage",
    "autograd",
    "distributed",
    "offload_saved_tensors",
    "optimizer",
]
