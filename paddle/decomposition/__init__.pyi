"""Made by ``tools/public_stubs.py``."""

from paddle.decomposition.decomp import decompose as decompose
from paddle.decomposition.recompute import auto_recompute as auto_recompute

__all__ = [
    "auto_recompute",
    "decompose",
]
