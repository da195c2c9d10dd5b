"""Pooling of regions of interest: boxes (x1, y1, x2, y2) of the images of a batch.

``boxes [R, 4]`` lie image after image, ``counts [N]`` says how many are of each. RoI align (He et al., 2017) and
position-sensitive pooling (Dai et al., 2016) are linear in the images: each has its transpose as a primitive, and so
derivatives of every order. RoI pooling (Girshick, 2015) is a choice of elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, with_local_shape
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require
from umiak.util.errors import IndexingError


def images_of(op: Op, boxes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the image of each box; kernels call this first. What it refuses would lead them out of the images."""
    if counts.size and counts.min() < 0:
        op.fail(ValueError, "numbers of boxes of 0 or more", counts.tolist())
    if counts.sum() != len(boxes):
        op.fail(ValueError, f"numbers of boxes that sum up to {len(boxes)}", f"{counts.tolist()}")
    if not np.isfinite(boxes).all():
        op.fail(ValueError, "finite coordinates of boxes", "NaN or an infinite one")
    return np.repeat(np.arange(len(counts)), counts)


class RegionPooling(Op):
    """Base: images ``x [N, C, H, W]``, boxes and their numbers; regions are divided into ``bins`` (rows, columns).

    Coordinates are multiplied by ``scale``.
    """

    inputs = ("x", "boxes", "counts")
    bins: tuple = param("ints")
    scale: float = param()

    def check_boxes(self, boxes: Any, counts: Any, images: Any, bins: Any) -> None:
        accept(self, "f", boxes)
        accept(self, "i", counts)
        if len(boxes.shape) != 2 or len(counts.shape) != 1:
            got = f"{tuple(boxes.shape)} and {tuple(counts.shape)}"
            self.fail(ValueError, "boxes [R, 4] and a vector of their numbers", got)
        require(self, boxes.shape[1] == 4, "boxes [R, 4]", tuple(boxes.shape))
        require(self, counts.shape[0] == images, "a number of boxes for each image", f"{counts.shape[0]} for {images}")
        if len(bins) != 2:
            self.fail(ValueError, "a number of rows and one of columns", tuple(bins))
        for n in bins:
            require(self, n >= 1, "at least one row and one column of bins", tuple(bins), IndexingError)

    def check_images(self, x: Any) -> None:
        accept(self, "f", x)
        if len(x.shape) != 4:
            self.fail(ValueError, "images [N, C, H, W]", tuple(x.shape))
        for n in x.shape[2:]:
            require(self, n >= 1, "images of at least one element", tuple(x.shape))

    def channels(self, x: Any, bins: Any) -> Any:
        """Return the number of channels of the result."""
        return x.shape[1]

    def infer(self, x, boxes, counts, bins, scale, *rest):
        self.check_images(x)
        self.check_boxes(boxes, counts, x.shape[0], bins)
        return Meta((boxes.shape[0], self.channels(x, bins), *bins), x.dtype)

    def shard(self, x, boxes, counts, *params):
        return _SHARD.format("n c h w", "r c p q")


class RegionSpread(RegionPooling):
    """Base of the transposes: ``g``, of the shape of results, into images of the sizes ``shape``."""

    inputs = ("g", "boxes", "counts")
    linear = ("g",)
    shape: tuple = param("ints")

    def infer(self, g, boxes, counts, bins, scale, shape, *rest):
        accept(self, "f", g)
        if len(g.shape) != 4 or len(shape) != 4:
            self.fail(ValueError, "g [R, C, rows, columns] and four sizes", f"{tuple(g.shape)} and {tuple(shape)}")
        x = Meta(tuple(shape), g.dtype)
        self.check_images(x)
        self.check_boxes(boxes, counts, shape[0], bins)
        expected = (boxes.shape[0], self.channels(x, bins), *bins)
        for n, m in zip(g.shape, expected, strict=True):
            require(self, n == m, f"g of shape {expected}", tuple(g.shape))
        return x

    def shard(self, g, boxes, counts, *params):
        return _SHARD.format("r c p q", "n c h w")


_SHARD = "{}, r k, n -> {} ; " + " ".join(f"{name}=replicated" for name in "nchwrpqk")


class RoiAlignment(Op):
    """Attributes of both directions of RoI align: ``ratio`` samples of a bin along each dim, as many as it has
    elements with a ratio of 0 or less. ``aligned``: elements lie half an element from the corner, and no box is too
    small."""

    aligned: bool = True

    def images_of(self, boxes: np.ndarray, counts: np.ndarray, ratio: int) -> np.ndarray:
        """Return the image of each box; kernels call this first. Sampling that adapts to sizes wants them positive."""
        images = images_of(self, boxes, counts)
        if self.aligned and ratio <= 0 and (boxes[:, :2] > boxes[:, 2:]).any():
            self.fail(ValueError, "boxes with x1 <= x2 and y1 <= y2 where sampling_ratio is not positive", "others")
        return images


