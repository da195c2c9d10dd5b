"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.nn.masked_attention import memory_efficient_attention as memory_efficient_attention

__all__ = [
    "memory_efficient_attention",
]
