"""Distributions of real numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distribution.distribution import (
    EULER,
    LOG_2PI,
    Distribution,
    ExponentialFamily,
    check_df,
    check_probability,
    draw,
    draw_with,
    expand,
    parameters,
    register_kl,
    tensors,
)
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

# --- with a location and a scale -----------------------------------------------------------------------------------


@public("paddle.distribution")
class Normal(Distribution):
    """Normal distribution.

    Args:
        loc: mean; number, list, array or tensor (integers become the default dtype).
        scale: standard deviation, positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Normal(0.0, 2.0)
        >>> round(float(d.log_prob(paddle.to_tensor(1.0))), 4), d.sample([3]).shape
        (-1.7371, paddle.Size([3]))
    """

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.loc, self.scale = parameters("Normal", loc, scale)
        self.name = name or "Normal"
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return F.square(self.scale)

    def sample(self, shape: Sequence[int] = [], seed: int = 0) -> Tensor:
        """Draw outcomes as a function of the parameters, which gradients reach as those of :meth:`rsample`.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.
            seed: seed of a generator of its own; 0 means the global generator.

        Returns:
            Tensor of shape ``shape + batch_shape`` and of the parameters' dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        return _located(self, shape, "normal_random", seed)

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        return _located(self, shape, "normal_random")

    def entropy(self) -> Tensor:
        return F.add(F.log(self.scale), 0.5 + 0.5 * LOG_2PI)

    def log_prob(self, value: Tensor) -> Tensor:
        z = _standard(self, value)
        return F.sub(F.mul(F.square(z), -0.5), F.add(F.log(self.scale), 0.5 * LOG_2PI))


def _located(d: Any, shape: Any, name: str, seed: int = 0) -> Tensor:
    """``loc + scale * noise``."""
    return F.add(d.loc, F.mul(d.scale, draw(name, d.loc, d._extend_shape(shape), seed)))


def _standard(d: Any, value: Any) -> Tensor:
    return F.div(F.sub(d._value(value, d.loc), d.loc), d.scale)


@register_kl(Normal, Normal)
def _normals(p: Normal, q: Normal) -> Tensor:
    ratio = F.square(F.div(p.scale, q.scale))
    shift = F.square(F.div(F.sub(p.loc, q.loc), q.scale))
    return F.mul(F.sub(F.add(ratio, shift), F.add(F.log(ratio), 1.0)), 0.5)


@public("paddle.distribution")
class Laplace(Distribution):
    """Laplace distribution, whose density falls by a factor of e over the distance of one scale from the centre.

    Args:
        loc: mean; number, list, array or tensor (integers become the default dtype).
        scale: positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Laplace(0.0, 1.0)
        >>> float(d.variance), float(d.cdf(paddle.to_tensor(0.0)))
        (2.0, 0.5)
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = parameters("Laplace", loc, scale)
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return F.mul(F.square(self.scale), 2.0)

    @property
    def stddev(self) -> Tensor:
        return F.mul(self.scale, math.sqrt(2))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        noise = F.sub(draw("exponential", self.loc, sizes), draw("exponential", self.loc, sizes))
        return F.add(self.loc, F.mul(self.scale, noise))

    def entropy(self) -> Tensor:
        return F.add(F.log(F.mul(self.scale, 2.0)), 1.0)

    def log_prob(self, value: Tensor) -> Tensor:
        return F.neg(F.add(F.abs(_standard(self, value)), F.log(F.mul(self.scale, 2.0))))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of at most ``value``, of which the argument and the result are as for :meth:`log_prob`."""
        z = _standard(self, value)
        return F.sub(0.5, F.mul(F.mul(F.sign(z), F.expm1(F.neg(F.abs(z)))), 0.5))

    def icdf(self, value: Tensor) -> Tensor:
        """Quantile: the number that an outcome is at most with probability ``value``, which is from 0 to 1."""
        centred = F.sub(self._value(value, self.loc), 0.5)
        z = F.mul(F.sign(centred), F.log1p(F.mul(F.abs(centred), -2.0)))
        return F.sub(self.loc, F.mul(self.scale, z))


@register_kl(Laplace, Laplace)
def _laplaces(p: Laplace, q: Laplace) -> Tensor:
    ratio = F.div(p.scale, q.scale)
    distance = F.abs(F.sub(p.loc, q.loc))
    falling = F.mul(ratio, F.exp(F.neg(F.div(distance, p.scale))))
    return F.sub(F.add(falling, F.div(distance, q.scale)), F.add(F.log(ratio), 1.0))


