"""What the launcher promises of failing jobs, without the public package: the exit status, and that nothing is left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import time
from pathlib import Path

import jobs
import pytest
from processes import MPIEXEC, needs_mpi

from umiak.comm.launcher import job_folder, monitor, processes, restarts
from umiak.comm.launcher.job_folder import JobFolder, world_name, world_number
from umiak.comm.launcher.monitor import JobMonitor, Report

pytestmark = needs_mpi

# How rank 1 ends -> the exit status of the job, and what is said of it
FAILURES = {
    "sys.exit(7)": (7, "exit code 7"),
    "sys.exit(-1)": (255, "exit code 255"),
    "sys.exit('enough')": (1, "enough"),
    "os._exit(9)": (9, "exit code 9"),
    "os.kill(os.getpid(), signal.SIGKILL)": (137, "signal 9 (SIGKILL)"),
    "os.kill(os.getpid(), signal.SIGTERM)": (143, "signal 15 (SIGTERM)"),
    "os.abort()": (134, "signal 6 (SIGABRT)"),
    "raise ValueError('bad')": (1, "ValueError: bad"),
    "raise KeyboardInterrupt": (130, "KeyboardInterrupt"),
    "import absent_module": (1, "No module named 'absent_module'"),
    "x = = 1": (1, "SyntaxError"),
    # Its process ends otherwise than its program has.
    "atexit.register(os._exit, 0); sys.exit(5)": (5, "exit code 5"),
    "atexit.register(os._exit, 0); 1 / 0": (1, "ZeroDivisionError"),
    "atexit.register(os.abort); sys.exit(6)": (6, "exit code 6"),
    "atexit.register(os._exit, 4)": (4, "exit code 4"),
    "sys.exit(101)": (101, "exit code 101"),
}


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A path that all processes of a test's jobs have in their environment; none of them outlives the test."""
    path = tmp_path / "program.py"
    monkeypatch.setenv("TEST_PROGRAM", str(path))
    yield path
    kill(jobs.holding(str(path)))


@pytest.fixture
def script(mark):
    """Writes a program whose rank 1 runs one line, while the others wait or, after ``others``, do something else."""

    def write(line: str, others: str = "time.sleep(600)") -> Path:
        text = "import atexit, os, signal, sys, time\n"
        if "=" in line and line.startswith("x"):  # does not compile
            text = f"import os, time\nif os.environ['PADDLE_TRAINER_ID'] != '1': {others}\nexec({line!r})\n"
        else:
            text += f"if os.environ['PADDLE_TRAINER_ID'] == '1':\n    {line}\nelse:\n    {others}\n"
        mark.write_text(text)
        return mark

    return write


@pytest.fixture
def folders(monkeypatch):
    """The folders in shared memory of the jobs that this process starts."""
    made = []

    class Noted(JobFolder):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(processes, "JobFolder", Noted)
    return made


@pytest.mark.parametrize("line", FAILURES)
def test_the_exit_status_is_that_of_the_rank(line, script, folders, capfd):
    code, words = FAILURES[line]
    program = script(line)
    assert restarts.run(jobs.job(program)) == code
    err = capfd.readouterr().err
    assert "rank 1 (" in err and words in err
    assert not jobs.holding(str(program))
    assert len(folders) == 1 and not os.path.exists(folders[0].path)


# Every wait that takes in how a child ended is followed by SIGTERM before it returns, in the supervisor of rank 1.
LATE = """
import os, runpy, signal, sys
armed = [os.environ["PMI_RANK"] == "1"]
def late(wait):
    def waits(*arguments, **options):
        found = wait(*arguments, **options)
        if armed[0] and found and (found[0] if isinstance(found, tuple) else found.si_pid):
            armed[0] = False
            os.kill(os.getpid(), signal.SIGTERM)
        return found
    return waits
for name in ("wait", "wait3", "wait4", "waitpid", "waitid"):
    setattr(os, name, late(getattr(os, name)))
sys.path[0] = os.path.dirname({path!r})
runpy.run_path({path!r}, run_name="__main__")
"""


@pytest.mark.parametrize("line", ["sys.exit(7)", "os._exit(9)", "raise ValueError('bad')", "os.abort()"])
def test_a_signal_when_the_kernel_has_told_how_a_rank_ended(line, script, tmp_path, monkeypatch):
    """The kernel tells it once. A handler that raises then loses it, and the next wait finds no child: status 0."""
    supervisor = tmp_path / "supervisor.py"
    supervisor.write_text(LATE.format(path=monitor.SUPERVISOR))
    monkeypatch.setattr(monitor, "SUPERVISOR", str(supervisor))
    assert restarts.run(jobs.job(script(line))) == FAILURES[line][0]


