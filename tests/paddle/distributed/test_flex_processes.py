"""Checkpoints of processes that talk over MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@pytest.mark.skipif(MPIEXEC is None, reason="umiak[distributed] is not installed")
@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_save_and_load(tmp_path, n):
    program = Path(__file__).with_name("flex_program.py")
    command = [MPIEXEC, "-n", str(n), sys.executable, "-W", "error", str(program), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"rank {r} is done" in done.stdout for r in range(n))
