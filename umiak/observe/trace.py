"""Profiles as Chrome traces, which Perfetto and chrome://tracing open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Every thread of the process
has a row for its ranges and ops, and one for the kernels that it launched; an arrow leads from an op to each kernel.
Communication goes on beside the work of threads: it has rows of its own, as many as there are collectives under way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from umiak.observe.event import COMMUNICATION, INNER, KERNEL, OPERATOR, PROGRAM, Event
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.observe.profile import Profile

FORMAT = "umiak.recording/1"
BESIDE = 1 << 16  # rows of communication: numbers from here on


def events_of(profile: Profile) -> list[dict[str, Any]]:
    """The trace events, times in microseconds from the start of the profile."""
    pid = os.getpid()

    def micro(t: int) -> float:
        return max(0, t - profile.start) / 1e3

    out: list[dict[str, Any]] = [_named(pid, 0, "process_name", name=f"process {pid}")]
    # Small numbers of our own, odd for threads and the next even one for their kernels: readers take 32 bits at most.
    rows = {thread: 2 * i + 1 for i, thread in enumerate(sorted(profile.threads))}
    with_kernels = {e.thread for e in profile.of(KERNEL)}
    for thread, row in rows.items():
        name = f"{profile.threads[thread]} ({thread})"
        out.append(_named(pid, row, "thread_name", name=name, number=thread))
        out.append(_named(pid, row, "thread_sort_index", sort_index=row))
        if thread in with_kernels:
            out.append(_named(pid, row + 1, "thread_name", name=f"{name}: kernels"))
            out.append(_named(pid, row + 1, "thread_sort_index", sort_index=row + 1))
    lanes = _lanes(profile.of(COMMUNICATION))
    for lane in sorted(set(lanes.values())):
        out.append(_named(pid, lane, "thread_name", name="communication"))
        out.append(_named(pid, lane, "thread_sort_index", sort_index=lane))
    # Outer events first where two begin together: readers take the order for the nesting.
    order = sorted(profile.events, key=lambda e: (e.start, -e.end))
    numbers = {id(e): i for i, e in enumerate(order)}
    for e in order:
        args: dict[str, Any] = {"id": numbers[id(e)], **e.args}
        if e.parent is not None and id(e.parent) in numbers:
            args["parent"] = numbers[id(e.parent)]
        if e.memory:
            args["memory"] = e.memory
        kernel = e.kind == KERNEL
        row = lanes.get(id(e), rows[e.thread] + kernel)
        if id(e) in lanes:
            args["thread"] = e.thread
        begin, length = micro(e.start), e.duration / 1e3
        out.append(
            {"ph": "X", "name": e.name, "cat": e.kind, "ts": begin, "dur": length, "pid": pid, "tid": row, "args": args}
        )
        if kernel and e.parent is not None and e.parent.kind in (OPERATOR, INNER, PROGRAM) and id(e.parent) in numbers:
            arrow = {"name": "launch", "cat": "launch", "id": numbers[id(e)], "pid": pid, "ts": begin}
            out.append({**arrow, "ph": "s", "tid": rows[e.thread]})
            out.append({**arrow, "ph": "f", "bp": "e", "tid": row})
    for c in profile.counters:
        held = {"allocated": c.allocated, "reserved": c.reserved}
        out.append({"ph": "C", "name": f"memory of {c.place}", "ts": micro(c.time), "pid": pid, "tid": 0, "args": held})
    return out


def _lanes(events: Iterable[Event]) -> dict[int, int]:
    """The rows of events that may overlap, by identity: each in the first that is free."""
    lanes: dict[int, int] = {}
    free: list[int] = []  # when a lane is free again
    for e in sorted(events, key=lambda e: e.start):
        at = next((i for i, end in enumerate(free) if end <= e.start), len(free))
        free[at : at + 1] = [e.end]
        lanes[id(e)] = BESIDE + at
    return lanes


def _named(pid: int, tid: int, event_name: str, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": event_name, "pid": pid, "tid": tid, "ts": 0, "args": args}


def save(profile: Profile, path: str | os.PathLike, format: str = "json") -> None:
    """Write a profile; ValueError for another format than ``"json"``."""
    if format != "json":
        raise op_error(
            ValueError,
            "profiler",
            "the format 'json'",
            repr(format),
            "The reference framework's protobuf files are its own; a Chrome trace holds the same events.",
        )
    about = {
        "format": FORMAT,
        "wall": profile.wall,
        "seconds": (profile.end - profile.start) / 1e9,
        "busy": list(profile.busy),
        "peaks": profile.peaks,
    }
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "w") as f:
        json.dump({"traceEvents": events_of(profile), "displayTimeUnit": "ms", "otherData": about}, f)
