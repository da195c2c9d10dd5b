"""NumPy kernels of regions of interest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import roi as ops


def _samples_of_axis(low: Any, high: Any, bins: int, size: int, ratio: int, aligned: bool) -> tuple[np.ndarray, int]:
    """Weights ``[bins, size]`` of bilinear samples of a region along a dim, not divided by their number; the number."""
    extent = high - low if aligned else max(high - low, type(low)(1))
    step = extent / bins
    n = ratio if ratio > 0 else math.ceil(step)
    weights = np.zeros((bins, size), type(low))
    for i in range(bins):
        for k in range(n):
            at = low + i * step + (k + type(low)(0.5)) * step / n
            if not -1 <= at <= size:
                continue
            at = max(at, type(low)(0))
            first = min(int(at), size - 1)
            part = at - first if first < size - 1 else 0
            weights[i, first] += 1 - part
            weights[i, min(first + 1, size - 1)] += part
    return weights, max(n, 0)


def _aligned(op: Any, boxes: np.ndarray, bins: tuple, scale: float, ratio: int, sizes: tuple) -> Iterator[tuple]:
    """Of each region: weights over rows ``[bins, H]`` and columns ``[bins, W]``, divided by the number of samples."""
    boxes = boxes * boxes.dtype.type(scale) - boxes.dtype.type(0.5 if op.aligned else 0)
    for x1, y1, x2, y2 in boxes:
        rows, n = _samples_of_axis(y1, y2, bins[0], sizes[0], ratio, op.aligned)
        columns, m = _samples_of_axis(x1, x2, bins[1], sizes[1], ratio, op.aligned)
        yield rows, columns / max(n * m, 1)


@kernel(ops.RoiAlign)
def roi_align(op, out, x, boxes, counts, bins, scale, ratio):
    images = op.images_of(boxes, counts, ratio)
    for r, (rows, columns) in enumerate(_aligned(op, boxes.astype(x.dtype), bins, scale, ratio, x.shape[2:])):
        out[r] = np.einsum("ph,chw,qw->cpq", rows, x[images[r]], columns)


@kernel(ops.RoiAlignSpread)
def roi_align_spread(op, out, g, boxes, counts, bins, scale, shape, ratio):
    images = op.images_of(boxes, counts, ratio)
    out[...] = 0
    for r, (rows, columns) in enumerate(_aligned(op, boxes.astype(g.dtype), bins, scale, ratio, shape[2:])):
        out[images[r]] += np.einsum("ph,cpq,qw->chw", rows, g[r], columns)


def _rounded(v: np.ndarray) -> np.ndarray:
    """Nearest integers, halves away from 0."""
    return np.sign(v) * np.floor(np.abs(v) + v.dtype.type(0.5))


def _spans(starts: Any, step: Any, bins: int, size: int, around: Any) -> np.ndarray:
    """First element and end of each bin of a dim, within the image: ``[bins, 2]``; ``around`` makes integers."""
    first, last = around(starts, step, np.arange(bins).astype(starts.dtype))
    return np.clip(np.stack([first, last], 1), 0, size).astype(np.int64)


def _regions(boxes: np.ndarray, bins: tuple, sizes: tuple, edges: Any, around: Any) -> Iterator[tuple]:
    for box in boxes:
        low, extent = edges(box)
        yield tuple(
            _spans(low[1 - axis], extent[1 - axis] / extent.dtype.type(bins[axis]), bins[axis], sizes[axis], around)
            for axis in (0, 1)
        )


def _sensitive_regions(boxes: np.ndarray, bins: tuple, scale: float, sizes: tuple) -> Iterator[tuple]:
    def edges(box: np.ndarray) -> tuple:
        low, high = (v * box.dtype.type(scale) for v in (_rounded(box[:2]), _rounded(box[2:]) + box.dtype.type(1)))
        return low, np.maximum(high - low, box.dtype.type(0.1))

    def around(low: Any, step: Any, i: np.ndarray) -> tuple:
        return np.floor(i * step + low), np.ceil((i + i.dtype.type(1)) * step + low)

    return _regions(boxes, bins, sizes, edges, around)


def _sensitive(op: Any, boxes: Any, bins: tuple, scale: float, shape: tuple) -> Iterator[tuple]:
    """For each region and bin: their numbers, the channels of the images, and the span of rows and columns."""
    for r, (rows, columns) in enumerate(_sensitive_regions(boxes, bins, scale, shape[2:])):
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                if bottom > top and right > left:
                    channels = slice(i * bins[1] + j, None, bins[0] * bins[1])
                    yield r, i, j, channels, slice(top, bottom), slice(left, right)


@kernel(ops.PsroiPool)
def psroi_pool(op, out, x, boxes, counts, bins, scale):
    images = ops.images_of(op, boxes, counts)
    out[...] = 0
    for r, i, j, channels, rows, columns in _sensitive(op, boxes.astype(x.dtype), bins, scale, x.shape):
        out[r, :, i, j] = x[images[r], channels, rows, columns].mean((1, 2))


@kernel(ops.PsroiPoolSpread)
def psroi_pool_spread(op, out, g, boxes, counts, bins, scale, shape):
    images = ops.images_of(op, boxes, counts)
    out[...] = 0
    for r, i, j, channels, rows, columns in _sensitive(op, boxes.astype(g.dtype), bins, scale, shape):
        part = out[images[r], channels, rows, columns]
        part += (g[r, :, i, j] / (part.shape[1] * part.shape[2]))[:, None, None]


@kernel(ops.RoiMaxIndex)
def roi_max_index(op, out, x, boxes, counts, bins, scale):
    images = ops.images_of(op, boxes, counts)
    boxes = boxes.astype(x.dtype)
    channels, (height, width) = np.arange(x.shape[1]), x.shape[2:]

    def edges(box: np.ndarray) -> tuple:
        box = _rounded(box * box.dtype.type(scale))
        return box[:2], np.maximum(box[2:] - box[:2] + box.dtype.type(1), box.dtype.type(1))

    def around(low: Any, step: Any, i: np.ndarray) -> tuple:
        return np.floor(i * step) + low, np.ceil((i + i.dtype.type(1)) * step) + low

    out[...] = -1
    for r, (rows, columns) in enumerate(_regions(boxes, bins, x.shape[2:], edges, around)):
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                if bottom > top and right > left:
                    part = x[images[r], :, top:bottom, left:right].reshape(len(channels), -1)
                    best = part.argmax(1)
                    at = (top + best // (right - left)) * width + left + best % (right - left)
                    out[r, :, i, j] = (images[r] * len(channels) + channels) * height * width + at
