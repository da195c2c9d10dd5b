"""Restarts of a job that fails."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from umiak.comm.launcher.console import say
from umiak.comm.launcher.job import Job
from umiak.comm.launcher.monitor import JobMonitor, Outcome


def run(job: Job, max_restart: int = 0) -> int:
    """Run ``job``, up to ``max_restart`` times again; the exit status of the last time."""
    failures: list[Outcome] = []
    with Interruption() as interruption:
        while True:
            monitor = JobMonitor(job, restart=len(failures))
            with interruption.goes_to(monitor):
                outcome = monitor.run()
            if outcome.text:
                say(outcome.text)
            if outcome.code == 0 or outcome.interrupted:
                return outcome.code
            failures.append(outcome)
            if len(failures) > max_restart:
                if max_restart:
                    say(summary(failures))
                return outcome.code
            if interruption.number:
                say(f"no restart: {signal.Signals(interruption.number).name}")
                return outcome.code
            say(f"restart {len(failures)} of {max_restart}")


def summary(failures: list[Outcome]) -> str:
    """Return the reasons for giving up a job, as text."""
    reasons = {outcome.reason for outcome in failures}
    same = " the same way" if len(reasons) == 1 else ""
    lines = [f"given up: failed{same} {len(failures)} times"]
    lines += [f"  start {i}: after {o.seconds:.1f} s, {o.reason}" for i, o in enumerate(failures)]
    return "\n".join(lines)


class Interruption:
    """Signals that ask this process to end go to the ranks, from the first start to the end of the last.

    Python hands signals to the main thread alone: elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self.number = 0  # of the last that came
        self._pending = 0  # one that no monitor knows of
        self._monitor: JobMonitor | None = None
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
                    self._former[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: object) -> None:
        """It notes, and raises nothing: what it interrupts may be learning how a process ended."""
        self.number = number
        if self._monitor is None:
            self._pending = number
        else:
            self._monitor.interrupt(number)

    @contextlib.contextmanager
    def goes_to(self, monitor: JobMonitor) -> Iterator[None]:
        self._monitor = monitor
        pending, self._pending = self._pending, 0
        if pending:
            monitor.interrupt(pending)
        try:
            yield
        finally:
            self._monitor = None
