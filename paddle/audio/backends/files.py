"""Reading and writing sounds through the current backend."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

import paddle
from paddle._public import public
from paddle.audio.backends import init_backend
from paddle.audio.backends.backend import AudioInfo
from paddle.tensor._args import integer, need_tensor
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.audio")
def info(filepath: str | os.PathLike | BinaryIO) -> AudioInfo:
    """Describe a sound file, of which only the header is read.

    Args:
        filepath: a path, or a file that is open for reading and can be sought in.

    Returns:
        An object with ``sample_rate``, ``num_samples`` (of each channel), ``num_channels``, ``bits_per_sample`` and
        ``encoding``.

    Raises:
        FileNotFoundError: there is no such file.
        NotImplementedError: the backend cannot read it; also a ValueError.

    Example:
        >>> import paddle, tempfile
        >>> path = tempfile.mkdtemp() + "/silence.wav"
        >>> paddle.audio.save(path, paddle.zeros([2, 800]), 8000)
        >>> about = paddle.audio.info(path)
        >>> about.num_channels, about.num_samples, about.bits_per_sample
        (2, 800, 16)
    """
    return init_backend.current().info(filepath)


@public("paddle.audio")
def load(
    filepath: str | os.PathLike | BinaryIO,
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
) -> tuple[Tensor, int]:
    """Samples of a sound file.

    Args:
        filepath: a path, or a file that is open for reading and can be sought in.
        frame_offset: the first sample of each channel to be read.
        num_frames: how many samples of each channel; -1: up to the end, where a larger number ends as well.
        normalize: whether integers are divided by their range, so that samples are from -1 to 1; otherwise they keep
            their values (those of 8 bits from -128 to 127). Stored floats are the same either way.
        channels_first: whether the result is ``[channels, time]``; otherwise ``[time, channels]``.

    Returns:
        float32 tensor of the samples (float64 of files with floats of 64 bits), and the sample rate.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: frame_offset or num_frames is out of range.
        NotImplementedError: the backend cannot read the file, which is broken or of another format; also a ValueError.

    Example:
        >>> import paddle, tempfile
        >>> path = tempfile.mkdtemp() + "/steps.wav"
        >>> paddle.audio.save(path, paddle.to_tensor([[0.0, 0.25, 0.5]]), 8000)
        >>> samples, rate = paddle.audio.load(path, frame_offset=1)
        >>> samples.tolist(), rate
        ([[0.25, 0.5]], 8000)
    """
    offset, count = integer(frame_offset, "load", "frame_offset"), integer(num_frames, "load", "num_frames")
    samples, rate = init_backend.current().read(filepath, offset, count, normalize)
    return paddle.to_tensor(samples.T if channels_first else samples), rate


@public("paddle.audio")
def save(
    filepath: str | os.PathLike | BinaryIO,
    src: Tensor,
    sample_rate: int,
    channels_first: bool = True,
    encoding: str | None = None,
    bits_per_sample: int | None = 16,
) -> None:
    """Write samples into a sound file.

    Args:
        filepath: a path, or a file that is open for writing. The backend ``"wave_backend"`` always writes WAV,
            ``"soundfile"`` what the ending of the path says.
        src: tensor ``[channels, time]`` of floats from -1 to 1, which are scaled and cut off at the ends, or of
            uint8, int16 or int32, which are written as they are.
        sample_rate: samples per second, above 0.
        channels_first: whether src is ``[channels, time]``; otherwise ``[time, channels]``.
        encoding: ``"PCM_S"`` (16, 24 or 32 bits), ``"PCM_U"`` (8) or ``"PCM_F"`` (32 or 64); None: what the number of
            bits says.
        bits_per_sample: size of a stored sample; None: that of src, 16 for floats.

    Raises:
        TypeError: src is no tensor, or of another dtype.
        ValueError: src is not of rank 2, has no channels or a NaN, or encoding and bits do not fit.
        FileNotFoundError: there is no such folder.

    Example:
        >>> import paddle, tempfile
        >>> path = tempfile.mkdtemp() + "/tone.wav"
        >>> tone = paddle.sin(paddle.arange(8000, dtype="float32") * 0.3).unsqueeze(0)
        >>> paddle.audio.save(path, tone, 8000, bits_per_sample=24)
        >>> paddle.audio.info(path).bits_per_sample
        24
    """
    op = "save"
    if need_tensor(src, op, "src").ndim != 2:
        raise op_error(ValueError, op, "a tensor of rank 2", src.shape)
    rate = integer(sample_rate, op, "sample_rate")
    if not 0 < rate < 1 << 32:
        raise op_error(ValueError, op, "a sample_rate above 0", rate)
    samples: Any = src.detach().numpy()
    if src.dtype.name == "bfloat16":
        samples = samples.astype(np.float32)
    samples = samples.T if channels_first else samples
    if not 0 < samples.shape[1] < 1 << 16:
        raise op_error(ValueError, op, "from 1 to 65535 channels", samples.shape[1])
    init_backend.current().write(filepath, samples, rate, encoding, bits_per_sample)
