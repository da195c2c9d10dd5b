"""Random ops draw what they say: distributions, independence of what is drawn from how it is drawn, masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from harness import backward, leaf, tensor, values

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ops import random

N = 20_000
LEVEL = 1e-4  # the chance of a right distribution to fail; draws are fixed, so a test that passes does so always


def drawn(name: str, *operands: Any, **words: Any) -> np.ndarray:
    return values(getattr(F, name)(*operands, seed=2**40 + 17, offset=8, **words)).astype(np.float64)


CONTINUOUS: dict[str, tuple[dict, Callable]] = {
    "uniform_random": ({"low": -1.0, "high": 3.0}, st.uniform(-1, 4).cdf),
    "normal_random": ({"mean": 2.0, "std": 3.0}, st.norm(2, 3).cdf),
    "truncated_normal": ({"mean": 1.0, "std": 2.0, "low": -1.0, "high": 2.0}, st.truncnorm(-1, 0.5, 1, 2).cdf),
    "exponential": ({"rate": 2.0}, st.expon(0, 0.5).cdf),
    "cauchy": ({"loc": 1.0, "scale": 0.5}, st.cauchy(1, 0.5).cdf),
    "gumbel": ({}, st.gumbel_r().cdf),
}


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str, dtype: Any) -> None:
    words, cdf = CONTINUOUS[name]
    x = drawn(name, dtype=dtype, shape=(N,), **words)
    assert np.isfinite(x).all()
    assert st.kstest(x, cdf).pvalue > LEVEL
    assert abs(np.corrcoef(x.clip(-5, 5)[:-1], x.clip(-5, 5)[1:])[0, 1]) < 4 / N**0.5, "neighbours depend on each other"


@pytest.mark.parametrize("alpha", [0.3, 1.0, 7.5])
def test_gamma(alpha: float) -> None:
    x = drawn("standard_gamma", tensor(np.full(N, alpha)))
    assert st.kstest(x, st.gamma(alpha).cdf).pvalue > LEVEL


def counts_fit(x: np.ndarray, law: Any) -> None:
    """A chi-squared test over the values that are likely enough."""
    values_, counts = np.unique(x, return_counts=True)
    assert (values_ == np.round(values_)).all()
    likely = [k for k in range(int(values_.min()), int(values_.max()) + 1) if law.pmf(k) * len(x) >= 5]
    table = dict(zip(values_, counts))
    found = np.array([table.get(k, 0) for k in likely] + [0])
    found[-1] = len(x) - found.sum()
    expected = np.array([law.pmf(k) for k in likely] + [0]) * len(x)
    expected[-1] = len(x) - expected.sum()
    keep = expected > 1e-6 * len(x)
    assert found[~keep].sum() <= 1
    assert st.chisquare(found[keep], expected[keep] * found[keep].sum() / expected[keep].sum()).pvalue > LEVEL


def test_discrete() -> None:
    counts_fit(drawn("bernoulli", tensor(np.full(N, 0.3))), st.bernoulli(0.3))
    counts_fit(drawn("geometric", dtype=dt.float64, shape=(N,), p=0.4), st.geom(0.4))
    counts_fit(drawn("poisson", tensor(np.full(N, 3.5))), st.poisson(3.5))
    counts_fit(drawn("poisson", tensor(np.full(N, 200.0))), st.poisson(200))
    counts_fit(drawn("binomial", tensor(np.full(N, 12.0)), tensor(np.full(N, 0.35))), st.binom(12, 0.35))
    counts_fit(drawn("rand_int", dtype=dt.int64, shape=(N,), low=-3, high=8), st.randint(-3, 8))


def test_categorical() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    law = st.rv_discrete(values=(np.arange(4), p))
    counts_fit(drawn("categorical", tensor(np.broadcast_to(np.log(p), (N, 4)))), law)
    counts_fit(drawn("multinomial", tensor(p), replacement=True, k=N), law)
    first = drawn("multinomial", tensor(np.broadcast_to(p, (N, 4))), replacement=False, k=4)
    assert (np.sort(first, -1) == np.arange(4)).all()
    counts_fit(first[:, 0], law)


def test_permutation() -> None:
    x = drawn("rand_perm", dtype=dt.int64, size=1000)
    assert (np.sort(x) == np.arange(1000)).all()
    first = np.array([values(F.rand_perm(dtype=dt.int64, size=5, seed=1, offset=16 * i))[0] for i in range(2000)])
    counts_fit(first, st.randint(0, 5))


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64, dt.float32], ids=lambda d: d.name)
def test_permutation_is_the_order_of_its_keys(dtype: Any) -> None:
    for size, seed, offset in (
        (0, 1, 0),
        (1, 1, 3),
        (40, -5, 2),
        (1500, 9, 1),
        (5000, 2**63 - 1, 2**33 + 3),
        (70_000, 7, 8),
    ):
        keys = values(random.word63((size,), seed, offset))
        found = values(F.rand_perm(dtype=dtype, size=size, seed=seed, offset=offset))
        assert found.dtype == dtype.numpy
        np.testing.assert_array_equal(found, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("p", [0.0, 0.25, 0.9, 1.0])
def test_dropout(p: float) -> None:
    x = np.ones(N)
    y = drawn("dropout", tensor(x), p=p)
    kept = y != 0
    assert abs(kept.mean() - (1 - p)) <= 4 * (p * (1 - p) / N) ** 0.5
    if p < 1:
        np.testing.assert_allclose(y[kept], 1 / (1 - p))
    np.testing.assert_array_equal(drawn("dropout", tensor(x), p=p, mode="downscale_in_infer"), kept)


def test_dropout_along_axes() -> None:
    y = drawn("dropout", tensor(np.ones((50, 4, 60))), p=0.5, axes=(0, 2))
    assert (y == y[:, :1]).all() and 0.4 < (y[:, 0] != 0).mean() < 0.6


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = np.random.default_rng(0).standard_normal(N)
    y = drawn("alpha_dropout", tensor(x), p=0.4)
    assert abs(y.mean()) < 0.05 and abs(y.var() - 1) < 0.08


def test_rrelu_slopes_are_those_of_the_gradient() -> None:
    x = leaf(-np.ones(N))
    y = F.rrelu(x, 0.2, 0.6, seed=3, offset=0)
    assert st.kstest(-values(y), st.uniform(0.2, 0.4).cdf).pvalue > LEVEL
    backward(y)
    np.testing.assert_array_equal(values(x.grad), -values(y))


def elements(name: str, shape: tuple, offset: int, **words: Any) -> np.ndarray:
    return values(getattr(F, name)(dtype=dt.float32, shape=shape, seed=5, offset=offset, **words))


@pytest.mark.parametrize(
    "name", ["uniform_random", "normal_random", "exponential", "cauchy", "gumbel", "truncated_normal"]
)
def test_elements_depend_on_their_place_alone(name: str) -> None:
    """The second half of a tensor is what a tensor at a later offset draws; shape plays no part."""
    whole = elements(name, (6, 8), 0)
    draws = F.REGISTRY[name](dt.float32).draws
    np.testing.assert_array_equal(elements(name, (48,), 0), whole.reshape(-1))
    np.testing.assert_array_equal(elements(name, (3, 8), 24 * draws), whole[3:])


STREAMS = {name: cls for name, cls in F.REGISTRY.items() if issubclass(cls, random.RandomStream)}
KINDS = {"b": [dt.bool], "i": [dt.int32, dt.int64], "f": [dt.float32, dt.bfloat16], "c": [dt.complex64]}


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_streams_are_of_their_kinds_of_dtypes(name: str) -> None:
    cls = STREAMS[name]
    params = {n: p.default for n, p in cls.param_fields.items()}
    params |= {"shape": (2,), "seed": 1, "offset": 0, **cls.sample_params}
    for kind, dtypes in KINDS.items():
        for dtype in dtypes:
            op = cls(dtype)  # type: ignore[call-arg]
            if kind in cls.kinds:
                assert op.infer(*params.values()).dtype is dtype
            else:
                with pytest.raises(TypeError, match=rf"^\[{name}\] requires .*, got {dtype.name}"):
                    op.infer(*params.values())


def test_streams_do_not_meet() -> None:
    """Different seeds and offsets give different words, and words are uniform bits."""
    words = [values(F.philox(shape=(4000,), seed=s, offset=o)) for s in (0, 1, -1, 2**62) for o in (0, 4000)]
    assert len({w.tobytes() for w in words}) == len(words)
    everything = np.concatenate(words)
    assert everything.min() >= 0 and everything.max() < 2**32
    assert len(np.unique(everything)) > 0.999 * everything.size
    for bit in range(32):
        assert abs((everything >> bit & 1).mean() - 0.5) < 4 * 0.5 / everything.size**0.5


def test_philox_known_answers() -> None:
    """The test vectors that its authors publish: counter and key of zeros."""
    np.testing.assert_array_equal(
        values(F.philox(shape=(4,), seed=0, offset=0)), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    )
