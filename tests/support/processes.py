"""Runs of several processes over MPI."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

needs_mpi = pytest.mark.skipif(MPIEXEC is None, reason="umiak[distributed] is not installed")


def run_ranks(
    n: int,
    script: Path,
    *args: object,
    flags: dict[str, object] | None = None,
    options: Sequence[str] = (),
    after: str = "",
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """``script`` as ``n`` ranks. ``after``: a shell command that keeps the place of a rank whose process has died."""
    command = [sys.executable, str(script), *map(str, args)]
    if after:
        command = ["sh", "-c", f"{shlex.join(command)} || {after}"]
    env = {**os.environ, **{f"FLAGS_{k}": str(v) for k, v in (flags or {}).items()}}
    assert MPIEXEC is not None
    full = [MPIEXEC, *options, "-n", str(n), *command]
    process = subprocess.Popen(
        full, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(full, process.returncode, out, err)
