"""Boxes: coded and decoded, made in a grid, chosen among, and read from images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.elementwise import at_most
from paddle.onnx.shapes import (
    arange,
    known,
    mixed,
    reduce,
    reshape,
    scalar,
    shape,
    size,
    sizes_of,
    slices,
    squeeze,
    transpose,
    unsqueeze,
)
from paddle.onnx.table import Call, rule


def columns(g: Builder, x: Value, count: int = 4) -> list[Value]:
    """The parts of the last axis, each with that axis of size 1."""
    return [known(slices(g, x, [x.rank - 1], [i], [i + 1]), [*x.sizes[:-1], 1]) for i in range(count)]


def joined(g: Builder, parts: list[Value], rank: int) -> Value:
    """Columns as one tensor."""
    return known(g.node("Concat", *parts, axis=rank - 1), [-1] * rank)


def owners(g: Builder, counts: Value, total: Value) -> Value:
    """To which image each of so many rows belongs, by how many rows each image has."""
    ends = unsqueeze(g, known(g.node("CumSum", g.cast(counts, "int64"), 0), [-1]), [0])
    rows = unsqueeze(g, arange(g, scalar(g, total)), [1])
    return reduce(g, "Sum", known(g.cast(~(rows < ends), "int64"), [-1, -1]), [1])


# --- codes -----------------------------------------------------------------------------------------------------------


@rule("box_coder")
def box_coder(g: Builder, o: Call) -> Value:
    prior, variance, target = o[0], o[1], o[2]
    extra = 0.0 if o("box_normalized", True) else 1.0
    encode = o("code_type", "encode_center_size") == "encode_center_size"
    axis = o("axis", 0)

    def placed(v: Value) -> Value:
        return unsqueeze(g, v, [0] if encode or axis == 0 else [1])

    x1, y1, x2, y2 = (placed(c) for c in columns(g, prior))
    width, height = x2 - x1 + extra, y2 - y1 + extra
    center_x, center_y = x1 + width * 0.5, y1 + height * 0.5
    if variance is not None:
        scales: list[Any] = [placed(c) for c in columns(g, variance)]
    else:
        scales = list(o("variance", [])) or [1.0] * 4
    if encode:
        a1, b1, a2, b2 = (unsqueeze(g, c, [1]) for c in columns(g, target))
        w, h = a2 - a1 + extra, b2 - b1 + extra
        parts = [
            ((a1 + a2) * 0.5 - center_x) / width, ((b1 + b2) * 0.5 - center_y) / height,
            g.node("Log", g.node("Abs", w / width)), g.node("Log", g.node("Abs", h / height)),
        ]  # fmt: skip
        return joined(g, [p / s for p, s in zip(parts, scales, strict=True)], 3)
    dx, dy, dw, dh = (c * s for c, s in zip(columns(g, target), scales, strict=True))
    x, y = dx * width + center_x, dy * height + center_y
    w, h = g.node("Exp", dw) * width, g.node("Exp", dh) * height
    return joined(g, [x - w * 0.5, y - h * 0.5, x + w * 0.5 - extra, y + h * 0.5 - extra], 3)


@rule("yolo_box")
def yolo_box(g: Builder, o: Call) -> tuple[Value, Value]:
    x, image = o[0], o[1]
    anchors, classes, stride = o("anchors"), o("class_num"), o("downsample_ratio")
    count, aware = len(anchors) // 2, o("iou_aware", False)
    n, _, rows, wide = sizes_of(g, x)
    overlap = None
    if aware:
        overlap = slices(g, x, [1], [0], [count])
        x = slices(g, x, [1], [count], [2**31])
    y = known(g.node("Reshape", x, mixed(g, [n, count, 5 + classes, rows, wide])), [-1] * 5)
    y = transpose(g, y, [0, 1, 3, 4, 2])  # batch, anchor, row, column, element
    parts = columns(g, y, 5)
    scores = slices(g, y, [4], [5], [5 + classes])
    line = [v if isinstance(v, Value) else g.ints([v]) for v in (rows, wide)]
    high, broad = (g.cast(v, "float32") for v in line)
    row, column = (g.cast(arange(g, scalar(g, v)), "float32") for v in line)
    image_h, image_w = (reshape(g, g.cast(c, "float32"), [-1, 1, 1, 1, 1]) for c in columns(g, image, 2))
    scale = o("scale_x_y", 1.0)
    shift = -0.5 * (scale - 1)

    def center(part: Value, grid: Value, cells: Value, extent: Value) -> Value:
        return (g.node("Sigmoid", part) * scale + shift + grid) * extent / cells

    def extent(part: Value, sizes: list[int], cells: Value, image_size: Value) -> Value:
        anchor = g.constant(np.array(sizes).reshape([1, -1, 1, 1, 1]), "float32")
        return g.node("Exp", part) * anchor * image_size / (cells * float(stride))

    cx = center(parts[0], reshape(g, column, [1, 1, 1, -1, 1]), broad, image_w)
    cy = center(parts[1], reshape(g, row, [1, 1, -1, 1, 1]), high, image_h)
    w, h = extent(parts[2], anchors[::2], broad, image_w), extent(parts[3], anchors[1::2], high, image_h)
    sure = g.node("Sigmoid", parts[4])
    if overlap is not None:
        factor = o("iou_aware_factor", 0.5)
        sure = g.node("Pow", sure, 1 - factor) * g.node(
            "Pow", g.node("Sigmoid", unsqueeze(g, known(overlap, [-1] * 4), [-1])), factor
        )
    corners = [cx - w * 0.5, cy - h * 0.5, cx + w * 0.5, cy + h * 0.5]
    if o("clip_bbox", True):
        zero = g.constant(0.0, "float32")
        corners = [
            g.node("Max", corners[0], zero), g.node("Max", corners[1], zero),
            g.node("Min", corners[2], image_w - 1.0), g.node("Min", corners[3], image_h - 1.0),
        ]  # fmt: skip
    kept = g.cast(at_most(g, g.constant(o("conf_thresh", 0.01), "float32"), sure), "float32")
    boxes = g.node("Concat", *corners, axis=4) * kept
    return (
        g.node("Reshape", boxes, mixed(g, [n, -1, 4])),
        g.node("Reshape", g.node("Sigmoid", scores) * sure * kept, mixed(g, [n, -1, classes])),
    )


# --- grids -----------------------------------------------------------------------------------------------------------


def _priors(o: Call) -> list[tuple[float, float]]:
    """Widths and heights of the boxes at a place, in pixels."""
    ratios = [1.0]
    for r in o("aspect_ratios", []):
        if all(abs(r - s) > 1e-6 for s in ratios):
            ratios += [r, 1 / r] if o("flip", False) else [r]
    made = []
    largest = o("max_sizes", [])
    for i, low in enumerate(o("min_sizes")):
        framed = [(low * math.sqrt(r), low / math.sqrt(r)) for r in ratios]
        square = [(math.sqrt(low * largest[i]),) * 2] if largest else []
        if o("min_max_aspect_ratios_order", False):
            made += [framed[0], *square, *framed[1:]]
        else:
            made += [*framed, *square]
    return made


def _centers(g: Builder, count: Value, step: Value | float, offset: float) -> Value:
    return (g.cast(arange(g, scalar(g, count)), "float32") + offset) * step


@rule("prior_box")
def prior_box(g: Builder, o: Call) -> tuple[Value, Value]:
    x, image = o[0], o[1]
    rows, wide = size(g, x, 2), size(g, x, 3)
    height, width = (g.cast(size(g, image, a), "float32") for a in (2, 3))
    step_w: Any = o("step_w", 0.0) or width / g.cast(wide, "float32")
    step_h: Any = o("step_h", 0.0) or height / g.cast(rows, "float32")
    sizes = np.array(_priors(o), np.float32)
    cx = reshape(g, _centers(g, wide, step_w, o("offset", 0.5)), [1, -1, 1, 1])
    cy = reshape(g, _centers(g, rows, step_h, o("offset", 0.5)), [-1, 1, 1, 1])
    half_w, half_h = (g.constant(sizes[:, i].reshape([1, 1, -1, 1]) / 2) for i in range(2))
    area = cx * 0.0 + cy * 0.0 + half_w * 0.0
    parts = [(cx - half_w) / width, (cy - half_h) / height, (cx + half_w) / width, (cy + half_h) / height]
    boxes = g.node("Concat", *[p + area for p in parts], axis=3)
    if o("clip", False):
        boxes = g.node("Clip", boxes, 0.0, 1.0)
    variances = g.constant(np.array(o("variances")).reshape([1, 1, 1, 4]), "float32")
    return boxes, known(boxes, [-1] * 4) * 0.0 + variances


@rule("anchor_generator")
def anchor_generator(g: Builder, o: Call) -> tuple[Value, Value]:
    x, stride, offset = o[0], o("stride"), o("offset", 0.5)
    sizes = []
    for ratio in o("aspect_ratios"):
        for low in o("anchor_sizes"):
            base_w = round(math.sqrt(stride[0] * stride[1] / ratio))
            base_h = round(base_w * ratio)
            sizes.append((low / stride[0] * base_w, low / stride[1] * base_h))
    half = (np.array(sizes, np.float32) - 1) / 2
    cx = reshape(
        g, g.cast(arange(g, scalar(g, size(g, x, 3))), "float32") * stride[0] + offset * (stride[0] - 1), [1, -1, 1, 1]
    )
    cy = reshape(
        g, g.cast(arange(g, scalar(g, size(g, x, 2))), "float32") * stride[1] + offset * (stride[1] - 1), [-1, 1, 1, 1]
    )
    half_w, half_h = (g.constant(half[:, i].reshape([1, 1, -1, 1])) for i in range(2))
    area = cx * 0.0 + cy * 0.0 + half_w * 0.0
    boxes = g.node("Concat", *[p + area for p in (cx - half_w, cy - half_h, cx + half_w, cy + half_h)], axis=3)
    variances = g.constant(np.array(o("variances")).reshape([1, 1, 1, 4]), "float32")
    return boxes, known(boxes, [-1] * 4) * 0.0 + variances


@rule("box_clip")
def box_clip(g: Builder, o: Call) -> Value:
    x, info = o[0], o[1]
    if info.shape is None or info.shape[0] != 1:
        raise Unsayable("box_clip of one image")
    height, width, scale = (squeeze(g, known(c, [1, 1]), [0, 1]) for c in columns(g, info, 3))
    most = [g.node("Round", v / scale) - 1.0 for v in (width, height)]
    zero = g.constant(0.0, x.dtype)
    return joined(g, [g.node("Max", g.node("Min", c, most[i % 2]), zero) for i, c in enumerate(columns(g, x))], x.rank)


# --- choices ---------------------------------------------------------------------------------------------------------


@rule("nms")
def nms(g: Builder, o: Call) -> Value:
    boxes = o[0]
    rank = g.cast(arange(g, scalar(g, size(g, boxes, 0))), "float32")  # earlier boxes win
    chosen = suppressed(g, unsqueeze(g, boxes, [0]), unsqueeze(g, -rank, [0, 1]), None, o("threshold"), -math.inf)
    return known(squeeze(g, known(slices(g, chosen, [1], [2], [3]), [-1, 1]), [1]), [-1])


def suppressed(g: Builder, boxes: Value, scores: Value, most: Value | None, overlap: float, least: float) -> Value:
    """NonMaxSuppression: rows of image, class and box, in that order, the best of a class first."""
    most = size(g, boxes, 1) if most is None else most
    floor = g.constant([least], "float32") if math.isfinite(least) else None
    return g.node("NonMaxSuppression", boxes, scores, most, g.constant([overlap], "float32"), floor, made="int64")


def _without(g: Builder, scores: Value, o: Call) -> Value:
    """Scores ``[images, classes, boxes]`` without the background and, per class, those behind the best nms_top_k."""
    low = g.constant(-1e30, scores.dtype)
    background, most = o("background_label", 0), o("nms_top_k", -1)
    if background >= 0 and scores.sizes[1] != 1:
        classes = arange(g, scalar(g, size(g, scores, 1)))
        other = reshape(g, g.node("Equal", classes, background), [1, -1, 1])
        scores = known(g.node("Where", other, low, scores), scores.sizes)
    if most >= 0 and not 0 <= scores.sizes[2] <= most:
        k = g.node("Min", size(g, scores, 2), g.ints([most]))
        value, index = g.node("TopK", scores, k, outputs=2, axis=2)
        blank = g.node("Expand", low, shape(g, scores))
        scores = known(g.node("ScatterElements", blank, index, value, axis=2), scores.sizes)
    return scores


def best(g: Builder, score: Value, image: Value, images: Value, most: int) -> Value:
    """Indices of the detections that are among the best ``most`` of their image, by falling score."""
    count = shape(g, score)
    _, order = g.node("TopK", score, count, outputs=2, axis=0)
    if most >= 0:
        own = g.node("Gather", image, order, axis=0)
        mine = g.cast(
            g.node("Equal", unsqueeze(g, known(own, [-1]), [1]), unsqueeze(g, arange(g, scalar(g, images)), [0])),
            "int64",
        )
        rank = reduce(g, "Sum", known(g.node("CumSum", mine, 0) * mine, [-1, -1]), [1])
        order = g.node("Compress", order, ~(rank > most), axis=0)
    return known(order, [-1])


def ascending(g: Builder, x: Value) -> Value:
    """Integers in ascending order."""
    value, _ = g.node("TopK", x, g.node("Shape", x, made="int64"), outputs=2, axis=0, largest=0)
    return known(value, [-1])


def counts(g: Builder, image: Value, images: Value) -> Value:
    """Count the detections of each image."""
    same = g.node("Equal", unsqueeze(g, arange(g, scalar(g, images)), [1]), unsqueeze(g, known(image, [-1]), [0]))
    return g.cast(reduce(g, "Sum", known(g.cast(same, "int64"), [-1, -1]), [1]), "int32")


def _least(o: Call) -> float:
    """Boxes that are left out have a score of -1e30; a threshold below it would take them."""
    return max(o("score_threshold", 0.0), -1e29)


@rule("multiclass_nms3")
def multiclass_nms3(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    if o("nms_eta", 1.0) < 1:
        raise Unsayable("multiclass_nms3 of a fixed threshold (nms_eta=1)")
    if o[2] is not None:
        return _packed_nms(g, o)
    boxes, scores = o[0], o[1]
    masked = _without(g, scores, o)
    chosen = suppressed(g, _closed(g, boxes, o), masked, None, o("nms_threshold", 0.3), _least(o))
    image, label, place = (squeeze(g, c, [1]) for c in columns(g, known(chosen, [-1, 3]), 3))
    score = g.node("GatherND", scores, chosen)
    kept = ascending(g, best(g, score, image, size(g, boxes, 0), o("keep_top_k", -1)))
    image, label, place, score = (known(g.node("Gather", v, kept, axis=0), [-1]) for v in (image, label, place, score))
    at = joined(g, [unsqueeze(g, image, [1]), unsqueeze(g, place, [1])], 2)
    rows = [unsqueeze(g, g.cast(label, scores.dtype), [1]), unsqueeze(g, score, [1]), g.node("GatherND", boxes, at)]
    index = g.cast(unsqueeze(g, image * size(g, boxes, 1) + place, [1]), "int32")
    return joined(g, rows, 2), index, counts(g, image, size(g, boxes, 0))


def _closed(g: Builder, boxes: Value, o: Call) -> Value:
    """Boxes whose last pixel is part of them (not normalised) end one behind it."""
    return boxes if o("normalized", True) else boxes + g.constant([0.0, 0.0, 1.0, 1.0], boxes.dtype)


def _packed_nms(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    """Boxes ``[boxes, classes, 4]`` of several images one behind the other: every class has its own, as an image of
    NonMaxSuppression. Boxes of different images are moved apart, so that none overlap."""
    boxes, scores, number = o[0], o[1], o[2]
    image = owners(g, number, size(g, boxes, 0))
    spread = reduce(g, "Max", g.node("Abs", boxes), None) * 2.0 + 2.0
    apart = _closed(g, boxes, o) + reshape(g, g.cast(image, boxes.dtype), [-1, 1, 1]) * spread
    by_class = transpose(g, known(apart, [-1, -1, 4]), [1, 0, 2])
    line = unsqueeze(g, transpose(g, scores, [1, 0]), [0])  # 1, classes, boxes
    masked = transpose(g, known(_without(g, line, o), line.shape), [1, 0, 2])
    chosen = suppressed(g, by_class, masked, None, o("nms_threshold", 0.3), _least(o))
    label, _, place = (squeeze(g, c, [1]) for c in columns(g, known(chosen, [-1, 3]), 3))
    at = joined(g, [unsqueeze(g, place, [1]), unsqueeze(g, label, [1])], 2)
    score, box = g.node("GatherND", scores, at), g.node("GatherND", boxes, at)
    own = known(g.node("Gather", image, place, axis=0), [-1])
    kept = ascending(g, best(g, score, own, size(g, number, 0), o("keep_top_k", -1)))
    # By image; of equal ones the order, by class and score, stays.
    _, order = g.node(
        "TopK", g.node("Gather", own, kept, axis=0), g.node("Shape", kept, made="int64"), outputs=2, axis=0, largest=0
    )
    kept = known(g.node("Gather", kept, order, axis=0), [-1])
    label, place, score, own = (known(g.node("Gather", v, kept, axis=0), [-1]) for v in (label, place, score, own))
    rows = [
        unsqueeze(g, g.cast(label, scores.dtype), [1]),
        unsqueeze(g, score, [1]),
        g.node("Gather", box, kept, axis=0),
    ]
    index = unsqueeze(g, place * size(g, boxes, 1) + label, [1])
    return joined(g, rows, 2), g.cast(index, "int32"), counts(g, own, size(g, number, 0))


@rule("matrix_nms")
def matrix_nms(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    boxes, scores = o[0], o[1]
    background, most = o("background_label", 0), o("nms_top_k", -1)
    classes = arange(g, scalar(g, size(g, scores, 1)))
    usable = scores > o("score_threshold", 0.0)
    if background >= 0:
        usable = usable & ~reshape(g, g.node("Equal", classes, background), [1, -1, 1])
    low = g.constant(-1.0, scores.dtype)
    k = size(g, scores, 2) if most < 0 else g.node("Min", size(g, scores, 2), g.ints([most]))
    score, place = g.node("TopK", g.node("Where", usable, scores, low), k, outputs=2, axis=2)
    score, place = known(score, [-1] * 3), known(place, [-1] * 3)
    # Boxes per image, class and place.
    images = arange(g, scalar(g, size(g, boxes, 0)))
    image = g.cast(place * 0, "int64") + reshape(g, images, [-1, 1, 1])
    at = joined(g, [unsqueeze(g, image, [-1]), unsqueeze(g, place, [-1])], 4)
    box = known(g.node("GatherND", boxes, at), [-1, -1, -1, 4])
    overlap = _overlaps(g, box, 0.0 if o("normalized", True) else 1.0)
    line = arange(g, scalar(g, k))
    before = unsqueeze(g, line, [1]) < unsqueeze(g, line, [0])  # row: the better box, column: the worse
    overlap = g.node("Where", before, overlap, 0.0)
    worst = unsqueeze(g, reduce(g, "Max", known(overlap, [-1] * 4), [2]), [-1])
    if o("use_gaussian", False):
        decay = g.node("Exp", (worst * worst - overlap * overlap) * o("gaussian_sigma", 2.0))
    else:
        decay = (1.0 - overlap) / (1.0 - worst)
    decay = reduce(g, "Min", known(g.node("Where", before, decay, 1.0), [-1] * 4), [2])
    final = known(g.node("Where", score > low, score * decay, low), [-1] * 3)
    kept = (score > o("score_threshold", 0.0)) & ~(final < g.constant(max(o("post_threshold", 0.0), 0.0), scores.dtype))
    found = known(transpose(g, known(g.node("NonZero", kept, made="int64"), [3, -1]), [1, 0]), [-1, 3])
    own, label, _ = (squeeze(g, c, [1]) for c in columns(g, found, 3))
    value, at_box, where = (g.node("GatherND", v, found) for v in (final, box, place))
    order = best(g, value, own, size(g, boxes, 0), o("keep_top_k", -1))
    # By image, the best first.
    _, grouped = g.node(
        "TopK", g.node("Gather", own, order, axis=0), g.node("Shape", order, made="int64"), outputs=2, axis=0, largest=0
    )
    order = known(g.node("Gather", order, grouped, axis=0), [-1])
    own, label, value, where = (known(g.node("Gather", v, order, axis=0), [-1]) for v in (own, label, value, where))
    rows = [
        unsqueeze(g, g.cast(label, scores.dtype), [1]),
        unsqueeze(g, value, [1]),
        g.node("Gather", at_box, order, axis=0),
    ]
    index = g.cast(unsqueeze(g, own * size(g, boxes, 1) + where, [1]), "int32")
    return joined(g, rows, 2), index, counts(g, own, size(g, boxes, 0))


def _overlaps(g: Builder, box: Value, extra: float) -> Value:
    """Intersection over union of all pairs of boxes ``[..., boxes, 4]``."""
    rank = box.rank
    x1, y1, x2, y2 = columns(g, box)
    order = [*range(rank - 2), rank - 1, rank - 2]

    def across(kind: str, v: Value) -> Value:
        return g.node(kind, v, transpose(g, v, order))

    zero = g.constant(0.0, box.dtype)
    width = g.node("Max", across("Min", x2) - across("Max", x1) + extra, zero)
    height = g.node("Max", across("Min", y2) - across("Max", y1) + extra, zero)
    inside = width * height
    area = known((x2 - x1 + extra) * (y2 - y1 + extra), [*[-1] * (rank - 1), 1])
    union = area + transpose(g, area, order) - inside
    return g.node("Where", union > 0.0, inside / union, 0.0)


# --- regions of images ------------------------------------------------------------------------------------------------


def _images(g: Builder, boxes: Value, number: Value | None) -> Value:
    total = size(g, boxes, 0)
    if number is None:
        return known(g.node("Expand", g.constant([0], "int64"), total), [-1])
    return owners(g, number, total)


@rule("roi_align")
def roi_align(g: Builder, o: Call) -> Value:
    x, boxes = o[0], o[1]
    mode = "half_pixel" if o("aligned", True) else "output_half_pixel"
    return g.node(
        "RoiAlign", x, boxes, _images(g, boxes, o[2]), output_height=o("pooled_height", 1),
        output_width=o("pooled_width", 1),
        sampling_ratio=max(o("sampling_ratio", -1), 0), spatial_scale=o("spatial_scale", 1.0),
        coordinate_transformation_mode=mode if g.opset >= 16 or mode == "half_pixel" else None,
    )  # fmt: skip


@rule("psroi_pool")
def psroi_pool(g: Builder, o: Call) -> Value:
    """The mean of a bin's part of the region, in the channel that belongs to the bin: rows and columns as masks."""
    x, boxes = o[0], o[1]
    high, wide, channels = o("pooled_height", 1), o("pooled_width", 1), o("output_channels", 1)
    scale = o("spatial_scale", 1.0)
    x1, y1, x2, y2 = columns(g, boxes)
    masks, lengths = [], []
    for first, last, bins, axis in ((y1, y2, high, 2), (x1, x2, wide, 3)):
        start, end = _rounded(g, first) * scale, (_rounded(g, last) + 1.0) * scale
        extent = g.node("Max", end - start, g.constant(0.1, x.dtype)) / float(bins)
        limit = g.cast(scalar(g, size(g, x, axis)), x.dtype)
        edges = [
            _edge(g, kind, g.constant([[float(i + k) for i in range(bins)]], x.dtype) * extent + start, limit)
            for k, kind in enumerate(("Floor", "Ceil"))
        ]
        line = g.cast(arange(g, scalar(g, size(g, x, axis))), x.dtype)
        low, top = (unsqueeze(g, known(e, [-1, bins]), [2]) for e in edges)
        masks.append(g.cast(at_most(g, low, line) & (line < top), x.dtype))  # boxes, bins, rows or columns
        lengths.append(known(edges[1] - edges[0], [-1, bins]))
    own = g.node("Gather", x, _images(g, boxes, o[2]), axis=0)
    rows, across = sizes_of(g, x)[2:]
    split = g.node("Reshape", own, mixed(g, [-1, channels, high, wide, rows, across]))
    down, along = unsqueeze(g, known(masks[0], [-1] * 3), [1, 3, 5]), unsqueeze(g, known(masks[1], [-1] * 3), [1, 2, 4])
    total = reduce(g, "Sum", known(split * down * along, [-1] * 6), [4, 5])
    area = unsqueeze(g, lengths[0], [2]) * unsqueeze(g, lengths[1], [1])
    return total / unsqueeze(g, known(g.node("Max", area, g.constant(1.0, x.dtype)), [-1, high, wide]), [1])


def _rounded(g: Builder, x: Value) -> Value:
    """Coordinates rounded, halves upwards."""
    return g.node("Floor", x + 0.5)


def _edge(g: Builder, kind: str, edge: Value, limit: Value) -> Value:
    """A rounded edge of a bin, within the image."""
    return g.node("Max", g.node("Min", g.node(kind, edge), limit), g.constant(0.0, edge.dtype))


@rule("roi_pool")
def roi_pool(g: Builder, o: Call) -> Value:
    x, boxes = o[0], o[1]
    image = unsqueeze(g, g.cast(_images(g, boxes, o[2]), boxes.dtype), [1])
    return g.node(
        "MaxRoiPool", x, g.node("Concat", image, boxes, axis=1),
        pooled_shape=[o("pooled_height", 1), o("pooled_width", 1)], spatial_scale=o("spatial_scale", 1.0),
    )  # fmt: skip
