"""Detection of objects as models of before 2.0 have it: boxes that are dense, decoded by class, or merged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.detection import _kept, _overlaps, multiclass_nms3
from paddle.static.formats.operators.table import Tensors, bounded, bounded_all, operator
from paddle.vision import ops
from umiak.core.tensor import Tensor
from umiak.ir.serialise import FormatError


@operator("density_prior_box")
def density_prior_box(
    input: Tensor, image: Tensor, *, fixed_sizes: Any, fixed_ratios: Any, densities: Any, variances: Any,
    clip: bool = True, flatten_to_2d: bool = True, step_w: float = 0.0, step_h: float = 0.0, offset: float = 0.5,
) -> Any:  # fmt: skip
    high, wide = bounded_all(input.shape[2:])
    height, width = bounded_all(image.shape[2:])
    step_x, step_y = step_w or width / wide, step_h or height / high
    mean = int((step_x + step_y) * 0.5)
    found = []  # of a cell: places of centres beside its own, and halves of sides
    for size, density in zip(fixed_sizes, densities, strict=True):
        bounded(density**2)
        shift = mean // density
        for ratio in fixed_ratios:
            sides = size * math.sqrt(ratio) / 2, size / math.sqrt(ratio) / 2
            places = [shift / 2 - mean / 2 + k * shift for k in range(density)]
            found += [(x, y, *sides) for y in places for x in places]
    x, y, half_x, half_y = np.array(found, "float64").T
    x = x + ((np.arange(wide) + offset) * step_x).reshape(1, -1, 1)
    y = y + ((np.arange(high) + offset) * step_y).reshape(-1, 1, 1)
    edges = np.broadcast_arrays(
        (x - half_x) / width, (y - half_y) / height, (x + half_x) / width, (y + half_y) / height
    )
    boxes = np.stack(edges, -1)
    # Edges are inside of the image; clip says it of what is beyond the other side, too.
    boxes[..., :2], boxes[..., 2:] = np.maximum(boxes[..., :2], 0), np.minimum(boxes[..., 2:], 1)
    boxes = (boxes.clip(0, 1) if clip else boxes).astype("float32")
    factors = np.broadcast_to(np.array(variances, "float32"), boxes.shape).copy()
    shape = (-1, 4) if flatten_to_2d else boxes.shape
    return paddle.to_tensor(boxes.reshape(shape)), paddle.to_tensor(factors.reshape(shape))


@operator("iou_similarity")
def iou_similarity(x: Tensor, y: Tensor, *, box_normalized: bool = True) -> Any:
    extra = 0.0 if box_normalized else 1.0
    x = x.unsqueeze(1)

    def area(b: Tensor) -> Tensor:
        return (b[..., 2] - b[..., 0] + extra) * (b[..., 3] - b[..., 1] + extra)

    sides = paddle.minimum(x[..., 2:], y[..., 2:]) - paddle.maximum(x[..., :2], y[..., :2]) + extra
    sides = paddle.clip(sides, min=0.0)
    crossed = sides[..., 0] * sides[..., 1]
    return crossed / (area(x) + area(y) - crossed + 1e-10)


@operator("polygon_box_transform")
def polygon_box_transform(input: Tensor) -> Any:
    _, channels, height, width = input.shape
    x = paddle.arange(0, width, 1, input.dtype).reshape([1, 1, -1]) * 4.0
    y = paddle.arange(0, height, 1, input.dtype).reshape([1, -1, 1]) * 4.0
    odd = paddle.remainder(paddle.arange(0, channels, 1, "int64"), paddle.full([], 2, "int64")).reshape([-1, 1, 1])
    places = paddle.where(
        odd.astype("bool"), paddle.expand(y, [channels, height, width]), paddle.expand(x, [channels, height, width])
    )
    return places - input


@operator("box_decoder_and_assign")
def box_decoder_and_assign(
    prior_box: Tensor, prior_box_var: Tensor | None, target_box: Tensor, box_score: Tensor, *, box_clip: float
) -> Any:
    classes = box_score.shape[1]
    deltas = target_box.reshape([-1, classes, 4])
    deltas = deltas if prior_box_var is None else deltas * prior_box_var.reshape([-1])[:4]
    low, high = prior_box[:, :2], prior_box[:, 2:]
    sizes = high - low + 1.0
    centres = (low + sizes / 2).unsqueeze(1) + deltas[..., :2] * sizes.unsqueeze(1)
    halves = paddle.exp(paddle.clip(deltas[..., 2:], max=box_clip)) * sizes.unsqueeze(1) / 2
    boxes = paddle.concat([centres - halves, centres + halves - 1.0], -1)
    # The first class is the background.
    best = paddle.argmax(box_score[:, 1:], 1) + 1
    chosen = paddle.take_along_axis(boxes, best.reshape([-1, 1, 1]), 1)[:, 0]
    positive = paddle.max(box_score[:, 1:], 1, keepdim=True) > 0
    return boxes.reshape([-1, classes * 4]), paddle.where(positive, chosen, prior_box)


@operator("multiclass_nms")
def multiclass_nms(
    bboxes: Tensor, scores: Tensor, rois_num: Tensor | None = None, *, score_threshold: float, nms_top_k: int,
    keep_top_k: int, nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0,
    background_label: int = 0,
) -> Any:  # fmt: skip
    boxes, _, counts = multiclass_nms3(
        bboxes, scores, rois_num, score_threshold=score_threshold, nms_top_k=nms_top_k, keep_top_k=keep_top_k,
        nms_threshold=nms_threshold, normalized=normalized, nms_eta=nms_eta, background_label=background_label,
    )  # fmt: skip
    return _some(boxes.numpy(), counts.numpy())


def _some(rows: np.ndarray, counts: Any) -> tuple[Tensor, Tensor]:
    """Boxes and how many each image has; where nothing is left, one element says so."""
    if not len(rows):
        rows, counts = np.full((1, 1), -1, rows.dtype), [1]
    return paddle.to_tensor(rows), paddle.to_tensor(np.array(counts, "int32"))


def _rows(found: list[tuple[float, int, np.ndarray]], most: int) -> list[list[float]]:
    """Scores, classes and boxes of an image as rows: by class, the best ones alone."""
    if -1 < most < len(found):
        found = sorted(found, key=lambda f: -f[0])[:most]
        found = sorted(found, key=lambda f: f[1])
    return [[label, score, *box] for score, label, box in found]


@operator("locality_aware_nms")
def locality_aware_nms(
    bboxes: Tensor, scores: Tensor, *, score_threshold: float, nms_top_k: int, keep_top_k: int,
    nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0, background_label: int = -1,
) -> Any:  # fmt: skip
    rows, counts = [], []
    for boxes, by_class in zip(bboxes.numpy().copy(), scores.numpy().copy(), strict=True):
        found = []
        for label, weights in enumerate(by_class):
            if label == background_label:
                continue
            left = _merged(boxes, weights, nms_threshold, normalized)
            order = [i for i in sorted(left, key=lambda i: -weights[i]) if weights[i] > score_threshold]
            kept: list[int] = []
            limit = nms_threshold
            for i in order[:nms_top_k] if nms_top_k > -1 else order:
                if all(_overlap(boxes[i], boxes[j], normalized) <= limit for j in kept):
                    kept.append(i)
                    limit *= nms_eta if nms_eta < 1.0 and limit > 0.5 else 1.0
            found += [(weights[i], label, boxes[i].copy()) for i in kept]
        rows += (image := _rows(found, keep_top_k))
        counts.append(len(image))
    return _some(np.array(rows, bboxes.numpy().dtype).reshape(-1, 2 + bboxes.shape[2]), counts)


def _merged(boxes: np.ndarray, weights: np.ndarray, limit: float, normalized: bool) -> list[int]:
    """Places of boxes that stay where neighbours that overlap become one, of their weighted mean."""
    left: list[int] = []
    for i in range(len(boxes)):
        if left and _overlap(boxes[i], boxes[left[-1]], normalized) > limit:
            j = left[-1]
            together = weights[i] + weights[j]
            boxes[j] = (boxes[i] * weights[i] + boxes[j] * weights[j]) / together
            weights[j] = together
        else:
            left.append(i)
    return left


def _overlap(a: np.ndarray, b: np.ndarray, normalized: bool) -> float:
    """Intersection over union of two boxes, or of two convex quadrangles."""
    if len(a) == 4:
        return float(_overlaps(a, b[None], normalized)[0])
    if len(a) != 8:
        raise FormatError(f"boxes of 4 or 8 numbers are required, got {len(a)}")
    p, q = (_forward(x.reshape(-1, 2).astype("float64")) for x in (a, b))
    crossed = _area(_inside(p, q))
    union = _area(p) + _area(q) - crossed
    return crossed / union if union > 0 else 0.0


def _signed(p: np.ndarray) -> float:
    x, y = p[:, 0], p[:, 1]
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def _area(p: np.ndarray) -> float:
    return abs(_signed(p)) if len(p) else 0.0


def _forward(p: np.ndarray) -> np.ndarray:
    return p if _signed(p) >= 0 else p[::-1]


def _inside(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The part of a polygon that is in a convex one, edge by edge."""
    for a, b in zip(q, np.roll(q, -1, 0), strict=True):
        if not len(p):
            break
        edge = b - a
        side = edge[0] * (p[:, 1] - a[1]) - edge[1] * (p[:, 0] - a[0])
        cut = []
        for i in range(len(p)):
            j = (i + 1) % len(p)
            if side[i] >= 0:
                cut.append(p[i])
            if side[i] * side[j] < 0:
                cut.append(p[i] + (p[j] - p[i]) * side[i] / (side[i] - side[j]))
        p = np.array(cut).reshape(-1, 2)
    return p


