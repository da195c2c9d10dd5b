"""The parent of one rank: started by the MPI launcher, on any node, by the path of this file.

It tells the launcher who and where it is, is told what to run, files what the rank writes, and sees to it that nothing
of the rank outlives the job: not when the rank dies, not when the launcher or the MPI launcher is killed. It uses the
standard library alone: importing the engine would start threads before their number is known.

Messages are JSON after ``j``, or bytes after ``o`` (output) and ``p`` (what to call). To the launcher go ``hello``,
``started``, ``finished`` or ``failing`` (its program, not yet the process), ``ended`` and output; from it come ``go``,
``signal``, ``kill`` and ``bye``. A connection that closes is a launcher that died.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
import traceback
from multiprocessing.connection import Client, Connection
from typing import Any, NoReturn

ADDRESS, SECRET = "UMIAK_LAUNCHER", "UMIAK_JOB_SECRET"
# What the MPI launchers of this world call a rank and the number of ranks.
NUMBERS = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
NODE = ("PMI_HOSTNAME", "SLURMD_NODENAME")  # before the host's own name: one host may stand for several nodes
TAIL_LINES, TAIL_BYTES = 60, 16384
RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner.py")
LAST_WORDS = 3.0  # seconds that a rank has after an uncaught exception: MPI's finalisation may wait for the others
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_prctl = ctypes.CDLL(None, use_errno=True).prctl


class Ended(BaseException):
    """The MPI launcher wants the rank to end, or has died."""


def cpus() -> int:
    """CPUs that processes here may use: the affinity, and the quota of the control group where there is one."""
    count = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        count = min(count, max(1, math.ceil(int(quota) / int(period))))
    return count


def free_ports(address: str, count: int) -> list[int]:
    """Ports that nobody listens at now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind((address, 0))
        return [s.getsockname()[1] for s in sockets]


def children() -> list[int]:
    """Processes whose parent is this one."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The second field, a name in parentheses, may hold anything.
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


class Tail:
    """The last lines of a stream of bytes."""

    def __init__(self) -> None:
        self.pieces: collections.deque[bytes] = collections.deque()
        self.size = 0

    def add(self, data: bytes) -> None:
        self.pieces.append(data)
        self.size += len(data)
        while self.size - len(self.pieces[0]) >= TAIL_BYTES:
            self.size -= len(self.pieces.popleft())

    def lines(self) -> list[str]:
        text = b"".join(self.pieces)[-TAIL_BYTES:].decode("utf-8", "replace")
        return text.splitlines()[-TAIL_LINES:]


class Supervisor:
    """One rank's life. ``run`` returns when the launcher has said ``bye``."""

    def __init__(self, launcher: Connection) -> None:
        self.launcher = launcher
        self.selector = selectors.DefaultSelector()
        self.child: subprocess.Popen[bytes] | None = None
        self.output = self.status = -1
        self.log: Any = None
        self.echo = False
        self.tail = Tail()
        self.payload = self.said = b""
        self.deadline: float | None = None
        self.reported = False

    def send(self, kind: str, **what: Any) -> None:
        self.launcher.send_bytes(b"j" + json.dumps({"kind": kind, **what}).encode())

    def hello(self) -> None:
        rank, size = next(((os.environ[r], os.environ[s]) for r, s in NUMBERS if r in os.environ), ("", ""))
        if not rank:
            names = ", ".join(r for r, _ in NUMBERS)
            raise SystemExit(f"[launch] requires a rank's number from the MPI launcher ({names}), got none")
        with socket.socket(fileno=os.dup(self.launcher.fileno())) as s:
            address = s.getsockname()[0]
        node = next((os.environ[name] for name in NODE if name in os.environ), socket.gethostname())
        port, master = free_ports(address, 2)
        where = {"node": node, "address": address, "port": port, "master_port": master, "cpus": cpus()}
        self.send("hello", rank=int(rank), size=int(size), pid=os.getpid(), **where)

    def run(self) -> None:
        self.hello()
        wake, wakeup = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))
        self.selector.register(self.launcher.fileno(), selectors.EVENT_READ, self.listen)
        while True:
            timeout = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
            for key, _ in self.selector.select(timeout):
                with contextlib.suppress(BlockingIOError):
                    key.data()
            if self.child is not None and not self.reported:
                self.look()

    def listen(self) -> None:
        """One message of the launcher."""
        data = self.launcher.recv_bytes()
        if data[:1] == b"p":
            self.payload = data[1:]
            return
        message = json.loads(data[1:])
        handlers: dict[str, Any] = {"go": self.go, "signal": self.signal, "kill": self.kill, "bye": self.bye}
        handlers[message.pop("kind")](**message)

    def go(
        self, python: list[str], what: list[str], environ: dict[str, str], defaults: dict[str, str], cwd: str,
        stdin: bool, log: str | None, truncate: bool, title: str, echo: bool,
    ) -> None:  # fmt: skip
        """Start the rank: ``python`` runs ``what``, which runner.py explains."""
        rank_environ = {**defaults, **os.environ, **environ}
        del rank_environ[ADDRESS]
        self.echo = echo
        with contextlib.ExitStack() as ours:
            try:
                os.chdir(cwd)
                if log is not None:
                    os.makedirs(os.path.dirname(log), exist_ok=True)
                    self.log = open(log, "wb" if truncate else "ab")  # noqa: SIM115 - for the supervisor's life
                    self.log.write(title.encode())
                    self.log.flush()
                self.output, output = os.pipe()
                ours.callback(os.close, output)
                self.status, status = os.pipe()
                ours.callback(os.close, status)
                call = ours.enter_context(tempfile.TemporaryFile())
                call.write(self.payload)
                call.seek(0)
                self.child = subprocess.Popen(
                    [*python, RUNNER, str(status), str(call.fileno()), *what],
                    env=rank_environ, stdin=None if stdin else subprocess.DEVNULL, stdout=output, stderr=output,
                    pass_fds=[status, call.fileno(), *passed()], preexec_fn=begin,
                )  # fmt: skip
            except OSError as error:
                self.report(1, [f"the rank could not be started: {error}"])
                return
        for fd, reader in ((self.output, self.copy), (self.status, self.note)):
            os.set_blocking(fd, False)
            self.selector.register(fd, selectors.EVENT_READ, reader)
        self.send("started", pid=self.child.pid)

    def copy(self) -> bool:
        """Some of the rank's output to its log and, where it is wanted, to the launcher; False at the end."""
        data = os.read(self.output, 1 << 16)
        if not data:
            self.selector.unregister(self.output)
            return False
        self.tail.add(data)
        if self.log is not None:
            try:
                self.log.write(data)
                self.log.flush()
            except OSError as error:  # a full disk: say it, and go on without the file
                self.log = None
                self.tail.add(f"[launch] the log ends here: {error}\n".encode())
        if self.echo:
            self.launcher.send_bytes(b"o" + data)
        return True

    def note(self) -> bool:
        """What the rank says its program came to: an exit status, and an exception; False at the end."""
        data = os.read(self.status, 1 << 16)
        if not data:
            self.selector.unregister(self.status)
            return False
        first = not self.said
        self.said += data
        if first and self.said.startswith(b"0\n"):
            self.send("finished")
        elif first:
            self.deadline = time.monotonic() + LAST_WORDS
            self.send("failing")
        return True

    def look(self) -> None:
        """Whether the rank has ended, or must."""
        assert self.child is not None
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.child.kill()
            self.child.wait()
        if self.child.poll() is None:
            reap(self.child.pid)
        else:
            self.conclude()

    def conclude(self, swept: bool = False) -> None:
        """Kill what is left of the rank, and report."""
        code = -signal.SIGKILL if self.child is None else self.child.poll()
        clear()
        if self.child is not None and code is None:
            code = -signal.SIGKILL
        for fd, read in ((self.output, self.copy), (self.status, self.note)):
            with contextlib.suppress(BlockingIOError):
                while fd in self.selector.get_map() and read():
                    pass
        status, _, error = self.said.decode("utf-8", "replace").partition("\n")
        # A failure is what the rank ended with, not the signal that cut its last words short.
        failed = status not in ("", "0") and code in (-signal.SIGKILL, -signal.SIGTERM)
        self.report(int(status) if failed else code, self.tail.lines(), error or None, swept)

    def report(self, code: int | None, tail: list[str], error: str | None = None, swept: bool = False) -> None:
        self.reported = True
        self.deadline = None
        self.send("ended", code=code, tail=tail, error=error, swept=swept)

    def signal(self, number: int) -> None:
        if self.child is not None and not self.reported:
            self.child.send_signal(number)

    def kill(self) -> None:
        """End the rank at once."""
        if not self.reported:
            self.conclude()

    def bye(self) -> NoReturn:
        raise SystemExit(0)


