"""What a backward part makes again: the same gradients, fewer bytes kept."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import same, tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.compiler.passes.recomputation import recompute
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.verifier import verify
from umiak.runtime.executor import Executor


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def joint(f, *xs, dynamic=()):
    """A program with its gradients, the number of forward operations, and where backward ones begin."""
    program = traced(f, *xs, dynamic=dynamic)
    program.outputs = [*program.outputs, *graph.backward(program, program.inputs)]
    remove_dead(merge_common(program))
    loss = program.outputs[0].operation
    at = next(i for i, o in enumerate(program.ops) if o is loss)
    return program, at + 1, at + 1


def layers(x, w, v):
    """Each activation costs memory for its gradient, and little work."""
    h = F.matmul(x, w)
    h = F.gelu(F.mul(h, 2.0))
    h = F.softmax(F.add(F.tanh(h), h), axis=1)
    return F.sum(F.exp(F.matmul(h, v)), axes=(0, 1))


@pytest.mark.parametrize("dynamic", [(), None], ids=["known sizes", "symbols"])
def test_fewer_bytes_and_the_same_gradients(rng, dynamic):
    xs = tensors(rng, (16, 32), (32, 32), (32, 8))
    program, forward, backward = joint(layers, *xs, dynamic=dynamic)
    expected = Executor(program.copy())(*xs)
    made = recompute(program, forward, backward)
    verify(program)
    assert made.operations > 0
    rows = 4 * 16
    assert made.bytes_before >= 3 * rows * 32
    assert made.bytes_after == rows * 32 + rows * 8, "what matmuls made"
    products = [o.name for o in program.ops if o.recompute < 0]
    assert not {"matmul", "exp"} & set(products), "what is as large is kept"
    same(Executor(program)(*xs), expected)
    same(Executor(merge_common(program))(*xs), expected)


def test_what_is_there_anyway_is_kept(rng):
    """An output of the program costs nothing, whatever made it."""
    xs = tensors(rng, (8, 8), (8, 8))

    def f(x, w):
        y = F.tanh(F.matmul(x, w))
        return F.sum(F.mul(y, y), axes=(0, 1)), y

    program = traced(f, *xs, dynamic=())
    program.outputs = [*program.outputs, *graph.backward(program, program.inputs, [1.0, None])]
    remove_dead(merge_common(program))
    at = next(i for i, o in enumerate(program.ops) if o.name == "sum") + 1
    made = recompute(program, at, at)
    assert (made.operations, made.bytes_after) == (1, 0), "the square, not the tanh before it"


def test_random_numbers_are_drawn_again_as_they_were(rng):
    (x,) = tensors(rng, (64, 64))

    def f(x):
        y = F.tanh(F.matmul(x, x))
        mask = F.uniform_random(dtype=y.dtype, shape=(64, 64), seed=3, offset=0, low=0.0, high=1.0)
        return F.sum(F.mul(F.mul(y, mask), y), axes=(0, 1))

    program, forward, backward = joint(f, x)
    expected = Executor(program.copy())(x)
    recompute(program, forward, backward)
    assert [o.name for o in program.ops].count("uniform_random") == 2
    same(Executor(program)(x), expected)


def test_what_may_be_repeated_is_asked(rng):
    xs = tensors(rng, (16, 32), (32, 32), (32, 8))
    program, forward, backward = joint(layers, *xs)
    before = program.canonical()
    assert recompute(program, forward, backward, lambda o: False).operations == 0
    assert program.canonical() == before
