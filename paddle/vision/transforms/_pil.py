"""Transforms of PIL images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle.vision.image import need_pil
from paddle.vision.transforms import _images
from paddle.vision.transforms._matrices import inverse_affine, perspective_coefficients
from umiak.backends.cpu.colors import Pixels
from umiak.util.errors import op_error

_RESAMPLING = {name: name.upper() for name in ("nearest", "bilinear", "bicubic", "box", "lanczos", "hamming")}
_WARPS = ("nearest", "bilinear", "bicubic")


def _resampling(interpolation: Any, known: Sequence[str], op: str) -> Any:
    Image = need_pil()
    if isinstance(interpolation, int):
        return Image.Resampling(interpolation)
    return Image.Resampling[_RESAMPLING[_images.one_of(interpolation, known, op, "interpolation")]]


def to_array(img: Any) -> np.ndarray:
    """The pixels ``[height, width]`` or ``[height, width, channels]``."""
    return np.asarray(img)


def resize(img: Any, size: Any, interpolation: Any) -> Any:
    method = _resampling(interpolation, tuple(_RESAMPLING), "resize")
    height, width = _images.resized(img.size[1], img.size[0], size, "resize")
    return img if isinstance(size, int) and img.size == (width, height) else img.resize((width, height), method)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    return img.crop((left, top, left + width, top + height))


def hflip(img: Any) -> Any:
    return img.transpose(need_pil().Transpose.FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    return img.transpose(need_pil().Transpose.FLIP_TOP_BOTTOM)


def _fill(img: Any, fill: Any, op: str) -> Any:
    """The fill as Pillow takes it: one number for each band."""
    bands = len(img.getbands())
    values = _images.per_channel(fill, bands, op)
    return values if bands > 1 else values[0]


def pad(img: Any, borders: tuple[int, int, int, int], fill: Any, padding_mode: Any) -> Any:
    left, top, right, bottom = borders
    Image = need_pil()
    if padding_mode == "constant":
        color = fill
        if isinstance(fill, (list, tuple)):
            color = _fill(img, fill, "pad")
        out = Image.new(img.mode, (img.size[0] + left + right, img.size[1] + top + bottom), color)
        if img.mode == "P":
            out.putpalette(img.getpalette())
        out.paste(img, (left, top))
        return out
    pixels = to_array(img)
    sides = ((top, bottom), (left, right), (0, 0))[: pixels.ndim]
    out = Image.fromarray(np.pad(pixels, sides, mode=padding_mode))
    if img.mode == "P":
        out = Image.frombytes("P", out.size, out.tobytes())
        out.putpalette(img.getpalette())
    return out


def to_grayscale(img: Any, channels: int) -> Any:
    gray = img.convert("L")
    return gray if channels == 1 else need_pil().merge("RGB", (gray, gray, gray))


def _own_pixels(img: Any) -> Any:
    """The pixels in the image's own memory; None of modes other than RGB, and where Pillow does not share them: before
    11.2, or where they are not one block.
    """
    if img.mode != "RGB" or 0 in img.size or not hasattr(img, "__arrow_c_array__"):
        return None
    if need_pil().core.get_alignment() > 4:  # rows may have gaps, which not all versions of Pillow notice
        return None
    try:
        return Pixels(img.__arrow_c_array__())
    except ValueError:
        return None


def _new_like(img: Any) -> tuple[Any, Any]:
    """An image that nobody has seen yet, and its pixels, to be written."""
    out = need_pil().new("RGB", img.size, None)
    return out, Pixels(out.__arrow_c_array__())


def adjust_brightness(img: Any, factor: float) -> Any:
    pixels = _own_pixels(img)
    if pixels is None:
        from PIL import ImageEnhance

        return ImageEnhance.Brightness(img).enhance(factor)
    out, values = _new_like(img)
    pixels.blend_value(values, 0, factor)
    return out


def adjust_contrast(img: Any, factor: float) -> Any:
    pixels = _own_pixels(img)
    if pixels is None:
        from PIL import ImageEnhance

        return ImageEnhance.Contrast(img).enhance(factor)
    out, values = _new_like(img)
    pixels.blend_value(values, int(pixels.mean_brightness() + 0.5), factor)
    return out


def adjust_saturation(img: Any, factor: float) -> Any:
    pixels = _own_pixels(img)
    if pixels is None:
        from PIL import ImageEnhance

        return ImageEnhance.Color(img).enhance(factor)
    out, values = _new_like(img)
    pixels.blend_grey(values, factor)
    return out


def adjust_hue(img: Any, factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    shift = int(factor * 255)
    pixels = _own_pixels(img)
    if pixels is None:
        h, s, v = img.convert("HSV").split()
        h = h.point([(value + shift) & 255 for value in range(256)])
        return need_pil().merge("HSV", (h, s, v)).convert(img.mode)
    out, values = _new_like(img)
    pixels.shift_hues(values, shift)
    return out


def rotate(img: Any, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> Any:
    method = _resampling(interpolation, _WARPS, "rotate")
    return img.rotate(angle, method, expand, center, fillcolor=_fill(img, fill, "rotate"))


def affine(
    img: Any, angle: float, translate: Any, scale: float, shear: Any, interpolation: Any, fill: Any, center: Any
) -> Any:
    Image = need_pil()
    method = _resampling(interpolation, _WARPS, "affine")
    middle = (img.size[0] * 0.5, img.size[1] * 0.5) if center is None else center
    matrix = inverse_affine(middle, angle, translate, scale, shear)
    color = _fill(img, fill, "affine")
    return img.transform(img.size, Image.Transform.AFFINE, matrix, method, fillcolor=color)


def perspective(img: Any, startpoints: Any, endpoints: Any, interpolation: Any, fill: Any) -> Any:
    Image = need_pil()
    method = _resampling(interpolation, _WARPS, "perspective")
    coefficients = perspective_coefficients(startpoints, endpoints)
    color = _fill(img, fill, "perspective")
    return img.transform(img.size, Image.Transform.PERSPECTIVE, coefficients, method, fillcolor=color)


def erase(img: Any, top: int, left: int, height: int, width: int, value: Any, inplace: bool) -> Any:
    if inplace:
        raise op_error(ValueError, "erase", "inplace=False for a PIL image", "inplace=True")
    pixels = np.array(img)
    pixels[top : top + height, left : left + width] = value
    return need_pil().fromarray(pixels)
