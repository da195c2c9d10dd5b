"""Made by ``tools/public_stubs.py``."""

from paddle.audio.functional.functional import compute_fbank_matrix as compute_fbank_matrix
from paddle.audio.functional.functional import create_dct as create_dct
from paddle.audio.functional.functional import fft_frequencies as fft_frequencies
from paddle.audio.functional.functional import hz_to_mel as hz_to_mel
from paddle.audio.functional.functional import mel_frequencies as mel_frequencies
from paddle.audio.functional.functional import mel_to_hz as mel_to_hz
from paddle.audio.functional.functional import power_to_db as power_to_db
from paddle.audio.functional.window import get_window as get_window

__all__ = [
    "compute_fbank_matrix",
    "create_dct",
    "fft_frequencies",
    "get_window",
    "hz_to_mel",
    "mel_frequencies",
    "mel_to_hz",
    "power_to_db",
]
