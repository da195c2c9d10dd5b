"""Random tensors: reproducible, of the right distribution, with the right arguments."""

import math

import numpy as np
import pytest

import paddle

DRAWS = {
    "rand": lambda: paddle.rand([4]),
    "randn": lambda: paddle.randn([4]),
    "uniform": lambda: paddle.uniform([4], min=-2, max=3),
    "normal": lambda: paddle.normal(1.0, 2.0, [4]),
    "normal of tensors": lambda: paddle.normal(paddle.zeros([4]), paddle.ones([4])),
    "standard_normal": lambda: paddle.standard_normal([4]),
    "log_normal": lambda: paddle.log_normal(shape=[4]),
    "randint": lambda: paddle.randint(0, 1000, [4]),
    "randint_like": lambda: paddle.randint_like(paddle.ones([4]), 0, 1000),
    "randperm": lambda: paddle.randperm(50),
    "bernoulli": lambda: paddle.bernoulli(paddle.full([64], 0.5)),
    "binomial": lambda: paddle.binomial(paddle.full([4], 1000.0), paddle.full([4], 0.5)),
    "poisson": lambda: paddle.poisson(paddle.full([4], 1000.0)),
    "standard_gamma": lambda: paddle.standard_gamma(paddle.full([4], 3.0)),
    "multinomial": lambda: paddle.multinomial(paddle.ones([1000]), 4),
    "rand_like": lambda: paddle.rand_like(paddle.ones([4])),
    "randn_like": lambda: paddle.randn_like(paddle.ones([4])),
    "uniform_": lambda: paddle.zeros([4]).uniform_(),
    "normal_": lambda: paddle.zeros([4]).normal_(),
    "exponential_": lambda: paddle.zeros([4]).exponential_(),
    "cauchy_": lambda: paddle.zeros([4]).cauchy_(),
    "log_normal_": lambda: paddle.zeros([4]).log_normal_(),
    "geometric_": lambda: paddle.zeros([16]).geometric_(0.01),
    "bernoulli_": lambda: paddle.zeros([64]).bernoulli_(),
    "random_": lambda: paddle.zeros([4]).random_(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seed(name):
    draw = DRAWS[name]
    paddle.seed(7)
    first, second = draw(), draw()
    paddle.seed(7)
    again = draw()
    state = paddle.get_rng_state()
    next_one = draw()
    paddle.set_rng_state(state)
    assert first.tolist() == again.tolist()
    assert second.tolist() == next_one.tolist() == draw().tolist()
    assert first.tolist() != second.tolist()


N = 20000
MOMENTS = {
    "uniform": (lambda: paddle.uniform([N], min=-1, max=3), 1, 4 / math.sqrt(12)),
    "normal": (lambda: paddle.normal(2.0, 3.0, [N]), 2, 3),
    "normal of tensors": (lambda: paddle.normal(paddle.full([N], 2.0), 3.0), 2, 3),
    "randint": (lambda: paddle.randint(0, 10, [N]).astype("float32"), 4.5, math.sqrt(99 / 12)),
    "bernoulli": (lambda: paddle.bernoulli(paddle.full([N], 0.3)), 0.3, math.sqrt(0.21)),
    "bernoulli p": (lambda: paddle.bernoulli(paddle.ones([N]), p=0.3), 0.3, math.sqrt(0.21)),
    "poisson": (lambda: paddle.poisson(paddle.full([N], 4.0)), 4, 2),
    "binomial": (
        lambda: paddle.binomial(paddle.full([N], 10.0), paddle.full([1], 0.5)).astype("float32"),
        5,
        math.sqrt(2.5),
    ),
    "gamma": (lambda: paddle.standard_gamma(paddle.full([N], 4.0)), 4, 2),
    "exponential": (lambda: paddle.zeros([N]).exponential_(2.0), 0.5, 0.5),
    "geometric": (lambda: paddle.zeros([N]).geometric_(0.5), 2, math.sqrt(2)),
    "log_normal": (lambda: paddle.log_normal(0.0, 0.5, [N]).log(), 0, 0.5),
    "complex normal": (lambda: paddle.randn([N], dtype="complex64").abs() ** 2, 1, 1),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    make, mean, std = MOMENTS[name]
    x = make().numpy()
    assert abs(x.mean() - mean) < 5 * std / math.sqrt(N) + 1e-3
    assert abs(x.std() - std) < 0.06 * std + 1e-3


def test_seeds_of_a_call():
    a, b = (paddle.uniform([4], seed=5) for _ in range(2))
    assert a.tolist() == b.tolist()
    assert a.tolist() != paddle.uniform([4], seed=6).tolist()


def test_generators():
    g = paddle.Generator().manual_seed(3)
    assert g.initial_seed() == 3
    assert paddle.seed(11).initial_seed() == 11
    with pytest.raises(ValueError, match="one state"):
        paddle.set_rng_state([])
    with pytest.raises(TypeError, match="integer"):
        paddle.seed("a")
    with pytest.raises(TypeError, match=r"^\[manual_seed\] requires an integer, got str"):
        paddle.manual_seed("a")
    with pytest.raises(ValueError, match="one state"):
        paddle.set_rng_state(3)
    with pytest.raises(ValueError, match=r"^\[Generator\] requires a device"):
        paddle.Generator("gpu")
    assert paddle.get_cuda_rng_state() == []


def test_permutations_and_choices():
    assert sorted(paddle.randperm(100).tolist()) == list(range(100))
    assert paddle.randperm(3, "int32").dtype is paddle.int32
    assert paddle.randperm(0).shape == [0]
    x = paddle.multinomial(paddle.to_tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), 5, replacement=True)
    assert x.shape == [2, 5]
    assert set(x[0].tolist()) <= {1, 2}
    assert x[1].tolist() == [0] * 5
    assert sorted(paddle.multinomial(paddle.ones([4]), 4).tolist()) == [0, 1, 2, 3]


def test_bounds():
    x = paddle.randint(-5, 5, [1000])
    assert x.min().item() >= -5
    assert x.max().item() < 5
    assert paddle.randint(3).shape == [1]
    u = paddle.rand([10000]).numpy()
    assert 0 <= u.min() < u.max() < 1
    assert set(np.unique(paddle.zeros([200], "int64").random_(2, 5).numpy())) == {2, 3, 4}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: paddle.randint(5, 5, [1]), ValueError),
        (lambda: paddle.rand([1], dtype="int32"), TypeError),
        (lambda: paddle.multinomial(paddle.ones([3]), 4), ValueError),
        (lambda: paddle.multinomial(paddle.ones([1, 1, 3])), ValueError),
        (lambda: paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0]), 2), ValueError),
        (lambda: paddle.multinomial(paddle.to_tensor([[1.0, 1.0], [0.0, 0.0]]), 1, True), ValueError),
        (lambda: paddle.multinomial(paddle.to_tensor([2.0, -1.0]), 1, True), ValueError),
        (lambda: paddle.multinomial(paddle.to_tensor([2.0, float("nan")]), 1, True), ValueError),
        (lambda: paddle.randperm(-1), ValueError),
        (lambda: paddle.normal(0.0, -1.0, [1]), ValueError),
        (lambda: paddle.zeros([1]).geometric_(0.0), ValueError),
        (lambda: paddle.zeros([1]).exponential_(0.0), ValueError),
    ],
)
def test_errors(call, kind):
    with pytest.raises(kind, match="requires"):
        call()
