"""What may still change."""

from paddle.incubate import autograd, distributed
from paddle.incubate.offload import offload_saved_tensors

__all__ = ["autograd", "distributed", "offload_saved_tensors"]
