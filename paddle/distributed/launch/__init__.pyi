"""Made by ``tools/public_stubs.py``."""

from paddle.distributed.launch.main import launch as launch

__all__ = [
    "launch",
]