def passed() -> list[int]:
    """Open files through which a rank's MPI library talks to the MPI launcher."""
    found = []
    for name in ("PMI_FD", "HYDI_CONTROL_FD"):
        with contextlib.suppress(KeyError, OSError):
            os.fstat(int(os.environ[name]))
            found.append(int(os.environ[name]))
    return found


def begin() -> None:
    """In the rank, before its program: die with the supervisor."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def reap(rank: int) -> None:
    """Bury orphans of the rank that have ended; the rank itself is Popen's."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == rank:
                return
            os.waitpid(ended.si_pid, 0)


def clear() -> None:
    """Kill all descendants, also those that left the process group: the kernel makes orphans our children."""
    while True:
        left = children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def end(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Ended


def supervise(parent: int) -> int:
    """The exit status for the MPI launcher: 0 unless it or the launcher has gone."""
    os.setsid()  # out of reach of a SIGKILL to the MPI launcher's process group
    signal.signal(signal.SIGTERM, end)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    supervisor = None
    try:
        if os.getppid() != parent:
            return 1
        host, _, port = os.environ[ADDRESS].rpartition(":")
        try:
            supervisor = Supervisor(Client((host, int(port)), authkey=os.environ[SECRET].encode()))
        except OSError as error:
            where = f"{os.environ[ADDRESS]} from {socket.gethostname()}"
            print(f"[launch] cannot reach the launcher at {where}: {error}. Name it with --host", flush=True)
            return 1
        supervisor.run()
        return 0
    except Ended:
        with contextlib.suppress(OSError):
            if supervisor is not None and not supervisor.reported:
                supervisor.conclude(swept=True)
        return 1
    except (EOFError, ConnectionError):
        return 1
    finally:
        clear()


def main() -> NoReturn:
    """Two processes, since the MPI launcher kills without notice: this one, which it may, and the supervisor."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the launcher decides what an interruption means
    parent, me = os.getppid(), os.getpid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    supervisor = os.fork()
    if not supervisor:
        code = 1
        try:
            code = supervise(me)
        except SystemExit as error:
            code = 0 if error.code in (None, 0) else 1
            if isinstance(error.code, str):
                print(error.code, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(supervisor, signal.SIGTERM))
    if os.getppid() != parent:
        os.kill(supervisor, signal.SIGTERM)
    status = os.waitpid(supervisor, 0)[1]
    clear()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main()
