"""Backends that read and write sounds: WAV files by Python alone, other formats through ``soundfile``."""

from paddle import _lazy
from paddle.audio.backends import backend, files, init_backend, wave_backend

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
