"""Sound files of all formats that ``soundfile`` (libsndfile) knows: FLAC, Ogg, WAV and others."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import soundfile

from paddle.audio.backends.backend import AudioInfo, as_integers, encoding_of, part, unreadable

# Name in soundfile → encoding and bits here.
_SUBTYPES = {
    "PCM_U8": ("PCM_U", 8),
    "PCM_S8": ("PCM_S", 8),
    "PCM_16": ("PCM_S", 16),
    "PCM_24": ("PCM_S", 24),
    "PCM_32": ("PCM_S", 32),
    "FLOAT": ("PCM_F", 32),
    "DOUBLE": ("PCM_F", 64),
}
_NAMES = {value: name for name, value in _SUBTYPES.items()}


def _opened(file: Any, op: str) -> soundfile.SoundFile:
    if not hasattr(file, "read") and not os.path.exists(file):
        raise FileNotFoundError(f"[{op}] requires a file, got {os.fspath(file)!r}, which does not exist")
    try:
        return soundfile.SoundFile(file)
    except soundfile.LibsndfileError as error:
        raise unreadable(op, repr(file), "a format that soundfile reads", error.error_string) from error


def info(file: Any) -> AudioInfo:
    """Describe a file."""
    with _opened(file, "info") as f:
        encoding, bits = _SUBTYPES.get(f.subtype, (f.subtype, 0))
        return AudioInfo(f.samplerate, f.frames, f.channels, bits, encoding)


def read(file: Any, frame_offset: int, num_frames: int, normalize: bool) -> tuple[np.ndarray, int]:
    """Samples ``[time, channels]`` and the sample rate."""
    with _opened(file, "load") as f:
        start, count = part(frame_offset, num_frames, f.frames)
        encoding, bits = _SUBTYPES.get(f.subtype, ("", 0))
        pieces = []
        try:
            f.seek(start)
            # In pieces: a header may promise more samples than there are.
            while count > 0:
                piece = f.read(min(count, 1 << 20), "float64" if bits == 64 else "float32", always_2d=True)
                if not len(piece):
                    raise unreadable("load", repr(f.name), f"{f.frames} samples", "fewer: the file is cut off")
                pieces.append(piece)
                count -= len(piece)
        except soundfile.LibsndfileError as error:
            raise unreadable("load", repr(f.name), "samples", error.error_string) from error
        values = np.concatenate(pieces) if pieces else np.zeros((0, f.channels), np.float32)
        integers = not normalize and encoding in ("PCM_S", "PCM_U")
        return values * np.float32(1 << (bits - 1)) if integers else values, f.samplerate


def write(file: Any, samples: np.ndarray, rate: int, encoding: str | None, bits: int | None) -> None:
    """Write samples ``[time, channels]``."""
    encoding, bits = encoding_of(samples.dtype, encoding, bits)
    values = samples if encoding == "PCM_F" else as_integers(samples, bits) << (32 - bits)
    subtype = _NAMES[encoding, bits]
    form = None if isinstance(file, (str, os.PathLike)) else "WAV"
    try:
        soundfile.write(file, values, rate, subtype, format=form)
    except (soundfile.LibsndfileError, TypeError, ValueError) as error:
        raise unreadable("save", repr(file), f"a format that soundfile writes with {bits} bits", error) from error
