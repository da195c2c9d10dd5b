"""Processes of a started job: those of an MPI launcher, or supervisors that are our own children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import IO

from umiak.comm.launcher import pmi
from umiak.comm.launcher.job_folder import JobFolder, collect, world_name
from umiak.comm.launcher.supervisor import FOLDER, LOCK


class JobProcesses(ABC):
    """``stdin`` is rank 0's, where it is wanted; ``words`` is what comes of starting, to its end."""

    stdin: IO[bytes] | None
    words: IO[bytes]

    @abstractmethod
    def wait(self) -> int:
        """Wait until all have ended; return the exit status, or minus the number of a signal."""

    @abstractmethod
    def signal(self, number: int) -> None:
        """Send a signal to those that have not ended."""


class Launched(JobProcesses):
    """An MPI launcher, in a session of its own: Ctrl-C reaches this process alone, which decides what it means."""

    def __init__(self, command: list[str], environ: Mapping[str, str], stdin: bool) -> None:
        self._process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.stdin, self.words = self._process.stdin, self._process.stdout

    def wait(self) -> int:
        code = self._process.wait()
        collect()  # it kills without notice: perhaps nobody of the ranks was left to do so
        return code

    def signal(self, number: int) -> None:
        if number != signal.SIGKILL:
            self._process.send_signal(number)
        elif self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)


class Direct(JobProcesses):
    """Supervisors of one machine, each a child of this process. Nothing listens, but for the launcher on loopback.

    ``on_abort(rank, code)`` is told of ``MPI_Abort``, ``on_failure(rank, code)`` of supervisors that end with another
    status than 0; both in other threads.
    """

    # Ranks of one machine need no network. These keep UCX and libfabric, beneath MPICH, from listening on one.
    ENVIRON: Mapping[str, str] = {"UCX_NET_DEVICES": "lo", "FI_TCP_IFACE": "lo"}

    def __init__(
        self, program: list[str], size: int, environ: Mapping[str, str], stdin: bool,
        on_abort: Callable[[int, int], None], on_failure: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        self._folder = JobFolder()
        self._pmi = pmi.Server(size, world_name(self._folder.token), on_abort)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self.stdin = None
        reader, writer = os.pipe()
        self.words = os.fdopen(reader, "rb")
        try:
            for rank in range(size):
                self._start(rank, program, size, environ, stdin and rank == 0, writer, on_failure)
        except BaseException:
            self.signal(signal.SIGKILL)
            self.wait()
            raise
        finally:
            os.close(writer)
        self._pmi.start()

    def _start(
        self, rank: int, program: list[str], size: int, environ: Mapping[str, str], stdin: bool, words: int,
        on_failure: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        end = self._pmi.ends[rank].fileno()
        variables = {"PMI_FD": str(end), FOLDER: self._folder.path, LOCK: str(self._folder.lock)}
        variables |= dict.fromkeys(("PMI_RANK", "MPI_LOCALRANKID"), str(rank))
        variables |= dict.fromkeys(("PMI_SIZE", "MPI_LOCALNRANKS"), str(size))
        process = subprocess.Popen(
            program, env={**self.ENVIRON, "UCX_POSIX_DIR": self._folder.path, **environ, **variables},
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=words, stderr=words,
            pass_fds=[end, self._folder.lock], start_new_session=True,
        )  # fmt: skip
        self._processes.append(process)
        if stdin:
            self.stdin = process.stdin

        def follow() -> None:
            code = process.wait()
            if code:
                on_failure(rank, code)

        thread = threading.Thread(target=follow, daemon=True, name="launch-follow")
        self._threads.append(thread)
        thread.start()

    def wait(self) -> int:
        for thread in self._threads:
            thread.join()
        self._pmi.close()
        self._folder.remove()
        return next(filter(None, (process.returncode for process in self._processes)), 0)

    def signal(self, number: int) -> None:
        for process in self._processes:
            process.send_signal(number)
