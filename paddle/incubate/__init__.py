"""What may still change."""

from paddle import _late
from paddle.incubate import autograd, distributed, optimizer
from paddle.incubate.offload import offload_saved_tensors
from paddle.incubate.optimizer import LookAhead, ModelAverage

__getattr__, __dir__ = _late.attributes_of(__name__)

__all__ = ["LookAhead", "ModelAverage", "autograd", "distributed", "offload_saved_tensors", "optimizer"]
