"""Models of images, steps of training on batches of eight images of 224 × 224, against PyTorch (training.py)."""

from __future__ import annotations

from functools import partial

from rows import add_row, add_section
from training import speed

SECTION = add_section("vision_models", "Models of images: time of a training step")
MODELS = {
    "resnet50": "ResNet-50",
    "mobilenet_v3": "MobileNetV3 large",
    "vit": "vision transformer, 12 layers, 192 wide",
}
FACTOR = 1.2  # of eager PyTorch's time to ours

for model, what in MODELS.items():
    for side, word in (("eager", "eager"), ("compiled", "captured")):
        add_row(
            f"{model}-{side}",
            f"{what}, 8 images of 224 × 224, {word}",
            f"eager PyTorch takes ≥ {FACTOR:g}×",
            partial(speed, side, ("peer",), model, FACTOR, 1),
            SECTION,
        )
