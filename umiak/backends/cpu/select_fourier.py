"""Kernels of Fourier transforms: rows of powers of two by our own, everything else by SciPy's pocketfft."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from umiak.backends.base import Kernel
from umiak.backends.cpu import fourier
from umiak.backends.cpu.launcher import threads_of_launches
from umiak.backends.cpu.registry import serves
from umiak.ops import fourier as ops

SEVERAL_THREADS = 1 << 16  # elements, from which on they help
# Elements below which the library is faster: to ask for rows of our own takes a microsecond, and real numbers are made
# complex sooner than the signs of zeros are mended.
SMALL_TRANSFORM = 1 << 12
_DIVIDED = {"backward": 0, "ortho": 1, "forward": 2}  # by which power of the root of the number of points
Transform = Callable[..., Any]


@cache
def transforms() -> tuple[Transform, Transform, Transform]:
    """Functions ``(x, axes, size, forward, norm, out, threads)`` from complex to complex, real to complex, and back.

    The functions below SciPy's public ones write into an array that is given; a SciPy without them is asked in public.
    """
    try:
        from scipy.fft._pocketfft.pypocketfft import c2c, c2r, r2c
    except ImportError:
        return _public()

    def complex_to_complex(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        c2c(x, axes, forward, _power(norm, forward), out, threads)

    def real_to_complex(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        r2c(x, axes, True, _power(norm, True), out, threads)

    def complex_to_real(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        c2r(x, axes, size, False, _power(norm, False), out, threads)

    return complex_to_complex, real_to_complex, complex_to_real


def _power(norm: str, forward: bool) -> int:
    power = _DIVIDED[norm]
    return power if forward else 2 - power


def _public() -> tuple[Transform, Transform, Transform]:
    from scipy import fft

    def complex_to_complex(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        out[...] = (fft.fftn if forward else fft.ifftn)(x, axes=axes, norm=norm, workers=threads)

    def real_to_complex(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        out[...] = fft.rfftn(x, axes=axes, norm=norm, workers=threads)

    def complex_to_real(x: Any, axes: Any, size: Any, forward: bool, norm: str, out: Any, threads: int) -> None:
        sizes = [*(x.shape[a] for a in axes[:-1]), size]
        out[...] = fft.irfftn(x, sizes, axes=axes, norm=norm, workers=threads)

    return complex_to_complex, real_to_complex, complex_to_real


@serves(ops.Fft, ops.Rfft, ops.Irfft)
def kernel(call: Any) -> Kernel:
    """The kernel of a class of calls, on NumPy arrays."""
    op, from_half = call.op, type(call.op) is ops.Irfft
    run_library, axes, last = library(op), tuple(op.axes), len(call.outs[0].shape) - 1
    others = tuple(a for a in axes if a != last)
    real = not call.metas[0].dtype.is_complex
    # Rows of our own lie along the last dim, where one end is real as the last of the axes. Of real tensors with more
    # axes the library has half of the work to do.
    rows = axes[-1] == last if real or from_half else last in axes
    if not (fourier.USABLE and rows) or (real and others and type(op) is ops.Fft):
        return Kernel(run=run_library)
    complex_to_complex = transforms()[0]
    inverse = from_half or (type(op) is ops.Fft and op.inverse)
    power = _power(op.norm, not inverse)
    unscaled = "forward" if inverse else "backward"

    def run(op: Any, outs: list[np.ndarray], ins: list[np.ndarray], params: tuple) -> None:
        x, out = ins[0], outs[0]
        if out.size < SMALL_TRANSFORM:
            return run_library(op, outs, ins, params)
        sizes = out if from_half else x
        served = fourier.serves(sizes.shape[last], real or from_half)
        if not (served and x.flags.c_contiguous and out.flags.c_contiguous):
            return run_library(op, outs, ins, params)
        threads = threads_of_launches() if out.size >= SEVERAL_THREADS else 1
        if others and from_half:
            x = np.empty_like(x)
            complex_to_complex(ins[0], others, None, False, unscaled, x, threads)
        fourier.transform(
            x.ctypes.data,
            out.ctypes.data,
            x.dtype.itemsize == (8 if real else 16),
            "from_half" if from_half else "complex" if not real else "to_whole" if type(op) is ops.Fft else "to_half",
            inverse,
            sizes.shape[last],
            out.size // out.shape[last],
            x.shape[last] * x.dtype.itemsize,
            out.shape[last] * out.dtype.itemsize,
            math.prod(sizes.shape[a] for a in axes) ** (-power / 2),
        )
        if others and not from_half:
            complex_to_complex(out, others, None, not inverse, unscaled, out, threads)

    return Kernel(run=run)


def library(op: Any) -> Callable[[Any, list[np.ndarray], list[np.ndarray], tuple], None]:
    """The kernel of an op by SciPy."""
    transform = transforms()[(ops.Fft, ops.Rfft, ops.Irfft).index(type(op))]
    forward = not (type(op) is ops.Irfft or (type(op) is ops.Fft and op.inverse))
    axes, norm = tuple(op.axes), op.norm

    def run(op: Any, outs: list[np.ndarray], ins: list[np.ndarray], params: tuple) -> None:
        x, out = ins[0], outs[0]
        if out.size:
            threads = threads_of_launches() if out.size >= SEVERAL_THREADS else 1
            mirrored = type(op) is ops.Fft and x.dtype.kind == "f"  # which leaves -0 where numbers are real
            if mirrored and out.size < SMALL_TRANSFORM:
                x, mirrored = x.astype(out.dtype), False
            transform(x, axes, params[0] if params else None, forward, norm, out, threads)
            if mirrored:
                np.add(out.imag, 0.0, out=out.imag)

    return run
