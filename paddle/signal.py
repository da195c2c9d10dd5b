"""Short-time Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

from paddle import _lazy
from paddle._public import public
from paddle.tensor._args import cast, create_on, floating, integer, need_tensor, op_error, promoted
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current, place_guard
from umiak.core.tensor import Tensor


def _window(window: Any, win_length: int, n_fft: int, like: Tensor, op: str) -> Tensor:
    """The window, ones by default, zero-padded on both sides to ``n_fft``."""
    if window is None:
        window = create_on(like.place, F.full, 1, like.dtype.real, (win_length,))
    elif need_tensor(window, op, "window").ndim != 1 or window.shape[0] != win_length:
        raise op_error(ValueError, op, f"a window of shape [{win_length}]", window.shape)
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        window = F.pad(window, 0, axes=(0,), lo=(left,), hi=(n_fft - win_length - left,))
    return window


def _lengths(n_fft: int, hop_length: int | None, win_length: int | None, op: str) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else integer(hop_length, op, "hop_length")
    win = n_fft if win_length is None else integer(win_length, op, "win_length")
    if hop <= 0:
        raise op_error(ValueError, op, "a hop_length above 0", hop)
    if not 0 < win <= n_fft:
        raise op_error(ValueError, op, f"a win_length from 1 to {n_fft}", win)
    return hop, win


def _end(axis: Any, op: str) -> bool:
    """Return whether the axis is the last one (-1), not the first (0)."""
    if axis not in (0, -1):
        raise op_error(ValueError, op, "an axis of 0 or -1", axis)
    return axis == -1


def _above_zero(n: Any, op: str, arg_name: str) -> int:
    value = integer(n, op, arg_name)
    if value <= 0:
        raise op_error(ValueError, op, f"a {arg_name} above 0", value)
    return value


@public("paddle.signal", usual=False)
def frame(x: Tensor, frame_length: int, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """Overlapping frames of signals.

    Args:
        x: tensor of rank 1 or more, of any dtype, with time along the first or the last axis.
        frame_length: how long a frame is.
        hop_length: distance from one frame to the next.
        axis: -1 for time last, 0 for time first.

    Returns:
        Tensor of x's dtype with ``[frame_length, frames]`` in the place of the last axis, or ``[frames, frame_length]``
        in that of the first one.

    Raises:
        TypeError: x is no tensor.
        ValueError: another axis, a length below 1, or signals shorter than a frame.

    Example:
        >>> import paddle
        >>> paddle.signal.frame(paddle.arange(4), frame_length=2, hop_length=1, axis=0).tolist()
        [[0, 1], [1, 2], [2, 3]]
    """
    op = "frame"
    last = _end(axis, op)
    size, hop = _above_zero(frame_length, op, "frame_length"), _above_zero(hop_length, op, "hop_length")
    if need_tensor(x, op).ndim == 0 or size > x.shape[axis]:
        raise op_error(ValueError, op, f"signals of at least {size} elements", x.shape)
    n = x.ndim
    if last:
        return F.copy(F.permute(F.unfold(x, n - 1, size, hop), (*range(n - 1), n, n - 1)))
    return F.copy(F.permute(F.unfold(x, 0, size, hop), (0, n, *range(1, n))))


@public("paddle.signal", usual=False)
def overlap_add(x: Tensor, hop_length: int, axis: int = -1, name: str | None = None) -> Tensor:
    """Sum of overlapping frames, each at its place: the adjoint of :func:`frame`.

    Args:
        x: tensor of rank 2 or more, ``[*, frame_length, frames]``, or ``[frames, frame_length, *]`` with axis 0.
        hop_length: distance from one frame to the next, at most a frame.
        axis: -1 or 0, where time is.

    Returns:
        Tensor of x's dtype with time, ``(frames - 1) * hop_length + frame_length`` long, in the place of both axes.

    Raises:
        TypeError: x is no tensor.
        ValueError: another axis or rank, or a hop_length below 1 or above the length of a frame.

    Example:
        >>> import paddle
        >>> paddle.signal.overlap_add(paddle.to_tensor([[1, 2], [10, 20], [100, 200]]), hop_length=1, axis=0).tolist()
        [1, 12, 120, 200]
    """
    op = "overlap_add"
    last = _end(axis, op)
    hop = _above_zero(hop_length, op, "hop_length")
    n = need_tensor(x, op).ndim
    if n < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    size, count = (x.shape[-2], x.shape[-1]) if last else (x.shape[1], x.shape[0])
    if hop > size:
        raise op_error(ValueError, op, f"a hop_length of at most {size}, the length of a frame", hop)
    order = (*range(n - 2), n - 1, n - 2) if last else (*range(2, n), 0, 1)
    signals = tuple(x.shape[a] for a in order[:-2])
    rows = F.reshape(F.permute(x, order), (math.prod(signals), count, size))
    total = (count - 1) * hop + size
    out = F.reshape(_overlap(rows, total, hop), (*signals, total))
    return out if last else F.permute(out, (n - 2, *range(n - 2)))


@public("paddle.signal paddle.tensor Tensor", usual=False)
def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Short-time Fourier transform: the spectra of overlapping frames of signals.

    Args:
        x: tensor ``[length]`` or ``[batch, length]`` of float32, float64, complex64 or complex128; integers become
            float32.
        n_fft: number of points of a frame.
        hop_length: distance from one frame to the next; None means ``n_fft // 4``.
        win_length: size of the window, which is padded with zeros on both sides to n_fft; None means n_fft.
        window: tensor ``[win_length]`` that each frame is multiplied by; None means ones.
        center: whether x is padded by ``n_fft // 2`` on both sides, so that frame t is centred at ``t * hop_length``.
        pad_mode: how to pad, ``"reflect"`` or ``"constant"``, the latter with zeros.
        normalized: whether to divide by the square root of n_fft.
        onesided: whether to return only the first half of the points, which is all there is to know of real signals;
            None: where signal and window are real.

    Returns:
        Complex tensor ``[points, frames]`` or ``[batch, points, frames]``, where points is ``n_fft // 2 + 1`` or n_fft;
        complex128 if x or the window is float64 or complex128, else complex64.

    Raises:
        TypeError: x or the window is no tensor, or x is float16 or bfloat16.
        ValueError: x is not of rank 1 or 2, or is shorter than a frame; a length is out of range; the window is of
            another shape; pad_mode is none of these; or onesided is True and x or the window complex.

    Example:
        >>> import paddle
        >>> spectra = paddle.signal.stft(paddle.ones([32]), n_fft=8)
        >>> spectra.shape, float(spectra[0, 0].real())
        (paddle.Size([5, 17]), 8.0)
    """
    op = "stft"
    n_fft = integer(n_fft, op, "n_fft")
    x = floating(need_tensor(x, op))
    if x.ndim not in (1, 2):
        raise op_error(ValueError, op, "a tensor of rank 1 or 2", x.shape)
    hop, win = _lengths(n_fft, hop_length, win_length, op)
    single = x.ndim == 1
    if single:
        x = F.unsqueeze(x, (0,))
    if not 0 < n_fft <= x.shape[1] + (2 * (n_fft // 2) if center else 0):
        raise op_error(ValueError, op, f"an n_fft from 1 to {x.shape[1]}", n_fft)
    w = _window(window, win, n_fft, x, op)
    if center:
        if pad_mode not in ("reflect", "constant"):
            raise op_error(ValueError, op, "a pad_mode of 'reflect' or 'constant'", repr(pad_mode))
        pad = n_fft // 2
        x = F.pad(x, 0, mode=pad_mode, axes=(1,), lo=(pad,), hi=(pad,))
    is_complex = x.dtype.is_complex or w.dtype.is_complex
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise op_error(ValueError, op, "onesided=False for complex signals and windows", "onesided=True")
    frames = F.unfold(x, 1, n_fft, hop)
    frames = promoted(F.mul, op, frames, w)
    norm = "ortho" if normalized else "backward"
    if onesided:
        out = F.rfft(frames, (2,), norm)
    else:
        out = F.fft(frames, (2,), norm)
    out = F.permute(out, (0, 2, 1))
    return F.squeeze(out, (0,)) if single else out


@public("paddle.signal paddle.tensor Tensor", usual=False)
def istft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> Tensor:
    """Inverse of :func:`stft`: frames added where they overlap, and divided by the sum of squared windows.

    Args:
        x: complex tensor ``[points, frames]`` or ``[batch, points, frames]``.
        n_fft: number of points of a frame.
        hop_length: distance from one frame to the next; None means ``n_fft // 4``.
        win_length: size of the window; None means n_fft.
        window: tensor ``[win_length]`` that ``stft`` used; None means ones.
        center: whether ``stft`` padded the signal, so that the padding is removed.
        normalized: whether ``stft`` divided by the square root of n_fft.
        onesided: whether x holds only the first half of the points.
        length: size of the result, which is cropped or padded with zeros; None means what the frames cover.
        return_complex: whether to return a complex signal, for which onesided must be False.

    Returns:
        Tensor ``[length]`` or ``[batch, length]``: real, or complex with return_complex.

    Raises:
        TypeError: x or the window is no tensor.
        ValueError: x is not complex or not of rank 2 or 3, its points do not fit n_fft, a length is out of range, the
            window is of another shape, onesided and return_complex are both True, or there is a place that no window
            covers.

    Example:
        >>> import paddle
        >>> x = paddle.arange(32, dtype="float32")
        >>> y = paddle.signal.istft(paddle.signal.stft(x, n_fft=8), n_fft=8)
        >>> y.shape, bool(paddle.allclose(x, y, atol=1e-4))
        (paddle.Size([32]), True)
    """
    op = "istft"
    n_fft = integer(n_fft, op, "n_fft")
    need_tensor(x, op)
    if x.ndim not in (2, 3) or not x.dtype.is_complex:
        raise op_error(ValueError, op, "a complex tensor of rank 2 or 3", f"{x.dtype.name} {list(x.shape)}")
    hop, win = _lengths(n_fft, hop_length, win_length, op)
    if hop > win:
        raise op_error(ValueError, op, "a hop_length of at most win_length", f"{hop} and {win}")
    if return_complex and onesided:
        raise op_error(ValueError, op, "onesided=False for a complex result", "onesided=True")
    points = n_fft // 2 + 1 if onesided else n_fft
    single = x.ndim == 2
    if single:
        x = F.unsqueeze(x, (0,))
    if x.shape[1] != points:
        raise op_error(ValueError, op, f"{points} points for n_fft={n_fft}", x.shape[1])
    w = _window(window, win, n_fft, x, op)
    count = x.shape[2]
    frames = F.permute(x, (0, 2, 1))
    norm = "ortho" if normalized else "backward"
    if onesided:
        frames = F.irfft(frames, (2,), norm, n_fft)
    else:
        frames = F.fft(frames, (2,), norm, True)
        if not return_complex:
            frames = F.real(frames)
    w = cast(w, frames.dtype)
    total = n_fft + hop * (count - 1)
    y = _overlap(F.mul(frames, w), total, hop)
    envelope = _overlap(F.broadcast_to(F.mul(w, w), (1, count, n_fft)), total, hop)
    start = n_fft // 2 if center else 0
    stop = (total - start if center else total) if length is None else min(start + length, total)
    y, envelope = (F.slice(v, (1,), (start,), (stop - start,), (1,)) for v in (y, envelope))
    size = F.abs(envelope)
    if not current().trace and float(F.min(size, (0, 1)).item()) < 1e-11:
        raise op_error(
            ValueError, op, "windows whose squares add up to more than 0 everywhere", "a place that none covers"
        )
    y = F.div(y, envelope)
    if length is not None and length > stop - start:
        y = F.pad(y, 0, axes=(1,), lo=(0,), hi=(length - (stop - start),))
    return F.squeeze(y, (0,)) if single else y


def _overlap(frames: Tensor, total: int, hop: int) -> Tensor:
    """Frames ``[b, count, size]`` added up at their places in ``[b, total]``."""
    b, count, size = frames.shape
    with place_guard(frames.place):
        where = F.add(F.unsqueeze(F.iota(0, hop, dt.int64, count), (1,)), F.iota(0, 1, dt.int64, size))
        zeros = F.full(0, frames.dtype, (b, total))
    flat = F.reshape(frames, (b, count * size))
    return F.put(zeros, F.reshape(where, (count * size,)), flat, 1, mode="add")


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
