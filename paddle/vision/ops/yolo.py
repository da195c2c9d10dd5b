"""Boxes and loss of YOLOv3 (Redmon and Farhadi, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ops.promotion import cast
from umiak.util.errors import op_error


def _anchors(op_name: str, anchors: Any) -> np.ndarray:
    values = np.array([float(v) for v in anchors])
    if not len(values) or len(values) % 2 or values.min() <= 0:
        raise op_error(ValueError, op_name, "anchors as pairs of a positive width and height", list(anchors))
    return values.reshape(-1, 2)


def _part(x: Tensor, axis: int, start: int, size: int) -> Tensor:
    return F.slice(x, axes=(axis,), starts=(start,), sizes=(size,), steps=(1,))


def _channel(x: Tensor, i: int) -> Tensor:
    """Channel i of ``[N, anchors, channels, H, W]``."""
    return F.squeeze(_part(x, 2, i, 1), axes=(2,))


def _line(size: int, like: Tensor, axes: tuple[int, ...]) -> Tensor:
    return F.unsqueeze(F.iota(0, 1, dtype=like.dtype, size=size), axes=axes)


def _column(values: np.ndarray, like: Tensor) -> Tensor:
    """Numbers of the anchors, broadcast against ``[N, anchors, H, W]``."""
    return from_numpy(values.astype(like.dtype.numpy).reshape(-1, 1, 1), like.place)


def _ratios(sides: np.ndarray, size: Any, like: Tensor) -> Tensor:
    """Sides of anchors as parts of a size of the image."""
    return F.div(_column(sides, like), size) if type(size) is Sym else _column(sides / size, like)


def _decoded(x: Tensor, anchors: np.ndarray, scale: float, size: tuple[float, float]) -> tuple[Tensor, ...]:
    """Centres and sides of boxes ``[N, anchors, H, W]`` as parts of the image; ``size`` is that of the input."""
    rows, columns = x.shape[3:]
    shift = -0.5 * (scale - 1)
    cx, cy = (
        F.div(F.add(F.add(F.mul(F.logistic(_channel(x, i)), scale), shift), _line(n, x, axes)), n)
        for i, n, axes in ((0, columns, (0, 1, 2)), (1, rows, (0, 1, 3)))
    )
    w, h = (F.mul(F.exp(_channel(x, 2 + i)), _ratios(anchors[:, i], size[1 - i], x)) for i in (0, 1))
    return cx, cy, w, h


@public("paddle.vision.ops")
def yolo_box(
    x: Tensor,
    img_size: Tensor,
    anchors: Sequence[int],
    class_num: int,
    conf_thresh: float,
    downsample_ratio: int,
    clip_bbox: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
    iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> tuple[Tensor, Tensor]:
    """Boxes and scores of classes from the output of a YOLOv3 network.

    Args:
        x: floating tensor ``[N, A * (5 + class_num), H, W]``: for each of A anchors the centre, the size, the
            confidence and the classes. With ``iou_aware`` A more channels come first.
        img_size: integer tensor ``[N, 2]``: height and width of each image.
        anchors: width and height of each anchor, one after the other.
        class_num: how many classes there are.
        conf_thresh: boxes of less confidence become zeros.
        downsample_ratio: pixels of the network's input for each element of x.
        clip_bbox: whether boxes end at the borders of the image.
        scale_x_y: factor of the centres' way within their element.
        iou_aware: whether the network predicts overlaps, too.
        iou_aware_factor: f, with which confidence becomes ``confidence**(1 - f) * overlap**f``.

    Returns:
        Boxes (x1, y1, x2, y2) ``[N, A * H * W, 4]`` in pixels and scores ``[N, A * H * W, class_num]``, of x's dtype.

    Raises:
        ValueError: channels, anchors or sizes that do not belong together.

    Example:
        >>> import paddle
        >>> size = paddle.to_tensor([[32, 32]], dtype="int32")
        >>> boxes, scores = paddle.vision.ops.yolo_box(paddle.zeros([1, 6, 1, 1]), size, [16, 16], 1, 0.1, 32)
        >>> boxes.tolist(), scores.tolist()
        ([[[8.0, 8.0, 24.0, 24.0]]], [[[0.25]]])
    """
    need_tensor(x, "yolo_box")
    need_tensor(img_size, "yolo_box", "img_size")
    with place_guard(x.place):  # what is made on the way lies beside the operands
        pairs = _anchors("yolo_box", anchors)
        count, own = len(pairs), 5 + class_num
        expected = count * (own + 1 if iou_aware else own)
        if x.ndim != 4 or x.shape[1] != expected or class_num < 1:
            raise op_error(ValueError, "yolo_box", f"x [N, {expected}, H, W] and a class or more", list(x.shape))
        if list(img_size.shape) != [x.shape[0], 2]:
            raise op_error(ValueError, "yolo_box", f"img_size [{x.shape[0]}, 2]", list(img_size.shape))
        if not img_size.dtype.is_integer:
            raise op_error(ValueError, "yolo_box", "an integer img_size", img_size.dtype.name)
        n, _, rows, columns = x.shape
        overlap = F.logistic(_part(x, 1, 0, count)) if iou_aware else None
        parts = _part(x, 1, count, count * own) if iou_aware else x
        parts = F.reshape(parts, shape=(n, count, own, rows, columns))
        cx, cy, w, h = _decoded(parts, pairs, scale_x_y, (downsample_ratio * rows, downsample_ratio * columns))
        height, width = (F.unsqueeze(cast(v, x.dtype), axes=(1, 2, 3)) for v in F.unbind(img_size, 1, 2))
        confidence = F.logistic(_channel(parts, 4))
        if overlap is not None:
            confidence = F.mul(F.pow(confidence, 1 - iou_aware_factor), F.pow(overlap, iou_aware_factor))
        left = F.lt(confidence, conf_thresh)
        corners = []
        for half, sign in ((0.5, F.sub), (0.5, F.add)):
            for centre, side, size in ((cx, w, width), (cy, h, height)):
                at = F.mul(sign(centre, F.mul(side, half)), size)
                if clip_bbox:
                    at = F.maximum(at, 0) if sign is F.sub else F.minimum(at, F.sub(size, 1))
                corners.append(F.where(left, 0, at))
        boxes = F.reshape(F.stack(corners, axis=4), shape=(n, count * rows * columns, 4))
        scores = F.mul(F.logistic(_part(parts, 2, 5, class_num)), F.unsqueeze(confidence, axes=(2,)))
        scores = F.permute(F.where(F.unsqueeze(left, axes=(2,)), 0, scores), perm=(0, 1, 3, 4, 2))
        return boxes, F.reshape(scores, shape=(n, count * rows * columns, class_num))


def _overlap(a: tuple, b: tuple) -> Tensor:
    """Intersection over union of boxes by centres and sides."""
    sides = []
    for i in (0, 1):
        low = F.maximum(F.sub(a[i], F.mul(a[2 + i], 0.5)), F.sub(b[i], F.mul(b[2 + i], 0.5)))
        high = F.minimum(F.add(a[i], F.mul(a[2 + i], 0.5)), F.add(b[i], F.mul(b[2 + i], 0.5)))
        sides.append(F.maximum(F.sub(high, low), 0))
    common = F.mul(*sides)
    return F.div(common, F.sub(F.add(F.mul(a[2], a[3]), F.mul(b[2], b[3])), common))


def _cross_entropy(x: Tensor, label: Any) -> Tensor:
    """Of the logistic of x, in a form that does not overflow."""
    return F.add(F.sub(F.maximum(x, 0), F.mul(x, label)), F.log1p(F.exp(F.neg(F.abs(x)))))


@public("paddle.vision.ops")
def yolo_loss(
    x: Tensor,
    gt_box: Tensor,
    gt_label: Tensor,
    anchors: Sequence[int],
    anchor_mask: Sequence[int],
    class_num: int,
    ignore_thresh: float,
    downsample_ratio: int,
    gt_score: Tensor | None = None,
    use_label_smooth: bool = True,
    name: str | None = None,
    scale_x_y: float = 1.0,
) -> Tensor:
    """Loss of YOLOv3: of places, sizes, confidence and classes, for each image.

    Each true box is the matter of the anchor whose shape is most like it, in the element where its centre lies.
    Predictions that overlap a true box by more than ``ignore_thresh`` need not be background.

    Args:
        x: floating tensor ``[N, S * (5 + class_num), H, W]``: the network's output for S of the anchors.
        gt_box: floating tensor ``[N, B, 4]``: centres, widths and heights as parts of the image; boxes without
            extent are none.
        gt_label: integer tensor ``[N, B]``: classes of the boxes.
        anchors: width and height of all anchors in pixels, one after the other.
        anchor_mask: the numbers of the S anchors of this output.
        class_num: how many classes there are.
        ignore_thresh: overlap from which a prediction is no background.
        downsample_ratio: pixels of the network's input for each element of x.
        gt_score: floating tensor ``[N, B]``: weights of the boxes; ones without it.
        use_label_smooth: whether classes aim at ``1 - d`` and ``d``, with d the smaller of 1/class_num and 1/40.
        scale_x_y: factor of the centres' way within their element.

    Returns:
        Tensor ``[N]`` of x's dtype. Its gradient reaches x.

    Raises:
        ValueError: sizes, anchors or labels that do not belong together.

    Example:
        >>> import paddle
        >>> box, label = paddle.to_tensor([[[0.5, 0.5, 0.5, 0.5]]]), paddle.to_tensor([[0]], dtype="int32")
        >>> loss = paddle.vision.ops.yolo_loss(paddle.zeros([1, 6, 1, 1]), box, label, [16, 16], [0], 1, 0.7, 32)
        >>> round(loss.item(), 4)
        3.8123
    """
    op_name = "yolo_loss"
    for value, arg_name in ((x, "x"), (gt_box, "gt_box"), (gt_label, "gt_label")):
        need_tensor(value, op_name, arg_name)
    with place_guard(x.place):  # what is made on the way lies beside the operands
        pairs, mask = _anchors(op_name, anchors), [int(i) for i in anchor_mask]
        if not mask or not all(0 <= i < len(pairs) for i in mask):
            raise op_error(ValueError, op_name, f"anchor_mask of numbers below {len(pairs)}", mask)
        count, own = len(mask), 5 + class_num
        if x.ndim != 4 or x.shape[1] != count * own or class_num < 1:
            raise op_error(ValueError, op_name, f"x [N, {count * own}, H, W] and a class or more", list(x.shape))
        n, _, rows, columns = x.shape
        if rows != columns or not rows:
            raise op_error(ValueError, op_name, "as many rows as columns, and at least one", list(x.shape))
        if gt_box.ndim != 3 or gt_box.shape[0] != n or gt_box.shape[2] != 4:
            raise op_error(ValueError, op_name, f"gt_box [{n}, B, 4]", list(gt_box.shape))
        number = gt_box.shape[1]
        for per_box, arg_name in ((gt_label, "gt_label"), (gt_score, "gt_score")):
            if per_box is not None and list(per_box.shape) != [n, number]:
                raise op_error(ValueError, op_name, f"{arg_name} [{n}, {number}]", list(per_box.shape))
        parts = F.reshape(x, shape=(n, count, own, rows, columns))
        size = float(downsample_ratio * rows)
        with no_grad_guard():
            truth = F.unbind(cast(gt_box, x.dtype), 2, 4)
            score = F.full(1, dtype=x.dtype, shape=(n, number)) if gt_score is None else cast(gt_score, x.dtype)
            there = F.logical_and(F.gt(truth[2], 1e-6), F.gt(truth[3], 1e-6))
            ignored = _ignored(parts, pairs[mask], truth, there, scale_x_y, size, ignore_thresh)
            at, own_anchor, there = _matched(truth, there, pairs, mask, (rows, columns), size)
            weight = F.where(there, score, 0)
            aims = _aims(truth, own_anchor, pairs, rows, size)
        # Of each true box the prediction that answers for it: [N, B, own]
        rows_of_all = F.reshape(F.permute(parts, perm=(0, 1, 3, 4, 2)), shape=(n * count * rows * columns, own))
        answers = F.reshape(F.take(rows_of_all, F.reshape(at, shape=(n * number,)), axis=0), shape=(n, number, own))
        tx, ty, tw, th, area_weight = aims
        scale = F.mul(area_weight, weight)
        px, py, pw, ph = (F.squeeze(_part(answers, 2, i, 1), axes=(2,)) for i in range(4))
        place = F.add(_cross_entropy(px, tx), _cross_entropy(py, ty))
        extent = F.add(F.abs(F.sub(pw, tw)), F.abs(F.sub(ph, th)))
        # A box that is none has no logarithm: its terms must not count as 0 * inf.
        loss = F.sum(F.where(there, F.mul(F.add(place, extent), scale), 0), axes=(1,))
        smooth = min(1.0 / class_num, 1.0 / 40) if use_label_smooth else 0.0
        classes = F.iota(0, 1, dtype=dt.int64, size=class_num)
        is_class = F.eq(F.unsqueeze(F.cast(gt_label, dtype=dt.int64), axes=(2,)), classes)
        aim = F.where(is_class, F.full(1 - smooth, dtype=x.dtype, shape=()), smooth)
        of_classes = F.sum(_cross_entropy(_part(answers, 2, 5, class_num), aim), axes=(2,))
        loss = F.add(loss, F.sum(F.mul(of_classes, weight), axes=(1,)))
        with no_grad_guard():
            objects = F.reshape(
                _objects(at, weight, there, n * count * rows * columns), shape=(n, count, rows, columns)
            )
            background = F.logical_and(F.le(objects, 1e-5), F.logical_not(ignored))
            occupied = F.where(F.gt(objects, 1e-5), objects, 0)
        confidence = _channel(parts, 4)
        of_objects = F.mul(_cross_entropy(confidence, 1.0), occupied)
        of_background = F.where(background, _cross_entropy(confidence, 0.0), 0)
        return F.add(loss, F.sum(F.add(of_objects, of_background), axes=(1, 2, 3)))


def _ignored(parts: Tensor, pairs: Any, truth: Any, there: Any, scale: float, size: float, limit: float) -> Tensor:
    """Mask of the predictions that overlap a true box by more than ``limit``: ``[N, anchors, H, W]``."""
    if not there.shape[1]:
        shape = (parts.shape[0], parts.shape[1], *parts.shape[3:])
        return F.full(False, dtype=dt.bool, shape=shape)
    predicted = tuple(F.unsqueeze(v, axes=(4,)) for v in _decoded(parts, pairs, scale, (size, size)))
    true = tuple(F.unsqueeze(v, axes=(1, 2, 3)) for v in truth)
    overlap = F.where(F.unsqueeze(there, axes=(1, 2, 3)), _overlap(predicted, true), 0)
    return F.gt(F.max(overlap, axes=(4,)), limit)


def _matched(truth: Any, there: Any, pairs: np.ndarray, mask: list[int], grid: tuple[int, int], size: float) -> tuple:
    """Of each true box: the number of its prediction among all, that of its anchor, and whether there is one."""
    n, number = there.shape
    rows, columns = grid
    widths, heights = (from_numpy((pairs[:, i] / size).astype(truth[0].dtype.numpy), truth[0].place) for i in (0, 1))
    w, h = (F.unsqueeze(v, axes=(2,)) for v in truth[2:])
    common = F.mul(F.minimum(w, widths), F.minimum(h, heights))
    overlap = F.div(common, F.sub(F.add(F.mul(w, h), F.mul(widths, heights)), common))
    best = F.argmax(F.where(F.unsqueeze(there, axes=(2,)), overlap, 0), axis=2)
    slots = [next((k for k, a in enumerate(mask) if a == i), -1) for i in range(len(pairs))]
    slot = F.take(from_numpy(np.array(slots), truth[0].place), best, axis=0)
    column, row = (F.cast(F.mul(F.where(there, truth[i], 0), k), dtype=dt.int64) for i, k in ((0, columns), (1, rows)))
    there = F.logical_and(there, F.ge(slot, 0))
    for v, k in ((column, columns), (row, rows)):  # a centre outside of the image has no prediction
        there = F.logical_and(there, F.logical_and(F.ge(v, 0), F.lt(v, k)))
    image = F.unsqueeze(F.iota(0, 1, dtype=dt.int64, size=n), axes=(1,))
    at = F.add(F.mul(F.add(F.mul(F.add(F.mul(image, len(mask)), slot), rows), row), columns), column)
    return F.where(there, at, 0), best, there


def _aims(truth: Any, anchor: Any, pairs: np.ndarray, grid: int, size: float) -> tuple:
    """Targets of the predictions of true boxes: place in the element, logarithms of sides; and its weight."""
    place = truth[0].place
    aims = []
    for v in truth[:2]:
        scaled = F.mul(v, grid)
        aims.append(F.sub(scaled, F.trunc(scaled)))
    for i in (0, 1):
        sides = F.take(from_numpy(pairs[:, i].astype(truth[0].dtype.numpy), place), anchor, axis=0)
        aims.append(F.log(F.div(F.mul(truth[2 + i], size), sides)))
    return *aims, F.sub(2.0, F.mul(truth[2], truth[3]))


def _objects(at: Any, weight: Any, there: Any, total: int) -> Tensor:
    """Weights of the predictions that answer for a true box, the last one's where there are several."""
    number = at.shape[1]
    rank = F.iota(0, 1, dtype=dt.int64, size=number)
    later = F.lt(F.unsqueeze(rank, axes=(1,)), F.unsqueeze(rank, axes=(0,)))
    same = F.eq(F.unsqueeze(at, axes=(2,)), F.unsqueeze(at, axes=(1,)))
    again = F.logical_and(F.logical_and(same, later), F.unsqueeze(there, axes=(1,)))
    last = F.eq(F.sum(F.cast(again, dtype=dt.int64), axes=(2,)), 0)
    values = F.reshape(F.where(last, weight, 0), shape=(at.shape[0] * number,))
    zeros = F.full(0, dtype=weight.dtype, shape=(total,))
    return F.put(zeros, F.reshape(at, shape=(at.shape[0] * number,)), values, axis=0, mode="add")
