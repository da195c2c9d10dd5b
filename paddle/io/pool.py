"""The worker processes of a loader, seen from the loader."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import multiprocessing.util
import os
import pickle
import select
import signal
import socket
import sys
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from paddle.io import protocol, worker
from paddle.io.channel import Channel, Message, encode
from paddle.io.transport import Unpacker
from paddle.io.worker import Job

GRACE = 2.0  # seconds that workers have to finish what they are at
ENDING = 10.0  # seconds from the end of a worker's channel to that of its process, on a busy machine

_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


class WorkerTraceback(Exception):
    """The cause of an exception that was raised in a worker: where in the worker that was."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Worker:
    """One process, the loader's end of its channel, and a descriptor that becomes readable when it ends."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.unpacker = Unpacker()
        ours, self.theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.process: Any = None
        self.pid = 0
        self.pidfd = -1

    def start(self, job: Job, seed: int, method: str) -> None:
        with self.theirs, _quiet_start():
            process: Any = multiprocessing.get_context(method).Process(
                target=worker.main,
                args=(job, self.number, seed, self.theirs, method == "fork"),
                name=f"DataLoader-{self.number}",
                daemon=True,
            )
            process.start()
        self.process, self.pid = process, process.pid
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # an older system
            self.pidfd = os.dup(process.sentinel)

    def __str__(self) -> str:
        return f"worker {self.number} (pid {self.pid})"

    def exception(self, message: Message) -> Exception:
        """Return the exception of the worker: the same one where it pickles, caused by the worker's traceback."""
        pickled, short, text = message.meta
        error: Exception | None = None
        if pickled is not None:
            with contextlib.suppress(Exception):
                error = pickle.loads(pickled)
        if error is None or isinstance(error, StopIteration):  # which would end the caller's loop unnoticed
            error = RuntimeError(f"[DataLoader] {self} raised {short}")
        error.__cause__ = WorkerTraceback(f'in DataLoader {self}:\n\n"""\n{text}"""')
        return error

    def ends_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(seconds * 1e3))

    def disown(self) -> None:
        """Close what this process has of it, without a word to the worker.

        Each descriptor is closed once, whoever asks. The number of a closed one is soon another's: a child that another
        thread forks meanwhile, or while a closed pool is still referred to, would close its own channel by it.
        """
        self.channel.close()
        pidfd, self.pidfd = self.pidfd, -1
        if pidfd >= 0:
            os.close(pidfd)


