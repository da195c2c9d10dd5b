"""Images: transforms, data sets, models, operators of detection, and the choice of a library that reads images."""

from typing import TYPE_CHECKING

from paddle import _lazy

if TYPE_CHECKING:
    from paddle.vision import datasets, image, models, ops, transforms

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
