"""Transforms of tensors ``[channels, height, width]``, or of batches of them: differentiable, and captured as other
functions of tensors are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle.nn.functional as F
from paddle.tensor.from_data import to_tensor
from paddle.tensor.joining import concat, stack
from paddle.tensor.search import where
from paddle.vision.transforms import _images
from paddle.vision.transforms._matrices import inverse_affine, perspective_coefficients
from umiak import ops
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_PADDING = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}
_LUMA = (0.2989, 0.5870, 0.1140)  # ITU-R 601-2, to four digits
_RESIZES = ("nearest", "bilinear", "area", "bicubic")
_WARPS = ("nearest", "bilinear")


def to_array(img: Tensor) -> np.ndarray:
    return img.numpy()


def _brightest(img: Tensor) -> float:
    return 1.0 if img.dtype.is_floating else 255.0


def _floats(img: Tensor) -> Tensor:
    return img if img.dtype.is_floating else img.astype("float32")


def _back(result: Tensor, img: Tensor) -> Tensor:
    """The result in the image's dtype; integers are cut to their range."""
    if img.dtype.is_floating:
        return result.astype(img.dtype)
    return result.clip(0, 255).astype(img.dtype)


def resize(img: Tensor, size: Any, interpolation: Any) -> Tensor:
    _images.one_of(interpolation, _RESIZES, "resize", "interpolation")
    height, width = _images.resized(img.shape[-2], img.shape[-1], size, "resize")
    batch = _floats(img) if img.ndim == 4 else _floats(img).unsqueeze(0)
    out = F.interpolate(batch, size=[height, width], mode=interpolation)
    return _back(out if img.ndim == 4 else out.squeeze(0), img)


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    return img[..., top : top + height, left : left + width]


def hflip(img: Tensor) -> Tensor:
    return img.flip([-1])


def vflip(img: Tensor) -> Tensor:
    return img.flip([-2])


def pad(img: Tensor, borders: tuple[int, int, int, int], fill: Any, padding_mode: str) -> Tensor:
    if padding_mode not in _PADDING:
        raise op_error(
            ValueError, "pad", "a padding_mode of 'constant', 'edge' or 'reflect' for a tensor", padding_mode
        )
    left, top, right, bottom = borders
    batch = img if img.ndim == 4 else img.unsqueeze(0)
    sides = [left, right, top, bottom]
    if padding_mode == "constant" and isinstance(fill, (list, tuple)):
        values = _images.per_channel(fill, batch.shape[1], "pad")
        parts = [F.pad(batch[:, c : c + 1], sides, "constant", v) for c, v in enumerate(values)]
        out = concat(parts, 1)
    else:
        out = F.pad(batch, sides, _PADDING[padding_mode], fill)
    return out if img.ndim == 4 else out.squeeze(0)


# --- colours -------------------------------------------------------------------------------------------------------


def _gray(img: Tensor) -> Tensor:
    """Brightness with one channel; of one channel that channel."""
    if img.shape[-3] == 1:
        return img
    if img.shape[-3] != 3:
        raise op_error(ValueError, "to_grayscale", "1 or 3 channels", img.shape)
    weights = to_tensor(_LUMA, dtype=img.dtype).reshape([3, 1, 1])
    return (img * weights).sum(-3, keepdim=True)


def to_grayscale(img: Tensor, channels: int) -> Tensor:
    gray = _back(_gray(_floats(img)), img)
    return gray if channels == 1 else concat([gray] * 3, -3)


def _blend(first: Tensor, second: Any, ratio: float, img: Tensor) -> Tensor:
    """``ratio`` of the first image and the rest of the second."""
    return _back((first * ratio + second * (1 - ratio)).clip(0, _brightest(img)), img)


def adjust_brightness(img: Tensor, factor: float) -> Tensor:
    return _blend(_floats(img), 0.0, factor, img)


def adjust_contrast(img: Tensor, factor: float) -> Tensor:
    values = _floats(img)
    return _blend(values, _gray(values).mean([-3, -2, -1], keepdim=True), factor, img)


def adjust_saturation(img: Tensor, factor: float) -> Tensor:
    values = _floats(img)
    return _blend(values, _gray(values), factor, img)


def adjust_hue(img: Tensor, factor: float) -> Tensor:
    if img.shape[-3] == 1:
        return img
    if img.shape[-3] != 3:
        raise op_error(ValueError, "adjust_hue", "1 or 3 channels", img.shape)
    values = _floats(img)
    if values is not img:
        values = values / 255.0
    h, s, v = _to_hsv(values)
    out = _to_rgb((h + factor) % 1.0, s, v)
    if not img.dtype.is_floating:
        out = out * 255.0
    return _back(out, img)


