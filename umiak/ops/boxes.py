"""Suppression of boxes that overlap with better ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require


@register
class SuppressBoxes(Op):
    """Mask of the boxes ``[M, 4]`` that stay: those that no such box before them overlaps by more than ``threshold``.

    Overlap is intersection over union; sides are ``offset`` longer than their coordinates say. Only boxes of one
    ``group`` suppress each other, and only ``valid`` ones stay. With ``eta`` below 1 a threshold above 0.5 is
    multiplied by it after each box that stays; a box is compared under the threshold of its turn.
    """

    inputs = ("boxes", "group?", "valid?")
    vjp = None
    amp = "deny"
    threshold: float = param()
    eta: float = param("float", 1.0)
    offset: float = param("float", 0.0)

    def infer(self, boxes, group, valid, threshold, eta, offset):
        accept(self, "f", boxes)
        accept(self, "i", group)
        accept(self, "b", valid)
        if len(boxes.shape) != 2:
            self.fail(ValueError, "boxes [M, 4]", tuple(boxes.shape))
        require(self, boxes.shape[1] == 4, "boxes [M, 4]", tuple(boxes.shape))
        for name, m in (("group", group), ("valid", valid)):
            if m is not None:
                if len(m.shape) != 1:
                    self.fail(ValueError, f"{name} as a vector", tuple(m.shape))
                require(self, m.shape[0] == boxes.shape[0], f"one element of {name} for each box", tuple(m.shape))
        return Meta((boxes.shape[0],), dt.bool)

    def check_boxes(self, boxes: np.ndarray) -> None:
        """Refuse boxes that overlap with nothing, not even with themselves."""
        if np.isnan(boxes).any():
            self.fail(ValueError, "boxes without NaN", "NaN")

    def shard(self, boxes, group, valid, *params):
        vector = ["m"]
        return shard_string(
            [["m", "k"], [] if group is None else vector, [] if valid is None else vector],
            [vector],
            m="replicated",
            k="replicated",
        )

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        def boxes(n: int, dtype: Any = np.float64) -> np.ndarray:
            corner = rng.uniform(0, 3, (n, 2))
            return np.concatenate([corner, corner + rng.uniform(0.5, 3, (n, 2))], 1).astype(dtype)

        group, valid = np.array([0, 7, 7, 0, -2, 0]), np.array([True, False, True, True, True, True])
        yield Sample((boxes(6), None, None), params={"threshold": 0.3})
        yield Sample((boxes(6, np.float32), group, None), params={"threshold": 0.1, "offset": 1.0})
        yield Sample((boxes(6), group.astype(np.int32), valid), params={"threshold": 0.0, "eta": 0.5})
        yield Sample((boxes(40), None, None), params={"threshold": 0.8, "eta": 0.9})
        yield Sample((boxes(6, dt.bfloat16.numpy), None, valid), params={"threshold": 0.2})
        yield Sample((boxes(0), group[:0], None), params={"threshold": 0.3}, note="0-size")
