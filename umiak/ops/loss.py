"""Losses, one number an element or a row: whoever calls takes the mean or the sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    back,
    broadcast_shape,
    cast_to,
    check_axes,
    draw,
    factor_names,
    in_compute_type,
    reduced_shape,
    same_dtype,
    same_shape,
    shard_pointwise,
    shard_string,
    sizes,
    vjp_in_compute_type,
    widen,
)
from umiak.ops.activation import clamp, log1p_exp
from umiak.ops.base import Op, OpMeta, Sample, param, register
from umiak.ops.elementwise import square
from umiak.util.errors import OperandError

# --- classification ------------------------------------------------------------------------------------------------


class ClassLoss(Op):
    """Scores of classes along ``axis``, and the class of each row: integers of the shape without that axis."""

    amp = "deny"
    axis: int
    ignore_index: int = param("int", -100)

    def rows(self, scores: Meta, labels: Meta) -> tuple:
        accept(self, "f", scores)
        accept(self, "i", labels)
        check_axes(self, (self.axis,), len(scores.shape))
        shape = reduced_shape(scores.shape, (self.axis,), False)
        same_shape(self, labels.shape, shape, f"labels of the shape without axis {self.axis}")
        return shape

    def pick(self, scores: Any, labels: Any, ignored: Any) -> Any:
        """The score of each row's class; any, where it is ignored."""
        index = F.unsqueeze(F.where(ignored, 0, labels), axes=(self.axis,))
        return F.squeeze(F.take_along(scores, index, axis=self.axis, from_end=False), axes=(self.axis,))

    def shard(self, scores, labels, *rest):
        names = factor_names(len(scores.shape))
        row = [f for i, f in enumerate(names) if i != self.axis]
        others = [[names[self.axis]] if m is not None else [] for m in rest[: len(self.inputs) - 2]]
        return shard_string([names, row, *others], [row], **{names[self.axis]: "replicated"})

    @staticmethod
    def cases(rng: Any) -> Iterator[tuple]:
        """Scores, labels (one of them ignored) and axis."""
        for shape, axis, dtype, label in (
            ((3, 4), 1, dt.float64, dt.int64),
            ((2, 3, 2), 1, dt.float64, dt.int32),
            ((4,), 0, dt.float32, dt.int64),
            ((0, 3), 1, dt.float32, dt.int64),
            ((3, 4), 1, dt.bfloat16, dt.int64),
        ):
            rows = tuple(n for i, n in enumerate(shape) if i != axis)
            labels = rng.integers(0, shape[axis], rows).astype(label.numpy)
            if labels.ndim and labels.size:
                labels.flat[0] = -1
            yield draw(rng, shape, dtype), labels, axis


@register
class SoftmaxCrossEntropy(ClassLoss):
    """-log softmax(logits) of each row's class; 0 where the label is ``ignore_index``.

    With ``soft_label``, labels are weights of all classes, in the shape of the logits, and the loss is their weighted
    sum.
    """

    inputs = ("logits", "labels")
    soft_label: bool = False

    def infer(self, logits, labels, ignore_index):
        check_axes(self, (self.axis,), len(logits.shape))
        if not dim.le(1, logits.shape[self.axis]):
            self.fail(ValueError, f"at least one class along axis {self.axis}", tuple(logits.shape))
        if not self.soft_label:
            return Meta(self.rows(logits, labels), logits.dtype)
        accept(self, "f", logits, labels)
        same_shape(self, logits.shape, labels.shape)
        return Meta(reduced_shape(logits.shape, (self.axis,), False), same_dtype(self, logits, labels))

    def decompose(self, logits, labels, ignore_index):
        return self.forward_train((), logits, labels, ignore_index)[0]

    def forward_train(self, needs, logits, labels, ignore_index):
        x = widen(logits)
        lse = F.logsumexp(x, axes=(self.axis,), keepdim=True)
        if self.soft_label:
            loss = F.neg(F.sum(F.mul(widen(labels), F.sub(x, lse)), axes=(self.axis,)))
        else:
            ignored = F.eq(labels, ignore_index)
            gap = F.sub(F.squeeze(lse, axes=(self.axis,)), self.pick(x, labels, ignored))
            loss = F.where(ignored, 0, gap)
        return cast_to(loss, logits.dtype), (lse,)

    @vjp_in_compute_type
    def vjp(self, s, g):
        (x, labels), (lse,), along = s.inputs, s.residuals, (self.axis,)
        g, p = F.unsqueeze(g, axes=along), F.exp(F.sub(x, lse))
        if self.soft_label:
            total = F.sum(labels, axes=along, keepdim=True)
            return F.mul(F.sub(F.mul(p, total), labels), g), F.mul(F.sub(lse, x), g)
        labels = F.unsqueeze(labels, axes=along)
        classes = F.iota(0, 1, dtype=labels.dtype, size=x.shape[self.axis])
        trail = tuple(range(1, x.ndim - self.axis))
        own = F.eq(F.unsqueeze(classes, axes=trail) if trail else classes, labels)
        g = F.where(F.eq(labels, s.params.ignore_index), 0, g)
        return F.mul(F.where(own, F.sub(p, 1), p), g), None

    def shard(self, logits, labels, ignore_index):
        if not self.soft_label:
            return super().shard(logits, labels)
        names = factor_names(len(logits.shape))
        row = [f for i, f in enumerate(names) if i != self.axis]
        return shard_string([names, names], [row], **{names[self.axis]: "replicated"})

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for x, labels, axis in cls.cases(rng):
            yield Sample((x, labels), {"axis": axis}, {"ignore_index": -1})
        for shape, axis, dtype in (((3, 4), 1, dt.float64), ((2, 3, 2), 1, dt.float32), ((2, 4), 1, dt.bfloat16)):
            inputs = (draw(rng, shape, dtype), draw(rng, shape, dtype, 0.0, 1.0))
            yield Sample(inputs, {"axis": axis, "soft_label": True})
        large = draw(rng, (2, 3), dt.float32) * 300
        yield Sample((large, np.array([0, 2])), {"axis": 1}, differentiable=(), note="large")


