"""Transforms that draw nothing."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.vision.transforms import _images, _kinds
from paddle.vision.transforms import functional as F
from paddle.vision.transforms.base import EXPORTED, BaseTransform
from umiak.core.tensor import Tensor


@public(EXPORTED)
class Resize(BaseTransform):
    """Images of another size (:func:`~paddle.vision.transforms.resize`).

    Args:
        size: ``(height, width)``, or an int for the smaller edge.
        interpolation: the method.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: the size or the method is none, when an image comes.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import Resize
        >>> Resize((4, 6))(np.zeros([20, 30, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(self, size: Any, interpolation: Any = "bilinear", keys: Any = None) -> None:
        super().__init__(keys)
        self.size = size
        self.interpolation = interpolation

    def _apply_image(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation)


@public(EXPORTED)
class CenterCrop(BaseTransform):
    """Parts in the middle of images.

    Args:
        size: ``(height, width)``, or an int for both.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: an array or a tensor is smaller.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import CenterCrop
        >>> CenterCrop(4)(np.zeros([20, 30, 3], "uint8")).shape
        (4, 4, 3)
    """

    def __init__(self, size: Any, keys: Any = None) -> None:
        super().__init__(keys)
        self.size = _images.pair(size, "CenterCrop")

    def _apply_image(self, img: Any) -> Any:
        return F.center_crop(img, self.size)


@public(EXPORTED)
class Transpose(BaseTransform):
    """Images with their axes in another order.

    Args:
        order: the axes; by default those of ``[height, width, channels]`` become ``[channels, height, width]``.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: the order is none of the image's axes.

    Note:
        A PIL image becomes an array, and one without channels gets an axis for them.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import Transpose
        >>> Transpose()(np.zeros([4, 6, 3], "uint8")).shape
        (3, 4, 6)
    """

    def __init__(self, order: Sequence[int] = (2, 0, 1), keys: Any = None) -> None:
        super().__init__(keys)
        self.order = order

    def _apply_image(self, img: Any) -> Any:
        if isinstance(img, Tensor):
            return img.transpose(list(self.order))
        pixels = _kinds.functions_of(img, "Transpose").to_array(img)
        return np.transpose(pixels[:, :, None] if pixels.ndim == 2 else pixels, self.order)


@public(EXPORTED)
class Normalize(BaseTransform):
    """Images minus a mean, divided by a standard deviation (:func:`~paddle.vision.transforms.normalize`).

    Args:
        mean: a number, or one for each channel.
        std: a number, or one for each channel.
        data_format: ``"CHW"`` for ``[channels, height, width]``, ``"HWC"`` for ``[height, width, channels]``.
        to_rgb: whether to reverse the channels of BGR first; not of tensors.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: the numbers do not fit the channels of an image.

    Note:
        A single number is that of three channels.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import Normalize
        >>> Normalize(127.5, 127.5, "HWC")(np.array([[[0, 255, 0]]], "uint8")).tolist()
        [[[-1.0, 1.0, -1.0]]]
    """

    def __init__(
        self, mean: Any = 0.0, std: Any = 1.0, data_format: str = "CHW", to_rgb: bool = False, keys: Any = None
    ) -> None:
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Number) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Number) else std
        self.data_format = data_format
        self.to_rgb = to_rgb

    def _apply_image(self, img: Any) -> Any:
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


@public(EXPORTED)
class Pad(BaseTransform):
    """Images with a border (:func:`~paddle.vision.transforms.pad`).

    Args:
        padding: width of the border: an int, ``(left and right, top and bottom)``, or ``(left, top, right, bottom)``.
        fill: value of a constant border, or one for each channel.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: padding is not of this form, or the mode is unknown.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import Pad
        >>> Pad(2)(np.zeros([4, 6, 3], "uint8")).shape
        (8, 10, 3)
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant", keys: Any = None) -> None:
        _images.borders(padding, "Pad")
        _images.one_of(padding_mode, _images.PADDING_MODES, "Pad", "padding_mode")
        super().__init__(keys)
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply_image(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


@public(EXPORTED)
class Grayscale(BaseTransform):
    """Brightness of images.

    Args:
        num_output_channels: 1, or 3 for as many equal channels.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: num_output_channels is neither, when an image comes.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import Grayscale
        >>> Grayscale()(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 1)
    """

    def __init__(self, num_output_channels: int = 1, keys: Any = None) -> None:
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img: Any) -> Any:
        return F.to_grayscale(img, self.num_output_channels)


@public(EXPORTED)
class ToTensor(BaseTransform):
    """Images as tensors; uint8 values become floating numbers from 0 to 1, as by
    :func:`~paddle.vision.transforms.to_tensor`.

    Args:
        data_format: ``"CHW"`` for ``[channels, height, width]``, ``"HWC"`` for ``[height, width, channels]``.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: data_format is neither of the two, when an image comes.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import ToTensor
        >>> ToTensor()(np.zeros([4, 6, 3], "uint8")).shape
        paddle.Size([3, 4, 6])
    """

    def __init__(self, data_format: str = "CHW", keys: Any = None) -> None:
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, img: Any) -> Any:
        return F.to_tensor(img, self.data_format)
