"""Requests that wait for a predictor, and run together where they fit."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
Compute = Callable[[Arrays], Arrays]


class Full(Exception):
    """As many requests wait as may."""


class Closed(Exception):
    """No more requests are taken."""


@dataclass(eq=False)
class Job:
    """A request. ``key``: those of one key can run together, as ``rows`` each; None: it runs alone."""

    arrays: Arrays
    rows: int
    key: tuple | None
    future: Future
    arrived: float


class Group:
    """Jobs that a thread has taken to run together, ``rows`` in all."""

    def __init__(self, first: Job, lock: threading.Lock) -> None:
        self.jobs, self.rows, self.key = [first], first.rows, first.key
        self.changed = threading.Condition(lock)

    def take(self, job: Job, most_rows: int) -> bool:
        """Add a job, if it fits."""
        if job.key != self.key or self.rows + job.rows > most_rows:
            return False
        self.jobs.append(job)
        self.rows += job.rows
        return True


class Queue:
    """Jobs in the order in which they came, taken in groups.

    ``most_rows``: of a group; ``delay``: the most seconds that the first of a group waits for others; ``most_waiting``:
    jobs that may wait.
    """

    def __init__(self, most_rows: int, delay: float, most_waiting: int) -> None:
        self.most_rows, self.delay, self.most_waiting = most_rows, delay, most_waiting
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._waiting: deque[Job] = deque()
        self._open_groups: list[Group] = []  # whose threads wait for more
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, arrays: Arrays, batched: bool) -> Future:
        """Enter a request; the future has its results. ``batched``: the first axis of all arrays is that of samples."""
        rows = {x.shape[0] for x in arrays} if batched and all(x.ndim for x in arrays) else set()
        key = tuple((x.dtype, x.shape[1:]) for x in arrays) if len(rows) == 1 else None
        job = Job(arrays, rows.pop() if key is not None else 1, key, Future(), time.monotonic())
        with self._lock:
            if self._closed:
                raise Closed
            for group in self._open_groups:
                if group.take(job, self.most_rows):
                    if group.rows >= self.most_rows:  # a thread that is woken for less has nothing to do
                        group.changed.notify()
                    return job.future
            if len(self._waiting) >= self.most_waiting:
                raise Full
            self._waiting.append(job)
            self._came.notify()
        return job.future

    def close(self) -> None:
        """Take no more; what waits is still taken by who computes."""
        with self._lock:
            self._closed = True
            self._came.notify_all()
            for group in self._open_groups:
                group.changed.notify()

    def take(self) -> list[Job]:
        """Wait for jobs that run together; an empty list after the last one."""
        with self._lock:
            while not self._waiting:
                if self._closed:
                    return []
                self._came.wait()
            group = Group(self._waiting.popleft(), self._lock)
            if group.key is None:
                return group.jobs
            self._waiting = deque(job for job in self._waiting if not group.take(job, self.most_rows))
            self._open_groups.append(group)
            until = group.jobs[0].arrived + self.delay
            while group.rows < self.most_rows and not self._closed and (left := until - time.monotonic()) > 0:
                group.changed.wait(left)
            self._open_groups.remove(group)
            return group.jobs


class Batcher:
    """Threads that compute what waits in a queue, each with a function of its own.

    ``told(rows, seconds)`` is called after every run.
    """

    def __init__(self, queue: Queue, computes: Sequence[Compute], told: Callable[[int, float], Any]) -> None:
        self.queue = queue
        self._told = told
        self._threads = [
            threading.Thread(target=self._work, args=(f,), name=f"predictor-{i}", daemon=True)
            for i, f in enumerate(computes)
        ]
        for thread in self._threads:
            thread.start()

    def close(self, seconds: float = 1e9) -> bool:
        """Compute what waits, and end the threads; return whether they have ended within so many seconds."""
        self.queue.close()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, compute: Compute) -> None:
        while group := self.queue.take():
            wanted = [job for job in group if job.future.set_running_or_notify_cancel()]
            if wanted:
                self._compute(compute, wanted)

    def _compute(self, compute: Compute, group: list[Job]) -> None:
        began = time.monotonic()
        rows = sum(job.rows for job in group)
        try:
            if len(group) == 1:
                parts = [compute(group[0].arrays)]
            else:
                together = compute([np.concatenate(xs) for xs in zip(*(job.arrays for job in group), strict=True)])
                ends = accumulate(job.rows for job in group)
                parts = [[y[end - job.rows : end] for y in together] for job, end in zip(group, ends, strict=True)]
        except Exception as error:  # whatever a model raises is the answer to its request
            if len(group) == 1:
                group[0].future.set_exception(error)
            else:  # one of them may be at fault, the others are not
                for job in group:
                    self._compute(compute, [job])
            return
        self._told(rows, time.monotonic() - began)
        for job, part in zip(group, parts, strict=True):
            job.future.set_result(part)