@register
class NllLoss(ClassLoss):
    """-logp of each row's class, times the weight of that class; 0 where the label is ``ignore_index``."""

    inputs = ("logp", "labels", "weight?")
    linear = ("logp",)

    def infer(self, logp, labels, weight, ignore_index):
        if weight is not None:
            same_shape(self, weight.shape, (logp.shape[self.axis],), "one weight a class")
        return Meta(self.rows(logp, labels), same_dtype(self, logp, weight))

    @in_compute_type
    def decompose(self, logp, labels, weight, ignore_index):
        ignored = F.eq(labels, ignore_index)
        loss = F.neg(self.pick(logp, labels, ignored))
        if weight is not None:
            loss = F.mul(loss, F.take(weight, F.where(ignored, 0, labels), axis=0))
        return F.where(ignored, 0, loss)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for x, labels, axis in cls.cases(rng):
            dtype = dt.convert(x.dtype)
            yield Sample((x, labels, None), {"axis": axis}, {"ignore_index": -1})
            yield Sample((x, labels, draw(rng, (x.shape[axis],), dtype, 0.5)), {"axis": axis}, {"ignore_index": -1})


@register
class LabelWeights(Op):
    """The weight of each label's class (1 without weights), 0 where it is ``ignore_index``: what a weighted mean
    divides by.
    """

    inputs = ("labels", "weight?")
    amp = "deny"
    dtype: Any
    ignore_index: int = param("int", -100)

    def infer(self, labels, weight, ignore_index):
        accept(self, "i", labels)
        if weight is not None and len(weight.shape) != 1:
            self.fail(ValueError, "a vector of weights", tuple(weight.shape))
        if weight is not None and weight.dtype is not self.dtype:
            self.fail(OperandError, f"weights of {self.dtype.name}", weight.dtype.name)
        return Meta(labels.shape, self.dtype)

    def decompose(self, labels, weight, ignore_index):
        ignored = F.eq(labels, ignore_index)
        if weight is None:
            return F.cast(F.logical_not(ignored), dtype=self.dtype)
        return F.where(ignored, 0, F.take(weight, F.where(ignored, 0, labels), axis=0))

    def shard(self, labels, weight, ignore_index):
        names = factor_names(len(labels.shape))
        if weight is None:
            return shard_string([names, []], [names])
        return shard_string([names, ["w"]], [names], w="replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape in ((3,), (2, 2), (0,)):
            labels = rng.integers(-1, 4, shape)
            yield Sample((labels, None), {"dtype": dt.float32}, {"ignore_index": -1})
            yield Sample((labels, draw(rng, (4,))), {"dtype": dt.float64}, {"ignore_index": -1})


@register
class LabelledMean(Op):
    """The sum of the losses of rows by the number of those whose label is not ``ignore_index``, of which at least 1.

    The losses of the others are 0, so that it is a mean.
    """

    inputs = ("loss", "labels")
    amp = "deny"
    ignore_index: int = param("int", -100)

    def infer(self, loss, labels, ignore_index):
        accept(self, "f", loss)
        accept(self, "i", labels)
        same_shape(self, labels.shape, loss.shape, "a label for each loss")
        return Meta((), loss.dtype)

    def decompose(self, loss, labels, ignore_index):
        return self.forward_train((), loss, labels, ignore_index)[0]

    def forward_train(self, needs, loss, labels, ignore_index):
        x, along = widen(loss), tuple(range(loss.ndim))
        count = F.sum(F.cast(F.ne(labels, ignore_index), dtype=x.dtype), axes=along)
        divisor = F.maximum(count, 1)
        return cast_to(F.div(F.sum(x, axes=along), divisor), loss.dtype), (divisor,)

    @vjp_in_compute_type
    def vjp(self, s, g):
        return F.broadcast_to(F.div(g, s.residuals[0]), shape=sizes(s.inputs[0])), None

    def shard(self, loss, labels, ignore_index):
        names = factor_names(len(loss.shape))
        return shard_string([names, names], [[]], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((5,), dt.float64), ((2, 3), dt.float32), ((), dt.float32), ((4,), dt.bfloat16)):
            labels = rng.integers(0, 3, shape)
            if shape:
                labels.flat[0] = -1
            yield Sample((draw(rng, shape, dtype), labels), {}, {"ignore_index": -1})
        yield Sample((draw(rng, (3,)), np.full(3, 7)), {}, {"ignore_index": 7}, note="all ignored")
        yield Sample((draw(rng, (0,)), rng.integers(0, 3, (0,))), note="0-size")


# --- two operands, element by element ------------------------------------------------------------------------------


class Pairwise(Op):
    """Prediction and target, which broadcast. ``value(self, x, y, *params)`` is the loss in smaller ops."""

    inputs: ClassVar[tuple[str, ...]] = ("x", "y")
    elementwise = True
    amp = "deny"
    value: ClassVar[Callable]
    range_x: ClassVar[tuple] = (-2.0, 2.0)
    range_y: ClassVar[tuple] = (-2.0, 2.0)
    target: ClassVar[tuple | None] = None  # the values of a target that is not continuous
    sample_params: ClassVar[dict] = {}

    def infer(self, *args: Any) -> Meta:
        operands = args[: len(self.inputs)]
        accept(self, "f", *operands)
        return Meta(broadcast_shape(self, *operands), same_dtype(self, *operands))

    @in_compute_type
    def decompose(self, *args):
        return self.value(*args)

    def shard(self, *args):
        return shard_pointwise(*args[: len(self.inputs)])

    @classmethod
    def pair(cls, rng: Any, a: tuple, b: tuple, dtype: DType) -> tuple:
        y = draw(rng, b, dtype, *cls.range_y)
        if cls.target is not None:
            y = rng.choice(np.array(cls.target), b).astype(dtype.numpy)
        return draw(rng, a, dtype, *cls.range_x), y

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        only = None if cls.target is None else (0,)
        for a, b, dtype in (
            ((2, 3), (2, 3), dt.float64),
            ((2, 3), (3,), dt.float64),
            ((4,), (4,), dt.float32),
            ((), (), dt.float64),
            ((0, 2), (0, 2), dt.float32),
            ((4,), (4,), dt.bfloat16),
        ):
            yield Sample(cls.pair(rng, a, b, dtype), {}, cls.sample_params, only)


def pairwise(name: str, doc: str, value: Callable, **members: Any) -> type[Op]:
    """Make a loss of two operands without params."""
    ns = {"__doc__": doc, "__module__": __name__, "value": lambda self, x, y: value(x, y), **members}
    return register(OpMeta(name, (Pairwise,), ns))


Mse = pairwise("Mse", "(x - y)**2", lambda x, y: square(F.sub(x, y)))
L1 = pairwise("L1", "|x - y|", lambda x, y: F.abs(F.sub(x, y)), range_y=(2.2, 4.0))
SoftMargin = pairwise(
    "SoftMargin", "log(1 + exp(-y*x)), y being -1 or 1", lambda x, y: log1p_exp(F.neg(F.mul(x, y))), target=(-1, 1)
)


@register
class SmoothL1(Pairwise):
    """Quadratic where |x - y| is below ``delta``, linear beyond.

    With ``huber`` the slope grows to delta, without to 1.
    """

    huber: bool = True
    delta: float = param(default=1.0)
    range_x = (-2.4, 2.4)
    range_y = (-0.1, 0.1)

    def value(self, x, y, delta):
        size = F.abs(F.sub(x, y))
        near = F.minimum(size, delta)
        # near**2/2 + delta*(size - near), of which only one part moves at a time.
        loss = F.add(F.mul(square(near), 0.5), F.mul(F.sub(size, near), delta))
        return loss if self.huber else F.div(loss, delta)

    @vjp_in_compute_type
    def vjp(self, s, g):
        (x, y), delta = s.inputs, s.params.delta
        slope = clamp(F.sub(x, y), -delta, delta)
        g = F.mul(g, slope if self.huber else F.div(slope, delta))
        return back(g, x), back(F.neg(g), y)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for huber in (True, False):
            for s in super().samples(rng):
                x = s.inputs[0].astype(np.float64)
                # Off the kink, for any y drawn.
                apart = np.asarray(np.where(np.abs(np.abs(x) - 0.8) < 0.25, 1.5, x)).astype(s.inputs[0].dtype)
                yield Sample((apart, s.inputs[1]), {"huber": huber}, {"delta": 0.8})


@register
class KlDiv(Pairwise):
    """y * (log(y) - x), x being log probabilities and 0 where y is not positive; y is a log too with ``log_target``."""

    log_target: bool = False
    range_y = (0.1, 1.0)

    def value(self, x, y):
        if self.log_target:
            return F.mul(F.exp(y), F.sub(y, x))
        there = F.gt(y, 0)
        return F.where(there, F.mul(y, F.sub(F.log(F.where(there, y, 1)), x)), 0)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for log_target in (False, True):
            yield from (Sample(s.inputs, {"log_target": log_target}) for s in super().samples(rng))
        yield Sample((draw(rng, (3,)), np.array([0.0, 0.5, 1.0])), differentiable=(0,), note="a target of 0")


@register
class BceLoss(Pairwise):
    """Binary cross entropy of probabilities x with targets y; logarithms are kept above -100.

    Elements of x outside 0 to 1 are refused.
    """

    range_x = (0.1, 0.9)
    range_y = (0.1, 0.9)

    def value(self, x, y):
        x = F.probability(x)
        yes, no = F.maximum(F.log(x), -100), F.maximum(F.log1p(F.neg(x)), -100)
        return F.neg(F.add(F.mul(y, yes), F.mul(F.sub(1, y), no)))

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, y = s.inputs
        dx = F.div(F.sub(x, y), F.maximum(F.mul(x, F.sub(1, x)), 1e-12))
        dy = F.sub(F.maximum(F.log1p(F.neg(x)), -100), F.maximum(F.log(x), -100))
        return back(F.mul(g, dx), x), back(F.mul(g, dy), y)


@register
class BceWithLogits(Pairwise):
    """Binary cross entropy of sigmoid(x) with targets y; ``pos_weight`` multiplies the part of positive targets."""

    inputs = ("x", "y", "pos_weight?")
    range_y = (0.0, 1.0)

    def infer(self, x, y, pos_weight):
        there = [m for m in (x, y, pos_weight) if m is not None]
        accept(self, "f", *there)
        return Meta(broadcast_shape(self, *there), same_dtype(self, *there))

    def value(self, x, y, pos_weight):
        cost = log1p_exp(F.neg(x))
        if pos_weight is not None:
            cost = F.mul(cost, F.add(F.mul(F.sub(pos_weight, 1), y), 1))
        return F.add(F.mul(F.sub(1, y), x), cost)

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, y, pos = s.inputs
        if pos is None:
            return back(F.mul(g, F.sub(F.logistic(x), y)), x), back(F.neg(F.mul(g, x)), y), None
        cost, extra = log1p_exp(F.neg(x)), F.sub(pos, 1)
        share = F.mul(F.add(F.mul(extra, y), 1), F.logistic(F.neg(x)))
        dx, dy = F.sub(F.sub(1, y), share), F.sub(F.mul(extra, cost), x)
        return back(F.mul(g, dx), x), back(F.mul(g, dy), y), back(F.mul(g, F.mul(y, cost)), pos)

    def shard(self, x, y, pos_weight):
        return shard_pointwise(x, y, pos_weight)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for s in super().samples(rng):
            yield Sample((*s.inputs, None))
        yield Sample((draw(rng, (2, 3)), draw(rng, (2, 3), lo=0.0, hi=1.0), draw(rng, (3,), lo=0.5)), note="pos_weight")
        large = np.array([100.0, -100.0, np.inf, np.nan], np.float32)
        yield Sample((large, np.array([0.0, 1.0, 1.0, 1.0], np.float32), None), differentiable=(), note="large, NaN")


@register
class LogLoss(Pairwise):
    """Binary cross entropy of probabilities x with targets y, ``eps`` added inside the logarithms."""

    range_x = (0.1, 0.9)
    range_y = (0.0, 1.0)
    eps: float = param(default=1e-4)

    def value(self, x, y, eps):
        yes, no = F.log(F.add(x, eps)), F.log(F.add(F.sub(1, x), eps))
        return F.neg(F.add(F.mul(y, yes), F.mul(F.sub(1, y), no)))


@register
class SigmoidFocal(Pairwise):
    """Focal loss of sigmoid(x): binary cross entropy times alpha_t * (1 - p_t)**gamma."""

    target = (0, 1)
    alpha: float = param(default=0.25)
    gamma: float = param(default=2.0)

    def value(self, x, y, alpha, gamma):
        p = F.logistic(x)
        missed = F.add(F.mul(p, F.sub(1, y)), F.mul(F.sub(1, p), y))
        balance = F.add(F.mul(y, alpha), F.mul(F.sub(1, y), 1.0 - alpha))
        return F.mul(F.mul(F.bce_with_logits(x, y, None), balance), F.pow(missed, gamma))


@register
class PoissonNll(Pairwise):
    """Negative log likelihood of counts y under a Poisson law with rate exp(x), or x with ``log_input=False``.

    ``full`` adds Stirling's approximation of log y! where y is above 1.
    """

    log_input: bool = True
    full: bool = False
    eps: float = param(default=1e-8)
    range_x = (0.2, 2.0)
    range_y = (1.2, 4.0)

    def value(self, x, y, eps):
        if self.log_input:
            loss = F.sub(F.exp(x), F.mul(y, x))
        else:
            loss = F.sub(x, F.mul(y, F.log(F.add(x, eps))))
        if self.full:
            safe = F.maximum(y, 1)
            stirling = F.add(F.sub(F.mul(safe, F.log(safe)), safe), F.mul(F.log(F.mul(safe, 2 * math.pi)), 0.5))
            loss = F.add(loss, F.where(F.gt(y, 1), stirling, 0))
        return loss

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for log_input, full in ((True, False), (True, True), (False, False)):
            for s in super().samples(rng):
                yield Sample(s.inputs, {"log_input": log_input, "full": full})


@register
class GaussianNll(Pairwise):
    """Negative log likelihood of y under a normal law of mean x and variance ``var``, which is kept above ``eps``."""

    inputs = ("x", "y", "var")
    full: bool = False
    eps: float = param(default=1e-6)

    def value(self, x, y, var, eps):
        # The bound moves the value only: the gradient goes to var as it came.
        var = F.maximum(var, eps)
        loss = F.mul(F.add(F.log(var), F.div(square(F.sub(x, y)), var)), 0.5)
        return F.add(loss, 0.5 * math.log(2 * math.pi)) if self.full else loss

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for full in (False, True):
            for s in super().samples(rng):
                var = draw(rng, s.inputs[0].shape, dt.convert(s.inputs[0].dtype), 0.5, 2.0)
                yield Sample((*s.inputs, var), {"full": full})


@register
class HingeEmbedding(Pairwise):
    """x where y is 1, max(0, margin - x) where it is -1."""

    target = (-1, 1)
    range_x = (-0.9, 0.9)
    margin: float = param(default=1.0)

    def value(self, x, y, margin):
        return F.where(F.eq(y, 1), x, F.where(F.eq(y, -1), F.maximum(F.sub(margin, x), 0), 0))


@register
class MarginRanking(Op):
    """max(0, margin - label*(x - y)): x is to exceed y by the margin where label is 1, and y x where it is -1."""

    inputs = ("x", "y", "label")
    elementwise = True
    amp = "deny"
    margin: float = param(default=0.0)

    def infer(self, x, y, label, margin):
        accept(self, "f", x, y, label)
        return Meta(broadcast_shape(self, x, y, label), same_dtype(self, x, y, label))

    @in_compute_type
    def decompose(self, x, y, label, margin):
        return F.maximum(F.sub(margin, F.mul(label, F.sub(x, y))), 0)

    def shard(self, x, y, label, margin):
        return shard_pointwise(x, y, label)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float64), ((4,), dt.float32), ((), dt.float64), ((0,), dt.float32)):
            label = rng.choice(np.array([-1.0, 1.0]), shape)
            label = np.asarray(label).astype(dtype.numpy)
            x, y = draw(rng, shape, dtype, 0.0, 1.0), draw(rng, shape, dtype, 1.2, 2.0)
            yield Sample((x, y, label), params={"margin": 0.1}, differentiable=(0, 1))
