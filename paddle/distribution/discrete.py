"""Distributions of counts and choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distribution.distribution import (
    Distribution,
    ExponentialFamily,
    check_elements,
    check_probability,
    common_shape,
    draw,
    draw_with,
    expand,
    parameters,
    register_kl,
    tensors,
    xlogy,
)
from paddle.tensor._args import cast, create_on, integer
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _entropy_of(p: Tensor) -> Tensor:
    """``-(p log p + (1 - p) log(1 - p))``."""
    q = F.sub(1.0, p)
    return F.neg(F.add(xlogy(p, p), xlogy(q, q)))


def _divergence_of(p: Tensor, q: Tensor) -> Tensor:
    """The divergence of one choice between two from another, given the probabilities of the first."""
    rest, other = F.sub(1.0, p), F.sub(1.0, q)
    return F.add(F.sub(xlogy(p, p), xlogy(p, q)), F.sub(xlogy(rest, rest), xlogy(rest, other)))


def _log_choices(n: Any, k: Tensor) -> Tensor:
    """The logarithm of how many sets of k there are among n."""
    return F.sub(F.lgamma(F.add(n, 1.0)), F.add(F.lgamma(F.add(k, 1.0)), F.lgamma(F.add(F.sub(n, k), 1.0))))


def _support(like: Tensor, last: int) -> Tensor:
    """0, 1, … ``last`` along a new first axis."""
    k = F.cast(create_on(like.place, F.iota, 0, 1, dt.int64, last + 1), dtype=like.dtype)
    return F.unsqueeze(k, tuple(range(1, like.ndim + 1))) if like.ndim else k


def _largest(x: Tensor) -> Any:
    """The largest finite element, rounded up; 0 of none. A number of the program where that has the data."""
    most = F.maximum(F.max(F.where(F.isfinite(x), x, 0.0), tuple(range(x.ndim)), empty=True), 0.0)
    return integer(F.cast(F.ceil(most), dtype=dt.int64), "entropy", "the largest outcome")


def _wide(x: Tensor) -> Tensor:
    """In float64: logarithms of factorials of many outcomes all but cancel, and 16 bits have no numbers for the
    outcomes themselves."""
    return cast(x, dt.float64)


@public("paddle.distribution")
class Bernoulli(ExponentialFamily):
    """Bernoulli distribution: 1 with probability ``probs``, else 0.

    Args:
        probs: from 0 to 1; number, list, array or tensor (integers become the default dtype).

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``probs`` as numbers, a list or an array outside 0 to 1.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Bernoulli(0.25)
        >>> float(d.mean), float(d.prob(paddle.to_tensor(0.0)))
        (0.25, 0.75)
    """

    probs: Tensor  # type: ignore[assignment]

    def __init__(self, probs: Any, name: str | None = None) -> None:
        check_probability("Bernoulli", probs)
        (self.probs,) = parameters("Bernoulli", probs)
        self.logits = F.sub(F.log(self.probs), F.log1p(F.neg(self.probs)))
        self.name = name or "Bernoulli"
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def variance(self) -> Tensor:
        return F.mul(self.probs, F.sub(1.0, self.probs))

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        return draw_with("bernoulli", expand(self.probs, self._extend_shape(shape))).detach()

    def rsample(self, shape: Sequence[int] = [], temperature: float = 1.0) -> Tensor:
        """Draw numbers between 0 and 1, differentiable with respect to ``probs``: the Gumbel-softmax relaxation.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.
            temperature: positive number: the lower, the nearer are draws to 0 and 1.

        Returns:
            Tensor of shape ``shape + batch_shape`` and of the parameters' dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        sizes = self._extend_shape(shape)
        noise = F.sub(draw("gumbel", self.probs, sizes), draw("gumbel", self.probs, sizes))
        return F.exp(F.log_sigmoid(F.div(F.add(self.logits, noise), float(temperature))))

    def entropy(self) -> Tensor:
        return _entropy_of(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.probs)
        return F.add(xlogy(x, self.probs), xlogy(F.sub(1.0, x), F.sub(1.0, self.probs)))

    def cdf(self, value: Tensor) -> Tensor:
        """Probability of an outcome of at most ``value``. Argument and result are as for :meth:`log_prob`."""
        x = self._value(value, self.probs)
        return F.where(F.lt(x, 0.0), 0.0, F.where(F.lt(x, 1.0), F.sub(1.0, self.probs), 1.0))


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    return _divergence_of(p.probs, q.probs)


