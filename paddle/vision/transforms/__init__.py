"""Transforms of images: PIL images, NumPy arrays and tensors."""

from paddle import _lazy
from paddle.vision.transforms import base, fixed, jitter, randomized

__getattr__, __dir__, __all__ = _lazy.contents(__name__, "functional")
