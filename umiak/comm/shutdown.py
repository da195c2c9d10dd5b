"""Shutdown of a process of an MPI job.

MPI waits at a process's end for all the others, for ever, whatever has become of them. So at its end a rank first waits
for the others here, where it still answers their questions and sees when one has failed or died; and a rank that fails
tells the others, lets them say so too, and ends what is left of the job.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from types import TracebackType
from typing import Any

from umiak.comm.monitor import MONITOR, Monitor, wait_until
from umiak.comm.task import look_flag
from umiak.core import context

GRACE = 2.0  # seconds for the others to end after one has failed
PASS_ON = 0.2  # seconds for the launcher to pass on what was printed, which it drops at an abort


class Shutdown:
    """Handler of this process's end, active once it is constructed. ``comm`` is for it alone."""

    def __init__(self, comm: Any, monitor: Monitor) -> None:
        self.comm, self.monitor = comm, monitor
        self.process = os.getpid()
        self._hook, self._thread_hook = sys.excepthook, threading.excepthook
        sys.excepthook = self._uncaught
        threading.excepthook = self._uncaught_in_thread
        atexit.register(self._leave)

    def _uncaught(self, kind: type[BaseException], value: BaseException, tb: TracebackType | None) -> None:
        self._hook(kind, value, tb)
        # Now: the interpreter waits for threads of ours that may wait for other ranks
        self.monitor.announce(f"{kind.__name__}: {value}")

    def _uncaught_in_thread(self, args: Any) -> None:
        self._thread_hook(args)
        # Its program goes on, perhaps to wait for what the thread would have done: others can tell why.
        name = "a thread" if args.thread is None else f"thread {args.thread.name!r}"
        self.monitor.note = f"{name} of it failed: {args.exc_type.__name__}: {args.exc_value}"

    def _leave(self) -> None:
        from mpi4py import MPI

        if os.getpid() != self.process or MPI.Is_finalized():
            return
        if not self.monitor.failed:
            error = self._wait_for_all()
            if not error:
                self.monitor.close()
                return
            self.monitor.announce(error)
        self.monitor.close()
        sys.stdout.flush()
        sys.stderr.flush()
        wait_until(lambda: len(self.monitor.dead_ranks()) == len(self.monitor.others), GRACE)
        time.sleep(PASS_ON)
        MPI.COMM_WORLD.Abort(1)

    def _wait_for_all(self) -> str:
        """Wait until all other ranks have ended too; return what has happened to them otherwise."""
        self.monitor.ended = True
        request = self.comm.Ibarrier()
        start = time.monotonic()
        look = look_flag.value or float("inf")
        while not wait_until(request.Test, min(look, 0.5)):
            if self.monitor.failed:
                return self.monitor.failures()
            waited = time.monotonic() - start
            if waited > look:
                look = 2 * waited
                gone = self.monitor.dead_ranks()
                if gone and not request.Test():
                    text = f"[comm] rank {self.monitor.rank} has ended, and the processes of ranks {gone} have died"
                    print(text, file=sys.stderr)
                    return text
        return ""


def give_up(error: str) -> None:
    """This process has failed in a way that no hook of the interpreter sees."""
    monitor = context.current().state.values.get(MONITOR)
    if monitor is not None and monitor.rank not in monitor.failed:
        monitor.announce(error)
