"""Made by ``tools/public_stubs.py``."""

from paddle.nn.functional.activation import swiglu as swiglu

__all__ = [
    "swiglu",
]
