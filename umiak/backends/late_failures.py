"""Failures that work of a stream turns out to have when it is done, for drivers of streams in Python.

A :class:`umiak.core.stream.QueueDriver` keeps a :class:`LateFailures` per stream. Launches that their data may fail
write a code into an error word; :class:`DataCheck` says later, in the op's words, what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from umiak.backends.ref.evaluate import evaluate
from umiak.core.buffer import Buffer

# Tells, when work is done, what its data made fail.
Check = Callable[[], BaseException | None]


class Upstream(Exception):
    """Work of another stream, on which this one's depends, has failed."""


class LateFailures:
    """Failures of one stream that were not told yet. ``place`` is the name of the stream's place.

    Used under one lock of all queues whose work may wait for each other's: a check asks those that its work has waited
    for. A queue that is handed work may ask, too, so nobody waits for a queue's own lock while having that one, nor for
    one under which queues are made: what is collected meanwhile may ask.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.failed: list[tuple[str, BaseException]] = []
        self.first: tuple[int, str, BaseException] | None = None

    def add(self, ticket: int, name: str, error: BaseException) -> None:
        self.failed.append((name, error))
        self.first = self.first or (ticket, name, error)

    def check(self, ticket: int, name: str, check: Check) -> None:
        """Ask a check of work that is done."""
        try:
            error = check()
        except Exception as e:
            error = e
        if error is not None:
            self.add(ticket, name, error)

    def before(self, ticket: int) -> Upstream | None:
        """The failure that work behind a ticket suffers from, as that work's own."""
        if self.first is None or self.first[0] > ticket:
            return None
        _, name, error = self.first
        failure = Upstream(f"[{name}] on {self.place}: {error}")
        failure.__cause__ = error
        return failure

    def take(self) -> list[tuple[str, BaseException]]:
        """Return what has failed since this was last asked, as ``QueueDriver.failures`` gives it."""
        failed, self.failed = self.failed, []
        if failed:
            self.first = None
        return failed


class DataCheck:
    """The check of one launch: ``code()`` reads its error word, ``array`` copies a tensor of the device to the host.
    The op is evaluated with NumPy on the operands as they are then, for the error in its own words."""

    def __init__(
        self, op: Any, operands: Sequence[Any], params: tuple, code: Callable[[], int], array: Callable[[Buffer], Any]
    ) -> None:
        self.op, self.operands, self.params = op, tuple(operands), params
        self.code, self.array = code, array

    def __call__(self) -> BaseException | None:
        code = self.code()
        if not code:
            return None
        try:
            operands = [self.array(x) if isinstance(x, Buffer) else x for x in self.operands]
            evaluate(self.op, operands, self.params)
        except Exception as error:
            return error
        return RuntimeError(f"[{self.op.name}] kernel failed with code {code}")


def read_array(x: Buffer, read: Callable[[int, int], bytes]) -> np.ndarray:
    """The elements of a tensor of a device as they are now; ``read(address, nbytes)`` gives bytes of its memory."""
    if 0 in x.shape:
        return np.empty(x.shape, x.dtype.numpy)
    reach = [(n - 1) * s for n, s in zip(x.shape, x.strides)]
    first, last = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    item = x.dtype.itemsize
    data = read(x.pointer + first * item, (last - first + 1) * item)
    return np.ndarray(x.shape, x.dtype.numpy, data, -first * item, [s * item for s in x.strides])
