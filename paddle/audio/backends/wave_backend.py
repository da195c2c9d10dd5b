"""WAV files, read and written by Python alone: integers of 8 to 32 bits, floats of 32 and 64.

References:
    IBM and Microsoft, "Multimedia Programming Interface and Data Specifications 1.0", 1991: RIFF and its chunks.
    Microsoft, "Multiple channel audio data and WAVE files", 2001: the extensible format, whose real format is the
    beginning of an identifier.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from paddle.audio.backends.backend import AudioInfo, as_integers, encoding_of, part, unreadable
from paddle.framework.io import replacing

_PCM, _IEEE, _EXTENSIBLE = 1, 3, 0xFFFE
_BITS = {_PCM: (8, 16, 24, 32), _IEEE: (32, 64)}


class _Wav(NamedTuple):
    """Description that a header gives, and the place where the samples begin."""

    format: int
    channels: int
    rate: int
    bits: int
    frames: int
    start: int

    @property
    def frame_bytes(self) -> int:
        return self.channels * self.bits // 8


@contextmanager
def _opened(file: Any) -> Iterator[tuple[BinaryIO, str]]:
    """A file by path or as it is, and its name for errors."""
    if hasattr(file, "read"):
        yield file, repr(getattr(file, "name", "a file"))
    else:
        with open(file, "rb") as f:
            yield f, repr(os.fspath(file))


def _header(f: BinaryIO, name: str, op: str) -> _Wav:
    """Read the chunks up to the samples."""
    begin = f.tell()
    size = f.seek(0, os.SEEK_END) - begin
    f.seek(begin)
    head = f.read(12)
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
        raise unreadable(op, name, "a WAV file (RIFF … WAVE)", f"a file that begins with {head[:12]!r}")
    at, form = 12, None
    while True:
        f.seek(begin + at)
        chunk = f.read(8)
        if len(chunk) < 8:
            missing = "samples (chunk 'data')" if form else "a description (chunk 'fmt ')"
            raise unreadable(op, name, missing, f"the end of the file after {size} bytes")
        kind, length = struct.unpack("<4sI", chunk)
        at += 8
        if kind == b"data":
            if form is None:
                raise unreadable(op, name, "a description (chunk 'fmt ') before the samples", "samples")
            code, channels, rate, bits = form
            if length > size - at:
                raise unreadable(op, name, f"{length} bytes of samples", f"{size - at}: the file is cut off")
            frame = channels * bits // 8
            if length % frame:
                raise unreadable(op, name, f"samples of {frame} bytes for {channels} channels", f"{length} bytes")
            return _Wav(code, channels, rate, bits, length // frame, begin + at)
        if kind == b"fmt ":
            form = _description(f.read(min(length, 40)), name, op)
        at += length + length % 2  # chunks begin at even places


def _description(data: bytes, name: str, op: str) -> tuple[int, int, int, int]:
    """Format, channels, rate and bits of a chunk "fmt "."""
    if len(data) < 16:
        raise unreadable(op, name, "a description of 16 bytes or more", f"{len(data)} bytes")
    code, channels, rate, _, block, bits = struct.unpack("<HHIIHH", data[:16])
    if code == _EXTENSIBLE and len(data) >= 26:
        code = struct.unpack("<H", data[24:26])[0]
    if bits not in _BITS.get(code, ()):
        what = f"format {code} with {bits} bits"
        raise unreadable(op, name, "integers (format 1) of 8 to 32 bits or floats (format 3) of 32 or 64", what)
    if channels == 0 or rate == 0 or block != channels * bits // 8:
        what = f"{channels} channels, {rate} Hz and {block} bytes for {bits} bits"
        raise unreadable(op, name, "channels, a sample rate, and a size of samples that fits them", what)
    return code, channels, rate, bits


def _values(data: bytes, wav: _Wav, normalize: bool) -> np.ndarray:
    """Stored samples as floats."""
    if wav.format == _IEEE:
        return np.frombuffer(data, f"<f{wav.bits // 8}").astype(np.float32 if wav.bits == 32 else np.float64)
    if wav.bits == 8:
        integers: Any = np.frombuffer(data, np.uint8).astype(np.float32) - 128
    elif wav.bits == 24:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        integers = wide.view("<i4")[:, 0] >> 8
    else:
        integers = np.frombuffer(data, f"<i{wav.bits // 8}")
    values = integers.astype(np.float32)
    return values * np.float32(2.0 ** (1 - wav.bits)) if normalize else values


def info(file: Any) -> AudioInfo:
    """Describe a file."""
    with _opened(file) as (f, name):
        wav = _header(f, name, "info")
    encoding = "PCM_F" if wav.format == _IEEE else "PCM_U" if wav.bits == 8 else "PCM_S"
    return AudioInfo(wav.rate, wav.frames, wav.channels, wav.bits, encoding)


def read(file: Any, frame_offset: int, num_frames: int, normalize: bool) -> tuple[np.ndarray, int]:
    """Samples ``[time, channels]`` and the sample rate."""
    with _opened(file) as (f, name):
        wav = _header(f, name, "load")
        start, count = part(frame_offset, num_frames, wav.frames)
        f.seek(wav.start + start * wav.frame_bytes)
        data = f.read(count * wav.frame_bytes)
    return _values(data, wav, normalize).reshape(count, wav.channels), wav.rate


def write(file: Any, samples: np.ndarray, rate: int, encoding: str | None, bits: int | None) -> None:
    """Write samples ``[time, channels]``."""
    encoding, bits = encoding_of(samples.dtype, encoding, bits)
    if encoding == "PCM_F":
        data = samples.astype(f"<f{bits // 8}").tobytes()
    else:
        integers = np.ascontiguousarray(as_integers(samples, bits).astype("<i4"))
        if bits == 8:
            data = (integers + 128).astype(np.uint8).tobytes()
        else:
            data = integers.view(np.uint8).reshape(-1, 4)[:, : bits // 8].tobytes()
    code = _IEEE if encoding == "PCM_F" else _PCM
    channels = samples.shape[1]
    frame = channels * bits // 8
    padding = b"\0" * (len(data) % 2)
    form = struct.pack("<HHIIHH", code, channels, rate, rate * frame & 0xFFFFFFFF, frame, bits)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data))
    head = b"RIFF" + struct.pack("<I", len(body) + len(data) + len(padding)) + body
    if hasattr(file, "write"):
        file.write(head + data + padding)
    else:
        folder = os.path.dirname(os.fspath(file))
        if folder and not os.path.isdir(folder):
            raise FileNotFoundError(f"[save] requires a folder for {os.fspath(file)!r}, got none")
        with replacing(os.fspath(file)) as f:
            f.write(head + data + padding)