@operator("retinanet_detection_output")
def retinanet_detection_output(
    bboxes: Tensors, scores: Tensors, anchors: Tensors, im_info: Tensor, *, score_threshold: float, nms_top_k: int,
    nms_threshold: float, keep_top_k: int, nms_eta: float = 1.0,
) -> Any:  # fmt: skip
    rows, counts = [], []
    for n, (height, width, scale) in enumerate(im_info.numpy().astype("float64")):
        most = np.array([round(width / scale) - 1, round(height / scale) - 1] * 2)
        labels, boxes, values = [], [], []
        for level, (deltas, score, anchor) in enumerate(zip(bboxes, scores, anchors, strict=True)):
            flat = score.numpy()[n].ravel()
            least = score_threshold if level < len(scores) - 1 else 0.0
            best = [i for i in np.argsort(-flat, kind="stable") if flat[i] > least]
            place, label = np.divmod(np.array(best[:nms_top_k] if nms_top_k > -1 else best, int), score.shape[2])
            a, d = anchor.numpy()[place].astype("float64"), deltas.numpy()[n][place].astype("float64")
            size = a[:, 2:] - a[:, :2] + 1
            centre, half = a[:, :2] + size / 2 + d[:, :2] * size, np.exp(d[:, 2:]) * size / 2
            box = np.concatenate([centre - half, centre + half - 1], 1) / scale
            boxes.append(np.clip(box, 0, most))
            labels.append(label)
            values.append(flat[place * score.shape[2] + label])
        label, box, value = (np.concatenate(x) for x in (labels, boxes, values))
        found = []
        for k in range(scores[0].shape[2]):
            own = np.flatnonzero(label == k)
            for i in _kept(box[own], value[own], -math.inf, -1, nms_threshold, nms_eta, False):
                found.append((value[own[i]], k + 1, box[own[i]]))
        # Those of all classes, the best first.
        image = [[k, v, *b] for v, k, b in sorted(found, key=lambda f: -f[0])]
        rows += (image := image[:keep_top_k] if keep_top_k > -1 else image)
        counts.append(len(image))
    return _some(np.array(rows, "float32").reshape(-1, 6), counts)


@operator("generate_proposals_by_scale")
def generate_proposals_by_scale(
    scores: Tensor, bbox_deltas: Tensor, im_info: Tensor, anchors: Tensor, variances: Tensor, *, pre_nms_top_n: int,
    post_nms_top_n: int, nms_thresh: float, min_size: float, eta: float = 1.0,
) -> Any:  # fmt: skip
    """As ``generate_proposals``, but the least size is that in the image before it was scaled."""
    parts = []
    for n, scale in enumerate(im_info[:, 2].numpy().tolist()):
        least = (max(min_size, 1.0) - 1.0) * scale + 1.0
        own = slice(n, n + 1)
        parts.append(ops.generate_proposals(
            scores[own], bbox_deltas[own], im_info[own, :2], anchors, variances, pre_nms_top_n, post_nms_top_n,
            nms_thresh, least, eta, True, True,
        ))  # fmt: skip
    return tuple(paddle.concat(list(x)) for x in zip(*parts, strict=True))
