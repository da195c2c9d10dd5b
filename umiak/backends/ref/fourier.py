"""NumPy kernels of the ops in ``umiak.ops.fourier``."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import fourier as ops


@kernel(ops.Fft, returns=True)
def fft(op, x):
    return (np.fft.ifftn if op.inverse else np.fft.fftn)(x, axes=op.axes, norm=op.norm)


@kernel(ops.Rfft, returns=True)
def rfft(op, x):
    return np.fft.rfftn(x, axes=op.axes, norm=op.norm)


@kernel(ops.Irfft, returns=True)
def irfft(op, x, n):
    s = [*(x.shape[a] for a in op.axes[:-1]), n]
    return np.fft.irfftn(x, s, axes=op.axes, norm=op.norm)
