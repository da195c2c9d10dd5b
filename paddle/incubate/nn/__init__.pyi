"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.nn import functional as functional

__all__ = [
    "functional",
]
