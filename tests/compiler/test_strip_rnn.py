"""Recurrent layers whose weights stay as they are: laid out once, and in bfloat16 where products may be so."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.support.programs import ops_of, same, tensors, traced
from umiak import ops as F
from umiak.backends import base
from umiak.backends.cpu import select_rnn, tile_registers
from umiak.compiler.passes.manager import PassManager
from umiak.compiler.render.target import Target
from umiak.compiler.strip_rnn import StripRnn
from umiak.core import array
from umiak.ops.recurrent import GATES
from umiak.runtime import parallel
from umiak.runtime.executor import Executor

STEPS, FEATURES, UNITS, STATE = 7, 37, 24, 9  # of which strips of 16 and 32 come out uneven
TOLERANCE = {"float32": 1e-5, "bfloat16": 3e-2}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def layer(rng, mode, batch, *, reverse=False, lengths=False, projected=False):
    """A function of x and the states that has the weights as constants, and its operands."""
    rows, state = GATES[mode] * UNITS, STATE if projected else UNITS
    shapes = (STEPS, batch, FEATURES), (batch, state), (batch, UNITS)
    x, h0, c0 = tensors(rng, *shapes)
    w_ih, w_hh, b_ih, b_hh, w_ho = (
        F.mul(v, 0.3) for v in tensors(rng, (rows, FEATURES), (rows, state), (rows,), (rows,), (UNITS, state))
    )
    ends = array.from_numpy(rng.integers(0, STEPS + 1, batch)) if lengths else None
    extras = c0 if mode == "lstm" else None, w_ho if projected else None, ends

    def run(x, h0):
        return F.rnn(x, h0, w_ih, w_hh, b_ih, b_hh, *extras, mode=mode, reverse=reverse)

    return run, x, h0


def packed(program, recurrent):
    manager = PassManager()
    manager.add_pass("weight_packing_pass", {"scope": lambda tensor: tensor, "recurrent": recurrent})
    manager.run(program)
    return program


def require(recurrent):
    if select_rnn.strip_of("float32", recurrent) is None:
        pytest.skip("requires a processor that multiplies bfloat16")


@pytest.mark.parametrize("recurrent", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("tanh", {}),
        ("relu", {"lengths": True}),
        ("gru", {}),
        ("gru", {"lengths": True, "reverse": True}),
        ("lstm", {"reverse": True}),
        ("lstm", {"lengths": True, "projected": True}),
    ],
    ids=lambda x: x if isinstance(x, str) else "+".join(x) or "plain",
)
def test_results_are_those_of_weights_as_they_were(rng, mode, options, recurrent):
    require(recurrent)
    run, *xs = layer(rng, mode, 5, **options)
    program = traced(run, *xs, dynamic=())
    expected = Executor(program.copy())(*xs)
    assert [o.name for o in packed(program, recurrent).ops].count("strip_rnn") == 1
    executor = Executor(program)
    same(executor(*xs), expected, TOLERANCE[recurrent])
    assert any(type(o) is StripRnn for o in ops_of(executor)), "and its kernel takes them"


def rounded(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def gru_by_hand(x, w_ih, w_hh, b_ih, b_hh):
    """A GRU whose products are of bfloat16."""
    h, out = np.zeros((x.shape[1], UNITS), np.float32), []
    for step in x:
        a, s = (np.split(rounded(v) @ rounded(w).T + b, 3, 1) for v, w, b in ((step, w_ih, b_ih), (h, w_hh, b_hh)))
        r, z = (1 / (1 + np.exp(-(a[k] + s[k]))) for k in (0, 1))
        n = np.tanh(a[2] + r * s[2])
        h = z * h + (1 - z) * n
        out.append(h)
    return np.stack(out)


@pytest.mark.parametrize("units", [False, True], ids=["dot products", "matrix units"])
def test_products_of_bfloat16_by_any_number_of_rows(rng, monkeypatch, units):
    require("bfloat16")
    if units and not tile_registers.permitted(Target.host()):
        pytest.skip("requires matrix units")
    monkeypatch.setattr(tile_registers, "permitted", lambda target: units)
    base.clear_plans()
    x, *weights = tensors(
        rng, (STEPS, 33, FEATURES), (3 * UNITS, FEATURES), (3 * UNITS, UNITS), (3 * UNITS,), (3 * UNITS,)
    )

    def run(x):
        h0 = F.full(0.0, shape=(x.shape[1], UNITS), dtype=x.dtype)
        return F.rnn(x, h0, *weights, None, None, None, mode="gru", reverse=False)

    executor = Executor(packed(traced(run, x, dynamic=(0, 1)), "bfloat16"))
    threads = parallel.get_num_threads()
    try:
        for batch in (1, 2, 3, 4, 7, 16, 33):
            some = np.ascontiguousarray(array.to_numpy(x)[:, :batch])
            expected = gru_by_hand(some, *map(array.to_numpy, weights))
            for count in (1, 2):
                parallel.set_num_threads(count)
                found = array.to_numpy(executor(array.from_numpy(some))[0])
                # A state near the midst between two numbers of bfloat16 may be rounded to the other one.
                np.testing.assert_allclose(found, expected, atol=1e-2)
                assert np.abs(found - expected).mean() < 2e-4
    finally:
        parallel.set_num_threads(threads)
        base.clear_plans()
