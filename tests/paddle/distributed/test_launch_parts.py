"""The launcher without processes: command lines, what ranks are told, the screen."""

from __future__ import annotations

import io

import pytest

from paddle.distributed.launch.main import job, launch
from umiak.comm.launcher import mpi_launchers
from umiak.comm.launcher.console import Console
from umiak.comm.launcher.job import Host, Job, RankSlot, environments, oversubscribed
from umiak.comm.launcher.monitor import Outcome, Report, last_traceback
from umiak.comm.launcher.restarts import summary
from umiak.comm.launcher.supervisor import TAIL_LINES, Tail


@pytest.fixture(autouse=True)
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    for name in ("SLURM_JOB_ID", "SLURM_NNODES", "PADDLE_MPIEXEC"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        ("", [("", 1)]),
        ("--nproc_per_node 3", [("", 3)]),
        ("--devices 4,5", [("", 2)]),
        ("--gpus 0,1,2,3 --nproc_per_node 2", [("", 2)]),
        ("--ips a,b:4", [("a", 1), ("b", 4)]),
        ("--hosts a,b --nnodes 2 --nproc_per_node 8", [("a", 8), ("b", 8)]),
        ("--slurm --nnodes 2 --nproc_per_node 2", [("", 2), ("", 2)]),
        ("--slurm --nproc_per_node 2", [("", 2)]),
    ],
)
def test_where_ranks_run(words, hosts):
    made, restarts = job([*words.split(), "--max_restart=2", "train.py", "--lr", "1"])
    assert [(host.name, host.ranks) for host in made.hosts] == hosts
    assert made.what == ("script", "train.py", "--lr", "1")
    assert (made.size, restarts) == (sum(n for _, n in hosts), 2)


def test_what_is_run():
    assert job(["-m", "pkg.train", "-m", "x"])[0].what == ("module", "pkg.train", "-m", "x")
    assert job(["train.py", "-m", "x"])[0].what == ("script", "train.py", "-m", "x")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "requires a script, or -m and a module"),
        ("absent.py", "requires a script that exists, got 'absent.py'"),
        ("--nproc_per_node 0 train.py", "requires --nproc_per_node of at least 1, got 0"),
        ("--nnodes 2 train.py", "requires --hosts with 2 names for --nnodes 2, got 1. Run this command once"),
        ("--hosts a:x train.py", "requires --hosts like a,b:4, got 'a:x'"),
        ("--devices 0,1,2 --nproc_per_node 2 train.py", "requires --devices that 2 ranks can share evenly, got 0,1,2"),
        ("--console some train.py", "requires --console all, none or numbers of ranks, got 'some'"),
        ("--max_restart -1 train.py", "requires --max_restart of at least 0, got -1"),
        ("--mpiexec /nowhere/mpiexec train.py", "requires an MPI launcher, got none at /nowhere/mpiexec. pip install"),
        ("--mpiexec true train.py", "requires mpiexec of MPICH, Intel MPI or Open MPI, got "),
    ],
)
def test_mistakes(words, message, capsys):
    assert launch(words.split()) == 2
    assert message in capsys.readouterr().err


def test_unknown_options(capsys):
    with pytest.raises(SystemExit, match="2"):
        launch(["--colour", "red", "train.py"])
    assert "unrecognized arguments: --colour" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "hosts", "command"),
    [
        (mpi_launchers.Hydra, ("",), "go -n 2 -x"),
        (mpi_launchers.Hydra, ("a", "b"), "go -hosts a:2,b:2 -n 4 -x"),
        (mpi_launchers.Slurm, ("a", "b"), "go --mpi=pmi2 --nodelist a,b --nodes 2 --ntasks 4 --ntasks-per-node 2 "),
        (mpi_launchers.OpenMPI, ("a", "b"), "go --host a:2,b:2 "),
    ],
)
def test_commands(kind, hosts, command):
    made = Job(("call",), tuple(Host(name, 2) for name in hosts), mpi_args=("-x",), slurm=kind is mpi_launchers.Slurm)
    words = kind("go").command(made, ("A", "B"), ["python", "s.py"])
    assert " ".join(words).startswith(command)
    assert words[-3:] == ["-x", "python", "s.py"]
    if kind is mpi_launchers.OpenMPI:
        assert "-x A -x B -n 4" in " ".join(words)


