"""Transforms of arrays ``[height, width]`` or ``[height, width, channels]``, by OpenCV."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from paddle.vision.image import need_cv2
from paddle.vision.transforms import _images
from umiak.util.errors import op_error

_METHODS = {
    "nearest": "INTER_NEAREST",
    "bilinear": "INTER_LINEAR",
    "area": "INTER_AREA",
    "bicubic": "INTER_CUBIC",
    "lanczos": "INTER_LANCZOS4",
}
_BORDERS = {
    "constant": "BORDER_CONSTANT",
    "edge": "BORDER_REPLICATE",
    "reflect": "BORDER_REFLECT_101",
    "symmetric": "BORDER_REFLECT",
}
# Contrast of arrays turns around this brightness, the reference's constant, not around the image's mean.
_MIDDLE = 74


def _method(interpolation: Any, op: str) -> int:
    if isinstance(interpolation, int):
        return interpolation
    return getattr(need_cv2(), _METHODS[_images.one_of(interpolation, tuple(_METHODS), op, "interpolation")])


def _like(result: np.ndarray, img: np.ndarray) -> np.ndarray:
    """The result with the axis of one channel, which OpenCV drops."""
    return result[:, :, None] if img.ndim == 3 and result.ndim == 2 else result


def to_array(img: np.ndarray) -> np.ndarray:
    return img


def resize(img: np.ndarray, size: Any, interpolation: Any) -> np.ndarray:
    method = _method(interpolation, "resize")
    height, width = _images.resized(img.shape[0], img.shape[1], size, "resize")
    if isinstance(size, int) and img.shape[:2] == (height, width):
        return img
    return _like(need_cv2().resize(img, (width, height), interpolation=method), img)


def crop(img: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
    return img[top : top + height, left : left + width]


def hflip(img: np.ndarray) -> np.ndarray:
    return img[:, ::-1]


def vflip(img: np.ndarray) -> np.ndarray:
    return img[::-1]


def pad(img: np.ndarray, borders: tuple[int, int, int, int], fill: Any, padding_mode: str) -> np.ndarray:
    left, top, right, bottom = borders
    cv2 = need_cv2()
    kind = getattr(cv2, _BORDERS[padding_mode])
    return _like(cv2.copyMakeBorder(img, top, bottom, left, right, kind, value=fill), img)


def _float_image(img: np.ndarray) -> np.ndarray:
    """OpenCV converts colours of uint8 and float32."""
    return img if img.dtype in (np.uint8, np.float32) else img.astype(np.float32)


def _need_colors(img: np.ndarray, op: str, counts: tuple[int, ...] = (1, 3)) -> None:
    if img.ndim == 3 and img.shape[2] not in counts:
        raise op_error(ValueError, op, f"{' or '.join(map(str, counts))} channels", list(img.shape))


def _gray(img: np.ndarray) -> np.ndarray:
    """Brightness ``[height, width, 1]``; of one channel that channel."""
    _need_colors(img, "to_grayscale", (1, 3, 4))
    if img.ndim == 2 or img.shape[2] == 1:
        return img.reshape(*img.shape[:2], 1)
    cv2 = need_cv2()
    return cv2.cvtColor(_float_image(img), cv2.COLOR_RGB2GRAY)[:, :, None].astype(img.dtype, copy=False)


def to_grayscale(img: np.ndarray, channels: int) -> np.ndarray:
    gray = _gray(img)
    return gray if channels == 1 else np.repeat(gray, 3, axis=2)


def _by_value(img: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A function of single values; of uint8 by a table, whose entries are rounded down."""
    if img.dtype != np.uint8:
        return function(img.astype(np.float64) * 255).clip(0, 255).__truediv__(255).astype(img.dtype)
    table = function(np.arange(256, dtype=np.float64)).clip(0, 255).astype(np.uint8)
    return _like(need_cv2().LUT(img, table), img)


def adjust_brightness(img: np.ndarray, factor: float) -> np.ndarray:
    return _by_value(img, lambda values: values * factor)


def adjust_contrast(img: np.ndarray, factor: float) -> np.ndarray:
    return _by_value(img, lambda values: (values - _MIDDLE) * factor + _MIDDLE)


