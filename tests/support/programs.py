"""Small programs and what running them one by one gives."""

from __future__ import annotations

import numpy as np

from umiak.core import array
from umiak.ir.tracer import Tracer
from umiak.runtime.executor import Executor


def tensors(rng, *shapes):
    return [array.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in shapes]


def traced(function, *examples, dynamic=None):
    with Tracer() as tracer:
        made = function(*(tracer.example(x, dynamic) for x in examples))
        return tracer.finish(made if isinstance(made, tuple) else (made,))


def ops_of(executor):
    """The ops that the fused form calls."""
    return executor._lowered["cpu"].calls.steps_ops


def groups(executor):
    return [repr(o) for o in ops_of(executor)]


def same(found, expected, tolerance=1e-5):
    for a, b in zip(found, expected, strict=True):
        a, b = array.to_numpy(a), array.to_numpy(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(b).max(initial=0))))


def one_by_one(program, *xs, scalars=None):
    """The results without groups: a gradient might be recorded."""
    xs = [array.from_numpy(array.to_numpy(x)) for x in xs]
    for x in xs:
        x.stop_gradient = not x.dtype.is_floating
    executor = Executor(program)
    found = executor(*xs, scalars=scalars)
    assert list(executor._lowered) == [None]
    return found
