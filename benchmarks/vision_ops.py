"""Operators of detection beside torchvision's algorithms, which vision_peer.cpp has for PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, normal, positive
from rows import add_section

VISION_OPS = add_section("vision_ops", "Operators of detection", mean=1.0)
PEER = "torchvision's algorithm in C++"
LOWEST = 1.0


def boxes(count: int, size: float, side: float) -> np.ndarray:
    """Boxes within an image of ``size`` by ``size``."""
    rng = np.random.default_rng(1)
    sides = rng.uniform(side / 8, side, (count, 2))
    corner = rng.uniform(0, 1, (count, 2)) * (size - sides)
    return np.concatenate([corner, corner + sides], 1).astype("float32")


def add(name: str, ours: str, theirs: str, inputs: Any, what: str, setup: str = "", theirs_setup: str = "") -> None:
    imports = "import vision_peer as peer\npeer.library()\n"
    Case(
        name, ours, inputs, theirs, LOWEST, setup="from paddle.vision import ops\n" + setup,
        theirs_setup=imports + theirs_setup, tolerance=2e-4, what=what, peer=PEER,
    ).add(VISION_OPS)  # fmt: skip


for label, side in (("few", 40.0), ("many", 400.0)):
    add(
        f"nms-{label}", "ops.nms(b, 0.5, s)", "peer.nms(b, s, 0.5)",
        lambda side=side: {"b": boxes(10_000, 1000, side), "s": positive(10_000)},
        f"`nms` of 10,000 boxes, {label} overlaps",
    )  # fmt: skip

REGIONS = "512 regions of 2 × 256 × 50 × 50, 7 × 7 bins"
ALIGN = {"ours": "ops.roi_align(x, b, n, 7, 0.0625, {})", "theirs": "peer.roi_align(x, b, i, 7, 0.0625, {})"}


def regions() -> dict[str, np.ndarray]:
    return {
        "x": normal(2, 256, 50, 50),
        "b": boxes(512, 800, 400),
        "g": normal(512, 256, 7, 7),
        "n": np.array([256, 256]),
    }


GRADIENTS = "for t in (x, o, w, m): t.stop_gradient = False\ndel t\n"
IMAGES = "i = torch.arange(2).repeat_interleave(256)\n"
for ratio, label in ((2, "2 samples"), (-1, "adaptive")):
    add(f"roi_align-{label.split()[-1]}", ALIGN["ours"].format(ratio), ALIGN["theirs"].format(ratio), regions,
        f"`roi_align`, {REGIONS}, {label}", "", IMAGES)  # fmt: skip
    add(
        f"roi_align-{label.split()[-1]}-backward",
        f"paddle.grad([{ALIGN['ours'].format(ratio)}], [x], [g])[0]",
        f"({ALIGN['theirs'].format(ratio)}, {ALIGN['theirs'].format(ratio)[:-1]}, g))[1]",
        regions, f"`roi_align` and its gradient, {REGIONS}, {label}", "x.stop_gradient = False\n", IMAGES,
    )  # fmt: skip

for n, c, size in ((2, 64, 56), (2, 256, 14)):

    def deformable(n: int = n, c: int = c, size: int = size) -> dict[str, np.ndarray]:
        return {
            "x": normal(n, c, size, size), "o": normal(n, 18, size, size, seed=1), "w": normal(c, c, 3, 3, seed=2) / 10,
            "m": positive(n, 9, size, size), "g": normal(n, c, size, size, seed=3),
        }  # fmt: skip

    ours, theirs = "ops.deform_conv2d(x, o, w, padding=1, mask=m)", "peer.deform_conv2d(x, o, w, m)"
    what = f"{n} × {c} × {size} × {size}, 3 × 3, with a mask"
    add(f"deform_conv2d-{c}x{size}", ours, theirs, deformable, f"`deform_conv2d`, {what}")
    add(
        f"deform_conv2d-{c}x{size}-backward",
        f"paddle.grad([{ours}], [x, o, w, m], [g])",
        f"({theirs}, peer.deform_conv2d(x, o, w, m, g))[1]",
        deformable, f"`deform_conv2d` and its gradients, {what}", GRADIENTS, " ",
    )  # fmt: skip
