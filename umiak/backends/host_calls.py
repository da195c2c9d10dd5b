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


class HostCalls:
    """The calls of one backend that ran on the host, by the name of the op."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def counts(self) -> dict[str, int]:
        """Return the number of calls since the start or the last reset."""
        with self._lock:
            return dict(self._counts)

    def reset(self) -> None:
        """Count from zero. The first call of each op after it is logged again."""
        with self._lock:
            self._counts.clear()

    def note(self, name: str, place: Place) -> None:
        """Count a call; log the first."""
        with self._lock:
            self._counts[name] += 1
            first = self._counts[name] == 1
        if first:
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
