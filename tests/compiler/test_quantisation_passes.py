"""Passes over programs that quantise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs import same, tensors, traced
from umiak import ops as F
from umiak.compiler.passes.manager import PassManager
from umiak.core import array
from umiak.core.dtype import convert
from umiak.ir.verifier import verify
from umiak.runtime.executor import Executor

BITS = {"levels": 127.0, "lowest": -128.0, "highest": 127.0}


@pytest.fixture
def rng():
    return np.random.default_rng(10)


@pytest.fixture
def scale():
    return array.from_numpy(np.array([2.5], np.float32))


def ran(program, name, options=None):
    changed = program.copy()
    manager = PassManager()
    manager.add_pass(name, options)
    manager.run(changed)
    verify(changed)
    return changed


def names(program):
    return [o.name for o in program.ops]


PAIRS = "delete_quant_dequant_linear_op_pass"


def test_levels_stay_as_they_are(rng, scale):
    """Dequantised, moved and quantised again: what has moved is levels."""
    (x,) = tensors(rng, (3, 4))

    def f(x):
        levels = F.quantize_linear(x, scale, **BITS)
        y = F.permute(F.reshape(F.dequantize_linear(levels, scale), shape=(4, 3)), perm=(1, 0))
        again = F.quantize_linear(y, scale, **BITS)
        return F.dequantize_linear(again, scale)

    program = traced(f, x, dynamic=())
    changed = ran(program, PAIRS)
    assert names(changed) == ["quantize_linear", "reshape", "permute", "dequantize_linear"]
    same(Executor(changed)(x), Executor(program)(x), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_every_level_comes_back(dtype):
    """What the pass relies on: no level changes on the way there and back, with any scale."""
    dtype = convert(dtype)
    levels = F.cast(array.from_numpy(np.arange(-128, 128).astype(np.float32)), dtype=dtype)
    for s in np.random.default_rng(3).uniform(1e-3, 900, 60):
        scale = F.cast(array.from_numpy(np.array([s], np.float32)), dtype=dtype)
        again = F.quantize_linear(F.dequantize_linear(levels, scale), scale, **BITS)
        assert array.to_numpy(F.all(F.eq(again, levels), axes=(0,)))


def test_a_rounded_value_stays_rounded(rng, scale):
    (x,) = tensors(rng, (5,))
    program = traced(lambda x: F.dequantize_linear(F.quantize_linear(x, scale, **BITS), scale), x, dynamic=())
    assert ran(program, PAIRS).same_as(program)


@pytest.mark.parametrize(
    "second",
    [
        {"levels": 7.0, "lowest": -8.0, "highest": 7.0},
        {**BITS, "lowest": -127.0},
        {**BITS, "away": True},
        {**BITS, "other": True},
        {**BITS, "axis": 0},
    ],
)
def test_other_levels_are_made_again(rng, scale, second):
    (x, vector) = tensors(rng, (5,), (5,))
    other = array.from_numpy(np.array([2.0], np.float32))

    def f(x, vector):
        given = dict(second)
        s = other if given.pop("other", False) else vector if "axis" in given else scale
        y = F.dequantize_linear(F.quantize_linear(x, scale, **BITS), scale)
        return F.quantize_linear(y, s, **given)

    program = traced(f, x, vector, dynamic=())
    assert names(ran(program, PAIRS)) == ["quantize_linear", "dequantize_linear", "quantize_linear"]


def test_levels_that_a_narrow_type_does_not_keep(rng):
    """512 levels in bfloat16, which has 256 steps."""
    x, scale = (F.cast(t, dtype=convert("bfloat16")) for t in tensors(rng, (5,), (1,)))
    many = {"levels": 511.0, "lowest": -512.0, "highest": 511.0}

    def f(x):
        y = F.dequantize_linear(F.quantize_linear(x, scale, **many), scale, levels=511.0)
        return F.quantize_linear(y, scale, **many)

    assert len(ran(traced(f, x, dynamic=()), PAIRS).ops) == 3


def test_values_that_are_moved_by_channel(rng):
    """With a scale for each channel, what moves elements moves scales, too."""
    x, scales = tensors(rng, (3, 3), (3,))

    def f(x, scales):
        levels = F.quantize_linear(x, scales, axis=0, **BITS)
        y = F.permute(F.dequantize_linear(levels, scales, axis=0), perm=(1, 0))
        return F.quantize_linear(y, scales, axis=0, **BITS)

    assert len(ran(traced(f, x, scales, dynamic=()), PAIRS).ops) == 4


def test_weights_are_dequantised_once(rng):
    (x,) = tensors(rng, (2, 4))
    levels = array.from_numpy(rng.integers(-128, 128, (4, 3)).astype(np.int8))
    scales = array.from_numpy(np.array([1.0, 2.0, 0.5], np.float32))
    offset = array.from_numpy(np.ones(3, np.float32))

    def f(x):
        w = F.dequantize_linear(levels, scales, axis=1)
        return F.add(F.matmul(x, w), F.neg(offset))

    program = traced(f, x, dynamic=())
    name = "delete_weight_dequant_linear_op_pass"
    assert ran(program, name).same_as(program), "without a scope nothing is a constant"
    changed = ran(program, name, {"scope": lambda t: t})
    assert names(changed) == ["matmul", "neg", "add"], "other constants are left to constant_folding_pass"
    same(Executor(changed)(x), Executor(program)(x), 0)
    assert any(t.dtype.name == "float32" and t.shape == [4, 3] for t in changed.captured.values())