def adjust_saturation(img: np.ndarray, factor: float) -> np.ndarray:
    cv2 = need_cv2()
    _need_colors(img, "adjust_saturation")
    if img.ndim == 2 or img.shape[2] == 1:
        return img
    values = img.astype(np.float32)
    gray = cv2.cvtColor(cv2.cvtColor(values, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    values *= factor
    gray *= 1 - factor
    values += gray
    np.clip(values, 0, 255 if img.dtype == np.uint8 else 1, out=values)
    return values.astype(img.dtype)


def adjust_hue(img: np.ndarray, factor: float) -> np.ndarray:
    cv2 = need_cv2()
    _need_colors(img, "adjust_hue", (1, 3, 4))
    if img.ndim == 2 or img.shape[2] == 1:
        return img
    if img.dtype == np.uint8:
        hsv = cv2.cvtColor(img, cv2.COLOR_BGR2HSV_FULL)
        hsv[..., 0] += np.uint8(int(factor * 255) & 255)
        return cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR_FULL)
    hsv = cv2.cvtColor(_float_image(img), cv2.COLOR_BGR2HSV)
    hsv[..., 0] = (hsv[..., 0] + np.float32(factor * 360)) % 360
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2BGR).astype(img.dtype, copy=False)


def _warp(img: np.ndarray, matrix: np.ndarray, size: tuple[int, int], method: int, fill: Any) -> np.ndarray:
    """The image under a matrix of two rows (affine) or three (projective)."""
    cv2 = need_cv2()
    function = cv2.warpAffine if len(matrix) == 2 else cv2.warpPerspective
    return _like(function(img, matrix, size, flags=method, borderValue=fill), img)


def rotate(img: np.ndarray, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> np.ndarray:
    cv2 = need_cv2()
    method = _method(interpolation, "rotate")
    height, width = img.shape[:2]
    middle = (width / 2.0, height / 2.0) if center is None else tuple(center)
    matrix = cv2.getRotationMatrix2D(middle, angle, 1)
    if expand:
        corners = [matrix @ (x, y, 1) for x, y in ((0, 0), (width, 0), (width, height), (0, height))]
        xs, ys = np.round(corners, 9).T  # the cosine of a right angle is not 0
        new_width = math.ceil(max(xs)) - math.floor(min(xs))
        new_height = math.ceil(max(ys)) - math.floor(min(ys))
        matrix[0, 2] += (new_width - width) / 2.0
        matrix[1, 2] += (new_height - height) / 2.0
        width, height = new_width, new_height
    return _warp(img, matrix, (width, height), method, fill)


def affine(
    img: np.ndarray, angle: float, translate: Any, scale: float, shear: Any, interpolation: Any, fill: Any, center: Any
) -> np.ndarray:
    method = _method(interpolation, "affine")
    height, width = img.shape[:2]
    # As the reference does with arrays, not with other images: around the upper left corner, counter-clockwise.
    rotation = np.vstack([need_cv2().getRotationMatrix2D((0, 0), angle, scale), (0.0, 0.0, 1.0)])
    x, y = (math.tan(math.radians(v)) for v in shear)
    moved = np.array([[1.0, y, translate[0]], [x, 1.0, translate[1]]])
    values = _images.per_channel(fill, img.shape[2] if img.ndim == 3 else 1, "affine")
    return _warp(img, moved @ rotation, (width, height), method, values)


def perspective(img: np.ndarray, startpoints: Any, endpoints: Any, interpolation: Any, fill: Any) -> np.ndarray:
    method = _method(interpolation, "perspective")
    start, end = (np.array(points, dtype=np.float32) for points in (startpoints, endpoints))
    matrix = need_cv2().getPerspectiveTransform(start, end)
    return _warp(img, matrix, (img.shape[1], img.shape[0]), method, fill)


def erase(img: np.ndarray, top: int, left: int, height: int, width: int, value: Any, inplace: bool) -> np.ndarray:
    out = img if inplace else img.copy()
    out[top : top + height, left : left + width] = value
    return out
