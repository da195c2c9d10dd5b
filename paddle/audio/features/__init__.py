"""Spectral features of waveforms as layers."""

from paddle import _lazy
from paddle.audio.features import layers

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
