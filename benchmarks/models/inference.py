"""Models that are saved and run by predictors: what makes them, and their inputs for a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Served:
    """``module`` has ``network()``; ``peer``, if any, is the module that has it on PyTorch.

    ``inputs(batch)``: arrays by name. All sizes that differ between two batches may be any when it is saved.
    """

    what: str
    module: str
    peer: str | None
    inputs: Callable[[int], Inputs]


PIXELS, BOXES_PIXELS = 224, 320
STEPS, WIDTH = 64, 256  # of the recurrent model
WORDS, LENGTH = 30522, 128
LENGTHS = (128, 12, 96, 31, 58, 20, 77, 45)  # of documents: 58 on average


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def images(pixels: int) -> Callable[[int], Inputs]:
    return lambda batch: {"image": rng().standard_normal((batch, 3, pixels, pixels)).astype("float32")}


def sequences(batch: int) -> Inputs:
    return {"x": rng().standard_normal((batch, STEPS, WIDTH)).astype("float32")}


def documents(batch: int) -> list[np.ndarray]:
    words = rng()
    return [words.integers(1, WORDS, n) for n in LENGTHS[:batch]]


def padded(batch: int) -> Inputs:
    """Documents side by side, filled up with words that do not count."""
    words, counts = np.zeros((batch, LENGTH), "int64"), np.zeros((batch, LENGTH), "float32")
    for row, document in enumerate(documents(batch)):
        words[row, : len(document)] = document
        counts[row, : len(document)] = 1
    return {"words": words, "counts": counts}


def unpadded(batch: int) -> Inputs:
    """Documents behind one another; ``ends`` says where each begins, and the last ends."""
    found = documents(batch)
    return {
        "words": np.concatenate(found),
        "places": np.concatenate([np.arange(len(d)) for d in found]),
        "ends": np.cumsum([0, *map(len, found)]).astype("int32"),
    }


MODELS = {
    "resnet50": Served(f"ResNet-50, {PIXELS}²", "models.served_images", "models.peer_resnet50", images(PIXELS)),
    "mobilenet_v3": Served(
        f"MobileNetV3 large, {PIXELS}²", "models.served_images", "models.peer_mobilenet_v3", images(PIXELS)
    ),
    "bert": Served(f"BERT-base-like encoder, {LENGTH} words", "models.bert", "models.peer_bert", padded),
    "bert_unpadded": Served("BERT-base-like encoder, documents without padding", "models.bert", None, unpadded),
    "gru": Served(f"GRU, 2 layers, {WIDTH} wide, {STEPS} steps", "models.gru", "models.peer_gru", sequences),
    "mask_rcnn": Served(
        f"Mask-R-CNN-like detector, {BOXES_PIXELS}²", "models.mask_rcnn", "models.peer_mask_rcnn", images(BOXES_PIXELS)
    ),
}
BATCHES = 1, 8
