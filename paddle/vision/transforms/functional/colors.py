"""Brightness, contrast, saturation and hue."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.vision.transforms import _kinds
from paddle.vision.transforms.functional.geometry import EXPORTED
from umiak.util.errors import op_error

_SATURATION = "paddle.vision.transforms.functional"  # the reference has no other home for it


def _need_factor(factor: float, op: str, arg_name: str) -> None:
    if not factor >= 0:
        raise op_error(ValueError, op, f"a {arg_name} of at least 0", factor)


@public(EXPORTED, usual=False)
def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Brightness of an image.

    Args:
        img: PIL image, array ``[height, width, 3]``, or tensor ``[3, height, width]``, in RGB.
        num_output_channels: 1, or 3 for as many equal channels.

    Returns:
        Image of the same kind and dtype; an array keeps the axis of its channel.

    Raises:
        TypeError: img is no image.
        ValueError: num_output_channels is neither 1 nor 3, or the image has another number of channels.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import to_grayscale
        >>> to_grayscale(np.full([1, 2, 3], 7, "uint8")).tolist()
        [[[7], [7]]]
    """
    if num_output_channels not in (1, 3):
        raise op_error(ValueError, "to_grayscale", "num_output_channels of 1 or 3", num_output_channels)
    return _kinds.functions_of(img, "to_grayscale").to_grayscale(img, num_output_channels)


@public(EXPORTED, usual=False)
def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """Image with another brightness.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]``; uint8 up to 255, or floating up to 1.
        brightness_factor: 0 gives a black image, 1 the same, 2 one of twice the brightness.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: the factor is below 0.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import adjust_brightness
        >>> adjust_brightness(np.array([[10, 200]], "uint8"), 2.0).tolist()
        [[20, 255]]
    """
    _need_factor(brightness_factor, "adjust_brightness", "brightness_factor")
    return _kinds.functions_of(img, "adjust_brightness").adjust_brightness(img, brightness_factor)


@public(EXPORTED, usual=False)
def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """Image with another contrast.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]``; uint8 up to 255, or floating up to 1.
        contrast_factor: 0 gives a grey image, 1 the same, 2 one of twice the contrast.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: the factor is below 0, or a tensor has another number of channels than 1 or 3.

    Note:
        PIL images and tensors are scaled around their mean brightness, arrays around 74 of 255.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import adjust_contrast
        >>> adjust_contrast(np.array([[70, 80]], "uint8"), 2.0).tolist()
        [[66, 86]]
    """
    _need_factor(contrast_factor, "adjust_contrast", "contrast_factor")
    return _kinds.functions_of(img, "adjust_contrast").adjust_contrast(img, contrast_factor)


@public(_SATURATION, usual=False)
def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """Image with other saturation of its colours.

    Args:
        img: PIL image, array ``[height, width, 3]``, or tensor ``[3, height, width]``, in RGB.
        saturation_factor: 0 gives a grey image, 1 the same, 2 one of twice the saturation.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: the factor is below 0, or the image has another number of channels than 1 or 3.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import functional
        >>> functional.adjust_saturation(np.full([1, 1, 3], 9, "uint8"), 2.0).tolist()
        [[[9, 9, 9]]]
    """
    _need_factor(saturation_factor, "adjust_saturation", "saturation_factor")
    return _kinds.functions_of(img, "adjust_saturation").adjust_saturation(img, saturation_factor)


@public(EXPORTED, usual=False)
def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Image whose hues are turned around the circle of colours.

    Args:
        img: PIL image, array ``[height, width, 3]``, or tensor ``[3, height, width]``, in RGB. Grey images stay.
        hue_factor: part of the circle, from -0.5 to 0.5; 0 gives the same image.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: the factor is not in this range, or the image has another number of channels.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import adjust_hue
        >>> adjust_hue(np.array([[[255, 0, 0]]], "uint8"), 0.5).tolist()
        [[[0, 252, 255]]]
    """
    if not -0.5 <= hue_factor <= 0.5:
        raise op_error(ValueError, "adjust_hue", "a hue_factor from -0.5 to 0.5", hue_factor)
    return _kinds.functions_of(img, "adjust_hue").adjust_hue(img, hue_factor)
