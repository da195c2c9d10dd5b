"""``Model.fit`` on several ranks trains as one process with the whole batch does; evaluations count samples once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.processes import needs_mpi, run_ranks

PROGRAM = Path(__file__).with_name("model_program.py")


def results(done, folder):
    """What each rank found, and the lines that they printed."""
    assert done.returncode == 0, done.stderr
    files = sorted(folder.parent.glob(f"{folder.name}-*.json"))
    return [json.loads(path.read_text()) for path in files], done.stdout.splitlines()


def alone(folder):
    command = [sys.executable, str(PROGRAM), str(folder)]
    return results(subprocess.run(command, capture_output=True, text=True, timeout=120, check=False), folder)


@needs_mpi
@pytest.mark.parametrize("launcher", ["mpi", pytest.param("launch", marks=pytest.mark.slow)])
def test_two_ranks_are_one(tmp_path, launcher):
    (one,), lines = alone(tmp_path / "one")
    if launcher == "mpi":
        done = run_ranks(2, PROGRAM, tmp_path / "two")
    else:
        command = [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2"]
        command += ["--log_dir", str(tmp_path / "logs"), str(PROGRAM), str(tmp_path / "two")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        logs = "".join(p.read_text() for p in sorted((tmp_path / "logs").rglob("workerlog.*")))
        done = subprocess.CompletedProcess(done.args, done.returncode, logs, done.stderr + logs)
    ranks, said = results(done, tmp_path / "two")
    assert [r["rank"] for r in ranks] == [0, 1] and [r["world"] for r in ranks] == [2, 2]
    for rank in ranks:
        for a, b in zip(rank["weights"], one["weights"]):
            np.testing.assert_allclose(a, b, 1e-4, 1e-5)
        np.testing.assert_allclose(rank["predicted"], one["predicted"], 1e-4, 1e-5)
        assert rank["accuracy"] == rank["counted"] == one["accuracy"]
        assert (rank["batch_size"], rank["steps"]) == (one["batch_size"], one["steps"]) == (4, 8)
    # The first rank alone prints and saves.
    assert [line for line in said if line.startswith("Epoch")] == ["Epoch 1/2", "Epoch 2/2"]
    assert sorted(os.listdir(tmp_path / "two")) == sorted(os.listdir(tmp_path / "one"))
    assert len([line for line in said if line.startswith("save checkpoint")]) == 3
    assert lines
