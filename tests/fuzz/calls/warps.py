"""Warps and sizes of tensors, arrays and PIL images: SciPy at positions that matrices give, PyTorch's sizes.

Positions are (column, row): the centre of the first pixel is (0, 0), and its corner (-0.5, -0.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from scipy.ndimage import map_coordinates

import paddle
from paddle.vision.transforms import functional as F
from tests.fuzz.calls.record import Call

SIZES = range(5, 9)
# Rounding of positions does not move a point of a tensor by this much; libraries round them more coarsely.
NEAR = 1e-5
COARSE = {"PIL": 1e-3, "array": 0.04}


@dataclass(frozen=True)
class Warp:
    """``ours`` of an image; ``size`` of the result and ``matrix`` from positions of the image to those of the result,
    for a height and a width."""

    text: str
    ours: Callable[[Any], Any]
    size: Callable[[int, int], tuple[int, int]]
    matrix: Callable[[int, int], np.ndarray]
    smooth: bool
    fill: tuple[float, float, float]

    def positions(self, height: int, width: int) -> np.ndarray:
        """Columns and rows in the image, ``[2, h, w]``."""
        rows, columns = np.indices(self.size(height, width)).astype("float64")
        x, y, w = np.tensordot(np.linalg.inv(self.matrix(height, width)), np.stack([columns, rows, rows * 0 + 1]), 1)
        return np.stack([x / w, y / w])

    def undecided(self, height: int, width: int, near: float) -> np.ndarray:
        """Which pixels lie where the nearest one, or whether they are inside, changes."""
        where = self.positions(height, width)
        return (np.abs(where - 0.5 - np.rint(where - 0.5)) < near).any(0)


def moved(x: float, y: float) -> np.ndarray:
    return np.array([[1.0, 0, x], [0, 1, y], [0, 0, 1]])


def rotated(degrees: float) -> np.ndarray:
    """Clockwise, since rows run downwards."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def around(middle: tuple[float, float], matrix: np.ndarray) -> np.ndarray:
    return moved(*middle) @ matrix @ moved(-middle[0], -middle[1])


