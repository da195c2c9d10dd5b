"""What the profiler finds: events, with the threads and the memory they belong to."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Kinds of events. Ranges may nest; kernels lie inside of what launched them.
STEP = "ProfileStep"
LOADER = "Dataloader"
FORWARD = "Forward"
BACKWARD = "Backward"
OPTIMIZER = "Optimization"
OPERATOR = "Operator"
INNER = "OperatorInner"  # an op that another one runs: the calls of a gradient
PROGRAM = "Program"  # a run of a captured function
KERNEL = "Kernel"
COMMUNICATION = "Communication"  # from the start of a collective to its end, while its thread goes on
USER = "PythonUserDefined"


class Event:
    """Something that took time on a thread. Times are nanoseconds of ``time.perf_counter_ns``."""

    __slots__ = ("args", "end", "in_op", "kind", "memory", "name", "parent", "start", "thread")

    def __init__(self, name: str, kind: str, start: int, thread: int, parent: Event | None = None) -> None:
        self.name, self.kind, self.start, self.thread, self.parent = name, kind, start, thread, parent
        self.end = start
        self.args: dict[str, Any] = {}
        self.memory = 0  # bytes that tensors hold more at the end than at the start
        self.in_op: bool = parent is not None and (parent.in_op or parent.kind == OPERATOR)

    @property
    def duration(self) -> int:
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Event({self.name!r}, {self.kind}, {self.duration / 1e3:.1f} us, thread {self.thread})"


@dataclass
class Counter:
    """Bytes of a place at a time."""

    time: int
    place: str
    allocated: int
    reserved: int


@dataclass
class Recording:
    """Events in the order of their ends. ``threads`` has their names by number; the numbers are those of the system."""

    events: list[Event] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    threads: dict[int, str] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    wall: float = 0.0  # seconds of the epoch at the start
    busy: tuple[float, float] = (0.0, 0.0)  # processor seconds of this process, and of all that can be seen
    peaks: dict[str, dict[str, int]] = field(default_factory=dict)  # memory statistics by place at the end

    def of(self, *kinds: str) -> Iterator[Event]:
        return (e for e in self.events if e.kind in kinds)

    def kernels_of(self) -> dict[int, list[Event]]:
        """By identity of an event, the kernels that it launched, also through others."""
        found: dict[int, list[Event]] = {}
        for kernel in self.of(KERNEL):
            outer = kernel.parent
            while outer is not None:
                found.setdefault(id(outer), []).append(kernel)
                outer = outer.parent
        return found

    def save(self, path: str | os.PathLike, format: str = "json") -> None:
        """Write a Chrome trace, which ``load`` of the same module reads."""
        from umiak.observe import trace

        trace.save(self, path, format)


def merged(events: Iterable[Event]) -> int:
    """Nanoseconds in which at least one of the events ran on its thread, summed over threads."""
    total = 0
    by_thread: dict[int, list[Event]] = {}
    for e in events:
        by_thread.setdefault(e.thread, []).append(e)
    for own in by_thread.values():
        reached = 0
        for e in sorted(own, key=lambda e: e.start):
            total += max(0, e.end - max(e.start, reached))
            reached = max(reached, e.end)
    return total


def outermost(events: Iterable[Event]) -> list[Event]:
    """Those that lie in no other of their kind."""
    found = []
    for e in events:
        outer = e.parent
        while outer is not None and outer.kind != e.kind:
            outer = outer.parent
        if outer is None:
            found.append(e)
    return found


def processor_seconds() -> tuple[float, float]:
    """Processor time of this process, and of everything on the machine (0 where the system does not tell)."""
    try:
        with open("/proc/stat") as f:
            fields = [int(n) for n in f.readline().split()[1:9]]
        ticks = sum(fields) - fields[3] - fields[4]  # all but idle and waiting
        everything = ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        everything = 0.0
    return time.process_time(), everything
