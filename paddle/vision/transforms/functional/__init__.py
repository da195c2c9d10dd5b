"""Transforms of images as functions: of PIL images, of arrays ``[height, width, channels]``, of tensors ``[channels,
height, width]``.
"""

from paddle import _lazy
from paddle.vision.transforms.functional import colors, conversions, geometry, warps

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
