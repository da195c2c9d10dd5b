"""Functions as ranks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paddle.distributed import spawn

pytest.importorskip("mpi4py", reason="umiak[distributed] is not installed")
PROGRAM = Path(__file__).with_name("spawn_program.py")


def python(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=120)


def test_spawn(tmp_path):
    run = python("-W", "error", PROGRAM, tmp_path)
    assert run.returncode == 0, run.stderr
    lines = sorted(run.stdout.splitlines())
    assert lines == ["end of main", *(f"rank {rank} [0, 1] 3 __mp_main__" for rank in range(2))]
    assert len(list(tmp_path.glob("pid.*"))) == 2


def test_a_main_module_without_its_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from paddle.distributed import spawn\ndef f(): ...\nspawn(f, nprocs=1)\n")
    run = python(script)
    assert run.returncode == 1
    assert "[spawn] requires a main module that ranks can import, got a call while one does. Put the call" in run.stderr
    assert "rank 0 ended with exit code 1" in run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nprocs": 0}, "nprocs from 1 on, or -1, got 0"),
        ({"nprocs": 3, "gpus": "0,1"}, "nprocs from 1 to 2, the number of devices, got 3"),
        ({"start_method": "fork"}, "start_method='spawn', got 'fork'"),
        ({"ips": "10.0.0.1"}, "ips of this machine, got '10.0.0.1'"),
        ({"colour": 1}, "options among start_method, .*, got colour"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        spawn(print, **options)
