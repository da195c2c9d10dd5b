"""The mel scale, filter banks, the discrete cosine transform, and decibels.

References:
    M. Slaney, "Auditory Toolbox", 1998: the mel scale that is linear below 1 kHz.
    S. Young et al., "The HTK Book", 2002: the one that is logarithmic everywhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import paddle
from paddle._public import public
from paddle.tensor._args import dtype_of, integer, need_tensor, number
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_LINEAR = 200 / 3  # Hz per mel of Slaney's scale up to 1 kHz
_KNEE_HZ, _KNEE_MEL = 1000.0, 15.0
_STEP = math.log(6.4) / 27  # logarithm of the ratio of two frequencies one mel apart above
_HTK_MELS, _HTK_HZ = 2595.0, 700.0


def _mel_of(f: Any, htk: bool) -> Any:
    """Mels of frequencies in Hz, an array or a number."""
    if htk:
        return _HTK_MELS * np.log10(1 + f / _HTK_HZ)
    return np.where(
        f >= _KNEE_HZ, _KNEE_MEL + np.log(np.maximum(f, _KNEE_HZ) / _KNEE_HZ) / _STEP, np.asarray(f) / _LINEAR
    )


def _hz_of(mel: Any, htk: bool) -> Any:
    """Frequencies in Hz of mels, an array or a number."""
    if htk:
        return _HTK_HZ * (10.0 ** (mel / _HTK_MELS) - 1)
    above = np.maximum(mel, _KNEE_MEL) - _KNEE_MEL
    return np.where(mel >= _KNEE_MEL, _KNEE_HZ * np.exp(_STEP * above), np.asarray(mel) * _LINEAR)


def _floating(dtype: Any, op: str) -> DType:
    made = dtype_of(dtype)
    if not made.is_floating:
        raise op_error(TypeError, op, "a floating dtype", made.name)
    return made


def _convert(x: Any, op: str, of_numbers: Any, of_tensors: Any, htk: bool) -> Any:
    if not isinstance(x, Tensor):
        if isinstance(x, bool) or not isinstance(x, (int, float, np.integer, np.floating)):
            raise op_error(TypeError, op, "a number or a tensor", type(x).__name__)
        return float(of_numbers(float(x), htk))
    if not x.dtype.is_floating:
        raise op_error(TypeError, op, "a number or a floating tensor", x.dtype.name)
    return of_tensors(x)


@public("paddle.audio.functional")
def hz_to_mel(freq: Any, htk: bool = False) -> Any:
    """Mels of frequencies: steps of pitch that sound alike.

    Args:
        freq: frequencies in Hz, a number or a floating tensor of any shape.
        htk: whether the scale is HTK's, ``2595 * log10(1 + freq / 700)``; otherwise Slaney's, which is linear below
            1 kHz.

    Returns:
        A float of a number; of a tensor one of its shape and dtype.

    Raises:
        TypeError: freq is neither a number nor a floating tensor.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.hz_to_mel(440.0)
        6.6
    """

    def of_tensors(f: Tensor) -> Tensor:
        if htk:
            return _HTK_MELS * paddle.log10(1 + f / _HTK_HZ)
        above = _KNEE_MEL + paddle.log(paddle.clip(f, min=_KNEE_HZ) / _KNEE_HZ) / _STEP
        return paddle.where(f >= _KNEE_HZ, above, f / _LINEAR)

    return _convert(freq, "hz_to_mel", _mel_of, of_tensors, htk)


@public("paddle.audio.functional")
def mel_to_hz(mel: Any, htk: bool = False) -> Any:
    """Frequencies of mels: the inverse of :func:`hz_to_mel`.

    Args:
        mel: mels, a number or a floating tensor of any shape.
        htk: whether the scale is HTK's; otherwise Slaney's.

    Returns:
        Hz: a float of a number; of a tensor one of its shape and dtype.

    Raises:
        TypeError: mel is neither a number nor a floating tensor.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.mel_to_hz(3)
        200.0
    """

    def of_tensors(m: Tensor) -> Tensor:
        if htk:
            return _HTK_HZ * (10.0 ** (m / _HTK_MELS) - 1)
        above = _KNEE_HZ * paddle.exp(_STEP * (paddle.clip(m, min=_KNEE_MEL) - _KNEE_MEL))
        return paddle.where(m >= _KNEE_MEL, above, m * _LINEAR)

    return _convert(mel, "mel_to_hz", _hz_of, of_tensors, htk)


def _mel_points(n: int, f_min: float, f_max: float, htk: bool) -> np.ndarray:
    return np.asarray(_hz_of(np.linspace(float(_mel_of(f_min, htk)), float(_mel_of(f_max, htk)), n), htk))


def _bins(sr: float, n_fft: int) -> np.ndarray:
    return np.linspace(0, sr / 2, 1 + n_fft // 2)


def _count(n: Any, op: str, arg_name: str, least: int = 0) -> int:
    n = integer(n, op, arg_name)
    if n < least:
        raise op_error(ValueError, op, f"{arg_name} of {least} or more", n)
    return n


@public("paddle.audio.functional")
def mel_frequencies(
    n_mels: int = 64, f_min: float = 0.0, f_max: float = 11025.0, htk: bool = False, dtype: Any = "float32"
) -> Tensor:
    """Frequencies at equal distances on the mel scale.

    Args:
        n_mels: how many, 0 or more.
        f_min: the first one, in Hz.
        f_max: the last one, in Hz.
        htk: whether the scale is HTK's; otherwise Slaney's.
        dtype: floating dtype of the result.

    Returns:
        Tensor ``[n_mels]`` of ``dtype``, in Hz.

    Raises:
        TypeError: ``dtype`` is not floating.
        ValueError: n_mels is negative.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.mel_frequencies(3, 0.0, 800.0).tolist()
        [0.0, 400.0, 800.0]
    """
    op = "mel_frequencies"
    made = _floating(dtype, op)
    return paddle.to_tensor(_mel_points(_count(n_mels, op, "n_mels"), f_min, f_max, htk), made)


@public("paddle.audio.functional")
def fft_frequencies(sr: int, n_fft: int, dtype: Any = "float32") -> Tensor:
    """Frequencies of the points of a spectrum, from 0 to half the sample rate.

    Args:
        sr: samples per second.
        n_fft: number of points of the Fourier transform, 0 or more.
        dtype: floating dtype of the result.

    Returns:
        Tensor ``[n_fft // 2 + 1]`` of ``dtype``, in Hz.

    Raises:
        TypeError: ``dtype`` is not floating.
        ValueError: n_fft is negative.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.fft_frequencies(16000, 4).tolist()
        [0.0, 4000.0, 8000.0]
    """
    made = _floating(dtype, "fft_frequencies")
    return paddle.to_tensor(_bins(sr, _count(n_fft, "fft_frequencies", "n_fft")), made)


@public("paddle.audio.functional")
def compute_fbank_matrix(
    sr: int,
    n_fft: int,
    n_mels: int = 64,
    f_min: float = 0.0,
    f_max: float | None = None,
    htk: bool = False,
    norm: str | float | None = "slaney",
    dtype: Any = "float32",
) -> Tensor:
    """Matrix of triangular filters at equal distances on the mel scale, which takes a spectrum to mels.

    Args:
        sr: samples per second.
        n_fft: number of points of the Fourier transform.
        n_mels: how many filters, 0 or more.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends, in Hz; None: half the sample rate.
        htk: whether the scale is HTK's; otherwise Slaney's.
        norm: ``"slaney"`` gives each filter the same area; a number p divides it by its p-norm; anything else leaves
            its peak near 1.
        dtype: floating dtype of the result.

    Returns:
        Tensor ``[n_mels, n_fft // 2 + 1]`` of ``dtype``.

    Raises:
        TypeError: ``dtype`` is not floating.
        ValueError: n_mels or n_fft is negative.

    Example:
        >>> import paddle
        >>> filters = paddle.audio.functional.compute_fbank_matrix(1600, 8, 2, htk=True, norm=1, dtype="float64")
        >>> filters.round(2).tolist()
        [[0.0, 0.8, 0.2, 0.0, 0.0], [0.0, 0.0, 0.56, 0.44, 0.0]]
    """
    op = "compute_fbank_matrix"
    made = _floating(dtype, op)
    n_mels = _count(n_mels, op, "n_mels")
    edges = _mel_points(n_mels + 2, f_min, sr / 2 if f_max is None else f_max, htk)
    ramps = edges[:, None] - _bins(sr, _count(n_fft, op, "n_fft"))
    widths = np.diff(edges)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.maximum(0, np.minimum(-ramps[:-2] / widths[:-1], ramps[2:] / widths[1:]))
        if norm == "slaney":
            weights = weights * (2 / (edges[2:] - edges[:-2]))[:, None]
    if isinstance(norm, (int, float)):
        sizes = np.linalg.norm(weights, norm, axis=1, keepdims=True) if n_mels else 1
        weights = weights / np.maximum(sizes, 1e-12)
    return paddle.to_tensor(weights + 0.0, made)  # no negative zeros


@public("paddle.audio.functional")
def power_to_db(spect: Tensor, ref_value: float = 1.0, amin: float = 1e-10, top_db: float | None = 80.0) -> Tensor:
    """Decibels of powers: ``10 * log10(spect / ref_value)``, limited from below.

    Args:
        spect: floating tensor of powers, of any shape.
        ref_value: the power of 0 dB, above 0.
        amin: the smallest power that counts, above 0; smaller ones are raised to it.
        top_db: how far below its peak the result may be, 0 or more; None: any distance.

    Returns:
        Tensor of spect's shape and dtype.

    Raises:
        TypeError: spect is not a floating tensor.
        ValueError: ref_value or amin is not above 0, top_db is negative, or spect is empty and top_db a number.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.power_to_db(paddle.to_tensor([0.01, 1.0, 100.0]), top_db=30.0).tolist()
        [-10.0, 0.0, 20.0]
    """
    op = "power_to_db"
    if not need_tensor(spect, op, "spect").dtype.is_floating:
        raise op_error(TypeError, op, "a floating tensor", spect.dtype.name)
    ref_value = number(ref_value)
    for name, value in (("amin", amin), ("ref_value", ref_value)):
        if not value > 0:
            raise op_error(ValueError, op, f"{name} above 0", value)
    decibels = 10.0 * paddle.log10(paddle.clip(spect, min=amin)) - 10.0 * math.log10(max(amin, ref_value))
    if top_db is None:
        return decibels
    if top_db < 0:
        raise op_error(ValueError, op, "a top_db of 0 or more, or None", top_db)
    if spect.size == 0:
        raise op_error(ValueError, op, "powers to find the peak of, or top_db=None", f"a tensor of shape {spect.shape}")
    return paddle.maximum(decibels, decibels.max() - top_db)


@public("paddle.audio.functional")
def create_dct(n_mfcc: int, n_mels: int, norm: str | None = "ortho", dtype: Any = "float32") -> Tensor:
    """Matrix of the discrete cosine transform (type II), which takes mels to cepstral coefficients.

    Args:
        n_mfcc: how many coefficients, 1 or more.
        n_mels: how many mels, 1 or more.
        norm: ``"ortho"`` for columns of length 1, None for ``2 * cos(...)``.
        dtype: floating dtype of the result.

    Returns:
        Tensor ``[n_mels, n_mfcc]`` of ``dtype``.

    Raises:
        TypeError: ``dtype`` is not floating.
        ValueError: another norm, or a number below 1.

    Example:
        >>> import paddle
        >>> paddle.audio.functional.create_dct(2, 2, norm=None, dtype="float64").round(3).tolist()
        [[2.0, 1.414], [2.0, -1.414]]
    """
    op = "create_dct"
    made = _floating(dtype, op)
    if norm not in ("ortho", None):
        raise op_error(ValueError, op, "a norm of 'ortho' or None", repr(norm))
    n_mfcc, n_mels = _count(n_mfcc, op, "n_mfcc", 1), _count(n_mels, op, "n_mels", 1)
    table = np.cos(np.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * np.arange(n_mfcc))
    if norm is None:
        table *= 2
    else:
        table *= math.sqrt(2 / n_mels)
        table[:, 0] *= math.sqrt(0.5)
    return paddle.to_tensor(table, made)
