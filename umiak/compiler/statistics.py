"""Counts and times per kernel: how often each was compiled, found or launched, and what that took.

Kernels go by their names; ``reset`` starts again. Launches are timed inside ``timed_launches()`` and while
``FLAGS_time_kernels`` is on; otherwise dispatch does not know of this module.
"""

from __future__ import annotations

import atexit
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from umiak.core.launches import time_launches
from umiak.core.tensor import Tensor
from umiak.util import flags
from umiak.util.locks import fork_safe

COUNTS = ("compiled", "from_disk", "from_memory")  # how a request for code was met
ROWS = 4096  # a process that makes kernels without end counts the rest together
OTHERS = "(others)"


@dataclass
class Launches:
    """Launches of one kernel: how many, their time and that of the shortest, and the work they did."""

    count: int = 0
    seconds: float = 0.0
    least: float = math.inf
    bytes: int = 0
    flops: int = 0


@dataclass
class Kernel:
    """Compilations of one kernel; ``seconds`` by stage."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    seconds: dict[str, float] = field(default_factory=dict)


_lock = fork_safe(threading.Lock())
_kernels: dict[str, Kernel] = {}
_launches: dict[str, Launches] = {}


def _kernel(name: str) -> Kernel:
    return _kernels.setdefault(name if name in _kernels or len(_kernels) < ROWS else OTHERS, Kernel())


def count(name: str, event: str) -> None:
    """One more ``event`` (of ``COUNTS``) for the kernel."""
    with _lock:
        _kernel(name).counts[event] += 1


def add_time(name: str, stage: str, seconds: float) -> None:
    with _lock:
        times = _kernel(name).seconds
        times[stage] = times.get(stage, 0.0) + seconds


@contextmanager
def timed(name: str, stage: str) -> Iterator[None]:
    """Add the time of the block to ``stage`` of the kernel."""
    start = time.perf_counter()
    try:
        yield
    finally:
        add_time(name, stage, time.perf_counter() - start)


def record_launch(name: str, seconds: float, bytes: int = 0, flops: int = 0) -> None:
    """One launch of the kernel, the memory it touched and the operations it did."""
    with _lock:
        row = _launches.setdefault(name if name in _launches or len(_launches) < ROWS else OTHERS, Launches())
        row.count += 1
        row.seconds += seconds
        row.least = min(row.least, seconds)
        row.bytes += bytes
        row.flops += flops


# --- timing launches -------------------------------------------------------------------------------------------------


class _Spent(threading.local):
    seconds = 0.0


_spent = _Spent()
# Seconds that this thread has spent inside of launches on what later launches find done: code, primitives of libraries.
MAKING: list[Callable[[], float]] = [lambda: _spent.seconds]


@contextmanager
def apart() -> Iterator[None]:
    """The block takes part in a launch but is not to be counted as such: it makes what is launched."""
    before, start = _spent.seconds, time.perf_counter()
    try:
        yield
    finally:
        _spent.seconds = before + time.perf_counter() - start  # once, however deep blocks are nested


LISTENERS: list[Callable[[str, float, int, int], None]] = []  # told of each launch just after it, on its thread


class Timer:
    """Timer of launches, which dispatch calls (``time_launches``)."""

    def start(self) -> float:
        return sum(seconds() for seconds in MAKING)

    def stop(self, token: float, seconds: float, plan: Any, operands: tuple, outputs: tuple, dims: Any) -> None:
        seconds -= sum(seconds() for seconds in MAKING) - token
        work = (plan.work or _moved)(operands, outputs, dims)
        name = plan.kernel_name or plan.op.name
        record_launch(name, max(seconds, 0.0), *work)
        for listener in LISTENERS:
            listener(name, max(seconds, 0.0), *work)


def _moved(operands: tuple, outputs: tuple, dims: Any) -> tuple[int, int]:
    """Of a kernel that says nothing of its work: the bytes of its tensors."""
    tensors = [x for x in (*operands, *outputs) if isinstance(x, Tensor)]
    return sum(x.dtype.nbytes(math.prod(x.shape)) for x in tensors), 0


_timers = 0  # that want launches to be timed
_flagged = False


def _time(more: int) -> None:
    global _timers
    with _lock:
        _timers += more
        time_launches(Timer() if _timers else None)


@contextmanager
def timed_launches() -> Iterator[None]:
    """Launches of all threads are timed inside; ``launches()`` and ``launch_table()`` have what was found.

    >>> with timed_launches():
    ...     pass
    """
    _time(1)
    try:
        yield
    finally:
        _time(-1)


def _switch(on: bool) -> None:
    global _flagged
    if on != _flagged:
        _flagged = on
        _time(1 if on else -1)
        (atexit.register if on else atexit.unregister)(_report)


def _report() -> None:
    print(launch_table(), file=sys.stderr)


FLAG = flags.define(
    "time_kernels", False, "time every launch; a table of kernels is printed at the end", on_change=_switch
)


def reset() -> None:
    with _lock:
        _kernels.clear()
        _launches.clear()


def total(event: str) -> int:
    """Return the number of times that ``event`` (of ``COUNTS``) happened, over all kernels."""
    with _lock:
        return sum(kernel.counts[event] for kernel in _kernels.values())


def kernels() -> dict[str, Kernel]:
    """A copy of the compilations by kernel."""
    with _lock:
        return {name: Kernel(dict(row.counts), dict(row.seconds)) for name, row in _kernels.items()}


def launches() -> dict[str, Launches]:
    """A copy of the launches by kernel."""
    with _lock:
        return {name: replace(row) for name, row in _launches.items()}


def compile_table() -> str:
    """Compilations, the dearest kernel first: counts, and milliseconds by stage."""
    with _lock:
        stages = sorted({stage for kernel in _kernels.values() for stage in kernel.seconds})
        rows = [
            (sum(kernel.seconds.values()), [name, *map(str, kernel.counts.values()), *_milliseconds(kernel, stages)])
            for name, kernel in _kernels.items()
        ]
    return _table(["kernel", *COUNTS, *(f"{stage} ms" for stage in stages)], rows)


def launch_table(least: Callable[[Launches], float] | None = None) -> str:
    """Launches, the dearest kernel first: milliseconds in all, microseconds each and of the shortest, GB/s and GF/s.

    ``least`` gives the seconds that the work of a row must take; their share of those that it took is one more column.
    """
    rows = []
    for name, row in launches().items():
        rate = 1e-9 / row.seconds if row.seconds > 0 else 0.0
        times = [row.seconds * 1e3, row.seconds / row.count * 1e6, row.least * 1e6, row.bytes * rate, row.flops * rate]
        cells = [f"{times[0]:.3f}", *(f"{x:.2f}" for x in times[1:])]
        if least is not None:
            cells.append(f"{least(row) * rate * 1e11:.1f}")
        rows.append((row.seconds, [name, str(row.count), *cells]))
    head = ["kernel", "launches", "ms", "us each", "us least", "GB/s", "GF/s"]
    return _table(head if least is None else [*head, "% of roof"], rows)


def _milliseconds(kernel: Kernel, stages: list[str]) -> list[str]:
    return [f"{kernel.seconds[stage] * 1e3:.3f}" if stage in kernel.seconds else "-" for stage in stages]


def _table(head: list[str], rows: list[tuple[float, list[str]]]) -> str:
    """Names to the left, numbers to the right, the largest weight on top."""
    lines = [head, *(cells for _, cells in sorted(rows, key=lambda row: (-row[0], row[1][0])))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))]) for cells in lines
    )
