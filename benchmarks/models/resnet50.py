"""ResNet-50: a training step."""

from models.vision import trained

from paddle.vision.models import resnet50

MODEL = trained(resnet50)
