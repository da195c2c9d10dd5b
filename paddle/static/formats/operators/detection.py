"""Detection of objects: anchors, boxes, suppression, regions.

How many boxes are left depends on data, so operators that suppress run at once alone, not as a part of a program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from paddle.static.formats.operators.table import Tensors, bounded_all, operator
from paddle.vision import ops
from umiak.core.tensor import Tensor


@operator("yolo_box")
def yolo_box(
    x: Tensor, img_size: Tensor, *, anchors: Any, class_num: int = 1, conf_thresh: float = 0.01,
    downsample_ratio: int = 32, clip_bbox: bool = True, scale_x_y: float = 1.0, iou_aware: bool = False,
    iou_aware_factor: float = 0.5,
) -> Any:  # fmt: skip
    return tuple(ops.yolo_box(
        x, img_size, list(anchors), class_num, conf_thresh, downsample_ratio, clip_bbox, None, scale_x_y, iou_aware,
        iou_aware_factor,
    ))  # fmt: skip


@operator("prior_box")
def prior_box(
    input: Tensor, image: Tensor, *, min_sizes: Any, max_sizes: Any = (), aspect_ratios: Any = (), variances: Any = (),
    flip: bool = True, clip: bool = True, step_w: float = 0.0, step_h: float = 0.0, offset: float = 0.5,
    min_max_aspect_ratios_order: bool = False,
) -> Any:  # fmt: skip
    return tuple(ops.prior_box(
        input, image, list(min_sizes), list(max_sizes) or None, list(aspect_ratios) or [1.0],
        list(variances) or [0.1, 0.1, 0.2, 0.2], flip, clip, [step_w, step_h], offset, min_max_aspect_ratios_order,
    ))  # fmt: skip


@operator("box_coder")
def box_coder(
    prior_box: Tensor, prior_box_var: Tensor | None = None, target_box: Tensor | None = None, *,
    code_type: str = "encode_center_size", box_normalized: bool = True, axis: int = 0, variance: Any = (),
) -> Any:  # fmt: skip
    factors = prior_box_var if prior_box_var is not None else list(variance) or None
    return ops.box_coder(prior_box, factors, target_box, code_type, box_normalized, axis)  # type: ignore[arg-type]


@operator("box_clip")
def box_clip(input: Tensor, im_info: Tensor) -> Any:
    height, width, scale = (im_info[:, i : i + 1] for i in range(3))
    shape = [-1, *[1] * (input.ndim - 1)]
    bottom, right = ((paddle.round(n / scale) - 1.0).reshape(shape) for n in (height, width))
    zero = paddle.zeros([], input.dtype)
    high = paddle.concat([right, bottom, right, bottom], -1)
    return paddle.maximum(paddle.minimum(input, high), zero)


@operator("anchor_generator")
def anchor_generator(
    input: Tensor, *, anchor_sizes: Any, aspect_ratios: Any, variances: Any, stride: Any = (16.0, 16.0),
    offset: float = 0.5,
) -> Any:  # fmt: skip
    height, width = bounded_all(input.shape[2:])
    wide, high = stride
    halves = []
    for ratio in aspect_ratios:
        base = round((wide * high / ratio) ** 0.5)
        sides = (base, round(base * ratio))
        for size in anchor_sizes:
            w, h = (size / step * side for step, side in zip((wide, high), sides, strict=True))
            halves.append([-0.5 * (w - 1), -0.5 * (h - 1), 0.5 * (w - 1), 0.5 * (h - 1)])
    x = (paddle.arange(0, width, 1, "float32") * wide + offset * (wide - 1)).reshape([1, -1, 1])
    y = (paddle.arange(0, height, 1, "float32") * high + offset * (high - 1)).reshape([-1, 1, 1])
    x, y = (paddle.expand(v, [height, width, 1]) for v in (x, y))
    centres = paddle.unsqueeze(paddle.concat([x, y, x, y], -1), 2)
    anchors = centres + paddle.to_tensor(np.array(halves, "float32").reshape(1, 1, -1, 4))
    return anchors, paddle.expand(paddle.to_tensor(np.array(variances, "float32")), list(anchors.shape))


@operator("nms")
def nms(x: Tensor, *, threshold: float = 1.0) -> Any:
    return ops.nms(x, threshold)


@operator("matrix_nms")
def matrix_nms(
    bboxes: Tensor, scores: Tensor, *, score_threshold: float, nms_top_k: int, keep_top_k: int,
    post_threshold: float = 0.0, use_gaussian: bool = False, gaussian_sigma: float = 2.0, background_label: int = 0,
    normalized: bool = True,
) -> Any:  # fmt: skip
    boxes, counts, index = ops.matrix_nms(
        bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian, gaussian_sigma,
        background_label, normalized, True, True,
    )  # fmt: skip
    return boxes, index, counts


def _overlaps(box: np.ndarray, others: np.ndarray, normalized: bool) -> np.ndarray:
    """Intersection over union of one box with others."""
    extra = 0.0 if normalized else 1.0

    def area(b: np.ndarray) -> np.ndarray:
        return np.where(
            (b[..., 2] < b[..., 0]) | (b[..., 3] < b[..., 1]),
            0.0,
            (b[..., 2] - b[..., 0] + extra) * (b[..., 3] - b[..., 1] + extra),
        )

    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    sides = np.maximum(high - low + extra, 0.0)
    apart = (others[:, 0] > box[2]) | (others[:, 2] < box[0]) | (others[:, 1] > box[3]) | (others[:, 3] < box[1])
    crossed = np.where(apart, 0.0, sides[:, 0] * sides[:, 1])
    union = area(box) + area(others) - crossed
    return np.divide(crossed, union, out=np.zeros_like(crossed), where=union > 0)


def _kept(boxes: np.ndarray, scores: np.ndarray, least: float, top: int, limit: float, eta: float,
          normalized: bool) -> list[int]:  # fmt: skip
    """Boxes of one class that stay, the best first."""
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > least]
    order = order[:top] if top > -1 else order
    kept: list[int] = []
    for i in order:
        if not kept or (_overlaps(boxes[i], boxes[kept], normalized) <= limit).all():
            kept.append(int(i))
            if eta < 1.0 and limit > 0.5:
                limit *= eta
    return kept


@operator("multiclass_nms3")
def multiclass_nms3(
    bboxes: Tensor, scores: Tensor, rois_num: Tensor | None = None, *, score_threshold: float, nms_top_k: int,
    keep_top_k: int, nms_threshold: float = 0.3, normalized: bool = True, nms_eta: float = 1.0,
    background_label: int = 0,
) -> Any:  # fmt: skip
    all_boxes, all_scores = bboxes.numpy(), scores.numpy()
    if rois_num is None:
        images = [(n * all_boxes.shape[1], all_boxes[n], all_scores[n]) for n in range(len(all_boxes))]
    else:  # boxes [M, C, 4] and scores [M, C] of all images, one behind the other
        starts = np.cumsum([0, *rois_num.numpy()])
        images = [(a, all_boxes[a:b], all_scores[a:b].T) for a, b in zip(starts[:-1], starts[1:], strict=True)]
    rows, places, counts = [], [], []
    for start, boxes, by_class in images:
        found = []
        for label, of_class in enumerate(by_class):
            if label == background_label:
                continue
            its = boxes if boxes.ndim == 2 else boxes[:, label]
            for i in _kept(its, of_class, score_threshold, nms_top_k, nms_threshold, nms_eta, normalized):
                place = start + i if boxes.ndim == 2 else (start + i) * len(by_class) + label
                found.append((of_class[i], label, its[i], place))
        if -1 < keep_top_k < len(found):
            found = sorted(sorted(found, key=lambda f: -f[0])[:keep_top_k], key=lambda f: f[1])
        rows += [[label, score, *box] for score, label, box, _ in found]
        places += [place for _, _, _, place in found]
        counts.append(len(found))
    made = np.array(rows, all_boxes.dtype).reshape(-1, 6)
    index = np.array(places, "int32").reshape(-1, 1)
    return paddle.to_tensor(made), paddle.to_tensor(index), paddle.to_tensor(np.array(counts, "int32"))


@operator("roi_align")
def roi_align(
    x: Tensor, boxes: Tensor, boxes_num: Tensor | None = None, *, pooled_height: int = 1, pooled_width: int = 1,
    spatial_scale: float = 1.0, sampling_ratio: int = -1, aligned: bool = False,
) -> Any:  # fmt: skip
    counts = _counts(boxes, boxes_num)
    return ops.roi_align(x, boxes, counts, [pooled_height, pooled_width], spatial_scale, sampling_ratio, aligned)


def _counts(boxes: Tensor, boxes_num: Tensor | None) -> Tensor:
    """Counts of boxes by image: all belong to the first where nothing says so."""
    return paddle.full([1], 1, "int32") * boxes.shape[0] if boxes_num is None else boxes_num


@operator("roi_pool")
def roi_pool(
    x: Tensor, boxes: Tensor, boxes_num: Tensor | None = None, *, pooled_height: int = 1, pooled_width: int = 1,
    spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    return ops.roi_pool(x, boxes, _counts(boxes, boxes_num), [pooled_height, pooled_width], spatial_scale), None


@operator("psroi_pool")
def psroi_pool(
    x: Tensor, boxes: Tensor, boxes_num: Tensor | None = None, *, pooled_height: int = 1, pooled_width: int = 1,
    output_channels: int = 1, spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    return ops.psroi_pool(x, boxes, _counts(boxes, boxes_num), [pooled_height, pooled_width], spatial_scale)


@operator("generate_proposals")
def generate_proposals(
    scores: Tensor, bbox_deltas: Tensor, im_shape: Tensor, anchors: Tensor, variances: Tensor, *, pre_nms_top_n: int,
    post_nms_top_n: int, nms_thresh: float, min_size: float, eta: float = 1.0, pixel_offset: bool = True,
) -> Any:  # fmt: skip
    return tuple(ops.generate_proposals(
        scores, bbox_deltas, im_shape, anchors, variances, pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, eta,
        pixel_offset, True,
    ))  # fmt: skip


@operator("distribute_fpn_proposals")
def distribute_fpn_proposals(
    fpn_rois: Tensor, rois_num: Tensor | None = None, *, min_level: int, max_level: int, refer_level: int,
    refer_scale: int, pixel_offset: bool = False,
) -> Any:  # fmt: skip
    rois, index, counts = ops.distribute_fpn_proposals(
        fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset, rois_num
    )
    if counts is None:
        counts = [paddle.full([1], r.shape[0], "int32") for r in rois]
    return list(rois), list(counts), index


@operator("collect_fpn_proposals")
def collect_fpn_proposals(
    multi_level_rois: Tensors, multi_level_scores: Tensors, multi_level_rois_num: Tensors | None = None, *,
    post_nms_topn: int,
) -> Any:  # fmt: skip
    rois, scores = (np.concatenate([x.numpy() for x in xs]) for xs in (multi_level_rois, multi_level_scores))
    scores = scores.reshape(-1)
    counts = [x.numpy() for x in multi_level_rois_num or [paddle.to_tensor([len(r)]) for r in multi_level_rois]]
    image = np.concatenate([np.repeat(np.arange(len(n)), n) for n in counts])
    best = np.argsort(-scores, kind="stable")[:post_nms_topn]
    best = best[np.argsort(image[best], kind="stable")]
    found = np.bincount(image[best], minlength=len(counts[0])).astype("int32")
    return paddle.to_tensor(rois[best]), paddle.to_tensor(found)


@operator("bipartite_match")
def bipartite_match(dist_mat: Tensor, *, match_type: str = "bipartite", dist_threshold: float = 0.5) -> Any:
    left = dist_mat.numpy().astype("float64")
    rows, columns = left.shape
    place, distance = np.full((1, columns), -1, "int32"), np.zeros((1, columns), dist_mat.numpy().dtype)
    rest = left.copy()
    for _ in range(min(rows, columns)):
        i, j = np.unravel_index(rest.argmax(), rest.shape)
        if rest[i, j] <= 0:
            break
        place[0, j], distance[0, j] = i, left[i, j]
        rest[i, :], rest[:, j] = -1, -1
    if match_type == "per_prediction":
        for j in np.flatnonzero(place[0] == -1):
            i = int(left[:, j].argmax())
            if left[i, j] >= dist_threshold:
                place[0, j], distance[0, j] = i, left[i, j]
    return paddle.to_tensor(place), paddle.to_tensor(distance)


@operator("yolo_loss")
def yolo_loss(
    x: Tensor, gt_box: Tensor, gt_label: Tensor, gt_score: Tensor | None = None, *, anchors: Any, anchor_mask: Any,
    class_num: int = 1, ignore_thresh: float = 0.7, downsample_ratio: int = 32, use_label_smooth: bool = True,
    scale_x_y: float = 1.0,
) -> Any:  # fmt: skip
    return ops.yolo_loss(
        x, gt_box, gt_label, list(anchors), list(anchor_mask), class_num, ignore_thresh, downsample_ratio, gt_score,
        use_label_smooth, None, scale_x_y,
    )  # fmt: skip


@operator("decode_jpeg")
def decode_jpeg(x: Tensor, *, mode: str = "unchanged") -> Any:
    return ops.decode_jpeg(x, mode)


@operator("class_center_sample")
def class_center_sample(
    label: Tensor, *, num_classes: int, num_samples: int, ring_id: int = 0, rank: int = 0, nranks: int = 1
) -> Any:
    if nranks != 1:
        raise ValueError(f"[class_center_sample] requires all classes on one rank, got {nranks} ranks")
    return tuple(paddle.nn.functional.class_center_sample(label, num_classes, num_samples))
