"""Made by ``tools/public_stubs.py``."""

from paddle.audio.features.layers import MFCC as MFCC
from paddle.audio.features.layers import LogMelSpectrogram as LogMelSpectrogram
from paddle.audio.features.layers import MelSpectrogram as MelSpectrogram
from paddle.audio.features.layers import Spectrogram as Spectrogram

__all__ = [
    "MFCC",
    "LogMelSpectrogram",
    "MelSpectrogram",
    "Spectrogram",
]