@contextlib.contextmanager
def _quiet_start() -> Iterator[None]:
    """Signals wait until the child has its own handlers; that the engine's threads are not in it is known."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        with warnings.catch_warnings():
            if sys.version_info >= (3, 12):
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


class WorkerPool:
    """Workers that take tasks and answer each in order. ``close()`` ends them; so does dropping the pool."""

    def __init__(self, job: Job, seed: int, method: str) -> None:
        self.job = job
        self.epoch = 0
        self.open = True
        if method == "auto":
            method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        self.workers: list[_Worker] = []
        _pools.add(self)  # first: children are to close what they inherit of it
        try:
            for number in range(job.workers):
                self.workers.append(_Worker(number))
                self.workers[-1].start(job, seed + number, method)
        except BaseException:
            self.close(patient=False)
            raise
        # For each worker, what to look at while waiting for it: its answers, and the end of any worker.
        self.polls = []
        for w in self.workers:
            poll = select.poll()
            poll.register(w.channel, select.POLLIN)
            for other in self.workers:
                poll.register(other.pidfd, select.POLLIN)
            self.polls.append(poll)

    def begin(self, seed: int | None) -> None:
        """A new pass: what is left of the last one is forgotten. ``seed``: seed workers anew."""
        self.epoch += 1
        for w in self.workers:
            w.channel.post(encode(protocol.RESET, self.epoch, meta=None if seed is None else seed + w.number))

    def give(self, number: int, task: Any) -> None:
        body = pickle.dumps(task, 5)
        self.workers[number].channel.post(encode(protocol.TASK, self.epoch, body=body))

    def take(self, number: int, timeout: float) -> Message:
        """The next answer of a worker.

        Raises RuntimeError when it does not come within ``timeout`` seconds (0: no limit), or some worker has ended.
        """
        w = self.workers[number]
        deadline = time.monotonic() + timeout if timeout else None
        while True:
            self._wait(w, deadline, timeout)
            message = w.channel.receive()
            if message is None:
                raise self._ended(w)
            if message.epoch == self.epoch:
                return message
            if message.kind == protocol.BATCH:
                w.unpacker.lease(message)  # and give it back

    def _wait(self, w: _Worker, deadline: float | None, timeout: float) -> None:
        poll, own = self.polls[w.number], w.channel.fileno()
        while True:
            unsent = [other for other in self.workers if not other.channel.flush()]
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = poll.poll(10 if unsent else None if left is None else left * 1e3)
            if any(fd == own for fd, _ in ready):
                return
            for other in self.workers:
                if any(fd == other.pidfd for fd, _ in ready):
                    raise self._ended(other)
            if left == 0.0:
                raise RuntimeError(
                    f"[DataLoader] requires a batch within timeout={timeout:g} s, got none from {w}. "
                    "Look for what blocks in the dataset, or raise timeout"
                )

    def _ended(self, w: _Worker) -> Exception:
        w.process.join(ENDING)
        code = w.process.exitcode
        if code is None and w.ends_within(0):
            cause, hint = "has ended", "How is not known: something else in this program has waited for it"
        elif code is None:
            cause, hint = "closed its channel", "Does the dataset close file descriptors that are not its own?"
        elif code < 0:
            try:
                cause = f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                cause = f"was killed by signal {-code}"
            hint = {
                signal.SIGKILL: "The system does so when memory runs out: try fewer workers or smaller batches",
                signal.SIGSEGV: "A library that the dataset uses may not work after a fork: try num_workers=0",
                signal.SIGBUS: "The system may have run out of shared memory: try use_shared_memory=False",
            }.get(-code, "Someone sent it that signal")
        else:
            cause, hint = f"exited with code {code}", "Does the dataset call sys.exit or os._exit?"
        return RuntimeError(f"[DataLoader] requires its worker processes, but {w} {cause}. {hint}")

    def close(self, patient: bool = True) -> None:
        """End the workers: ``patient``, after they have had a little time to finish what they are at."""
        if not self.open:
            return
        self.open = False
        started = [w for w in self.workers if w.process is not None]
        if patient:
            for w in started:
                w.channel.post(encode(protocol.STOP, self.epoch))
            deadline = time.monotonic() + GRACE
            for w in started:
                self._drain(w, deadline)
        for w in self.workers:
            with contextlib.suppress(OSError):
                w.channel.sock.shutdown(socket.SHUT_RDWR)  # closed for the worker too, whoever else has a copy
        for w in started:
            if not w.ends_within(1):
                w.process.kill()
            w.process.join()
            with contextlib.suppress(ValueError):  # someone else has waited for it: its exit code is not known
                w.process.close()
        for w in self.workers:
            w.disown()

    def _drain(self, w: _Worker, deadline: float) -> None:
        """Throw away what a worker still says, so that it can end."""
        poll = select.poll()
        poll.register(w.pidfd, select.POLLIN)
        poll.register(w.channel, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            ready = [fd for fd, _ in poll.poll((left if w.channel.flush() else min(left, 0.01)) * 1e3)]
            if w.pidfd in ready or (ready and not w.channel.sock.recv(1 << 16)):
                return

    def __del__(self) -> None:
        self.close()


@atexit.register
def _close_all() -> None:
    for pool in list(_pools):
        pool.close()


def _in_child() -> None:
    """A forked child keeps nothing of its parent's workers, else it would keep them alive."""
    for pool in list(_pools):
        pool.open = False
        for w in pool.workers:
            w.disown()
    _pools.clear()


os.register_at_fork(after_in_child=_in_child)
