"""Made by ``tools/public_stubs.py``."""

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

__all__ = [
    "VGG",
    "AlexNet",
    "DenseNet",
    "GoogLeNet",
    "InceptionV3",
    "LeNet",
    "MobileNetV1",
    "MobileNetV2",
    "MobileNetV3Large",
    "MobileNetV3Small",
    "ResNet",
    "ShuffleNetV2",
    "SqueezeNet",
    "alexnet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "densenet264",
    "googlenet",
    "inception_v3",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
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
    "shufflenet_v2_swish",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x0_25",
    "shufflenet_v2_x0_33",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg13",
    "vgg16",
    "vgg19",
    "wide_resnet50_2",
    "wide_resnet101_2",
]
