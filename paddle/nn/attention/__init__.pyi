"""Made by ``tools/public_stubs.py``."""

from paddle.nn.attention.sdpa import SDPBackend as SDPBackend
from paddle.nn.attention.sdpa import sdpa_kernel as sdpa_kernel

__all__ = [
    "SDPBackend",
    "sdpa_kernel",
]
