"""einops' own tests, with the paddle backend alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

einops = pytest.importorskip("einops", reason="umiak[test] is not installed")

SUITE = Path(einops.__file__).parent / "tests"


@pytest.mark.slow
def test_own_suite(tmp_path):
    settings = tmp_path / "pytest.ini"  # not those of this project, whose .venv may hold the suite
    settings.write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(settings), str(SUITE)]
    environment = {**os.environ, "EINOPS_TEST_BACKENDS": "paddle"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", run.stdout)[1]) > 50
