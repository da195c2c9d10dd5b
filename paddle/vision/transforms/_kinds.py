"""Kinds of images: PIL images, arrays and tensors. The functions of a kind are loaded when an image of it comes."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def is_pil(img: Any) -> bool:
    """Return whether an object is a PIL image. Pillow is not loaded for the question."""
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(img, pil.Image)


def is_tensor(img: Any) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(img, Tensor)


def functions_of(img: Any, op: str) -> ModuleType:
    """The functions of the image's kind: ``_pil``, ``_cv2`` (arrays) or ``_tensor``."""
    if isinstance(img, np.ndarray):
        if img.ndim not in (2, 3):
            raise op_error(TypeError, op, "an array [height, width] or [height, width, channels]", list(img.shape))
        from paddle.vision.transforms import _cv2

        return _cv2
    if isinstance(img, Tensor):
        if img.ndim not in (3, 4):
            raise op_error(ValueError, op, "a tensor [channels, height, width], or of images", img.shape)
        from paddle.vision.transforms import _tensor

        return _tensor
    if not is_pil(img):
        raise op_error(TypeError, op, "a PIL image, an array or a tensor", type(img).__name__)
    from paddle.vision.transforms import _pil

    return _pil


def size_of(img: Any, op: str) -> tuple[int, int]:
    """Height and width."""
    if is_pil(img):
        return img.size[1], img.size[0]
    functions_of(img, op)
    return tuple(img.shape[-2:]) if isinstance(img, Tensor) else tuple(img.shape[:2])
