"""Made by ``tools/public_stubs.py``."""

from paddle.vision import datasets as datasets
from paddle.vision import image as image
from paddle.vision import models as models
from paddle.vision import ops as ops
from paddle.vision import transforms as transforms
from paddle.vision.datasets.cifar import Cifar10 as Cifar10
from paddle.vision.datasets.cifar import Cifar100 as Cifar100
from paddle.vision.datasets.flowers import Flowers as Flowers
from paddle.vision.datasets.folder import DatasetFolder as DatasetFolder
from paddle.vision.datasets.folder import ImageFolder as ImageFolder
from paddle.vision.datasets.mnist import MNIST as MNIST
from paddle.vision.datasets.mnist import FashionMNIST as FashionMNIST
from paddle.vision.datasets.voc2012 import VOC2012 as VOC2012
from paddle.vision.image import get_image_backend as get_image_backend
from paddle.vision.image import image_load as image_load
from paddle.vision.image import set_image_backend as set_image_backend
from paddle.vision.models.alexnet import AlexNet as AlexNet
from paddle.vision.models.alexnet import alexnet as alexnet
from paddle.vision.models.densenet import DenseNet as DenseNet
from paddle.vision.models.densenet import densenet121 as densenet121
from paddle.vision.models.densenet import densenet161 as densenet161
from paddle.vision.models.densenet import densenet169 as densenet169
from paddle.vision.models.densenet import densenet201 as densenet201
from paddle.vision.models.densenet import densenet264 as densenet264
from paddle.vision.models.googlenet import GoogLeNet as GoogLeNet
from paddle.vision.models.googlenet import googlenet as googlenet
from paddle.vision.models.inceptionv3 import InceptionV3 as InceptionV3
from paddle.vision.models.inceptionv3 import inception_v3 as inception_v3
from paddle.vision.models.lenet import LeNet as LeNet
from paddle.vision.models.mobilenetv1 import MobileNetV1 as MobileNetV1
from paddle.vision.models.mobilenetv1 import mobilenet_v1 as mobilenet_v1
from paddle.vision.models.mobilenetv2 import MobileNetV2 as MobileNetV2
from paddle.vision.models.mobilenetv2 import mobilenet_v2 as mobilenet_v2
from paddle.vision.models.mobilenetv3 import MobileNetV3Large as MobileNetV3Large
from paddle.vision.models.mobilenetv3 import MobileNetV3Small as MobileNetV3Small
from paddle.vision.models.mobilenetv3 import mobilenet_v3_large as mobilenet_v3_large
from paddle.vision.models.mobilenetv3 import mobilenet_v3_small as mobilenet_v3_small
from paddle.vision.models.resnet import ResNet as ResNet
from paddle.vision.models.resnet import resnet18 as resnet18
from paddle.vision.models.resnet import resnet34 as resnet34
from paddle.vision.models.resnet import resnet50 as resnet50
from paddle.vision.models.resnet import resnet101 as resnet101
from paddle.vision.models.resnet import resnet152 as resnet152
from paddle.vision.models.resnet import resnext50_32x4d as resnext50_32x4d
from paddle.vision.models.resnet import resnext50_64x4d as resnext50_64x4d
from paddle.vision.models.resnet import resnext101_32x4d as resnext101_32x4d
from paddle.vision.models.resnet import resnext101_64x4d as resnext101_64x4d
from paddle.vision.models.resnet import resnext152_32x4d as resnext152_32x4d
from paddle.vision.models.resnet import resnext152_64x4d as resnext152_64x4d
from paddle.vision.models.resnet import wide_resnet50_2 as wide_resnet50_2
from paddle.vision.models.resnet import wide_resnet101_2 as wide_resnet101_2
from paddle.vision.models.shufflenetv2 import ShuffleNetV2 as ShuffleNetV2
from paddle.vision.models.shufflenetv2 import shufflenet_v2_swish as shufflenet_v2_swish
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x0_5 as shufflenet_v2_x0_5
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x0_25 as shufflenet_v2_x0_25
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x0_33 as shufflenet_v2_x0_33
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x1_0 as shufflenet_v2_x1_0
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x1_5 as shufflenet_v2_x1_5
from paddle.vision.models.shufflenetv2 import shufflenet_v2_x2_0 as shufflenet_v2_x2_0
from paddle.vision.models.squeezenet import SqueezeNet as SqueezeNet
from paddle.vision.models.squeezenet import squeezenet1_0 as squeezenet1_0
from paddle.vision.models.squeezenet import squeezenet1_1 as squeezenet1_1
from paddle.vision.models.vgg import VGG as VGG
from paddle.vision.models.vgg import vgg11 as vgg11
from paddle.vision.models.vgg import vgg13 as vgg13
from paddle.vision.models.vgg import vgg16 as vgg16
from paddle.vision.models.vgg import vgg19 as vgg19
from paddle.vision.transforms.base import BaseTransform as BaseTransform
from paddle.vision.transforms.base import Compose as Compose
from paddle.vision.transforms.fixed import CenterCrop as CenterCrop
from paddle.vision.transforms.fixed import Grayscale as Grayscale
from paddle.vision.transforms.fixed import Normalize as Normalize
from paddle.vision.transforms.fixed import Pad as Pad
from paddle.vision.transforms.fixed import Resize as Resize
from paddle.vision.transforms.fixed import ToTensor as ToTensor
from paddle.vision.transforms.fixed import Transpose as Transpose
from paddle.vision.transforms.functional.colors import adjust_brightness as adjust_brightness
from paddle.vision.transforms.functional.colors import adjust_contrast as adjust_contrast
from paddle.vision.transforms.functional.colors import adjust_hue as adjust_hue
from paddle.vision.transforms.functional.colors import to_grayscale as to_grayscale
from paddle.vision.transforms.functional.conversions import erase as erase
from paddle.vision.transforms.functional.conversions import normalize as normalize
from paddle.vision.transforms.functional.conversions import to_tensor as to_tensor
from paddle.vision.transforms.functional.geometry import center_crop as center_crop
from paddle.vision.transforms.functional.geometry import crop as crop
from paddle.vision.transforms.functional.geometry import hflip as hflip
from paddle.vision.transforms.functional.geometry import pad as pad
from paddle.vision.transforms.functional.geometry import resize as resize
from paddle.vision.transforms.functional.geometry import vflip as vflip
from paddle.vision.transforms.functional.warps import affine as affine
from paddle.vision.transforms.functional.warps import perspective as perspective
from paddle.vision.transforms.functional.warps import rotate as rotate
from paddle.vision.transforms.jitter import BrightnessTransform as BrightnessTransform
from paddle.vision.transforms.jitter import ColorJitter as ColorJitter
from paddle.vision.transforms.jitter import ContrastTransform as ContrastTransform
from paddle.vision.transforms.jitter import HueTransform as HueTransform
from paddle.vision.transforms.jitter import SaturationTransform as SaturationTransform
from paddle.vision.transforms.randomized import RandomAffine as RandomAffine
from paddle.vision.transforms.randomized import RandomCrop as RandomCrop
from paddle.vision.transforms.randomized import RandomErasing as RandomErasing
from paddle.vision.transforms.randomized import RandomHorizontalFlip as RandomHorizontalFlip
from paddle.vision.transforms.randomized import RandomPerspective as RandomPerspective
from paddle.vision.transforms.randomized import RandomResizedCrop as RandomResizedCrop
from paddle.vision.transforms.randomized import RandomRotation as RandomRotation
from paddle.vision.transforms.randomized import RandomVerticalFlip as RandomVerticalFlip

