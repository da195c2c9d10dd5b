"""Names, shapes, dtypes and order of the parameters and buffers of the models of images, and how they are printed."""

from __future__ import annotations

import hashlib
from typing import Any

import paddle
from paddle.vision import models

_SCALED = tuple(
    f"{name}(scale={scale})"
    for name in ("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large")
    for scale in (0.25, 0.35, 0.5, 0.75, 1.25)
)
_HEADS = tuple(
    f"{name}({options})"
    for name in (
        "resnet18",
        "resnet50",
        "vgg11",
        "mobilenet_v1",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "densenet121",
        "inception_v3",
        "googlenet",
        "shufflenet_v2_x0_25",
    )
    for options in ("num_classes=7", "num_classes=0", "num_classes=-1", "num_classes=0, with_pool=False")
)
CASES = (
    *(f"{name}()" for name in models.__all__ if name.islower()),
    *_SCALED,
    *_HEADS,
    "LeNet()",
    "LeNet(num_classes=0)",
    "alexnet(num_classes=0)",
    "squeezenet1_1(num_classes=5, with_pool=False)",
    *(f"vgg{layers}(batch_norm=True)" for layers in (11, 13, 16, 19)),
    "DenseNet(dropout=0.2, bn_size=2)",
    "ShuffleNetV2(act=None)",
    "ResNet(resnet.BottleneckBlock, 50, width=32, groups=4)",
)
_WHOLE = ("LeNet()", "squeezenet1_1()", "shufflenet_v2_x0_25()")


def run(case: str) -> dict[str, Any]:
    from paddle.vision.models import resnet

    with paddle.LazyGuard():  # no weights are drawn
        names = {**{name: getattr(models, name) for name in models.__all__}, "resnet": resnet}
        model = eval(case, names)
    rows = [f"{key} {list(value.shape)} {str(value.dtype)[-7:]}" for key, value in model.state_dict().items()]
    found: dict[str, Any] = {
        "tensors": len(rows),
        "state": hashlib.sha1("\n".join(rows).encode()).hexdigest(),
        "printed": hashlib.sha1(repr(model).encode()).hexdigest(),
        "trainable": [p.stop_gradient for p in model.parameters()].count(False),
    }
    return {**found, "rows": rows} if case in _WHOLE else found
