"""Activations: composites over the elementwise primitives, with their slopes written out.

A slope is given in terms of x, or of the value where that is cheaper, so that one tensor is kept and one fused loop
runs backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    broadcast_shape,
    check_axes,
    conj,
    draw,
    elements,
    factor_names,
    in_compute_type,
    same_dtype,
    shard_except,
    shard_pointwise,
    shard_string,
    sizes,
    vjp_in_compute_type,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.elementwise import Unary, square
from umiak.ops.random import uniforms


class Activation(Unary):
    """``value(x, *params)`` in smaller ops, and ``derivative(x, y, *params)``, its derivative where the value is y."""

    kinds = "f"
    value: ClassVar[Callable]
    derivative: ClassVar[Callable]

    @in_compute_type
    def decompose(self, x, *params):
        return self.value(x, *params)

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.mul(g, conj(self.derivative(s.inputs[0], s.outputs[0], *s.params))),)


class Gated(Activation):
    """An activation whose slope is 1 where ``passes`` and 0 elsewhere."""

    passes: ClassVar[Callable]

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.where(self.passes(s.inputs[0], s.outputs[0], *s.params), g, 0),)


def inside(y: Any, lo: Any, hi: Any) -> Any:
    return F.logical_and(F.gt(y, lo), F.lt(y, hi))


def clamp(x: Any, lo: Any, hi: Any) -> Any:
    return F.minimum(F.maximum(x, lo), hi)


def log1p_exp(x: Any) -> Any:
    """log(1 + exp(x)), without overflow; of complex numbers the principal value."""
    if not x.dtype.is_complex:
        return F.add(F.maximum(x, 0), F.log1p(F.exp(F.neg(F.abs(x)))))
    above = F.gt(F.real(x), 0)
    most = F.complex(F.maximum(F.real(x), 0), 0.0)
    large = F.add(most, F.log(F.add(F.exp(F.neg(most)), F.exp(F.sub(x, most)))))
    return F.where(above, large, F.log1p(F.exp(F.where(above, 0, x))))


def real(x: Any) -> Any:
    return F.real(x) if x.dtype.is_complex else x


def gate(x: Any) -> Any:
    """1 / (1 + exp(-x)), of complex numbers without overflow, too."""
    if not x.dtype.is_complex:
        return F.logistic(x)
    low = F.lt(F.real(x), 0)
    e = F.exp(F.where(low, x, F.neg(x)))
    return F.div(F.where(low, e, 1), F.add(e, 1))


# --- piecewise linear ----------------------------------------------------------------------------------------------


@register
class Relu(Gated):
    """max(x, 0). The slope at 0 is 0."""

    avoid = (0.0,)
    monotone = True

    def value(self, x):
        return F.maximum(x, 0)

    def passes(self, x, y):
        return F.gt(y, 0)


@register
class Relu6(Gated):
    """x between 0 and 6."""

    avoid = (0.0, 6.0)
    lo, hi = -4.0, 9.0
    monotone = True

    def value(self, x):
        return clamp(x, 0, 6)

    def passes(self, x, y):
        return inside(y, 0, 6)


@register
class Hardtanh(Gated):
    """x between ``min`` and ``max``."""

    avoid = (-1.0, 1.0)
    monotone = True
    min: float = param(default=-1.0)
    max: float = param(default=1.0)

    def value(self, x, min, max):
        return clamp(x, min, max)

    def passes(self, x, y, min, max):
        return inside(x, min, max)


@register
class Softshrink(Gated):
    """x moved towards 0 by ``threshold``, at most to 0."""

    avoid = (-0.5, 0.5)
    threshold: float = param(default=0.5)

    def value(self, x, threshold):
        return F.sub(x, clamp(x, -threshold, threshold))

    def passes(self, x, y, threshold):
        return F.gt(F.abs(x), threshold)


@register
class Hardshrink(Gated):
    """0 where |x| is at most ``threshold``, x elsewhere."""

    avoid = (-0.5, 0.5)
    threshold: float = param(default=0.5)

    def value(self, x, threshold):
        return F.where(F.le(F.abs(x), threshold), 0, x)

    def passes(self, x, y, threshold):
        return F.gt(F.abs(x), threshold)


@register
class ThresholdedRelu(Gated):
    """x where it exceeds ``threshold``, ``fill`` where it does not."""

    avoid = (1.0,)
    threshold: float = param(default=1.0)
    fill: float = param(default=0.0)

    def value(self, x, threshold, fill):
        return F.where(F.le(x, threshold), fill, x)  # NaN stays

    def passes(self, x, y, threshold, fill):
        return F.gt(x, threshold)


@register
class LeakyRelu(Activation):
    """x where it is positive, ``negative_slope * x`` elsewhere. The slope at 0 is 1."""

    avoid = (0.0,)
    negative_slope: float = param(default=0.01)

    def multiply_adds(self, operands, outs):
        return elements(outs[0])

    def value(self, x, negative_slope):
        return F.where(F.gt(x, 0), x, F.mul(x, negative_slope))

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.where(F.ge(s.inputs[0], 0), g, F.mul(g, s.params.negative_slope)),)


@register
class Hardsigmoid(Activation):
    """``alpha*x + offset`` between 0 and 1."""

    lo, hi = -5.0, 5.0
    avoid = (-3.0, 3.0)
    monotone = True
    alpha: float = param(default=1 / 6)
    offset: float = param(default=0.5)

    def value(self, x, alpha, offset):
        return clamp(F.add(F.mul(x, alpha), offset), 0, 1)

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.where(inside(s.outputs[0], 0, 1), F.mul(g, s.params.alpha), 0),)


@register
class Hardswish(Activation):
    """x * clamp(x + offset, 0, threshold) / scale."""

    lo, hi = -5.0, 5.0
    avoid = (-3.0, 3.0)
    threshold: float = param(default=6.0)
    scale: float = param(default=6.0)
    offset: float = param(default=3.0)

    def value(self, x, threshold, scale, offset):
        return F.div(F.mul(x, clamp(F.add(x, offset), 0, threshold)), scale)

    def derivative(self, x, y, threshold, scale, offset):
        gate = F.add(x, offset)
        middle = F.add(gate, F.where(inside(gate, 0, threshold), x, 0))
        return F.div(F.where(F.le(gate, 0), 0, F.where(F.ge(gate, threshold), threshold, middle)), scale)


# --- smooth --------------------------------------------------------------------------------------------------------


class ExponentialTail(Activation):
    """Linear above 0, an exponential below."""

    avoid = (0.0,)
    monotone = True

    def parts(self, *params: Any) -> tuple:
        """Scale above 0; below: amplitude and rate."""
        raise TypeError(f"[{self.name}] defines no parts")

    def value(self, x, *params):
        above, amplitude, rate = self.parts(*params)
        return F.where(F.gt(x, 0), F.mul(x, above), F.mul(F.expm1(F.mul(F.minimum(x, 0), rate)), amplitude))

    def derivative(self, x, y, *params):
        above, amplitude, rate = self.parts(*params)
        return F.where(F.gt(x, 0), above, F.mul(F.exp(F.mul(F.minimum(x, 0), rate)), amplitude * rate))


@register
class Elu(ExponentialTail):
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    sample_params = {"alpha": 0.7}
    alpha: float = param(default=1.0)

    def parts(self, alpha):
        return 1.0, alpha, 1.0


@register
class Selu(ExponentialTail):
    """``scale`` times the ELU with ``alpha``; the defaults keep mean 0 and variance 1."""

    scale: float = param(default=1.0507009873554805)
    alpha: float = param(default=1.6732632423543772)

    def parts(self, scale, alpha):
        return scale, scale * alpha, 1.0


@register
class Celu(ExponentialTail):
    """x where it is positive, ``alpha * (exp(x/alpha) - 1)`` elsewhere."""

    sample_params = {"alpha": 0.7}
    alpha: float = param(default=1.0)

    def parts(self, alpha):
        return 1.0, alpha, 1.0 / alpha


@register
class Gelu(Activation):
    """x times the normal distribution function; with ``approximate`` its approximation by tanh."""

    approximate: bool = False
    CUBIC: ClassVar[float] = 0.044715
    ROOT: ClassVar[float] = math.sqrt(2 / math.pi)

    def value(self, x):
        if self.approximate:
            return F.div(x, self.one_over_share(x))
        return F.mul(F.mul(x, 0.5), F.add(self.bend(x), 1))

    def bend(self, x: Any) -> Any:
        return F.erf(F.mul(x, math.sqrt(0.5)))

    def one_over_share(self, x: Any) -> Any:
        """2 / (1 + tanh(u)) as 1 + exp(-2 u), a power of two: cheaper, and exact where tanh nears -1."""
        root = -2 * self.ROOT / math.log(2)
        return F.add(F.exp2(F.mul(x, F.add(F.mul(square(x), self.CUBIC * root), root))), 1)

    def derivative(self, x, y):
        if not self.approximate:
            half = F.mul(F.add(self.bend(x), 1), 0.5)
            return F.add(half, F.mul(x, F.mul(F.exp(F.mul(square(x), -0.5)), math.sqrt(0.5 / math.pi))))
        share = F.reciprocal(self.one_over_share(x))
        rate = F.add(F.mul(square(x), 6 * self.CUBIC * self.ROOT), 2 * self.ROOT)
        return F.add(share, F.mul(F.mul(F.mul(share, F.sub(1, share)), x), rate))

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for approximate in (False, True):
            yield from (replace(s, attrs={"approximate": approximate}) for s in super().samples(rng))


@register
class Silu(Activation):
    """x * sigmoid(x)."""

    kinds = "fc"

    def value(self, x):
        return F.mul(x, gate(x))

    def derivative(self, x, y):
        open = gate(x)
        return F.mul(open, F.add(F.mul(x, F.sub(1, open)), 1))


@register
class Swish(Activation):
    """x * sigmoid(beta * x)."""

    sample_params = {"beta": 1.5}
    beta: float = param(default=1.0)

    def value(self, x, beta):
        return F.mul(x, F.logistic(F.mul(x, beta)))

    def derivative(self, x, y, beta):
        gate = F.logistic(F.mul(x, beta))
        return F.mul(gate, F.add(F.mul(F.mul(x, beta), F.sub(1, gate)), 1))


@register
class Mish(Activation):
    """x * tanh(softplus(x))."""

    def value(self, x):
        return F.mul(x, F.tanh(log1p_exp(x)))

    def derivative(self, x, y):
        bend = F.tanh(log1p_exp(x))
        return F.add(bend, F.mul(F.mul(x, F.sub(1, square(bend))), F.logistic(x)))


@register
class Softplus(Activation):
    """log(1 + exp(beta*x)) / beta, and x itself where beta*x exceeds ``threshold``."""

    amp = "deny"
    monotone = True
    kinds = "fc"
    sample_params = {"beta": 1.5}
    beta: float = param(default=1.0)
    threshold: float = param(default=20.0)

    def value(self, x, beta, threshold):
        z = F.mul(x, beta)
        return F.where(F.gt(real(z), threshold), x, F.div(log1p_exp(z), beta))

    def derivative(self, x, y, beta, threshold):
        z = F.mul(x, beta)
        return F.where(F.gt(real(z), threshold), 1, gate(z))


@register
class LogSigmoid(Activation):
    """log(sigmoid(x))."""

    monotone = True
    kinds = "fc"

    def value(self, x):
        return F.neg(log1p_exp(F.neg(x)))

    def derivative(self, x, y):
        return gate(F.neg(x))


@register
class Softsign(Activation):
    """x / (1 + |x|)."""

    monotone = True
    kinds = "fc"

    def value(self, x):
        size = F.add(F.abs(x), 1)
        return F.div(x, F.complex(size, 0.0) if x.dtype.is_complex else size)

    @vjp_in_compute_type
    def vjp(self, s, g):
        x = s.inputs[0]
        if not x.dtype.is_complex:
            return (F.mul(g, self.derivative(x, s.outputs[0])),)
        # Its size changes with the part of x that lies in its direction, so that the slope is no complex number.
        shrunk = F.complex(F.reciprocal(F.add(F.abs(x), 1)), 0.0)
        along = F.mul(F.complex(F.real(F.mul(F.conj(g), x)), 0.0), F.sign(x))
        return (F.sub(F.mul(g, shrunk), F.mul(along, square(shrunk))),)

    def derivative(self, x, y):
        return square(F.reciprocal(F.add(F.abs(x), 1)))


@register
class Tanhshrink(Activation):
    """x - tanh(x)."""

    monotone = True
    amp = "deny"

    def value(self, x):
        return F.sub(x, F.tanh(x))

    def derivative(self, x, y):
        return square(F.tanh(x))


@register
class Stanh(Activation):
    """``scale_b * tanh(scale_a * x)``."""

    kinds = "fc"
    scale_a: float = param(default=0.67)
    scale_b: float = param(default=1.7159)

    def value(self, x, scale_a, scale_b):
        return F.mul(F.tanh(F.mul(x, scale_a)), scale_b)

    def derivative(self, x, y, scale_a, scale_b):
        return F.mul(F.sub(1, square(F.tanh(F.mul(x, scale_a)))), scale_a * scale_b)


# --- along an axis -------------------------------------------------------------------------------------------------


class AlongAxis(Op):
    """One floating operand, one axis that must be whole."""

    axis: int
    amp = "deny"

    def infer(self, x):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(x.shape, x.dtype)

    def shard(self, x):
        return shard_except(x, (self.axis,))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, dtype in (
            ((2, 3), 1, dt.float64),
            ((3, 2, 2), 0, dt.float64),
            ((2, 4, 3), 1, dt.float32),
            ((4,), 0, dt.float32),
            ((0, 3), 1, dt.float32),
            ((2, 0), 1, dt.float32),
            ((0, 3), 0, dt.float64),
            ((2, 3), 1, dt.bfloat16),
            ((2, 3), 1, dt.float16),
        ):
            yield Sample((draw(rng, shape, dtype),), {"axis": axis})
        yield Sample((draw(rng, (2, 3), dt.float32) * 200,), {"axis": 1}, note="large")
        rows = draw(rng, (3, 3), dt.float32)
        rows[0, 1], rows[1, 0], rows[2] = float("-inf"), float("nan"), float("inf")
        yield Sample((rows,), {"axis": 1}, differentiable=(), note="NaN and infinities")


@register
class Softmax(AlongAxis):
    """exp(x) over its sum along ``axis``."""

    @in_compute_type
    def decompose(self, x):
        e = F.exp(F.sub(x, F.max(x, axes=(self.axis,), keepdim=True, empty=True)))
        return F.div(e, F.sum(e, axes=(self.axis,), keepdim=True))

    @vjp_in_compute_type
    def vjp(self, s, g):
        y = s.outputs[0]
        return (F.mul(y, F.sub(g, F.sum(F.mul(g, y), axes=(self.axis,), keepdim=True))),)


@register
class LogSoftmax(AlongAxis):
    """x less the log of the sum of exp(x) along ``axis``."""

    @in_compute_type
    def decompose(self, x):
        z = F.sub(x, F.max(x, axes=(self.axis,), keepdim=True, empty=True))
        return F.sub(z, F.log(F.sum(F.exp(z), axes=(self.axis,), keepdim=True)))

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (F.sub(g, F.mul(F.exp(s.outputs[0]), F.sum(g, axes=(self.axis,), keepdim=True))),)


class GatedHalves(AlongAxis):
    """Two halves along ``axis`` make one result."""

    amp = "promote"

    def infer(self, x):
        super().infer(x)
        n = x.shape[self.axis]
        if not dim.eq(n % 2, 0):
            self.fail(ValueError, f"an even size along axis {self.axis}", tuple(x.shape))
        return Meta(tuple(m // 2 if i == self.axis else m for i, m in enumerate(x.shape)), x.dtype)

    def halves(self, x: Any) -> tuple:
        n = x.shape[self.axis] // 2
        return tuple(F.slice(x, axes=(self.axis,), starts=(a,), sizes=(n,), steps=(1,)) for a in (0, n))

    def shard(self, x):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names], [out], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, dtype in (
            ((2, 6), 1, dt.float64),
            ((4, 3), 0, dt.float32),
            ((0, 2), 1, dt.float32),
            ((2, 4), 1, dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype),), {"axis": axis})


@register
class Glu(GatedHalves):
    """The first half along ``axis`` times the sigmoid of the second."""

    @in_compute_type
    def decompose(self, x):
        a, b = self.halves(x)
        return F.mul(a, F.logistic(b))


@register
class SwigluPacked(GatedHalves):
    """silu of the first half along ``axis`` times the second."""

    @in_compute_type
    def decompose(self, x):
        a, b = self.halves(x)
        return F.mul(F.silu(a), b)


class TwoOperands(Op):
    """Two operands that broadcast; elementwise."""

    inputs = ("x", "y")
    elementwise = True

    def infer(self, x, y):
        accept(self, "f", x, y)
        return Meta(broadcast_shape(self, x, y), same_dtype(self, x, y))

    def shard(self, x, y):
        return shard_pointwise(x, y)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for a, b, dtype in (
            ((2, 3), (2, 3), dt.float64),
            ((2, 3), (3,), dt.float64),
            ((2, 4, 3), (4, 1), dt.float32),
            ((), (), dt.float64),
            ((0, 2), (1, 2), dt.float32),
            ((4,), (4,), dt.bfloat16),
        ):
            yield Sample((draw(rng, a, dtype, avoid=(0.0,)), draw(rng, b, dtype)))


@register
class Swiglu(TwoOperands):
    """silu(x) * y."""

    linear = ("y",)

    @in_compute_type
    def decompose(self, x, y):
        return F.mul(F.silu(x), y)


@register
class Prelu(TwoOperands):
    """x where it is positive, ``weight * x`` elsewhere; ``weight`` broadcasts against x."""

    inputs = ("x", "weight")

    @in_compute_type
    def decompose(self, x, weight):
        return F.where(F.gt(x, 0), x, F.mul(x, weight))


@register
class Maxout(Op):
    """The largest of each ``groups`` neighbours along ``axis``."""

    axis: int
    groups: int = param("int")

    def infer(self, x, groups):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        n = x.shape[self.axis]
        if not (dim.le(1, groups) and dim.eq(n % groups, 0)):
            self.fail(ValueError, f"groups that divide {n}", groups)
        return Meta(tuple(m // groups if i == self.axis else m for i, m in enumerate(x.shape)), x.dtype)

    def decompose(self, x, groups):
        a, shape = self.axis, sizes(x)
        grouped = F.reshape(x, shape=(*shape[:a], shape[a] // groups, groups, *shape[a + 1 :]))
        return F.max(grouped, axes=(a + 1,))

    def shard(self, x, groups):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names], [out], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, groups, dtype in (
            ((2, 6), 1, 3, dt.float64),
            ((4, 3), 0, 2, dt.float64),
            ((0, 2), 1, 1, dt.float32),
        ):
            yield Sample((draw(rng, shape, dtype),), {"axis": axis}, {"groups": groups})


@register
class Rrelu(Op):
    """x where it is not negative, elsewhere x times a slope drawn from [lower, upper).

    One word an element; drawn again for the gradient.
    """

    random = True
    draws = 1
    lower: float = param(default=1 / 8)
    upper: float = param(default=1 / 3)
    seed: int = param("int", 0)
    offset: int = param("int", 0)

    def infer(self, x, *params):
        accept(self, "f", x)
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def on_shard(self, shard, x, *params):
        return self.apply(shard.results[0], x, x, *params)

    def apply(self, shape: Any, v: Any, x: Any, lower: Any, upper: Any, seed: Any, offset: Any) -> Any:
        (u,) = uniforms(shape, 1, seed, offset, dt.float32)
        slope = F.cast(F.add(F.mul(u, upper - lower), lower), dtype=v.dtype)
        return F.where(F.lt(x, 0), F.mul(v, slope), v)

    @in_compute_type
    def decompose(self, x, lower, upper, seed, offset):
        return self.apply(x.shape, x, x, lower, upper, seed, offset)

    @vjp_in_compute_type
    def vjp(self, s, g):
        return (self.apply(s.inputs[0].shape, g, s.inputs[0], *s.params),)

    def shard(self, x, *params):
        return shard_pointwise(x)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.float64),
            ((4,), dt.float32),
            ((), dt.float32),
            ((0, 2), dt.float32),
            ((3,), dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype, avoid=(0.0,)),), params={"seed": 4, "offset": 1})
