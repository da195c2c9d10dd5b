"""Jobs of the launcher whose ranks do next to nothing, so that many can be run; and what they leave."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from umiak.comm.launcher import Host, Job

ROOT = Path(__file__).parents[2]

# A launcher of its own process, without the public package: argv is a folder, the number of ranks, restarts, the grace
# in seconds, the output shown, and the script.
LAUNCHER = """
import sys
from umiak.comm.launcher import Host, Job, restarts
log, ranks, limit, grace, console, script = sys.argv[1:]
job = Job(("script", script), (Host("", int(ranks)),), log_dir=log, grace=float(grace), stdin=False,
          console=None if console == "all" else frozenset())
sys.exit(restarts.run(job, int(limit)))
"""


def job(script: Path, ranks: int = 2, **options: object) -> Job:
    """A job of this machine."""
    return Job(("script", str(script)), (Host("", ranks),), stdin=False, **options)  # type: ignore[arg-type]


def launcher(
    script: Path, ranks: int = 2, restarts: int = 0, grace: float = 10.0, console: str = "none", **options: object
) -> subprocess.Popen[str]:
    """A launcher that has been started, in a session of its own; its logs are beside the script."""
    words = [script.parent / "log", ranks, restarts, grace, console, script]
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, *map(str, words)], cwd=ROOT, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )  # fmt: skip


def processes() -> dict[int, int]:
    """The parent of every process that has not ended."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                found[int(name)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    parents = processes()
    found = {pid} & set(parents)
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def holding(word: str) -> set[int]:
    """Processes that live and have ``word``, a path of one test, in their environment or command line."""
    found = set()
    for pid in processes():
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
            if word.encode() in text:
                found.add(pid)
    return found - {os.getpid()}


def await_none(word: str, seconds: float = 120.0) -> set[int]:
    """``holding(word)``, once it is empty or the time is over."""
    deadline = time.monotonic() + seconds
    while (left := holding(word)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def listeners(pids: set[int]) -> Iterator[tuple[str, int]]:
    """Address and port of TCP sockets at which these processes listen."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    for table, width in (("tcp", 8), ("tcp6", 32)):
        path = Path(f"/proc/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, _, port = fields[1].partition(":")
                loopback = address[-2:] == "7F" if width == 8 else address == "0" * 24 + "01000000"
                yield "loopback" if loopback else address, int(port, 16)
