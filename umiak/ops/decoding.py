"""Ops of decoders: following beams back, and best paths through tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, draw, same_dtype, same_shape, shard_string
from umiak.ops.base import Op, Sample, register
from umiak.ops.movement import require


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


@register
class ViterbiDecode(Op):
    """Highest score of a path of tags ``[batch]``, and that path ``[batch, time]``, 0 beyond the length of a sequence.

    A path scores the potentials ``[batch, time, tag]`` of its tags and the transitions ``[tag, tag]`` from each tag to
    the next one. With ``with_ends``, the last row of the transitions is added to the first step, and the last row but
    one to the last step. Of equal scores the first tag counts; a NaN is larger than nothing.
    """

    inputs = ("potentials", "transitions", "lengths")
    vjp = None
    amp = "deny"
    with_ends: bool = True

    def infer(self, potentials, transitions, lengths):
        accept(self, "f", potentials, transitions)
        accept(self, "i", lengths)
        if lengths.dtype is not dt.int64:
            self.fail(TypeError, "lengths of int64", lengths.dtype.name)
        got = f"{tuple(potentials.shape)}, {tuple(transitions.shape)} and {tuple(lengths.shape)}"
        if (len(potentials.shape), len(transitions.shape), len(lengths.shape)) != (3, 2, 1):
            self.fail(ValueError, "potentials [batch, time, tag], transitions [tag, tag] and lengths [batch]", got)
        batch, time, tags = potentials.shape
        require(self, (transitions.shape[0] == tags) & (transitions.shape[1] == tags), "transitions [tag, tag]", got)
        require(self, lengths.shape[0] == batch, "a length for each sequence", got)
        require(self, time >= 1, "at least one step", got)
        least = 2 if self.with_ends else 1
        require(self, tags >= least, f"{least} or more tags", got)
        return Meta((batch,), same_dtype(self, potentials, transitions)), Meta((batch, time), dt.int64)

    def shard(self, potentials, transitions, lengths):
        return shard_string([["b", "t", "1"], ["1", "1"], ["b"]], [["b"], ["b", "t"]], t="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype, with_ends in (
            ((3, 4, 5), dt.float32, True),
            ((3, 4, 5), dt.float64, False),
            ((2, 1, 2), dt.float64, True),
            ((2, 3, 1), dt.float32, False),
            ((2, 3, 3), dt.bfloat16, True),
            ((0, 3, 4), dt.float32, True),
        ):
            batch, time, tags = shape
            lengths = rng.integers(0, time + 1, batch)
            yield Sample((draw(rng, shape, dtype), draw(rng, (tags, tags), dtype), lengths), {"with_ends": with_ends})
        ties = np.zeros((2, 3, 3), np.float32)
        yield Sample((ties, ties[0], np.array([3, -1])), {"with_ends": False}, note="ties")
