"""Operators of detection: boxes, regions, anchors, deformable convolution, JPEG files."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
