"""Random jobs that fail, and what must hold of each: ``python -m tests.fuzz.jobs 0 300`` runs those of 300 seeds.

A seed gives the number of ranks, what each does and how it ends, restarts, and what is done to the job from outside. A
failure is printed with its seed, which gives the same job again; its timing the machine gives.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz.seeds import run_seeds
from tests.support import jobs
from tests.support.processes import MPIEXEC
from umiak.comm.launcher import job_folder

SECONDS = 120.0  # that a job may take on a busy machine; ranks that nobody ends would take longer
SPINNERS = 4

# How a program ends -> the status of its rank, and what is said of it. {n} is drawn.
WAYS: dict[str, tuple[int, str]] = {
    "sys.exit({n})": (-1, "exit code {n}"),
    "os._exit({n})": (-1, "exit code {n}"),
    "sys.exit('a word')": (1, "a word"),
    "raise ValueError('no {n}')": (1, "ValueError: no {n}"),
    "import absent_{n}": (1, "No module named 'absent_{n}'"),
    "compile('x = = 1', 'text', 'exec')": (1, "SyntaxError"),
    "os.kill(os.getpid(), signal.SIGKILL)": (137, "SIGKILL"),
    "os.kill(os.getpid(), signal.SIGTERM)": (143, "SIGTERM"),
    "os.kill(os.getpid(), signal.SIGSEGV)": (139, "SIGSEGV"),
    "os.abort()": (134, "SIGABRT"),
    "atexit.register(os._exit, 0); sys.exit({n})": (-1, "exit code {n}"),
    "atexit.register(os._exit, 0); 1 / 0": (1, "ZeroDivisionError"),
    "atexit.register(os._exit, {n})": (-1, "exit code {n}"),
    "atexit.register(os.abort); sys.exit({n})": (-1, "exit code {n}"),
    "threading.Thread(target=time.sleep, args=(600,)).start(); sys.exit({n})": (-1, "exit code {n}"),
}
WAIT, DONE = "time.sleep(600)", "sys.exit(0)"
SENT = {"SIGTERM": 1, "SIGINT": 1, "SIGHUP": 1, "SIGKILL": 1, "SIGTERM twice": 2}
KILLED = {"supervisor": 1, "shim": 2, "proxy": 3, "mpiexec": 4}  # how far above the rank


@dataclass(frozen=True)
class Rank:
    """What the program of a rank does, in this order."""

    child: bool  # starts one that would outlive it
    deaf: bool  # to SIGTERM
    flood: int  # bytes that it writes
    lines: bool  # in lines
    wait: float  # seconds
    end: str
    status: int
    word: str


@dataclass(frozen=True)
class Case:
    """One job."""

    seed: int
    ranks: tuple[Rank, ...]
    failing: tuple[int, ...]
    restarts: int
    recovers: bool  # at the last restart all is well
    mpi: bool  # all ranks have called MPI_Init before
    mpiexec: bool
    shown: bool
    sent: str  # to the launcher
    killed: str  # above rank 0
    when: float  # seconds after the first rank is up
    grace: float


def draw(seed: int) -> Case:
    """The job of a seed."""
    rng = random.Random(seed)
    size = rng.choice((1, 2, 2, 2, 3, 4))
    outside = rng.choices(("", "sent", "killed"), (6, 2, 1))[0]
    count = 0 if outside and rng.random() < 0.7 else min(size, rng.choice((1, 1, 1, 2)))
    failing = tuple(sorted(rng.sample(range(size), count)))
    others = rng.choice((WAIT, DONE, "either"))
    mpi = rng.random() < 0.15
    ranks = []
    for number in range(size):
        end, status, word = rng.choice((WAIT, DONE)) if others == "either" else others, 0, ""
        if outside and not failing:
            end = WAIT
        if number in failing:
            n = rng.randrange(1, 256)
            end = rng.choice(list(WAYS))
            status, word = WAYS[end]
            end, word, status = end.replace("{n}", str(n)), word.replace("{n}", str(n)), n if status < 0 else status
        deaf = rng.random() < 0.15 and status != 143
        flood = rng.choice((0, 0, 0, 1000, 300_000, 3_000_000))
        wait = rng.choice((0.0, 0.0, 0.02, 0.2))
        ranks.append(Rank(rng.random() < 0.3, deaf, flood, rng.random() < 0.5, wait, end, status, word))
    mpiexec = rng.random() < 0.2
    killed = rng.choice(list(KILLED) if mpiexec else ["supervisor", "shim"]) if outside == "killed" else ""
    restarts = rng.choice((0, 0, 0, 1, 2)) if failing else 0
    return Case(
        seed, tuple(ranks), failing, restarts, bool(restarts) and not outside and rng.random() < 0.5, mpi, mpiexec,
        rng.random() < 0.5, rng.choice(list(SENT)) if outside == "sent" else "", killed,
        rng.choice((-0.3, -0.1, 0.0, 0.0, 0.05, 0.3)), rng.choice((0.2, 1.0)),
    )  # fmt: skip


def expected(case: Case) -> set[int]:
    """The exit statuses that are right."""
    statuses = {case.ranks[number].status for number in case.failing}
    if case.recovers:
        return {0}
    if case.sent:
        number = int(getattr(signal, case.sent.split()[0]))
        if number == signal.SIGKILL:
            return {-number, *statuses}
        # Its handlers may not be there yet, as the signal may come as early as that. Then Python ends as it does: with
        # 1 where Ctrl-C comes while NumPy is imported.
        early = {-number, 1} if case.when < 0 else {-number}
        return {128 + number, *early, *statuses}
    if case.killed in ("supervisor", "shim") and not case.mpiexec:
        return {137, *statuses}
    if case.killed:
        return set(range(1, 256))
    return statuses or {0}


PROGRAM = """
import atexit, json, os, pathlib, signal, subprocess, sys, threading, time
here = pathlib.Path(__file__).parent
case = json.loads((here / "case.json").read_text())
number, start = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_RESTART_COUNT"])
rank = case["ranks"][number]
if case["mpi"]:
    from mpi4py import MPI
    MPI.COMM_WORLD.barrier()
    with open("/proc/self/maps") as maps, open(here / f"shared.{number}", "a") as shared:
        shared.writelines(word + chr(10) for word in maps.read().split() if word.startswith("/dev/shm/mpich_"))
