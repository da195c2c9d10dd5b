"""Images to tensors, normalised values, erased regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import public
from paddle.tensor.from_data import to_tensor as tensor_of
from paddle.vision.transforms import _images, _kinds
from paddle.vision.transforms.functional.geometry import EXPORTED
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_LAYOUTS = ("CHW", "HWC")


@public(EXPORTED, usual=False)
def to_tensor(pic: Any, data_format: str = "CHW") -> Tensor:
    """Image as a tensor; uint8 values become floating numbers from 0 to 1.

    Args:
        pic: PIL image, or array ``[height, width]`` or ``[height, width, channels]``. A tensor is ``[channels, height,
            width]`` and keeps its dtype.
        data_format: ``"CHW"`` for ``[channels, height, width]``, ``"HWC"`` for ``[height, width, channels]``.

    Returns:
        Tensor of float32, of uint8 images divided by 255; of floating arrays of their dtype. Modes ``I`` and ``I;16``
        give int32 and int16 numbers, undivided.

    Raises:
        TypeError: pic is no image.
        ValueError: data_format is neither of the two.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import to_tensor
        >>> image = to_tensor(np.full([2, 4, 3], 255, "uint8"))
        >>> image.shape, float(image.max())
        (paddle.Size([3, 2, 4]), 1.0)
    """
    op = "to_tensor"
    _images.one_of(data_format, _LAYOUTS, op, "data_format")
    if isinstance(pic, Tensor):
        return pic if data_format == "CHW" else pic.transpose([1, 2, 0])
    pixels = _kinds.functions_of(pic, op).to_array(pic)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.float32)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if data_format == "CHW":
        pixels = pixels.transpose(2, 0, 1)
    if pixels.dtype == np.uint8:
        return tensor_of(np.divide(pixels, np.float32(255), dtype=np.float32, order="C"))
    return tensor_of(np.ascontiguousarray(pixels))


def _per_channel(values: Any, data_format: str) -> np.ndarray:
    return np.asarray(values, dtype=np.float32).reshape((-1, 1, 1) if data_format == "CHW" else (1, 1, -1))


@public(EXPORTED, usual=False)
def normalize(img: Any, mean: Any, std: Any, data_format: str = "CHW", to_rgb: bool = False) -> Any:
    """Image minus the mean, divided by the standard deviation, per channel.

    Args:
        img: PIL image, array or tensor.
        mean: a number, or one for each channel.
        std: a number, or one for each channel, none of them 0.
        data_format: ``"CHW"`` for ``[channels, height, width]``, ``"HWC"`` for ``[height, width, channels]``.
        to_rgb: whether to reverse the channels of BGR first; not of tensors.

    Returns:
        Tensor of a tensor, else an array; float32, of float64 arrays float64.

    Raises:
        TypeError: img is no image.
        ValueError: data_format is neither of the two, or mean or std do not fit the channels.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import normalize
        >>> normalize(np.array([[[0, 255]]], "uint8"), 127.5, 127.5).tolist()
        [[[-1.0, 1.0]]]
    """
    op = "normalize"
    _images.one_of(data_format, _LAYOUTS, op, "data_format")
    means, stds = (_per_channel(values, data_format) for values in (mean, std))
    if isinstance(img, Tensor):
        values = img if img.dtype.is_floating else img.astype("float32")
        return (values - tensor_of(means).astype(values.dtype)) / tensor_of(stds).astype(values.dtype)
    pixels = _kinds.functions_of(img, op).to_array(img)
    if to_rgb and pixels.ndim == 3:
        pixels = pixels[::-1] if data_format == "CHW" else pixels[..., ::-1]
    try:
        out = pixels - means
        out /= stds
    except ValueError as error:
        required = f"an image {data_format} and as many channels as numbers of mean and std"
        raise op_error(ValueError, op, required, f"{list(pixels.shape)} and {means.size}, {stds.size}") from error
    return out


@public(EXPORTED, usual=False)
def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """Image with a rectangle replaced.

    Args:
        img: PIL image, array ``[height, width, channels]``, or tensor ``[channels, height, width]``.
        i: first row.
        j: first column.
        h: number of rows.
        w: number of columns.
        v: a number, or an array or tensor that broadcasts to the rectangle.
        inplace: whether to write into ``img``; not of PIL images.

    Returns:
        Image of the same kind and dtype.

    Raises:
        TypeError: img is no image.
        ValueError: v does not fit the rectangle, or inplace is True for a PIL image.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import erase
        >>> erase(np.ones([2, 3], "uint8"), 0, 1, 1, 2, 0).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    return _kinds.functions_of(img, "erase").erase(img, i, j, h, w, v, inplace)