@register
class RoiAlign(RegionPooling, RoiAlignment):
    """Means of bilinear samples in each bin of each region: ``[R, C, rows, columns]``."""

    linear = ("x",)
    ratio: int = param("int", -1)

    def shard(self, x, boxes, counts, *params):
        return super().shard(x, boxes, counts, *params).replace(" c=replicated", "")

    def vjp(self, s, g):
        p = s.params
        shape = tuple(s.inputs[0].shape)
        return F.roi_align_spread(g, *s.inputs[1:], self.aligned, tuple(p.bins), p.scale, shape, p.ratio), None, None

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {"aligned": case % 2 == 0}, {"ratio": (-1, 2, 3)})


@register
class RoiAlignSpread(RegionSpread, RoiAlignment):
    """The transpose of :class:`RoiAlign`."""

    on_shard = with_local_shape
    ratio: int = param("int", -1)

    def shard(self, g, boxes, counts, *params):
        return super().shard(g, boxes, counts, *params).replace(" c=replicated", "")

    def vjp(self, s, gx):
        p = s.params
        return F.roi_align(gx, *s.inputs[1:], self.aligned, tuple(p.bins), p.scale, p.ratio), None, None

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {"aligned": case % 2 == 0}, {"ratio": (-1, 2, 3)}, spread=True)


def _sensitive_channels(op: Any, x: Any, bins: Any) -> Any:
    rows, columns = bins
    require(op, x.shape[1] % (rows * columns) == 0, f"channels in multiples of {rows} * {columns}", x.shape[1])
    return x.shape[1] // (rows * columns)


@register
class PsroiPool(RegionPooling):
    """Means of each bin, bin ``(i, j)`` of result channel c in channel ``(c*rows + i)*columns + j`` of the images."""

    linear = ("x",)

    def channels(self, x, bins):
        return _sensitive_channels(self, x, bins)

    def vjp(self, s, g):
        shape, bins = tuple(s.inputs[0].shape), tuple(s.params.bins)
        return F.psroi_pool_spread(g, *s.inputs[1:], bins, s.params.scale, shape), None, None

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {}, {}, sensitive=True)


@register
class PsroiPoolSpread(RegionSpread):
    """The transpose of :class:`PsroiPool`."""

    def channels(self, x, bins):
        return _sensitive_channels(self, x, bins)

    def vjp(self, s, gx):
        return F.psroi_pool(gx, *s.inputs[1:], tuple(s.params.bins), s.params.scale), None, None

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {}, {}, sensitive=True, spread=True)


@register
class RoiMaxIndex(RegionPooling):
    """Index of the largest element of each bin among all elements of the images, -1 for an empty bin: int64."""

    vjp = None

    def infer(self, x, boxes, counts, bins, scale):
        return Meta(super().infer(x, boxes, counts, bins, scale).shape, dt.int64)

    def shard(self, x, boxes, counts, *params):
        return _SHARD.format("n c h w", "r c p q")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {}, {})


@register
class RoiPool(RegionPooling):
    """Largest element of each bin of each region, 0 of an empty bin: ``[R, C, rows, columns]``."""

    def decompose(self, x, boxes, counts, bins, scale):
        index = F.roi_max_index(x, boxes, counts, tuple(bins), scale)
        elements = F.reshape(x, shape=(x.shape[0] * x.shape[1] * x.shape[2] * x.shape[3],))
        return F.where(F.ge(index, 0), F.take(elements, F.maximum(index, 0), axis=0), 0)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield from _samples(rng, lambda case: {}, {})


def _samples(rng: Any, attributes: Any, lists: dict, sensitive: bool = False, spread: bool = False) -> Iterator[Sample]:
    """Samples of regions within, across and beyond images, of no size; distinct elements, so no maximum ties."""
    rows: tuple[tuple, ...] = (
        ((2, 2, 5, 6), (2, 1), (2, 3), 1.0, dt.float64, np.int32),
        ((1, 1, 6, 4), (3,), (1, 2), 0.5, dt.float64, np.int64),
        ((2, 2, 4, 4), (0, 2), (2, 2), 1.3, dt.float32, np.int32),
        ((1, 1, 5, 5), (2,), (3, 2), 0.7, dt.bfloat16, np.int32),
        ((2, 1, 3, 3), (0, 0), (2, 1), 1.0, dt.float64, np.int32),
        ((0, 2, 3, 3), (), (2, 2), 1.0, dt.float32, np.int32),
    )
    corners = np.array([[0.3, 0.4, 4.1, 3.3], [-3.2, 1.1, 2.6, 9.4], [2.2, 2.1, 2.2, 2.1], [1.2, 0.3, 1.4, 3.1]])
    for case, (shape, counts, bins, scale, dtype, integers) in enumerate(rows):
        n, c, h, w = shape
        total = sum(counts)
        boxes = np.roll(corners, case, 0)[:total].astype(dtype.numpy)
        full = (n, c * bins[0] * bins[1] if sensitive else c, h, w)
        params: dict[str, Any] = {"bins": bins, "scale": scale}
        params.update({key: values[case % len(values)] for key, values in lists.items()})
        if spread:
            params["shape"] = full
            x = draw(rng, (total, c, *bins), dtype)
        else:
            x = (rng.permutation(int(np.prod(full))).reshape(full) * 0.37 - 3).astype(dtype.numpy)
        inputs = (x, boxes, np.array(counts, integers))
        yield Sample(inputs, attributes(case), params, differentiable=(0,))
