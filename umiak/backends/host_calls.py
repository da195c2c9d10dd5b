"""Calls of ops that a device has no kernel for, on the host: operands are moved there and results back. They are
counted, and the first of each op is logged."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Any

from umiak.backends.base import Kernel
from umiak.backends.transfer import moved
from umiak.core import eager
from umiak.core.context import no_grad_guard, place_guard
from umiak.core.place import Place
from umiak.core.tensor import Tensor

CPU = Place("cpu")


class Counts:
    """Calls by the name of the op; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str) -> int:
        """Count one more; the count so far."""
        with self._lock:
            self._counts[name] += 1
            return self._counts[name]

    def read(self) -> dict[str, int]:
        """Return the number of calls since the start, or since :meth:`clear`."""
        with self._lock:
            return dict(self._counts)

    def clear(self) -> None:
        """Count from zero."""
        with self._lock:
            self._counts.clear()


class HostCalls(Counts):
    """The calls of one backend that ran on the host. After :meth:`clear` the first of each op is logged again."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._log = log

    def note(self, name: str, place: Place) -> None:
        """Count a call; log the first."""
        if self.add(name) == 1:
            self._log.warning("[%s] runs on the host: %s has no kernel for it", name, place.name)

    def kernel(self, call: Any) -> Kernel:
        """The kernel of a class of calls, on the host."""
        op, place = call.op, call.place

        def run(operands: tuple, params: tuple) -> tuple:
            self.note(op.name, place)
            with no_grad_guard(), place_guard(CPU):
                given = tuple(moved(x, CPU) if isinstance(x, Tensor) else x for x in operands)
                results = eager.apply(op, given, params)
                return tuple(moved(y, place) for y in (results if isinstance(results, (tuple, list)) else (results,)))

        return Kernel(call=run)
