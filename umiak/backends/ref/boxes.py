"""The NumPy kernel of suppression."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import boxes as ops


@kernel(ops.SuppressBoxes)
def suppress_boxes(op, out, boxes, group, valid, threshold, eta, offset):
    op.check_boxes(boxes)
    low, high = boxes[:, :2], boxes[:, 2:]
    offset = boxes.dtype.type(offset)
    area = (high - low + offset).prod(1)
    out[...] = True if valid is None else valid
    for i in range(len(boxes)):
        if not out[i]:
            continue
        sides = np.minimum(high[i], high[i + 1 :]) - np.maximum(low[i], low[i + 1 :]) + offset
        common = np.maximum(sides, 0).prod(1)
        over = common / (area[i] + area[i + 1 :] - common) > boxes.dtype.type(threshold)
        if group is not None:
            over &= group[i + 1 :] == group[i]
        out[i + 1 :] &= ~over
        if eta < 1 and threshold > 0.5:
            threshold *= eta
