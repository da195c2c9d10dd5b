"""Datasets of sounds, read from the archives that their authors publish."""

from paddle import _lazy
from paddle.audio.datasets import dataset, esc50, tess

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
