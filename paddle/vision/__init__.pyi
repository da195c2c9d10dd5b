"""Made by ``tools/public_stubs.py``."""

from paddle.vision import datasets as datasets
from paddle.vision import image as image
from paddle.vision import models as models
from paddle.vision import ops as ops
from paddle.vision import transforms as transforms
from paddle.vision.image import get_image_backend as get_image_backend
from paddle.vision.image import image_load as image_load
from paddle.vision.image import set_image_backend as set_image_backend

__all__ = [
    "datasets",
    "get_image_backend",
    "image",
    "image_load",
    "models",
    "ops",
    "set_image_backend",
    "transforms",
]
