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
    out[...] = False
    kept = np.zeros(0, np.int64)
    for i in range(len(boxes)):
        if valid is not None and not valid[i]:
            continue
        sides = np.minimum(high[i], high[kept]) - np.maximum(low[i], low[kept]) + offset
        common = np.maximum(sides, 0).prod(1)
        over = common / (area[i] + area[kept] - common) > boxes.dtype.type(threshold)
        if group is not None:
            over &= group[kept] == group[i]
        if over.any():
            continue
        out[i] = True
        kept = np.append(kept, i)
        if eta < 1 and threshold > 0.5:
            threshold *= eta
