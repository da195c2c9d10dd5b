"""Proposals of regions: from scores of anchors, and their distribution over a pyramid of features."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.vision.ops.anchors import corners
from paddle.vision.ops.suppression import descending, positions
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import ShapeError, op_error

_MOST_GROWTH = math.log(1000.0 / 16)  # of a side, as a logarithm


@public("paddle.vision.ops")
def generate_proposals(
    scores: Tensor,
    bbox_deltas: Tensor,
    img_size: Tensor,
    anchors: Tensor,
    variances: Tensor,
    pre_nms_top_n: Any = 6000,
    post_nms_top_n: Any = 1000,
    nms_thresh: float = 0.5,
    min_size: float = 0.1,
    eta: float = 1.0,
    pixel_offset: bool = False,
    return_rois_num: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Regions that may hold objects: anchors moved by a network, the best ones that do not overlap too much.

    Args:
        scores: floating tensor ``[N, A, H, W]``: how likely each of A anchors holds an object.
        bbox_deltas: tensor ``[N, 4 * A, H, W]``: moves of centres and logarithms of sizes, anchor by anchor.
        img_size: tensor ``[N, 2]``: height and width of each image.
        anchors: tensor ``[H, W, A, 4]``, or with the first dims as one: (x1, y1, x2, y2) in pixels.
        variances: tensor of that shape, by which moves are multiplied.
        pre_nms_top_n: how many anchors of an image are considered, the best ones; 0 or less for all.
        post_nms_top_n: how many regions of an image stay, the best ones; 0 or less for all.
        nms_thresh: intersection over union above which the worse of two regions is suppressed; 0 or less for none.
        min_size: regions with smaller sides are left out; 1 at least.
        eta: below 1, a threshold above 0.5 is multiplied by it after each region that stays; those behind it are
            compared under the new one.
        pixel_offset: whether sides are 1 longer than coordinates say.
        return_rois_num: whether the numbers of regions are returned.

    Returns:
        Regions ``[R, 4]``, image by image, their scores ``[R, 1]``, and int32 numbers ``[N]`` or None. An image
        without regions has one of zeros.

    Raises:
        ValueError: shapes that do not belong together.

    Example:
        >>> import paddle
        >>> anchors = paddle.to_tensor([0.0, 0.0, 8.0, 8.0]).reshape([1, 1, 1, 4])
        >>> rois, probs, num = paddle.vision.ops.generate_proposals(
        ...     paddle.full([1, 1, 1, 1], 0.5), paddle.zeros([1, 4, 1, 1]), paddle.to_tensor([[6.0, 9.0]]),
        ...     anchors, paddle.ones([1, 1, 1, 4]), return_rois_num=True)
        >>> rois.tolist(), probs.tolist(), num.tolist()
        ([[0.0, 0.0, 8.0, 6.0]], [[0.5]], [1])
    """
    op_name = "generate_proposals"
    named = {"scores": scores, "bbox_deltas": bbox_deltas, "img_size": img_size}
    named.update(anchors=anchors, variances=variances)
    for arg_name, value in named.items():
        need_tensor(value, op_name, arg_name)
    with place_guard(scores.place):  # what is made on the way lies beside the operands
        if scores.ndim != 4:
            raise op_error(ValueError, op_name, "scores [N, A, H, W]", list(scores.shape))
        n, a, rows, columns = scores.shape
        expected = ([n, 4 * a, rows, columns], [n, 2], [rows, columns, a, 4], [rows, columns, a, 4])
        for shape, (arg_name, value) in zip(expected, list(named.items())[1:], strict=True):
            joined = [math.prod(shape[:3]), 4] if len(shape) == 4 and arg_name != "bbox_deltas" else shape
            if list(value.shape) not in (shape, joined):
                raise op_error(ValueError, op_name, f"{arg_name} of shape {shape}", list(value.shape))
        total = rows * columns * a
        with no_grad_guard():
            boxes, probabilities, counts = [], [], []
            flat = F.reshape(F.permute(scores, perm=(0, 2, 3, 1)), shape=(n, total))
            moves = F.reshape(bbox_deltas, shape=(n, a, 4, rows, columns))
            moves = F.reshape(F.permute(moves, perm=(0, 3, 4, 1, 2)), shape=(n, total, 4))
            priors, factors = (F.reshape(v, shape=(total, 4)) for v in (anchors, variances))
            for i in range(n):
                order = descending(flat[i])
                if 0 < int(pre_nms_top_n) and not (type(total) is int and total <= int(pre_nms_top_n)):
                    order = order[: int(pre_nms_top_n)]
                own_moves, own_priors, own_factors = (F.take(v, order, axis=0) for v in (moves[i], priors, factors))
                size = cast(img_size[i], scores.dtype)
                own = _moved(own_moves, own_priors, own_factors, size, 1.0 if pixel_offset else 0.0)
                kept = _proposed(own, size, max(float(min_size), 1.0), float(nms_thresh), float(eta), pixel_offset)
                if int(post_nms_top_n) > 0:
                    kept = kept[: int(post_nms_top_n)]
                own_scores = F.take(flat[i], order, axis=0)
                if not (type(kept.shape[0]) is int and kept.shape[0]):
                    own, own_scores, kept = _or_zeros(own, own_scores, kept)
                boxes.append(F.take(own, kept, axis=0))
                probabilities.append(F.take(own_scores, kept, axis=0))
                counts.append(boxes[-1].shape[0])
            if not n:
                empty = F.full(0, dtype=scores.dtype, shape=(0, 4))
                return empty, F.full(0, dtype=scores.dtype, shape=(0, 1)), _counts(counts) if return_rois_num else None
            probability = F.unsqueeze(F.concat(probabilities, axis=0), axes=(1,))
            return F.concat(boxes, axis=0), probability, _counts(counts) if return_rois_num else None


