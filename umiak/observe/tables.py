"""Profiles as tables of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from umiak.observe.event import (
    BACKWARD,
    FORWARD,
    INNER,
    KERNEL,
    LOADER,
    OPERATOR,
    OPTIMIZER,
    PROGRAM,
    STEP,
    USER,
    Event,
)
from umiak.observe.profile import Profile, merged, outermost

UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
MODEL = (LOADER, FORWARD, BACKWARD, OPTIMIZER)
COPIES = frozenset("assign cast concat copy gather pad reshape scatter scatter_view stack transpose".split())


@dataclass
class Row:
    """Events of one name. ``kernels``: nanoseconds of the kernels inside; ``flops`` of their work."""

    name: str
    times: list[int] = field(default_factory=list)
    kernels: list[int] = field(default_factory=list)
    flops: int = 0
    bytes: int = 0
    memory: int = 0
    inner: dict[str, Row] = field(default_factory=dict)

    def add(self, duration: int, kernels: Sequence[Event] = ()) -> None:
        self.times.append(duration)
        self.kernels.append(sum(k.duration for k in kernels))
        self.flops += sum(k.args.get("flops", 0) for k in kernels)
        self.bytes += sum(k.args.get("bytes", 0) for k in kernels)


# What rows are sorted by, the largest first (for minima the smallest).
KEYS: dict[str, Callable[[Row], float]] = {
    "CPUTotal": lambda r: -sum(r.times),
    "CPUAvg": lambda r: -sum(r.times) / len(r.times),
    "CPUMax": lambda r: -max(r.times),
    "CPUMin": lambda r: min(r.times),
    "GPUTotal": lambda r: -sum(r.kernels),
    "GPUAvg": lambda r: -sum(r.kernels) / len(r.kernels),
    "GPUMax": lambda r: -max(r.kernels),
    "GPUMin": lambda r: min(r.kernels),
}


class Tables:
    """The tables of one profile. ``unit`` of times; ``key`` of ``KEYS``; ``detail``: kernels below their ops;
    ``apart``: one table per thread."""

    def __init__(
        self, profile: Profile, unit: str = "ms", key: str = "CPUTotal", detail: bool = True, apart: bool = False
    ) -> None:
        self.profile, self.unit, self.key, self.detail, self.apart = profile, unit, KEYS[key], detail, apart
        self.scale = UNITS[unit]
        self.kernels = profile.kernels_of()
        steps = list(profile.of(STEP))
        self.overall = merged(steps) if steps else profile.end - profile.start

    # --- pieces of text

    def time(self, ns: float) -> str:
        return f"{ns / self.scale:.3f}"

    def times(self, times: Sequence[int], overall: float) -> str:
        total = sum(times)
        parts = [total, total / len(times), max(times), min(times)]
        return " / ".join([*map(self.time, parts), _share(total, overall)])

    def table(self, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
        lines = [list(head), *map(list, rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        rule = "  ".join("-" * w for w in widths)
        body = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines]
        return "\n".join([title.center(len(rule), "-"), body[0], rule, *body[1:], "-" * len(rule)])

    def threads(self, events: Iterable[Event]) -> list[tuple[str, list[Event]]]:
        """The events by thread where they are wanted apart, with a title each."""
        events = list(events)
        if not self.apart:
            return [("", events)]
        names = self.profile.threads
        return [
            (f" on thread {names.get(t, '?')} ({t})", [e for e in events if e.thread == t])
            for t in sorted({e.thread for e in events})
        ]

    # --- the views

    def device(self) -> str:
        seconds = (self.profile.end - self.profile.start) / 1e9
        cores = os.cpu_count() or 1
        process, everything = (100 * b / seconds / cores if seconds > 0 else 0.0 for b in self.profile.busy)
        rows = [["this process", f"{process:.2f}"], ["everything", f"{everything:.2f}"]]
        return self.table("Device Summary", ["processors in use by", f"% of {cores} cores"], rows)

    def overview(self) -> str:
        kinds = dict.fromkeys([STEP, LOADER, FORWARD, BACKWARD, OPTIMIZER, PROGRAM, USER, OPERATOR, INNER, KERNEL])
        kinds.update(dict.fromkeys(e.kind for e in self.profile.events))
        rows = []
        for kind in kinds:
            events = list(self.profile.of(kind))
            if events:
                calls = len(outermost(events))
                busy = merged(events)
                rows.append([kind, str(calls), self.time(busy), _share(busy, self.overall)])
        head = ["kind", "calls", f"time ({self.unit})", "% of steps"]
        note = "Time in which at least one event of the kind ran, per thread; kinds lie inside of each other."
        return self.table("Overview Summary", head, rows) + f"\n{note}"

    def model(self) -> str:
        rows, rest = [], self.overall
        steps = [e.duration for e in self.profile.of(STEP)]
        head = ["part", "calls", self.heading("time"), self.heading("kernels")]
        if steps:
            rows.append([STEP, str(len(steps)), self.times(steps, self.overall), ""])
        for kind in MODEL:
            events = outermost(self.profile.of(kind))
            if events:
                spent = [e.duration for e in events]
                inside = [sum(k.duration for k in self.kernels.get(id(e), ())) for e in events]
                rows.append(
                    [f"  {kind}", str(len(events)), self.times(spent, self.overall), self.times(inside, self.overall)]
                )
                rest -= merged(events)
        if rows:
            rows.append(["  Others", "-", f"{self.time(max(rest, 0))} ({_share(max(rest, 0), self.overall)} %)", ""])
        return self.table("Model Summary", head, rows)

    def heading(self, column: str) -> str:
        return f"{column} ({self.unit}): total / mean / max / min / %"

    def operators(self) -> str:
        found = []
        for thread, events in self.threads(self.profile.of(OPERATOR)):
            rows: dict[str, Row] = {}
            for e in events:
                inside = self.kernels.get(id(e), [])
                row = rows.setdefault(e.name, Row(e.name))
                row.add(e.duration, inside)
                for k in inside:
                    row.inner.setdefault(k.name, Row(k.name)).add(k.duration, [k])
            overall = sum(sum(r.times) for r in rows.values())
            lines = []
            for row in sorted(rows.values(), key=self.key):
                lines.append(
                    [
                        row.name,
                        str(len(row.times)),
                        self.times(row.times, overall),
                        self.times(row.kernels, overall),
                        str(row.flops),
                    ]
                )
                if self.detail:
                    for inner in sorted(row.inner.values(), key=self.key):
                        spent = self.times(inner.times, sum(row.times))
                        lines.append([f"  {inner.name}", str(len(inner.times)), "", spent, str(inner.flops)])
            head = ["op", "calls", self.heading("time"), self.heading("kernels"), "flops"]
            found.append(self.table(f"Operator Summary{thread}", head, lines))
        return "\n\n".join(found)

    def kernel(self) -> str:
        rows: dict[str, Row] = {}
        kernels = list(self.profile.of(KERNEL))
        measured = {k.name for k in kernels if k.thread < 0}  # by a device, on rows of its own
        for k in kernels:
            row = rows.setdefault(k.name, Row(k.name))
            if k.thread >= 0 and k.name in measured:  # the host's launch, which knows what the kernel moves
                row.bytes, row.flops = row.bytes + k.args.get("bytes", 0), row.flops + k.args.get("flops", 0)
            else:
                row.add(k.duration, [k])
        overall = sum(sum(r.times) for r in rows.values())
        lines = []
        for row in sorted(rows.values(), key=self.key):
            total = sum(row.times) or 1
            rates = [f"{row.bytes / total:.2f}", f"{row.flops / total:.2f}"]
            lines.append([row.name, str(len(row.times)), self.times(row.times, overall), *rates])
        return self.table("Kernel Summary", ["kernel", "launches", self.heading("time"), "GB/s", "GF/s"], lines)

    def copies(self) -> str:
        rows: dict[str, Row] = {}
        for e in self.profile.of(OPERATOR, INNER):
            if e.name in COPIES:
                rows.setdefault(e.name, Row(e.name)).add(e.duration, self.kernels.get(id(e), []))
        lines = [
            [r.name, str(len(r.times)), self.times(r.times, self.overall), str(r.bytes)]
            for r in sorted(rows.values(), key=self.key)
        ]
        return self.table("Memory Manipulation Summary", ["op", "calls", self.heading("time"), "bytes"], lines)

    def user(self) -> str:
        found = []
        for thread, events in self.threads(self.profile.of(USER)):
            rows: dict[str, Row] = {}
            for e in events:
                rows.setdefault(e.name, Row(e.name)).add(e.duration, self.kernels.get(id(e), []))
            lines = [
                [r.name, str(len(r.times)), self.times(r.times, self.overall), self.times(r.kernels, self.overall)]
                for r in sorted(rows.values(), key=self.key)
            ]
            head = ["range", "calls", self.heading("time"), self.heading("kernels")]
            found.append(self.table(f"UserDefined Summary{thread}", head, lines))
        return "\n\n".join(found)

    def memory(self) -> str:
        tables = []
        for place, stats in self.profile.peaks.items():
            own = [c for c in self.profile.counters if c.place == place]
            lines = []
            if own:
                lines.append(["while recording", str(max(c.allocated for c in own)), str(max(c.reserved for c in own))])
            lines.append(["since the start of the process", str(stats["allocated_peak"]), str(stats["reserved_peak"])])
            tables.append(self.table(f"Memory Summary of {place}", ["most bytes", "in tensors", "held"], lines))
        changes: dict[str, list[int]] = {}
        for e in self.profile.of(OPERATOR):
            if e.memory:
                changes.setdefault(e.name, []).append(e.memory)
        if changes:
            lines = [
                [name, str(len(c)), str(sum(x for x in c if x > 0)), str(-sum(x for x in c if x < 0)), str(max(c))]
                for name, c in sorted(changes.items(), key=lambda item: -sum(item[1]))
            ]
            head = ["op", "calls", "bytes taken", "bytes given back", "most in a call"]
            tables.append(self.table("Memory of Operators", head, lines))
        return "\n\n".join(tables)


def _share(part: float, overall: float) -> str:
    return f"{100 * part / overall:.2f}" if overall else "-"


# Views in the order in which they are shown, by the names of the public enumeration.
VIEWS: dict[str, Callable[[Tables], str]] = {
    "DeviceView": Tables.device,
    "OverView": Tables.overview,
    "ModelView": Tables.model,
    "OperatorView": Tables.operators,
    "KernelView": Tables.kernel,
    "MemoryManipulationView": Tables.copies,
    "UDFView": Tables.user,
    "MemoryView": Tables.memory,
}
# What a view needs to be there for the table to be shown among all.
NEEDS: dict[str, Callable[[Profile], bool]] = {
    "MemoryManipulationView": lambda r: any(e.name in COPIES for e in r.of(OPERATOR, INNER)),
    "UDFView": lambda r: any(r.of(USER)),
    "MemoryView": lambda r: bool(r.counters),
}


def summary(tables: Tables, views: Iterable[str] | None = None) -> str:
    """The tables of ``views``, or of all that have rows."""
    chosen = [v for v in VIEWS if (v in views if views is not None else NEEDS.get(v, lambda r: True)(tables.profile))]
    return "\n\n".join(VIEWS[v](tables) for v in chosen)
