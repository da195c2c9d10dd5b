"""NumPy kernels of convolution: patches gathered into columns, and matmuls."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import convolution as ops


def _padded(x: np.ndarray, lo: tuple, hi: tuple) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, 0), *zip(lo, hi, strict=True))) if any(lo) or any(hi) else x


def columns(
    x: np.ndarray, kernel_sizes: tuple, positions: tuple, groups: int, strides, lo, hi, dilations
) -> np.ndarray:
    """Patches of ``x`` as ``[n, groups, c/groups * kernel, positions]``."""
    x = np.ascontiguousarray(_padded(x, lo, hi))
    n, c = x.shape[:2]
    outer, inner = x.strides[:2], x.strides[2:]
    steps = tuple(d * t for d, t in zip(dilations, inner, strict=True)) + tuple(
        s * t for s, t in zip(strides, inner, strict=True)
    )
    patches = np.lib.stride_tricks.as_strided(x, (n, c, *kernel_sizes, *positions), (*outer, *steps), writeable=False)
    return patches.reshape(n, groups, c // groups * _size(kernel_sizes), _size(positions))


def _size(shape: tuple) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


@kernel(ops.Conv)
def conv(op, out, x, w, groups, *geometry):
    if not out.size or not w.size:
        out[...] = 0
        return
    patches = columns(x, w.shape[2:], out.shape[2:], groups, *geometry)
    weight = w.reshape(groups, w.shape[0] // groups, -1)
    out[...] = np.matmul(weight, patches).reshape(out.shape)


@kernel(ops.ConvInputGrad)
def conv_input_grad(op, out, g, w, groups, strides, lo, hi, dilations, sizes):
    out[...] = 0
    if not out.size or not g.size:
        return
    kernel_sizes, positions = w.shape[2:], g.shape[2:]
    weight = w.reshape(groups, w.shape[0] // groups, -1)
    patches = np.matmul(np.swapaxes(weight, 1, 2), g.reshape(g.shape[0], groups, w.shape[0] // groups, -1))
    patches = patches.reshape(*out.shape[:2], *kernel_sizes, *positions)
    wide = np.zeros((*out.shape[:2], *(n + a + b for n, a, b in zip(sizes, lo, hi, strict=True))), out.dtype)
    every = (slice(None), slice(None))
    for k in np.ndindex(kernel_sizes):
        first = [i * d for i, d in zip(k, dilations, strict=True)]
        reach = tuple(slice(f, f + (p - 1) * s + 1, s) for f, p, s in zip(first, positions, strides, strict=True))
        wide[every + reach] += patches[every + k]
    out[...] = wide[every + tuple(slice(a, a + n) for a, n in zip(lo, sizes, strict=True))]


@kernel(ops.ConvWeightGrad)
def conv_weight_grad(op, out, x, g, groups, *geometry_and_sizes):
    *geometry, sizes = geometry_and_sizes
    if not x.size or not g.size:
        out[...] = 0
        return
    patches = columns(x, sizes, g.shape[2:], groups, *geometry)
    grads = g.reshape(g.shape[0], groups, g.shape[1] // groups, -1)
    if groups == 1:  # one long matmul
        gradient = np.tensordot(grads[:, 0], patches[:, 0], axes=((0, 2), (0, 2)))
    else:
        gradient = np.matmul(grads, np.swapaxes(patches, 2, 3)).sum(0)
    out[...] = gradient.reshape(out.shape)
