"""Operators of detection for PyTorch: vision_peer.cpp, built when it is first asked for."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch

SOURCE = Path(__file__).with_suffix(".cpp")


@cache
def library() -> Any:
    compiler = shutil.which("g++")
    if compiler is None:
        raise RuntimeError("the peer of vision_ops requires g++, which is not installed")
    folder = tempfile.TemporaryDirectory(prefix="vision_peer")
    target = Path(folder.name) / "peer.so"
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", target, SOURCE], check=True)
    loaded = ctypes.CDLL(str(target))
    loaded.peer_nms.restype = ctypes.c_int64
    loaded.folder = folder  # lives as long
    return loaded


def _of(x: torch.Tensor) -> Any:
    return ctypes.c_void_p(x.data_ptr())


def _n(n: int) -> Any:
    return ctypes.c_int64(n)


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    order = torch.sort(scores, stable=True, descending=True)[1]
    kept = torch.empty(len(boxes), dtype=torch.int64)
    count = library().peer_nms(_of(boxes), _of(order), _n(len(boxes)), ctypes.c_float(threshold), _of(kept))
    return kept[:count]


def roi_align(x: Any, boxes: Any, image: Any, bins: int, scale: float, ratio: int, g: Any = None) -> torch.Tensor:
    """The result; with its gradient ``g`` that of x."""
    regions, (_, c, h, w) = len(boxes), x.shape
    out = torch.empty(regions, c, bins, bins) if g is None else g
    source = x if g is None else torch.zeros_like(x)
    library().peer_roi_align(
        _of(source), _of(boxes), _of(image), _n(regions), _n(c), _n(h), _n(w), bins, ctypes.c_float(scale), ratio,
        _of(out), int(g is not None),
    )  # fmt: skip
    return out if g is None else source


def deform_conv2d(x: Any, offset: Any, weight: Any, mask: Any, g: Any = None) -> Any:
    """The result of a convolution that keeps the size, without bias; with its gradient ``g`` those of all operands."""
    n, c, h, w = x.shape
    m, _, kernel, _ = weight.shape
    matrix, columns = weight.reshape(m, -1), torch.empty(c * kernel * kernel, h * w)
    results = []
    total = torch.zeros_like(matrix)
    grads = [torch.zeros_like(x), torch.empty_like(offset), torch.empty_like(mask)]
    for i in range(n):
        sizes = (_n(c), _n(h), _n(w), kernel)
        library().peer_columns(_of(x[i]), _of(offset[i]), _of(mask[i]), *sizes, _of(columns))
        if g is None:
            results.append((matrix @ columns).reshape(m, h, w))
            continue
        own = g[i].reshape(m, h * w)
        total.addmm_(own, columns.T)
        of_columns = matrix.T @ own
        library().peer_columns_backward(
            _of(x[i]), _of(offset[i]), _of(mask[i]), _of(of_columns), *sizes, *(_of(v[i]) for v in grads)
        )
    return torch.stack(results) if g is None else (grads[0], grads[1], total.reshape(weight.shape), grads[2])
