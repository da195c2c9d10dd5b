"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.distributed import fleet as fleet

__all__ = [
    "fleet",
]
