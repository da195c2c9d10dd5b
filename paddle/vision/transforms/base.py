"""Base class of transforms, and their composition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from umiak.util.errors import op_error

EXPORTED = "paddle.vision.transforms paddle.vision"


@public(EXPORTED)
class BaseTransform:
    """Base class of transforms. A subclass has ``_apply_image``, and ``_apply_boxes``, ``_apply_mask`` or
    ``_apply_coords`` where it can transform these as well.

    A call draws the parameters once (``_get_params``, kept in ``params``), and applies to each input the method of its
    key. Inputs beyond the keys are passed on.

    Args:
        keys: kinds of the inputs, in their order: ``"image"``, ``"boxes"``, ``"mask"``, ``"coords"``, a key whose
            method a subclass has, or None for an input that is passed on. None means ``("image",)``.

    Raises:
        ValueError: keys is no list or tuple.
        NotImplementedError: there is no method for a key.

    Example:
        >>> from paddle.vision.transforms import BaseTransform
        >>> class Invert(BaseTransform):
        ...     def _apply_image(self, image):
        ...         return 255 - image
        >>> Invert(keys=("image", None))((5, "label"))
        (250, 'label')
    """

    def __init__(self, keys: Sequence[str | None] | None = None) -> None:
        if keys is None:
            keys = ("image",)
        elif not isinstance(keys, (list, tuple)):
            raise op_error(ValueError, type(self).__name__, "a list or tuple for keys", repr(keys))
        for key in keys:
            if key is not None and self._get_apply(key) is None:
                raise op_error(NotImplementedError, type(self).__name__, f"a method _apply_{key}", f"the key {key!r}")
        self.keys = keys
        self.params: Any = None

    def _get_params(self, inputs: tuple) -> Any:
        """The parameters of one call, drawn if the transform is random."""
        return None

    def __call__(self, inputs: Any) -> Any:
        values = inputs if isinstance(inputs, tuple) else (inputs,)
        self.params = self._get_params(values)
        outputs = []
        for value, key in zip(values, self.keys):
            function = None if key is None else self._get_apply(key)
            outputs.append(value if function is None else function(value))
        outputs += values[len(self.keys) :]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _get_apply(self, key: str) -> Callable[[Any], Any] | None:
        """The method of a key."""
        return getattr(self, f"_apply_{key}", None)

    def _apply_image(self, image: Any) -> Any:
        raise NotImplementedError

    def _apply_boxes(self, boxes: Any) -> Any:
        raise NotImplementedError

    def _apply_mask(self, mask: Any) -> Any:
        raise NotImplementedError

    def _apply_coords(self, coords: Any) -> Any:
        raise NotImplementedError


@public(EXPORTED)
class Compose:
    """Transforms one after another.

    Args:
        transforms: functions of one argument, applied in this order.

    Raises:
        TypeError: a text for the list.
        Exception: what one of them raises, in a call.

    Example:
        >>> import numpy as np
        >>> from paddle.vision import transforms
        >>> pipeline = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
        >>> pipeline(np.zeros([8, 6, 3], "uint8")).shape
        paddle.Size([3, 5, 4])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        if isinstance(transforms, str):
            raise op_error(TypeError, "Compose", "a list of functions as transforms", repr(transforms))
        self.transforms = transforms

    def __call__(self, data: Any) -> Any:
        for function in self.transforms:
            data = function(data)
        return data

    def __repr__(self) -> str:
        inner = "".join(f"\n    {function}" for function in self.transforms)
        return f"{type(self).__name__}({inner}\n)"
