"""Kernels of Fourier transforms: our own where points have small primes, everything else by SciPy's pocketfft."""

from __future__ import annotations

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
# Elements below which real numbers are made complex sooner than the signs of zeros are mended.
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
    """The kernel of a class of calls: our own where the processor has it, or the library on NumPy arrays."""
    op, meta = call.op, call.classes.metas[0]
    run_library = library(op)
    if not (call.symbolic and fourier.USABLE):
        return Kernel(run=run_library)
    types = [np.dtype(m.dtype.name) for m in (meta, call.outs[0])]
    from_half = type(op) is ops.Irfft
    inverse = from_half or (type(op) is ops.Fft and op.inverse)

    def run_addresses(x: int, out: int, sizes: list[int], strides: list[int], n: int) -> None:
        given = _array(x, types[0], sizes, [t * types[0].itemsize for t in strides])
        last = op.axes[-1]
        points = sizes[last] if type(op) is ops.Fft else n if from_half else n // 2 + 1
        result = _array(out, types[1], [*sizes[:last], points, *sizes[last + 1 :]], None)
        run_library(op, [result], [given], (n,) if from_half else ())

    launcher = fourier.Fourier(
        "from_half"
        if from_half
        else "to_half"
        if type(op) is ops.Rfft
        else "complex"
        if types[0].kind == "c"
        else "to_whole",
        inverse,
        types[0].itemsize == (16 if types[0].kind == "c" else 8),
        _power(op.norm, not inverse),
        len(meta.shape),
        tuple(op.axes),
        run_addresses,
    )
    dims = [*meta.shape, *call.strides(0)]
    return Kernel(launcher.address, launcher.self_pointer, run=run_library, keep=launcher, dims=dims)


class _Memory:
    """Memory by address, as NumPy takes it."""

    def __init__(self, **interface: Any) -> None:
        self.__array_interface__ = interface


def _array(address: int, dtype: np.dtype, shape: list[int], strides: list[int] | None) -> np.ndarray:
    memory = _Memory(
        data=(address, False), typestr=dtype.str, shape=tuple(shape), strides=strides and tuple(strides), version=3
    )
    return np.asarray(memory)


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
