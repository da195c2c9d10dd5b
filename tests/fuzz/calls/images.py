"""Transforms of tensors and arrays; random ones with the numbers that Python's generator gives."""

from __future__ import annotations

import colorsys
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import paddle
from paddle.vision import transforms as T
from paddle.vision.transforms import functional as F
from tests.fuzz.calls.record import Call

GRAY = np.array([0.2989, 0.587, 0.114])
MODES = ("constant", "edge", "reflect", "symmetric")


def gray(x: np.ndarray) -> np.ndarray:
    return np.tensordot(GRAY, x, 1)[None]


def blend(x: np.ndarray, other: Any, factor: float) -> np.ndarray:
    return (x * factor + other * (1 - factor)).clip(0, 1)


def hue(x: np.ndarray, factor: float) -> np.ndarray:
    out = np.empty_like(x)
    for i, j in np.ndindex(x.shape[1:]):
        h, s, v = colorsys.rgb_to_hsv(*x[:, i, j])
        out[:, i, j] = colorsys.hsv_to_rgb((h + factor) % 1, s, v)
    return out


def padded(x: np.ndarray, sides: tuple, fill: float, mode: str) -> np.ndarray:
    left, top, right, bottom = sides
    rest = {"constant_values": fill} if mode == "constant" else {}
    return np.pad(x, ((0, 0), (top, bottom), (left, right)), mode, **rest)  # type: ignore[call-overload]


def resized(x: np.ndarray, size: tuple[int, int], mode: str) -> np.ndarray:
    rest = {} if mode == "nearest" else {"align_corners": False}
    return torch.nn.functional.interpolate(torch.tensor(x)[None], size, mode=mode, **rest)[0].numpy()


