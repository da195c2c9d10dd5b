"""Made by ``tools/public_stubs.py``."""

from paddle.vision.datasets.cifar import Cifar10 as Cifar10
from paddle.vision.datasets.cifar import Cifar100 as Cifar100
from paddle.vision.datasets.flowers import Flowers as Flowers
from paddle.vision.datasets.folder import DatasetFolder as DatasetFolder
from paddle.vision.datasets.folder import ImageFolder as ImageFolder
from paddle.vision.datasets.mnist import MNIST as MNIST
from paddle.vision.datasets.mnist import FashionMNIST as FashionMNIST
from paddle.vision.datasets.voc2012 import VOC2012 as VOC2012

__all__ = [
    "MNIST",
    "VOC2012",
    "Cifar10",
    "Cifar100",
    "DatasetFolder",
    "FashionMNIST",
    "Flowers",
    "ImageFolder",
]
