"""Proposals of regions, and their levels in a pyramid of features."""

from __future__ import annotations

import math

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.detection import columns, counts, joined, owners, suppressed
from paddle.onnx.rules.elementwise import at_most, clipped
from paddle.onnx.shapes import known, reshape, shape, size, sizes_of, squeeze, transpose, unsqueeze
from paddle.onnx.table import Call, rule

MOST_LOG = math.log(1000 / 16)  # of a factor by which a proposal may grow


@rule("generate_proposals")
def generate_proposals(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    scores, deltas, image, anchors, variances = (o[i] for i in range(5))
    if o("eta", 1.0) < 1:
        raise Unsayable("generate_proposals of a fixed threshold (eta=1)")
    extra = 1.0 if o("pixel_offset", True) else 0.0
    per_place = sizes_of(g, scores)[1]
    score = known(g.node("Reshape", transpose(g, scores, [0, 2, 3, 1]), g.ints([0, -1])), [-1, -1])
    split = g.node("Reshape", deltas, _five(g, deltas, per_place))
    delta = transpose(g, known(split, [-1] * 5), [0, 3, 4, 1, 2])
    delta = known(g.node("Reshape", delta, g.ints([0, -1, 4])), [-1, -1, 4])
    anchor, variance = (known(reshape(g, v, [-1, 4]), [-1, 4]) for v in (anchors, variances))
    k = g.node("Min", size(g, score, 1), g.ints([o("pre_nms_top_n", 6000)]))
    score, place = (known(v, [-1, -1]) for v in g.node("TopK", score, k, outputs=2, axis=1))
    index = g.node(
        "Expand", unsqueeze(g, place, [-1]), g.node("Concat", g.node("Shape", place, made="int64"), g.ints([4]), axis=0)
    )
    delta = known(g.node("GatherElements", delta, index, axis=1), [-1, -1, 4])
    anchor, variance = (known(g.node("Gather", v, place, axis=0), [-1, -1, 4]) for v in (anchor, variance))
    boxes = _decoded(g, anchor, variance, delta, extra)
    height, width = (unsqueeze(g, known(c, [-1, 1]), [1]) for c in columns(g, image, 2))
    zero = g.constant(0.0, boxes.dtype)
    corners = [
        g.node("Max", g.node("Min", c, (width if i % 2 == 0 else height) - extra), zero)
        for i, c in enumerate(columns(g, boxes))
    ]
    boxes = joined(g, corners, 3)
    x1, y1, x2, y2 = columns(g, boxes)
    least = max(o("min_size", 0.1), 1.0)
    large = at_most(g, g.constant(least, boxes.dtype), x2 - x1 + extra) & at_most(
        g, g.constant(least, boxes.dtype), y2 - y1 + extra
    )
    if extra:  # with pixels, the center must lie in the image too
        large = large & at_most(g, (x1 + x2 + extra) * 0.5, width) & at_most(g, (y1 + y2 + extra) * 0.5, height)
    usable = squeeze(g, known(large, [-1, -1, 1]), [2])
    masked = known(g.node("Where", usable, score, g.constant(-1e30, score.dtype)), [-1, -1])
    closed = boxes + g.constant([0.0, 0.0, extra, extra], boxes.dtype) if extra else boxes
    most = g.ints([o("post_nms_top_n", 1000)])
    chosen = known(suppressed(g, closed, unsqueeze(g, masked, [1]), most, o("nms_thresh", 0.5), -1e29), [-1, 3])
    own, _, box = columns(g, chosen, 3)
    at = joined(g, [own, box], 2)
    rows = known(g.node("GatherND", boxes, at), [-1, 4])
    value = unsqueeze(g, known(g.node("GatherND", score, at), [-1]), [1])
    return rows, value, counts(g, squeeze(g, own, [1]), size(g, scores, 0))


def _five(g: Builder, deltas: Value, per_place: int | Value) -> Value:
    n, _, h, w = sizes_of(g, deltas)
    parts = [p if isinstance(p, Value) else g.ints([p]) for p in (n, per_place, 4, h, w)]
    return g.node("Concat", *parts, axis=0)


def _decoded(g: Builder, anchor: Value, variance: Value, delta: Value, extra: float) -> Value:
    x1, y1, x2, y2 = columns(g, anchor)
    dx, dy, dw, dh = columns(g, known(variance * delta, [-1, -1, 4]))
    w, h = x2 - x1 + extra, y2 - y1 + extra
    cx, cy = dx * w + (x1 + w * 0.5), dy * h + (y1 + h * 0.5)
    w, h = (g.node("Exp", clipped(g, d, None, MOST_LOG)) * s for d, s in ((dw, w), (dh, h)))
    return joined(g, [cx - w * 0.5, cy - h * 0.5, cx + w * 0.5 - extra, cy + h * 0.5 - extra], 3)


@rule("distribute_fpn_proposals")
def distribute_fpn_proposals(g: Builder, o: Call) -> tuple[list[Value], list[Value], Value]:
    boxes, number = o[0], o[1]
    low, high = o("min_level"), o("max_level")
    extra = 1.0 if o("pixel_offset", True) else 0.0
    x1, y1, x2, y2 = columns(g, boxes)
    w, h = x2 - x1, y2 - y1
    area = g.node("Where", (w < 0.0) | (h < 0.0), 0.0, (w + extra) * (h + extra))
    scale = g.node("Sqrt", squeeze(g, known(area, [-1, 1]), [1]))
    level = g.node("Floor", g.node("Log", scale / float(o("refer_scale")) + 1e-6) / math.log(2)) + float(
        o("refer_level")
    )
    level = clipped(g, level, float(low), float(high))
    own = None if number is None else owners(g, number, size(g, boxes, 0))
    made, per_level, places = [], [], []
    for k in range(low, high + 1):
        at = reshape(g, g.node("NonZero", g.node("Equal", level, float(k)), made="int64"), [-1])
        places.append(at)
        made.append(known(g.node("Gather", boxes, at, axis=0), [-1, 4]))
        if own is None:
            per_level.append(g.cast(known(g.node("Shape", at, made="int64"), [1]), "int32"))
        else:
            per_level.append(counts(g, g.node("Gather", own, at, axis=0), size(g, number, 0)))
    order = g.node("Concat", *places, axis=0)
    _, restore = g.node("TopK", order, shape(g, known(order, [-1])), outputs=2, axis=0, largest=0)
    return made, per_level, g.cast(unsqueeze(g, known(restore, [-1]), [1]), "int32")


@rule("collect_fpn_proposals")
def collect_fpn_proposals(g: Builder, o: Call) -> tuple[Value, Value]:
    boxes, scores, numbers_ = o[0], o[1], o[2]
    if numbers_ is None:
        raise Unsayable("counts of proposals per image in collect_fpn_proposals")
    own = g.node("Concat", *[owners(g, n, size(g, b, 0)) for n, b in zip(numbers_, boxes, strict=True)], axis=0)
    score = reshape(g, g.node("Concat", *scores, axis=0), [-1])
    k = g.node("Min", g.node("Shape", score, made="int64"), g.ints([o("post_nms_topn")]))
    _, order = g.node("TopK", score, k, outputs=2, axis=0)
    # By image, the best first.
    image = known(g.node("Gather", own, order, axis=0), [-1])
    _, grouped = g.node("TopK", image, k, outputs=2, axis=0, largest=0)
    order = g.node("Gather", order, grouped, axis=0)
    rows = known(g.node("Gather", g.node("Concat", *boxes, axis=0), order, axis=0), [-1, 4])
    return rows, counts(g, image, size(g, numbers_[0], 0))
