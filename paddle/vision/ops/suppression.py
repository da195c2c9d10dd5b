"""Non-maximum suppression: of overlapping boxes the best ones stay, or the others lose score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import number_in
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

_MOST_PAIRS = 1 << 24  # of boxes of the classes that are compared at once


def positions(mask: Tensor) -> Tensor:
    """Positions at which a vector of bools holds: int64."""
    return F.squeeze(F.nonzero_sized(mask, number_in(F.count_true(mask))), axes=(1,))


def descending(scores: Tensor, axis: int = 0) -> Tensor:
    """Indices of scores from the largest on, equal ones in their order."""
    return F.sort(scores, axis=axis, descending=True)[1]


@public("paddle.vision.ops")
def nms(
    boxes: Tensor,
    iou_threshold: float = 0.3,
    scores: Tensor | None = None,
    category_idxs: Tensor | None = None,
    categories: Sequence[int] | None = None,
    top_k: int | None = None,
) -> Tensor:
    """Indices of the boxes that stay when each, the best first, suppresses those that overlap it too much.

    Args:
        boxes: float32 or float64 tensor ``[M, 4]``: (x1, y1, x2, y2).
        iou_threshold: intersection over union above which the later of two boxes is suppressed.
        scores: floating tensor ``[M]``; without it boxes come in order of quality.
        category_idxs: integer tensor ``[M]``: the category of each box; boxes of different ones suppress nothing.
        categories: the categories whose boxes stay at all; required with ``category_idxs``.
        top_k: only as many of the boxes that stay are returned, M at most.

    Returns:
        int64 tensor ``[kept]``: indices in order of quality. Without scores all categories count as one.

    Raises:
        ValueError: boxes of another shape or with NaN, ``category_idxs`` without ``categories``, ``top_k`` below 1 or
            above M.

    Example:
        >>> import paddle
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.0], [5.0, 5.0, 6.0, 6.0]])
        >>> paddle.vision.ops.nms(boxes, 0.5).tolist()
        [0, 2]
        >>> paddle.vision.ops.nms(boxes, 0.5, paddle.to_tensor([0.2, 0.9, 0.5])).tolist()
        [1, 2]
    """
    need_tensor(boxes, "nms", "boxes")
    if category_idxs is not None and scores is not None and categories is None:
        raise op_error(ValueError, "nms", "categories, a list of their numbers, beside category_idxs", "None")
    if top_k is not None and not 1 <= top_k <= boxes.shape[0]:
        raise op_error(ValueError, "nms", f"top_k from 1 to the number of boxes, {boxes.shape[0]}", top_k)
    for value, arg_name in ((scores, "scores"), (category_idxs, "category_idxs")):
        if value is not None and list(need_tensor(value, "nms", arg_name).shape) != [boxes.shape[0]]:
            raise op_error(ValueError, "nms", f"{arg_name} of shape [{boxes.shape[0]}]", list(value.shape))
    with no_grad_guard():
        kept = _kept(boxes, float(iou_threshold), scores, category_idxs, categories)
    return kept if top_k is None else kept[:top_k]


def _kept(boxes: Tensor, threshold: float, scores: Any, category_idxs: Any, categories: Any) -> Tensor:
    if scores is None:
        return positions(F.suppress_boxes(boxes, threshold=threshold))
    order = descending(scores)
    group = valid = None
    if category_idxs is not None:
        group = F.take(category_idxs, order, axis=0)
        chosen = categories.tolist() if isinstance(categories, Tensor) else categories
        for category in chosen:
            here = F.eq(group, int(category))
            valid = here if valid is None else F.logical_or(valid, here)
        if valid is None:
            valid = F.ne(group, group)
    kept = F.suppress_boxes(F.take(boxes, order, axis=0), group, valid, threshold)
    return F.take(order, positions(kept), axis=0)


def _overlaps(boxes: Tensor, normalized: bool) -> Tensor:
    """Intersection over union of all pairs of ``[..., K, 4]``: ``[..., K, K]``."""
    offset = 0 if normalized else 1
    n = boxes.ndim

    def corner(i: int) -> Tensor:
        return F.squeeze(F.slice(boxes, axes=(n - 1,), starts=(i,), sizes=(1,), steps=(1,)), axes=(n - 1,))

    def pairs(v: Tensor) -> tuple[Tensor, Tensor]:
        return F.unsqueeze(v, axes=(n - 1,)), F.unsqueeze(v, axes=(n - 2,))

    x1, y1, x2, y2 = map(corner, range(4))
    sides = [
        F.maximum(F.add(F.sub(F.minimum(*pairs(high)), F.maximum(*pairs(low))), offset), 0)
        for low, high in ((x1, x2), (y1, y2))
    ]
    w, h = F.add(F.sub(x2, x1), offset), F.add(F.sub(y2, y1), offset)
    inverted = F.logical_or(F.lt(x2, x1), F.lt(y2, y1))
    area = F.where(inverted, 0, F.mul(w, h))
    apart = [F.gt(low, high) for i, j in ((x1, x2), (y1, y2)) for low, high in _crossed(pairs(i), pairs(j))]
    common = F.mul(*sides)
    a, b = pairs(area)
    overlap = F.div(common, F.sub(F.add(a, b), common))
    for disjoint in apart:
        overlap = F.where(disjoint, 0, overlap)
    return overlap


def _crossed(low: tuple, high: tuple) -> tuple:
    """(low of one, high of the other), both ways."""
    return (low[0], high[1]), (low[1], high[0])


@public("paddle.vision.ops")
def matrix_nms(
    bboxes: Tensor,
    scores: Tensor,
    score_threshold: float,
    post_threshold: float,
    nms_top_k: int,
    keep_top_k: int,
    use_gaussian: bool = False,
    gaussian_sigma: float = 2.0,
    background_label: int = 0,
    normalized: bool = True,
    return_index: bool = False,
    return_rois_num: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Matrix suppression (Wang et al., 2020): boxes that overlap better ones of their class lose score.

    The score of a box is multiplied by the least of ``f(overlap with j) / f(largest overlap of j with better boxes)``
    over the better boxes j, with ``f(u) = 1 - u`` or ``exp(-sigma * u**2)``.

    Args:
        bboxes: floating tensor ``[N, M, 4]``: (x1, y1, x2, y2) of the boxes of N images.
        scores: tensor ``[N, C, M]``: the score of each class for each box.
        score_threshold: boxes with scores up to this are left out.
        post_threshold: boxes whose new scores are up to this are left out.
        nms_top_k: how many boxes of a class are considered, the best ones; -1 for all.
        keep_top_k: how many boxes of an image stay, the best ones; -1 for all.
        use_gaussian: whether f is the Gaussian.
        gaussian_sigma: sigma of the Gaussian.
        background_label: the class that is left out; -1 for none.
        normalized: whether coordinates are parts of the image; otherwise sides are 1 longer than they say.
        return_index: whether the indices of the boxes are returned.
        return_rois_num: whether the numbers of boxes are returned.

    Returns:
        Tensor ``[K, 6]`` of rows (class, score, x1, y1, x2, y2), image by image, the best first; int32 tensor ``[N]``
        of their numbers, or None; int32 tensor ``[K, 1]`` of indices among the ``N * M`` boxes, or None.

    Raises:
        ValueError: boxes or scores of other shapes, ``nms_top_k`` or ``keep_top_k`` of 0.

    Example:
        >>> import paddle
        >>> boxes = paddle.to_tensor([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5]]])
        >>> scores = paddle.to_tensor([[[0.5, 0.25]]])
        >>> out, count, index = paddle.vision.ops.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
        >>> out[:, :2].tolist(), count.tolist(), index
        ([[0.0, 0.5], [0.0, 0.125]], [2], None)
    """
    need_tensor(bboxes, "matrix_nms", "bboxes")
    need_tensor(scores, "matrix_nms", "scores")
    with place_guard(bboxes.place):  # what is made on the way lies beside the operands
        shapes = f"{list(bboxes.shape)} and {list(scores.shape)}"
        fits = bboxes.ndim == scores.ndim == 3 and bboxes.shape[2] == 4
        if not fits or not (dim.eq(bboxes.shape[0], scores.shape[0]) and dim.eq(bboxes.shape[1], scores.shape[2])):
            raise op_error(ValueError, "matrix_nms", "bboxes [N, M, 4] and scores [N, C, M]", shapes)
        if nms_top_k == 0 or keep_top_k == 0:
            raise op_error(ValueError, "matrix_nms", "nms_top_k and keep_top_k of 1 or more, or -1", 0)
        n, classes, m = scores.shape
        labels = [c for c in range(classes) if c != background_label]
        rows, indices, counts = [], [], []
        with no_grad_guard():
            most = m if nms_top_k < 0 else min(nms_top_k, m)
            at_once = max(1, _MOST_PAIRS // max(most * most, 1))
            for i in range(n):
                parts = [
                    _decayed(
                        bboxes[i],
                        scores[i],
                        labels[first : first + at_once],
                        most,
                        score_threshold,
                        use_gaussian,
                        gaussian_sigma,
                        normalized,
                    )
                    for first in range(0, len(labels), at_once)
                ]
                if not parts or not m:
                    counts.append(0)
                    continue
                label, score, index = (F.concat(list(v), axis=0) for v in zip(*parts, strict=True))
                there = positions(F.gt(score, post_threshold))
                order = F.take(there, descending(F.take(score, there, axis=0)), axis=0)
                if keep_top_k >= 0:
                    order = order[:keep_top_k]
                label, score, index = (F.take(v, order, axis=0) for v in (label, score, index))
                head = F.stack([F.cast(label, dtype=bboxes.dtype), F.cast(score, dtype=bboxes.dtype)], axis=1)
                rows.append(F.concat([head, F.take(bboxes[i], index, axis=0)], axis=1))
                indices.append(F.add(index, i * m))
                counts.append(order.shape[0])
            out = F.concat(rows, axis=0) if rows else F.full(0, dtype=bboxes.dtype, shape=(0, 6))
            numbers = F.concat(indices, axis=0) if indices else F.full(0, dtype=dt.int64, shape=(0,))
            numbers = F.cast(F.unsqueeze(numbers, axes=(1,)), dtype=dt.int32)
            total = F.stack([F.full(c, dtype=dt.int32, shape=()) for c in counts], axis=0) if counts else None
            if total is None:
                total = F.full(0, dtype=dt.int32, shape=(0,))
        return out, total if return_rois_num else None, numbers if return_index else None


def _decayed(
    boxes: Tensor,
    scores: Tensor,
    labels: list[int],
    most: int,
    score_threshold: float,
    use_gaussian: bool,
    sigma: float,
    normalized: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes, new scores and indices of the ``most`` best boxes of each of some classes; -inf of those left out."""
    own = F.stack([scores[c] for c in labels], axis=0)
    order = descending(own, axis=1)[:, :most]
    best = F.take_along(own, order, axis=1)
    there = F.gt(best, score_threshold)
    count = order.shape[1]
    chosen = F.reshape(
        F.take(boxes, F.reshape(order, shape=(len(labels) * count,)), axis=0), shape=(len(labels), count, 4)
    )
    rank = F.iota(0, 1, dtype=dt.int64, size=count)
    better = F.lt(F.unsqueeze(rank, axes=(0,)), F.unsqueeze(rank, axes=(1,)))  # [i, j]: j before i
    overlap = F.where(better, _overlaps(chosen, normalized), 0)
    largest = F.unsqueeze(F.max(overlap, axes=(2,)) if count else F.sum(overlap, axes=(2,)), axes=(1,))
    if use_gaussian:
        decay = F.exp(F.mul(F.sub(F.square(largest), F.square(overlap)), sigma))
    else:
        decay = F.div(F.sub(1, overlap), F.sub(1, largest))
    decay = F.where(better, decay, 1)
    new = F.mul(best, F.min(decay, axes=(2,))) if count else best
    new = F.where(there, new, float("-inf"))
    label = F.broadcast_to(
        F.unsqueeze(F.stack([F.full(c, dtype=dt.int64, shape=()) for c in labels], axis=0), axes=(1,)),
        shape=(len(labels), count),
    )
    return tuple(F.reshape(v, shape=(len(labels) * count,)) for v in (label, new, order))
