"""Functions that run as ranks."""

from __future__ import annotations

import atexit
import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable, Iterable
from multiprocessing.spawn import get_preparation_data
from typing import Any

from paddle._public import public
from umiak.comm.launcher import Host, Job, JobMonitor, Outcome
from umiak.runtime import parallel
from umiak.util.errors import op_error

OPTIONS = ("start_method", "gpus", "xpus", "ips", "backend", "print_config")


class RankError(RuntimeError):
    """A rank of :func:`spawn` failed: ``rank``, ``exitcode`` (or minus a signal's number), ``traceback`` (text)."""

    def __init__(self, message: str, rank: int | None, exitcode: int, traceback: str | None) -> None:
        super().__init__(message)
        self.rank, self.exitcode, self.traceback = rank, exitcode, traceback


class RankProcess:
    """One rank of :func:`spawn`, with the names of :class:`multiprocessing.Process`."""

    def __init__(self, monitor: JobMonitor, rank: int) -> None:
        self._monitor = monitor
        self.rank = rank
        self.name = f"rank {rank}"

    @property
    def pid(self) -> int | None:
        known = self._monitor.ranks.get(self.rank)
        return None if known is None else known.pid

    @property
    def exitcode(self) -> int | None:
        """The exit status, minus the number of the signal that ended it, or None while it runs."""
        known = self._monitor.ranks.get(self.rank)
        if known is not None and known.report is not None:
            return known.report.code
        return None if self._monitor.outcome is None else self._monitor.outcome.code

    def is_alive(self) -> bool:
        return self.exitcode is None

    def terminate(self) -> None:
        """Send SIGTERM. The others are ended too, as when a rank fails."""
        self._monitor.signal(self.rank, signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL. The others are ended too, as when a rank fails."""
        self._monitor.signal(self.rank, signal.SIGKILL)


class MultiprocessContext:
    """The ranks of one :func:`spawn`: ``processes`` has one entry per rank."""

    def __init__(self, monitor: JobMonitor, daemon: bool) -> None:
        self._monitor = monitor
        self._daemon = daemon
        self._error: BaseException | None = None
        self.processes = [RankProcess(monitor, rank) for rank in range(monitor.job.size)]
        self._thread = threading.Thread(target=self._run, daemon=True, name="spawn")
        self._thread.start()
        atexit.register(self._at_exit)
        monitor.started.wait()

    def _run(self) -> None:
        try:
            self._monitor.run()
        except BaseException as error:
            self._error = error
            self._monitor.started.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the ranks, ``timeout`` seconds at most: whether all have ended.

        :class:`RankError` if one failed; the others have then been ended.
        """
        try:
            self._thread.join(timeout)
        except KeyboardInterrupt:
            self._monitor.interrupt(signal.SIGINT)
            self._thread.join()
            raise
        if self._thread.is_alive():
            return False
        atexit.unregister(self._at_exit)
        if self._error is not None:
            raise self._error
        outcome = self._monitor.outcome
        if outcome is not None and outcome.code:
            raise failed(outcome)
        return True

    def terminate(self) -> None:
        """End all ranks: SIGTERM, and SIGKILL for those that go on for ten seconds. Returns when none is left."""
        self._monitor.interrupt(signal.SIGTERM)
        self._thread.join()
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        if self._daemon:
            self.terminate()
        else:
            self.join()


def failed(outcome: Outcome) -> RankError:
    """Return the error that ``join`` raises."""
    report = outcome.failure
    if report is None:
        return RankError(f"[spawn] {outcome.text}", None, outcome.code, None)
    if report.error is None:
        return RankError(f"[spawn] {outcome.text}", report.rank, report.code, None)
    text = f"[spawn] rank {report.rank} ended with {report.ending}\n\n{report.error}"
    return RankError(text, report.rank, report.code, report.error)


@public("paddle.distributed")
def spawn(
    func: Callable[..., object], args: Iterable[Any] = (), nprocs: int = -1, join: bool = True, daemon: bool = False,
    **options: Any,
) -> MultiprocessContext:  # fmt: skip
    """Run ``func(*args)`` in ``nprocs`` new processes, which are the ranks of one MPI job.

    ``func`` and ``args`` are pickled, so ``func`` is defined at the top level of a module; a script calls ``spawn``
    below ``if __name__ == "__main__":``, since each rank imports it. What ranks write comes out here.

    Args:
        func: the function.
        args: its arguments.
        nprocs: how many processes; -1: one per device of ``gpus``, else one per CPU.
        join: return when all have ended; False: at once.
        daemon: ranks end with this process; False: they are waited for at its end.
        **options: ``gpus="0,1"`` (device ids), ``start_method="spawn"`` (there is no other).

    Returns:
        A context whose ``processes`` are the ranks; its ``join()`` raises :class:`RankError`, with the traceback of the
        rank that failed.

    Raises:
        ValueError: a number of processes below 1, an unknown option, or another start method.
        RuntimeError: no MPI launcher, or a script without such a line.
        RankError: with ``join``, a rank failed.

    Example:
        >>> import math
        >>> from paddle.distributed import spawn
        >>> context = spawn(math.sqrt, args=(4.0,), nprocs=1)
        >>> [process.exitcode for process in context.processes]
        [0]
    """
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise op_error(ValueError, "spawn", f"options among {', '.join(OPTIONS)}", ", ".join(unknown))
    if options.get("start_method", "spawn") != "spawn":
        hint = "Ranks are new processes, which MPI starts"
        raise op_error(ValueError, "spawn", "start_method='spawn'", repr(options["start_method"]), hint)
    if options.get("ips") not in (None, "", "127.0.0.1", "localhost"):
        hint = "Other nodes are for python -m paddle.distributed.launch --hosts"
        raise op_error(ValueError, "spawn", "ips of this machine", repr(options["ips"]), hint)
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        hint = 'Put the call below `if __name__ == "__main__":`'
        raise op_error(RuntimeError, "spawn", "a main module that ranks can import", "a call while one does", hint)
    devices = tuple(filter(None, str(options.get("gpus") or options.get("xpus") or "").replace(" ", "").split(",")))
    count = (len(devices) or parallel.available_cpus()) if nprocs == -1 else nprocs
    if count < 1 or (devices and len(devices) < count):
        required = f"nprocs from 1 to {len(devices)}, the number of devices" if devices else "nprocs from 1 on, or -1"
        raise op_error(ValueError, "spawn", required, nprocs)
    preparation = get_preparation_data("rank")
    preparation["authkey"] = bytes(preparation["authkey"])
    payload = pickle.dumps((preparation, pickle.dumps((func, tuple(args)))))
    job = Job(
        what=("call",), hosts=(Host("", count),), payload=payload, console=None, prefix=False, stdin=False,
        devices=devices[:count],
    )  # fmt: skip
    context = MultiprocessContext(JobMonitor(job), daemon)
    if join:
        context.join()
    return context
