"""MobileNetV3 large: a training step."""

from models.vision import trained

from paddle.vision.models import mobilenet_v3_large

MODEL = trained(mobilenet_v3_large)
