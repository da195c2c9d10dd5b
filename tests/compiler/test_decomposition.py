"""Composites as primitives: the same values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import same, tensors, traced
from umiak import ops as F
from umiak.compiler.passes.decomposition import decompose
from umiak.core import array
from umiak.core.tensor import Tensor
from umiak.ir.registry import REGISTRY
from umiak.ir.verifier import verify
from umiak.runtime.executor import Executor


@pytest.fixture
def xs():
    return tensors(np.random.default_rng(1), (4, 8))


def f(x):
    return F.softmax(F.gelu(x), axis=1), F.layer_norm(x, None, None, axis=1, eps=1e-5)


def names(program):
    return [o.name for o in program.ops]


def decomposed(xs, **options):
    program = traced(f, *xs, dynamic=())
    results = [o.results[0] for o in program.ops]
    expected = Executor(program.copy())(*xs)
    decompose(program, **options)
    verify(program)
    assert all(any(r is v for o in program.ops for v in o.results) for r in results)
    same(Executor(program)(*xs), expected)
    return names(program)


def test_everything(xs):
    found = decomposed(xs)
    assert {"erf", "exp", "max", "rsqrt"} <= set(found)
    assert not {"gelu", "softmax", "layer_norm", "mean"} & set(found)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"blacklist": ["gelu"]}, {"gelu"}),
        ({"whitelist": ["gelu"]}, {"softmax", "layer_norm"}),
        ({"start": 1}, {"gelu"}),
        ({"end": 2}, {"layer_norm"}),
        ({"start": 1, "end": 2}, {"gelu", "layer_norm"}),
    ],
)
def test_some(xs, options, left):
    assert {"gelu", "softmax", "layer_norm"} & set(decomposed(xs, **options)) == left


def test_rules(xs):
    seen = []

    def softmax(x, axis):
        seen.append(axis)
        e = F.exp(x)
        return F.div(e, F.sum(e, axes=(axis,), keepdim=True))

    found = decomposed(xs, rules={"softmax": softmax}, whitelist=["softmax"])
    assert seen == [1]
    assert found == ["gelu", "exp", "sum", "div", "layer_norm"]


@pytest.mark.parametrize(
    "name", ["log_softmax", "logsumexp", "swiglu", "rms_norm", "group_norm", "mean", "var", "silu", "dropout"]
)
def test_samples_keep_their_values(name):
    sample = next(iter(REGISTRY[name].samples(np.random.default_rng(0))))
    given = [array.from_numpy(x) if isinstance(x, np.ndarray) else x for x in sample.inputs]
    inputs = [x for x in given if isinstance(x, Tensor)]

    def call(*xs):
        rest = iter(xs)
        operands = [next(rest) if isinstance(x, Tensor) else x for x in given]
        return getattr(F, name)(*operands, **sample.attrs, **sample.params)

    program = traced(call, *inputs, dynamic=())
    expected = Executor(program.copy())(*inputs)
    decompose(program)
    assert name not in names(program)
    same(Executor(program)(*inputs), expected)
