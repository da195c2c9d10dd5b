"""Distributions and transforms whose parameters are on a device that is not the default place do what they do on the
host: moments, densities, draws, divergences, gradients.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.distribution as D

pytestmark = pytest.mark.usefixtures("fake")

A, B, C = [0.5, 1.5, 3.0], [2.0, 0.7, 1.2], [0.3, 0.55, 0.8]
COVARIANCE = [[2.0, 0.6], [0.6, 1.0]]
CHOLESKY = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]]

# What makes each of tensors, with its parameters, and an outcome.
DISTRIBUTIONS: dict[str, tuple[Callable, list, Any]] = {
    "Normal": (D.Normal, [A, B], A),
    "LogNormal": (D.LogNormal, [A, B], A),
    "Laplace": (D.Laplace, [A, B], A),
    "Cauchy": (D.Cauchy, [A, B], A),
    "Gumbel": (D.Gumbel, [A, B], A),
    "StudentT": (D.StudentT, [[0.5, 1.5, 9.0], A, B], A),
    "Uniform": (D.Uniform, [C, [1.0, 2.0, 3.0]], A),
    "ContinuousBernoulli": (D.ContinuousBernoulli, [[0.3, 0.5, 0.8]], C),
    "Exponential": (D.Exponential, [A], A),
    "Gamma": (D.Gamma, [A, B], A),
    "Chi2": (D.Chi2, [A], A),
    "Beta": (D.Beta, [A, B], C),
    "Dirichlet": (D.Dirichlet, [[A, B]], [0.1, 0.3, 0.6]),
    "Bernoulli": (D.Bernoulli, [C], [0.0, 1.0, 1.0]),
    "Geometric": (D.Geometric, [C], [0.0, 1.0, 5.0]),
    "Binomial": (D.Binomial, [[4.0, 7.0, 7.0], C], [0.0, 3.0, 7.0]),
    "Poisson": (D.Poisson, [A], [0.0, 1.0, 5.0]),
    "Categorical": (D.Categorical, [C], np.array([0, 2])),
    "Multinomial": (lambda p: D.Multinomial(5, p), [C], [1.0, 1.0, 3.0]),
    "MultivariateNormal": (D.MultivariateNormal, [[1.0, 2.0], COVARIANCE], [0.5, 3.0]),
    "MultivariateNormal by precision": (
        lambda m, p: D.MultivariateNormal(m, precision_matrix=p),
        [[1.0, 2.0], COVARIANCE],
        [0.5, 3.0],
    ),
    "LKJCholesky": (lambda c: D.LKJCholesky(3, c), [1.5], CHOLESKY),
    "LKJCholesky by vine": (lambda c: D.LKJCholesky(3, c, "cvine"), [1.5], CHOLESKY),
    "Independent": (lambda a, b: D.Independent(D.Normal(a, b), 1), [A, B], A),
    "TransformedDistribution": (lambda a, b: D.TransformedDistribution(D.Normal(a, b), [D.ExpTransform()]), [A, B], A),
    "numbers beside tensors": (lambda b: D.Normal(0.5, b), [B], 0.25),
    "lists beside tensors": (lambda b: D.Normal([0.5, 1.0, 2.0], b), [B], [0.25, 0.5, 0.75]),
}
TRANSFORMS: dict[str, tuple[Callable, list, Any]] = {
    "AbsTransform": (D.AbsTransform, [], A),
    "AffineTransform": (D.AffineTransform, [A, B], A),
    "ExpTransform": (D.ExpTransform, [], A),
    "PowerTransform": (D.PowerTransform, [B], A),
    "SigmoidTransform": (D.SigmoidTransform, [], C),
    "TanhTransform": (D.TanhTransform, [], C),
    "SoftmaxTransform": (D.SoftmaxTransform, [], C),
    "StickBreakingTransform": (D.StickBreakingTransform, [], C),
    "ReshapeTransform": (lambda: D.ReshapeTransform((3,), (3, 1)), [], C),
    "ChainTransform": (lambda a, b: D.ChainTransform([D.AffineTransform(a, b), D.TanhTransform()]), [A, B], C),
    "IndependentTransform": (lambda: D.IndependentTransform(D.ExpTransform(), 1), [], C),
    "StackTransform": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.ExpTransform()]), [], C),
}
FAMILIES = {"Distribution", "ExponentialFamily", "Transform"}  # these are derived from


def test_every_class_is_here():
    public = {name for name in D.__all__ if inspect.isclass(getattr(D, name))} - FAMILIES
    assert public <= DISTRIBUTIONS.keys() | TRANSFORMS.keys()


def on(place: str, value: Any) -> Any:
    if isinstance(value, float):
        return value
    value = np.asarray(value)
    return paddle.to_tensor(value.astype("float64") if value.dtype.kind == "f" else value).to(place)


def host(found: Any, place: str) -> list[np.ndarray]:
    """Tensors that lie where they should."""
    every = found if isinstance(found, (list, tuple)) else [found]
    assert all(t.place.name == place for t in every)
    return [t.numpy() for t in every]


def answers(d: D.Distribution, value: Any, place: str) -> dict[str, list[np.ndarray]]:
    """What the distribution has, by name."""
    asked: dict[str, Callable[[], Any]] = {
        **{name: lambda name=name: getattr(d, name) for name in ("mean", "variance", "stddev")},
        "entropy": d.entropy,
        "kl_divergence": lambda: d.kl_divergence(d),
        **{name: lambda name=name: getattr(d, name)((4,)) for name in ("sample", "rsample")},
        **{
            name: lambda name=name: getattr(d, name)(value)
            for name in ("log_prob", "prob", "probs", "cdf", "icdf")
            if callable(getattr(d, name, None))
        },
    }
    out = {}
    for name, ask in asked.items():
        paddle.seed(5)
        try:
            out[name] = host(ask(), place)
        except (NotImplementedError, ValueError):  # a Cauchy distribution has no mean; `same` wants that of both places
            continue
    return out


def same(got: dict[str, list[np.ndarray]], expected: dict[str, list[np.ndarray]]) -> None:
    assert got.keys() == expected.keys()
    for name, arrays in expected.items():
        for a, b in zip(got[name], arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    make, parameters, value = DISTRIBUTIONS[name]

    def found(place: str) -> dict[str, list[np.ndarray]]:
        leaves = [on(place, np.asarray(p)) for p in parameters]
        for leaf in leaves:
            leaf.stop_gradient = False
        d, at = make(*leaves), on(place, value)
        out = answers(d, at, place)
        logs = d.log_prob(at).sum()
        if not logs.stop_gradient:
            grads = paddle.grad(logs, leaves, allow_unused=True)
            out["gradients"] = [array for g in grads if g is not None for array in host(g, place)]
        return out

    expected = found("cpu")
    assert len(expected) > 3
    same(found("fake:1"), expected)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    make, parameters, value = TRANSFORMS[name]

    def found(place: str) -> dict[str, list[np.ndarray]]:
        t, x = make(*(on(place, p) for p in parameters)), on(place, value)
        y = t.forward(x)
        out = {"forward": host(y, place), "inverse": host(t.inverse(y), place)}
        for what, at in (("forward_log_det_jacobian", x), ("inverse_log_det_jacobian", y)):
            try:
                out[what] = host(getattr(t, what)(at), place)
            except NotImplementedError:  # a transform that is not one to one; `same` wants that of both places
                continue
        return out

    same(found("fake:1"), found("cpu"))
