"""Made by ``tools/public_stubs.py``."""

from paddle.audio import backends as backends
from paddle.audio import datasets as datasets
from paddle.audio import features as features
from paddle.audio import functional as functional
from paddle.audio.backends.files import info as info
from paddle.audio.backends.files import load as load
from paddle.audio.backends.files import save as save

__all__ = [
    "backends",
    "datasets",
    "features",
    "functional",
    "info",
    "load",
    "save",
]
