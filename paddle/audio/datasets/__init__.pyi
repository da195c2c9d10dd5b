"""Made by ``tools/public_stubs.py``."""

from paddle.audio.datasets.esc50 import ESC50 as ESC50
from paddle.audio.datasets.tess import TESS as TESS

__all__ = [
    "ESC50",
    "TESS",
]
