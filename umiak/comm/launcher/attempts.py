"""A job that is started again when it fails."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from umiak.comm.launcher.console import say
from umiak.comm.launcher.job import Job
from umiak.comm.launcher.watch import Outcome, Watch


def run(job: Job, max_restart: int = 0) -> int:
    """Run ``job``, up to ``max_restart`` times again; the exit status of the last time. For the main thread."""
    failures: list[Outcome] = []
    while True:
        watch = Watch(job, restart=len(failures))
        with handled(watch):
            outcome = watch.run()
        if outcome.text:
            say(outcome.text)
        if outcome.code == 0 or outcome.interrupted:
            return outcome.code
        failures.append(outcome)
        if len(failures) > max_restart:
            if max_restart:
                say(summary(failures))
            return outcome.code
        say(f"restart {len(failures)} of {max_restart}")


def summary(failures: list[Outcome]) -> str:
    """Why a job is given up."""
    reasons = {outcome.reason for outcome in failures}
    same = " the same way" if len(reasons) == 1 else ""
    lines = [f"given up: failed{same} {len(failures)} times"]
    lines += [f"  start {i}: after {o.seconds:.1f} s, {o.reason}" for i, o in enumerate(failures)]
    return "\n".join(lines)


@contextlib.contextmanager
def handled(watch: Watch) -> Iterator[None]:
    """Signals that ask this process to end go to the ranks."""
    former = {
        number: signal.signal(number, lambda n, _: watch.interrupt(n))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup wants it
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
