"""Programs say things once, and views belong to who reads them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import groups, one_by_one, ops_of, same, tensors, traced
from umiak import ops as F
from umiak.autodiff import graph
from umiak.compiler import fuse, simplify
from umiak.runtime.executor import Executor


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def simplified(program):
    """Names of the operations that are left, and the results."""
    operations, results = simplify.simplify(program.ops, program.outputs)
    return [o.name for o in fuse.live(operations, results)], results


def gradients(program, *wrt):
    """The program with the gradients of its first output as further outputs."""
    made = graph.backward(program, [program.inputs[i] for i in wrt])
    program.outputs = [*program.outputs, *made]
    return program


def halves(x):
    a, b = F.split(x, axis=1, sections=(4, 4))
    return F.sum(F.mul(F.logistic(a), b), axes=(0, 1))


def test_calls_that_change_nothing(rng):
    (x,) = tensors(rng, (4, 8))

    def f(x):
        y = F.sum_to(F.reshape(F.tanh(x), shape=(4, 8)), shape=(4, 8))
        y = F.cast(F.pow(F.broadcast_to(y, shape=(4, 8)), 1), dtype=y.dtype)
        return F.reshape(F.reshape(F.exp(y), shape=(2, 16)), shape=(32,))

    program = traced(f, x, dynamic=())
    assert simplified(program)[0] == ["tanh", "exp", "reshape"]
    same(Executor(program)(x), one_by_one(program, x))


def test_a_result_is_never_an_input(rng):
    (x,) = tensors(rng, (4, 8))
    program = traced(lambda x: F.reshape(x, shape=(4, 8)), x, dynamic=())
    names, (y,) = simplified(program)
    assert names == ["reshape"]
    assert y is not program.inputs[0]


def test_equal_calls(rng):
    """Elementwise ones only among neighbours: behind a product they are computed again."""
    x, w = tensors(rng, (4, 8), (8, 8))

    def f(x, w):
        a = F.add(F.tanh(x), F.tanh(x))
        return F.add(F.matmul(a, w), F.tanh(x)), F.sum(x, axes=(1,)), F.sum(x, axes=(1,))

    program = traced(f, x, w, dynamic=())
    names, (_, one, two) = simplified(program)
    assert names.count("tanh") == 2
    assert names.count("sum") == 2, "two results may not be one tensor"
    assert one is not two
    same(Executor(program)(x, w), one_by_one(program, x, w))


def test_random_numbers_are_not_merged(rng):
    (x,) = tensors(rng, (4, 8))

    def f(x):
        return F.add(
            *(F.uniform_random(dtype=x.dtype, shape=(4, 8), seed=3, offset=0, low=0.0, high=1.0) for _ in range(2))
        )

    assert simplified(traced(f, x, dynamic=()))[0].count("uniform_random") == 2


def test_gradients_of_parts_are_concatenated(rng):
    (x,) = tensors(rng, (6, 8))
    program = gradients(traced(halves, x, dynamic=()), 0)
    names, _ = simplified(program)
    assert "scatter_view" not in names
    executor = Executor(program)
    same(executor(x), one_by_one(program, x))
    assert len(ops_of(executor)) <= 3, groups(executor)


def test_three_parts_out_of_order(rng):
    (x,) = tensors(rng, (6, 9))

    def f(x):
        a, b, c = (F.slice(x, axes=(1,), starts=(s,), sizes=(3,), steps=(1,)) for s in (6, 0, 3))
        return F.sum(F.add(F.mul(F.exp(a), b), F.square(c)), axes=(0, 1))

    program = gradients(traced(f, x, dynamic=()), 0)
    assert "concat" in simplified(program)[0]
    same(Executor(program)(x), one_by_one(program, x))


def test_parts_that_leave_gaps_or_overlap(rng):
    (x,) = tensors(rng, (6, 9))
    for places in ((0, 5), (0, 2), (0, 3)):

        def f(x, places=places):
            a, b = (F.slice(x, axes=(1,), starts=(s,), sizes=(4,), steps=(1,)) for s in places)
            return F.sum(F.mul(F.exp(a), b), axes=(0, 1))

        program = gradients(traced(f, x, dynamic=()), 0)
        assert "concat" not in simplified(program)[0]
        same(Executor(program)(x), one_by_one(program, x))


def test_parts_of_a_concatenation(rng):
    x, y = tensors(rng, (4, 3), (4, 5))

    def f(x, y):
        z = F.concat([x, y], axis=1)
        a, b = F.split(z, axis=1, sections=(3, 5))
        return F.exp(b), F.tanh(a), F.exp(F.slice(z, axes=(1,), starts=(2,), sizes=(2,), steps=(1,)))

    program = traced(f, x, y, dynamic=())
    names, _ = simplified(program)
    assert names.count("slice") == 1, "two are the operands themselves"
    same(Executor(program)(x, y), one_by_one(program, x, y))


def rotated(x, cos, sin):
    """Rotary positions: two halves, turned, put together, and parted along another axis."""
    a, b = F.split(x, axis=3, sections=(2, 2))
    y = F.concat([F.sub(F.mul(a, cos), F.mul(b, sin)), F.add(F.mul(b, cos), F.mul(a, sin))], axis=3)
    q, k = F.split(y, axis=2, sections=(3, 3))
    return F.sum(F.mul(F.exp(q), k), axes=(0, 1, 2, 3))


def test_views_go_into_kernels(rng):
    x, cos, sin = tensors(rng, (2, 5, 6, 4), (5, 1, 2), (5, 1, 2))
    program = gradients(traced(rotated, x, cos, sin, dynamic=()), 0)
    executor = Executor(program)
    same(executor(x, cos, sin), one_by_one(program, x, cos, sin))
    assert not any(o.view for o in ops_of(executor)), groups(executor)


def test_a_turned_operand_of_several_kernels_is_laid_out_once(rng):
    x, w = tensors(rng, (3, 6, 8), (3, 8, 6))

    def f(x, w):
        y = F.permute(x, perm=(0, 2, 1))
        z = F.mul(y, w)
        return F.sum(z, axes=(2,)), F.sum(y, axes=(0,)), F.matmul(y, x)

    program = traced(f, x, w, dynamic=())
    executor = Executor(program)
    same(executor(x, w), one_by_one(program, x, w))
    names = groups(executor)
    assert sum("relaid" in name for name in names) == 1, names
    assert sum("permute" in name for name in names) == 1, "the product reads the view"


@pytest.mark.parametrize("nested", [False, True])
def test_a_concatenation_at_the_end_of_a_group(nested, rng):
    x, y, z = tensors(rng, (3, 4, 2), (3, 4, 2), (3, 4, 6))

    def f(x, y, z):
        inner = F.concat([F.mul(F.tanh(x), y), F.sub(F.tanh(x), y)], axis=1 if nested else 2)
        if nested:
            first = F.slice(z, axes=(2,), starts=(0,), sizes=(1,), steps=(1,))
            return F.concat([F.exp(inner), F.broadcast_to(first, shape=(3, 4, 2))], axis=1)
        return F.concat([inner, F.exp(z)], axis=2)

    program = traced(f, x, y, z, dynamic=())
    executor = Executor(program)
    same(executor(x, y, z), one_by_one(program, x, y, z))
    assert len(ops_of(executor)) == 1, groups(executor)


def test_sizes_that_are_symbols(rng):
    (x,) = tensors(rng, (6, 8))
    program = gradients(traced(halves, x), 0)
    executor = Executor(program)
    for rows in (6, 3, 11):
        (given,) = tensors(rng, (rows, 8))
        same(executor(given), one_by_one(program, given))


def test_parts_whose_sizes_are_symbols(rng):
    """Along the axis of the parts too: what is not known to fit is left as it is."""
    x, y = tensors(rng, (6, 3), (6, 5))

    def f(x, y):
        z = F.concat([x, y], axis=1)
        a, b = F.split(z, axis=1, sections=(x.shape[1], y.shape[1]))
        return F.sum(F.mul(F.exp(a), 2.0), axes=(0, 1)), F.sum(F.square(b), axes=(0, 1))

    program = gradients(traced(f, x, y), 0, 1)
    executor = Executor(program)
    for n, m in ((3, 5), (2, 7)):
        given = tensors(rng, (4, n), (4, m))
        same(executor(*given), one_by_one(program, *given))


def test_random_bits_are_made_where_they_are_read(rng):
    (x,) = tensors(rng, (6, 8))

    def f(x):
        bits = F.philox((6, 8), 3, 16)
        y = F.mul(x, F.cast(F.bitwise_and(bits, 7), dtype=x.dtype))
        return F.matmul(y, x, transpose_y=True), F.cast(bits, dtype=x.dtype), bits

    program = traced(f, x, dynamic=())
    executor = Executor(program)
    same(executor(x), one_by_one(program, x))
    assert any("philox" in name and "mul" in name for name in groups(executor)), groups(executor)


def test_trials_that_promise_too_much(rng, monkeypatch):
    """A group that turns out not to be a kernel runs one by one."""
    x, y = tensors(rng, (4, 8), (4, 8))

    def f(x, y):
        a = F.exp(F.add(x, y))
        return F.sum(F.mul(a, y), axes=(1,)), F.tanh(a)

    program = traced(f, x, y, dynamic=())
    expected = one_by_one(program, x, y)
    # As if other sizes had been tried, and these turn out to be different.
    monkeypatch.setattr(fuse._Fusion, "holds", lambda self, operations: False)
    executor = Executor(program)
    same(executor(x, y), expected)
    assert [name for name in groups(executor) if name.startswith("fused")] == []
