"""Counts and times per kernel: how often each was compiled, found or launched, and what that took.

Kernels go by their names; ``reset`` starts again. The launch half is filled by whoever times launches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from umiak.util.locks import fork_safe

COUNTS = ("compiled", "from_disk", "from_memory")  # how a request for code was met
ROWS = 4096  # a process that makes kernels without end counts the rest together
OTHERS = "(others)"


@dataclass
class Launches:
    """Launches of one kernel: how many, their time, and the work they did."""

    count: int = 0
    seconds: float = 0.0
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
        row.bytes += bytes
        row.flops += flops


def reset() -> None:
    with _lock:
        _kernels.clear()
        _launches.clear()


def total(event: str) -> int:
    """How often ``event`` (of ``COUNTS``) happened, over all kernels."""
    with _lock:
        return sum(kernel.counts[event] for kernel in _kernels.values())


def kernels() -> dict[str, Kernel]:
    """A copy of the compilations by kernel."""
    with _lock:
        return {name: Kernel(dict(row.counts), dict(row.seconds)) for name, row in _kernels.items()}


def launches() -> dict[str, Launches]:
    """A copy of the launches by kernel."""
    with _lock:
        return {name: Launches(row.count, row.seconds, row.bytes, row.flops) for name, row in _launches.items()}


def compile_table() -> str:
    """Compilations, the dearest kernel first: counts, and milliseconds by stage."""
    with _lock:
        stages = sorted({stage for kernel in _kernels.values() for stage in kernel.seconds})
        rows = [
            (sum(kernel.seconds.values()), [name, *map(str, kernel.counts.values()), *_milliseconds(kernel, stages)])
            for name, kernel in _kernels.items()
        ]
    return _table(["kernel", *COUNTS, *(f"{stage} ms" for stage in stages)], rows)


def launch_table() -> str:
    """Launches, the dearest kernel first: milliseconds in all, microseconds each, GB/s and GF/s."""
    rows = []
    for name, row in launches().items():
        rate = 1e-9 / row.seconds if row.seconds > 0 else 0.0
        cells = [f"{row.seconds * 1e3:.3f}", f"{row.seconds / row.count * 1e6:.2f}"]
        rows.append((row.seconds, [name, str(row.count), *cells, f"{row.bytes * rate:.2f}", f"{row.flops * rate:.2f}"]))
    return _table(["kernel", "launches", "ms", "us each", "GB/s", "GF/s"], rows)


def _milliseconds(kernel: Kernel, stages: list[str]) -> list[str]:
    return [f"{kernel.seconds[stage] * 1e3:.3f}" if stage in kernel.seconds else "-" for stage in stages]


def _table(head: list[str], rows: list[tuple[float, list[str]]]) -> str:
    """Names to the left, numbers to the right, the largest weight on top."""
    lines = [head, *(cells for _, cells in sorted(rows, key=lambda row: (-row[0], row[1][0])))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))]) for cells in lines
    )
