"""Helpers of older programs for images as arrays ``[channels, height, width]``."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from paddle import _lazy
from paddle._public import public
from paddle.vision.image import need_pil, read_pil
from umiak.util.errors import op_error

_HOME = "paddle.utils.image_util"


@public(_HOME)
def resize_image(img: Any, target_size: int) -> Any:
    """PIL image whose shorter edge has a length.

    Args:
        img: PIL image.
        target_size: the length in pixels.

    Returns:
        PIL image, smoothed by a Lanczos filter.

    Raises:
        ValueError: target_size is below 1.

    Example:
        >>> from PIL import Image
        >>> from paddle.utils.image_util import resize_image
        >>> resize_image(Image.new("RGB", (30, 20)), 10).size
        (15, 10)
    """
    if target_size < 1:
        raise op_error(ValueError, "resize_image", "a target_size of at least 1", target_size)
    factor = target_size / min(img.size)
    size = tuple(round(edge * factor) for edge in img.size)
    return img.resize(size, need_pil().Resampling.LANCZOS)


@public(_HOME)
def flip(im: np.ndarray) -> np.ndarray:
    """Array mirrored from left to right.

    Args:
        im: array ``[channels, height, width]`` or ``[height, width]``.

    Returns:
        Array of the same shape and dtype, a view.

    Raises:
        ValueError: im has another rank.

    Example:
        >>> import numpy as np
        >>> from paddle.utils.image_util import flip
        >>> flip(np.array([[1, 2, 3]])).tolist()
        [[3, 2, 1]]
    """
    if im.ndim not in (2, 3):
        raise op_error(ValueError, "flip", "an array of rank 2 or 3", list(im.shape))
    return im[..., ::-1]


@public(_HOME)
def crop_img(im: np.ndarray, inner_size: int, color: bool = True, test: bool = True) -> np.ndarray:
    """Square part of an array, which is first padded with zeros where it is smaller.

    Args:
        im: array ``[channels, height, width]``, or ``[height, width]`` without colours.
        inner_size: edge of the part in pixels.
        color: whether im has channels.
        test: whether to take the middle; otherwise a random part, half of them mirrored, drawn from
            :mod:`numpy.random`.

    Returns:
        Array ``[channels, inner_size, inner_size]`` or ``[inner_size, inner_size]`` of im's dtype, or of float32 where
        it was padded.

    Raises:
        ValueError: im has another rank.

    Example:
        >>> import numpy as np
        >>> from paddle.utils.image_util import crop_img
        >>> crop_img(np.arange(16).reshape(4, 4), 2, color=False).tolist()
        [[5, 6], [9, 10]]
    """
    if im.ndim != (3 if color else 2):
        required = "an array [channels, height, width]" if color else "an array [height, width]"
        raise op_error(ValueError, "crop_img", required, list(im.shape))
    height, width = (max(inner_size, n) for n in im.shape[-2:])
    if (height, width) != im.shape[-2:]:
        padded = np.zeros((*im.shape[:-2], height, width), np.float32)
        top, left = (height - im.shape[-2]) // 2, (width - im.shape[-1]) // 2
        padded[..., top : top + im.shape[-2], left : left + im.shape[-1]] = im
        im = padded
    if test:
        top, left = (height - inner_size) // 2, (width - inner_size) // 2
        return im[..., top : top + inner_size, left : left + inner_size]
    top = np.random.randint(0, height - inner_size + 1)
    left = np.random.randint(0, width - inner_size + 1)
    part = im[..., top : top + inner_size, left : left + inner_size]
    return flip(part) if np.random.randint(2) == 0 else part


@public(_HOME)
def decode_jpeg(jpeg_string: bytes) -> np.ndarray:
    """Array of a compressed image.

    Args:
        jpeg_string: the bytes of an image file.

    Returns:
        uint8 array ``[channels, height, width]``, or ``[height, width]`` of a grey image.

    Raises:
        ValueError: the bytes are no image, or a broken one.

    Example:
        >>> import io
        >>> from PIL import Image
        >>> from paddle.utils.image_util import decode_jpeg
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (4, 3)).save(file, "JPEG")
        >>> decode_jpeg(file.getvalue()).shape
        (3, 3, 4)
    """
    pixels = np.array(read_pil(io.BytesIO(jpeg_string), "decode_jpeg"))
    return pixels.transpose(2, 0, 1) if pixels.ndim == 3 else pixels


@public(_HOME)
def preprocess_img(
    im: np.ndarray, img_mean: np.ndarray, crop_size: int, is_train: bool, color: bool = True
) -> np.ndarray:
    """Part of an array minus a mean image, in one row.

    Args:
        im: array ``[channels, height, width]``, or ``[height, width]`` without colours.
        img_mean: the mean image, of the part's shape.
        crop_size: edge of the part in pixels.
        is_train: whether the part is random, as in :func:`crop_img`; otherwise it is the middle.
        color: whether im has channels.

    Returns:
        float32 array of rank 1.

    Raises:
        ValueError: im has another rank, or img_mean another shape.

    Example:
        >>> import numpy as np
        >>> from paddle.utils.image_util import preprocess_img
        >>> preprocess_img(np.full([1, 4, 4], 3), np.ones([1, 2, 2]), 2, is_train=False).tolist()
        [2.0, 2.0, 2.0, 2.0]
    """
    part = crop_img(im.astype(np.float32), crop_size, color, test=not is_train)
    if np.shape(img_mean) != part.shape:
        raise op_error(ValueError, "preprocess_img", f"img_mean of shape {list(part.shape)}", list(np.shape(img_mean)))
    return (part - img_mean).astype(np.float32).ravel()


@public(_HOME)
def load_meta(meta_path: str, mean_img_size: int, crop_size: int, color: bool = True) -> np.ndarray:
    """Mean image of a data set, its middle.

    Args:
        meta_path: a file of :func:`numpy.savez` whose ``data_mean`` has the numbers of the mean image.
        mean_img_size: edge of the mean image in pixels.
        crop_size: edge of the part that is returned.
        color: whether the mean image has three channels.

    Returns:
        float32 array ``[3, crop_size, crop_size]`` or ``[crop_size, crop_size]``.

    Raises:
        ValueError: the file has no data_mean, or another number of elements.
        FileNotFoundError: there is no such file.

    Example:
        >>> import numpy as np, os, tempfile
        >>> from paddle.utils.image_util import load_meta
        >>> path = os.path.join(tempfile.mkdtemp(), "meta.npz")
        >>> np.savez(path, data_mean=np.arange(16))
        >>> load_meta(path, 4, 2, color=False).tolist()
        [[5.0, 6.0], [9.0, 10.0]]
    """
    with np.load(meta_path, allow_pickle=False) as table:
        mean = table.get("data_mean")
    shape = (3, mean_img_size, mean_img_size) if color else (mean_img_size, mean_img_size)
    if mean is None or mean.size != int(np.prod(shape)):
        got = "none" if mean is None else mean.size
        raise op_error(ValueError, "load_meta", f"data_mean of {int(np.prod(shape))} numbers in {meta_path!r}", got)
    return crop_img(mean.reshape(shape), crop_size, color).astype(np.float32)


@public(_HOME)
def load_image(img_path: str, is_color: bool = True) -> Any:
    """Read an image file.

    Args:
        img_path: the file.
        is_color: accepted: the image has the colours of the file.

    Returns:
        PIL image.

    Raises:
        ValueError: the file is missing, no image, or a broken one.

    Example:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> from paddle.utils.image_util import load_image
        >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
        >>> Image.new("L", (4, 3)).save(path)
        >>> load_image(path).mode
        'L'
    """
    return read_pil(img_path, "load_image")


@public(_HOME)
def oversample(img: Iterable[np.ndarray], crop_dims: Sequence[int]) -> np.ndarray:
    """Ten parts of each image: the four corners, the middle, and the mirror images of all five.

    Args:
        img: arrays ``[height, width, channels]`` of one shape.
        crop_dims: height and width of the parts.

    Returns:
        float32 array ``[10 * n, height, width, channels]``: of each image first the plain parts, then the mirrored.

    Raises:
        ValueError: there is no image, or a part is larger than it.

    Example:
        >>> import numpy as np
        >>> from paddle.utils.image_util import oversample
        >>> oversample([np.zeros([8, 6, 3])], (4, 4)).shape
        (10, 4, 4, 3)
    """
    images = [np.asarray(image) for image in img]
    h, w = (int(n) for n in crop_dims)
    if not images or images[0].ndim != 3 or not (0 < h <= images[0].shape[0] and 0 < w <= images[0].shape[1]):
        raise op_error(ValueError, "oversample", f"images [height, width, channels] of at least {(h, w)}", len(images))
    height, width = images[0].shape[:2]
    corners = [(top, left) for top in (0, height - h) for left in (0, width - w)]
    corners.append(((height - h) // 2, (width - w) // 2))
    parts = []
    for image in images:
        plain = [image[top : top + h, left : left + w] for top, left in corners]
        parts += plain + [part[:, ::-1] for part in plain]
    return np.stack(parts).astype(np.float32)


@public(_HOME)
class ImageTransformer:
    """Arrays with their axes and channels in another order, minus a mean.

    Args:
        transpose: the order of axes; None leaves them.
        channel_swap: the order of channels, first axis of the transposed array; None leaves them.
        mean: a mean for each channel, or a mean image; None for none.
        is_color: whether arrays have channels.

    Raises:
        ValueError: the mean of images with colours is one number for other than three channels.

    Example:
        >>> import numpy as np
        >>> from paddle.utils.image_util import ImageTransformer
        >>> ImageTransformer(transpose=(2, 0, 1), mean=np.array([1, 2, 3])).transformer(np.zeros([1, 1, 3])).tolist()
        [[[-1.0]], [[-2.0]], [[-3.0]]]
    """

    def __init__(
        self, transpose: Any = None, channel_swap: Any = None, mean: Any = None, is_color: bool = True
    ) -> None:
        self.is_color = is_color
        self.set_transpose(transpose)
        self.set_channel_swap(channel_swap)
        self.set_mean(mean)

    def set_transpose(self, order: Any) -> None:
        """Set the order of axes; None leaves them."""
        if order is not None and self.is_color and len(order) != 3:
            raise op_error(ValueError, "ImageTransformer", "three axes", repr(order))
        self.transpose = order

    def set_channel_swap(self, order: Any) -> None:
        """Set the order of channels; None leaves them."""
        if order is not None and self.is_color and len(order) != 3:
            raise op_error(ValueError, "ImageTransformer", "three channels", repr(order))
        self.channel_swap = order

    def set_mean(self, mean: Any) -> None:
        """Set the mean of each channel, or the mean image; None for none."""
        if mean is not None:
            mean = np.asarray(mean)
            if mean.ndim == 1:
                if self.is_color and mean.size != 3:
                    raise op_error(ValueError, "ImageTransformer", "a mean for each of three channels", mean.size)
                mean = mean.reshape(-1, 1, 1) if self.is_color else mean
        self.mean = mean

    def transformer(self, data: np.ndarray) -> np.ndarray:
        """Apply the changes to an array.

        Args:
            data: array ``[channels, height, width]``, or whatever the axes are put in order from.

        Returns:
            Array of floats.

        Raises:
            ValueError: the array does not fit the orders or the mean.
        """
        if self.transpose is not None:
            data = data.transpose(self.transpose)
        if self.channel_swap is not None:
            data = data[list(self.channel_swap)]
        return data if self.mean is None else data - self.mean


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
