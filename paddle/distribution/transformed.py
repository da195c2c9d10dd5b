"""Distributions made from others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distribution.continuous import Normal
from paddle.distribution.distribution import Distribution, common_shape, expand, register_kl, sum_last, tensors
from paddle.distribution.transform import ChainTransform, ExpTransform, Transform, Type
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.distribution")
class Independent(Distribution):
    """Distribution whose last batch axes count as part of one outcome, with the product of their probabilities.

    Args:
        base: a distribution.
        reinterpreted_batch_rank: how many of its last batch axes, at least 1.

    Raises:
        TypeError: the base is no distribution.
        ValueError: the number of axes is no int from 1 to the number of batch axes.

    Example:
        >>> import paddle
        >>> base = paddle.distribution.Normal(paddle.zeros([2, 3]), paddle.ones([2, 3]))
        >>> d = paddle.distribution.Independent(base, 1)
        >>> d.batch_shape, d.event_shape, d.log_prob(paddle.zeros([2, 3])).shape
        ((2,), (3,), paddle.Size([2]))
    """

    def __init__(self, base: Distribution, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Distribution):
            raise op_error(TypeError, "Independent", "a Distribution as base", type(base).__name__)
        rank = len(base.batch_shape)
        if not isinstance(reinterpreted_batch_rank, int) or not 0 < reinterpreted_batch_rank <= rank:
            required = f"a reinterpreted_batch_rank from 1 to {rank}"
            raise op_error(ValueError, "Independent", required, repr(reinterpreted_batch_rank))
        self._base, self._more = base, reinterpreted_batch_rank
        keep = rank - reinterpreted_batch_rank
        super().__init__(base.batch_shape[:keep], (*base.batch_shape[keep:], *base.event_shape))

    @property
    def mean(self) -> Tensor:
        return self._base.mean

    @property
    def variance(self) -> Tensor:
        return self._base.variance

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        return self._base.sample(shape)

    def rsample(self, shape: Any = ()) -> Tensor:
        return self._base.rsample(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_last(self._base.log_prob(value), self._more)

    def entropy(self) -> Tensor:
        return sum_last(self._base.entropy(), self._more)


@register_kl(Independent, Independent)
def _independents(p: Independent, q: Independent) -> Tensor:
    if p._more != q._more:
        raise op_error(ValueError, "kl_divergence", "an equal reinterpreted_batch_rank", f"{p._more} and {q._more}")
    return sum_last(p._base.kl_divergence(q._base), p._more)


@public("paddle.distribution")
class TransformedDistribution(Distribution):
    """Distribution of the outcome of transforms of a random variable.

    Args:
        base: distribution of the variable.
        transforms: a transform, or a list of them that are applied in order.

    Raises:
        TypeError: the base is no distribution, or there is no transform, or something else.
        ValueError: the transforms take more axes as one outcome than the base has.
        NotImplementedError: ``log_prob`` is asked for, and a transform cannot be undone.

    Example:
        >>> import paddle
        >>> d = paddle.distribution
        >>> log_normal = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.ExpTransform()])
        >>> round(float(log_normal.log_prob(paddle.to_tensor(2.0))), 4)
        -1.8523
    """

    def __init__(self, base: Distribution, transforms: Any) -> None:
        if not isinstance(base, Distribution):
            raise op_error(TypeError, "TransformedDistribution", "a Distribution as base", type(base).__name__)
        self._base = base
        self.transforms = list(transforms) if isinstance(transforms, (list, tuple)) else [transforms]
        self._chain = ChainTransform(self.transforms)
        shape = (*base.batch_shape, *base.event_shape)
        if len(shape) < self._chain._domain_rank:
            required = f"a base with {self._chain._domain_rank} axes or more"
            raise op_error(ValueError, "TransformedDistribution", required, shape)
        # The transforms may take more axes as one outcome than the base does, or turn one axis into several.
        extra = max(self._chain._domain_rank - len(base.event_shape), 0)
        self._inner = Independent(base, extra) if extra else base
        result = self._chain.forward_shape(shape)
        rank = len(self._inner.event_shape) + self._chain._codomain_rank - self._chain._domain_rank
        super().__init__(result[: len(result) - rank], result[len(result) - rank :])

    def sample(self, shape: Sequence[int] = []) -> Tensor:
        return self._chain.forward(self._base.sample(shape))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        return self._chain.forward(self._base.rsample(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if not Type.is_injective(self._chain._type):
            raise self._lacks("log_prob: its transforms cannot be undone")
        y = value if isinstance(value, Tensor) else tensors("TransformedDistribution", value)[0]
        steps = []
        for t in reversed(self.transforms):
            y = t.inverse(y)
            steps.append((t, y))
        out = self._inner.log_prob(y)
        rank = len(self._inner.event_shape)
        for t, x in reversed(steps):
            grown = t.forward_log_det_jacobian(x)
            extra = rank - t._domain_rank
            if extra:
                shape = common_shape(type(self).__name__, grown.shape, x.shape[: x.ndim - t._domain_rank])
                grown = sum_last(expand(grown, shape), extra)
            out = F.sub(out, grown)
            rank += t._codomain_rank - t._domain_rank
        return out


Transform._of_distribution = TransformedDistribution


@public("paddle.distribution")
class LogNormal(TransformedDistribution):
    """Log-normal distribution, of numbers whose logarithms are normal.

    Args:
        loc: mean of the logarithm; number, list, array or tensor (integers become the default dtype).
        scale: standard deviation of the logarithm, positive, given likewise; the two broadcast.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: the shapes of the parameters do not broadcast.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.LogNormal(0.0, 1.0)
        >>> round(float(d.mean), 4)
        1.6487
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        base = Normal(loc, scale)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, [ExpTransform()])

    @property
    def mean(self) -> Tensor:
        return F.exp(F.add(self.loc, F.mul(F.square(self.scale), 0.5)))

    @property
    def variance(self) -> Tensor:
        square = F.square(self.scale)
        return F.mul(F.expm1(square), F.exp(F.add(F.mul(self.loc, 2.0), square)))

    def entropy(self) -> Tensor:
        return F.add(self._base.entropy(), self.loc)


@register_kl(LogNormal, LogNormal)
def _log_normals(p: LogNormal, q: LogNormal) -> Tensor:
    return p._base.kl_divergence(q._base)
