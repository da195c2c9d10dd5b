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
import re
import runpy
import select
import selectors
import signal
import socket
import struct
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Connection
from typing import Any, NoReturn

ADDRESS, SECRET = "UMIAK_LAUNCHER", "UMIAK_JOB_SECRET"
FOLDER, LOCK = "UMIAK_JOB_FOLDER", "UMIAK_JOB_LOCK"  # of a job on this machine: what job_folder.py explains
# What the MPI launchers of this world call a rank and the number of ranks.
NUMBERS = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
NODE = ("PMI_HOSTNAME", "SLURMD_NODENAME")  # before the host's own name: one host may stand for several nodes
SHARED = re.compile(r"/dev/shm/mpich_(?:shm|vci)_[0-9a-f]+_\d+(?=\n)")
TAIL_LINES, TAIL_BYTES = 60, 16384
HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER, FOLDERS = os.path.join(HERE, "runner.py"), os.path.join(HERE, "job_folder.py")
LAST_WORDS = 3.0  # seconds that a rank has after an uncaught exception: MPI's finalisation may wait for the others
HELD_BYTES = 1 << 20  # output that waits for the launcher before the rank must
SHIM_SIGNALS = (signal.SIGTERM, signal.SIGCHLD)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
_prctl = ctypes.CDLL(None, use_errno=True).prctl


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
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # The second field, a name in parentheses, may hold anything.
                if int(file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    pids.append(int(name))
    return pids


def mapped(pid: int) -> set[str]:
    """Files of MPICH in shared memory that a process maps and that still have their names."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps") as file:
        return set(SHARED.findall(file.read()))
    return set()


def name_of_ranks() -> str | None:
    """The name that MPICH's launcher has for all ranks together; None where another one has started this process.

    Its proxy answers on the rank's connection, before the rank's own library speaks.
    """
    if not {"HYDI_CONTROL_FD", "PMI_FD"} <= os.environ.keys():
        return None
    connection, answer = int(os.environ["PMI_FD"]), b""
    os.write(connection, b"cmd=get_my_kvsname\n")
    while not answer.endswith(b"\n"):
        piece = os.read(connection, 4096)
        if not piece:
            return None
        answer += piece
    return next((w.partition("=")[2] for w in answer.decode().split() if w.startswith("kvsname=")), None)


def join_folder() -> bool:
    """Hold the folder in shared memory of the ranks that MPICH's launcher has started here, if it has."""
    with contextlib.suppress(OSError):  # without shared memory there is nothing to remove
        name = name_of_ranks()
        if name is not None:
            path, lock = runpy.run_path(FOLDERS)["joined"](name)
            os.environ.update({FOLDER: path, LOCK: str(lock)})
            os.environ.setdefault("UCX_POSIX_DIR", path)
            return True
    return False


def leave_folder() -> None:
    """Let the folder go, and remove it if nobody of the job is left."""
    os.close(int(os.environ[LOCK]))
    with contextlib.suppress(OSError):
        runpy.run_path(FOLDERS)["remove_dead"](os.environ[FOLDER])


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


class LauncherConnection:
    """The connection to the launcher. It never waits: a launcher that reads nothing keeps no rank from being ended.

    Frames are those of ``multiprocessing.connection``. EOFError or ConnectionError once the launcher has gone.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.fd = connection.fileno()
        self.incoming, self.outgoing = bytearray(), bytearray()
        os.set_blocking(self.fd, False)

    def send(self, data: bytes) -> None:
        self.outgoing += struct.pack("!i", len(data)) + data
        self.flush()

    def flush(self) -> None:
        """Write what the launcher takes now."""
        with contextlib.suppress(BlockingIOError):
            while self.outgoing:
                del self.outgoing[: os.write(self.fd, self.outgoing[: 1 << 16])]

    def drain(self, seconds: float) -> None:
        """Write the rest, if the launcher takes it in time."""
        deadline = time.monotonic() + seconds
        while self.outgoing and time.monotonic() < deadline:
            select.select([], [self.fd], [], max(0.0, deadline - time.monotonic()))
            self.flush()

    def messages(self) -> Iterator[bytes]:
        """Return the messages that have arrived completely."""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self.fd, 1 << 16)
            if not data:
                raise EOFError
            self.incoming += data
        while len(self.incoming) >= 4:
            header, size = 4, struct.unpack_from("!i", self.incoming)[0]
            if size < 0:  # what does not fit into four bytes stands in the eight that follow
                if len(self.incoming) < 12:
                    return
                header, size = 12, struct.unpack_from("!Q", self.incoming, 4)[0]
            if len(self.incoming) < header + size:
                return
            message = bytes(self.incoming[header : header + size])
            del self.incoming[: header + size]
            yield message


class Supervisor:
    """One rank's life. ``run`` returns when the launcher has said ``bye``, or when the rank had to be ended.

    Signal handlers only wake the loop. The kernel says once how a child ended: an exception out of a handler could come
    after it has said so and before that is noted, or in the middle of a message.
    """

    def __init__(self, link: LauncherConnection) -> None:
        self.link = link
        self.selector = selectors.DefaultSelector()
        self.child: subprocess.Popen[bytes] | None = None
        self.log: Any = None
        self.echo = False
        self.tail = Tail()
        self.payload = self.said = b""
        self.pipes: dict[int, Callable[[], bool]] = {}  # from the rank, until their ends, and what reads them
        self.output = -1
        self.deadline: float | None = None
        self.code: int | None = None  # how the rank ended
        self.shared: set[str] = set()
        self.reported = self.dismissed = False
        self.unwanted = False  # the MPI launcher wants the rank to end, or has died

    def send(self, kind: str, **fields: Any) -> None:
        self.link.send(b"j" + json.dumps({"kind": kind, **fields}).encode())

    def hello(self) -> None:
        rank, size = next(((os.environ[r], os.environ[s]) for r, s in NUMBERS if r in os.environ), ("", ""))
        if not rank:
            names = ", ".join(r for r, _ in NUMBERS)
            raise SystemExit(f"[launch] requires a rank's number from the MPI launcher ({names}), got none")
        with socket.socket(fileno=os.dup(self.link.fd)) as s:
            address = s.getsockname()[0]
        node = next((os.environ[name] for name in NODE if name in os.environ), socket.gethostname())
        port, master = free_ports(address, 2)
        where = {"node": node, "address": address, "port": port, "master_port": master, "cpus": cpus()}
        self.send("hello", rank=int(rank), size=int(size), pid=os.getpid(), **where)

    def run(self) -> int:
        """The exit status for the MPI launcher: 0 unless the rank had to be ended."""
        wake, wakeup = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self.on_sigterm)
        self.selector.register(wake, selectors.EVENT_READ, lambda: os.read(wake, 4096))
        self.hello()
        while not self.dismissed:
            self.choose()
            timeout = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
            for key, _ in self.selector.select(timeout):
                with contextlib.suppress(BlockingIOError):
                    key.data()
            if self.child is not None and not self.reported:
                self.look()
            if self.unwanted:
                if not self.reported:
                    self.conclude()
                self.link.drain(LAST_WORDS)
                return 1
        return 0

    def on_sigterm(self, *_: object) -> None:
        self.unwanted = True

    def choose(self) -> None:
        """Choose what to wait for. Output that the launcher does not take stays in its pipe, and blocks the rank."""
        full = len(self.link.outgoing) > HELD_BYTES
        wanted: dict[int, Any] = {fd: reader for fd, reader in self.pipes.items() if not (full and fd == self.output)}
        for fd in self.pipes:
            if fd in self.selector.get_map() and fd not in wanted:
                self.selector.unregister(fd)
        for fd, reader in wanted.items():
            if fd not in self.selector.get_map():
                self.selector.register(fd, selectors.EVENT_READ, reader)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.link.outgoing else 0)
        if self.link.fd not in self.selector.get_map():
            self.selector.register(self.link.fd, events, self.exchange)
        elif self.selector.get_key(self.link.fd).events != events:
            self.selector.modify(self.link.fd, events, self.exchange)

    def exchange(self) -> None:
        """Give the launcher what it takes, and do what it says."""
        self.link.flush()
        handlers: dict[str, Any] = {"go": self.go, "signal": self.signal, "kill": self.kill, "bye": self.bye}
        for data in self.link.messages():
            if data[:1] == b"p":
                self.payload = data[1:]
                continue
            message = json.loads(data[1:])
            handlers[message.pop("kind")](**message)

    def go(
        self, python: list[str], what: list[str], environ: dict[str, str], defaults: dict[str, str], cwd: str,
        stdin: bool, log: str | None, truncate: bool, title: str, echo: bool,
    ) -> None:  # fmt: skip
        """Start the rank: ``python`` runs ``what``, which runner.py explains."""
        rank_environ = {**defaults, **os.environ, **environ}
        for name in (ADDRESS, FOLDER, LOCK):
            rank_environ.pop(name, None)
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
                status_pipe, status = os.pipe()
                ours.callback(os.close, status)
                call = os.memfd_create("call")
                ours.callback(os.close, call)
                with open(call, "wb", closefd=False) as file:
                    file.write(self.payload)
                os.lseek(call, 0, os.SEEK_SET)
                self.child = subprocess.Popen(
                    [*python, RUNNER, str(status), str(call), *what],
                    env=rank_environ, stdin=None if stdin else subprocess.DEVNULL, stdout=output, stderr=output,
                    pass_fds=[status, call, *inherited_descriptors()], preexec_fn=begin,
                )  # fmt: skip
            except OSError as error:
                self.report(1, [f"the rank could not be started: {error}"])
                return
        self.pipes = {self.output: self.copy, status_pipe: lambda: self.note(status_pipe)}
        for fd in self.pipes:
            os.set_blocking(fd, False)
        self.send("started", pid=self.child.pid)

    def copy(self) -> bool:
        """Some of the rank's output to its log and, where it is wanted, to the launcher; False at the end."""
        data = os.read(self.output, 1 << 16)
        if not data:
            self.close_pipe(self.output)
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
            self.link.send(b"o" + data)
        return True

    def note(self, pipe: int) -> bool:
        """Note the report of the rank: an exit status, and an exception; False at the end."""
        data = os.read(pipe, 1 << 16)
        if not data:
            self.close_pipe(pipe)
            return False
        first = not self.said
        self.said += data
        self.look_at_memory()
        if first and parse_report(self.said)[0] == 0:
            self.send("finished")
        elif first:
            self.deadline = time.monotonic() + LAST_WORDS
            self.send("failing", moment=parse_report(self.said)[1])
        return True

    def look_at_memory(self) -> None:
        """Note which files of MPI the rank maps, while it lives: it may not come to removing them.

        Where the job has a folder, their names follow from its own.
        """
        if self.child is not None and FOLDER not in os.environ:
            self.shared |= mapped(self.child.pid)

    def close_pipe(self, pipe: int) -> None:
        if pipe in self.selector.get_map():
            self.selector.unregister(pipe)
        del self.pipes[pipe]
        os.close(pipe)

    def reap(self) -> None:
        """Bury what has ended: the rank, and its orphans. Nothing else here waits for processes."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                self.ended(pid, status)

    def ended(self, pid: int, status: int) -> None:
        if self.child is not None and pid == self.child.pid:
            self.code = self.child.returncode = os.waitstatus_to_exitcode(status)

    def look(self) -> None:
        """Return whether the rank has ended, or must."""
        self.reap()
        if self.code is not None or (self.deadline is not None and time.monotonic() >= self.deadline):
            self.conclude()

    def conclude(self) -> None:
        """Kill what is left of the rank, and report."""
        moment = time.monotonic()
        self.reap()
        swept = self.unwanted and self.code is None
        self.look_at_memory()
        kill_descendants(self.ended)
        for name in self.shared:  # a rank that maps a file has seen all ranks here do so: nobody opens it any more
            with contextlib.suppress(OSError):
                os.unlink(name)
        for fd, read in list(self.pipes.items()):
            with contextlib.suppress(BlockingIOError):
                while fd in self.pipes and read():
                    pass
        code = -signal.SIGKILL if self.code is None else self.code  # None: it was never started
        if self.said:
            outcome, when, error = parse_report(self.said)
            if outcome:
                # It failed when it said so; whether its process got to its own end then does not matter.
                code, moment = code if code > 0 else outcome, when
            self.report(code, self.tail.lines(), error or None, swept, moment)
        else:
            self.report(code, self.tail.lines(), None, swept, moment)

    def report(
        self, code: int, tail: list[str], error: str | None = None, swept: bool = False, moment: float | None = None
    ) -> None:
        self.reported = True
        self.deadline = None
        moment = time.monotonic() if moment is None else moment
        self.send("ended", code=code, tail=tail, error=error, swept=swept, moment=moment)

    def signal(self, number: int) -> None:
        if self.child is not None and not self.reported:
            self.reap()
            if self.code is None:  # then the number is still the rank's
                self.look_at_memory()
                os.kill(self.child.pid, number)

    def kill(self) -> None:
        """End the rank at once."""
        if not self.reported:
            self.conclude()

    def bye(self) -> None:
        self.dismissed = True


def parse_report(words: bytes) -> tuple[int, float, str]:
    """Parse the report of runner.py: the exit status, when the program ended, and the text of an exception."""
    first, _, error = words.decode("utf-8", "replace").partition("\n")
    code, moment = first.split()
    return int(code), float(moment), error


def inherited_descriptors() -> list[int]:
    """Open files through which a rank's MPI library talks to the MPI launcher."""
    descriptors = []
    for name in ("PMI_FD", "HYDI_CONTROL_FD"):
        with contextlib.suppress(KeyError, OSError):
            os.fstat(int(os.environ[name]))
            descriptors.append(int(os.environ[name]))
    return descriptors


def begin() -> None:
    """Prepare the rank, before its program, to die with the supervisor."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def kill_descendants(ended: Callable[[int, int], None]) -> None:
    """Kill all descendants, also those that left the process group: the kernel makes orphans our children.

    ``ended`` is told how each came to its end.
    """
    while True:
        left = children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                ended(*os.waitpid(pid, 0))


def supervise(parent: int, joined: bool) -> int:
    """The exit status for the MPI launcher: 0 unless it or the launcher has gone. ``joined``: :func:`join_folder`."""
    os.setsid()  # out of reach of a SIGKILL to the MPI launcher's process group
    # Until there is a rank to end, SIGTERM may end this process as it is.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SHIM_SIGNALS)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        return 1
    host, _, port = os.environ[ADDRESS].rpartition(":")
    try:
        link = LauncherConnection(Client((host, int(port)), authkey=os.environ[SECRET].encode()))
    except OSError as error:
        where = f"{os.environ[ADDRESS]} from {socket.gethostname()}"
        print(f"[launch] cannot reach the launcher at {where}: {error}. Name it with --host", flush=True)
        return 1
    try:
        return Supervisor(link).run()
    except (EOFError, ConnectionError):
        return 1
    finally:
        kill_descendants(lambda *_: None)
        if joined:  # the parent holds it, too, unless it was killed
            leave_folder()


def main() -> NoReturn:
    """Two processes, since the MPI launcher kills without notice: this one, which it may, and the supervisor."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the launcher decides what an interruption means
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever ignores it learns of no child how it ended
    # Taken in below, one at a time: a handler could run when the supervisor's number is another process's already.
    signal.pthread_sigmask(signal.SIG_BLOCK, SHIM_SIGNALS)
    parent, me = os.getppid(), os.getpid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    joined = FOLDER not in os.environ and join_folder()
    supervisor = os.fork()
    if not supervisor:
        code = 1
        try:
            code = supervise(me, joined)
        except SystemExit as error:
            code = 0 if error.code in (None, 0) else 1
            if isinstance(error.code, str):
                print(error.code, flush=True)
        except BaseException:  # shown; a forked child must not return into its parent's code
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.getppid() != parent:
        os.kill(supervisor, signal.SIGTERM)
    ended = status = 0
    while not ended:
        if signal.sigwait(SHIM_SIGNALS) == signal.SIGTERM:
            os.kill(supervisor, signal.SIGTERM)
        ended, status = os.waitpid(supervisor, os.WNOHANG)
    kill_descendants(lambda *_: None)
    if joined or (status and FOLDER in os.environ):  # perhaps the launcher has gone, and this is the last of the job
        leave_folder()
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
