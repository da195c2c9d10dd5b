"""Starting the ranks of a job, and watching them until all have ended.

One thread decides (:meth:`JobMonitor.run`); others bring it events: one per connection of a supervisor, one for the MPI
launcher. A rank's end is told by its supervisor, which stays until the launcher dismisses it, so that the MPI launcher
never ends the others by its own lights. Where it does (``MPI_Abort``), supervisors are lost, and its word counts.

:class:`Rank` is the one place that knows how a rank ended, and ``_outcome`` makes the job's exit status of all of them:
0 where every rank has reported 0, and nowhere else.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.util import _args_from_interpreter_flags as interpreter_flags  # type: ignore[attr-defined]
from pathlib import Path
from typing import IO, Any

from umiak.comm.connections import Server
from umiak.comm.launcher import mpi_launchers
from umiak.comm.launcher.console import Console, say
from umiak.comm.launcher.job import Job, RankSlot, environments, oversubscribed
from umiak.comm.launcher.processes import Direct, JobProcesses, Launched
from umiak.comm.launcher.supervisor import ADDRESS, SECRET

SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
FOREIGN = ("PMI_", "PMIX_", "HYD", "MPI_LOCAL", "OMPI_COMM", "OMPI_UNIVERSE", "MV2_COMM", "PADDLE_TRAINER")
EXPORTED = ("UMIAK_", "FLAGS_", "PADDLE_", "PYTHON", "OMP_", "MPIR_")  # where the MPI launcher must be told
NOTICE = 60.0  # seconds after the first rank's end when those that go on are named
LINE_BYTES = 1 << 16  # of a line that are kept until its end comes
PATIENCE = 3.0  # seconds for what should take none


@dataclass
class Report:
    """End of a rank: ``code`` is its exit status, or minus the number of the signal that ended it."""

    rank: int
    code: int
    where: str
    seconds: float
    tail: list[str] = field(default_factory=list)
    error: str | None = None
    swept: bool = False  # the MPI launcher ended it
    moment: float = 0.0  # of its failure, by the clock of its machine

    @property
    def ending(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        try:
            return f"signal {-self.code} ({signal.Signals(-self.code).name})"
        except ValueError:
            return f"signal {-self.code}"

    @property
    def status(self) -> int:
        return self.code if self.code >= 0 else 128 - self.code

    @property
    def reason(self) -> str:
        """One line: the exception if there is one."""
        lines = [line for line in (self.error or "").splitlines() if line.strip()]
        return lines[-1] if lines else self.ending


@dataclass
class Outcome:
    """End of a job: ``code`` is the exit status that stands for it."""

    code: int
    text: str = ""
    reason: str = ""
    seconds: float = 0.0
    interrupted: bool = False
    failure: Report | None = None


@dataclass
class Rank:
    """A supervisor that has reported."""

    connection: Connection
    slot: RankSlot
    supervisor: int
    pid: int | None = None
    report: Report | None = None
    lost: bool = False
    failing: bool = False  # of itself, before it was asked to end
    aborted: int = 0  # the exit status that it gave MPI_Abort
    finished: bool = False
    killed: bool = False  # the supervisor, without a word


class JobMonitor:
    """One start of a job: ``run()`` to the end. RuntimeError where there is no MPI launcher.

    ``interrupt`` and ``signal`` may be called from signal handlers and other threads.
    """

    def __init__(self, job: Job, restart: int = 0) -> None:
        self.job = job
        self.restart = restart
        self.started = threading.Event()  # all ranks run, or never will
        self.ranks: dict[int, Rank] = {}
        self.first: Report | None = None  # failure
        self.outcome: Outcome | None = None
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._console = Console(job.prefix and job.size > 1)
        self._starter = mpi_launchers.find(job)
        self._secret = secrets.token_hex(32)
        self._began = time.monotonic()
        self._timers: dict[Callable[[], None], float] = {}
        self._words: list[bytes] = []  # of the MPI launcher
        self._running: JobProcesses | None = None
        self._follower: threading.Thread | None = None
        self._mpi: int | None = None  # the exit status of the MPI launcher
        self._stopping = self._dismissed = False
        self._stopped = 0.0  # when
        self._failures: list[Report] = []  # of ranks that failed of themselves
        self._swept: list[Report] = []
        self._hung: list[int] = []
        self._why = ""  # the job fails, though no rank has
        self._interrupted = 0

    # -- from outside

    def interrupt(self, number: int) -> None:
        """End the job, ranks first getting signal ``number``; a second time: at once."""
        self._events.put((self._on_interrupt, number))

    def signal(self, rank: int, number: int) -> None:
        """Send a signal to one rank."""
        self._events.put((self._send, rank, "signal", {"number": number}))

    # -- the main loop

    def run(self) -> Outcome:
        """Start the ranks, and return when nothing of them is left."""
        server = Server("127.0.0.1" if self.job.local else "", 0, self._secret.encode(), self._read)
        try:
            self._start(server.port)
            while self._mpi is None or any(not rank.lost for rank in self.ranks.values()):
                self._step()
        finally:
            self._finish(server)
            self.started.set()
        self.outcome = self._outcome()
        if self.outcome.code:
            with contextlib.suppress(BrokenPipeError, ValueError):  # nobody reads any more
                self._console.finish()
        return self.outcome

    def _step(self) -> None:
        """The next event, or what is due."""
        now = time.monotonic()
        due = min(self._timers.values(), default=None)
        try:
            handler, *arguments = self._events.get(timeout=None if due is None else max(0.0, due - now))
        except queue.Empty:
            for action in [a for a, when in self._timers.items() if when <= time.monotonic()]:
                del self._timers[action]
                action()
            return
        handler(*arguments)

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        self._timers.setdefault(action, time.monotonic() + seconds)

    # -- starting

    def _start(self, port: int) -> None:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        environ |= {ADDRESS: f"{self._address()}:{port}", SECRET: self._secret}
        program = [sys.executable, "-S", "-E", SUPERVISOR]
        if self._starter.direct(self.job):
            aborted, failed = self._brings(self._on_abort), self._brings(self._on_supervisor)
            self._running = Direct(program, self.job.size, environ, self.job.stdin, aborted, failed)
        else:
            exported = tuple(name for name in environ if name.startswith(EXPORTED))
            self._running = Launched(self._starter.command(self.job, exported, program), environ, self.job.stdin)
        self._follower = threading.Thread(target=self._follow, args=(self._running,), daemon=True, name="launch-mpi")
        self._follower.start()
        if self._running.stdin is not None:
            reader = threading.Thread(
                target=pump, args=(self._running.stdin, self._unended), daemon=True, name="launch-stdin"
            )
            reader.start()
        self._after(self.job.start_timeout, self._on_start_timeout)

    def _brings(self, handler: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """Return a function that other threads call to have ``handler`` called in this one."""
        return lambda rank, code: self._events.put((handler, rank, code))

    def _unended(self) -> bool:
        return self._mpi is None

    def _address(self) -> str:
        """Return the address at which supervisors find the launcher."""
        if self.job.address:
            return self.job.address
        if self.job.local:
            return "127.0.0.1"
        names = [host.name for host in self.job.hosts if host.name]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect((names[0] if names else socket.gethostname(), 9))  # sends nothing; asks for the route
            return str(probe.getsockname()[0])
        return socket.gethostname()

    # -- threads that bring events

    def _read(self, connection: Connection) -> None:
        """Everything one supervisor says."""
        message = json.loads(connection.recv_bytes()[1:])
        if message.pop("kind") != "hello":
            return
        number = message.pop("rank")
        self._events.put((self._on_hello, connection, number, message))
        try:
            self._converse(connection, number)
        finally:
            self._events.put((self._on_lost, number))

    def _converse(self, connection: Connection, number: int) -> None:
        kinds = ("started", "finished", "failing", "ended")
        handlers = {kind: getattr(self, f"_on_{kind}") for kind in kinds}
        pending = b""
        while True:
            if pending and not connection.poll(0.1):
                self._show(number, pending)
                pending = b""
            data = connection.recv_bytes()
            if data[:1] == b"o":
                lines, end, pending = (pending + data[1:]).rpartition(b"\n")
                if end or len(pending) > LINE_BYTES:
                    self._show(number, lines + end if end else pending)
                    pending = pending if end else b""
                continue
            if pending:
                self._show(number, pending)
                pending = b""
            message = json.loads(data[1:])
            self._events.put((handlers[message.pop("kind")], number, message))

    def _show(self, rank: int, data: bytes) -> None:
        try:
            self._console.write(rank, data)
        except (BrokenPipeError, ValueError):  # nobody reads any more
            self.interrupt(signal.SIGPIPE)

    def _follow(self, running: JobProcesses) -> None:
        with running.words as words:
            for line in words:
                self._words.append(line)
                del self._words[:-200]
        self._events.put((self._on_mpi, running.wait()))

    # -- events

    def _on_hello(self, connection: Connection, number: int, hello: dict[str, Any]) -> None:
        supervisor = hello.pop("pid")
        if hello.pop("size") != self.job.size or number in self.ranks:
            self._fail(f"the MPI launcher numbers its ranks other than from 0 to {self.job.size - 1}")
        self.ranks[number] = Rank(connection, RankSlot(**hello), supervisor)
        if self._stopping:
            self._send(number, "kill")
        elif len(self.ranks) == self.job.size:
            self._timers.pop(self._on_start_timeout, None)
            self._go()

    def _go(self) -> None:
        """All are there: tell each what to run."""
        slots = [self.ranks[number].slot for number in range(self.job.size)]
        for node in oversubscribed(slots):
            say(f"warning: {node}: they take turns")
        title = f"[launch] restart {self.restart}\n" if self.restart else ""
        for number, (environ, defaults) in enumerate(environments(slots, self.job, self.restart)):
            with contextlib.suppress(OSError):  # lost meanwhile
                self.ranks[number].connection.send_bytes(b"p" + self.job.payload)
            self._send(
                number, "go",
                {
                    "python": [sys.executable, *interpreter_flags()], "what": self.job.what, "environ": environ,
                    "defaults": defaults, "cwd": os.getcwd(), "stdin": self.job.stdin and number == 0,
                    "log": self.job.log(number), "truncate": self.job.log_overwrite and not self.restart,
                    "title": title, "echo": self.job.console is None or number in self.job.console,
                },
            )  # fmt: skip

    def _on_started(self, number: int, message: dict[str, Any]) -> None:
        self.ranks[number].pid = message["pid"]
        if len(self.ranks) == self.job.size and all(rank.pid is not None for rank in self.ranks.values()):
            self.started.set()

    def _on_finished(self, number: int, message: dict[str, Any]) -> None:
        """The program of a rank has come to its end; its process may wait for the others."""
        self.ranks[number].finished = True
        self._after(NOTICE, self._on_notice)
        if self.job.exit_timeout:
            self._after(self.job.exit_timeout, self._on_exit_timeout)

    def _on_failing(self, number: int, message: dict[str, Any]) -> None:
        """An exception came through: the rank is on its way out, and the others must not wait for it."""
        self.ranks[number].failing = self._of_itself(message["moment"])
        self._stop(signal.SIGTERM)

    def _on_abort(self, number: int, code: int) -> None:
        """A rank has called ``MPI_Abort``, and waits for its end."""
        rank = self.ranks[number]
        rank.failing = rank.failing or not self._stopping
        rank.aborted = code & 0xFF or 1
        self._send(number, "kill")
        self._stop(signal.SIGTERM)

    def _on_ended(self, number: int, message: dict[str, Any]) -> None:
        rank = self.ranks[number]
        report = Report(number, seconds=self._seconds(), where=self._where(number), **message)
        if report.code <= 0 and rank.aborted:
            report.code = rank.aborted
        rank.report = report
        if report.swept and not rank.failing:
            self._swept.append(report)
        elif report.code and (rank.failing or self._of_itself(report.moment)):
            self._failures.append(report)
        if report.code:
            self._stop(signal.SIGTERM)
        self._dismiss()

    def _of_itself(self, moment: float) -> bool:
        """Return whether a rank that failed then had not been asked to end. Reports may overtake one another."""
        return not self._stopping or (self.job.local and moment < self._stopped)

    def _on_lost(self, number: int) -> None:
        """The connection has closed: as it should after the end, else the supervisor was killed."""
        rank = self.ranks[number]
        rank.lost = True
        if rank.report is None:
            tail = read_tail(self.job.log(number))
            rank.report = Report(
                number, -signal.SIGKILL, self._where(number), self._seconds(), tail, swept=True, moment=time.monotonic()
            )
            self._swept.append(rank.report)
            rank.killed = True
            self._stop(signal.SIGTERM)
        self._dismiss()

    def _on_supervisor(self, number: int, code: int) -> None:
        """A supervisor that this process has started ended with another status than 0."""
        if number not in self.ranks and not self._stopping:
            self._fail(f"the supervisor of rank {number} has ended with status {code} and not said a word")

    def _on_mpi(self, code: int) -> None:
        self._mpi = code
        if len(self.ranks) < self.job.size and not self._stopping:
            self._fail("the MPI launcher could not start the ranks")
        self._after(PATIENCE, self._abandon)

    def _on_interrupt(self, number: int) -> None:
        again = bool(self._interrupted)
        self._interrupted = self._interrupted or number
        self._stop(number)
        if again:
            self._kill()

    def _on_start_timeout(self) -> None:
        missing = sorted(set(range(self.job.size)) - set(self.ranks))
        self._fail(f"ranks {missing} have not started within {self.job.start_timeout:g} s")

    def _on_notice(self) -> None:
        if self._busy():
            which = f"the programs of ranks {self._finished()} have ended, those of ranks {self._busy()} go on"
            say(f"{which} for {NOTICE:g} s now (--exit_timeout would end them)")

    def _on_exit_timeout(self) -> None:
        """Ranks that go on for too long say where they are, in their logs, and end."""
        busy = self._busy()
        if busy and not self._stopping:
            first = self._finished()[0]
            after = f"{self.job.exit_timeout:g} s after the program of rank {first} had ended"
            self._why = f"ranks {busy} went on for {after}"
            self._hung = busy
            for number in busy:
                self._send(number, "signal", {"number": int(signal.SIGUSR2)})
            self._after(0.5, lambda: self._stop(signal.SIGTERM))

    # -- ending

    def _unreported(self) -> list[int]:
        return sorted(number for number, rank in self.ranks.items() if rank.report is None)

    def _finished(self) -> list[int]:
        return sorted(number for number, rank in self.ranks.items() if rank.finished)

    def _busy(self) -> list[int]:
        return [number for number in self._unreported() if not self.ranks[number].finished]

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _where(self, number: int) -> str:
        rank = self.ranks[number]
        return rank.slot.node if rank.pid is None else f"{rank.slot.node}, pid {rank.pid}"

    def _send(self, number: int, kind: str, fields: dict[str, Any] | None = None) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError):  # it has gone: its reader says so
            self.ranks[number].connection.send_bytes(b"j" + json.dumps({"kind": kind, **(fields or {})}).encode())

    def _signal_all(self, number: int) -> None:
        for rank in self._unreported():
            if not self.ranks[rank].failing:
                self._send(rank, "signal", {"number": int(number)})

    def _fail(self, why: str) -> None:
        self._why = self._why or why
        self._stop(signal.SIGTERM)

    def _stop(self, number: int) -> None:
        """Ask all ranks to end; kill them after a while."""
        if self._stopping:
            return
        self._stopping = True
        self._stopped = time.monotonic()
        if len(self.ranks) < self.job.size:
            self._kill()
            return
        self._signal_all(number)
        self._after(self.job.grace, self._kill)

    def _kill(self) -> None:
        for rank in self._unreported():
            self._send(rank, "kill")
        self._after(PATIENCE, self._terminate_mpi)

    def _dismiss(self) -> None:
        """Let the supervisors go once all ranks have ended."""
        if len(self.ranks) == self.job.size and not self._unreported() and not self._dismissed:
            self._dismissed = self._stopping = True
            for number in self.ranks:
                self._send(number, "bye")
            self._after(PATIENCE, self._terminate_mpi)

    def _terminate_mpi(self) -> None:
        if self._running is not None and self._mpi is None:
            self._running.signal(signal.SIGTERM)
            self._after(PATIENCE, self._kill_mpi)

    def _kill_mpi(self) -> None:
        if self._running is not None and self._mpi is None:
            self._running.signal(signal.SIGKILL)

    def _abandon(self) -> None:
        """The MPI launcher has ended, and supervisors still are there: their connections end them."""
        for number in self.ranks:
            self._on_lost(number)

    def _finish(self, server: Server) -> None:
        server.close()
        if self._follower is not None:
            if self._mpi is None:
                self._kill_mpi()
            self._follower.join(PATIENCE)

    # -- what it comes to

    def _outcome(self) -> Outcome:
        seconds = self._seconds()
        mpi = 0 if self._mpi is None else self._mpi if self._mpi >= 0 else 128 - self._mpi
        # The first by the clock: reports come as machines find the time.
        first = self.first = min(self._failures, key=lambda report: report.moment, default=None)
        if self._interrupted:
            by = f"ended by {signal.Signals(self._interrupted).name}"
            if first is None:
                return Outcome(128 + self._interrupted, by, "", seconds, True)
            text, reason = self._describe_failure(first)
            return Outcome(first.status, f"{text}\n{by}", reason, seconds, True, first)
        if self._why:
            lines = [self._why, *b"".join(self._words).decode("utf-8", "replace").splitlines()]
            for number in self._hung:
                report = self.ranks[number].report
                lines += [f"rank {number} was here:", *("    " + line for line in report.tail[-20:])] if report else []
            return Outcome(mpi or 1, "\n".join(lines), self._why, seconds, failure=first)
        reports = [self.ranks[number].report for number in range(self.job.size)]
        if all(report is not None and not report.code and not report.swept for report in reports):
            return Outcome(0, seconds=seconds)
        if first is not None:
            text, reason = self._describe_failure(first)
            return Outcome(first.status, text, reason, seconds, failure=first)
        # The MPI launcher has ended all: a rank called MPI_Abort, which says so, or it was ended itself.
        code = mpi or 137
        by = f" (the MPI launcher with exit code {code})" if mpi else ""
        first = next((r for r in self._swept if any("Abort(" in line for line in r.tail)), None)
        if first is not None:
            text, reason = self._describe_failure(first, by)
            return Outcome(code, text, reason, seconds, failure=first)
        lost = [number for number, rank in sorted(self.ranks.items()) if rank.killed]
        why = "the MPI launcher ended the ranks"
        if lost:
            why = f"the supervisor of rank {lost[0]} was killed"
        elif isinstance(self._running, Direct):
            why = f"the supervisor of rank {min(self._swept, key=lambda report: report.moment).rank} was ended"
        return Outcome(code, why + by, why, seconds)

    def _describe_failure(self, report: Report, by: str = "") -> tuple[str, str]:
        """Describe the rank that failed first, at length and in one line."""
        ending = f"ended with {report.ending}{by} after {report.seconds:.1f} s"
        lines = [f"rank {report.rank} ({report.where}) {ending}; the job was ended"]
        log = self.job.log(report.rank)
        tail = last_traceback(report)
        if tail:
            lines += [f"last lines of {log or f'rank {report.rank}'}:", *("    " + line for line in tail)]
        return "\n".join(lines), f"rank {report.rank}: {report.reason}"


def last_traceback(report: Report) -> list[str]:
    """The last traceback among a rank's last lines, else the last ten."""
    lines = report.tail
    starts = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    return lines[starts[-1] :] if starts else lines[-10:]


def read_tail(path: str | None) -> list[str]:
    """The end of a log on this machine, if it is here."""
    if path is None:
        return []
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
        return file.read().decode("utf-8", "replace").splitlines()[-60:]
    return []


def pump(sink: IO[bytes], wanted: Callable[[], bool]) -> None:
    """Standard input to rank 0, while it is wanted.

    It is not inherited: ranks are in sessions of their own, so that Ctrl-C reaches this process alone.
    """
    source = 0
    try:
        while wanted():
            if not select.select([source], [], [], 0.5)[0]:
                continue
            if os.isatty(source) and os.tcgetpgrp(source) != os.getpgrp():
                time.sleep(0.5)  # in the background: reading would stop this process
                continue
            data = os.read(source, 1 << 16)
            if not data:
                break
            sink.write(data)
            sink.flush()
    except (OSError, ValueError):
        pass
    with contextlib.suppress(OSError):
        sink.close()