def _case(fixed: np.random.Generator, shape: tuple[int, int]) -> tuple[str, Callable, Callable, bool]:
    """A transform: its text, what it is to ``paddle`` and to NumPy (channels first), and whether it has a gradient."""
    factor, seed = float(fixed.uniform(0.2, 1.8)), int(fixed.integers(1 << 30))
    turn = float(fixed.uniform(-0.5, 0.5))
    low, crop = [int(v) for v in fixed.integers(0, 2, 2)], [int(v) for v in fixed.integers(1, 4, 2)]
    mode = MODES[int(fixed.integers(4))]
    sides = tuple(int(v) for v in fixed.integers(0, 3, 4))
    fill = float(fixed.uniform()) if mode == "constant" else 0
    size, how = (
        tuple(int(v) for v in fixed.integers(1, 9, 2)),
        ("nearest", "bilinear", "bicubic")[int(fixed.integers(3))],
    )
    mean, spread = (list(map(float, fixed.uniform(0.2, 0.8, 3))) for _ in range(2))
    part = (slice(None), slice(low[0], low[0] + crop[0]), slice(low[1], low[1] + crop[1]))

    def erased(x: np.ndarray) -> np.ndarray:
        out = x.copy()
        out[part] = 0.25
        return out

    def drawn(rule: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        def judge(x: np.ndarray) -> np.ndarray:
            random.seed(seed)
            return rule(x)

        return judge

    def random_crop(x: np.ndarray) -> np.ndarray:
        top = random.randint(0, x.shape[1] - 2)
        left = random.randint(0, x.shape[2] - 3)
        return x[:, top : top + 2, left : left + 3]

    def centre(x: np.ndarray) -> np.ndarray:
        top, left = (round((n - c) / 2) for n, c in zip(x.shape[1:], crop, strict=True))
        return x[:, top : top + crop[0], left : left + crop[1]]

    def seeded(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def ours(x: Any) -> Any:
            random.seed(seed)
            return make()(x)

        return ours

    per = [np.array(v)[:, None, None] for v in (mean, spread)]
    table: list[tuple[str, Callable, Callable, bool]] = [
        ("hflip", F.hflip, lambda x: x[..., ::-1], True),
        ("vflip", F.vflip, lambda x: x[:, ::-1], True),
        (f"crop {low} {crop}", lambda x: F.crop(x, *low, *crop), lambda x: x[part], True),
        (f"center_crop {crop}", lambda x: F.center_crop(x, crop), centre, True),
        (
            f"pad {sides} {fill} {mode}",
            lambda x: F.pad(x, sides, fill, mode),
            lambda x: padded(x, sides, fill, mode),
            True,
        ),
        (f"resize {size} {how}", lambda x: F.resize(x, size, how), lambda x: resized(x, size, how), True),
        ("to_grayscale", lambda x: F.to_grayscale(x, 3), lambda x: np.repeat(gray(x), 3, 0), True),
        (f"adjust_brightness {factor}", lambda x: F.adjust_brightness(x, factor), lambda x: blend(x, 0, factor), True),
        (
            f"adjust_contrast {factor}",
            lambda x: F.adjust_contrast(x, factor),
            lambda x: blend(x, gray(x).mean(), factor),
            True,
        ),
        (
            f"adjust_saturation {factor}",
            lambda x: F.adjust_saturation(x, factor),
            lambda x: blend(x, gray(x), factor),
            True,
        ),
        (f"adjust_hue {turn}", lambda x: F.adjust_hue(x, turn), lambda x: hue(x, turn), False),
        (
            f"normalize {mean} {spread}",
            lambda x: F.normalize(x, mean, spread),
            lambda x: (x - per[0]) / per[1],
            True,
        ),
        (f"erase {low} {crop}", lambda x: F.erase(x, *low, *crop, 0.25), erased, True),
        (
            f"RandomHorizontalFlip seed {seed}",
            seeded(lambda: T.RandomHorizontalFlip(0.5)),
            drawn(lambda x: x[..., ::-1] if random.random() < 0.5 else x),
            False,
        ),
        (f"RandomCrop seed {seed}", seeded(lambda: T.RandomCrop((2, 3))), drawn(random_crop), False),
        (
            f"BrightnessTransform seed {seed}",
            seeded(lambda: T.BrightnessTransform(0.4)),
            drawn(lambda x: blend(x, 0, random.uniform(0.6, 1.4))),
            False,
        ),
        (
            f"ContrastTransform seed {seed}",
            seeded(lambda: T.ContrastTransform(0.4)),
            drawn(lambda x: blend(x, gray(x).mean(), random.uniform(0.6, 1.4))),
            False,
        ),
    ]
    return table[int(fixed.integers(len(table)))]


def transform(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    shape = tuple(int(v) for v in rng.integers(5, 9, 2))
    while True:
        text, ours, judge, smooth = _case(fixed, shape)
        if not text.endswith("symmetric"):  # which arrays alone take
            break
    # What draws from Python's generator is refused in a capture, as all that draws outside of the program.
    drawn = "seed" in text
    return Call(text, ours, judge, (rng.random((3, *shape)),), (0,) if smooth else (), drawn, tolerance=1e-5)


def of_arrays(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Places of elements, in arrays of bytes: rows, columns, channels."""
    shape = tuple(int(v) for v in rng.integers(5, 9, 2))
    while True:
        text, ours, judge, _ = _case(fixed, shape)
        words = text.split()
        name, last = words[0], words[-1]
        # Arrays are filled as OpenCV does it, a number in the first channel alone; recorded facts have that.
        if name in ("hflip", "vflip", "crop", "center_crop", "pad", "RandomHorizontalFlip", "RandomCrop"):
            if last != "constant":
                break

    def on_arrays(x: Any) -> Any:
        out = ours(np.ascontiguousarray(x.numpy().transpose(1, 2, 0)))
        return paddle.to_tensor(out.transpose(2, 0, 1))

    pixels = rng.integers(0, 256, (3, *shape)).astype("uint8")
    return Call(f"arrays {text}", on_arrays, lambda x: judge(x).astype("uint8"), (pixels,), counts=True)


FAMILIES = (transform, of_arrays)
