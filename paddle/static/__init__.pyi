"""Made by ``tools/public_stubs.py``."""

from paddle.static import nn as nn
from paddle.static.input import InputSpec as InputSpec

__all__ = [
    "InputSpec",
    "nn",
]