@public("paddle.distribution")
class Cauchy(Distribution):
    """Cauchy distribution, which has neither mean nor variance.

    Args:
        loc: median; number, list, array or tensor (integers become the default dtype).
        scale: half the width at half the height, positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast, or mean, variance or stddev is asked for.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Cauchy(0.0, 1.0)
        >>> round(float(d.cdf(paddle.to_tensor(1.0))), 4)
        0.75
    """

    def __init__(self, loc: Any, scale: Any, name: str | None = None) -> None:
        self.loc, self.scale = parameters("Cauchy", loc, scale)
        self.name = name or "Cauchy"
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        raise ValueError("[Cauchy] has no mean")

    @property
    def variance(self) -> Tensor:
        raise ValueError("[Cauchy] has no variance")

    @property
    def stddev(self) -> Tensor:
        raise ValueError("[Cauchy] has no stddev")

    def sample(self, shape: Sequence[int] = [], name: str | None = None) -> Tensor:
        return super().sample(shape)

    def rsample(self, shape: Sequence[int] = [], name: str | None = None) -> Tensor:
        return _located(self, shape, "cauchy")

    def entropy(self) -> Tensor:
        return F.add(F.log(self.scale), math.log(4 * math.pi))

    def log_prob(self, value: Tensor) -> Tensor:
        return F.neg(F.add(F.log1p(F.square(_standard(self, value))), F.log(F.mul(self.scale, math.pi))))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of at most ``value``, of which the argument and the result are as for :meth:`log_prob`."""
        return F.add(F.div(F.atan(_standard(self, value)), math.pi), 0.5)


@register_kl(Cauchy, Cauchy)
def _cauchies(p: Cauchy, q: Cauchy) -> Tensor:
    sums = F.add(F.square(F.add(p.scale, q.scale)), F.square(F.sub(p.loc, q.loc)))
    return F.log(F.div(sums, F.mul(F.mul(p.scale, q.scale), 4.0)))


@public("paddle.distribution")
class Gumbel(Distribution):
    """Gumbel distribution, the limit of the distribution of the largest of many numbers.

    Args:
        loc: the most likely outcome; number, list, array or tensor (integers become the default dtype).
        scale: positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Gumbel(0.0, 1.0)
        >>> round(float(d.mean), 4)
        0.5772
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = parameters("Gumbel", loc, scale)
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        return F.add(self.loc, F.mul(self.scale, EULER))

    @property
    def variance(self) -> Tensor:
        return F.mul(F.square(self.scale), math.pi**2 / 6)

    @property
    def stddev(self) -> Tensor:
        return F.mul(self.scale, math.pi / math.sqrt(6))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        return _located(self, shape, "gumbel")

    def entropy(self) -> Tensor:
        return F.add(F.log(self.scale), 1 + EULER)

    def log_prob(self, value: Tensor) -> Tensor:
        z = _standard(self, value)
        return F.neg(F.add(F.add(z, F.exp(F.neg(z))), F.log(self.scale)))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of at most ``value``, of which the argument and the result are as for :meth:`log_prob`."""
        return F.exp(F.neg(F.exp(F.neg(_standard(self, value)))))


@register_kl(Gumbel, Gumbel)
def _gumbels(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = F.div(p.scale, q.scale)
    shift = F.div(F.sub(p.loc, q.loc), q.scale)
    growth = F.exp(F.sub(F.lgamma(F.add(ratio, 1.0)), shift))
    return F.add(F.add(F.sub(F.mul(ratio, EULER), F.log(ratio)), F.add(shift, growth)), -1.0 - EULER)


@public("paddle.distribution")
class StudentT(Distribution):
    """Student's t distribution.

    The mean is NaN for up to 1 degree of freedom; the variance is infinite for up to 2, and NaN for up to 1.

    Args:
        df: degrees of freedom, positive; number, list, array or tensor (integers become the default dtype).
        loc: centre, given likewise.
        scale: positive, given likewise; the three broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``df`` is not positive, or the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.StudentT(4.0, 0.0, 1.0)
        >>> round(float(d.variance), 4)
        2.0
    """

    def __init__(self, df: Any, loc: Any, scale: Any, name: str | None = None) -> None:
        check_df("StudentT", df)
        self.df, self.loc, self.scale = parameters("StudentT", df, loc, scale)
        self.name = name or "StudentT"
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        return F.where(F.gt(self.df, 1.0), self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        wide = F.gt(self.df, 2.0)
        df = F.where(wide, self.df, 3.0)
        finite = F.mul(F.square(self.scale), F.div(df, F.sub(df, 2.0)))
        rest = F.where(F.gt(self.df, 1.0), math.inf, create_on(df.place, F.full, math.nan, df.dtype, ()))
        return F.where(wide, finite, rest)

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        half = F.mul(self.df, 0.5)
        chi2 = F.mul(draw_with("standard_gamma", expand(half, sizes)), 2.0)
        t = F.mul(draw("normal_random", self.loc, sizes), F.sqrt(F.div(self.df, chi2)))
        return F.add(self.loc, F.mul(self.scale, t))

    def entropy(self) -> Tensor:
        half, more = F.mul(self.df, 0.5), F.mul(F.add(self.df, 1.0), 0.5)
        slopes = F.mul(more, F.sub(F.digamma(more), F.digamma(half)))
        return F.add(F.add(F.log(self.scale), slopes), _log_t_norm(self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        z = F.square(_standard(self, value))
        bell = F.mul(F.mul(F.add(self.df, 1.0), 0.5), F.log1p(F.div(z, self.df)))
        return F.neg(F.add(F.add(bell, F.log(self.scale)), _log_t_norm(self.df)))


def _log_t_norm(df: Tensor) -> Tensor:
    """``log(sqrt(df) * beta(1/2, df/2))``."""
    half = F.mul(df, 0.5)
    gammas = F.sub(F.lgamma(half), F.lgamma(F.add(half, 0.5)))
    return F.add(F.mul(F.log(df), 0.5), F.add(gammas, 0.5 * math.log(math.pi)))


# --- on intervals --------------------------------------------------------------------------------------------------


@public("paddle.distribution")
class Uniform(Distribution):
    """Uniform distribution between two numbers; at these and outside, the density is 0.

    Args:
        low: lower end; number, list, array or tensor (integers become the default dtype).
        high: upper end, above low, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Uniform(1.0, 3.0)
        >>> float(d.prob(paddle.to_tensor(2.0))), float(d.prob(paddle.to_tensor(4.0)))
        (0.5, 0.0)
    """

    def __init__(self, low: Any, high: Any, name: str | None = None) -> None:
        self.low, self.high = parameters("Uniform", low, high)
        self.name = name or "Uniform"
        super().__init__(self.low.shape)

    @property
    def mean(self) -> Tensor:
        return F.mul(F.add(self.low, self.high), 0.5)

    @property
    def variance(self) -> Tensor:
        return F.div(F.square(F.sub(self.high, self.low)), 12.0)

    def sample(self, shape: Sequence[int] = [], seed: int = 0) -> Tensor:
        """Draw outcomes as a function of the parameters, which gradients reach as those of :meth:`rsample`.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.
            seed: seed of a generator of its own; 0 means the global generator.

        Returns:
            Tensor of shape ``shape + batch_shape`` and of the parameters' dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        return self._drawn(shape, seed)

    def rsample(self, shape: Any = ()) -> Tensor:
        return self._drawn(shape, 0)

    def _drawn(self, shape: Any, seed: int) -> Tensor:
        u = draw("uniform_random", self.low, self._extend_shape(shape), seed)
        return F.add(self.low, F.mul(F.sub(self.high, self.low), u))

    def entropy(self) -> Tensor:
        return F.log(F.sub(self.high, self.low))

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.low)
        inside = F.logical_and(F.lt(self.low, x), F.lt(x, self.high))
        height = F.neg(F.log(F.sub(self.high, self.low)))
        return F.where(inside, height, -math.inf)


