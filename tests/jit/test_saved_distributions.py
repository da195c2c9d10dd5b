"""Distributions in saved programs: one file for batches of any size, of which 0 and 1 are two."""

from __future__ import annotations

import re

import numpy as np
import pytest

import paddle
import paddle.distribution as D
import paddle.nn.functional as F
from paddle.static import InputSpec


def above(x):
    return F.softplus(x) + 0.5


def within(x):
    return F.sigmoid(x) * 0.8 + 0.1


def normal(x):
    return D.Normal(x, above(x))


def scaled(x):
    return D.MultivariateNormal(x, covariance_matrix=paddle.eye(3) * above(x[..., :1]).unsqueeze(-1))


def transformed(x):
    return D.TransformedDistribution(normal(x), [D.AffineTransform(1.0 + 0 * x, 2.0 + 0 * x), D.ExpTransform()])


def counted(x):
    return paddle.floor(above(x))


# The distribution that parameters make, and an outcome.
FAMILIES = {
    "Bernoulli": (lambda x: D.Bernoulli(within(x)), lambda x: (x > 0).astype("float32")),
    "Beta": (lambda x: D.Beta(above(x), above(-x)), within),
    "Binomial": (lambda x: D.Binomial(paddle.full_like(x, 10.0), within(x)), counted),
    "Binomial of one count": (lambda x: D.Binomial(10, within(x)), counted),
    "Categorical": (lambda x: D.Categorical(above(x)), lambda x: (x[..., 0] > 0).astype("int64")),
    "Cauchy": (lambda x: D.Cauchy(x, above(x)), lambda x: x * 0.5),
    "Chi2": (lambda x: D.Chi2(above(x)), above),
    "ContinuousBernoulli": (lambda x: D.ContinuousBernoulli(within(x)), within),
    "Dirichlet": (lambda x: D.Dirichlet(above(x)), lambda x: F.softmax(x, -1)),
    "Exponential": (lambda x: D.Exponential(above(x)), above),
    "Gamma": (lambda x: D.Gamma(above(x), above(-x)), above),
    "Geometric": (lambda x: D.Geometric(within(x)), counted),
    "Gumbel": (lambda x: D.Gumbel(x, above(x)), lambda x: x * 0.5),
    "Independent": (lambda x: D.Independent(normal(x), 1), lambda x: x * 0.5),
    "LKJCholesky": (lambda x: D.LKJCholesky(3, above(x[..., 0])), lambda x: paddle.eye(3).expand([x.shape[0], 3, 3])),
    "Laplace": (lambda x: D.Laplace(x, above(x)), lambda x: x * 0.5),
    "LogNormal": (lambda x: D.LogNormal(x, above(x)), above),
    "Multinomial": (lambda x: D.Multinomial(5, within(x)), lambda x: paddle.to_tensor([1.0, 2.0, 2.0]).expand(x.shape)),
    "MultivariateNormal": (scaled, lambda x: x * 0.5),
    "Normal": (normal, lambda x: x * 0.5),
    "Normal of broadcast parameters": (lambda x: D.Normal(x, above(x[:1])), lambda x: x * 0.5),
    "Poisson": (lambda x: D.Poisson(above(x)), counted),
    "StudentT": (lambda x: D.StudentT(above(x) + 2, x, above(x)), lambda x: x * 0.5),
    "TransformedDistribution": (transformed, above),
    "Uniform": (lambda x: D.Uniform(x, x + above(x)), lambda x: x + 0.1),
}  # fmt: skip
METHODS = {
    "log_prob": lambda d, other, value: d.log_prob(value),
    "entropy": lambda d, other, value: d.entropy(),
    "mean": lambda d, other, value: d.mean,
    "variance": lambda d, other, value: d.variance,
    "cdf": lambda d, other, value: d.cdf(value),
    "divergence": lambda d, other, value: D.kl_divergence(d, other),
    "sample": lambda d, other, value: d.sample([2]),
    "samples as many as rows": lambda d, other, value: d.sample(value.shape[:1]),
    "rsample": lambda d, other, value: d.rsample([2, 3]),
}  # fmt: skip


def made(name, method, x):
    family, outcome = FAMILIES[name]
    return METHODS[method](family(x), family(x * 0.5), outcome(x))


def defined(name):
    """The methods that a family has."""
    found = []
    for method in METHODS:
        try:
            made(name, method, paddle.to_tensor([[0.1, -0.2, 0.3]]))
        except (NotImplementedError, AttributeError, ValueError) as error:
            if not re.search(r"\] has no |has no attribute 'cdf'|requires a registered divergence", str(error)):
                raise
            continue
        found.append(method)
    return found


# The others differ from these in formulas alone, which tests/paddle/test_distribution.py has.
QUICK = (
    "Bernoulli", "Beta", "Binomial of one count", "Categorical", "Independent", "MultivariateNormal",
    "Normal of broadcast parameters", "TransformedDistribution",
)  # fmt: skip


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FAMILIES])
def test_of_any_batch(name, rng, tmp_path):
    methods = defined(name)
    assert {"log_prob", "sample"} <= set(methods)

    class Net(paddle.nn.Layer):
        def forward(self, x):
            return tuple(made(name, method, x) for method in methods)

    path = str(tmp_path / "m")
    paddle.jit.save(Net(), path, [InputSpec([None, 3], "float32", "x")])
    loaded = paddle.jit.load(path)
    for rows in (4, 1, 0, 7):
        if not rows and name == "Normal of broadcast parameters":
            continue
        x = paddle.to_tensor(rng.standard_normal((rows, 3)).astype("float32"))
        for method, y in zip(methods, loaded(x), strict=True):
            z = made(name, method, x)
            assert (y.shape, y.dtype) == (z.shape, z.dtype), method
            if "sample" not in method:
                np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=2e-4, atol=1e-5, err_msg=method)


@pytest.mark.parametrize("name", ["Beta", "Binomial", "Normal", "Poisson"])
def test_draws_have_the_mean_of_their_parameters(name, tmp_path):
    family = FAMILIES[name][0]

    class Net(paddle.nn.Layer):
        def forward(self, x):
            return family(x).sample([4000])

    path = str(tmp_path / "m")
    paddle.jit.save(Net(), path, [InputSpec([None, 3], "float32", "x")])
    x = paddle.to_tensor([[-1.0, 0.0, 1.0], [2.0, 0.5, -0.5]])
    paddle.seed(7)
    drawn, d = paddle.jit.load(path)(x).numpy(), family(x)
    error = 5 * np.sqrt(d.variance.numpy() / 4000)
    assert (np.abs(drawn.mean(0) - d.mean.numpy()) < error).all()
    np.testing.assert_allclose(drawn.var(0), d.variance.numpy(), rtol=0.25)
