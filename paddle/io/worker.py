"""A worker process: reads samples, makes batches of them, sends them to the loader."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import random
import select
import signal
import socket
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paddle.io import protocol, worker_info
from paddle.io.channel import Channel, Message, encode
from paddle.io.collate import Stack, collate
from paddle.io.fetch import EXHAUSTED, Source, keep_memory
from paddle.io.transport import Packer
from paddle.io.worker_info import WorkerInfo
from umiak.core.generator import seed_all


@dataclass(frozen=True)
class Job:
    """Job of all workers of a loader. ``collate`` None: as ``default_collate_fn``."""

    source: Source
    collate: Callable[[Any], Any] | None
    init: Callable[[int], Any] | None
    workers: int
    prefetch: int
    shared: bool


def seed(value: int) -> None:
    """Seed ``random``, NumPy and the engine."""
    random.seed(value)
    np.random.seed(value % (1 << 32))
    seed_all(value)


def main(job: Job, number: int, value: int, sock: socket.socket, forked: bool) -> None:
    """The life of a worker, until it is told to stop or the loader is gone."""
    _take_signals()
    threading.Thread(target=_die_with_loader, args=(sock.fileno(),), daemon=True).start()
    if forked:
        gc.freeze()  # what was inherited is no business of this process; to visit it would copy its pages
    keep_memory()
    seed(value)
    worker_info.current = WorkerInfo(number, job.workers, job.source.dataset, value)
    with contextlib.suppress(ConnectionError):
        _Worker(job, number, Channel(sock)).run()


def _take_signals() -> None:
    # Ctrl-C goes to all processes of a terminal: the loader decides what becomes of its workers. A handler, unlike
    # SIG_IGN, is not handed on to programs that a dataset starts. Handlers of the main process are not for this one.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def _die_with_loader(fd: int) -> None:
    """Wait until the loader's end is closed, however that came about, and end at once, whatever is going on."""
    poll = select.poll()
    poll.register(fd, 0)  # a hang-up is always reported
    with contextlib.suppress(OSError):
        poll.poll()
    os._exit(0)


class _Worker:
    def __init__(self, job: Job, number: int, channel: Channel) -> None:
        self.job = job
        self.number = number
        self.channel = channel
        # The answers that the loader has not read yet should fit into the socket, so that this process goes on.
        self.packer = Packer(inline=max((64 << 10) // job.prefetch, 1 << 12), shared=job.shared, spare=job.prefetch + 1)
        self.inbox: deque[Message] = deque()
        self.fetch: Callable[[Any], Any] | None = None
        self.failure: tuple[Any, ...] | None = None  # which every task is answered with

    def run(self) -> None:
        job = self.job
        if job.init is not None:
            try:
                job.init(self.number)
            except Exception as error:
                self.failure = describe(error)
        while (message := self.next_message()) is not None and message.kind != protocol.STOP:
            if message.kind == protocol.RESET:
                self.begin(message.meta)
            else:
                self.answer(message)

    def next_message(self) -> Message | None:
        """Return the next message; tasks of a pass that is over are skipped."""
        while not self.inbox:
            message = self.channel.receive()
            if message is None:
                return None
            self.inbox.append(message)
        with contextlib.suppress(BlockingIOError):
            while (message := self.channel.receive(wait=False)) is not None:
                if message.kind != protocol.TASK:
                    self.inbox.clear()
                self.inbox.append(message)
        return self.inbox.popleft()

    def begin(self, value: int | None) -> None:
        """A new pass over the dataset."""
        self.fetch = None
        if value is not None:
            seed(value)

    def answer(self, message: Message) -> None:
        kind, body = protocol.ERROR, b""
        meta: tuple[Any, ...] | None = self.failure
        descriptors: list[int] = []
        if meta is None:
            try:
                if self.fetch is None:
                    self.fetch = self.job.source.fetcher()
                samples = self.fetch(pickle.loads(message.body))
                if samples is EXHAUSTED:
                    kind = protocol.END
                else:
                    batch = self.job.collate(samples) if self.job.collate else collate(samples, Stack)
                    del samples
                    meta, body, descriptors = self.packer.pack(batch)
                    kind = protocol.BATCH
            except Exception as error:
                meta = describe(error)
        try:
            self.channel.send(encode(kind, message.epoch, message.task, meta, body, len(descriptors)), descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def describe(error: Exception) -> tuple[bytes | None, str, str]:
    """An exception to be sent: pickled where that works, in short, and its traceback."""
    short = "".join(traceback.format_exception_only(type(error), error)).strip()
    pickled: bytes | None = None
    try:
        pickled = pickle.dumps(error)
        if type(pickle.loads(pickled)) is not type(error):
            pickled = None
    except Exception:  # of a class that cannot be pickled
        pickled = None
    return pickled, short, "".join(traceback.format_exception(type(error), error, error.__traceback__))
