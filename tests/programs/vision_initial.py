"""Distributions that the weights of models of images are drawn from."""

from __future__ import annotations

from typing import Any

from paddle.vision import models

CASES = (
    "LeNet()",
    "alexnet(num_classes=10)",
    "squeezenet1_1()",
    "googlenet()",
    "inception_v3()",
    "densenet121()",
    "mobilenet_v1()",
    "mobilenet_v3_small()",
    "shufflenet_v2_x1_0()",
    "resnet18()",
    "vgg11(num_classes=0)",
)
SLOW = tuple(
    c for c in CASES if c not in ("LeNet()", "squeezenet1_1()", "mobilenet_v3_small()", "shufflenet_v2_x1_0()")
)
TOLERANCE = 0.02


def run(case: str) -> dict[str, Any]:
    model = eval(case, {name: getattr(models, name) for name in models.__all__})
    shapes, deviations, constants = [], [], set()
    for name, parameter in model.named_parameters():
        values = parameter.numpy().astype("float64")
        if values.std() == 0:
            constants.add(float(values.flat[0]))
        elif values.size > 20000 and len(shapes) < 24:  # of fewer, draws differ too much
            flatness = ((values - values.mean()) ** 4).mean() / values.var() ** 2  # 1.8 of even, 3 of normal numbers
            shapes.append(f"{name} {'even' if flatness < 2.2 else 'normal'}")
            deviations.append(float(values.std()))
    return {"shapes": shapes, "deviations": deviations, "constants": sorted(constants)}
