"""Random crops, flips, warps and erasures.

Numbers are drawn from Python's :mod:`random`; sizes and proportions of parts, and all of a rectangle to erase, from
:mod:`numpy.random`. So seeded programs draw what they draw with the reference.
"""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.tensor.from_data import to_tensor
from paddle.tensor.random import normal
from paddle.vision.transforms import _images, _kinds
from paddle.vision.transforms import functional as F
from paddle.vision.transforms.base import EXPORTED, BaseTransform
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _need_probability(prob: float, op: str) -> None:
    if not 0 <= prob <= 1:
        raise op_error(ValueError, op, "a prob from 0 to 1", prob)


def _angles(value: Any, op: str, arg_name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """Intervals of angles in degrees: around 0 for a number."""
    if isinstance(value, (int, float, np.number)):
        if value < 0:
            raise op_error(ValueError, op, f"a {arg_name} of at least 0, or an interval", value)
        return [-float(value), float(value)]
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise op_error(TypeError, op, f"a number or an interval for {arg_name}", repr(value))
    if len(value) not in lengths:
        raise op_error(ValueError, op, f"a number or {' or '.join(map(str, lengths))} for {arg_name}", repr(value))
    return list(value)


class _RandomFlip(BaseTransform):
    """Transform that is made with a probability."""

    def __init__(self, prob: float = 0.5, keys: Any = None) -> None:
        super().__init__(keys)
        _need_probability(prob, type(self).__name__)
        self.prob = prob


@public(EXPORTED)
class RandomHorizontalFlip(_RandomFlip):
    """Images mirrored from left to right, some of them.

    Args:
        prob: the probability.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: prob is not in [0, 1].

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomHorizontalFlip
        >>> RandomHorizontalFlip(1.0)(np.array([[1, 2, 3]], "uint8")).tolist()
        [[3, 2, 1]]
    """

    def _apply_image(self, img: Any) -> Any:
        return F.hflip(img) if random.random() < self.prob else img


@public(EXPORTED)
class RandomVerticalFlip(_RandomFlip):
    """Images mirrored from top to bottom, some of them.

    Args:
        prob: the probability.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: prob is not in [0, 1].

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomVerticalFlip
        >>> RandomVerticalFlip(1.0)(np.array([[1], [2]], "uint8")).tolist()
        [[2], [1]]
    """

    def _apply_image(self, img: Any) -> Any:
        return F.vflip(img) if random.random() < self.prob else img


@public(EXPORTED)
class RandomResizedCrop(BaseTransform):
    """Random parts of images, of random size and proportions, resized.

    Args:
        size: ``(height, width)`` of the result, or an int for both.
        scale: interval of the part of the image's area.
        ratio: interval of width over height; its logarithm is drawn evenly.
        interpolation: as that of :func:`~paddle.vision.transforms.resize`.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: size is not of this form, or an interval is not of positive numbers in their order.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomResizedCrop
        >>> RandomResizedCrop(4)(np.zeros([20, 30, 3], "uint8")).shape
        (4, 4, 3)
    """

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4, 4.0 / 3),
        interpolation: Any = "bilinear",
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.size = _images.pair(size, "RandomResizedCrop")
        for arg_name, bounds in (("scale", scale), ("ratio", ratio)):
            if len(bounds) != 2 or not 0 < bounds[0] <= bounds[1]:
                raise op_error(ValueError, "RandomResizedCrop", f"an interval above 0 for {arg_name}", repr(bounds))
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation

    def _get_param(self, image: Any, attempts: int = 10) -> tuple[int, int, int, int]:
        """Top, left, height and width of the part; the middle of the image where no attempt fits."""
        height, width = _kinds.size_of(image, "RandomResizedCrop")
        area = height * width
        for _ in range(attempts):
            target_area = np.random.uniform(self.scale[0], self.scale[1]) * area
            aspect_ratio = math.exp(np.random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            w = round(math.sqrt(target_area * aspect_ratio))
            h = round(math.sqrt(target_area / aspect_ratio))
            if 0 < w <= width and 0 < h <= height:
                top = random.randint(0, height - h)
                return top, random.randint(0, width - w), h, w
        w, h = width, height
        if width / height < min(self.ratio):
            h = round(w / min(self.ratio))
        elif width / height > max(self.ratio):
            w = round(h * max(self.ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply_image(self, img: Any) -> Any:
        return F.resize(F.crop(img, *self._get_param(img)), self.size, self.interpolation)


@public(EXPORTED)
class RandomCrop(BaseTransform):
    """Random parts of images.

    Args:
        size: ``(height, width)``, or an int for both.
        padding: border added first, as that of :func:`~paddle.vision.transforms.pad`; None for none.
        pad_if_needed: whether an image that is too small gets a border on both sides.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: an image is too small.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomCrop
        >>> RandomCrop(4, padding=1)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 4, 3)
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        self.size = _images.pair(size, "RandomCrop")
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _get_param(self, img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the part."""
        height, width = _kinds.size_of(img, "RandomCrop")
        h, w = output_size
        if h > height or w > width:
            raise op_error(
                ValueError,
                "RandomCrop",
                f"an image of at least {(h, w)}",
                (height, width),
                "pad_if_needed=True gives it a border",
            )
        if (h, w) == (height, width):
            return 0, 0, h, w
        top = random.randint(0, height - h)
        return top, random.randint(0, width - w), h, w

    def _apply_image(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = _kinds.size_of(img, "RandomCrop")
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, (self.size[1] - width, 0), self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, (0, self.size[0] - height), self.fill, self.padding_mode)
        return F.crop(img, *self._get_param(img, self.size))


@public(EXPORTED)
class RandomRotation(BaseTransform):
    """Images rotated by random angles (:func:`~paddle.vision.transforms.rotate`).

    Args:
        degrees: the angle is drawn evenly from ``[-degrees, degrees]``, or from two numbers.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        expand: whether results are large enough for the whole rotated image.
        center: the point ``(x, y)`` of the rotation; None means the middle.
        fill: value of what lies outside, or one for each channel.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: degrees is below 0, or has not two numbers.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomRotation
        >>> RandomRotation(90)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = "nearest",
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
        keys: Any = None,
    ) -> None:
        self.degrees = _angles(degrees, "RandomRotation", "degrees")
        super().__init__(keys)
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    def _get_param(self, degrees: Sequence[float]) -> float:
        """The angle."""
        return random.uniform(degrees[0], degrees[1])

    def _apply_image(self, img: Any) -> Any:
        angle = self._get_param(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


@public(EXPORTED)
class RandomAffine(BaseTransform):
    """Images rotated, moved, scaled and sheared at random (:func:`~paddle.vision.transforms.affine`).

    Args:
        degrees: the angle is drawn evenly from ``[-degrees, degrees]``, or from two numbers.
        translate: the largest moves, as parts of width and height; None for none.
        scale: interval of the factor; None for 1.
        shear: an interval of angles as degrees are, for x, or four numbers, for x and y; None for none.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        fill: value of what lies outside, or one for each channel.
        center: the point ``(x, y)`` that stays; None means the middle.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: an argument is out of its range, or has another number of elements.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomAffine
        >>> RandomAffine((-90, 90), translate=(0.2, 0.2), scale=(0.5, 0.5))(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        interpolation: Any = "nearest",
        fill: Any = 0,
        center: Any = None,
        keys: Any = None,
    ) -> None:
        op = "RandomAffine"
        self.degrees = _angles(degrees, op, "degrees")
        super().__init__(keys)
        if translate is not None and not (len(translate) == 2 and all(0 <= t <= 1 for t in translate)):
            raise op_error(ValueError, op, "two parts from 0 to 1 for translate", repr(translate))
        if scale is not None and not (len(scale) == 2 and all(s > 0 for s in scale)):
            raise op_error(ValueError, op, "two numbers above 0 for scale", repr(scale))
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _angles(shear, op, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self.center = center

    def _get_param(
        self,
        img_size: Sequence[int],
        degrees: Sequence[float],
        translate: Any = None,
        scale_ranges: Any = None,
        shears: Any = None,
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Angle, move in pixels, factor and angles of shear; ``img_size`` is (width, height)."""
        angle = random.uniform(degrees[0], degrees[1])
        moves = (0, 0)
        if translate is not None:
            max_dx, max_dy = float(translate[0] * img_size[0]), float(translate[1] * img_size[1])
            dx = int(random.uniform(-max_dx, max_dx))
            moves = (dx, int(random.uniform(-max_dy, max_dy)))
        scale = 1.0 if scale_ranges is None else random.uniform(scale_ranges[0], scale_ranges[1])
        x = y = 0.0
        if shears is not None:
            x = random.uniform(shears[0], shears[1])
            if len(shears) == 4:
                y = random.uniform(shears[2], shears[3])
        return angle, moves, scale, (x, y)

    def _apply_image(self, img: Any) -> Any:
        height, width = _kinds.size_of(img, "RandomAffine")
        params = self._get_param((width, height), self.degrees, self.translate, self.scale, self.shear)
        return F.affine(img, *params, self.interpolation, self.fill, self.center)


@public(EXPORTED)
class RandomPerspective(BaseTransform):
    """Images under random projective maps, some of them (:func:`~paddle.vision.transforms.perspective`).

    Args:
        prob: the probability.
        distortion_scale: how far the corners move, as a part of half the width and height, from 0 to 1.
        interpolation: ``"nearest"``, ``"bilinear"`` or, but for tensors, ``"bicubic"``; arrays take ``"lanczos"`` as
            well, and ``"area"``, which is ``"bilinear"`` here.
        fill: value of what lies outside, or one for each channel.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: prob or distortion_scale is not in [0, 1].

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import RandomPerspective
        >>> RandomPerspective(1.0)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(
        self,
        prob: float = 0.5,
        distortion_scale: float = 0.5,
        interpolation: Any = "nearest",
        fill: Any = 0,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        _need_probability(prob, "RandomPerspective")
        if not 0 <= distortion_scale <= 1:
            raise op_error(ValueError, "RandomPerspective", "a distortion_scale from 0 to 1", distortion_scale)
        self.prob = prob
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill

    def get_params(self, width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """Draw where the corners of an image go.

        Args:
            width: the image's, in pixels.
            height: the image's, in pixels.
            distortion_scale: how far they move, as a part of half the width and height.

        Returns:
            The corners, and the points they go to: top left, top right, bottom right, bottom left.

        Raises:
            ValueError: distortion_scale is below 0.
        """
        dx, dy = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))
        left, top = (0, dx + 1), (0, dy + 1)
        right, bottom = (width - dx - 1, width), (height - dy - 1, height)
        corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
        endpoints = [[int(random.uniform(*xs)), int(random.uniform(*ys))] for xs, ys in corners]
        startpoints = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return startpoints, endpoints

    def _apply_image(self, img: Any) -> Any:
        height, width = _kinds.size_of(img, "RandomPerspective")
        if random.random() >= self.prob:
            return img
        startpoints, endpoints = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, startpoints, endpoints, self.interpolation, self.fill)


@public(EXPORTED)
class RandomErasing(BaseTransform):
    """Images with a random rectangle replaced, some of them.

    Args:
        prob: the probability.
        scale: interval of the part of the image's area.
        ratio: interval of height over width; its logarithm is drawn evenly.
        value: a number, one for each of three channels, or ``"random"`` for normal random numbers, of arrays and PIL
            images times 255.
        inplace: whether to write into the image; not of PIL images.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: an argument is out of its range, or value is another string.
        TypeError: scale, ratio or value is of another type.

    Example:
        >>> import paddle
        >>> from paddle.vision.transforms import RandomErasing
        >>> float(RandomErasing(1.0)(paddle.ones([3, 20, 30])).min())
        0.0
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        keys: Any = None,
    ) -> None:
        super().__init__(keys)
        op = "RandomErasing"
        _need_probability(prob, op)
        for arg_name, bounds, high in (("scale", scale, 1.0), ("ratio", ratio, math.inf)):
            if isinstance(bounds, str) or not isinstance(bounds, Sequence):
                raise op_error(TypeError, op, f"an interval for {arg_name}", repr(bounds))
            if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] <= high:
                raise op_error(ValueError, op, f"an interval within [0, {high}] for {arg_name}", repr(bounds))
        if isinstance(value, str):
            if value != "random":
                raise op_error(ValueError, op, "a number, three, or 'random' for value", repr(value))
        elif isinstance(value, Sequence):
            if len(value) not in (1, 3):
                raise op_error(ValueError, op, "a number, three, or 'random' for value", repr(value))
        elif not isinstance(value, numbers.Number):
            raise op_error(TypeError, op, "a number, three, or 'random' for value", repr(value))
        self.prob = prob
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def _get_param(
        self, img: Any, scale: Sequence[float], ratio: Sequence[float], value: Any
    ) -> tuple[int, int, int, int, Any]:
        """Top, left, height and width of the rectangle, and what is written; the whole image, unchanged, where no
        attempt fits.
        """
        height, width = _kinds.size_of(img, "RandomErasing")
        channels = img.shape[-3] if isinstance(img, Tensor) else len(np.atleast_3d(img)[0, 0])
        area = height * width
        log_ratio = [math.log(r) for r in ratio]
        for _ in range(10):
            erase_area = np.random.uniform(scale[0], scale[1]) * area
            aspect_ratio = np.exp(np.random.uniform(log_ratio[0], log_ratio[1]))
            h = round(np.sqrt(erase_area * aspect_ratio))
            w = round(np.sqrt(erase_area / aspect_ratio))
            if h >= height or w >= width:
                continue
            written = self._written(img, value, channels, h, w)
            top = np.random.randint(0, height - h + 1)
            return top, np.random.randint(0, width - w + 1), h, w, written
        return 0, 0, height, width, img

    def _written(self, img: Any, value: Any, channels: int, h: int, w: int) -> Any:
        """Values that are written into a rectangle of this size."""
        if isinstance(img, Tensor):
            if isinstance(value, str):
                return normal(shape=[channels, h, w]).astype(img.dtype)
            return to_tensor(np.reshape(value, (-1, 1, 1)), dtype=img.dtype)
        if isinstance(value, str):
            noise = np.random.normal(size=[h, w, channels]) * 255
            dtype = _kinds.functions_of(img, "RandomErasing").to_array(img).dtype
            return noise if dtype.kind == "f" else noise.astype(np.int64).astype(dtype)
        return np.reshape(value, (1, 1, -1))

    def _apply_image(self, img: Any) -> Any:
        if random.random() >= self.prob:
            return img
        top, left, h, w, value = self._get_param(img, self.scale, self.ratio, self.value)
        return F.erase(img, top, left, h, w, value, self.inplace)
