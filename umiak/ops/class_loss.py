"""Losses over classes with margins, and over trees of classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    back,
    cast_to,
    check_axes,
    draw,
    in_compute_type,
    same_dtype,
    same_shape,
    shard_string,
    sizes,
    vjp_in_compute_type,
    widen,
)
from umiak.ops.activation import clamp, log1p_exp
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import counter
from umiak.ops.loss import ClassLoss, Pairwise
from umiak.ops.movement import require


@register
class SmoothedCrossEntropy(ClassLoss):
    """Cross entropy with labels of which the part ``smoothing`` is spread evenly over all classes.

    The loss is ``lse - (1 - smoothing) * x[label] - smoothing * mean(x)``, lse being the logarithm of the sum of
    exp(x); 0 where the label is ``ignore_index``.
    """

    inputs = ("logits", "labels")
    smoothing: float = param(default=0.1)

    def infer(self, logits, labels, ignore_index, smoothing):
        check_axes(self, (self.axis,), len(logits.shape))
        if not dim.le(1, logits.shape[self.axis]):
            self.fail(ValueError, f"at least one class along axis {self.axis}", tuple(logits.shape))
        return Meta(self.rows(logits, labels), logits.dtype)

    def decompose(self, logits, labels, ignore_index, smoothing):
        return self.forward_train((), logits, labels, ignore_index, smoothing)[0]

    def forward_train(self, needs, logits, labels, ignore_index, smoothing):
        x, along = widen(logits), (self.axis,)
        lse = F.logsumexp(x, axes=along, keepdim=True)
        ignored = F.eq(labels, ignore_index)
        even = F.mul(F.mean(F.sub(x, lse), axes=along), smoothing)
        own = F.mul(F.sub(self.pick(x, labels, ignored), F.squeeze(lse, axes=along)), 1.0 - smoothing)
        return cast_to(F.where(ignored, 0, F.neg(F.add(own, even))), logits.dtype), (lse,)

    @vjp_in_compute_type
    def vjp(self, s, g):
        (x, labels), (lse,), along, part = s.inputs, s.residuals, (self.axis,), s.params.smoothing
        labels = F.unsqueeze(labels, axes=along)
        g = F.where(F.eq(labels, s.params.ignore_index), 0, F.unsqueeze(g, axes=along))
        count = x.shape[self.axis]
        classes = F.iota(0, 1, dtype=labels.dtype, size=count)
        trail = tuple(range(1, x.ndim - self.axis))
        own = F.eq(F.unsqueeze(classes, axes=trail) if trail else classes, labels)
        off = F.sub(F.exp(F.sub(x, lse)), dim.to_float(part) / count)
        return F.mul(F.where(own, F.sub(off, 1.0 - part), off), g), None

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for x, labels, axis in cls.cases(rng):
            yield Sample((x, labels), {"axis": axis}, {"ignore_index": -1, "smoothing": 0.2})


@register
class MultiLabelMargin(Op):
    """The sum of ``max(0, 1 - (x[y] - x[i]))`` over the classes y of a row and all i that are none of them, over the
    number of classes. A row of ``labels`` ends at its first negative number.
    """

    inputs = ("x", "labels")
    amp = "deny"

    def infer(self, x, labels):
        accept(self, "f", x)
        accept(self, "i", labels)
        if len(x.shape) != 2:
            self.fail(ValueError, "x [rows, classes]", tuple(x.shape))
        same_shape(self, x.shape, labels.shape, "x and labels of one shape")
        return Meta((x.shape[0],), x.dtype)

    @in_compute_type
    def decompose(self, x, labels):
        n, classes = sizes(x)
        labels = cast_to(labels, dt.int64)
        # 1 from a row's first negative label on.
        over = F.gt(F.cumsum(F.cast(F.lt(labels, 0), dtype=dt.int64), axis=1), 0)
        position = F.where(over, 0, labels)
        ones = F.cast(F.logical_not(over), dtype=x.dtype)
        own = F.scatter_along(F.full(0, dtype=x.dtype, shape=(n, classes)), position, ones, axis=1, mode="add")
        gap = F.sub(F.add(F.unsqueeze(x, axes=(1,)), 1), F.unsqueeze(F.take_along(x, position, axis=1), axes=(2,)))
        counts = F.logical_and(F.unsqueeze(F.logical_not(over), axes=(2,)), F.unsqueeze(F.eq(own, 0), axes=(1,)))
        return F.div(F.sum(F.where(counts, F.maximum(gap, 0), 0), axes=(1, 2)), classes)

    def shard(self, x, labels):
        return shard_string([["n", "c"], ["n", "c"]], [["n"]], c="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        labels = np.array([[3, 0, -1, 1], [0, 1, 2, -1], [1, 1, -1, 2], [-1, 0, 1, 2], [0, 3, 2, 1]])
        for dtype, label in ((dt.float64, np.int64), (dt.float32, np.int32), (dt.bfloat16, np.int64)):
            # No two classes are 1 apart.
            x = (np.stack([rng.permutation(4) for _ in labels]) * 0.37).astype(dtype.numpy)
            yield Sample((x, labels.astype(label)))
        yield Sample((draw(rng, (0, 3)), labels[:0, :3]), note="0-size")


@register
class MarginCosine(Op):
    """Cosines ``x`` with that of each row's class, cos(t), replaced by ``cos(m1*t + m2) - m3``; all times ``scale``.

    Without ``angular`` m1 and m2 do nothing. Where \\|x\\| exceeds 1 by rounding, it is 1.
    """

    inputs = ("x", "labels")
    amp = "deny"
    angular: bool = True
    m1: float = param(default=1.0)
    m2: float = param(default=0.5)
    m3: float = param(default=0.0)
    scale: float = param(default=64.0)

    def infer(self, x, labels, m1, m2, m3, scale):
        accept(self, "f", x)
        accept(self, "i", labels)
        if len(x.shape) != 2:
            self.fail(ValueError, "x [rows, classes]", tuple(x.shape))
        same_shape(self, labels.shape, x.shape[:1], "one label a row")
        return Meta(tuple(x.shape), x.dtype)

    def own(self, x: Any, labels: Any) -> Any:
        classes = counter(x.shape[1])
        return F.eq(classes, F.unsqueeze(cast_to(labels, dt.int64), axes=(1,)))

    def with_margin(self, x: Any, m1: Any, m2: Any) -> Any:
        return F.add(F.mul(F.acos(clamp(x, -1.0, 1.0)), m1), m2)

    @in_compute_type
    def decompose(self, x, labels, m1, m2, m3, scale):
        moved = F.sub(F.cos(self.with_margin(x, m1, m2)) if self.angular else x, m3)
        return F.mul(F.where(self.own(x, labels), moved, x), scale)

    @vjp_in_compute_type
    def vjp(self, s, g):
        (x, labels), p = s.inputs, s.params
        g = F.mul(g, p.scale)
        if not self.angular:
            return g, None
        # d cos(m1*acos(x) + m2) = m1 sin(...) / sin(acos(x)), finite also at the ends.
        sine = F.sqrt(F.maximum(F.sub(1.0, F.mul(x, x)), 1e-12))
        slope = F.div(F.mul(F.sin(self.with_margin(x, p.m1, p.m2)), p.m1), sine)
        return F.where(self.own(x, labels), F.mul(g, slope), g), None

    def shard(self, x, labels, *params):
        return shard_string([["n", "c"], ["n"]], [["n", "c"]], c="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for angular in (True, False):
            for shape, dtype in (
                ((3, 4), dt.float64),
                ((2, 3), dt.float32),
                ((0, 3), dt.float64),
                ((2, 3), dt.bfloat16),
            ):
                x = draw(rng, shape, dtype, -0.9, 0.9)
                more = {"m1": 1.2, "m2": 0.3, "m3": 0.1, "scale": 4.0}
                yield Sample((x, rng.integers(0, shape[1], shape[:1])), {"angular": angular}, more)


@register
class ClippedBce(Pairwise):
    """Binary cross entropy of sigmoid(x) with targets y, x being kept within ``limit`` of 0.

    The gradient is that of the loss without the limit.
    """

    limit: float = param(default=40.0)
    range_y = (0.0, 1.0)

    def value(self, x, y, limit):
        x = clamp(x, -limit, limit)
        return F.add(F.mul(F.sub(1, y), x), log1p_exp(F.neg(x)))

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, y = s.inputs
        return back(F.mul(g, F.sub(F.logistic(x), y)), x), back(F.neg(F.mul(g, x)), y)


@register
class HsigmoidLoss(Op):
    """Binary cross entropies of the branches that lead to each row's class (Morin and Bengio, 2005), added up ``[n]``.

    ``weight`` ``[nodes, d]`` and ``bias`` ``[nodes]`` belong to inner nodes; ``path`` ``[n, depth]`` are the nodes on
    the way, negative where there are no more, ``branches`` 0 or 1 for each. A position without a node adds log 2.
    """

    inputs = ("x", "path", "turns", "weight", "bias?")
    amp = "deny"

    def infer(self, x, path, branches, weight, bias):
        accept(self, "f", x, weight, bias)
        accept(self, "i", path, branches)
        if not len(x.shape) == len(path.shape) == len(weight.shape) == 2:
            got = f"{tuple(x.shape)}, {tuple(path.shape)} and {tuple(weight.shape)}"
            self.fail(ValueError, "x [rows, d], a path [rows, depth] and weights [nodes, d]", got)
        same_shape(self, path.shape, branches.shape, "path and branches of one shape")
        require(self, path.shape[0] == x.shape[0], "a path for each row", (x.shape[0], path.shape[0]))
        require(self, weight.shape[1] == x.shape[1], "weights as wide as x", (x.shape[1], weight.shape[1]))
        if bias is not None:
            same_shape(self, bias.shape, weight.shape[:1], "one bias a node")
        return Meta((x.shape[0],), same_dtype(self, x, weight, bias))

    @in_compute_type
    def decompose(self, x, path, branches, weight, bias):
        there = F.ge(path, 0)
        node = F.where(there, path, 0)
        z = F.sum(F.mul(F.take(weight, node, axis=0), F.unsqueeze(x, axes=(1,))), axes=(2,))
        if bias is not None:
            z = F.add(z, F.take(bias, node, axis=0))
        branch = F.cast(F.where(there, branches, 0), dtype=x.dtype)
        return F.sum(F.clipped_bce(F.where(there, z, 0), branch), axes=(1,))

    def shard(self, x, path, branches, weight, bias):
        operands = [["n", "d"], ["n", "p"], ["n", "p"], ["w", "d"], ["w"] if bias is not None else []]
        return shard_string(operands, [["n"]], d="replicated", p="replicated", w="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        path = np.array([[0, 1, -1], [0, 2, 3], [1, -1, -1], [-1, -1, -1]])
        branches = np.array([[0, 1, -1], [1, 1, 0], [1, -1, -1], [-1, -1, -1]])
        for dtype, index in ((dt.float64, np.int64), (dt.float32, np.int32), (dt.bfloat16, np.int64)):
            x, weight = draw(rng, (4, 3), dtype), draw(rng, (4, 3), dtype, -0.5, 0.5)
            yield Sample((x, path.astype(index), branches.astype(index), weight, draw(rng, (4,), dtype)))
            yield Sample((x, path.astype(index), branches.astype(index), weight, None))
        yield Sample((draw(rng, (0, 3)), path[:0], branches[:0], draw(rng, (4, 3)), None), note="0-size")
        yield Sample(
            (draw(rng, (4, 3)), np.minimum(path, 0), branches, draw(rng, (1, 3)), draw(rng, (1,))), note="one node"
        )
