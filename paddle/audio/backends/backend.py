"""Description of a sound file, the error of one that cannot be read, and encodings: common to all backends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from umiak.util.errors import op_error


class UnreadableAudioError(NotImplementedError, ValueError):
    """Error of a file that is broken, or of a format that the backend does not read."""


@dataclass
class AudioInfo:
    """Description of a sound file.

    Args:
        sample_rate: samples per second of each channel.
        num_samples: samples of each channel.
        num_channels: how many channels.
        bits_per_sample: size of a stored sample.
        encoding: ``"PCM_S"`` for signed integers, ``"PCM_U"`` for unsigned ones (8 bits), ``"PCM_F"`` for floats; other
            formats have the names that ``soundfile`` gives them.

    Example:
        >>> from paddle.audio.backends.backend import AudioInfo
        >>> AudioInfo(16000, 320, 1, 16, "PCM_S").num_samples
        320
    """

    sample_rate: int
    num_samples: int
    num_channels: int
    bits_per_sample: int
    encoding: str


def unreadable(op: str, name: str, required: str, got: object) -> Exception:
    """Build the error of a file, in the form of all errors."""
    return op_error(UnreadableAudioError, op, f"{required} in {name}", got)


def part(frame_offset: int, num_frames: int, frames: int) -> tuple[int, int]:
    """Return where a part of a file begins, and how long it is."""
    if frame_offset < 0:
        raise op_error(ValueError, "load", "a frame_offset of 0 or more", frame_offset)
    if num_frames < -1:
        raise op_error(ValueError, "load", "a num_frames of 0 or more, or -1 for all", num_frames)
    start = min(frame_offset, frames)
    return start, frames - start if num_frames == -1 else min(num_frames, frames - start)


# Sizes of a sample that a dtype is written with as it is; floats are scaled.
WIDTHS = {"uint8": 8, "int16": 16, "int32": 32}
FLOAT_BITS = (32, 64)


def encoding_of(dtype: np.dtype, encoding: str | None, bits: int | None) -> tuple[str, int]:
    """Return encoding and bits that samples of a dtype are written with."""
    op = "save"
    width = WIDTHS.get(dtype.name)
    if width is None and dtype.kind != "f":
        raise op_error(TypeError, op, f"samples that are floating, or of {', '.join(WIDTHS)}", dtype.name)
    if encoding is None:
        encoding = "PCM_U" if bits == 8 or (bits is None and width == 8) else "PCM_S"
    if encoding not in ("PCM_S", "PCM_U", "PCM_F"):
        raise op_error(ValueError, op, "an encoding of 'PCM_S', 'PCM_U' or 'PCM_F'", repr(encoding))
    if encoding == "PCM_F":
        allowed: tuple[int, ...] = FLOAT_BITS
        bits = 32 if bits in (None, 16) else bits  # 16, the default, means integers
    else:
        allowed = (8,) if encoding == "PCM_U" else (16, 24, 32)
        bits = (width or allowed[0]) if bits is None else bits
        if width is not None and bits != width:
            raise op_error(ValueError, op, f"bits_per_sample={width} for samples of {dtype.name}", bits)
    if bits not in allowed:
        raise op_error(ValueError, op, f"bits_per_sample of {allowed} for encoding {encoding!r}", bits)
    return encoding, bits


def as_integers(samples: np.ndarray, bits: int) -> np.ndarray:
    """Samples from -1 to 1 as int32 of so many bits, cut off at the ends of their range; integers pass."""
    if samples.dtype.kind in "iu":
        return samples.astype(np.int32) - (128 if samples.dtype == np.uint8 else 0)
    top = 1 << (bits - 1)
    if np.isnan(samples).any():
        raise op_error(ValueError, "save", "samples that are numbers", "NaN")
    return np.clip(samples.astype(np.float64) * top, -top, top - 1).astype(np.int32)
