"""Distributions of vectors and matrices that depend on each other's elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distribution.continuous import Beta
from paddle.distribution.distribution import LOG_2PI, Distribution, common_shape, draw, expand, register_kl, tensors
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


def _swapped(x: Tensor) -> Tensor:
    return F.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _identity(n: int, like: Tensor) -> Tensor:
    at = create_on(like.place, F.iota, 0, 1, dt.int64, n)
    return F.cast(F.eq(at, F.unsqueeze(at, (1,))), dtype=like.dtype)


@public("paddle.distribution")
class MultivariateNormal(Distribution):
    """Multivariate normal distribution, given by its mean and one of three matrices.

    Args:
        loc: mean, a list, array or tensor ``[..., n]``; a number counts as n = 1.
        covariance_matrix: symmetric and positive definite, ``[..., n, n]``.
        precision_matrix: inverse of the covariance matrix, ``[..., n, n]``.
        scale_tril: lower Cholesky factor of the covariance matrix, ``[..., n, n]``.

    Raises:
        TypeError: a parameter is neither a number, list, array nor tensor.
        ValueError: not exactly one matrix is given, or it is not positive definite, or shapes do not fit.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.MultivariateNormal(paddle.zeros([2]), paddle.to_tensor([[4.0, 0.0], [0.0, 9.0]]))
        >>> d.stddev.tolist(), d.sample([4]).shape
        ([2.0, 3.0], paddle.Size([4, 2]))
    """

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) != 1:
            raise op_error(ValueError, "MultivariateNormal", f"exactly one of {', '.join(given)}", chosen or "none")
        (name,) = chosen
        mean, matrix = tensors("MultivariateNormal", loc, given[name])
        mean = F.reshape(mean, (1,)) if mean.ndim == 0 else mean
        n = mean.shape[-1]
        if matrix.ndim < 2 or matrix.shape[-2:] != [n, n]:
            raise op_error(ValueError, "MultivariateNormal", f"a {name} of shape [..., {n}, {n}]", matrix.shape)
        batch = common_shape("MultivariateNormal", mean.shape[:-1], matrix.shape[:-2])
        self.loc = expand(mean, (*batch, n))
        matrix = expand(matrix, (*batch, n, n))
        self.covariance_matrix = self.precision_matrix = self.scale_tril = None
        setattr(self, name, matrix)
        if name == "scale_tril":
            self._tril = matrix
        elif name == "covariance_matrix":
            self._tril = F.cholesky(matrix, False)
        else:
            # Read from the last element to the first, the factor of P gives a lower C with P = C^T C, and C is the
            # inverse of the factor of the covariance.
            axes = (matrix.ndim - 2, matrix.ndim - 1)
            factor = _swapped(F.flip(F.cholesky(F.flip(matrix, axes), False), axes))
            self._tril = F.triangular_solve(factor, expand(_identity(n, matrix), matrix.shape), False, False, False)
        super().__init__(batch, (n,))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return F.sum(F.square(self._tril), (self._tril.ndim - 1,))

    def rsample(self, shape: Sequence[int] = []) -> Tensor:
        noise = draw("normal_random", self.loc, self._extend_shape(shape))
        moved = F.matmul(self._tril, F.unsqueeze(noise, (noise.ndim,)))
        return F.add(self.loc, F.squeeze(moved, (moved.ndim - 1,)))

    def _half_log_det(self) -> Tensor:
        d = F.diagonal(self._tril, self._tril.ndim - 2, self._tril.ndim - 1, 0)
        return F.sum(F.log(d), (d.ndim - 1,))

    def entropy(self) -> Tensor:
        return F.add(self._half_log_det(), 0.5 * self.event_shape[0] * (1 + LOG_2PI))

    def _distance(self, difference: Tensor) -> Tensor:
        """The squared length of vectors, in units of the distribution."""
        shape = common_shape("MultivariateNormal", difference.shape[:-1], self.batch_shape)
        n = self.event_shape[0]
        tril = expand(self._tril, (*shape, n, n))
        x = F.unsqueeze(expand(difference, (*shape, n)), (len(shape) + 1,))
        solved = F.triangular_solve(tril, x, False, False, False)
        return F.sum(F.square(solved), (solved.ndim - 2, solved.ndim - 1))

    def log_prob(self, value: Tensor) -> Tensor:
        distance = self._distance(F.sub(self._value(value, self.loc), self.loc))
        return F.sub(F.mul(distance, -0.5), F.add(self._half_log_det(), 0.5 * self.event_shape[0] * LOG_2PI))


@register_kl(MultivariateNormal, MultivariateNormal)
def _normals(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    n = p.event_shape[0]
    if q.event_shape != p.event_shape:
        raise op_error(ValueError, "kl_divergence", f"vectors of size {n}", q.event_shape[0])
    shape = (*common_shape("kl_divergence", p.batch_shape, q.batch_shape), n, n)
    ratio = F.triangular_solve(expand(q._tril, shape), expand(p._tril, shape), False, False, False)
    trace = F.sum(F.square(ratio), (ratio.ndim - 2, ratio.ndim - 1))
    distance = q._distance(F.sub(q.loc, p.loc))
    return F.add(F.mul(F.sub(F.add(trace, distance), float(n)), 0.5), F.sub(q._half_log_det(), p._half_log_det()))


@public("paddle.distribution")
class LKJCholesky(Distribution):
    """LKJ distribution of correlation matrices, drawn as their lower Cholesky factors.

    The density of a matrix is proportional to ``det(matrix)**(concentration - 1)``.

    Args:
        dim: number of rows of the matrices, an int of 2 or more.
        concentration: positive, a number or a tensor; at 1 all correlation matrices are equally likely.
        sample_method: ``"onion"`` or ``"cvine"``: two ways to draw the same.

    Raises:
        TypeError: the concentration is neither a number, list, array nor tensor.
        ValueError: dim is no int of 2 or more, or the method is none of these.

    References:
        Lewandowski, Kurowicka, Joe: Generating random correlation matrices based on vines and extended onion method,
        2009.

    Example:
        >>> import paddle
        >>> d = paddle.distribution.LKJCholesky(3, 1.5)
        >>> x = d.sample()
        >>> x.shape, bool((((x @ x.T).diagonal() - 1).abs() < 1e-5).all())
        (paddle.Size([3, 3]), True)
    """

    def __init__(self, dim: int = 2, concentration: Any = 1.0, sample_method: str = "onion") -> None:
        if not isinstance(dim, int) or dim < 2:
            raise op_error(ValueError, "LKJCholesky", "a dim of at least 2", repr(dim))
        if sample_method not in ("onion", "cvine"):
            raise op_error(ValueError, "LKJCholesky", "a sample_method of 'onion' or 'cvine'", repr(sample_method))
        (self.concentration,) = tensors("LKJCholesky", concentration)
        self.dim = dim
        self.sample_method = sample_method
        super().__init__(self.concentration.shape, (dim, dim))

    def _filled(self, value: float, shape: tuple[int, ...]) -> Tensor:
        return create_on(self.concentration.place, F.full, value, self.concentration.dtype, shape)

    def _column(self, values: list[Tensor]) -> Tensor:
        return F.stack(values, values[0].ndim)

    def sample(self, sample_shape: Sequence[int] = []) -> Tensor:
        """Draw factors, through which no gradient passes.

        Args:
            sample_shape: sequence of ints, the shape of the draws; empty for one draw.

        Returns:
            Tensor of shape ``sample_shape + batch_shape + (dim, dim)``.

        Raises:
            TypeError: the shape is one integer, or no sequence of integers.
        """
        drawn = self._onion(sample_shape) if self.sample_method == "onion" else self._vine(sample_shape)
        return drawn.detach()

    def _onion(self, shape: Any) -> Tensor:
        """Row by row: a direction, and how much of the row's length goes into it."""
        sizes, n = self._extend_shape(shape), self.dim
        free = F.add(self.concentration, 0.5 * (n - 2))
        rows = []
        for i in range(n):
            if i == 0:
                row = self._filled(1, (*sizes[:-2], 1))
            else:
                # The squared length of the first i of the i + 1 elements.
                share = Beta(0.5 * i, F.sub(free, 0.5 * (i - 1))).sample(
                    sizes[: len(sizes) - 2 - len(self.batch_shape)]
                )
                u = draw("normal_random", self.concentration, (*sizes[:-2], i))
                u = F.div(u, F.sqrt(F.sum(F.square(u), (u.ndim - 1,), True)))
                share = F.unsqueeze(share, (share.ndim,))
                row = F.concat([F.mul(u, F.sqrt(share)), F.sqrt(F.sub(1.0, share))], axis=u.ndim - 1)
            rows.append(F.pad(row, 0, axes=(row.ndim - 1,), lo=(0,), hi=(n - 1 - i,)))
        return F.stack(rows, rows[0].ndim - 1)

    def _vine(self, shape: Any) -> Tensor:
        """Element by element: partial correlations, each the share of what its row has left."""
        sizes, n = self._extend_shape(shape), self.dim
        outer = sizes[: len(sizes) - 2 - len(self.batch_shape)]
        zero = self._filled(0, sizes[:-2])
        rows = []
        for i in range(n):
            left = F.add(zero, 1.0)  # squared
            row = []
            for j in range(i):
                b = F.add(self.concentration, 0.5 * (n - 2 - j))
                partial = F.sub(F.mul(Beta(b, b).sample(outer), 2.0), 1.0)
                row.append(F.mul(partial, F.sqrt(left)))
                left = F.mul(left, F.sub(1.0, F.square(partial)))
            rows.append(self._column([*row, F.sqrt(left), *[zero] * (n - 1 - i)]))
        return F.stack(rows, rows[0].ndim - 1)

    def log_prob(self, value: Tensor) -> Tensor:
        x = self._value(value, self.concentration)
        n = self.dim
        if x.shape[-2:] != [n, n]:
            raise op_error(ValueError, "LKJCholesky", f"matrices of shape [..., {n}, {n}]", x.shape)
        d = F.diagonal(x, x.ndim - 2, x.ndim - 1, 0)
        logs = F.log(F.slice(d, (d.ndim - 1,), (1,), (n - 1,), (1,)))
        order = F.cast(create_on(x.place, F.iota, n - 2, -1, dt.int64, n - 1), dtype=x.dtype)
        eta = F.unsqueeze(self.concentration, (self.concentration.ndim,))
        weighted = F.mul(logs, F.add(order, F.mul(F.sub(eta, 1.0), 2.0)))
        return F.sub(F.sum(weighted, (weighted.ndim - 1,)), self._log_norm())

    def _log_norm(self) -> Tensor:
        """Lewandowski, Kurowicka, Joe (2009), theorem 5."""
        k = self.dim - 1
        alpha = F.add(self.concentration, 0.5 * k)
        lower = F.sub(alpha, 0.5)
        # The multivariate gamma function of order k.
        multi = self._filled(0.25 * k * (k - 1) * math.log(math.pi), ())
        for j in range(k):
            multi = F.add(multi, F.lgamma(F.sub(lower, 0.5 * j)))
        return F.add(F.sub(multi, F.mul(F.lgamma(alpha), float(k))), 0.5 * k * math.log(math.pi))
