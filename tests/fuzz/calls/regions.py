"""Pooling of regions, deformable convolution, boxes and anchors: loops over elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paddle.vision import ops
from tests.fuzz.calls.record import Call, boxes_in, shared


def between(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """Bilinear interpolation of ``[C, H, W]``, zeros outside."""
    h, w = image.shape[1:]
    top, left = math.floor(y), math.floor(x)
    out = np.zeros(image.shape[0])
    for i, a in ((top, 1 - (y - top)), (top + 1, y - top)):
        for j, b in ((left, 1 - (x - left)), (left + 1, x - left)):
            if 0 <= i < h and 0 <= j < w:
                out += a * b * image[:, i, j]
    return out


def sample(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """As regions sample: up to 1 outside, the border counts."""
    h, w = image.shape[1:]
    if not (-1 <= y <= h and -1 <= x <= w):
        return np.zeros(image.shape[0])
    return between(image, min(max(y, 0), h - 1), min(max(x, 0), w - 1))


def regions(fixed: np.random.Generator, rng: np.random.Generator, channels: int) -> tuple:
    n, h, w, count = *(int(v) for v in rng.integers(2, 7, 3)), int(rng.choice([0, 1, 5]))
    image = np.repeat(np.arange(n), shared(rng, count, n))
    x = (rng.permutation(n * channels * h * w) + 0.5).reshape(n, channels, h, w) / (n * channels * h * w)
    return (x, boxes_in(rng, count, w, h) * 1.7, np.bincount(image, minlength=n).astype("int32")), image


def roi_align(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    size, ratio = tuple(int(v) for v in fixed.integers(1, 4, 2)), int(fixed.choice([-1, 1, 2, 3]))
    scale, aligned = float(fixed.choice([0.5, 0.61])), bool(fixed.integers(2))
    arrays, image = regions(fixed, rng, 3)

    def judge(x: np.ndarray, boxes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out = np.zeros((len(boxes), x.shape[1], *size))
        for r, box in enumerate(boxes * scale - (0.5 if aligned else 0)):
            sides = box[2:] - box[:2] if aligned else np.maximum(box[2:] - box[:2], 1)
            step = sides[::-1] / size
            samples = [ratio if ratio > 0 else math.ceil(s) for s in step]
            for i, j in np.ndindex(size):
                points = [
                    sample(
                        x[image[r]],
                        box[1] + (i + (k + 0.5) / samples[0]) * step[0],
                        box[0] + (j + (m + 0.5) / samples[1]) * step[1],
                    )
                    for k, m in np.ndindex(*samples)
                ]
                out[r, :, i, j] = np.mean(points, axis=0)
        return out

    def ours(x: Any, boxes: Any, numbers: Any) -> Any:
        return ops.roi_align(x, boxes, numbers, size, scale, ratio, aligned)

    return Call(f"roi_align {size} {ratio} {scale} {aligned}", ours, judge, arrays, (0,))


def cells(box: np.ndarray, size: tuple, limits: tuple) -> Any:
    """Each cell of a box (x1, y1, x2, y2) in whole elements within the limits."""
    step = (max(box[3] - box[1], 0.1) / size[0], max(box[2] - box[0], 0.1) / size[1])
    for i, j in np.ndindex(size):
        part = []
        for index, low, length, limit in ((i, box[1], step[0], limits[0]), (j, box[0], step[1], limits[1])):
            first, last = math.floor(index * length + low), math.ceil((index + 1) * length + low)
            part.append(slice(min(max(first, 0), limit), min(max(last, 0), limit)))
        yield i, j, tuple(part)


def roi_pool(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    size, scale = tuple(int(v) for v in fixed.integers(1, 4, 2)), float(fixed.choice([0.5, 0.625]))
    arrays, image = regions(fixed, rng, 3)

    def judge(x: np.ndarray, boxes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out = np.zeros((len(boxes), x.shape[1], *size))
        for r, box in enumerate(boxes):
            whole = np.array([math.copysign(math.floor(abs(v * scale) + 0.5), v) for v in box])
            whole[2:] = np.maximum(whole[2:], whole[:2]) + 1
            for i, j, part in cells(whole, size, x.shape[2:]):
                inside = x[image[r]][(slice(None), *part)]
                out[r, :, i, j] = inside.max((1, 2)) if inside.size else 0
        return out

    def ours(x: Any, boxes: Any, numbers: Any) -> Any:
        return ops.roi_pool(x, boxes, numbers, size, scale)

    return Call(f"roi_pool {size} {scale}", ours, judge, arrays, (0,))


def psroi_pool(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    size, scale = tuple(int(v) for v in fixed.integers(1, 4, 2)), float(fixed.choice([0.5, 0.625]))
    arrays, image = regions(fixed, rng, 2 * size[0] * size[1])

    def judge(x: np.ndarray, boxes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out = np.zeros((len(boxes), 2, *size))
        for r, box in enumerate(boxes):
            whole = np.array([math.copysign(math.floor(abs(v) + 0.5), v) for v in box])
            whole[2:] += 1
            for i, j, part in cells(whole * scale, size, x.shape[2:]):
                for c in range(2):
                    inside = x[image[r], (c * size[0] + i) * size[1] + j][part]
                    out[r, c, i, j] = inside.mean() if inside.size else 0
        return out

    def ours(x: Any, boxes: Any, numbers: Any) -> Any:
        return ops.psroi_pool(x, boxes, numbers, size, scale)

    return Call(f"psroi_pool {size} {scale}", ours, judge, arrays, (0,))


def deform_conv2d(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    stride, padding, dilation = (tuple(int(v) for v in fixed.integers(a, 3, 2)) for a in (1, 0, 1))
    groups, parts = int(fixed.integers(1, 3)), int(fixed.integers(1, 3))
    kh, kw = (int(v) for v in fixed.integers(1, 4, 2))
    masked, biased = bool(fixed.integers(2)), bool(fixed.integers(2))
    n, h, w = (int(rng.integers(a, b)) for a, b in ((1, 3), (5, 8), (5, 8)))
    rows, columns = (
        (v + 2 * padding[i] - dilation[i] * (k - 1) - 1) // stride[i] + 1 for i, (v, k) in enumerate(((h, kh), (w, kw)))
    )
    arrays = [
        rng.standard_normal((n, 4, h, w)),
        rng.uniform(-1.5, 1.5, (n, 2 * parts * kh * kw, rows, columns)),
        rng.standard_normal((2, 4 // groups, kh, kw)),
    ]
    arrays += [rng.standard_normal(2)] * biased + [rng.random((n, parts * kh * kw, rows, columns))] * masked

    def split(rest: tuple) -> tuple:
        return rest[0] if biased else None, rest[-1] if masked else None

    def ours(x: Any, offset: Any, weight: Any, *rest: Any) -> Any:
        bias, mask = split(rest)
        return ops.deform_conv2d(x, offset, weight, bias, stride, padding, dilation, parts, groups, mask)

    def judge(x: Any, offset: Any, weight: Any, *rest: Any) -> np.ndarray:
        bias, mask = split(rest)
        out = np.zeros((n, 2, rows, columns))
        each, own = 4 // parts, 4 // groups
        for b, r, c in np.ndindex(n, rows, columns):
            patch = np.zeros((4, kh, kw))
            for d, i, j in np.ndindex(parts, kh, kw):
                k = (d * kh + i) * kw + j
                y = r * stride[0] - padding[0] + i * dilation[0] + offset[b, 2 * k, r, c]
                z = c * stride[1] - padding[1] + j * dilation[1] + offset[b, 2 * k + 1, r, c]
                value = between(x[b, d * each : (d + 1) * each], y, z)
                patch[d * each : (d + 1) * each, i, j] = value * (1 if mask is None else mask[b, k, r, c])
            for o in range(2):
                g = o * groups // 2
                out[b, o, r, c] = (patch[g * own : (g + 1) * own] * weight[o]).sum()
        return out if bias is None else out + bias[:, None, None]

    text = f"deform_conv2d {stride} {padding} {dilation} {parts} {groups} {kh, kw} {masked} {biased}"
    return Call(text, ours, judge, tuple(arrays), tuple(range(len(arrays))))


def prior_box(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    small = [float(v) for v in fixed.uniform(2, 6, int(fixed.integers(1, 3)))]
    large = [v + 3 for v in small] if fixed.integers(2) else None
    ratios = [[1.0], [2.0], [1.0, 2.0, 0.4]][int(fixed.integers(3))]
    flip, clip, first = (bool(v) for v in fixed.integers(0, 2, 3))
    steps, offset = [[0.0, 0.0], [4.0, 5.0]][int(fixed.integers(2))], float(fixed.choice([0.5, 0.2]))
    sizes = [int(v) for v in rng.integers(1, 5, 2)], [int(v) for v in rng.integers(8, 30, 2)]
    arrays = tuple(np.zeros((1, 2, *s)) for s in sizes)
    variance = [0.1, 0.2, 0.3, 0.4]

    def ours(x: Any, image: Any) -> Any:
        return ops.prior_box(x, image, small, large, ratios, variance, flip, clip, steps, offset, first)

    def judge(x: np.ndarray, image: np.ndarray) -> tuple:
        (h, w), (height, width) = x.shape[2:], image.shape[2:]
        others = [q for r in ratios if r != 1 for q in ([r, 1 / r] if flip else [r])]
        sides = []
        for k, s in enumerate(small):
            square = [(math.sqrt(s * large[k]),) * 2] if large else []
            flat = [(s * math.sqrt(r), s / math.sqrt(r)) for r in others]
            sides += [(s, s), *square, *flat] if first else [(s, s), *flat, *square]
        step = steps if steps[0] else (width / w, height / h)
        out = np.zeros((h, w, len(sides), 4))
        for i, j, k in np.ndindex(out.shape[:3]):
            x0, y0 = (j + offset) * step[0], (i + offset) * step[1]
            a, b = sides[k][0] / 2, sides[k][1] / 2
            out[i, j, k] = (x0 - a) / width, (y0 - b) / height, (x0 + a) / width, (y0 + b) / height
        return out.clip(0, 1) if clip else out, np.broadcast_to(variance, out.shape)

    return Call(f"prior_box {small} {large} {ratios} {flip} {clip} {first} {steps} {offset}", ours, judge, arrays)


def box_coder(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    encode, normalized, axis = bool(fixed.integers(2)), bool(fixed.integers(2)), int(fixed.integers(2))
    form = ("none", "list", "tensor")[int(fixed.integers(3))]
    m, n = (int(v) for v in rng.integers(1, 5, 2))
    prior, spread = boxes_in(rng, m, 8, 9), rng.uniform(0.5, 2, (m, 4))
    target = boxes_in(rng, n, 8, 9) if encode else rng.standard_normal((n, m, 4) if axis == 0 else (m, n, 4)) * 0.5
    arrays = (prior, target) if form != "tensor" else (prior, target, spread)
    listed = {"none": None, "list": [0.1, 0.2, 0.3, 0.4]}

    def ours(prior: Any, target: Any, spread: Any = None) -> Any:
        spread = listed.get(form, spread)
        code = "encode_center_size" if encode else "decode_center_size"
        return ops.box_coder(prior, spread, target, code, normalized, axis)

    def judge(prior: Any, target: Any, spread: Any = None) -> np.ndarray:
        more = 0.0 if normalized else 1.0
        spread = np.broadcast_to(1.0 if form == "none" else listed.get(form, spread), (m, 4))
        side = prior[:, 2:] - prior[:, :2] + more
        centre = prior[:, :2] + side / 2
        if encode:
            own = (target[:, 2:] - target[:, :2] + more)[:, None]
            middle = ((target[:, :2] + target[:, 2:]) / 2)[:, None]
            return np.concatenate([(middle - centre) / side, np.log(own / side)], 2) / spread
        shape = (1, m, -1) if axis == 0 else (m, 1, -1)
        side, centre, spread = (v.reshape(shape) for v in (side, centre, spread))
        code = target * spread
        middle, half = code[..., :2] * side + centre, np.exp(code[..., 2:]) * side / 2
        return np.concatenate([middle - half, middle + half - more], 2)

    text = f"box_coder {encode} {normalized} {axis} {form}"
    return Call(text, ours, judge, arrays, tuple(range(len(arrays))))


def yolo_box(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    anchors = [int(v) for v in fixed.integers(4, 30, 2 * int(fixed.integers(1, 4)))]
    classes, ratio, clip = int(fixed.integers(1, 4)), int(fixed.choice([8, 16])), bool(fixed.integers(2))
    scale, aware, least = float(fixed.choice([1.0, 1.1])), bool(fixed.integers(2)), float(fixed.choice([0.01, 0.5]))
    a, (n, h, w) = len(anchors) // 2, (int(v) for v in rng.integers(1, 4, 3))
    x = rng.standard_normal((n, a * (5 + classes) + a * aware, h, w))
    sizes = rng.integers(30, 90, (n, 2)).astype("int32")

    def ours(x: Any, sizes: Any) -> Any:
        return ops.yolo_box(x, sizes, anchors, classes, least, ratio, clip, None, scale, aware, 0.4)

    def judge(x: np.ndarray, sizes: np.ndarray) -> tuple:
        def logistic(v: Any) -> Any:
            return 1 / (1 + np.exp(-v))

        sure, x = (x[:, :a], x[:, a:]) if aware else (None, x)
        x = x.reshape(n, a, 5 + classes, h, w)
        boxes, scores = np.zeros((n, a, h, w, 4)), np.zeros((n, a, h, w, classes))
        for b, k, i, j in np.ndindex(n, a, h, w):
            v = x[b, k, :, i, j]
            confidence = logistic(v[4])
            if sure is not None:
                confidence = confidence**0.6 * logistic(sure[b, k, i, j]) ** 0.4
            if confidence < least:
                continue
            high, wide = sizes[b]
            cx = (j + logistic(v[0]) * scale - 0.5 * (scale - 1)) * wide / w
            cy = (i + logistic(v[1]) * scale - 0.5 * (scale - 1)) * high / h
            bw = np.exp(v[2]) * anchors[2 * k] * wide / (ratio * w) / 2
            bh = np.exp(v[3]) * anchors[2 * k + 1] * high / (ratio * h) / 2
            box = np.array([cx - bw, cy - bh, cx + bw, cy + bh])
            limit = np.array([wide - 1, high - 1])
            if clip:
                box = np.concatenate([np.maximum(box[:2], 0), np.minimum(box[2:], limit)])
            boxes[b, k, i, j], scores[b, k, i, j] = box, confidence * logistic(v[5:])
        return boxes.reshape(n, -1, 4), scores.reshape(n, -1, classes)

    return Call(f"yolo_box {anchors} {classes} {ratio} {clip} {scale} {aware} {least}", ours, judge, (x, sizes), (0,))


def yolo_loss(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    pairs = fixed.integers(4, 30, (int(fixed.integers(1, 4)), 2))
    mask = [int(v) for v in fixed.permutation(len(pairs))[: int(fixed.integers(1, 3))]]
    classes, ratio, smooth = int(fixed.integers(1, 4)), int(fixed.choice([8, 16])), bool(fixed.integers(2))
    scale, limit, scored = float(fixed.choice([1.0, 1.1])), float(fixed.choice([0.2, 0.6])), bool(fixed.integers(2))
    n, grid, number = int(rng.integers(1, 3)), int(rng.integers(1, 5)), int(rng.choice([1, 2, 5]))
    truth = np.concatenate([rng.random((n, number, 2)), rng.uniform(0.05, 0.6, (n, number, 2))], 2)
    truth[rng.random((n, number)) < 0.2] = 0
    arrays = [
        rng.standard_normal((n, len(mask) * (5 + classes), grid, grid)),
        truth,
        rng.integers(0, classes, (n, number)).astype("int32"),
    ]
    arrays += [rng.uniform(0.1, 1, (n, number))] * scored

    def ours(x: Any, truth: Any, labels: Any, score: Any = None) -> Any:
        rest = pairs.ravel().tolist(), mask, classes, limit, ratio, score, smooth, None, scale
        return ops.yolo_loss(x, truth, labels, *rest)

    def centred(a: Any, b: Any) -> float:
        sides = np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2) - np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
        common = float(np.prod(np.maximum(sides, 0)))
        return common / (a[2] * a[3] + b[2] * b[3] - common)

    def entropy(v: float, aim: float) -> float:
        return max(v, 0) - v * aim + math.log1p(math.exp(-abs(v)))

    def judge(x: np.ndarray, truth: np.ndarray, labels: np.ndarray, score: Any = None) -> np.ndarray:
        x, size, out = x.reshape(n, len(mask), 5 + classes, grid, grid), ratio * grid, np.zeros(n)
        delta = min(1 / classes, 1 / 40) if smooth else 0.0
        for b in range(n):
            weight = np.zeros((len(mask), grid, grid))
            for k, i, j in np.ndindex(weight.shape):
                v = x[b, k, :, i, j]
                middle = [
                    (c + scale / (1 + math.exp(-u)) - 0.5 * (scale - 1)) / grid for c, u in ((j, v[0]), (i, v[1]))
                ]
                box = np.array([*middle, *(np.exp(v[2:4]) * pairs[mask[k]] / size)])
                if max((centred(box, t) for t in truth[b] if t[2] > 0), default=0) > limit:
                    weight[k, i, j] = -1
            for t, box in enumerate(truth[b]):
                if not box[2] > 0:
                    continue
                sides = [centred(np.array([0, 0, *box[2:]]), np.array([0, 0, *(p / size)])) for p in pairs]
                best = int(np.argmax(sides))
                if best not in mask or max(box[:2]) >= 1:  # where rounding takes the middle out of the image
                    continue
                k, own = mask.index(best), 1.0 if score is None else score[b, t]
                j, i = (int(box[a] * grid) for a in (0, 1))
                v, each = x[b, k, :, i, j], (2 - box[2] * box[3]) * own
                out[b] += each * sum(entropy(v[a], box[a] * grid % 1) for a in (0, 1))
                out[b] += each * sum(abs(v[2 + a] - math.log(box[2 + a] * size / pairs[best][a])) for a in (0, 1))
                aims = [1 - delta if c == labels[b, t] else delta for c in range(classes)]
                out[b] += own * sum(entropy(v[5 + c], aims[c]) for c in range(classes))
                weight[k, i, j] = own
            for k, i, j in np.ndindex(weight.shape):
                if weight[k, i, j] > 0:
                    out[b] += weight[k, i, j] * entropy(x[b, k, 4, i, j], 1)
                elif weight[k, i, j] == 0:
                    out[b] += entropy(x[b, k, 4, i, j], 0)
        return out

    text = f"yolo_loss {pairs.tolist()} {mask} {classes} {ratio} {smooth} {scale} {limit} {scored}"
    return Call(text, ours, judge, tuple(arrays), (0,))


FAMILIES = (roi_align, roi_pool, psroi_pool, deform_conv2d, prior_box, box_coder, yolo_box, yolo_loss)