def test_whoever_ignores_the_ends_of_children(script):
    """An ignored SIGCHLD is inherited, and makes the kernel forget how children end."""
    program = script("os._exit(9)")
    process = jobs.launcher(program, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert process.communicate(timeout=300) and process.returncode == 9


@pytest.fixture
def silent(monkeypatch):
    """Watches that talk to nobody."""
    monkeypatch.setattr(JobMonitor, "_send", lambda *_: None)


def test_the_first_failure_is_that_of_the_clock_not_of_the_report(silent):
    """A busy machine brings reports out of order: what was told later but happened before the others were ended."""
    made = JobMonitor(jobs.job(Path("x"), 3))
    for number in range(3):
        made.ranks[number] = monitor.Rank(None, monitor.RankSlot("n", "", 0, 0, 1), 0)  # type: ignore[arg-type]
    now = time.monotonic()
    made._on_ended(2, {"code": 5, "moment": now - 1, "tail": []})
    made._on_failing(1, {"moment": now - 2})
    made._on_ended(1, {"code": 6, "moment": now - 2, "tail": []})
    made._on_ended(0, {"code": -15, "moment": now + 60, "tail": []})
    outcome = made._outcome()
    assert (outcome.code, outcome.failure.rank) == (6, 1)


@pytest.mark.parametrize("unreported", [0, 1])
def test_nothing_but_reports_of_success_is_success(unreported):
    made = JobMonitor(jobs.job(Path("x"), 2))
    for number in range(2):
        made.ranks[number] = monitor.Rank(None, monitor.RankSlot("n", "", 0, 0, 1), 0)  # type: ignore[arg-type]
        made.ranks[number].report = None if number == unreported else Report(number, 0, "n", 1.0)
    made._mpi = 0
    assert made._outcome().code == 137
    made.ranks[unreported].report = Report(unreported, 0, "n", 1.0)
    assert made._outcome().code == 0


def test_a_signal_between_starts_ends_the_job(script, monkeypatch):
    def say(text: str) -> None:
        if text.startswith("rank 1"):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(restarts, "say", say)
    assert restarts.run(jobs.job(script("sys.exit(7)")), max_restart=5) == 7
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_failure_before_the_interruption_is_what_the_job_ends_with(silent):
    made = JobMonitor(jobs.job(Path("x"), 1))
    made.ranks[0] = monitor.Rank(None, monitor.RankSlot("n", "", 0, 0, 1), 0)  # type: ignore[arg-type]
    made._on_interrupt(signal.SIGINT)
    assert (made._outcome().code, made._outcome().text) == (130, "ended by SIGINT")
    made._on_failing(0, {"moment": made._stopped - 1})
    made._on_ended(0, {"code": 7, "moment": made._stopped - 1, "tail": []})
    outcome = made._outcome()
    assert (outcome.code, outcome.interrupted) == (7, True)
    assert "rank 0" in outcome.text and outcome.text.endswith("ended by SIGINT")


# Who is killed, and how far it is above rank 1
ABOVE = {"its supervisor": 1, "the supervisor's parent": 2, "the MPI launcher's proxy": 3, "the MPI launcher": 4}


@pytest.mark.parametrize("who", ABOVE)
def test_killing_what_starts_ranks(who, script, capfd):
    """Never 0, and nothing is left."""
    levels = ABOVE[who]
    options = {"starter": MPIEXEC} if levels > 2 else {}
    program = script(
        f"pid = os.getpid()\n"
        f"    for _ in range({levels}):\n"
        f"        pid = int(open(f'/proc/{{pid}}/stat').read().rpartition(')')[2].split()[1])\n"
        f"    os.kill(pid, signal.SIGKILL)\n"
        f"    time.sleep(600)"
    )
    code = restarts.run(jobs.job(program, **options))
    assert code == 137 or (options and code)
    err = capfd.readouterr().err
    assert "the MPI launcher" in err if options else "[launch] the supervisor of rank 1 was " in err
    assert not jobs.await_none(str(program))


@pytest.mark.slow
@pytest.mark.parametrize("line", ["b'x' * 4096", "b'x' * 4095 + b'\\n'"], ids=["one line", "lines"])
def test_a_launcher_that_nobody_reads(line, script):
    """Ranks write more than pipes hold, and nobody takes it: they wait, nothing grows, and the job can be ended."""
    flood = f"while True: os.write(1, {line})"
    program = script(flood, flood)
    reader, writer = os.pipe()
    process = jobs.launcher(program, console="all", stdout=writer)
    os.close(writer)
    assert os.read(reader, 1)
    size = -1
    while (log := (program.parent / "log" / "workerlog.1").stat().st_size) != size:  # until ranks wait
        size = log
        time.sleep(0.3)
    assert size < 32 << 20
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    deadline = time.monotonic() + 30
    while (left := jobs.holding(str(program)) - {process.pid}) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left
    while os.read(reader, 1 << 16):
        pass
    os.close(reader)
    process.communicate(timeout=300)
    assert process.returncode == 143


# -- what is left in shared memory

MPI = "from mpi4py import MPI; MPI.COMM_WORLD.barrier(); (folder / f'up.{{MPI.COMM_WORLD.rank}}').touch(); {then}"


@pytest.fixture
def mpi_program(mark):
    """A program of MPI that says when all ranks are up, by files, and goes on with ``then``."""
    pytest.importorskip("mpi4py", reason="umiak[distributed] is not installed")

    def write(then: str) -> Path:
        lines = ["import os, pathlib, sys, time", "folder = pathlib.Path(__file__).parent", MPI.format(then=then)]
        mark.write_text("\n".join(lines))
        return mark

    return write


def await_files(folder: Path, *names: str) -> None:
    deadline = time.monotonic() + 300
    while not all((folder / name).exists() for name in names):
        assert time.monotonic() < deadline, sorted(folder.iterdir())
        time.sleep(0.02)


def folder_of(program: Path) -> Path:
    """The folder in shared memory of the job that runs a program."""
    for pid in jobs.holding(str(program)):
        with contextlib.suppress(OSError):
            for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                if word.startswith(b"UCX_POSIX_DIR="):
                    return Path(os.fsdecode(word.partition(b"=")[2]))
    raise AssertionError("no process has one")


def shared(folder: Path) -> Path:
    return Path(job_folder.SHARED_MEMORY) / f"mpich_shm_{job_folder.number_of(str(folder)):x}_0"


def kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_the_files_of_mpi_are_known_and_go_with_the_job(mpi_program, tmp_path):
    program = mpi_program("time.sleep(600)")
    process = jobs.launcher(program)
    await_files(tmp_path, "up.0", "up.1")
    place = folder_of(program)
    assert shared(place).exists()
    process.terminate()
    process.communicate(timeout=300)
    assert process.returncode == 143
    assert not shared(place).exists() and not place.exists()


def test_ranks_that_are_killed_leave_no_files(mpi_program, folders):
    program = mpi_program("os.kill(os.getpid(), 9)")
    assert restarts.run(jobs.job(program)) == 137
    place = Path(folders[0].path)
    assert not shared(place).exists() and not place.exists()


def test_a_launcher_that_is_killed_leaves_no_files(mpi_program, tmp_path):
    program = mpi_program("time.sleep(600)")
    process = jobs.launcher(program)
    await_files(tmp_path, "up.0", "up.1")
    place = folder_of(program)
    process.kill()
    process.communicate()
    assert not jobs.await_none(str(program))
    assert not shared(place).exists() and not place.exists()


def test_ranks_that_all_abort_at_once_under_an_mpi_launcher_leave_no_files(mpi_program, tmp_path):
    program = mpi_program("(folder / 'place').write_text(os.environ['UCX_POSIX_DIR']); os.abort()")
    assert restarts.run(jobs.job(program, starter=MPIEXEC)) == 134
    place = Path((tmp_path / "place").read_text())
    assert place.parent == Path(job_folder.SHARED_MEMORY)
    assert not jobs.await_none(str(program))
    assert not shared(place).exists() and not place.exists()


@pytest.mark.parametrize("starter", ["", MPIEXEC])
def test_the_next_job_removes_what_a_dead_one_has_left(mpi_program, tmp_path, script, monkeypatch, starter):
    """All processes of a job are killed at once, so that none of them can clear up."""
    monkeypatch.setenv("PADDLE_MPIEXEC", starter or "")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # for files of an MPI launcher that is killed
    program = mpi_program("time.sleep(600)")
    process = jobs.launcher(program)
    await_files(tmp_path, "up.0", "up.1")
    place = folder_of(program)
    with open(place / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # as one that lives: else jobs of other tests may be the next ones
        pids = jobs.descendants(process.pid)
        for pid in pids:  # none sees another's end
            os.kill(pid, signal.SIGSTOP)
        kill(pids)
        process.communicate()
        assert not jobs.await_none(str(program))
        assert place.exists() and shared(place).exists()
    assert restarts.run(jobs.job(script("sys.exit(0)", "sys.exit(0)"))) == 0
    assert not place.exists() and not shared(place).exists()


def test_files_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(job_folder, "SHARED_MEMORY", str(tmp_path))
    alive, dead = JobFolder(), JobFolder()
    os.close(dead.lock)  # as when its last process dies
    names = {}
    for one in (alive, dead):
        number = world_number(world_name(one.token))
        names[one] = [f"mpich_shm_{number:x}_0", f"mpich_vci_{number:x}_12"]
        for name in (*names[one], f"mpich_shm_{number:x}_0x", f"mpich_shm_f{number:x}_0"):
            (tmp_path / name).touch()
    (tmp_path / "umiak-job-notes").mkdir()
    (tmp_path / ("umiak-job-" + "0" * 16)).write_text("a file")
    (tmp_path / ("umiak-job-" + "1" * 16)).symlink_to(tmp_path / "umiak-job-notes")
    half_made = tmp_path / ("umiak-job-" + "2" * 16)
    half_made.mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    job_folder.collect()
    left = {path.name for path in tmp_path.iterdir()}
    assert before - left == {os.path.basename(dead.path), *names[dead]}
    os.utime(half_made, (0, 0))
    job_folder.collect()
    assert not half_made.exists() and os.path.exists(alive.path)
    alive.remove()
    assert not any((tmp_path / name).exists() for name in names[alive])


# -- what listens


def test_ranks_of_one_machine_listen_on_loopback_alone_and_strangers_hold_nothing(mpi_program, tmp_path):
    """Whoever connects from the start on, and is silent or writes nonsense, does not keep the job from its end."""
    program = mpi_program("\nwhile not (folder / 'go').exists(): time.sleep(0.01)")
    process = jobs.launcher(program)
    seen: dict[int, str] = {}
    strangers = []
    while process.poll() is None:
        up = all((tmp_path / f"up.{rank}").exists() for rank in range(2))
        for address, port in jobs.listeners(jobs.descendants(process.pid)):
            if port not in seen:
                seen[port] = address
                for words in (b"", b"\0\0\0\7garbage", b"cmd=init pmi_version=1\n" * 1000):
                    with contextlib.suppress(OSError):
                        stranger = socket.create_connection(("127.0.0.1", port), timeout=1.0)
                        strangers.append(stranger)
                        stranger.sendall(words)
        if up:  # nothing that listens was missed
            (tmp_path / "go").touch()
    for stranger in strangers:
        stranger.close()
    said = [line for line in process.communicate()[1].splitlines() if "take turns" not in line]  # on one processor
    assert said == [] and process.returncode == 0
    assert strangers and set(seen.values()) == {"loopback"}, seen


def test_the_mpi_launcher_still_serves_where_it_is_named(script):
    program = script("sys.exit(7)", "sys.exit(0)")
    assert restarts.run(jobs.job(program, starter=MPIEXEC)) == 7


# -- what MPICH asks of whoever starts its ranks


def test_pmi():
    from umiak.comm.launcher import pmi

    aborted = []
    server = pmi.Server(2, "world", lambda rank, code: aborted.append((rank, code)))
    ranks = [os.dup(end.fileno()) for end in server.ends]
    server.start()

    def ask(rank: int, line: str) -> str:
        os.write(ranks[rank], line.encode() + b"\n")
        return os.read(ranks[rank], 4096).decode()

    assert ask(0, "cmd=init pmi_version=1 pmi_subversion=1").startswith("cmd=response_to_init ")
    assert ask(0, "cmd=get_my_kvsname") == "cmd=my_kvsname rc=0 kvsname=world\n"
    assert ask(0, "cmd=put kvsname=world key=a value=b=c d") == "cmd=put_result rc=0 msg=success\n"
    assert ask(1, "cmd=get kvsname=world key=a") == "cmd=get_result rc=0 value=b=c d\n"
    assert ask(1, "cmd=get kvsname=world key=b") == "cmd=get_result rc=-1 value=unknown\n"
    assert ask(1, "mcmd=spawn\nnprocs=1\nendcmd").startswith("cmd=spawn_result rc=-1")
    assert ask(1, "cmd=publish_name") == "cmd=publish_name_result rc=-1\n"
    os.write(ranks[0], b"cmd=barr")
    os.write(ranks[0], b"ier_in\n")
    assert ask(1, "cmd=barrier_in") == os.read(ranks[0], 4096).decode() == "cmd=barrier_out rc=0\n"
    os.write(ranks[1], b"cmd=abort exitcode=5\ncmd=init\n")
    assert os.read(ranks[1], 4096) and aborted == [(1, 5)]
    os.write(ranks[1], b"\xff\n")  # the connection is given up, the other's is not
    assert ask(0, "cmd=finalize") == "cmd=finalize_ack rc=0\n"
    server.close()
    for rank in ranks:
        os.close(rank)
