"""Suppression, proposals and the levels of a pyramid: loops over boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.vision import ops
from tests.fuzz.calls.record import Call, boxes_in, shared


def overlap(a: np.ndarray, b: np.ndarray, more: float = 0.0) -> float:
    """Intersection over union of two boxes, whose sides are ``more`` longer."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    if (sides < 0).any():
        return 0.0
    common = float(np.prod(sides + more))
    return common / (float(np.prod(a[2:] - a[:2] + more) + np.prod(b[2:] - b[:2] + more)) - common)


def suppressed(boxes: np.ndarray, threshold: float, eta: float = 1.0, more: float = 0.0) -> list[int]:
    """Indices of the boxes that stay, in their order."""
    kept: list[int] = []
    for i, box in enumerate(boxes):
        if all(overlap(box, boxes[j], more) <= threshold for j in kept):
            kept.append(i)
            if eta < 1 and threshold > 0.5:
                threshold *= eta
    return kept


def nms(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    threshold, form = float(fixed.choice([0.2, 0.45, 0.7])), int(fixed.integers(3))
    categories = [int(c) for c in np.flatnonzero(fixed.random(4) < 0.7)] or [1]
    top = None if fixed.random() < 0.6 else int(fixed.integers(1, 4))
    count = int(rng.choice([3, 5, 40, 90]) if top is not None else rng.choice([0, 1, 2, 17, 65, 90]))
    boxes, scores = boxes_in(rng, count, 20, 30), rng.permutation(count) / 100 + 0.01
    group = rng.integers(0, 4, count)
    arrays = (boxes, scores, group)[: form + 1]

    def ours(boxes: Any, scores: Any = None, group: Any = None) -> Any:
        return ops.nms(boxes, threshold, scores, group, None if group is None else categories, top)

    def judge(boxes: np.ndarray, scores: Any = None, group: Any = None) -> np.ndarray:
        order = np.arange(count) if scores is None else np.argsort(-scores, kind="stable")
        if group is None:
            kept = order[suppressed(boxes[order], threshold)]
        else:
            kept = []
            for c in categories:
                own = order[group[order] == c]
                kept += list(own[suppressed(boxes[own], threshold)])
            kept = sorted(kept, key=lambda i: -scores[i])
        return np.array(kept[:top], "int64")

    return Call(f"nms {threshold} {form} {categories} {top}", ours, judge, arrays, counts=True)


def matrix_nms(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    least, after = float(fixed.choice([0.05, 0.4])), float(fixed.choice([0.0, 0.2]))
    each, most = int(fixed.choice([-1, 3, 8])), int(fixed.choice([-1, 2, 12]))
    gaussian, sigma = bool(fixed.integers(2)), float(fixed.choice([0.5, 2.0]))
    background, normalized = int(fixed.integers(-1, 3)), bool(fixed.integers(2))
    n, m, classes = int(rng.integers(1, 4)), int(rng.choice([1, 2, 9])), 3
    boxes = np.stack([boxes_in(rng, m, 20, 30) for _ in range(n)])
    scores = (rng.permutation(n * classes * m) + 0.5).reshape(n, classes, m) / (n * classes * m)

    def ours(boxes: Any, scores: Any) -> Any:
        rest = each, most, gaussian, sigma, background, normalized, True
        out, numbers, index = ops.matrix_nms(boxes, scores, least, after, *rest)
        return out, numbers, index

    def judge(boxes: np.ndarray, scores: np.ndarray) -> tuple:
        rows, indices, counts = [], [], []
        for i in range(n):
            found = []
            for c in range(classes):
                order = [j for j in np.argsort(-scores[i, c]) if scores[i, c, j] > least]
                order = order[: each if each >= 0 else None]
                if c == background:
                    continue
                own = boxes[i][order]
                pairs = [[overlap(a, b, 0.0 if normalized else 1.0) for b in own] for a in own]
                largest = [max(pairs[j][:j], default=0.0) for j in range(len(own))]
                for j in range(len(own)):
                    if gaussian:
                        decay = [np.exp((largest[k] ** 2 - pairs[j][k] ** 2) * sigma) for k in range(j)]
                    else:
                        decay = [(1 - pairs[j][k]) / (1 - largest[k]) for k in range(j)]
                    score = scores[i, c, order[j]] * min([1.0, *decay])
                    if score > after:
                        found.append((score, c, order[j]))
            found = sorted(found, key=lambda f: -f[0])[: most if most >= 0 else None]
            rows += [[c, score, *boxes[i, j]] for score, c, j in found]
            indices += [i * m + j for _, _, j in found]
            counts.append(len(found))
        return np.reshape(rows, (-1, 6)), np.array(counts, "int32"), np.reshape(indices, (-1, 1)).astype("int32")

    text = f"matrix_nms {least} {after} {each} {most} {gaussian} {sigma} {background} {normalized}"
    return Call(text, ours, judge, (boxes, scores), counts=True)


def generate_proposals(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    before, after = int(fixed.choice([0, 7, 200])), int(fixed.choice([0, 3, 200]))
    threshold, least = float(fixed.choice([0.0, 0.3, 0.7])), float(fixed.choice([0.1, 6.0]))
    eta, pixels = float(fixed.choice([1.0, 0.9])), bool(fixed.integers(2))
    n, a, h, w = (int(v) for v in rng.integers(1, 4, 4))
    total = h * w * a
    arrays = (
        (rng.permutation(n * total) + 0.5).reshape(n, a, h, w) / (n * total),
        rng.standard_normal((n, 4 * a, h, w)) * 0.4,
        rng.uniform(18, 30, (n, 2)),
        boxes_in(rng, total, 20, 20).reshape(h, w, a, 4),
        rng.uniform(0.5, 1.5, (h, w, a, 4)),
    )

    def ours(*operands: Any) -> Any:
        return ops.generate_proposals(*operands, before, after, threshold, least, eta, pixels, True)

    def judge(scores: Any, deltas: Any, sizes: Any, anchors: Any, variances: Any) -> tuple:
        more = 1.0 if pixels else 0.0
        anchors, variances = anchors.reshape(-1, 4), variances.reshape(-1, 4)
        boxes, chosen, counts = [], [], []
        for i in range(n):
            flat = scores[i].transpose(1, 2, 0).ravel()
            moves = deltas[i].reshape(a, 4, h, w).transpose(2, 3, 0, 1).reshape(-1, 4) * variances
            order = np.argsort(-flat)
            order = order[:before] if 0 < before else order
            side = anchors[:, 2:] - anchors[:, :2] + more
            centre = moves[:, :2] * side + anchors[:, :2] + side / 2
            half = np.exp(np.minimum(moves[:, 2:], np.log(1000 / 16))) * side / 2
            limit = sizes[i][::-1] - more
            own = np.concatenate([(centre - half).clip(0, limit), (centre + half - more).clip(0, limit)], 1)[order]
            extent = own[:, 2:] - own[:, :2] + more
            fits = (extent >= max(least, 1.0)).all(1)
            if pixels:
                fits &= (own[:, :2] + extent / 2 <= sizes[i][::-1]).all(1)
            kept = np.flatnonzero(fits)
            if threshold > 0:
                kept = kept[suppressed(own[kept], threshold, eta, more)]
            kept = kept[:after] if 0 < after else kept
            boxes.append(own[kept] if len(kept) else np.zeros((1, 4)))
            chosen.append(flat[order][kept] if len(kept) else np.zeros(1))
            counts.append(len(boxes[-1]))
        return np.concatenate(boxes), np.concatenate(chosen)[:, None], np.array(counts, "int32")

    text = f"generate_proposals {before} {after} {threshold} {least} {eta} {pixels}"
    return Call(text, ours, judge, arrays, counts=True)


def distribute_fpn_proposals(fixed: np.random.Generator, rng: np.random.Generator) -> Call:
    low, refer, pixels = int(fixed.integers(1, 4)), int(fixed.integers(2, 5)), bool(fixed.integers(2))
    high, numbered = low + int(fixed.integers(1, 4)), bool(fixed.integers(2))
    count, images = int(rng.choice([0, 1, 6, 30])), 2
    boxes = boxes_in(rng, count, 1, 1) * 2.0 ** rng.uniform(3, 8, (count, 1))
    arrays = (boxes, shared(rng, count, images))[: 1 + numbered]

    def ours(boxes: Any, numbers: Any = None) -> Any:
        levels, restore, counts = ops.distribute_fpn_proposals(boxes, low, high, refer, 50, pixels, numbers)
        return [*levels, restore, *(counts or [])]

    def judge(boxes: np.ndarray, numbers: Any = None) -> list:
        area = np.prod(boxes[:, 2:] - boxes[:, :2] + float(pixels), axis=1)
        level = np.floor(refer + np.log2(np.sqrt(area) / 50 + 1e-8)).clip(low, high)
        own = [np.flatnonzero(level == k) for k in range(low, high + 1)]
        order = np.concatenate(own)
        out = [boxes[i] for i in own] + [np.argsort(order)[:, None].astype("int32")]
        if numbers is not None:
            image = np.repeat(np.arange(images), numbers)
            out += [np.bincount(image[i], minlength=images).astype("int32") for i in own]
        return out

    text = f"distribute_fpn_proposals {low} {high} {refer} {pixels} {numbered}"
    return Call(text, ours, judge, arrays, counts=True)


FAMILIES = (nms, matrix_nms, generate_proposals, distribute_fpn_proposals)
