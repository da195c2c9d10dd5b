"""Data of the profiler: events of several kinds, and memory in use over time."""

from __future__ import annotations

from dataclasses import dataclass
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
