"""Images as arrays ``[height, width, 3]`` in BGR, or ``[height, width]`` in grey, by OpenCV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle.vision.image import need_cv2
from umiak.util.errors import op_error


def load_image_bytes(bytes: bytes, is_color: bool = True) -> np.ndarray:
    """The pixels of a compressed image; in grey without ``is_color``.

    Raises:
        ValueError: the bytes are no image.
    """
    cv2 = need_cv2()
    content = np.frombuffer(bytes, np.uint8)
    pixels = cv2.imdecode(content, cv2.IMREAD_COLOR if is_color else cv2.IMREAD_GRAYSCALE) if len(content) else None
    if pixels is None:
        raise op_error(ValueError, "load_image_bytes", "a compressed image", f"{len(content)} bytes of something else")
    return pixels


def load_image(file: str, is_color: bool = True) -> np.ndarray:
    """The pixels of an image file; in grey without ``is_color``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no image.
    """
    with open(file, "rb") as f:
        return load_image_bytes(f.read(), is_color)


def resize_short(im: np.ndarray, size: int) -> np.ndarray:
    """The image with a shorter edge of ``size`` pixels, by cubic interpolation."""
    cv2 = need_cv2()
    height, width = im.shape[:2]
    small = min(height, width)
    return cv2.resize(im, (size * width // small, size * height // small), interpolation=cv2.INTER_CUBIC)


def to_chw(im: np.ndarray, order: Sequence[int] = (2, 0, 1)) -> np.ndarray:
    """The image with its axes in another order, channels first by default."""
    if im.ndim != len(order):
        raise op_error(ValueError, "to_chw", f"an image of {len(order)} axes", list(im.shape))
    return im.transpose(order)


def _crop(im: np.ndarray, top: int, left: int, size: int, op: str) -> np.ndarray:
    if min(im.shape[:2]) < size:
        raise op_error(ValueError, op, f"an image of at least {size} × {size} pixels", list(im.shape[:2]))
    return im[top : top + size, left : left + size]


def center_crop(im: np.ndarray, size: int, is_color: bool = True) -> np.ndarray:
    """The square in the middle. ``is_color`` is taken for the sake of older programs."""
    height, width = im.shape[:2]
    return _crop(im, (height - size) // 2, (width - size) // 2, size, "center_crop")


def random_crop(im: np.ndarray, size: int, is_color: bool = True) -> np.ndarray:
    """A square at a place that is drawn from :mod:`numpy.random`."""
    height, width = im.shape[:2]
    top, left = (int(np.random.randint(0, max(edge - size, 0) + 1)) for edge in (height, width))
    return _crop(im, top, left, size, "random_crop")


def left_right_flip(im: np.ndarray, is_color: bool = True) -> np.ndarray:
    """The image mirrored from left to right."""
    return im[:, ::-1]


def simple_transform(
    im: np.ndarray, resize_size: int, crop_size: int, is_train: bool, is_color: bool = True, mean: Any = None
) -> np.ndarray:
    """The image resized, cropped, channels first, as float32.

    Args:
        im: array ``[height, width, channels]`` or ``[height, width]``.
        resize_size: length of the shorter edge.
        crop_size: edge of the square.
        is_train: whether the square is drawn, and mirrored in half of all cases; otherwise it is the one in the middle.
        is_color: taken for the sake of older programs.
        mean: subtracted: a number for each channel, or an image.
    """
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size)
        if np.random.randint(2) == 0:
            im = left_right_flip(im)
    else:
        im = center_crop(im, crop_size)
    out = (to_chw(im) if im.ndim == 3 else im).astype(np.float32)
    if mean is not None:
        values = np.asarray(mean, np.float32)
        out -= values[:, None, None] if values.ndim == 1 and out.ndim == 3 else values
    return out


def load_and_transform(
    filename: str, resize_size: int, crop_size: int, is_train: bool, is_color: bool = True, mean: Any = None
) -> np.ndarray:
    """:func:`simple_transform` of an image file."""
    return simple_transform(load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean)
