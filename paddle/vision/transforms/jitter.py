"""Random changes of colours."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.vision.transforms import functional as F
from paddle.vision.transforms.base import EXPORTED, BaseTransform, Compose
from umiak.util.errors import op_error


def _interval(
    value: Any, op: str, arg_name: str, center: float = 1.0, low: float = 0.0, high: float = float("inf")
) -> tuple[float, float] | None:
    """Interval that a factor is drawn from: around the centre, or that of the user; None leaves images alone."""
    if isinstance(value, (int, float, np.number)):
        if value < 0:
            raise op_error(ValueError, op, f"a {arg_name} of at least 0", value)
        bounds = (max(center - value, low), center + value)
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        bounds = (value[0], value[1])
    else:
        raise op_error(TypeError, op, f"a number or two for {arg_name}", repr(value))
    if not low <= bounds[0] <= bounds[1] <= high:
        raise op_error(ValueError, op, f"a {arg_name} within [{low}, {high}]", repr(value))
    return None if bounds == (center, center) else bounds


def check_input(
    value: Any,
    name: str,
    center: float = 1,
    bound: tuple[float, float] = (0, float("inf")),
    clip_first_on_zero: bool = True,
) -> list[float] | None:
    """The interval of a transform of the user's, which takes what those here do."""
    bounds = _interval(value, name, "value", center, max(bound[0], 0) if clip_first_on_zero else bound[0], bound[1])
    return None if bounds is None else list(bounds)


class _RandomFactor(BaseTransform):
    """Transform that draws a factor from ``value`` for each image."""

    value: tuple[float, float] | None

    def _adjust(self, img: Any, factor: float) -> Any:
        raise NotImplementedError

    def _apply_image(self, img: Any) -> Any:
        return img if self.value is None else self._adjust(img, random.uniform(*self.value))


@public(EXPORTED)
class BrightnessTransform(_RandomFactor):
    """Images with random brightness.

    Args:
        value: the factor is drawn evenly from ``[max(0, 1 - value), 1 + value]``, or from two numbers.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: value is below 0.
        TypeError: value is no number.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import BrightnessTransform
        >>> int(BrightnessTransform(0.4)(np.zeros([4, 6, 3], "uint8")).max())
        0
    """

    def __init__(self, value: Any, keys: Any = None) -> None:
        super().__init__(keys)
        self.value = _interval(value, "BrightnessTransform", "value")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_brightness(img, factor)


@public(EXPORTED)
class ContrastTransform(_RandomFactor):
    """Images with random contrast.

    Args:
        value: the factor is drawn evenly from ``[max(0, 1 - value), 1 + value]``, or from two numbers.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: value is below 0.
        TypeError: value is no number.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import ContrastTransform
        >>> ContrastTransform(0.4)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(self, value: Any, keys: Any = None) -> None:
        super().__init__(keys)
        self.value = _interval(value, "ContrastTransform", "value")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_contrast(img, factor)


@public(EXPORTED)
class SaturationTransform(_RandomFactor):
    """Images with random saturation.

    Args:
        value: the factor is drawn evenly from ``[max(0, 1 - value), 1 + value]``, or from two numbers.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: value is below 0.
        TypeError: value is no number.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import SaturationTransform
        >>> SaturationTransform(0.4)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(self, value: Any, keys: Any = None) -> None:
        super().__init__(keys)
        self.value = _interval(value, "SaturationTransform", "value")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_saturation(img, factor)


@public(EXPORTED)
class HueTransform(_RandomFactor):
    """Images with random hues.

    Args:
        value: the part of the circle of colours is drawn evenly from ``[-value, value]``, or from two numbers, within
            [-0.5, 0.5].
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: value is below 0 or above 0.5.
        TypeError: value is no number.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import HueTransform
        >>> int(HueTransform(0.4)(np.zeros([4, 6, 3], "uint8")).max())
        0
    """

    def __init__(self, value: Any, keys: Any = None) -> None:
        super().__init__(keys)
        self.value = _interval(value, "HueTransform", "value", 0, -0.5, 0.5)

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_hue(img, factor)


@public(EXPORTED)
class ColorJitter(BaseTransform):
    """Images with random brightness, contrast, saturation and hues, changed in random order.

    Args:
        brightness: as that of :class:`BrightnessTransform`; 0 leaves it alone.
        contrast: as that of :class:`ContrastTransform`.
        saturation: as that of :class:`SaturationTransform`.
        hue: as that of :class:`HueTransform`.
        keys: kinds of the inputs, see :class:`BaseTransform`.

    Raises:
        ValueError: a number is out of its range, when an image comes.

    Example:
        >>> import numpy as np
        >>> from paddle.vision.transforms import ColorJitter
        >>> ColorJitter(0.4, 0.4, 0.4, 0.1)(np.zeros([4, 6, 3], "uint8")).shape
        (4, 6, 3)
    """

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0, keys: Any = None
    ) -> None:
        super().__init__(keys)
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def _get_param(self, brightness: Any, contrast: Any, saturation: Any, hue: Any) -> Compose:
        """The changes in random order."""
        changes: list[BaseTransform] = []
        if brightness is not None:
            changes.append(BrightnessTransform(brightness, self.keys))
        if contrast is not None:
            changes.append(ContrastTransform(contrast, self.keys))
        if saturation is not None:
            changes.append(SaturationTransform(saturation, self.keys))
        if hue is not None:
            changes.append(HueTransform(hue, self.keys))
        random.shuffle(changes)
        return Compose(changes)

    def _apply_image(self, img: Any) -> Any:
        return self._get_param(self.brightness, self.contrast, self.saturation, self.hue)(img)
