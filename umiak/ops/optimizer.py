"""One step of an optimizer for one parameter: a pure function from old values to new ones, which the caller writes in
place.

Arithmetic is done in the compute type of the parameter (or of its float32 master copy, passed as the parameter),
whatever the dtype of the gradient. ``lr`` is a number or a 0-d tensor.

A complex parameter is one of pairs of real numbers, each of which is updated by itself; its states are complex, too.
Norms are those of all parts, which are those of the complex numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir.meta import Meta
from umiak.ops._common import accept, cast_to, draw, factor_names, is_tensor, same_shape, shard_reduce, shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.elementwise import square


def mix(old: Any, new: Any, keep: Any) -> Any:
    """keep*old + (1 - keep)*new: a moving average."""
    return F.add(F.mul(old, keep), F.mul(new, 1.0 - keep))


def times(a: Any, b: Any) -> Any:
    """Product where either may be a number."""
    return F.mul(a, b) if is_tensor(a) or is_tensor(b) else a * b


def in_parts(x: Any, wide: DType) -> Any:
    """``x`` in the type ``wide``, or in that of its parts: a complex one with a last dim for them."""
    return F.as_real(cast_to(x, wide)) if x.dtype.is_complex else cast_to(x, wide.real)


class Update(Op):
    """Operands: the parameter, its gradient, the states, ``lr``. Results: the new parameter and the new states."""

    elementwise = True
    vjp = None
    states: ClassVar[tuple] = ()
    positive: ClassVar[tuple] = ()  # states that samples draw above 0
    sample_params: ClassVar[dict] = {}

    def parts(self, args: tuple) -> tuple:
        """The parameter, its gradient, lr, and the states that are present."""
        operands, at = args[: len(self.inputs)], self.inputs.index("lr")
        return *operands[:2], operands[at], [v for i, v in enumerate(operands) if i > 1 and i != at and v is not None]

    def infer(self, *args: Any) -> Any:
        p, g, lr, states = self.parts(args)
        accept(self, "c" if p.dtype.is_complex else "f", p, g, *states)
        accept(self, "f", lr)
        for m in (g, *states):
            same_shape(self, p.shape, m.shape, "gradient and states of the shape of the parameter")
        if lr.weak is None and lr.shape:
            self.fail(ValueError, "lr as a number or a 0-d tensor", tuple(lr.shape))
        metas = tuple(Meta(m.shape, m.dtype) for m in (p, *states))
        return metas if len(metas) > 1 else metas[0]

    def decompose(self, *args):
        n = len(self.inputs)
        operands, params = args[:n], args[n:]
        wide = operands[0].dtype.compute
        ready = (in_parts(v, wide) if is_tensor(v) else v for v in operands)
        results = self.step(*ready, *params)
        param, _, _, states = self.parts(args)
        there = [F.as_complex(v) if wide.is_complex else v for v in results if v is not None]
        new = tuple(cast_to(v, old.dtype) for v, old in zip(there, (param, *states), strict=True))
        return new if len(new) > 1 else new[0]

    def step(self, *args: Any) -> tuple:
        """New parameter and states; None for a state that is absent."""
        raise TypeError(f"[{self.name}] defines no step")

    def shard(self, *args: Any) -> str:
        names, states = factor_names(len(args[0].shape)), self.parts(args)[3]
        at = self.inputs.index("lr")
        lists = [[] if i == at or args[i] is None else names for i in range(len(self.inputs))]
        return shard_string(lists, [names] * (1 + len(states)))

    @classmethod
    def cases(cls, rng: Any, attrs: dict, states: tuple) -> Iterator[Sample]:
        """Samples with the named states present."""
        for shape, p, g, m, lr in (
            ((2, 3), dt.float64, dt.float64, dt.float64, 0.1),
            ((4,), dt.float32, dt.float32, dt.float32, 0.1),
            ((4,), dt.float32, dt.bfloat16, dt.float32, 0.1),
            ((3,), dt.bfloat16, dt.bfloat16, dt.float32, 0.1),
            ((), dt.float32, dt.float32, dt.float32, None),
            ((0, 2), dt.float32, dt.float32, dt.float32, 0.1),
            ((2, 3), dt.complex128, dt.complex128, dt.complex128, 0.1),
            ((3,), dt.complex64, dt.complex64, dt.complex64, None),
        ):
            held = {s: draw(rng, shape, m, 0.1 if s in cls.positive else -1.0, 1.0) for s in states}
            held["lr"] = lr if lr is not None else draw(rng, (), dt.float32, 0.1, 0.2)
            rest = (held.get(name.rstrip("?")) for name in cls.inputs[2:])
            yield Sample((draw(rng, shape, p), draw(rng, shape, g), *rest), attrs, cls.sample_params, ())

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, {}, cls.states)


@register
class SgdUpdate(Update):
    """Gradient descent."""

    inputs = ("param", "grad", "lr")

    def step(self, p, g, lr):
        return (F.sub(p, F.mul(g, lr)),)


@register
class MomentumUpdate(Update):
    """Gradient descent with a velocity; ``decay`` adds that part of the parameter to its gradient."""

    inputs = ("param", "grad", "velocity", "lr")
    states = ("velocity",)
    sample_params = {"mu": 0.8, "decay": 0.01}
    nesterov: bool = False
    mu: float = param(default=0.9)
    decay: float = param(default=0.0)

    def step(self, p, g, v, lr, mu, decay):
        g = F.add(g, F.mul(p, decay))
        v = F.add(F.mul(v, mu), g)
        return F.sub(p, F.mul(F.add(g, F.mul(v, mu)) if self.nesterov else v, lr)), v

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for nesterov in (False, True):
            yield from cls.cases(rng, {"nesterov": nesterov}, cls.states)


class AdamFamily(Update):
    """Moving averages of the gradient and of its square, corrected for their start at 0.

    ``beta1_pow`` and ``beta2_pow`` are the betas to the power of the number of this step, from 1.
    """

    states = ("m", "v")
    positive = ("v", "vmax")
    sample_params = {"beta1_pow": 0.9**3, "beta2_pow": 0.999**3}
    beta1: float = param(default=0.9)
    beta2: float = param(default=0.999)
    eps: float = param(default=1e-8)
    beta1_pow: float = param()
    beta2_pow: float = param()

    def moments(self, g: Any, m: Any, v: Any, beta1: Any, beta2: Any) -> tuple:
        return mix(m, g, beta1), mix(v, square(g), beta2)


class AdamSteps(AdamFamily):
    """``amsgrad`` divides by the largest second moment so far, which is then a state."""

    inputs = ("param", "grad", "m", "v", "lr", "vmax?")
    amsgrad: bool = False

    def adam(self, p: Any, g: Any, m: Any, v: Any, lr: Any, vmax: Any, *params: Any) -> tuple:
        beta1, beta2, eps, beta1_pow, beta2_pow = params
        m, v = self.moments(g, m, v, beta1, beta2)
        top = v
        if self.amsgrad:
            top = vmax = F.maximum(vmax, v)
        root = (1.0 - beta2_pow) ** 0.5
        # sqrt(top/(1 - beta2_pow)) + eps, with the correction taken out of the root.
        change = F.div(m, F.add(F.sqrt(top), eps * root))
        return F.sub(p, F.mul(change, times(lr, root / (1.0 - beta1_pow)))), m, v, vmax

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, {}, ("m", "v"))
        yield from cls.cases(rng, {"amsgrad": True}, ("m", "v", "vmax"))


@register
class AdamUpdate(AdamSteps):
    """Adam: the average gradient over the root of the average square."""

    def step(self, p, g, m, v, lr, vmax, *params):
        return self.adam(p, g, m, v, lr, vmax, *params)


@register
class AdamwUpdate(AdamSteps):
    """Adam after the parameter has shrunk by ``lr * weight_decay`` of itself."""

    weight_decay: float = param(default=0.01)

    def step(self, p, g, m, v, lr, vmax, *params):
        *adam, weight_decay = params
        p = F.sub(p, F.mul(p, times(lr, weight_decay)))
        return self.adam(p, g, m, v, lr, vmax, *adam)


@register
class AdamaxUpdate(Update):
    """Adam with the largest decayed gradient in place of the root of squares."""

    inputs = ("param", "grad", "m", "norm", "lr")
    states = ("m", "norm")
    positive = ("norm",)
    sample_params = {"beta1_pow": 0.9**3}
    beta1: float = param(default=0.9)
    beta2: float = param(default=0.999)
    eps: float = param(default=1e-8)
    beta1_pow: float = param()

    def step(self, p, g, m, norm, lr, beta1, beta2, eps, beta1_pow):
        m = mix(m, g, beta1)
        norm = F.maximum(F.abs(g), F.add(F.mul(norm, beta2), eps))
        return F.sub(p, F.mul(F.div(m, norm), times(lr, 1.0 / (1.0 - beta1_pow)))), m, norm


@register
class LambUpdate(AdamFamily):
    """Adam's change plus ``weight_decay * param``, scaled by the ratio of the parameter's norm to its own."""

    inputs = ("param", "grad", "m", "v", "lr")
    elementwise = False
    weight_decay: float = param(default=0.01)

    def step(self, p, g, m, v, lr, beta1, beta2, eps, beta1_pow, beta2_pow, weight_decay):
        m, v = self.moments(g, m, v, beta1, beta2)
        change = F.div(F.div(m, 1.0 - beta1_pow), F.add(F.sqrt(F.div(v, 1.0 - beta2_pow)), eps))
        change = F.add(change, F.mul(p, weight_decay))
        axes = tuple(range(p.ndim))
        size, length = F.vector_norm(p, axes), F.vector_norm(change, axes)
        usable = F.logical_and(F.gt(size, 0), F.gt(length, 0))
        trust = F.where(usable, F.div(size, F.where(usable, length, 1)), 1)
        return F.sub(p, F.mul(change, F.mul(trust, lr))), m, v

    def shard(self, *args):
        names = factor_names(len(args[0].shape))
        return shard_string([*[names] * 4, []], [names] * 3, **dict.fromkeys(names, "replicated"))


@register
class NadamUpdate(Update):
    """Adam with Nesterov's momentum.

    ``mu`` and ``mu_next`` are this step's and the next one's momentum, ``mu_product`` all so far.
    """

    inputs = ("param", "grad", "m", "v", "lr")
    states = ("m", "v")
    positive = ("v",)
    sample_params = {"beta2_pow": 0.999**3, "mu": 0.86, "mu_next": 0.87, "mu_product": 0.65}
    beta1: float = param(default=0.9)
    beta2: float = param(default=0.999)
    eps: float = param(default=1e-8)
    beta2_pow: float = param()
    mu: float = param()
    mu_next: float = param()
    mu_product: float = param()

    def step(self, p, g, m, v, lr, beta1, beta2, eps, beta2_pow, mu, mu_next, mu_product):
        m, v = mix(m, g, beta1), mix(v, square(g), beta2)
        nesterov = F.mul(m, mu_next / (1.0 - mu_product * mu_next))
        nesterov = F.add(nesterov, F.mul(g, (1.0 - mu) / (1.0 - mu_product)))
        return F.sub(p, F.mul(F.div(nesterov, F.add(F.sqrt(F.div(v, 1.0 - beta2_pow)), eps)), lr)), m, v


@register
class RadamUpdate(AdamFamily):
    """Adam with rectified variance: the change is ``m * (rectified/(sqrt(v) + eps) + plain)``.

    The caller computes the two from the number of the step; one of them is 0.
    """

    inputs = ("param", "grad", "m", "v", "lr")
    sample_params = {**AdamFamily.sample_params, "rectified": 0.7, "plain": 0.0}
    rectified: float = param()
    plain: float = param()

    def step(self, p, g, m, v, lr, beta1, beta2, eps, beta1_pow, beta2_pow, rectified, plain):
        m, v = self.moments(g, m, v, beta1, beta2)
        rate = F.add(F.div(rectified, F.add(F.sqrt(v), eps)), plain)
        return F.sub(p, F.mul(F.mul(m, rate), times(lr, 1.0 / (1.0 - beta1_pow)))), m, v


@register
class AdagradUpdate(Update):
    """The gradient over the root of the sum of all squares so far."""

    inputs = ("param", "grad", "total", "lr")
    states = positive = ("total",)
    eps: float = param(default=1e-6)

    def step(self, p, g, total, lr, eps):
        total = F.add(total, square(g))
        return F.sub(p, F.mul(F.div(g, F.add(F.sqrt(total), eps)), lr)), total


@register
class AdadeltaUpdate(Update):
    """The gradient scaled by the ratio of average changes to average gradients."""

    inputs = ("param", "grad", "squares", "changes", "lr")
    states = positive = ("squares", "changes")
    rho: float = param(default=0.95)
    eps: float = param(default=1e-6)

    def step(self, p, g, squares, changes, lr, rho, eps):
        squares = mix(squares, square(g), rho)
        change = F.mul(g, F.sqrt(F.div(F.add(changes, eps), F.add(squares, eps))))
        return F.sub(p, F.mul(change, lr)), squares, mix(changes, square(change), rho)


@register
class RmspropUpdate(Update):
    """The gradient over the root of the average square (with ``mean``, of the average variance), through a momentum."""

    inputs = ("param", "grad", "squares", "momentum", "lr", "mean?")
    states = ("squares", "momentum")
    positive = ("squares",)
    sample_params = {"mu": 0.5, "eps": 0.1}
    rho: float = param(default=0.95)
    eps: float = param(default=1e-6)
    mu: float = param(default=0.0)

    def step(self, p, g, squares, momentum, lr, mean, rho, eps, mu):
        spread = squares = mix(squares, square(g), rho)
        if mean is not None:
            mean = mix(mean, g, rho)
            spread = F.sub(squares, square(mean))
        momentum = F.add(F.mul(momentum, mu), F.mul(F.mul(g, F.rsqrt(F.add(spread, eps))), lr))
        return F.sub(p, momentum), squares, momentum, mean

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, {}, cls.states)
        for s in cls.cases(rng, {}, ("squares", "momentum", "mean")):
            p, g, squares, *rest = s.inputs
            # A second moment is never below the square of the first.
            yield Sample((p, g, np.asarray(squares + squares.dtype.type(1)), *rest), {}, cls.sample_params, ())


@register
class AsgdUpdate(Update):
    """The sum of the latest gradients of ``n`` batches: this one replaces its predecessor ``old`` in ``total``."""

    inputs = ("param", "grad", "total", "old", "lr")
    states = ("total", "old")
    sample_params = {"n": 4.0}
    n: float = param()

    def step(self, p, g, total, old, lr, n):
        total = F.add(F.sub(total, old), g)
        return F.sub(p, F.mul(total, times(lr, 1.0 / n))), total, g


@register
class RpropUpdate(Update):
    """Steps of a size of their own, which grows while the sign of the gradient stays and shrinks when it turns."""

    inputs = ("param", "grad", "previous", "sizes", "lr")
    states = ("previous", "sizes")
    positive = ("sizes",)
    smallest: float = param(default=1e-5)
    largest: float = param(default=50.0)
    shrink: float = param(default=0.5)
    grow: float = param(default=1.2)

    def step(self, p, g, previous, sizes, lr, smallest, largest, shrink, grow):
        agreement = F.mul(g, previous)
        same, sign_changed = F.gt(agreement, 0), F.lt(agreement, 0)
        factor = F.where(same, grow, F.where(sign_changed, F.full(shrink, dtype=g.dtype, shape=()), 1))
        sizes = F.minimum(F.maximum(F.mul(sizes, factor), smallest), largest)
        g = F.where(sign_changed, 0, g)
        return F.sub(p, F.mul(F.sign(g), sizes)), g, sizes


@register
class SquareSum(Op):
    """The sum of the squares of all elements (of the parts of complex ones), in the compute type: what norms of
    gradients are made of."""

    inputs = ("x",)
    vjp = None

    def infer(self, x):
        accept(self, "fc", x)
        return Meta((), x.dtype.compute.real)

    def decompose(self, x):
        parts = in_parts(x, x.dtype.compute)
        return F.sum(square(parts), axes=tuple(range(parts.ndim)))

    def shard(self, x):
        return shard_reduce(x, tuple(range(len(x.shape))), False, "sum")

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.float64), ((5,), dt.float32), ((3, 2), dt.bfloat16), ((2,), dt.float16), ((), dt.float64),
            ((0, 2), dt.float32), ((2, 3), dt.complex64), ((), dt.complex128),
        ):  # fmt: skip
            yield Sample((draw(rng, shape, dtype),), {}, {}, ())


@register
class RegularizedGrad(Op):
    """The gradient plus the derivative of a penalty on the parameter: ``coeff * param``, or with ``l1`` ``coeff *
    sign(param)``, which is z/|z| for complex z.

    Computed in the compute type of the gradient, whose dtype the result has.
    """

    inputs = ("grad", "param", "coeff")
    elementwise = True
    vjp = None
    l1: bool = False

    def infer(self, grad, param, coeff):
        accept(self, "c" if grad.dtype.is_complex else "f", grad, param)
        accept(self, "f", coeff)
        same_shape(self, param.shape, grad.shape, "a gradient of the shape of the parameter")
        return Meta(grad.shape, grad.dtype)

    def decompose(self, grad, param, coeff):
        wide = grad.dtype.compute
        p = cast_to(param, wide)
        return cast_to(F.add(cast_to(grad, wide), F.mul(F.sign(p) if self.l1 else p, coeff)), grad.dtype)

    def shard(self, grad, param, coeff):
        names = factor_names(len(grad.shape))
        return shard_string([names, names, []], [names])

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for l1 in (False, True):
            for shape, g, p in (
                ((2, 3), dt.float64, dt.float64),
                ((4,), dt.bfloat16, dt.float32),
                ((), dt.float32, dt.float32),
                ((2, 3), dt.complex128, dt.complex128),
                ((3,), dt.complex64, dt.complex64),
            ):
                yield Sample((draw(rng, shape, g), draw(rng, shape, p), 0.3), {"l1": l1}, {}, ())


@register
class ZerosLike(Op):
    """Zeros of the shape of ``x``, whose values are not looked at."""

    inputs = ("x",)
    elementwise = True
    vjp = None

    def infer(self, x):
        accept(self, "fc", x)
        return Meta(x.shape, x.dtype)

    def decompose(self, x):
        return F.full(0.0, dtype=x.dtype, shape=tuple(x.shape))

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [names])

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for shape, dtype in (((2, 3), dt.float64), ((5,), dt.bfloat16), ((), dt.float32), ((2,), dt.complex64)):
            yield Sample((draw(rng, shape, dtype),), {}, {}, ())
        yield Sample((np.full((2,), np.nan),), {}, {}, ())


@register
class LarsUpdate(Update):
    """Momentum whose rate is scaled by the ratio of the parameter's norm to its gradient's (You et al., 2017).

    The local rate is ``lr * coeff * |param| / (|grad| + weight_decay * |param| + eps)``, or ``lr`` where a norm is 0
    and without ``adapts``.
    """

    inputs = ("param", "grad", "velocity", "lr")
    elementwise = False
    states = ("velocity",)
    sample_params = {"mu": 0.8, "coeff": 0.1, "weight_decay": 0.02, "eps": 1e-3}
    adapts: bool = True
    mu: float = param(default=0.9)
    coeff: float = param(default=0.001)
    weight_decay: float = param(default=0.0005)
    eps: float = param(default=0.0)

    def step(self, p, g, v, lr, mu, coeff, weight_decay, eps):
        if not self.adapts:
            v = F.add(F.mul(v, mu), F.mul(F.add(g, F.mul(p, weight_decay)), lr))
            return F.sub(p, v), v
        axes = tuple(range(p.ndim))
        size, slope = F.vector_norm(p, axes), F.vector_norm(g, axes)
        usable = F.logical_and(F.gt(size, 0), F.gt(slope, 0))
        total = F.add(F.add(slope, F.mul(size, weight_decay)), eps)
        ratio = F.where(usable, F.div(F.mul(size, coeff), F.where(usable, total, 1)), 1)
        v = F.add(F.mul(v, mu), F.mul(F.add(g, F.mul(p, weight_decay)), F.mul(ratio, lr)))
        return F.sub(p, v), v

    def shard(self, *args):
        names = factor_names(len(args[0].shape))
        return shard_string([*[names] * 3, []], [names] * 2, **dict.fromkeys(names, "replicated"))

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for adapts in (True, False):
            yield from cls.cases(rng, {"adapts": adapts}, cls.states)


@register
class FiniteProbe(Op):
    """0 where all elements of ``x`` are finite, otherwise NaN: probes of many tensors add up to one number."""

    inputs = ("x",)
    vjp = None

    def infer(self, x):
        accept(self, "fc", x)
        return Meta((), dt.float32)

    def decompose(self, x):
        # Whatever x holds, x*0 is 0 or NaN.
        zeros = cast_to(F.mul(in_parts(x, x.dtype.compute), 0), dt.float32)
        return F.sum(zeros, axes=tuple(range(zeros.ndim)))

    def shard(self, x):
        return shard_reduce(x, tuple(range(len(x.shape))), False, "sum")

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for shape, dtype in (
            ((2, 3), dt.float64),
            ((5,), dt.float32),
            ((2,), dt.bfloat16),
            ((), dt.float16),
            ((0, 2), dt.float32),
            ((2, 3), dt.complex64),
        ):
            yield Sample((draw(rng, shape, dtype),), {}, {})
        yield Sample((np.array([1.0, np.inf], np.float32),), {}, {})
        yield Sample((np.array([1.0, complex(0.0, np.inf)], np.complex64),), {}, {})
        yield Sample((np.array([[np.nan, 1e308]]),), {}, {})