@public("paddle.distribution")
class Geometric(Distribution):
    """Geometric distribution: the number of failures, 0, 1, 2, …, before a trial first succeeds.

    Args:
        probs: probability that a trial succeeds, above 0 and up to 1; number, list, array or tensor (integers become
            the default dtype).

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``probs`` as numbers, a list or an array outside 0 to 1.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Geometric(0.25)
        >>> float(d.mean), round(float(d.pmf(paddle.to_tensor(1.0))), 4)
        (3.0, 0.1875)
    """

    probs: Tensor  # type: ignore[assignment]

    def __init__(self, probs: Any) -> None:
        check_probability("Geometric", probs)
        (self.probs,) = parameters("Geometric", probs)
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Tensor:
        return F.sub(F.div(1.0, self.probs), 1.0)

    @property
    def variance(self) -> Tensor:
        return F.div(F.sub(1.0, self.probs), F.square(self.probs))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        """Draw outcomes, as :meth:`sample` does; they are whole numbers, so that their gradients are 0.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.

        Returns:
            Tensor of shape ``shape + batch_shape`` and of the parameters' dtype.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        waited = draw("exponential", self.probs, self._extend_shape(shape))
        return F.floor(F.neg(F.div(waited, F.log1p(F.neg(self.probs)))))

    def entropy(self) -> Tensor:
        return F.div(_entropy_of(self.probs), self.probs)

    def log_pmf(self, k: Tensor) -> Tensor:
        """Natural logarithm of the probability of ``k`` failures, a tensor, number, list or array."""
        k = self._value(k, self.probs)
        return F.add(xlogy(k, F.sub(1.0, self.probs)), F.log(self.probs))

    def pmf(self, k: Tensor) -> Tensor:
        """Probability of ``k`` failures, a tensor, number, list or array."""
        return F.exp(self.log_pmf(k))

    def log_prob(self, value: Tensor) -> Tensor:
        return self.log_pmf(value)

    def cdf(self, k: Tensor) -> Tensor:
        """Probability of at most ``k`` failures, a tensor, number, list or array."""
        tries = F.add(self._value(k, self.probs), 1.0)
        return F.neg(F.expm1(F.mul(tries, F.log1p(F.neg(self.probs)))))


@register_kl(Geometric, Geometric)
def _geometrics(p: Geometric, q: Geometric) -> Tensor:
    return F.div(_divergence_of(p.probs, q.probs), p.probs)


@public("paddle.distribution")
class Binomial(Distribution):
    """Binomial distribution: how many of ``total_count`` trials succeed.

    Args:
        total_count: number of trials, whole and not negative; number, list, array or tensor (integers become the
            default dtype).
        probs: probability that a trial succeeds, from 0 to 1, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: ``probs`` as numbers, a list or an array outside 0 to 1, or a ``total_count`` below 0 in this form;
            the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Binomial(4, 0.5)
        >>> float(d.mean), round(float(d.prob(paddle.to_tensor(2.0))), 4)
        (2.0, 0.375)
    """

    probs: Tensor  # type: ignore[assignment]

    def __init__(self, total_count: Any, probs: Any) -> None:
        check_probability("Binomial", probs)
        check_elements("Binomial", total_count, "a total_count of 0 or more", lambda n: n >= 0)
        self.total_count, self.probs = parameters("Binomial", total_count, probs)
        super().__init__(self.probs.shape)

    @property
    def mean(self) -> Tensor:
        return F.mul(self.total_count, self.probs)

    @property
    def variance(self) -> Tensor:
        return F.mul(self.mean, F.sub(1.0, self.probs))

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        return draw_with("binomial", expand(self.total_count, sizes), expand(self.probs, sizes)).detach()

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.probs)
        rest = F.sub(self.total_count, x)
        chances = F.add(xlogy(x, self.probs), xlogy(rest, F.sub(1.0, self.probs)))
        return F.add(_log_choices(self.total_count, x), chances)

    def entropy(self) -> Tensor:
        """Entropy in nats, by a sum over all outcomes.

        Returns:
            Tensor of shape ``batch_shape``.
        """
        wide = Binomial(_wide(self.total_count), _wide(self.probs))
        n = wide.total_count
        k = _support(n, _largest(n))
        possible = F.le(k, n)
        logs = wide.log_prob(F.where(possible, k, 0.0))
        total = F.sum(F.where(possible, F.mul(F.exp(logs), logs), 0.0), (0,))
        return cast(F.sub(F.sub(n, n), total), self.probs.dtype)  # of counts that are no number there is none


@register_kl(Binomial, Binomial)
def _binomials(p: Binomial, q: Binomial) -> Tensor:
    different = F.ne(*parameters("kl_divergence", p.total_count, q.total_count))
    equal = F.logical_not(F.any(different, tuple(range(different.ndim))))
    required = "binomial distributions of equal total_count"
    if current().trace:
        F.require(equal, kind="ValueError", args=(f"[kl_divergence] requires {required}, got others",))
    elif not equal.item():
        counts = f"{p.total_count.tolist()} and {q.total_count.tolist()}"
        raise op_error(ValueError, "kl_divergence", required, counts)
    return F.mul(p.total_count, _divergence_of(p.probs, q.probs))


@public("paddle.distribution")
class Poisson(Distribution):
    """Poisson distribution: how many events occur that occur ``rate`` times on average.

    Args:
        rate: not negative; list, array or tensor (integers become the default dtype); a number is a vector of one.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Poisson(paddle.to_tensor([2.0]))
        >>> d.mean.tolist(), d.variance.tolist()
        ([2.0], [2.0])
    """

    def __init__(self, rate: Any) -> None:
        (self.rate,) = parameters("Poisson", [rate] if isinstance(rate, (int, float)) else rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        return draw_with("poisson", expand(self.rate, self._extend_shape(shape))).detach()

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.rate)
        return F.sub(F.sub(xlogy(x, self.rate), self.rate), F.lgamma(F.add(x, 1.0)))

    def entropy(self) -> Tensor:
        """Entropy in nats, by a sum over all outcomes that matter.

        Returns:
            Tensor of shape ``batch_shape``.
        """
        wide = Poisson(_wide(self.rate))
        most = F.add(wide.rate, F.add(F.mul(F.sqrt(wide.rate), 12.0), 20.0))
        logs = wide.log_prob(_support(most, _largest(most)))
        probs = F.exp(logs)
        none = F.eq(probs, 0)  # of infinite logarithms
        total = F.sum(F.mul(probs, F.where(none, 0.0, logs)), (0,))
        return cast(F.sub(F.sub(most, most), total), self.rate.dtype)  # of rates that are no number there is none


@register_kl(Poisson, Poisson)
def _poissons(p: Poisson, q: Poisson) -> Tensor:
    return F.add(F.sub(xlogy(p.rate, p.rate), xlogy(p.rate, q.rate)), F.sub(q.rate, p.rate))


@public("paddle.distribution")
class Categorical(Distribution):
    """Categorical distribution over choices that are numbered from 0.

    As in the reference framework, logits are used in two ways: ``probs``, ``prob`` and ``log_prob`` take them as
    weights, so that the probability of a choice is its share in their sum; ``sample``, ``entropy`` and
    ``kl_divergence`` take their softmax.

    Args:
        logits: list, array or tensor ``[..., number of choices]``; integers become the default dtype.

    Raises:
        TypeError: the logits are none of these.
        ValueError: the logits are 0-d.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Categorical(paddle.to_tensor([1.0, 3.0]))
        >>> d.probs(paddle.to_tensor([0, 1])).tolist(), d.sample([5]).shape
        ([0.25, 0.75], paddle.Size([5]))
    """

    def __init__(self, logits: Any, name: str | None = None) -> None:
        (self.logits,) = tensors("Categorical", logits)
        if self.logits.ndim < 1:
            raise op_error(ValueError, "Categorical", "logits of rank 1 or more", "a 0-d tensor")
        self.name = name or "Categorical"
        super().__init__(self.logits.shape[:-1])

    def _log_softmax(self) -> Tensor:
        return F.log_softmax(self.logits, self.logits.ndim - 1)

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        """Draw choices, through which no gradient passes.

        Args:
            shape: sequence of ints, the shape of the draws; empty for one draw.

        Returns:
            int64 tensor of shape ``shape + batch_shape``.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        sizes = (*self._extend_shape(shape), self.logits.shape[-1])
        return draw_with("categorical", expand(self.logits, sizes)).detach()

    def entropy(self) -> Tensor:
        logs = self._log_softmax()
        return F.neg(F.sum(xlogy(F.exp(logs), F.exp(logs)), (logs.ndim - 1,)))

    def probs(self, value: Tensor) -> Tensor:
        """Probability of choices: their logits divided by the sum of all logits.

        Args:
            value: integer tensor of choices. For 1-d logits, of any shape; for a batch, either ``[k]``, looked up in
                each distribution, or ``batch_shape + [k]``, k choices for each distribution.

        Returns:
            Tensor of the value's shape; for a batch, ``batch_shape + [k]``.

        Raises:
            TypeError: the value is no integer tensor.
            ValueError: its shape does not broadcast with the batch shape.
        """
        if not isinstance(value, Tensor) or not value.dtype.is_integer:
            got = value.dtype.name if isinstance(value, Tensor) else type(value).__name__
            raise op_error(TypeError, "Categorical", "an integer Tensor as value", got)
        last = self.logits.ndim - 1
        share = F.div(self.logits, F.sum(self.logits, (last,), True))
        index = cast(value, dt.int64)
        if last == 0:
            return F.reshape(F.take(share, F.reshape(index, (index.size,)), 0), tuple(index.shape))
        shape = (*common_shape("Categorical", self.logits.shape[:-1], index.shape[:-1]), index.shape[-1])
        return F.take_along(expand(share, (*shape[:-1], share.shape[-1])), expand(index, shape), len(shape) - 1)

    def prob(self, value: Tensor) -> Tensor:
        """Probability of choices; the same as :meth:`probs`, where the argument and errors are described."""
        return self.probs(value)

    def log_prob(self, value: Tensor) -> Tensor:
        """Natural logarithm of :meth:`probs`, where the argument and errors are described."""
        return F.log(self.probs(value))


