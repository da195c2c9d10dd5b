"""Writes to inputs happen as soon as they can."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import tensors
from umiak import ops as F
from umiak.autodiff import graph
from umiak.compiler.early_writes import early_writes
from umiak.core import array, dtype, inplace
from umiak.ir.meta import Meta
from umiak.ir.program import Operation
from umiak.ir.tracer import Tracer, symbolic
from umiak.runtime.executor import Executor

F32 = dtype.float32


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def step(x, weights):
    """A program with a step of descent for each of the weights, which are captured."""
    with Tracer() as tracer:
        h = tracer.example(x, ())
        inner = [tracer.tensor(w) for w in weights]
        for w in inner:
            h = F.matmul(F.tanh(h), w)
        loss = F.sum(F.square(h), axes=(0, 1))
        seed = F.full(1.0, dtype=F32, shape=())
        grads = graph.pullback(tracer, list(tracer.operations), [(loss.value, seed.value)], [w.value for w in inner])
        for w, g in zip(inner, grads, strict=True):
            tracer.assign(w, F.sub(w, F.mul(symbolic(g, tracer), 0.01)))
        return tracer.finish([loss])


def test_each_update_follows_its_gradient(rng):
    x, *weights = tensors(rng, (4, 32), *[(32, 32)] * 4)
    program = step(x, weights)
    before = [array.to_numpy(w).copy() for w in weights]
    executor = Executor(program)
    executor(x)
    names = list(map(repr, executor._lowered["cpu"].calls.steps_ops))
    updates = [i for i, name in enumerate(names) if name == "fused(mul+sub)"]
    assert len(updates) == 4, names
    # Between two updates lie the products of the next gradients.
    assert all(any(name.startswith("matmul") for name in names[a:b]) for a, b in zip(updates, updates[1:]))
    # The same as a program that returns what it would write.
    again = step(x, fresh := [array.from_numpy(w.copy()) for w in before])
    again.outputs, again.effects = [w.value for w in again.effects], []
    for w, expected in zip(weights, Executor(again)(x), strict=True):
        np.testing.assert_allclose(array.to_numpy(w), array.to_numpy(expected), rtol=1e-6)
    assert all((array.to_numpy(w) == b).all() for w, b in zip(fresh, before, strict=True))


def test_updates_are_made_in_the_memory_of_what_they_replace(rng, monkeypatch):
    """Also where a gradient of the same size dies there."""
    x, *weights = tensors(rng, (4, 8), *[(8, 8)] * 3)
    executor = Executor(step(x, weights))
    copies = []
    monkeypatch.setattr(inplace, "assign", lambda target, value: copies.append(target))
    executor(x)
    assert not copies


def chain():
    """a, b = inputs; c = -a; d = -c; e = -a."""
    a, b = (Operation(F.Neg(), [], (), [Meta((2,), F32)]).results[0] for _ in range(2))
    c = Operation(F.Neg(), [a], (), [Meta((2,), F32)])
    d = Operation(F.Neg(), [c.results[0]], (), [Meta((2,), F32)])
    e = Operation(F.Neg(), [a], (), [Meta((2,), F32)])
    return a, b, c, d, e


def test_what_is_written_waits_for_other_readers_of_its_target():
    a, b, c, d, e = chain()
    c0, d0, e0 = (o.results[0] for o in (c, d, e))
    # e is written to b, which nobody reads: it follows what makes its operand.
    last = Operation(F.Neg(), [c0], (), [Meta((2,), F32)])
    assert early_writes([c, d, e, last], [d0, e0, last.results[0]], {id(last.results[0]): b}) == [c, last, d, e]
    # To a, which e reads: it stays behind that.
    assert early_writes([c, d, e, last], [d0, e0, last.results[0]], {id(last.results[0]): a}) == [c, d, e, last]
    # What others read, or is a result twice, stays.
    assert early_writes([c, d, e, last], [d0, e0, *[last.results[0]] * 2], {id(last.results[0]): b}) == [c, d, e, last]
    more = Operation(F.Neg(), [last.results[0]], (), [Meta((2,), F32)])
    order = [c, d, e, last, more]
    assert early_writes(order, [last.results[0], more.results[0]], {id(last.results[0]): b}) == order
