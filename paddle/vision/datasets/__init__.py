"""Data sets of images in their published file formats, and folders of images."""

from paddle import _lazy
from paddle.vision.datasets import cifar, flowers, folder, mnist, voc2012

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
