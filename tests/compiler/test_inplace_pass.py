"""The order of operations that lets results take the memory of operands."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.garbage import without_garbage
from tests.support.programs import same, tensors, traced
from umiak import ops as F
from umiak.compiler.passes.manager import PassManager
from umiak.core import storage
from umiak.ir.verifier import verify
from umiak.runtime.executor import Executor


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def peak(executor, *xs):
    """Bytes that a run needs at most beyond what there was."""
    memory = storage.allocator(xs[0].place.index)
    executor(*xs)
    with without_garbage():
        memory.reset_peaks()
        before = memory.stats()["requested"]
        made = executor(*xs)
        assert made
        return memory.stats()["requested_peak"] - before


def ordered(program):
    changed = program.copy()
    PassManager(["inplace_pass"]).run(changed)
    verify(changed)
    return changed


def two_readers(x, w, small):
    """An activation, and a product of what it is the activation of."""
    y = F.matmul(x, w)
    z = F.tanh(y)
    return F.matmul(y, small), F.matmul(z, small)


@pytest.mark.parametrize("dynamic", [(), None])
def test_a_result_takes_memory_after_the_pass(rng, dynamic):
    xs = tensors(rng, (2048, 4), (4, 1024), (1024, 2))  # more than what a list of launches keeps
    program = traced(two_readers, *xs, dynamic=dynamic)
    changed = ordered(program)
    assert [o.name for o in program.ops] == ["matmul", "tanh", "matmul", "matmul"]
    assert [o.name for o in changed.ops] == ["matmul", "matmul", "tanh", "matmul"]
    before, after = Executor(program), Executor(changed)
    same(after(*xs), before(*xs), 0)
    intermediate = 2048 * 1024 * 4
    assert peak(before, *xs) >= 2 * intermediate
    assert peak(after, *xs) < 1.1 * intermediate


def test_what_another_reader_needs_stays_before_it(rng):
    def f(x, w):
        y = F.matmul(x, w)
        z = F.tanh(y)
        return F.matmul(y, z)

    program = traced(f, *tensors(rng, (8, 8), (8, 8)), dynamic=())
    assert ordered(program).same_as(program)


def test_results_of_the_program_stay_whole(rng):
    """Neither an input nor a result is written over, so nothing is moved for them."""

    def f(x, w):
        y = F.matmul(x, w)
        return y, F.tanh(y), F.matmul(y, w), F.tanh(x), F.matmul(x, w)

    program = traced(f, *tensors(rng, (8, 8), (8, 8)), dynamic=())
    assert ordered(program).same_as(program)


def test_no_order_that_needs_more_memory(rng):
    """The other reader makes something large, which would be there while the activation is used."""

    def f(x, w, wide):
        y = F.matmul(x, w)
        z = F.tanh(y)
        a = F.sum(F.matmul(z, z), axes=(0, 1))
        b = F.matmul(y, wide)
        return a, F.matmul(b, F.permute(b, perm=(1, 0)))

    program = traced(f, *tensors(rng, (64, 64), (64, 64), (64, 4096)), dynamic=())
    assert ordered(program).same_as(program)


def test_effects_keep_their_order(rng):
    def f(x, w):
        y = F.matmul(x, w)
        z = F.tanh(y)
        F.write_text([F.sum(z, axes=(0, 1))], pieces=("first", ""))
        F.write_text([F.sum(y, axes=(0, 1))], pieces=("second", ""))
        return F.sum(z, axes=(0, 1))

    program = traced(f, *tensors(rng, (8, 8), (8, 8)), dynamic=())
    changed = ordered(program)
    texts = [o.attributes["pieces"][0] for o in changed.ops if o.name == "write_text"]
    assert texts == ["first", "second"]
