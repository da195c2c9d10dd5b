"""Made by ``tools/public_stubs.py``."""

from paddle.tensor import expm1 as expm1
from paddle.tensor import logsumexp as logsumexp
from paddle.tensor.exponents import softmax as softmax

__all__ = [
    "expm1",
    "logsumexp",
    "softmax",
]
