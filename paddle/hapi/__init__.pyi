"""Made by ``tools/public_stubs.py``."""

from paddle.hapi.flops import flops as flops
from paddle.hapi.model import Model as Model
from paddle.hapi.summary import summary as summary

__all__ = [
    "Model",
    "flops",
    "summary",
]
