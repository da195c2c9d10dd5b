"""Scores, loss, gradients and a step of training of each family of models of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import fill, integers, normal

import paddle
from paddle.vision import models

# model: the size of its images
_MODELS = {
    "LeNet()": (3, 1, 28, 28),
    "alexnet(num_classes=0)": (2, 3, 95, 127),
    "alexnet(num_classes=3)": (2, 3, 224, 224),
    "vgg11(num_classes=0)": (2, 3, 48, 64),
    "vgg11(num_classes=0, batch_norm=True)": (2, 3, 48, 64),
    "vgg13(num_classes=3)": (2, 3, 32, 48),
    "resnet18(num_classes=5)": (2, 3, 64, 96),
    "resnet18(num_classes=0, with_pool=False)": (1, 3, 70, 41),
    "resnet50(num_classes=5)": (2, 3, 64, 96),
    "resnext50_32x4d(num_classes=5)": (2, 3, 64, 64),
    "wide_resnet50_2(num_classes=5)": (2, 3, 64, 64),
    "resnet101(num_classes=5)": (6, 3, 64, 64),
    "densenet121(num_classes=5)": (2, 3, 64, 96),
    "densenet161(num_classes=5)": (2, 3, 64, 64),
    "googlenet(num_classes=5)": (1, 3, 224, 224),
    "googlenet(num_classes=0)": (2, 3, 96, 128),
    "inception_v3(num_classes=5)": (4, 3, 139, 107),
    "mobilenet_v1(scale=0.25, num_classes=5)": (2, 3, 96, 64),
    "mobilenet_v2(scale=0.25, num_classes=5)": (2, 3, 96, 64),
    "mobilenet_v2(num_classes=5)": (2, 3, 96, 64),
    "mobilenet_v3_small(scale=0.35, num_classes=5)": (2, 3, 96, 64),
    "mobilenet_v3_large(scale=0.35, num_classes=5)": (2, 3, 96, 64),
    "mobilenet_v3_small(scale=0.35, num_classes=0)": (1, 3, 65, 33),
    "shufflenet_v2_x0_25(num_classes=5)": (2, 3, 96, 64),
    "shufflenet_v2_swish(num_classes=5)": (2, 3, 96, 64),
    "squeezenet1_0(num_classes=5)": (2, 3, 64, 96),
    "squeezenet1_1(num_classes=5)": (2, 3, 64, 96),
    "squeezenet1_1(num_classes=5, with_pool=False)": (1, 3, 64, 64),
}
CASES = tuple(_MODELS)
SLOW = (
    "alexnet(num_classes=3)",
    "vgg13(num_classes=3)",
    "resnet101(num_classes=5)",
    "resnext50_32x4d(num_classes=5)",
    "inception_v3(num_classes=5)",
    "wide_resnet50_2(num_classes=5)",
    "densenet161(num_classes=5)",
)
# Small batches normalize few numbers, which makes much of roundings.
TOLERANCE = 5e-3


def _projected(outputs: Any) -> Any:
    """Three numbers per output and image that all elements have a part in."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    found = []
    for y in outputs:
        y = y.flatten(1)
        found.append(paddle.matmul(y, normal(1, y.shape[1], 3)) / y.shape[1] ** 0.5)
    return paddle.concat(found, axis=1)


def run(case: str) -> dict[str, Any]:
    model = fill(eval(case, {name: getattr(models, name) for name in models.__all__}))
    images = normal(7, *_MODELS[case])
    labels = integers(3, 3, _MODELS[case][0])
    model.eval()
    with paddle.no_grad():
        outputs = model(images)
    shapes = [list(y.shape) for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    found = {"shapes": shapes, "evaluated": _projected(outputs)}
    model.train()
    for layer in model.sublayers():
        if isinstance(layer, paddle.nn.Dropout):  # draws of two frameworks differ
            layer.eval()
    scores = _projected(model(images))
    loss = paddle.nn.functional.cross_entropy(scores[:, :3], labels)
    loss.backward()
    named = [(k, p) for k, p in model.named_parameters() if p.grad is not None]
    found.update(
        trained=scores,
        loss=loss,
        with_gradients=len(named),
        gradients=[float(np.abs(p.grad.numpy()).mean()) for _, p in (named[0], named[len(named) // 2], named[-2])],
        statistics=[float(b.numpy().sum()) for k, b in model.state_dict().items() if k.endswith("_mean")][:3],
    )
    return found
