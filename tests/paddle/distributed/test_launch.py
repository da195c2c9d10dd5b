"""Jobs of real processes: what ranks find, what is kept of them, and that nothing is left when they fail."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paddle.distributed import launch
from umiak.comm.launcher.supervisor import cpus

pytest.importorskip("mpi4py", reason="umiak[distributed] is not installed")
PROGRAM = Path(__file__).with_name("launch_program.py")
COMMAND = [sys.executable, "-m", "paddle.distributed.launch"]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def left_over(folder: Path) -> list[int]:
    """Processes that ranks have noted and that still run, after a moment's grace."""
    noted = [pid for path in folder.glob("pids*") for pid in json.loads(path.read_text())]
    assert noted
    for _ in range(2400):
        left = [pid for pid in noted if alive(pid)]
        if not left:
            break
        time.sleep(0.05)
    return left


def await_files(folder: Path, *names: str) -> None:
    for _ in range(6000):
        if all((folder / name).exists() for name in names):
            return
        time.sleep(0.05)
    raise AssertionError(f"no {names} in {sorted(folder.iterdir())}")


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Launch the program in this process; the exit status and what came out."""
    monkeypatch.chdir(tmp_path)

    def run(mode: str, *options: object, n: int = 2) -> tuple[int, str, str]:
        code = launch([f"--nproc_per_node={n}", *map(str, options), str(PROGRAM), str(tmp_path), mode])
        return (code, *capfd.readouterr())

    return run


def start(folder: Path, mode: str, *options: str, n: int = 2) -> subprocess.Popen[str]:
    command = [*COMMAND, f"--nproc_per_node={n}", *options, str(PROGRAM), str(folder), mode]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, **pipes)


def test_what_ranks_find_and_what_is_kept(tmp_path):
    process = start(tmp_path, "tell", "--console=all", "--master=10.0.0.1:99", "--devices=0,1,2,3,4,5,6,7", n=4)
    out, err = process.communicate("für Rang 0")
    assert process.returncode == 0, err
    found = [json.loads((tmp_path / f"found.{rank}").read_text()) for rank in range(4)]
    endpoints = found[0]["environ"]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert len(set(endpoints)) == 4
    threads = str(max(1, cpus() // 4))
    for rank, words in enumerate(found):
        assert words["argv"] == [str(PROGRAM), str(tmp_path), "tell"]
        assert (words["path"], words["file"]) == (str(PROGRAM.parent), str(PROGRAM))
        assert words["stdin"] == ("für Rang 0" if rank == 0 else "")
        assert words["ranks"] == [0, 1, 2, 3]
        environ = words["environ"]
        assert environ == {
            "PADDLE_TRAINER_ID": str(rank),
            "PADDLE_TRAINERS_NUM": "4",
            "PADDLE_GLOBAL_RANK": str(rank),
            "PADDLE_GLOBAL_SIZE": "4",
            "PADDLE_LOCAL_RANK": str(rank),
            "PADDLE_RANK_IN_NODE": str(rank),
            "PADDLE_LOCAL_SIZE": "4",
            "PADDLE_NNODES": "1",
            "PADDLE_NODE_RANK": "0",
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
            "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_MASTER": "10.0.0.1:99",
            "PADDLE_JOB_ID": "default",
            "PADDLE_RESTART_COUNT": "0",
            "FLAGS_selected_gpus": f"{2 * rank},{2 * rank + 1}",
            "UMIAK_COMM": "mpi",
            "OMP_NUM_THREADS": environ["OMP_NUM_THREADS"],
        }
        assert environ["OMP_NUM_THREADS"] == os.environ.get("OMP_NUM_THREADS", threads)
        assert (tmp_path / "log" / f"workerlog.{rank}").read_text() == f"grüße {rank}\nzwei"
        assert f"[{rank}] grüße {rank}\n" in out
        assert f"[{rank}] zwei" in out
    assert ("4 ranks on the" in err) == (cpus() < 4)


def test_restarts_until_it_works(run, tmp_path):
    code, out, err = run("recover", "--max_restart=3", "--console=0", "--log_dir=logs")
    assert code == 0, err
    assert "[0] recovered" in out and "[1]" not in out
    assert "rank 1 (" in err and "ended with exit code 1" in err and "ended with signal 9 (SIGKILL)" in err
    assert "ValueError: böse" in err and "launcher" not in err
    assert "restart 2 of 3" in err and "restart 3" not in err
    assert not left_over(tmp_path)
    assert len(list(tmp_path.glob("pids*"))) == 6
    log = (tmp_path / "logs" / "workerlog.1").read_text()
    assert log.index("ValueError: böse") < log.index("[launch] restart 1") < log.index("[launch] restart 2")


def test_gives_up_and_says_why(run):
    code, out, err = run("exit", "--max_restart=1", "--console=none")
    assert (code, out) == (7, "")
    assert "given up: failed the same way 2 times" in err
    assert err.count("rank 1: SystemExit: 7") == 2


def test_a_rank_that_does_not_listen_is_killed(run, tmp_path):
    code, _, err = run("stubborn", "--grace=0.5")
    assert code == 1, err
    assert "rank 1 (" in err and "enough" in err
    assert not left_over(tmp_path)


def test_abort_ends_all(run, tmp_path):
    code, _, err = run("abort")
    assert code == 5, err
    assert "rank 1 (" in err and "MPI_Abort" in err
    assert not left_over(tmp_path)


def test_ranks_that_wait_for_one_that_has_ended(run):
    code, _, err = run("early", "--exit_timeout=0.5")
    assert code == 1
    assert "ranks [1] went on for 0.5 s after the program of rank 0 had ended" in err
    assert "rank 1 was here:" in err and f'File "{PROGRAM}"' in err


@pytest.mark.parametrize(("sent", "status"), [("SIGINT", 130), ("SIGKILL", -9)])
def test_ending_the_launcher_ends_the_ranks(tmp_path, sent, status):
    process = start(tmp_path, "wait")
    await_files(tmp_path, "pids0.0", "pids0.1")
    process.send_signal(signal.Signals[sent])
    out, err = process.communicate()
    assert process.returncode == status, err
    assert not left_over(tmp_path)
    if sent == "SIGINT":
        assert "interrupted" in (tmp_path / "log" / "workerlog.1").read_text()
        assert "ended by SIGINT" in err


def test_two_nodes_and_a_module(tmp_path, monkeypatch, capfd):
    """The names of nodes stand for this machine: Hydra can start their processes by fork."""
    monkeypatch.chdir(tmp_path)
    lines = [
        "import os, sys",
        "assert (__name__, sys.argv[1:], sys.path[0]) == ('__main__', ['x'], os.getcwd())",
        "names = 'NODE_RANK NNODES LOCAL_RANK TRAINER_ID LOCAL_SIZE'.split()",
        "print('seat', *(os.environ['PADDLE_' + name] for name in names))",
    ]
    (tmp_path / "told.py").write_text("\n".join(lines))
    hosts = ["--hosts=one,two:2", "--nnodes=2", "--mpi_args=-launcher fork", "--host=127.0.0.1"]
    assert launch([*hosts, "--console=all", "-m", "told", "x"]) == 0
    out = capfd.readouterr().out
    assert sorted(out.splitlines()) == ["[0] seat 0 2 0 0 1", "[1] seat 1 2 0 1 2", "[2] seat 1 2 1 2 2"]


def test_slurm(tmp_path, monkeypatch, capfd):
    """A stand-in for srun, which says how it was called and starts tasks as srun numbers them."""
    monkeypatch.chdir(tmp_path)
    srun = tmp_path / "srun"
    srun.write_text(
        '#!/bin/sh\necho "$@" > called\nwhile [ "${1#--}" != "$1" ] || [ "$1" -eq "$1" ] 2>/dev/null; do shift; done\n'
        'for i in 0 1; do SLURM_PROCID=$i SLURM_NTASKS=2 SLURMD_NODENAME=n$i "$@" & done\nwait\n'
    )
    srun.chmod(srun.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "told.py").write_text("import os\nprint(os.environ['PADDLE_NODE_RANK'], os.environ['PADDLE_NNODES'])")
    for name, value in {"SLURM_JOB_ID": "1", "SLURM_NNODES": "2", "PATH": f"{tmp_path}:{os.environ['PATH']}"}.items():
        monkeypatch.setenv(name, value)
    assert launch(["--host=127.0.0.1", "--console=all", "told.py"]) == 0, capfd.readouterr().err
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "[0] 0 2", "[1] 1 2"]
    called = (tmp_path / "called").read_text()
    assert called.startswith("--mpi=pmi2 --nodes 2 --ntasks 2 --ntasks-per-node 1 ")
