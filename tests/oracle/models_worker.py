"""Models of images in the framework that `import paddle` finds.

    python models_worker.py save|load FOLDER NAME...

`save` writes the weights of each model and its scores into FOLDER; `load` reads weights into a new model and writes
whether they fit and its scores. This file runs in two environments, as `worker.py` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "programs"))

import numpy as np
from common import fill, normal

import paddle
from paddle import nn
from paddle.vision import models
from paddle.vision.models.resnet import BottleneckBlock

# What a class needs beside the number of classes.
ARGUMENTS = {
    "ResNet": lambda: (BottleneckBlock, 50),
    "VGG": lambda: (nn.Sequential(nn.Conv2D(3, 512, 3), nn.ReLU(), nn.MaxPool2D(4)),),
    "SqueezeNet": lambda: ("1.1",),
}
SIZES = {
    "LeNet": (2, 1, 28, 28),
    "AlexNet": (2, 3, 224, 224),
    "GoogLeNet": (2, 3, 224, 224),
    "InceptionV3": (2, 3, 96, 96),
}
SIZES |= {"alexnet": SIZES["AlexNet"], "googlenet": SIZES["GoogLeNet"], "inception_v3": SIZES["InceptionV3"]}


def model_of(name: str) -> Any:
    return getattr(models, name)(*ARGUMENTS.get(name, tuple)(), num_classes=4)


def scores_of(model: Any, name: str) -> list[np.ndarray]:
    model.eval()
    with paddle.no_grad():
        found = model(normal(7, *SIZES.get(name, (2, 3, 64, 64))))
    return [y.numpy() for y in (found if isinstance(found, (list, tuple)) else [found])]


def main(action: str, folder: str, names: list[str]) -> None:
    for name in names:
        weights, model, said = Path(folder, f"{name}.pdparams"), model_of(name), []
        if action == "save":
            paddle.save(fill(model).state_dict(), str(weights))
        else:
            said = model.set_state_dict(paddle.load(str(weights)))
        np.savez(Path(folder, f"{name}.{action}.npz"), *scores_of(model, name), said=json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
