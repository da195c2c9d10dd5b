"""Profile of a run: events, with the threads and the memory they belong to."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from umiak.observe import trace
from umiak.observe.event import KERNEL, Counter, Event
from umiak.util.errors import op_error


@dataclass
class Profile:
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
        """Return, by identity of an event, the kernels that it launched, also through others."""
        by_parent: dict[int, list[Event]] = {}
        for kernel in self.of(KERNEL):
            outer = kernel.parent
            while outer is not None:
                by_parent.setdefault(id(outer), []).append(kernel)
                outer = outer.parent
        return by_parent

    def save(self, path: str | os.PathLike, format: str = "json") -> None:
        """Write a Chrome trace, which :func:`load` reads."""
        trace.save(self, path, format)


def load(path: str | os.PathLike) -> Profile:
    """Read what ``Profile.save`` wrote. ValueError for anything else."""
    try:
        with open(path) as f:
            trace = json.load(f)
        return _profile(trace)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        got = f"{os.fspath(path)}: {error}"
        raise op_error(ValueError, "profiler", "a trace that the profiler has exported", got) from None


def _profile(data: dict[str, Any]) -> Profile:
    about = data["otherData"]
    if about["format"] != trace.FORMAT:
        raise ValueError(f"format {about['format']!r}")
    profile = Profile(end=int(about["seconds"] * 1e9), wall=float(about["wall"]), peaks=dict(about["peaks"]))
    profile.busy = (float(about["busy"][0]), float(about["busy"][1]))
    numbered: dict[int, Event] = {}
    rows: dict[int, int] = {}
    for x in data["traceEvents"]:
        args = x.get("args", {})
        if x["ph"] == "M" and x["name"] == "thread_name" and "number" in args:
            rows[x["tid"]] = rows[x["tid"] + 1] = args["number"]
            profile.threads[args["number"]] = str(args["name"]).removesuffix(f" ({args['number']})")
        elif x["ph"] == "C":
            place = x["name"].removeprefix("memory of ")
            profile.counters.append(Counter(round(x["ts"] * 1e3), place, args["allocated"], args["reserved"]))
        elif x["ph"] == "X":
            e = Event(str(x["name"]), str(x["cat"]), round(x["ts"] * 1e3), rows.get(x["tid"]) or args["thread"])
            e.end = e.start + round(x["dur"] * 1e3)
            e.parent = numbered.get(args.get("parent"))
            e.memory = args.get("memory", 0)
            e.args = {
                k: v
                for k, v in args.items()
                if k not in ("id", "parent", "memory", *(["thread"] if x["tid"] >= trace.BESIDE else []))
            }
            numbered[args["id"]] = e
            profile.events.append(e)
    profile.events.sort(key=lambda e: e.end)
    return profile


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
    """Return the events that lie in no other of their kind."""
    top = []
    for e in events:
        outer = e.parent
        while outer is not None and outer.kind != e.kind:
            outer = outer.parent
        if outer is None:
            top.append(e)
    return top


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
