"""Data sets of images in their published file formats, and folders of images."""

from paddle import _lazy

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