def projected(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The matrix that takes four points to four others: the null vector of eight equations."""
    rows = []
    for (x, y), (u, v) in zip(start, end, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y, -u], [0, 0, 0, x, y, 1, -v * x, -v * y, -v]]
    return np.linalg.svd(np.array(rows))[2][-1].reshape(3, 3)


def cornered(kind: str, matrix: np.ndarray) -> np.ndarray:
    """A matrix of points from the corner of the first pixel; OpenCV's points are from its centre."""
    return matrix if kind == "array" else moved(-0.5, -0.5) @ matrix @ moved(0.5, 0.5)


def bounds(kind: str, degrees: float, height: int, width: int) -> tuple[int, int]:
    """Height and width of what holds a rotated image."""
    corners = np.array([[x, y] for x in (-width / 2, width / 2) for y in (-height / 2, height / 2)])
    corners = corners @ rotated(-degrees)[:2, :2].T
    if kind != "tensor":
        corners += (width / 2, height / 2)
    extent = np.ceil(corners.max(0)) - np.floor(corners.min(0))
    return int(extent[1]), int(extent[0])


def drawn_warp(rng: np.random.Generator, kind: str) -> Warp:
    how = ("nearest", "bilinear")[int(rng.integers(2))]
    angle, scale = float(rng.uniform(-180, 180)), float(rng.uniform(0.5, 1.6))
    shear = tuple(float(v) for v in rng.uniform(-25, 25, 2))
    shift = tuple(float(v) for v in rng.uniform(-2, 2, 2))
    middle = tuple(float(v) for v in rng.uniform(1, 6, 2)) if rng.integers(2) else None
    fill = tuple(float(v) for v in (rng.integers(0, 256, 3) if kind != "tensor" else rng.random(3)))
    given = fill if kind == "tensor" else tuple(map(int, fill))
    name = ("rotate", "rotate", "affine", "perspective")[int(rng.integers(4))]

    def same(height: int, width: int) -> tuple[int, int]:
        return height, width

    def centre(height: int, width: int) -> tuple[float, float]:
        return middle or (width / 2, height / 2)

    if name == "rotate":
        expand = middle is None and bool(rng.integers(2))

        def rotation(height: int, width: int) -> np.ndarray:
            matrix = around(centre(height, width), rotated(-angle))
            new = bounds(kind, angle, height, width) if expand else (height, width)
            return cornered(kind, moved((new[1] - width) / 2, (new[0] - height) / 2) @ matrix)

        return Warp(
            f"rotate {kind} {angle} {how} expand={expand} center={middle} {given}",
            lambda x: F.rotate(x, angle, how, expand, middle, given),
            (lambda h, w: bounds(kind, angle, h, w)) if expand else same,
            rotation,
            how == "bilinear",
            fill,
        )
    if name == "affine":
        tan = [math.tan(math.radians(v)) for v in shear]

        def affine(height: int, width: int) -> np.ndarray:
            if kind == "array":  # around the upper left corner, counter-clockwise, the shear last
                sheared = np.array([[1, tan[1], 0], [tan[0], 1, 0], [0, 0, 1.0]])
                return moved(*shift) @ sheared @ rotated(-angle) @ np.diag([scale, scale, 1.0])
            across, down = np.eye(3), np.eye(3)
            across[0, 1], down[1, 0] = -tan[0], -tan[1]
            matrix = rotated(angle) @ down @ across @ np.diag([scale, scale, 1.0])
            return cornered(kind, moved(*shift) @ around(centre(height, width), matrix))

        return Warp(
            f"affine {kind} {angle} {shift} {scale} {shear} {how} {given} center={middle}",
            lambda x: F.affine(x, angle, shift, scale, shear, how, given, middle),
            same,
            affine,
            how == "bilinear",
            fill,
        )
    start = np.array([[0, 0], [7, 0], [7, 7], [0, 7.0]])
    end = start + rng.uniform(-1.5, 1.5, (4, 2))
    if kind == "array":  # its points are read in float32
        start, end = start.astype("float32").astype("float64"), end.astype("float32").astype("float64")
    points = start.tolist(), end.tolist()
    return Warp(
        f"perspective {kind} {points} {how} {given}",
        lambda x: F.perspective(x, *points, how, given),
        same,
        lambda height, width: cornered(kind, projected(start, end)),
        how == "bilinear",
        fill,
    )


def nearest(x: np.ndarray, warp: Warp) -> np.ndarray:
    """The image ``[3, h, w]`` at the nearest pixels."""
    height, width = x.shape[1:]
    columns, rows = np.rint(warp.positions(height, width)).astype(int)
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    values = x[:, rows.clip(0, height - 1), columns.clip(0, width - 1)]
    return np.where(inside, values, np.reshape(warp.fill, (3, 1, 1)))


def between(x: np.ndarray, warp: Warp, mode: str, fills: tuple[float, ...] = (0.0,) * 3) -> np.ndarray:
    where = warp.positions(*x.shape[1:])[::-1]
    return np.stack([map_coordinates(c, where, order=1, mode=mode, cval=v) for c, v in zip(x, fills, strict=True)])


def of_tensors(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    while True:
        warp = drawn_warp(fixed, "tensor")
        if not any(warp.undecided(h, w, NEAR).any() for h in SIZES for w in SIZES):
            break
    batch = bool(fixed.integers(2))

    def judge(x: np.ndarray) -> np.ndarray:
        images = x if batch else x[None]
        out = []
        for image in images:
            if warp.smooth:  # what lies outside is 0, and makes way for the fill as far as it counts
                cover = between(np.ones_like(image), warp, "grid-constant")
                values = between(image, warp, "grid-constant")
                out.append(values * cover + (1 - cover) * np.reshape(warp.fill, (3, 1, 1)))
            else:
                out.append(nearest(image, warp))
        return np.stack(out) if batch else out[0]

    shape = (3, *(int(v) for v in rng.choice(SIZES, 2)))
    x = rng.random((2, *shape) if batch else shape)
    return Call(f"{warp.text} batch={batch}", warp.ours, judge, (x,), (0,), tolerance=1e-5)


def waves(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A smooth image of bytes, ``[3, h, w]``: positions that are rounded change it little."""
    y, x = np.indices(shape)
    phases = rng.uniform(0, 6, (3, 2))
    return np.stack([127 + 120 * np.sin(x / 5 + a) * np.cos(y / 6 + b) for a, b in phases]).astype("uint8")


def images_of(kind: str, function: Callable[[Any], Any]) -> Callable[[Any], np.ndarray]:
    """A function of tensors of bytes ``[3, h, w]``, by way of images of a kind; its results are up to 1."""

    def on_images(x: Any) -> np.ndarray:
        pixels = np.ascontiguousarray(x.numpy().transpose(1, 2, 0))
        out = np.asarray(function(Image.fromarray(pixels) if kind == "PIL" else pixels))
        return out.transpose(2, 0, 1) / 255

    return on_images


def call_of_images(
    text: str, ours: Callable[[Any], np.ndarray], judge: Callable[[np.ndarray], np.ndarray], x: np.ndarray, apart: float
) -> Call:
    """``ours`` gives arrays up to 1, the judge up to 255, of which they may be ``apart``."""
    return Call(
        text,
        lambda x: paddle.to_tensor(ours(x)),
        lambda x: judge(x.astype("float64")) / 255,
        (x,),
        counts=True,
        tolerance=apart / 255,
    )


def of_libraries(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """By Pillow and OpenCV."""
    kind = ("PIL", "array")[int(fixed.integers(2))]
    warp = drawn_warp(fixed, kind)
    shape = tuple(int(v) for v in rng.integers(8, 30, 2))
    made = images_of(kind, warp.ours)
    # A position that OpenCV rounds counts most beside the fill.
    tolerance = 1.01 if kind == "PIL" else 255 * COARSE["array"]

    def certain(out: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """0 where the library's rounding decides what is read."""
        if warp.smooth and kind == "array":
            return out
        return np.where(warp.undecided(*shape, COARSE[kind]), 0, out)

    def judge(x: np.ndarray) -> np.ndarray:
        if not warp.smooth:
            return certain(nearest(x, warp), x.shape[1:])
        if kind == "array":
            return between(x, warp, "grid-constant", warp.fill)
        columns, rows = warp.positions(*x.shape[1:])
        inside = (columns >= -0.5) & (columns < x.shape[2] - 0.5) & (rows >= -0.5) & (rows < x.shape[1] - 0.5)
        values = np.where(inside, between(x, warp, "nearest"), np.reshape(warp.fill, (3, 1, 1)))
        return certain(values, x.shape[1:])

    return call_of_images(
        warp.text, lambda x: certain(made(x), tuple(x.shape[1:])), judge, waves(rng, shape), tolerance
    )


def of_sizes(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """``resize`` by Pillow, which smooths, and by OpenCV, which does not, as PyTorch does either."""
    kind = ("PIL", "array")[int(fixed.integers(2))]
    how = ("bilinear", "bicubic")[int(fixed.integers(2))]
    edge = int(fixed.integers(0, 3)) == 0
    # No image has an edge of this size already.
    size: Any = int(fixed.choice([*range(3, 8), *range(30, 40)])) if edge else tuple(map(int, fixed.integers(4, 40, 2)))
    shape = tuple(int(v) for v in rng.integers(8, 30, 2))
    made = images_of(kind, lambda x: F.resize(x, size, how))

    def judge(x: np.ndarray) -> np.ndarray:
        height, width = x.shape[1:]
        if edge:
            new = (size * height // width, size) if width < height else (size, size * width // height)
        else:
            new = size
        out = torch.nn.functional.interpolate(
            torch.tensor(x[None]), new, mode=how, align_corners=False, antialias=kind == "PIL"
        )
        return out[0].numpy().clip(0, 255)

    # Pillow rounds between rows and columns.
    return call_of_images(f"resize {kind} {size} {how}", made, judge, waves(rng, shape), 2.01)


def blended(x: np.ndarray, other: Any, factor: float) -> np.ndarray:
    return (x * factor + other * (1 - factor)).clip(0, 255)


def brightness(x: np.ndarray) -> np.ndarray:
    return np.tensordot([0.299, 0.587, 0.114], x, 1)[None]


def of_colors(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    """Of bytes; their rounding is allowed for."""
    kind = ("PIL", "array")[int(fixed.integers(2))]
    factor = float(fixed.uniform(0, 2))
    middle = (lambda x: np.rint(brightness(x).mean())) if kind == "PIL" else lambda x: 74
    # Of arrays red and blue change places in some formulas, as OpenCV's images have them.
    weighted = brightness if kind == "PIL" else lambda x: brightness(x[::-1])
    table: list[tuple[str, Callable, Callable, float]] = [
        ("adjust_brightness", F.adjust_brightness, lambda x: blended(x, 0, factor), 1.01),
        ("adjust_contrast", F.adjust_contrast, lambda x: blended(x, middle(x), factor), 2.01),
        ("adjust_saturation", F.adjust_saturation, lambda x: blended(x, weighted(x), factor), 2.01),
        ("to_grayscale", lambda x, _: F.to_grayscale(x, 3), lambda x: np.repeat(brightness(x), 3, 0), 1.01),
    ]
    name, function, judge, apart = table[int(fixed.integers(len(table)))]
    made = images_of(kind, lambda x: function(x, factor))
    shape = tuple(int(v) for v in rng.integers(3, 12, 2))
    x = rng.integers(0, 256, (3, *shape)).astype("uint8")
    return call_of_images(f"{name} {kind} {factor}", made, judge, x, apart)


FAMILIES = (of_tensors, of_libraries, of_sizes, of_colors)