if rank["deaf"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if rank["child"]:
    subprocess.Popen(["sleep", "600"], start_new_session=True)
(here / f"up.{number}").write_text(str(os.getpid()))
text = (b"x" * 99 + b"\\n") * 100 if rank["lines"] else b"x" * 10000
for _ in range(0, rank["flood"], len(text)):
    os.write(1, text)
if rank["flood"]:
    print()
time.sleep(rank["wait"])
if case["recovers"] and start == case["restarts"]:
    os._exit(0) if case["mpi"] else sys.exit(0)
exec(rank["end"])
"""

# The launcher, which notes the folders of its jobs in shared memory.
LAUNCHER = """
import json, pathlib, sys
from umiak.comm.launcher import Host, Job, processes, restarts
here = pathlib.Path(sys.argv[1])
case = json.loads((here / "case.json").read_text())
class Noted(processes.JobFolder):
    def __init__(self):
        super().__init__()
        with open(here / "folders", "a") as file:
            file.write(self.path + chr(10))
processes.JobFolder = Noted
job = Job(("script", str(here / "program.py")), (Host("", len(case["ranks"])),), log_dir=str(here / "log"), stdin=False,
          grace=case["grace"], console=None if case["shown"] else frozenset(), starter=sys.argv[2] or None)
sys.exit(restarts.run(job, case["restarts"]))
"""


def heed() -> None:
    """In a launcher: signals that this process may have been told to ignore, as nohup does."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def check(case: Case) -> str:
    """Run a job: what does not hold of it, if anything."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "program.py").write_text(PROGRAM)
        (here / "case.json").write_text(json.dumps(asdict(case)))
        (here / "tmp").mkdir()
        starter = MPIEXEC or "" if case.mpiexec else ""
        environ = {**os.environ, "TMPDIR": str(here / "tmp"), "TEST_CASE": name}
        began = time.monotonic()
        with open(here / "out", "wb") as out, open(here / "err", "wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-c", LAUNCHER, name, starter], cwd=jobs.ROOT, env=environ, stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True, preexec_fn=heed,
            )  # fmt: skip
        try:
            disturb(case, process, here, began)
            wrong = verdict(case, process, here, began)
        finally:
            left = jobs.holding(name)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()
        if not wrong:
            return ""
        said = (here / "err").read_text("utf-8", "replace")[-3000:]
        return "\n".join([f"seed {case.seed}", *wrong, f"{case}", f"standard error: {said}"])


def disturb(case: Case, process: subprocess.Popen[bytes], here: Path, began: float) -> None:
    """What is done to the job from outside."""
    if not (case.sent or case.killed):
        return
    if case.when >= 0 or case.killed:
        while process.poll() is None and not (here / "up.0").exists() and time.monotonic() - began < SECONDS:
            time.sleep(0.005)
        time.sleep(max(0.0, case.when))
    else:
        time.sleep(0.5 + case.when)  # while the launcher, or its supervisors, start
    with contextlib.suppress(ProcessLookupError, FileNotFoundError, ValueError):
        if case.sent:
            for _ in range(SENT[case.sent]):
                os.kill(process.pid, getattr(signal, case.sent.split()[0]))
        else:
            pid, parents = int((here / "up.0").read_text()), jobs.processes()
            for _ in range(KILLED[case.killed]):
                pid = parents.get(pid, 0)
            if pid in jobs.descendants(process.pid) - {process.pid}:
                os.kill(pid, signal.SIGKILL)


def verdict(case: Case, process: subprocess.Popen[bytes], here: Path, began: float) -> list[str]:
    """What does not hold, once the job has ended."""
    wrong = []
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        return [f"the launcher has not ended after {SECONDS:g} s"]
    # A kill can come too late: the job had ended, or that process had.
    right = expected(case) | ({0} if not case.failing and case.killed and not unended(case) else set())
    if process.returncode not in right:
        wrong.append(f"exit status {process.returncode}, and not {sorted(right)[:9]}")
    left = jobs.await_none(str(here), 30.0 if process.returncode < 0 else 0.0 if not case.killed else 10.0)
    if left:
        wrong.append(f"processes are left: {[command(pid) for pid in left]}")
    folders = (here / "folders").read_text().split() if (here / "folders").exists() else []
    if process.returncode < 0:
        job_folder.collect()
    for path in map(Path, folders):
        files = (path, Path(job_folder.SHARED_MEMORY) / f"mpich_shm_{job_folder.number_of(str(path)):x}_0")
        wrong += [f"{found} is left" for found in files if found.exists()]
    names = {name for path in here.glob("shared.*") for name in path.read_text().split()}
    wrong += [f"{name} is left" for name in names if os.path.exists(name)]
    wrong += [f"the temporary file {found.name} is left" for found in (here / "tmp").iterdir()]
    err = (here / "err").read_text("utf-8", "replace")
    if "Traceback" in "".join(line for line in err.splitlines() if not line.startswith("[launch]")):
        if not case.sent:
            wrong.append("the launcher itself raised")
    if len(case.failing) == 1 and not (case.sent or case.killed):
        rank, blamed = case.failing[0], case.ranks[case.failing[0]]
        if f"[launch] rank {rank} (" not in err or blamed.word not in err:
            wrong.append(f"it is not said that rank {rank} failed of {blamed.word}")
    return wrong


def unended(case: Case) -> bool:
    return any(rank.end == WAIT for rank in case.ranks)


def command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return f"{pid} {Path(f'/proc/{pid}/cmdline').read_text()[-120:]}"
    return str(pid)


@contextlib.contextmanager
def busy(spinners: int) -> Iterator[None]:
    """Processes that compute beside the jobs, at low priority."""
    spin = [sys.executable, "-S", "-c", "import os\nos.nice(10)\nwhile os.getppid() != 1: sum(range(10000))"]
    started = [subprocess.Popen(spin) for _ in range(spinners)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


if __name__ == "__main__":
    with busy(SPINNERS):
        run_seeds(__doc__, (), lambda seed, tally, only: check(draw(seed)))
