"""The collectives of groups against NumPy: in the simulator, and over MPI."""

from __future__ import annotations

from pathlib import Path

import collectives
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st
from processes import needs_mpi, run_ranks

from umiak import comm

SCRIPT = Path(__file__).with_name("collectives.py")


@given(ranks=st.integers(1, 8), seed=st.integers(0, 1 << 30), checked=st.booleans())
@given_settings(max_examples=25)
def test_in_the_simulator(ranks, seed, checked):
    with collectives.checked(checked):
        comm.simulate(collectives.check, ranks, seed)


@pytest.mark.parametrize("operation", collectives.OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_each_alone(operation, ranks):
    def work():
        group = comm.world()
        for seed in range(8):
            task, finish = operation(collectives.Draw(seed, group), group)
            task.wait()
            finish()

    comm.simulate(work, ranks)


@needs_mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_over_mpi(ranks):
    done = run_ranks(ranks, SCRIPT, 12)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("fine") == ranks


def test_sums_of_floats_are_the_same_bits_in_every_run_and_on_every_rank():
    def work(dtype):
        group = comm.world()
        x = np.random.default_rng(group.rank).standard_normal(100_003).astype(dtype)
        out = np.empty_like(x)
        group.all_reduce(out, x).wait()
        part = np.empty(20_000, dtype)
        group.reduce_scatter(part, np.ascontiguousarray(x[:100_000])).wait()
        return out.tobytes(), part.tobytes()

    for dtype in (np.float32, np.float16):
        first = comm.simulate(work, 5, dtype)
        assert len({whole for whole, _ in first}) == 1
        for _ in range(3):
            assert comm.simulate(work, 5, dtype) == first


@pytest.mark.parametrize("ranks", [2, 3])
def test_results_in_the_memory_of_what_is_sent(ranks):
    def work():
        group = comm.world()
        x = np.arange(6.0 * ranks) + 100 * group.rank
        every = [np.arange(6.0 * ranks) + 100 * r for r in range(ranks)]
        parts = [e.reshape(ranks, 6)[group.rank] for e in every]
        y = x.copy()
        group.all_to_all(y, y).wait()
        np.testing.assert_array_equal(y, np.concatenate(parts))
        y = x.copy()
        group.reduce_scatter(y[:6], y).wait()
        np.testing.assert_array_equal(y[:6], sum(parts))
        y = x.copy()
        group.all_gather(y, y[1:7]).wait()
        np.testing.assert_array_equal(y, np.concatenate([e[1:7] for e in every]))

    comm.simulate(work, ranks)
