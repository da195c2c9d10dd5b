"""Crops, flips, borders and sizes."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.vision.transforms import _images, _kinds
from umiak.util.errors import op_error

EXPORTED = "paddle.vision.transforms paddle.vision paddle.vision.transforms.functional"


@public(EXPORTED, usual=False)
def resize(img: Any, size: Any, interpolation: Any = "bilinear") -> Any:
    """Image of another size.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        size: ``(height, width)``, or an int for the smaller edge, where the larger keeps the proportions.
        interpolation: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``; PIL images take ``"box"``, ``"lanczos"`` and
            ``"hamming"`` as well, arrays ``"area"`` and ``"lanczos"``, tensors ``"area"``; or an int of the library.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image, or size is not of this form.
        ValueError: the size is below 1, or the interpolation is unknown for this kind of image.

    Note:
        Pillow smooths where it makes images smaller, OpenCV and tensors do not.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import resize
        >>> resize(np.zeros([20, 30, 3], "uint8"), 10).shape
        (10, 15, 3)
    """
    return _kinds.functions_of(img, "resize").resize(img, size, interpolation)


@public(EXPORTED, usual=False)
def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """Image with a border.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        padding: width of the border: an int, ``(left and right, top and bottom)``, or ``(left, top, right, bottom)``.
        fill: value of a constant border, or one for each channel. A single number is the first channel's of PIL images
            and arrays, where the others are 0, and every channel's of tensors.
        padding_mode: ``"constant"``; ``"edge"`` repeats the outermost pixels; ``"reflect"`` mirrors without them, and
            ``"symmetric"``, which tensors lack, with them.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: padding is not of this form, or the mode is unknown.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import pad
        >>> pad(np.array([[1, 2, 3]], "uint8"), (1, 0), padding_mode="reflect").tolist()
        [[2, 1, 2, 3, 2]]
    """
    sides = _images.borders(padding, "pad")
    _images.one_of(padding_mode, _images.PADDING_MODES, "pad", "padding_mode")
    return _kinds.functions_of(img, "pad").pad(img, sides, fill, padding_mode)


@public(EXPORTED, usual=False)
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Part of an image.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        top: first row.
        left: first column.
        height: number of rows.
        width: number of columns.

    Returns:
        Image of the same kind and dtype; of arrays and tensors a view. What lies outside is black in a PIL image, and
        missing in arrays and tensors.

    Raises:
        TypeError: img is no image.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import crop
        >>> crop(np.arange(12, dtype="uint8").reshape(3, 4), 1, 2, 2, 2).tolist()
        [[6, 7], [10, 11]]
    """
    return _kinds.functions_of(img, "crop").crop(img, top, left, height, width)


@public(EXPORTED, usual=False)
def center_crop(img: Any, output_size: Any) -> Any:
    """Part in the middle of an image.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.
        output_size: ``(height, width)``, or an int for both.

    Returns:
        Image of the same kind and dtype; of arrays and tensors a view. What lies outside is black in a PIL image.

    Raises:
        TypeError: img is no image.
        ValueError: output_size is not of this form, or an array or a tensor is smaller.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import center_crop
        >>> center_crop(np.arange(12, dtype="uint8").reshape(3, 4), (1, 2)).tolist()
        [[5, 6]]
    """
    op = "center_crop"
    height, width = _images.pair(output_size, op, "output_size")
    rows, columns = _kinds.size_of(img, op)
    if not _kinds.is_pil(img) and (height > rows or width > columns):
        raise op_error(ValueError, op, f"an output_size of at most {(rows, columns)}", (height, width))
    return crop(img, round((rows - height) / 2.0), round((columns - width) / 2.0), height, width)


@public(EXPORTED, usual=False)
def hflip(img: Any) -> Any:
    """Image mirrored from left to right.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.

    Returns:
        Image of the same kind and dtype; of arrays a view.

    Raises:
        TypeError: img is no image.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import hflip
        >>> hflip(np.array([[1, 2, 3]], "uint8")).tolist()
        [[3, 2, 1]]
    """
    return _kinds.functions_of(img, "hflip").hflip(img)


@public(EXPORTED, usual=False)
def vflip(img: Any) -> Any:
    """Image mirrored from top to bottom.

    Args:
        img: PIL image, array ``[height, width]`` or ``[height, width, channels]``, or tensor ``[channels, height,
            width]`` or ``[n, channels, height, width]``.

    Returns:
        Image of the same kind and dtype; of arrays a view.

    Raises:
        TypeError: img is no image.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import vflip
        >>> vflip(np.array([[1], [2]], "uint8")).tolist()
        [[2], [1]]
    """
    return _kinds.functions_of(img, "vflip").vflip(img)
