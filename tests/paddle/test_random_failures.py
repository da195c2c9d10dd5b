"""A random call that fails leaves its generator as it was: what follows is what would have followed without it."""

from __future__ import annotations

import pytest

import paddle
import paddle.nn.functional as f

HUGE = [2**62]
WIDE = [2**31, 2**31]

TOO_LARGE = {
    name: (lambda shape, call=call: call(shape))
    for name, call in {
        "rand": paddle.rand,
        "randn": paddle.randn,
        "uniform": paddle.uniform,
        "normal": lambda shape: paddle.normal(shape=shape),
        "standard_normal": paddle.standard_normal,
        "randint": lambda shape: paddle.randint(0, 10, shape),
        "rand double": lambda shape: paddle.rand(shape, "float64"),
        "randn complex": lambda shape: paddle.randn(shape, "complex64"),
        "log_normal": lambda shape: paddle.log_normal(shape=shape),
        "initializer": lambda shape: paddle.create_parameter(shape, "float32"),
        "seeded": lambda shape: paddle.uniform(shape, seed=3),
    }.items()
}
WRONG = {
    "randperm": lambda: paddle.randperm(2**62),
    "negative": lambda: paddle.rand([-1]),
    "randint bounds": lambda: paddle.randint(5, 5, [2]),
    "multinomial": lambda: paddle.multinomial(paddle.to_tensor([1.0, 2.0]), 3),
    "dropout p": lambda: f.dropout(paddle.ones([3]), 2.0),
    "bernoulli dtype": lambda: paddle.bernoulli(paddle.to_tensor(["1"])),
}
DRAWS = {
    "rand": lambda: paddle.rand([7]),
    "normal": lambda: paddle.randn([3, 2]),
    "randint": lambda: paddle.randint(0, 1000, [5]),
    "randperm": lambda: paddle.randperm(9),
    "dropout": lambda: f.dropout(paddle.ones([20])),
    "bernoulli": lambda: paddle.bernoulli(paddle.full([20], 0.5)),
    "multinomial": lambda: paddle.multinomial(paddle.ones([6]), 3),
    "exponential_": lambda: paddle.ones([4]).exponential_(),
}


def after_seed(fail=None):
    """What every function draws after a seed, with a failing call before each."""
    paddle.seed(11)
    found = []
    for draw in DRAWS.values():
        if fail is not None:
            with pytest.raises((MemoryError, ValueError, TypeError, OverflowError)):
                fail()
        found.append(draw().tolist())
    return found


@pytest.mark.parametrize("shape", [HUGE, WIDE, [2**40], [2**63 - 1]])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_calls_without_memory(name, shape):
    assert after_seed(lambda: TOO_LARGE[name](shape)) == after_seed()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name):
    assert after_seed(WRONG[name]) == after_seed()


def test_a_captured_call_without_memory():
    draw = paddle.jit.to_static(lambda x: paddle.rand([x.shape[0], 2**40]).sum() + x.sum())
    assert after_seed(lambda: draw(paddle.ones([2**20]))) == after_seed()


def test_nothing_is_poisoned_by_many_failures():
    for _ in range(100):
        with pytest.raises(MemoryError):
            paddle.rand([2**62])
        with pytest.raises(MemoryError):
            paddle.randn([2**62])
    assert paddle.rand([2]).shape == [2]