def test_environment_of_two_nodes(monkeypatch):
    for name in ("OMP_NUM_THREADS", "UMIAK_NUM_THREADS", "FLAGS_paddle_num_threads"):
        monkeypatch.delenv(name, raising=False)
    # Round-robin, as some MPI launchers number ranks.
    slots = [RankSlot("ab"[i % 2], f"10.0.0.{i % 2}", 100 + i, 200 + i, (8, 1)[i % 2]) for i in range(4)]
    made = Job(("call",), (Host("a", 2), Host("b", 2)), devices=("6", "7"), name="j", environ={"X": "1"})
    both = environments(slots, made, restart=3)
    words = [environ for environ, _ in both]
    assert [w["PADDLE_LOCAL_RANK"] for w in words] == ["0", "0", "1", "1"]
    assert [w["PADDLE_NODE_RANK"] for w in words] == ["0", "1", "0", "1"]
    assert [w["FLAGS_selected_gpus"] for w in words] == ["6", "6", "7", "7"]
    assert words[2]["PADDLE_TRAINER_ENDPOINTS"] == "10.0.0.0:100,10.0.0.1:101,10.0.0.0:102,10.0.0.1:103"
    assert words[2]["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.0:102"
    assert {(w["PADDLE_MASTER"], w["PADDLE_NNODES"], w["PADDLE_RESTART_COUNT"], w["X"]) for w in words} == {
        ("10.0.0.0:200", "2", "3", "1")
    }
    assert [d["OMP_NUM_THREADS"] for _, d in both] == ["4", "1", "4", "1"]
    assert ["MPIR_CVAR_POLLS_BEFORE_YIELD" in d for _, d in both] == [False, True, False, True]
    assert oversubscribed(slots) == ["2 ranks on the 1 CPUs of b"]
    monkeypatch.setenv("UMIAK_NUM_THREADS", "3")
    assert "OMP_NUM_THREADS" not in environments(slots, made, 0)[0][1]


def test_lines_on_the_screen():
    stream = io.BytesIO()
    console = Console(True, stream)
    for rank, data in [(0, b"a\nb"), (0, b"c\n"), (1, b"10%\r20%\r"), (0, b"name? "), (1, b"x\n"), (0, b"y\n\nz\n")]:
        console.write(rank, data)
    expected = b"[0] a\n[0] bc\n[1] 10%\r[1] 20%\r[0] name? \n[1] x\n[0] y\n\n[0] z\n"
    assert stream.getvalue() == expected
    console.finish()  # nothing to end
    console.write(1, b"Trace")
    console.finish()
    console.write(0, b"resumed\n")
    assert stream.getvalue() == expected + b"[1] Trace\n[0] resumed\n"


def test_tail_of_a_log():
    tail = Tail()
    for i in range(5000):
        tail.add(f"line {i}\n".encode())
    assert tail.lines() == [f"line {i}" for i in range(5000 - TAIL_LINES, 5000)]
    assert tail.size < 40000
    report = Report(0, 1, "", 0.0, ["x", "Traceback (most recent call last):", "  a", "E: b"])
    assert last_traceback(report) == report.tail[1:]
    assert last_traceback(Report(0, 1, "", 0.0, tail.lines())) == tail.lines()[-10:]


def test_words_about_failures():
    report = Report(1, -11, "n", 2.0)
    assert (report.ending, report.status, report.reason) == ("signal 11 (SIGSEGV)", 139, "signal 11 (SIGSEGV)")
    assert Report(1, 3, "n", 2.0, error="Traceback\nKeyError: 1\n").reason == "KeyError: 1"
    different = summary([Outcome(1, reason="a"), Outcome(1, reason="b")])
    assert different.startswith("given up: failed 2 times\n  start 0: after 0.0 s, a")