__all__ = [
    "MNIST",
    "VGG",
    "VOC2012",
    "AlexNet",
    "BaseTransform",
    "BrightnessTransform",
    "CenterCrop",
    "Cifar10",
    "Cifar100",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "DatasetFolder",
    "DenseNet",
    "FashionMNIST",
    "Flowers",
    "GoogLeNet",
    "Grayscale",
    "HueTransform",
    "ImageFolder",
    "InceptionV3",
    "LeNet",
    "MobileNetV1",
    "MobileNetV2",
    "MobileNetV3Large",
    "MobileNetV3Small",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "ResNet",
    "Resize",
    "SaturationTransform",
    "ShuffleNetV2",
    "SqueezeNet",
    "ToTensor",
    "Transpose",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "affine",
    "alexnet",
    "center_crop",
    "crop",
    "datasets",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "densenet264",
    "erase",
    "get_image_backend",
    "googlenet",
    "hflip",
    "image",
    "image_load",
    "inception_v3",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
    "models",
    "normalize",
    "ops",
    "pad",
    "perspective",
    "resize",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "rotate",
    "set_image_backend",
    "shufflenet_v2_swish",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x0_25",
    "shufflenet_v2_x0_33",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "squeezenet1_0",
    "squeezenet1_1",
    "to_grayscale",
    "to_tensor",
    "transforms",
    "vflip",
    "vgg11",
    "vgg13",
    "vgg16",
    "vgg19",
    "wide_resnet50_2",
    "wide_resnet101_2",
]
