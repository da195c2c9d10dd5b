"""What is cheap to make is made again by who reads it: less is stored, and results are the same bits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.support.programs import tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.compiler import fuse, simplify
from umiak.compiler.passes.recomputation import bytes_of
from umiak.core import array
from umiak.runtime.executor import Executor


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def grouped(program, repeat):
    operations, results = simplify.simplify(program.ops, program.outputs)
    return fuse.fuse(*simplify.duplicate_views(operations, results), repeat=repeat)[0]


def stored(program, repeat=True):
    """Bytes that groups write for others."""
    kept = {id(v) for v in program.outputs}
    return sum(
        bytes_of(r) for o in grouped(program, repeat) if o.name == "fused" for r in o.results if id(r) not in kept
    )


def count(program, name):
    """How often groups do an operation."""
    return sum(o.name == name for g in grouped(program, True) if g.name == "fused" for o in g.op.group.operations)


def same_bits(program, *xs, monkeypatch):
    found = Executor(program)(*xs)
    with monkeypatch.context() as patch:
        patch.setattr(fuse, "rematerialise", lambda fusion: None)
        expected = Executor(program)(*xs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(array.to_numpy(a), array.to_numpy(b))


def part(x, axis, size):
    return F.slice(x, axes=(axis,), starts=(0,), sizes=(size,), steps=(1,))


def gradients(program, *wrt):
    made = graph.backward(program, [program.inputs[i] for i in wrt])
    program.outputs = [*program.outputs, *made]
    return program


def gated(x, w):
    """A gate over a product, which its gradient reads."""
    a, b = F.split(x, axis=1, sections=(40, 40))
    return F.sum(F.exp(F.matmul(F.mul(F.mul(a, F.logistic(a)), b), w)), axes=(0, 1))


def normalised(x, weight, w):
    square = F.sum(F.mul(x, x), axes=(1,), keepdim=True)
    y = F.mul(F.mul(x, F.rsqrt(F.add(F.div(square, 80), 1e-5))), weight)
    return F.sum(F.exp(F.matmul(y, w)), axes=(0, 1))


def test_a_gated_product_is_made_again_beside_its_derivative(rng, monkeypatch):
    x, w = tensors(rng, (300, 80), (40, 50))
    program = gradients(traced(gated, x, w, dynamic=()), 0, 1)
    less = stored(program, repeat=False) - stored(program)
    assert less == 2 * 300 * 40 * 4, "the gate times its logistic, and the logistic's derivative"
    assert count(program, "logistic") == 1, "it is stored"
    same_bits(program, x, w, monkeypatch=monkeypatch)


def test_a_normalised_row_is_made_of_the_row_and_its_scale(rng, monkeypatch):
    x, weight, w = tensors(rng, (300, 80), (80,), (80, 50))
    program = gradients(traced(normalised, x, weight, w, dynamic=()), 0, 1, 2)
    less = stored(program, repeat=False) - stored(program)
    assert less == 300 * 80 * 4
    assert count(program, "rsqrt") == 1
    same_bits(program, x, weight, w, monkeypatch=monkeypatch)


def through(value):
    """Read a value on both sides of a matmul."""

    def f(x, w):
        made = value(x)
        return F.sum(F.mul(F.matmul(F.tanh(made), w), made), axes=(1,))

    return f


@pytest.mark.parametrize(
    ("value", "repeated"),
    [
        (lambda x: F.mul(x, 3.0), True),
        (lambda x: F.sub(F.mul(x, x), 1.0), True),
        (lambda x: F.exp(x), False),  # a function costs as much as memory does
        (lambda x: F.sqrt(F.sqrt(F.mul(x, x))), False),  # so do several smaller ones
        (lambda x: F.mul(F.sum(F.mul(x, x), axes=(1,), keepdim=True), x), False),  # of a sum that nobody stores
        (lambda x: F.cumsum(x, axis=1), False),
    ],
    ids=["product", "two", "function", "functions", "sum", "scan"],
)
def test_what_is_made_again_is_cheap(value, repeated, rng, monkeypatch):
    x, w = tensors(rng, (64, 64), (64, 64))
    program = traced(through(value), x, w, dynamic=())
    assert (stored(program) < stored(program, repeat=False)) == repeated
    same_bits(program, x, w, monkeypatch=monkeypatch)


def test_nothing_is_kept_for_longer_than_is_saved(rng, monkeypatch):
    """A sum of two values that die is stored for its last reader, but not if one of them is read there too."""
    (w,) = tensors(rng, (64, 64))

    def f(w, later):
        a = F.matmul(w, w)
        b = F.matmul(a, w)
        both = F.add(a, b)
        y = F.matmul(F.tanh(both), w)
        z = F.matmul(F.tanh(F.mul(y, F.mul(both, F.mul(a, b)))), w)
        return F.add(F.mul(z, both), a) if later else F.mul(z, both)

    for later in (False, True):
        program = traced(partial(f, later=later), w, dynamic=())
        assert (stored(program) < stored(program, repeat=False)) == later
        same_bits(program, w, monkeypatch=monkeypatch)


def test_what_a_library_or_the_caller_reads_is_stored(rng, monkeypatch):
    x, w = tensors(rng, (64, 64), (64, 64))

    def f(x, w):
        read, given = F.mul(x, 3.0), F.add(x, 3.0)
        y = F.matmul(F.matmul(F.tanh(x), w), read)
        return F.exp(F.mul(y, read)), given, F.exp(F.sub(y, given))

    program = traced(f, x, w, dynamic=())
    assert stored(program) == stored(program, repeat=False)
    same_bits(program, x, w, monkeypatch=monkeypatch)


def test_a_group_of_which_nobody_reads_anything_is_left_out(rng, monkeypatch):
    x, w, scale = tensors(rng, (64, 64), (64, 64), (64, 1))

    def f(x, w, scale):
        made = F.mul(scale, 2.0)  # of another shape than what is made of it
        y = F.matmul(F.exp(F.add(x, made)), w)
        return F.exp(F.mul(y, made))

    program = traced(f, x, w, scale, dynamic=())
    assert len(grouped(program, True)) == len(grouped(program, False)) - 1
    same_bits(program, x, w, scale, monkeypatch=monkeypatch)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, monkeypatch):
    """Matmuls, sums and arithmetic in any order: equal bits, and never more in memory."""
    rng = np.random.default_rng(seed)
    x, w = tensors(rng, (24, 24), (24, 24))

    def f(x, w):
        values = [x, w]

        def pick():
            return values[int(rng.integers(max(0, len(values) - 6), len(values)))]

        for _ in range(18):
            kind = rng.integers(7)
            if kind < 2:
                made = F.mul(F.matmul(pick(), pick()), 0.2)
            elif kind == 2:
                made = F.mul(pick(), F.sum(pick(), axes=(int(rng.integers(2)),), keepdim=True))
            elif kind == 3:
                made = F.tanh(pick())
            elif kind == 4:
                made = F.concat((part(pick(), 1, 12), part(pick(), 1, 12)), axis=1)
            else:
                made = (F.add, F.sub, F.mul)[int(rng.integers(3))](pick(), pick())
            values.append(made)
        return tuple(values[-2:])

    program = traced(f, x, w, dynamic=())
    assert stored(program) <= stored(program, repeat=False)
    same_bits(program, x, w, monkeypatch=monkeypatch)
