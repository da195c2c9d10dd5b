"""Random programs on the devices of a plug-in in C, in a process of their own: a type of devices has one backend."""

import subprocess
import sys
from pathlib import Path

import plugin
import pytest


@pytest.mark.slow
@plugin.needs_compiler
@pytest.mark.parametrize(
    ("kind", "mode"), [("devices", "captured step"), ("devices", "recomputed"), ("storage", "captured")]
)
def test_a_sample(kind, mode):
    command = [sys.executable, "-m", "tests.fuzz.programs", "0", "30", "--kind", kind, "--plugin", "--only", mode]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "0 failures" in done.stdout, (done.stdout + done.stderr)[-4000:]
    assert f" {mode}\n" in done.stdout, "the mode has run"