def _to_hsv(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value in [0, 1]; the hue is 0 where there is no colour."""
    r, g, b = (img[..., c, :, :] for c in range(3))
    high, low = img.max(-3), img.min(-3)
    chroma = high - low
    gray = chroma.equal(0.0)
    width = where(gray, 1.0, chroma)
    s = chroma / where(high.equal(0.0), 1.0, high)
    dr, dg, db = ((high - c) / width for c in (r, g, b))
    h = where(high.equal(r), db - dg, where(high.equal(g), 2.0 + dr - db, 4.0 + dg - dr))
    return where(gray, 0.0, (h / 6.0 + 1.0) % 1.0), s, high


def _to_rgb(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    """Red, green and blue: the hue lies in one of six sectors, in which one channel is ``v``, one the least, and the
    third rises or falls.
    """
    sector = (h * 6.0).floor()
    part = h * 6.0 - sector
    sector = sector % 6.0
    least, falling, rising = ((v * (1.0 - s * w)).clip(0.0, 1.0) for w in (1.0, part, 1.0 - part))
    by_sector = ((v, rising, least), (falling, v, least), (least, v, rising), (least, falling, v), (rising, least, v))
    channels = []
    for c, out in enumerate((v, least, falling)):  # of the last sector
        for k, values in enumerate(by_sector):
            out = where(sector.equal(float(k)), values[c], out)
        channels.append(out)
    return stack(channels, -3)


# --- warps ---------------------------------------------------------------------------------------------------------


def _pixel_grid(width: int, height: int) -> np.ndarray:
    """Homogeneous positions ``[height, width, 3]`` of the centres of pixels, from the centre of the image."""
    x = np.arange(width, dtype=np.float64) + 0.5 - width * 0.5
    y = np.arange(height, dtype=np.float64) + 0.5 - height * 0.5
    grid = np.ones((height, width, 3))
    grid[..., 0], grid[..., 1] = x, y[:, None]
    return grid


def _sampled(img: Tensor, grid: np.ndarray, interpolation: Any, fill: Any, op: str) -> Tensor:
    """The image at positions ``[height, width, 2]`` in [-1, 1]; ``fill`` where they lie outside."""
    _images.one_of(interpolation, _WARPS, op, "interpolation")
    # Numbers of 16 bits are too coarse for positions.
    values = img if img.dtype.name == "float64" else img.astype("float32")
    batch = values if img.ndim == 4 else values.unsqueeze(0)
    n, channels = batch.shape[:2]
    where_to = ops.broadcast_to(to_tensor(grid, dtype=batch.dtype), shape=(n, *grid.shape))
    covered = batch[:, :1] * 0.0 + 1.0
    out = F.grid_sample(
        concat([batch, covered], 1), where_to, mode=interpolation, padding_mode="zeros", align_corners=False
    )
    values, mask = out[:, :channels], out[:, channels:]
    colors = to_tensor(_images.per_channel(fill, channels, op), dtype=batch.dtype).reshape([1, channels, 1, 1])
    if interpolation == "nearest":
        result = where(mask < 0.5, colors, values)
    else:
        result = values * mask + (1.0 - mask) * colors
    return _back(result if img.ndim == 4 else result.squeeze(0), img)


def _warped(img: Tensor, matrix: list[float], size: tuple[int, int], interpolation: Any, fill: Any, op: str) -> Tensor:
    """The image under the inverse of an affine map around its centre."""
    height, width = img.shape[-2:]
    theta = np.array(matrix).reshape(2, 3).T / (0.5 * width, 0.5 * height)
    return _sampled(img, _pixel_grid(size[1], size[0]) @ theta, interpolation, fill, op)


def _from_center(img: Tensor, center: Any) -> tuple[float, float]:
    """The centre of a map, seen from the centre of the image."""
    height, width = img.shape[-2:]
    return (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)


def rotate(img: Tensor, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> Tensor:
    matrix = inverse_affine(_from_center(img, center), -angle, (0.0, 0.0), 1.0, (0.0, 0.0))
    height, width = img.shape[-2:]
    size = (height, width)
    if expand:
        half = np.array([width, height]) * 0.5
        corners = np.array([[x, y, 1.0] for x in (-half[0], half[0]) for y in (-half[1], half[1])])
        mapped = corners @ np.array(matrix).reshape(2, 3).T
        tolerance = 1e-4  # of corners that lie on the edge of a pixel
        high = np.ceil(np.trunc(mapped.max(0) / tolerance) * tolerance)
        low = np.floor(np.trunc(mapped.min(0) / tolerance) * tolerance)
        size = (int(high[1] - low[1]), int(high[0] - low[0]))
    return _warped(img, matrix, size, interpolation, fill, "rotate")


def affine(
    img: Tensor, angle: float, translate: Any, scale: float, shear: Any, interpolation: Any, fill: Any, center: Any
) -> Tensor:
    matrix = inverse_affine(_from_center(img, center), angle, translate, scale, shear)
    return _warped(img, matrix, tuple(img.shape[-2:]), interpolation, fill, "affine")


def perspective(img: Tensor, startpoints: Any, endpoints: Any, interpolation: Any, fill: Any) -> Tensor:
    a, b, c, d, e, f, g, h = perspective_coefficients(startpoints, endpoints)
    height, width = img.shape[-2:]
    points = _pixel_grid(width, height)
    points += (width * 0.5, height * 0.5, 0.0)
    mapped = points @ np.array([[a, d], [b, e], [c, f]])
    below = points @ np.array([[g], [h], [1.0]])
    grid = mapped / below / (0.5 * width, 0.5 * height) - 1.0
    return _sampled(img, grid, interpolation, fill, "perspective")


def erase(img: Tensor, top: int, left: int, height: int, width: int, value: Any, inplace: bool) -> Tensor:
    out = img if inplace else img.clone()
    out[..., top : top + height, left : left + width] = value
    return out
