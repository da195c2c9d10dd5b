"""Probability distributions against SciPy and the peer; transforms; divergences; draws by their moments."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch
import torch.distributions as T

import paddle
import paddle.distribution as D


def fixed(value, dtype="float64"):
    return paddle.to_tensor(np.asarray(value, dtype))


def leaf(value):
    return paddle.to_tensor(np.asarray(value, "float64"), stop_gradient=False)


def t64(value):
    return torch.tensor(value, dtype=torch.float64)


def check(got, expected, rtol=1e-8, atol=1e-10):
    np.testing.assert_allclose(np.asarray(got.numpy()), np.asarray(expected), rtol=rtol, atol=atol)


A, B, C = [0.5, 1.5, 3.0], [2.0, 0.7, 1.2], [0.3, 0.55, 0.8]
COVARIANCE = [[2.0, 0.6], [0.6, 1.0]]

# name: our class and the peer's, parameters, outcomes
CASES = {
    "Normal": (D.Normal, T.Normal, (A, B), [0.1, -1.0, 2.0]),
    "LogNormal": (D.LogNormal, T.LogNormal, (A, B), [0.1, 1.0, 2.0]),
    "Laplace": (D.Laplace, T.Laplace, (A, B), [0.1, -1.0, 4.0]),
    "Cauchy": (D.Cauchy, T.Cauchy, (A, B), [0.1, -1.0, 4.0]),
    "Gumbel": (D.Gumbel, T.Gumbel, (A, B), [0.1, -1.0, 4.0]),
    "StudentT": (D.StudentT, T.StudentT, ([2.5, 4.0, 9.0], A, B), [0.1, -1.0, 4.0]),
    "Uniform": (D.Uniform, lambda a, b: T.Uniform(a, b, validate_args=False), (C, [1.0, 2.0, 3.0]), [0.5, 0.6, 5.0]),
    "ContinuousBernoulli": (D.ContinuousBernoulli, T.ContinuousBernoulli, ([0.3, 0.5, 0.8],), [0.1, 0.5, 0.9]),
    "Exponential": (D.Exponential, T.Exponential, (A,), [0.1, 1.0, 4.0]),
    "Gamma": (D.Gamma, T.Gamma, (A, B), [0.1, 1.0, 4.0]),
    "Chi2": (D.Chi2, T.Chi2, (A,), [0.1, 1.0, 4.0]),
    "Beta": (D.Beta, T.Beta, (A, B), [0.1, 0.5, 0.9]),
    "Dirichlet": (D.Dirichlet, T.Dirichlet, ([A, B],), [0.1, 0.3, 0.6]),
    "Bernoulli": (D.Bernoulli, T.Bernoulli, (C,), [0.0, 1.0, 1.0]),
    "Geometric": (D.Geometric, T.Geometric, (C,), [0.0, 1.0, 5.0]),
    "Binomial": (D.Binomial, T.Binomial, ([4.0, 7.0, 7.0], C), [0.0, 3.0, 7.0]),
    "Poisson": (D.Poisson, T.Poisson, (A,), [0.0, 1.0, 5.0]),
    "MultivariateNormal": (D.MultivariateNormal, T.MultivariateNormal, ([1.0, 2.0], COVARIANCE), [0.5, 3.0]),
}
WITHOUT_MEAN = ("Cauchy",)


def pair(name):
    ours, theirs, params, value = CASES[name]
    return ours(*map(fixed, params)), theirs(*map(t64, params)), value


@pytest.mark.parametrize("name", CASES)
def test_moments_and_probabilities(name):
    d, peer, value = pair(name)
    assert d.batch_shape == tuple(peer.batch_shape)
    assert d.event_shape == tuple(peer.event_shape)
    check(d.log_prob(fixed(value)), peer.log_prob(t64(value)))
    check(d.prob(fixed(value)), peer.log_prob(t64(value)).exp())
    check(d.log_prob(fixed([value, value])), peer.log_prob(t64([value, value])))
    if name not in WITHOUT_MEAN:
        check(d.mean, peer.mean)
        check(d.variance, peer.variance)
        check(d.stddev, peer.stddev)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Binomial", "Poisson")])
def test_entropy(name):
    d, peer, _ = pair(name)
    check(d.entropy(), peer.entropy())


def test_entropy_of_counts():
    check(D.Poisson(fixed(A)).entropy(), scipy.stats.poisson(A).entropy())
    check(D.Poisson(fixed([50.0])).entropy(), scipy.stats.poisson([50.0]).entropy())
    check(D.Binomial(fixed([4.0, 7.0]), fixed([0.3, 0.6])).entropy(), scipy.stats.binom([4, 7], [0.3, 0.6]).entropy())
    expected = scipy.stats.multinomial(5, [0.2, 0.3, 0.5]).entropy()
    check(D.Multinomial(5, fixed([0.2, 0.3, 0.5])).entropy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_entropies_of_counts_in_all_dtypes(dtype):
    """Outcomes that a dtype has no numbers for count as well."""
    rtol = {"float16": 2e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-9}[dtype]
    rates, shares = np.array([0.5, 3.0, 320.0]), np.array([0.25, 0.5, 0.75])
    rate, n, p = (paddle.to_tensor(x).astype(dtype) for x in (rates, rates * 2, shares))
    for found, want in (
        (D.Poisson(rate), scipy.stats.poisson(rates)),
        (D.Binomial(n, p), scipy.stats.binom(rates * 2, shares)),
        (D.Multinomial(300, paddle.stack([p, 1 - p], 1)), scipy.stats.binom(300, shares)),
    ):
        entropy = found.entropy()
        assert entropy.dtype is rate.dtype
        check(entropy.astype("float64"), want.entropy(), rtol)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_counts_that_are_no_numbers_have_no_entropy(number):
    for found in (D.Poisson(fixed([number, 2.0])), D.Binomial(fixed([number, 2.0]), fixed(0.5))):
        first, second = found.entropy().tolist()
        assert math.isnan(first) and second > 0


@pytest.mark.parametrize("name", ["Laplace", "Cauchy", "Gumbel", "Exponential", "ContinuousBernoulli"])
def test_cumulated_probabilities(name):
    d, peer, value = pair(name)
    check(d.cdf(fixed(value)), peer.cdf(t64(value)))
    assert hasattr(d, "icdf") == (name in ("Laplace", "Exponential", "ContinuousBernoulli"))
    if hasattr(d, "icdf"):
        u = [0.1, 0.5, 0.9]
        check(d.icdf(fixed(u)), peer.icdf(t64(u)))
        check(d.cdf(d.icdf(fixed(u))), u)


def test_cumulated_probabilities_of_counts():
    check(D.Bernoulli(fixed(0.3)).cdf(fixed([-1.0, 0.0, 0.5, 1.0])), [0.0, 0.7, 0.7, 1.0])
    check(D.Geometric(fixed(0.3)).cdf(fixed([0.0, 1.0, 4.0])), scipy.stats.geom(0.3).cdf([1, 2, 5]))
    check(D.Geometric(fixed(0.3)).pmf(fixed([0.0, 1.0])), [0.3, 0.21])


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Uniform", "StudentT")])
def test_gradients_of_log_prob(name):
    ours, theirs, params, value = CASES[name]
    mine = [leaf(p) for p in params]
    peer = [t64(p).requires_grad_() for p in params]
    ours(*mine).log_prob(fixed(value)).sum().backward()
    theirs(*peer).log_prob(t64(value)).sum().backward()
    for i, (m, p) in enumerate(zip(mine, peer)):
        if (name, i) not in (("Binomial", 0), ("MultivariateNormal", 1)):
            check(m.grad, p.grad)


# --- parameters ----------------------------------------------------------------------------------------------------


def test_parameters_of_any_kind():
    for d, dtype in (
        (D.Normal(0, 2), "float32"),
        (D.Normal([0.0, 1.0], [1.0, 2.0]), "float32"),
        (D.Normal(np.zeros(2), np.ones(2)), "float64"),
        (D.Normal(fixed([0, 1], "int64"), 1.0), "float32"),
        (D.Normal(0.0, fixed([1.0, 2.0])), "float64"),
    ):
        assert d.loc.dtype == d.scale.dtype == getattr(paddle, dtype)
        assert d.loc.shape == d.scale.shape == list(d.batch_shape)
        assert d.sample([3]).dtype == d.loc.dtype
        assert d.log_prob(fixed(0.5)).dtype == d.loc.dtype
    assert float(D.Normal(0.0, 1.0).log_prob(0.0)) == pytest.approx(-0.5 * math.log(2 * math.pi))


def test_parameters_broadcast():
    d = D.Normal(fixed([[0.0], [1.0]]), fixed([1.0, 2.0, 3.0]))
    assert d.batch_shape == (2, 3)
    assert d.sample([4, 5]).shape == [4, 5, 2, 3]
    assert d.entropy().shape == [2, 3]
    assert D.Dirichlet(fixed([[1.0, 2.0]])).sample((3,)).shape == [3, 1, 2]
    assert D.MultivariateNormal(fixed([[1.0, 2.0]]), fixed(COVARIANCE)).sample((3,)).shape == [3, 1, 2]


@pytest.mark.parametrize("matrix", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_matrices_of_a_normal_distribution(matrix, rng):
    a = rng.standard_normal((2, 3, 3))
    value = np.linalg.cholesky(a @ a.swapaxes(1, 2) + np.eye(3))
    value = value if matrix == "scale_tril" else a @ a.swapaxes(1, 2) + np.eye(3)
    loc, x = rng.standard_normal(3), rng.standard_normal((4, 2, 3))
    d = D.MultivariateNormal(fixed(loc), **{matrix: fixed(value)})
    peer = T.MultivariateNormal(t64(loc), **{matrix: t64(value)})
    check(d.log_prob(fixed(x)), peer.log_prob(t64(x)))
    check(d.entropy(), peer.entropy())
    check(d.variance, peer.variance)
    assert d.mean.shape == [2, 3]


# --- draws ---------------------------------------------------------------------------------------------------------

MANY = 20000
# Draws of `sample` are functions of the parameters, as in the reference; elsewhere only those of `rsample`.
DIFFERENTIABLE = {"Normal", "LogNormal", "Uniform", "StudentT"}


@pytest.mark.parametrize("name", [n for n in CASES if n not in WITHOUT_MEAN])
def test_draws_have_the_moments(name):
    paddle.seed(7)
    d, _, _ = pair(name)
    x = d.sample([MANY])
    assert x.shape == [MANY, *d.batch_shape, *d.event_shape]
    assert x.stop_gradient
    assert d.sample().shape == [*d.batch_shape, *d.event_shape]
    deviation = d.stddev.numpy()
    if name == "LogNormal":  # its fourth moment is too large for a test of the second
        x, mean, deviation = np.log(x.numpy()), np.array(A), np.array(B)
    else:
        x, mean = x.numpy(), d.mean.numpy()
    np.testing.assert_allclose(x.mean(0), mean, atol=5 * deviation.max() / math.sqrt(MANY))
    if name != "StudentT":
        np.testing.assert_allclose(x.std(0), deviation, rtol=0.08)


def test_draws_of_the_cauchy_distribution():
    paddle.seed(7)
    d, _, _ = pair("Cauchy")
    quartiles = np.quantile(d.sample([MANY]).numpy(), [0.25, 0.5, 0.75], 0)
    loc, scale = np.array(A), np.array(B)
    np.testing.assert_allclose(quartiles, [loc - scale, loc, loc + scale], atol=0.1)


def test_draws_repeat():
    for d in (D.Normal(0.0, 1.0), D.Gamma(2.0, 1.0), D.Categorical(fixed([1.0, 2.0]))):
        paddle.seed(3)
        a = d.sample([5])
        paddle.seed(3)
        assert (d.sample([5]) == a).all()
        assert not (d.sample([5]) == a).all()
    for d in (D.Normal(0.0, 1.0), D.Uniform(0.0, 1.0)):
        assert (d.sample([5], seed=9) == d.sample([5], seed=9)).all()


@pytest.mark.parametrize("name", ["Normal", "LogNormal", "Laplace", "Cauchy", "Gumbel", "Uniform", "Exponential"])
def test_gradients_reach_parameters(name):
    ours, _, params, _ = CASES[name]
    given = [leaf(p) for p in params]
    paddle.seed(11)
    x = ours(*given).rsample([6])
    assert not x.stop_gradient
    x.sum().backward()
    moved = 1e-6
    for i, p in enumerate(given):
        shifted = [fixed(q) for q in params]
        shifted[i] = shifted[i] + moved
        paddle.seed(11)
        slope = (ours(*shifted).rsample([6]) - x).sum(0) / moved
        np.testing.assert_allclose(p.grad.numpy(), slope.numpy(), rtol=1e-3, atol=1e-3)
    assert ours(*given).sample().stop_gradient == (name not in DIFFERENTIABLE)


def test_gradients_reach_matrices():
    tril = leaf([[1.0, 0.0], [0.5, 2.0]])
    D.MultivariateNormal(fixed([0.0, 0.0]), scale_tril=tril).rsample([50]).sum().backward()
    assert tril.grad.numpy()[1, 0] != 0
    p = leaf([0.3, 0.6])
    x = D.Bernoulli(p).rsample([200], temperature=0.1)
    assert float(x.min()) >= 0
    assert float(x.max()) <= 1
    x.sum().backward()
    assert (p.grad.numpy() > 0).all()


# --- choices -------------------------------------------------------------------------------------------------------


def test_categorical():
    d = D.Categorical(fixed([1.0, 2.0, 5.0]))
    check(d.probs(fixed([0, 2], "int64")), [0.125, 0.625])
    check(d.log_prob(fixed([[0, 1], [2, 2]], "int64")), np.log([[0.125, 0.25], [0.625, 0.625]]))
    batch = D.Categorical(fixed([[1.0, 2.0, 5.0], [3.0, 1.0, 0.0]]))
    check(batch.probs(fixed([0, 1], "int64")), [[0.125, 0.25], [0.75, 0.25]])
    check(batch.probs(fixed([[0], [1]], "int64")), [[0.125], [0.25]])
    check(d.entropy(), T.Categorical(logits=t64([1.0, 2.0, 5.0])).entropy())
    other = D.Categorical(fixed([2.0, 2.0, 1.0]))
    expected = T.kl_divergence(T.Categorical(logits=t64([1.0, 2.0, 5.0])), T.Categorical(logits=t64([2.0, 2.0, 1.0])))
    check(d.kl_divergence(other), expected.reshape(1))
    paddle.seed(1)
    x = D.Categorical(fixed([0.0, 1.0, 2.0])).sample([MANY])
    assert x.dtype == paddle.int64
    np.testing.assert_allclose(np.bincount(x.numpy()) / MANY, np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum(), atol=0.02)
    assert batch.sample([2, 4]).shape == [2, 4, 2]


def test_multinomial():
    d = D.Multinomial(7, fixed([[1.0, 3.0], [2.0, 2.0]]))
    peer = T.Multinomial(7, t64([[1.0, 3.0], [2.0, 2.0]]))
    check(d.mean, peer.mean)
    check(d.variance, peer.variance)
    x = [[2.0, 5.0], [7.0, 0.0]]
    check(d.log_prob(fixed(x)), peer.log_prob(t64(x)))
    paddle.seed(2)
    drawn = d.sample([5000])
    assert drawn.shape == [5000, 2, 2]
    assert (drawn.sum(-1) == 7).all()
    np.testing.assert_allclose(drawn.numpy().mean(0), peer.mean.numpy(), atol=0.1)


def test_outcomes_of_no_probability():
    assert float(D.Bernoulli(fixed(0.0)).log_prob(fixed(0.0))) == 0.0
    assert float(D.Bernoulli(fixed(1.0)).entropy()) == 0.0
    assert float(D.Uniform(0.0, 1.0).prob(fixed(1.0))) == 0.0
    assert float(D.Poisson(fixed(0.0)).prob(fixed(0.0))) == 1.0
    assert math.isnan(float(D.StudentT(1.0, 0.0, 1.0).mean))
    assert math.isinf(float(D.StudentT(2.0, 0.0, 1.0).variance))
    assert math.isnan(float(D.StudentT(1.0, 0.0, 1.0).variance))


# --- divergence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("StudentT", "Binomial", "LogNormal", "Chi2")])
def test_divergence(name):
    ours, theirs, params, _ = CASES[name]
    others = [p[::-1] if isinstance(p[0], float) and name != "Uniform" else p for p in params]
    if name == "Dirichlet":
        others = [[B, A]]
    p, q = ours(*map(fixed, params)), ours(*map(fixed, others))
    expected = T.kl_divergence(theirs(*map(t64, params)), theirs(*map(t64, others)))
    check(D.kl_divergence(p, q), expected)
    check(p.kl_divergence(q), expected)


def test_divergence_of_others():
    p, q = D.LogNormal(fixed(A), fixed(B)), D.LogNormal(fixed(B), fixed(A))
    check(p.kl_divergence(q), D.Normal(fixed(A), fixed(B)).kl_divergence(D.Normal(fixed(B), fixed(A))).numpy())
    p, q = D.Chi2(fixed(A)), D.Chi2(fixed(B))
    check(p.kl_divergence(q), T.kl_divergence(T.Chi2(t64(A)), T.Chi2(t64(B))))
    p, q = D.Binomial(fixed(5.0), fixed(C)), D.Binomial(fixed(5.0), fixed(C[::-1]))
    check(p.kl_divergence(q), T.kl_divergence(T.Binomial(5, t64(C)), T.Binomial(5, t64(C[::-1]))))
    with pytest.raises(ValueError, match="equal total_count"):
        p.kl_divergence(D.Binomial(fixed(6.0), fixed(C)))
    p, q = (D.Independent(D.Normal(fixed([A, B]), fixed([B, A])), 1) for _ in range(2))
    check(p.kl_divergence(q), [0.0, 0.0])
    p, q = D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)
    assert math.isinf(float(p.kl_divergence(q)))
    assert float(q.kl_divergence(p)) == pytest.approx(math.log(2))


def test_registered_divergences():
    class Mine(D.Normal):
        pass

    with pytest.raises(NotImplementedError, match=r"none of Normal from Uniform"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Uniform(0.0, 1.0))
    assert float(D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))) == 0.5

    @D.register_kl(Mine, D.Normal)
    def nearest(p, q):
        return paddle.full([], 9.0)

    assert float(D.kl_divergence(Mine(0.0, 1.0), D.Normal(1.0, 1.0))) == 9.0
    assert float(D.kl_divergence(D.Normal(0.0, 1.0), Mine(1.0, 1.0))) == 0.5
    with pytest.raises(TypeError, match=r"\[register_kl\]"):
        D.register_kl(int, D.Normal)


def test_families():
    """Entropy and divergence from a log normalizer alone."""

    class Waiting(D.ExponentialFamily):
        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_parameters(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -paddle.log(-x)

        @property
        def _mean_carrier_measure(self):
            return 0.0

    p, q = Waiting(fixed(A)), Waiting(fixed(B))
    check(p.entropy(), D.Exponential(fixed(A)).entropy().numpy())
    check(p.kl_divergence(q), D.Exponential(fixed(A)).kl_divergence(D.Exponential(fixed(B))).numpy())


# --- made from others ----------------------------------------------------------------------------------------------


def test_independent():
    base = D.Normal(fixed([A, B]), fixed([B, A]))
    peer = T.Independent(T.Normal(t64([A, B]), t64([B, A])), 1)
    d = D.Independent(base, 1)
    assert (d.batch_shape, d.event_shape) == ((2,), (3,))
    check(d.log_prob(fixed([C, C])), peer.log_prob(t64([C, C])))
    check(d.entropy(), peer.entropy())
    check(d.mean, peer.mean)
    check(d.variance, peer.variance)
    assert d.sample([4]).shape == [4, 2, 3]
    for bad in (0, 3, 1.5):
        with pytest.raises(ValueError, match="from 1 to 2"):
            D.Independent(base, bad)


def test_transformed_distribution():
    ours = D.TransformedDistribution(
        D.Normal(fixed(A), fixed(B)), [D.AffineTransform(fixed(1.0), fixed(2.0)), D.ExpTransform()]
    )
    peer = T.TransformedDistribution(T.Normal(t64(A), t64(B)), [T.AffineTransform(1.0, 2.0), T.ExpTransform()])
    check(ours.log_prob(fixed([0.5, 1.0, 9.0])), peer.log_prob(t64([0.5, 1.0, 9.0])))
    assert ours.sample([4]).shape == [4, 3]
    assert ours.rsample([4]).shape == [4, 3]
    nested = D.ExpTransform()(D.AffineTransform(fixed(1.0), fixed(2.0))(D.Normal(fixed(A), fixed(B))))
    check(nested.log_prob(fixed([0.5, 1.0, 9.0])), peer.log_prob(t64([0.5, 1.0, 9.0])))


def test_transforms_that_join_axes():
    d = D.TransformedDistribution(D.Normal(fixed([A]), fixed([B])), [D.StickBreakingTransform()])
    peer = T.TransformedDistribution(T.Normal(t64([A]), t64([B])), [T.StickBreakingTransform()])
    assert (d.batch_shape, d.event_shape) == ((1,), (4,))
    x = d.sample([5])
    assert x.shape == [5, 1, 4]
    check(x.sum(-1), np.ones((5, 1)))
    check(d.log_prob(x), peer.log_prob(torch.from_numpy(x.numpy().copy())))
    d = D.TransformedDistribution(D.Normal(fixed(A[:2]), fixed(B[:2])), [D.ReshapeTransform((2,), (1, 2))])
    assert (d.batch_shape, d.event_shape) == ((), (1, 2))
    x = d.sample([3])
    check(d.log_prob(x), D.Normal(fixed(A[:2]), fixed(B[:2])).log_prob(x.reshape([3, 2])).sum(-1).numpy())


# --- transforms ----------------------------------------------------------------------------------------------------

X = [[0.3, 0.5], [0.2, -0.7]]
TRANSFORMS = {
    "affine": (
        D.AffineTransform(fixed([1.0, 2.0]), fixed([2.0, -3.0])),
        T.AffineTransform(t64([1.0, 2.0]), t64([2.0, -3.0])),
    ),
    "exp": (D.ExpTransform(), T.ExpTransform()),
    "sigmoid": (D.SigmoidTransform(), T.SigmoidTransform()),
    "tanh": (D.TanhTransform(), T.TanhTransform()),
    "stick breaking": (D.StickBreakingTransform(), T.StickBreakingTransform()),
    "independent": (D.IndependentTransform(D.ExpTransform(), 1), T.IndependentTransform(T.ExpTransform(), 1)),
    "reshape": (D.ReshapeTransform((2,), (1, 2)), T.ReshapeTransform((2,), (1, 2))),
    "stack": (
        D.StackTransform([D.ExpTransform(), D.TanhTransform()], 1),
        T.StackTransform([T.ExpTransform(), T.TanhTransform()], 1),
    ),
    "chain": (
        D.ChainTransform([D.TanhTransform(), D.StickBreakingTransform()]),
        T.ComposeTransform([T.TanhTransform(), T.StickBreakingTransform()]),
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    ours, theirs = TRANSFORMS[name]
    x, peer = fixed(X), t64(X)
    y, z = ours.forward(x), theirs(peer)
    check(y, z)
    check(ours(x), z)
    check(ours.inverse(y), X)
    growth = theirs.log_abs_det_jacobian(peer, z).numpy()
    got = ours.forward_log_det_jacobian(x).numpy()
    np.testing.assert_allclose(np.broadcast_to(got, growth.shape), growth, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.inverse_log_det_jacobian(y).numpy(), -got, rtol=1e-8, atol=1e-10)
    assert ours.forward_shape((3, 2)) == tuple(theirs.forward_shape((3, 2)))
    assert ours.inverse_shape(ours.forward_shape((3, 2))) == (3, 2)


def test_power_transform():
    ours, theirs = D.PowerTransform(fixed(2.0)), T.PowerTransform(t64(2.0))
    x = [0.5, 2.0]
    check(ours.forward(fixed(x)), [0.25, 4.0])
    check(ours.inverse(fixed([0.25, 4.0])), x)
    check(ours.forward_log_det_jacobian(fixed(x)), theirs.log_abs_det_jacobian(t64(x), theirs(t64(x))))


def test_transforms_that_cannot_be_undone():
    low, high = D.AbsTransform().inverse(fixed([2.0]))
    assert (low.tolist(), high.tolist()) == ([-2.0], [2.0])
    check(D.SoftmaxTransform().forward(fixed(X)).sum(-1), [1.0, 1.0])
    for t in (D.AbsTransform(), D.SoftmaxTransform()):
        with pytest.raises(NotImplementedError, match="several preimages"):
            t.forward_log_det_jacobian(fixed(X))
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AbsTransform()])
    assert float(d.sample([100]).min()) >= 0
    with pytest.raises(NotImplementedError, match="cannot be undone"):
        d.log_prob(fixed(1.0))


def test_calls_of_transforms():
    both = D.ExpTransform()(D.TanhTransform())
    assert isinstance(both, D.ChainTransform)
    check(both(fixed([0.5])), np.exp(np.tanh([0.5])))
    assert isinstance(D.ExpTransform()(D.Normal(0.0, 1.0)), D.TransformedDistribution)


def test_transforms_of_ones_own():
    class Double(D.Transform):
        def _forward(self, x):
            return x * 2

        def _inverse(self, y):
            return y / 2

        def _inverse_log_det_jacobian(self, y):
            return paddle.full_like(y, -math.log(2))

    check(Double().forward_log_det_jacobian(fixed([1.0])), [math.log(2)])
    d = D.TransformedDistribution(D.Normal(fixed(0.0), fixed(1.0)), [Double()])
    check(d.log_prob(fixed(1.0)), T.Normal(0.0, 2.0).log_prob(t64(1.0)))


# --- correlations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concentration", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("dim", [2, 3, 5])
def test_density_of_correlations(dim, concentration):
    torch.manual_seed(0)
    peer = T.LKJCholesky(dim, t64(concentration))
    x = peer.sample((4,))
    check(D.LKJCholesky(dim, fixed(concentration)).log_prob(fixed(x.numpy())), peer.log_prob(x), rtol=1e-7)


@pytest.mark.parametrize("method", ["onion", "cvine"])
def test_draws_of_correlations(method):
    paddle.seed(5)
    d = D.LKJCholesky(4, fixed([1.0, 2.5]), method)
    x = d.sample([4000])
    assert x.shape == [4000, 2, 4, 4]
    assert not np.triu(x.numpy(), 1).any()
    correlations = x.numpy() @ x.numpy().swapaxes(-1, -2)
    i = np.arange(4)
    np.testing.assert_allclose(correlations[..., i, i], 1.0)
    # Each element off the diagonal is 2 Beta(b, b) - 1 with b = concentration + (dim - 2) / 2.
    for k, concentration in enumerate((1.0, 2.5)):
        b = concentration + 1
        for row, column in zip(*np.tril_indices(4, -1)):
            values = correlations[:, k, row, column]
            assert abs(values.mean()) < 0.03
            assert values.var() == pytest.approx(1 / (2 * b + 1), rel=0.1)


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: D.Normal("a", 1.0), TypeError, r"\[Normal\] requires a number, a list, an array or a Tensor, got str"),
        (lambda: D.Normal(fixed([1.0, 2.0]), fixed([1.0, 2.0, 3.0])), ValueError, "broadcast"),
        (lambda: D.Normal(0.0, 1.0).sample(3), TypeError, r"\[Normal\] requires a sequence of ints"),
        (lambda: D.Cauchy(0.0, 1.0).mean, ValueError, "no mean"),
        (lambda: D.Categorical(fixed(1.0)), ValueError, "logits of rank 1 or more"),
        (lambda: D.Categorical(fixed([1.0])).probs(fixed([0.0])), TypeError, "an integer Tensor as value, got float64"),
        (lambda: D.Dirichlet(fixed(1.0)), ValueError, "rank 1 or more"),
        (lambda: D.Multinomial(0, fixed([1.0])), ValueError, "a positive int as total_count"),
        (lambda: D.MultivariateNormal(fixed([0.0, 0.0])), ValueError, "exactly one of"),
        (lambda: D.MultivariateNormal(fixed([0.0]), fixed(COVARIANCE)), ValueError, r"of shape \[..., 1, 1\]"),
        (lambda: D.Gamma(1.0, 1.0).icdf, AttributeError, "icdf"),
        (lambda: D.Poisson(1.0).rsample(), NotImplementedError, r"\[Poisson\] has no rsample"),
        (lambda: D.Distribution().mean, NotImplementedError, r"\[Distribution\] has no mean"),
        (lambda: D.LKJCholesky(1), ValueError, "a dim of at least 2"),
        (lambda: D.LKJCholesky(3, 1.0, "urn"), ValueError, "'onion' or 'cvine'"),
        (lambda: D.Independent(5, 1), TypeError, r"\[Independent\] requires a Distribution as base"),
        (lambda: D.TransformedDistribution(5, []), TypeError, r"\[TransformedDistribution\] requires a Distribution"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), []), TypeError, "one or more Transforms, got none"),
        (lambda: D.ChainTransform([D.ExpTransform(), 2]), TypeError, "Transforms, got ExpTransform, int"),
        (
            lambda: D.Normal([0.0, 1.0], [1.0, 2.0, 3.0]),
            ValueError,
            "parameters whose shapes broadcast",
        ),
        (
            lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [D.SoftmaxTransform()]),
            ValueError,
            "a base with 1 axes or more",
        ),
        (lambda: D.ExpTransform().forward(5), TypeError, r"\[ExpTransform\] requires a Tensor, got int"),
        (lambda: D.SoftmaxTransform().forward(fixed(1.0)), ValueError, "a tensor of rank 1 or more"),
        (lambda: D.AffineTransform(1.0, 2.0), TypeError, "a Tensor for loc, got float"),
        (lambda: D.PowerTransform(2.0), TypeError, "a Tensor for power"),
        (lambda: D.ReshapeTransform((2, 3), (5,)), ValueError, "as many elements"),
        (lambda: D.ReshapeTransform((2,), (1, 2)).forward(fixed([1.0])), ValueError, r"a shape that ends in \(2,\)"),
        (
            lambda: D.StackTransform([D.ExpTransform()], 0).forward(fixed([1.0, 2.0])),
            ValueError,
            "1 slices along axis 0",
        ),
        (lambda: D.IndependentTransform(D.ExpTransform(), 0), ValueError, "of at least 1"),
        (lambda: D.ExpTransform().forward_shape(3), TypeError, "a sequence of ints as shape"),
        (lambda: D.Normal(0.0, 1.0).sample([2, -1]), ValueError, r"\[Normal\] requires sizes of 0 or more"),
        (lambda: D.Poisson(1.0).sample([-1]), ValueError, r"\[Poisson\] requires sizes of 0 or more"),
        (
            lambda: D.MultivariateNormal(fixed(np.ones((3, 1))), fixed(np.ones((2, 1, 1)))),
            ValueError,
            r"\[MultivariateNormal\] requires shapes that broadcast, got \(3,\) and \(2,\)",
        ),
        (
            lambda: D.Categorical(fixed(np.ones((3, 2)))).probs(paddle.ones([2, 1], "int64")),
            ValueError,
            r"\[Categorical\] requires shapes that broadcast, got \(3,\) and \(2,\)",
        ),
        (
            lambda: D.kl_divergence(D.Binomial(fixed([3.0]), fixed(0.5)), D.Binomial(fixed([4.0]), fixed(0.5))),
            ValueError,
            r"equal total_count, got \[3.0\] and \[4.0\]",
        ),
    ],
)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_numbers_are_vectors_of_one_where_the_reference_makes_them_so():
    for d in (D.Poisson(2.5), D.ContinuousBernoulli(0.3)):
        assert d.batch_shape == (1,) and d.mean.shape == [1] and d.sample([4]).shape == [4, 1]
    assert D.Normal(0.0, 1.0).mean.shape == []


def test_the_entropy_of_a_poisson_distribution_has_a_derivative_where_outcomes_are_impossible():
    rate = paddle.to_tensor([0.3, 40.0], stop_gradient=False)
    D.Poisson(rate).entropy().sum().backward()
    moved = 1e-4
    high, low = (D.Poisson(paddle.to_tensor([0.3, 40.0], "float64") + d).entropy() for d in (moved, -moved))
    np.testing.assert_allclose(rate.grad.numpy(), ((high - low) / (2 * moved)).numpy(), rtol=1e-3)


def test_divergence_of_geometric_distributions():
    p, q, k = 0.3, 0.5, np.arange(400)
    logs = [np.log(r) + k * np.log1p(-r) for r in (p, q)]
    mine = D.kl_divergence(D.Geometric(fixed([p])), D.Geometric(fixed([q])))
    np.testing.assert_allclose(mine.numpy(), [(np.exp(logs[0]) * (logs[0] - logs[1])).sum()], rtol=1e-6)