@register_kl(Categorical, Categorical)
def _categoricals(p: Categorical, q: Categorical) -> Tensor:
    a, b = p._log_softmax(), q._log_softmax()
    inner = F.mul(F.exp(a), F.sub(a, b))
    return F.sum(inner, (inner.ndim - 1,), True)


@public("paddle.distribution")
class Multinomial(Distribution):
    """Multinomial distribution: how often each of several choices is made in ``total_count`` trials.

    Args:
        total_count: number of trials, a positive int.
        probs: list, array or tensor ``[..., number of choices]`` that is not negative; it is divided by its sum along
            the last axis.

    Raises:
        TypeError: probs is none of these.
        ValueError: total_count is no positive int, or probs is 0-d.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.Multinomial(10, paddle.to_tensor([0.25, 0.75]))
        >>> d.mean.tolist(), float(d.sample([3]).sum())
        ([2.5, 7.5], 30.0)
    """

    probs: Tensor  # type: ignore[assignment]

    def __init__(self, total_count: int, probs: Any) -> None:
        if not isinstance(total_count, int) or total_count < 1:
            raise op_error(ValueError, "Multinomial", "a positive int as total_count", repr(total_count))
        (weights,) = tensors("Multinomial", probs)
        if weights.ndim < 1:
            raise op_error(ValueError, "Multinomial", "probs of rank 1 or more", "a 0-d tensor")
        self.total_count = total_count
        self.probs = F.div(weights, F.sum(weights, (weights.ndim - 1,), True))
        super().__init__(weights.shape[:-1], weights.shape[-1:])

    @property
    def mean(self) -> Tensor:
        return F.mul(self.probs, float(self.total_count))

    @property
    def variance(self) -> Tensor:
        return F.mul(self.mean, F.sub(1.0, self.probs))

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        sizes = self._extend_shape(shape)
        logits = expand(F.log(self.probs), sizes)
        chosen = draw_with("categorical", expand(F.unsqueeze(logits, (0,)), (self.total_count, *sizes)))
        hits = F.eq(F.unsqueeze(chosen, (chosen.ndim,)), create_on(chosen.place, F.iota, 0, 1, dt.int64, sizes[-1]))
        return F.sum(F.cast(hits, dtype=self.probs.dtype), (0,)).detach()

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.probs)
        inner = F.sub(xlogy(x, self.probs), F.lgamma(F.add(x, 1.0)))
        total = F.sum(x, (x.ndim - 1,))
        return F.add(F.lgamma(F.add(total, 1.0)), F.sum(inner, (inner.ndim - 1,)))

    def entropy(self) -> Tensor:
        """Entropy in nats, by a sum over the counts of each choice, which are binomial.

        Returns:
            Tensor of shape ``batch_shape``.
        """
        n, p = float(self.total_count), _wide(self.probs)
        last = (p.ndim - 1,)
        k = _support(p, self.total_count)
        counts = F.exp(Binomial(n, p).log_prob(expand(k, (k.shape[0], *p.shape))))
        repeats = F.sum(F.sum(F.mul(counts, F.lgamma(F.add(k, 1.0))), (0,)), last)
        total = F.sub(F.sub(repeats, F.mul(F.sum(xlogy(p, p), last), n)), math.lgamma(n + 1))
        return cast(total, self.probs.dtype)