def _or_zeros(boxes: Tensor, scores: Tensor, kept: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes and scores with a row of zeros behind them, which is the one that is kept if no other is."""
    rows = boxes.shape[0]
    last = F.full(rows, dtype=kept.dtype, shape=(1,))
    boxes = F.concat([boxes, F.full(0, dtype=boxes.dtype, shape=(1, 4))], axis=0)
    scores = F.concat([scores, F.full(0, dtype=scores.dtype, shape=(1,))], axis=0)
    return boxes, scores, F.concat([kept, last], axis=0)[: dim.maximum(kept.shape[0], 1)]


def _counts(counts: list[int]) -> Tensor:
    if not counts:
        return F.full(0, dtype=dt.int32, shape=(0,))
    return F.stack([F.full(c, dtype=dt.int32, shape=()) for c in counts], axis=0)


def _moved(moves: Tensor, priors: Tensor, factors: Tensor, size: Tensor, offset: float) -> Tensor:
    """Anchors, moved and within the image."""
    x1, y1, x2, y2 = corners(priors)
    dx, dy, dw, dh = corners(F.mul(moves, factors))
    height, width = F.unbind(size, 0, 2)
    made = []
    for low, high, shift, growth, limit in ((x1, x2, dx, dw, width), (y1, y2, dy, dh, height)):
        side = F.add(F.sub(high, low), offset)
        centre = F.add(F.mul(shift, side), F.add(low, F.mul(side, 0.5)))
        half = F.mul(F.mul(F.exp(F.minimum(growth, _MOST_GROWTH)), side), 0.5)
        for edge in (F.sub(centre, half), F.sub(F.add(centre, half), offset)):
            made.append(F.maximum(F.minimum(edge, F.sub(limit, offset)), 0))
    left, right, top, bottom = made
    return F.stack([left, top, right, bottom], axis=1)


def _proposed(boxes: Tensor, size: Tensor, least: float, threshold: float, eta: float, pixel_offset: bool) -> Tensor:
    """Indices of the boxes that are large enough and stay, in their order."""
    x1, y1, x2, y2 = corners(boxes)
    offset = 1.0 if pixel_offset else 0.0
    height, width = F.unbind(size, 0, 2)
    valid: Any = None
    for low, high, limit in ((x1, x2, width), (y1, y2, height)):
        side = F.add(F.sub(high, low), offset)
        fits = F.ge(side, least)
        if pixel_offset:
            fits = F.logical_and(fits, F.le(F.add(low, F.mul(side, 0.5)), limit))
        valid = fits if valid is None else F.logical_and(valid, fits)
    if threshold <= 0:
        return positions(valid)
    return positions(F.suppress_boxes(boxes, None, valid, threshold, eta, offset))


@public("paddle.vision.ops")
def distribute_fpn_proposals(
    fpn_rois: Tensor,
    min_level: int,
    max_level: int,
    refer_level: int,
    refer_scale: int,
    pixel_offset: bool = False,
    rois_num: Tensor | None = None,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor, list[Tensor] | None]:
    """Regions distributed over the levels of a pyramid of features (Lin et al., 2017), large ones to high levels.

    The level is ``floor(refer_level + log2(sqrt(area) / refer_scale))``, from ``min_level`` to ``max_level``.

    Args:
        fpn_rois: floating tensor ``[R, 4]``: (x1, y1, x2, y2), those of the first image first.
        min_level: the lowest level.
        max_level: the highest level.
        refer_level: the level of regions with the side ``refer_scale``.
        refer_scale: a side in pixels.
        pixel_offset: whether sides are 1 longer than coordinates say.
        rois_num: integer tensor ``[N]``: how many regions each image has.

    Returns:
        A list of the regions of each level, int32 ``[R, 1]`` with the place of each region in these, level after level,
        and a list of int32 tensors ``[N]``: how many regions each image has in each level; None without ``rois_num``.

    Raises:
        AssertionError: levels in the wrong order.
        ValueError: levels in the wrong order, regions of another shape, numbers that do not sum up to R.

    Example:
        >>> import paddle
        >>> rois = paddle.to_tensor([[0.0, 0.0, 400.0, 400.0], [0.0, 0.0, 100.0, 100.0]])
        >>> num = paddle.to_tensor([2], dtype="int32")
        >>> levels, restore, counts = paddle.vision.ops.distribute_fpn_proposals(rois, 3, 4, 4, 224, rois_num=num)
        >>> [len(level) for level in levels], restore.tolist(), [c.tolist() for c in counts]
        ([1, 1], [[1], [0]], [[1], [1]])
    """
    op_name = "distribute_fpn_proposals"
    need_tensor(fpn_rois, op_name, "fpn_rois")
    with place_guard(fpn_rois.place):  # what is made on the way lies beside the operands
        if not 0 < max_level - min_level:
            raise op_error(ShapeError, op_name, "max_level above min_level", f"{max_level} and {min_level}")
        if fpn_rois.ndim != 2 or fpn_rois.shape[1] != 4:
            raise op_error(ValueError, op_name, "fpn_rois [R, 4]", list(fpn_rois.shape))
        with no_grad_guard():
            x1, y1, x2, y2 = corners(fpn_rois)
            offset = 1.0 if pixel_offset else 0.0
            w, h = F.sub(x2, x1), F.sub(y2, y1)
            area = F.mul(F.add(w, offset), F.add(h, offset))
            area = F.where(F.logical_or(F.lt(w, 0), F.lt(h, 0)), 0, area)
            scale = F.add(F.div(F.sqrt(area), float(refer_scale)), 1e-8)
            level = F.floor(F.add(F.log2(scale), refer_level))
            level = F.cast(F.maximum(F.minimum(level, max_level), min_level), dtype=dt.int64)
            image = None if rois_num is None else _images(rois_num, fpn_rois.shape[0])
            levels, order, counts = [], [], []
            for k in range(min_level, max_level + 1):
                own = positions(F.eq(level, k))
                levels.append(F.take(fpn_rois, own, axis=0))
                order.append(own)
                if image is not None and rois_num is not None:
                    zeros = F.full(0, dtype=dt.int32, shape=(rois_num.shape[0],))
                    counts.append(F.put(zeros, F.take(image, own, axis=0), 1, axis=0, mode="add"))
            place = F.sort(F.concat(order, axis=0), axis=0)[1]
            restore = F.unsqueeze(F.cast(place, dtype=dt.int32), axes=(1,))
        return levels, restore, None if rois_num is None else counts


def _images(rois_num: Tensor, total: int) -> Tensor:
    """The image of each region."""
    counts = need_tensor(rois_num, "distribute_fpn_proposals", "rois_num")
    ends = F.cumsum(F.cast(counts, dtype=dt.int64), axis=0)
    numbers = counts.tolist()
    if any(c < 0 for c in numbers) or sum(numbers) != total:
        raise op_error(ValueError, "distribute_fpn_proposals", f"numbers that sum up to {total}", numbers)
    region = F.unsqueeze(F.iota(0, 1, dtype=dt.int64, size=total), axes=(1,))
    return F.sum(F.cast(F.ge(region, F.unsqueeze(ends, axes=(0,))), dtype=dt.int64), axes=(1,))