@register_kl(Uniform, Uniform)
def _uniforms(p: Uniform, q: Uniform) -> Tensor:
    ratio = F.log(F.div(F.sub(q.high, q.low), F.sub(p.high, p.low)))
    covered = F.logical_and(F.le(q.low, p.low), F.le(p.high, q.high))
    return F.where(covered, ratio, math.inf)


@public("paddle.distribution")
class ContinuousBernoulli(Distribution):
    """Continuous Bernoulli distribution, of density proportional to ``probs**x * (1 - probs)**(1 - x)`` from 0 to 1.

    Args:
        probs: from 0 to 1; list, array or tensor (integers become the default dtype); a number is a vector of one.
        lims: two numbers about 1/2: for probs between them, formulas that lose precision there are replaced by their
            series.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``probs`` as numbers, a list or an array outside 0 to 1.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.ContinuousBernoulli(paddle.to_tensor([0.2, 0.5]))
        >>> [round(v, 4) for v in d.mean.tolist()]
        [0.388, 0.5]
    """

    probs: Tensor  # type: ignore[assignment]

    def __init__(self, probs: Any, lims: tuple[float, float] = (0.499, 0.501)) -> None:
        check_probability("ContinuousBernoulli", probs)
        (self.probs,) = parameters("ContinuousBernoulli", [probs] if isinstance(probs, (int, float)) else probs)
        self.lims = tensors("ContinuousBernoulli", list(lims))[0]
        self._low, self._high = float(lims[0]), float(lims[1])
        super().__init__(self.probs.shape)

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return where the formulas hold, probs there (0.25 elsewhere), and the distance from 1/2."""
        p = self.probs
        exact = F.logical_not(F.logical_and(F.le(self._full(self._low), p), F.le(p, self._high)))
        return exact, F.where(exact, p, self._full(0.25)), F.sub(p, 0.5)

    def _full(self, x: float) -> Tensor:
        return create_on(self.probs.place, F.full, x, self.probs.dtype, ())

    def _log_norm(self) -> Tensor:
        """The logarithm of the factor that makes the density one."""
        exact, p, d = self._parts()
        odd = F.sub(1.0, F.mul(p, 2.0))
        x = F.square(d)
        series = F.add(F.mul(x, F.add(F.mul(x, 104 / 45), 4 / 3)), math.log(2))
        return F.where(exact, F.log(F.mul(F.div(F.atanh(odd), odd), 2.0)), series)

    @property
    def mean(self) -> Tensor:
        exact, p, d = self._parts()
        odd = F.sub(1.0, F.mul(p, 2.0))
        formula = F.sub(F.div(0.5, F.atanh(odd)), F.div(p, odd))
        series = F.add(F.mul(d, F.add(F.mul(F.square(d), 16 / 45), 1 / 3)), 0.5)
        return F.where(exact, formula, series)

    @property
    def variance(self) -> Tensor:
        exact, p, d = self._parts()
        odd = F.sub(1.0, F.mul(p, 2.0))
        formula = F.add(F.div(F.mul(p, F.sub(p, 1.0)), F.square(odd)), F.square(F.div(0.5, F.atanh(odd))))
        x = F.square(d)
        series = F.sub(1 / 12, F.mul(x, F.sub(1 / 15, F.mul(x, 128 / 945))))
        return F.where(exact, formula, series)

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        return self.icdf(draw("uniform_random", self.probs, self._extend_shape(shape)))

    def _logs(self) -> tuple[Tensor, Tensor]:
        return F.log(self.probs), F.log1p(F.neg(self.probs))

    def entropy(self) -> Tensor:
        on, off = self._logs()
        return F.neg(F.add(F.add(F.mul(self.mean, F.sub(on, off)), off), self._log_norm()))

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.probs)
        on, off = self._logs()
        height = F.add(F.add(F.mul(x, on), F.mul(F.sub(1.0, x), off)), self._log_norm())
        inside = F.logical_and(F.ge(x, 0.0), F.le(x, 1.0))
        return F.where(inside, height, self._full(-math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of at most ``value``, of which the argument and the result are as for :meth:`log_prob`."""
        x = F.clip(self._value(value, self.probs), 0.0, 1.0)
        exact, p, _ = self._parts()
        q = F.sub(1.0, p)
        rise = F.add(F.mul(F.pow(p, x), F.pow(q, F.sub(1.0, x))), F.sub(p, 1.0))
        return F.where(exact, F.div(rise, F.sub(p, q)), x)

    def icdf(self, value: Tensor) -> Tensor:
        """Quantile: the number that an outcome is at most with probability ``value``, which is from 0 to 1."""
        u = self._value(value, self.probs)
        exact, p, _ = self._parts()
        off = F.log1p(F.neg(p))
        reached = F.log1p(F.sub(F.mul(u, F.sub(F.mul(p, 2.0), 1.0)), p))
        return F.where(exact, F.div(F.sub(reached, off), F.sub(F.log(p), off)), u)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoullis(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    (on, off), (other_on, other_off) = p._logs(), q._logs()
    tilt = F.mul(p.mean, F.sub(F.sub(on, off), F.sub(other_on, other_off)))
    return F.add(F.add(tilt, F.sub(off, other_off)), F.sub(p._log_norm(), q._log_norm()))


# --- of the gamma function -----------------------------------------------------------------------------------------


@public("paddle.distribution")
class Exponential(ExponentialFamily):
    """Exponential distribution, of the time until the next of events that occur at a constant rate.

    Args:
        rate: expected number of events in one unit of time, positive; number, list, array or tensor (integers become
            the default dtype).

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Exponential(paddle.to_tensor([2.0]))
        >>> d.mean.tolist()
        [0.5]
    """

    def __init__(self, rate: Any) -> None:
        (self.rate,) = parameters("Exponential", rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Tensor:
        return F.div(1.0, self.rate)

    @property
    def variance(self) -> Tensor:
        return F.div(1.0, F.square(self.rate))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        return F.div(draw("exponential", self.rate, self._extend_shape(shape)), self.rate)

    def entropy(self) -> Tensor:
        return F.sub(1.0, F.log(self.rate))

    def log_prob(self, value: Tensor) -> Tensor:
        return F.sub(F.log(self.rate), F.mul(self.rate, self._value(value, self.rate)))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of at most ``value``, of which the argument and the result are as for :meth:`log_prob`."""
        return F.neg(F.expm1(F.neg(F.mul(self.rate, self._value(value, self.rate)))))

    def icdf(self, value: Tensor) -> Tensor:
        """Quantile: the number that an outcome is at most with probability ``value``, which is from 0 to 1."""
        return F.neg(F.div(F.log1p(F.neg(self._value(value, self.rate))), self.rate))


@register_kl(Exponential, Exponential)
def _exponentials(p: Exponential, q: Exponential) -> Tensor:
    ratio = F.div(q.rate, p.rate)
    return F.sub(F.sub(ratio, F.log(ratio)), 1.0)


@public("paddle.distribution")
class Gamma(ExponentialFamily):
    """Gamma distribution: positive numbers with a density proportional to ``x**(concentration - 1) * exp(-rate * x)``.

    Gradients of ``rsample`` reach rate alone.

    Args:
        concentration: shape parameter, positive; number, list, array or tensor (integers become the default dtype).
        rate: inverse scale, positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Gamma(paddle.to_tensor([3.0]), paddle.to_tensor([2.0]))
        >>> d.mean.tolist(), d.variance.tolist()
        ([1.5], [0.75])
    """

    def __init__(self, concentration: Any, rate: Any) -> None:
        self.concentration, self.rate = parameters(type(self).__name__, concentration, rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Tensor:
        return F.div(self.concentration, self.rate)

    @property
    def variance(self) -> Tensor:
        return F.div(self.concentration, F.square(self.rate))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        return F.div(draw_with("standard_gamma", expand(self.concentration, sizes)), self.rate)

    def entropy(self) -> Tensor:
        a = self.concentration
        return F.add(F.add(F.sub(a, F.log(self.rate)), F.lgamma(a)), F.mul(F.sub(1.0, a), F.digamma(a)))

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.rate)
        a = self.concentration
        norm = F.sub(F.mul(a, F.log(self.rate)), F.lgamma(a))
        return F.add(F.sub(F.mul(F.sub(a, 1.0), F.log(x)), F.mul(self.rate, x)), norm)


@register_kl(Gamma, Gamma)
def _gammas(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    ratio = F.div(p.rate, q.rate)
    shape = F.sub(F.sub(F.mul(F.sub(a, b), F.digamma(a)), F.lgamma(a)), F.neg(F.lgamma(b)))
    return F.add(shape, F.add(F.mul(b, F.log(ratio)), F.mul(a, F.sub(F.div(1.0, ratio), 1.0))))


@public("paddle.distribution")
class Chi2(Gamma):
    """Chi-squared distribution, of the sum of ``df`` squared standard normal numbers.

    Args:
        df: degrees of freedom, positive; number, list, array or tensor (integers become the default dtype).

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``df`` is not positive.

    Example:
        >>> import paddle
        >>> paddle.distribution.Chi2(paddle.to_tensor([3.0])).mean.tolist()
        [3.0]
    """

    def __init__(self, df: Any) -> None:
        check_df("Chi2", df)
        (self.df,) = parameters("Chi2", df)
        super().__init__(F.mul(self.df, 0.5), 0.5)


@public("paddle.distribution")
class Dirichlet(ExponentialFamily):
    """Dirichlet distribution: positive vectors of sum 1 of density proportional to ``prod(x**(concentration - 1))``.

    Args:
        concentration: positive, a list, array or tensor ``[..., n]``; the last axis is that of the event.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the concentration is 0-d.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Dirichlet(paddle.to_tensor([1.0, 3.0]))
        >>> d.mean.tolist()
        [0.25, 0.75]
    """

    def __init__(self, concentration: Any) -> None:
        (self.concentration,) = parameters("Dirichlet", concentration)
        if self.concentration.ndim < 1:
            raise op_error(ValueError, "Dirichlet", "a concentration of rank 1 or more", "a 0-d one")
        shape = self.concentration.shape
        super().__init__(shape[:-1], shape[-1:])

    def _total(self, keepdim: bool = False) -> Tensor:
        return F.sum(self.concentration, (self.concentration.ndim - 1,), keepdim)

    @property
    def mean(self) -> Tensor:
        return F.div(self.concentration, self._total(True))

    @property
    def variance(self) -> Tensor:
        mean = self.mean
        return F.div(F.mul(mean, F.sub(1.0, mean)), F.add(self._total(True), 1.0))

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        g = draw_with("standard_gamma", expand(self.concentration, self._extend_shape(shape)))
        return F.div(g, F.sum(g, (g.ndim - 1,), True)).detach()

    def entropy(self) -> Tensor:
        a, total = self.concentration, self._total()
        last, k = (a.ndim - 1,), a.shape[-1]
        slopes = F.sub(F.mul(F.sub(total, float(k)), F.digamma(total)), F.sum(F.mul(F.sub(a, 1.0), F.digamma(a)), last))
        return F.add(F.sub(F.sum(F.lgamma(a), last), F.lgamma(total)), slopes)

    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        x = self._value(value, a)
        last = (a.ndim - 1,)
        powers = F.mul(F.sub(a, 1.0), F.log(x))
        norm = F.sub(F.lgamma(self._total()), F.sum(F.lgamma(a), last))
        return F.add(F.sum(powers, (powers.ndim - 1,)), norm)


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    last = (max(a.ndim, b.ndim) - 1,)
    gap = F.sub(F.digamma(a), F.digamma(p._total(True)))
    inner = F.sum(F.add(F.mul(F.sub(a, b), gap), F.sub(F.lgamma(b), F.lgamma(a))), last)
    return F.add(F.sub(F.lgamma(p._total()), F.lgamma(q._total())), inner)


@public("paddle.distribution")
class Beta(ExponentialFamily):
    """Beta distribution: numbers from 0 to 1 with a density proportional to ``x**(alpha - 1) * (1 - x)**(beta - 1)``.

    Args:
        alpha: positive; number, list, array or tensor (integers become the default dtype).
        beta: positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Beta(1.0, 3.0)
        >>> float(d.mean)
        0.25
    """

    def __init__(self, alpha: Any, beta: Any) -> None:
        self.alpha, self.beta = parameters("Beta", alpha, beta)
        self._both = Dirichlet(F.stack([self.alpha, self.beta], self.alpha.ndim))
        super().__init__(self.alpha.shape)

    @property
    def mean(self) -> Tensor:
        return F.div(self.alpha, F.add(self.alpha, self.beta))

    @property
    def variance(self) -> Tensor:
        total = F.add(self.alpha, self.beta)
        return F.div(F.mul(self.alpha, self.beta), F.mul(F.square(total), F.add(total, 1.0)))

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        x, y = (draw_with("standard_gamma", expand(t, sizes)) for t in (self.alpha, self.beta))
        return F.div(x, F.add(x, y)).detach()

    def entropy(self) -> Tensor:
        return self._both.entropy()

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.alpha)
        return self._both.log_prob(F.stack([x, F.sub(1.0, x)], x.ndim))


@register_kl(Beta, Beta)
def _betas(p: Beta, q: Beta) -> Tensor:
    return _dirichlets(p._both, q._both)
