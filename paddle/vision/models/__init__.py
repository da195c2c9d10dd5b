"""Models of images: classifiers, a file per family."""

from paddle import _lazy
from paddle.vision.models import (
    alexnet,
    densenet,
    googlenet,
    inceptionv3,
    lenet,
    mobilenetv1,
    mobilenetv2,
    mobilenetv3,
    resnet,
    shufflenetv2,
    squeezenet,
    vgg,
)

__getattr__, __dir__, __all__ = _lazy.contents(__name__)
