"""Classifiers of images."""

from paddle.vision.models import mobilenet_v3_large, resnet50

NETWORKS = {"resnet50": resnet50, "mobilenet_v3": mobilenet_v3_large}
