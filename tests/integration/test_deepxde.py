"""deepxde with the paddle backend: three differential equations, compared with their solutions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("deepxde", reason="umiak[test] is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("equation", ["poisson", "heat", "inverse"])
def test_an_equation_is_solved(equation):
    program = Path(__file__).parent / "pinn_program.py"
    environment = {**os.environ, "DDE_BACKEND": "paddle"}
    run = subprocess.run([sys.executable, str(program), equation], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
