"""Ops of decoders: following beams back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak.ir.meta import Meta
from umiak.ops._common import accept, same_dtype, same_shape, shard_string
from umiak.ops.base import Op, Sample, register


@register
class GatherTree(Op):
    """Beams followed back from the last step: ``ids`` and ``parents`` are ``[time, batch, beam]``.

    Element ``[t, b, k]`` of the result is what beam k of the last step chose at step t.
    """

    inputs = ("ids", "parents")
    vjp = None
    amp = "keep"

    def infer(self, ids, parents):
        accept(self, "i", ids, parents)
        if len(ids.shape) != 3:
            self.fail(ValueError, "ids of rank 3, [time, batch, beam]", tuple(ids.shape))
        same_shape(self, ids.shape, parents.shape, "ids and parents of one shape")
        return Meta(tuple(ids.shape), same_dtype(self, ids, parents))

    def shard(self, ids, parents):
        return shard_string([["t", "b", "k"], ["t", "b", "k"]], [["t", "b", "k"]], t="replicated", k="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((4, 2, 3), np.int64),
            ((1, 1, 2), np.int32),
            ((0, 2, 2), np.int64),
            ((2, 0, 2), np.int64),
        ):
            ids = rng.integers(0, 9, shape).astype(dtype)
            yield Sample((ids, rng.integers(0, shape[2], shape).astype(dtype)))
