"""Requests that wait for a predictor, and run together where they fit."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
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


class Queue:
    """Jobs in the order in which they came, taken in groups.

    ``most_rows``: of a group; ``delay``: the most seconds that the first of a group waits for others; ``most_waiting``:
    jobs that may wait.
    """

    def __init__(self, most_rows: int, delay: float, most_waiting: int) -> None:
        self.most_rows, self.delay, self.most_waiting = most_rows, delay, most_waiting
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, arrays: Arrays, batched: bool) -> Future:
        """Enter a request; the future has its results. ``batched``: the first axis of all arrays is that of samples."""
        rows = {x.shape[0] for x in arrays} if batched and all(x.ndim for x in arrays) else set()
        key = tuple((x.dtype, x.shape[1:]) for x in arrays) if len(rows) == 1 else None
        job = Job(arrays, rows.pop() if key is not None else 1, key, Future(), time.monotonic())
        with self._changed:
            if self._closed:
                raise Closed
            if len(self._waiting) >= self.most_waiting:
                raise Full
            self._waiting.append(job)
            self._changed.notify_all()
        return job.future

    def close(self) -> None:
        """Take no more; what waits is still taken by who computes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def take(self) -> list[Job]:
        """Wait for jobs that run together; an empty list after the last one."""
        with self._changed:
            while not self._waiting:
                if self._closed:
                    return []
                self._changed.wait()
            group = [self._waiting.popleft()]
            if group[0].key is None:
                return group
            rows, until = group[0].rows, group[0].arrived + self.delay
            while True:
                rows += self._join(group, self.most_rows - rows)
                left = until - time.monotonic()
                if rows >= self.most_rows or left <= 0 or self._closed:
                    return group
                self._changed.wait(left)

    def _join(self, group: list[Job], room: int) -> int:
        """Add waiting jobs that fit to a group; their rows."""
        added = 0
        for job in list(self._waiting):
            if job.key == group[0].key and job.rows <= room - added:
                self._waiting.remove(job)
                group.append(job)
                added += job.rows
        return added


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

    def close(self) -> None:
        """Compute what waits, and end the threads."""
        self.queue.close()
        for thread in self._threads:
            thread.join()

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
                ends = np.cumsum([job.rows for job in group])[:-1]
                parts = [list(part) for part in zip(*(np.split(y, ends) for y in together), strict=True)]
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
