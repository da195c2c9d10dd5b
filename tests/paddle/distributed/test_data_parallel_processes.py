"""Data parallelism over MPI: processes that share a batch train as one does. The simulator's tests go further."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.processes import needs_mpi, run_ranks
from tests.support.shared import once

WORKER = Path(__file__).with_name("dp_worker.py")


@pytest.fixture(scope="module")
def alone():
    return once("data parallel, alone", lambda: trained(1))


def trained(n, *args):
    done = run_ranks(n, WORKER, *args) if n > 1 else _single(*args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _single(*args):
    return subprocess.run(
        [sys.executable, str(WORKER), *args], capture_output=True, text=True, timeout=120, check=False
    )


@needs_mpi
@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_training(n, alone):
    found = trained(n)
    np.testing.assert_allclose(found["losses"], alone["losses"], 1e-5, 1e-6)
    np.testing.assert_allclose(found["sum"], alone["sum"], 1e-5)
    assert found["losses"][-1] < found["losses"][0]


@needs_mpi
@pytest.mark.slow
def test_training_on_devices():
    """Each rank on a device of its own, whose memory MPI cannot read."""
    alone, found = trained(1, "fake"), trained(2, "fake")
    np.testing.assert_allclose(found["losses"], alone["losses"], 1e-5, 1e-6)
    np.testing.assert_allclose(found["sum"], alone["sum"], 1e-5)
    assert found["losses"][-1] < found["losses"][0]
