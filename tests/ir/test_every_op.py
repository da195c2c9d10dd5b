"""Every op's samples: traced with symbolic sizes, the call prints, parses, verifies and runs as the eager call does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from interpret import run

from umiak.core import eager
from umiak.core.array import from_numpy, to_numpy
from umiak.core.dtype import convert
from umiak.ir import passes
from umiak.ir import sym as dim
from umiak.ir.meta import Meta, weak_kind
from umiak.ir.parser import parse
from umiak.ir.tracer import Tracer
from umiak.ir.verifier import verify
from umiak.ops import REGISTRY

PER_OP = 3
ARRAYS = (np.ndarray, np.generic)


def cases() -> Any:
    for name, cls in sorted(REGISTRY.items()):
        if not cls.random and cls.effect is None:
            yield pytest.param(cls, id=name)


@pytest.mark.parametrize("cls", list(cases()))
def test_a_call_in_a_program(cls: Any, rng: np.random.Generator) -> None:
    for sample in itertools.islice(cls.samples(rng), PER_OP):
        op = cls(**sample.attrs)
        params = tuple(sample.params.get(n, p.default) for n, p in cls.param_fields.items())
        examples = [from_numpy(np.asarray(x)) for x in sample.inputs if isinstance(x, ARRAYS)]
        with Tracer() as tracer:
            made = iter([tracer.example(x) for x in examples])
            operands = tuple(next(made) if isinstance(x, ARRAYS) else x for x in sample.inputs)
            found = eager.apply(op, operands, params)
            program = tracer.finish(found if isinstance(found, tuple) else (found,))
        verify(program)
        again = parse(repr(program))
        assert again.same_as(program)
        passes.tidy(again)
        verify(again)
        given = iter(examples)
        plain = tuple(next(given) if isinstance(x, ARRAYS) else x for x in sample.inputs)
        expected = eager.apply(op, plain, params)
        for a, b in zip(run(again, examples), expected if isinstance(expected, tuple) else (expected,)):
            np.testing.assert_array_equal(to_numpy(a), to_numpy(b))


def as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


@pytest.mark.parametrize("cls", [pytest.param(cls, id=name) for name, cls in sorted(REGISTRY.items())])
def test_sizes_without_hints(cls: Any, rng: np.random.Generator) -> None:
    """``infer`` on symbols, lowered and run on the sample's sizes and params, gives the sample's result sizes."""
    for sample in cls.samples(rng):
        op, scope, values = cls(**sample.attrs), dim.Scope(), []

        def fresh(kind: str, value: Any, lo: int | None, scope: Any = scope, values: list = values) -> Any:
            values.append(value)
            return scope.symbol(kind, lo=lo)

        concrete, metas = [], []
        for x in sample.inputs:
            if isinstance(x, ARRAYS):
                concrete.append(Meta(np.shape(x), convert(x.dtype)))
                metas.append(Meta(tuple(fresh("int", n, 0) for n in np.shape(x)), concrete[-1].dtype))
            else:
                concrete.append(None if x is None else Meta((), None, weak_kind(x)))
                metas.append(concrete[-1])
        params = tuple(sample.params.get(n, p.default) for n, p in cls.param_fields.items())
        symbolic = tuple(
            tuple(fresh("int", n, None) for n in v) if p.kind == "ints" else fresh(p.kind, v, None)
            for p, v in zip(cls.param_fields.values(), params)
        )
        expected = as_tuple(op.infer(*concrete, *params))
        with scope:
            found = as_tuple(op.infer(*metas, *symbolic))
        linear = dim.linearise([n for m in found for n in m.shape], scope.symbols, scope.checks)
        assert linear.run(values) == tuple(n for m in expected for n in m.shape)
        assert [m.dtype for m in found] == [m.dtype for m in expected]
