"""Collects events while it is on: ops and gradients from dispatch and the tape, kernels from the timer of launches,
ranges from whoever names them.

Nothing is looked at while no collector is on: ops are seen through an observer bit, launches through dispatch's timer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from umiak import memory
from umiak.backends import Tracer
from umiak.compiler import statistics
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.observe.emitter import Emitter
from umiak.observe.event import BACKWARD, INNER, KERNEL, OPERATOR, Counter, Event
from umiak.observe.profile import Profile, processor_seconds
from umiak.runtime import observe
from umiak.util.clocks import clock_offset
from umiak.util.errors import op_error

now = time.perf_counter_ns


class _Thread(threading.local):
    """The open events of a thread, and its number."""

    def __init__(self) -> None:
        self.stack: list[Event] = []
        self.number = threading.get_native_id()
        self.seen: Profile | None = None


class EventCollector:
    """One at a time is on: ``start`` ... ``take`` (what there is so far) ... ``stop``.

    ``shapes`` notes operands, ``memory`` counts what tensors hold of the current place. ``tracers`` record what devices
    do. ``emitter`` gets all ranges as they begin and end; without ``keep``, nothing else is done with them.
    """

    active: EventCollector | None = None

    def __init__(
        self,
        shapes: bool = False,
        memory: bool = False,
        tracers: Sequence[Tracer] = (),
        emitter: Emitter | None = None,
        keep: bool = True,
    ) -> None:
        self.shapes, self.memory, self.tracers, self.emitter, self.keep = shapes, memory, tracers, emitter, keep
        self.profile = Profile()
        self.local = _Thread()
        self.held = 0
        self.stack: ExitStack | None = None

    def start(self) -> None:
        if EventCollector.active is not None:
            raise op_error(RuntimeError, "profiler", "that no other one is recording", "one that is", "Stop it first.")
        EventCollector.active = self
        self.stack = ExitStack()
        try:
            for tracer in self.tracers:
                tracer.start()
                self.stack.callback(self._collect, tracer)
        except BaseException:
            self.stack.close()
            EventCollector.active = self.stack = None
            raise
        self.stack.enter_context(statistics.timed_launches())
        statistics.LISTENERS.append(self.kernel)
        observe.watch(self)
        self.clear()

    def stop(self) -> Profile:
        assert self.stack is not None, "stop() without start()"
        observe.watch(None)
        statistics.LISTENERS.remove(self.kernel)
        stack, EventCollector.active, self.stack = self.stack, None, None
        stack.close()
        return self.take()

    def _collect(self, tracer: Tracer) -> None:
        """Add what a device has done to the profile, on a row for each of its lanes."""
        offset = clock_offset(now, time.time_ns)
        for span in tracer.stop():
            lane = next((n for n, name in self.profile.threads.items() if n < 0 and name == span.lane), 0)
            lane = lane or -1 - sum(n < 0 for n in self.profile.threads)  # threads of the system have other numbers
            e = Event(span.name, span.kind, span.start + offset, lane)
            e.end, e.args = (
                span.end + offset,
                {"bytes": 0, "flops": 0, **span.args} if span.kind == KERNEL else span.args,
            )
            if e.start >= self.profile.start:
                self.profile.threads[lane] = span.lane
                self.profile.events.append(e)
        self.profile.events.sort(key=lambda e: e.end)

    def clear(self) -> None:
        """Begin a new profile; what is open now is not part of it."""
        self.profile = Profile(start=now(), wall=time.time(), busy=processor_seconds())
        self.sample(force=True)

    def take(self) -> Profile:
        """Return the profile since the last call, in which ranges that are still open end here, and begin a new one."""
        self.sample(force=True)
        done = self.profile
        done.end = now()
        process, everything = processor_seconds()
        done.busy = process - done.busy[0], everything - done.busy[1]
        place = _place()
        done.peaks = {place.name: memory.stats(place)}
        self.clear()
        return done

    # --- ranges

    def begin(self, name: str, kind: Any) -> Event:
        """A range begins on this thread. The tape says whether it is a node of a run (True) or a run."""
        if kind is True:
            name, kind = f"{name}_grad", OPERATOR
        elif kind is False:
            kind = BACKWARD
        local = self.local
        stack = local.stack
        e = Event(name, kind, now(), local.number, stack[-1] if stack else None)
        if e.in_op and kind == OPERATOR:
            e.kind = INNER
        stack.append(e)
        if self.emitter is not None:
            self.emitter.push_range(name)
        return e

    def end(self, e: Event) -> None:
        e.end = now()
        self.leave(e)
        self.add(e, self.local)

    def leave(self, e: Event) -> None:
        """A range of this thread is over; those that were left open inside are, too."""
        stack = self.local.stack
        over = False
        while stack and not over:
            over = stack.pop() is e
            if self.emitter is not None:
                self.emitter.pop_range()

    def add(self, e: Event, local: _Thread) -> None:
        profile = self.profile
        if e.start < profile.start or not self.keep:
            return
        if local.seen is not profile:
            local.seen = profile
            profile.threads[local.number] = threading.current_thread().name
        profile.events.append(e)

    # --- ops

    def begin_op(self, op: Any, operands: tuple, params: tuple) -> Event:
        e = self.begin(op.name, OPERATOR)
        if self.shapes:
            e.args["inputs"] = [_shown(x) for x in operands]
            if op.attributes:
                e.args["attributes"] = {k: str(v) for k, v in op.attributes.items()}
            if params:
                e.args["params"] = [str(p) for p in params]
        if self.memory:
            e.memory = -memory.stats(_place())["allocated"]
        return e

    def end_op(self, e: Event, results: tuple) -> None:
        if self.shapes:
            e.args["outputs"] = [_shown(x) for x in results]
        if self.memory:
            e.memory += self.sample()
        self.end(e)

    def kernel(self, name: str, seconds: float, nbytes: int, flops: int) -> None:
        end = now()
        local = self.local
        stack = local.stack
        outer = stack[-1] if stack else None
        start = max(end - int(seconds * 1e9), outer.start if outer is not None else 0)
        e = Event(name, KERNEL, start, local.number, outer)
        e.end = end
        e.args = {"bytes": nbytes, "flops": flops}
        self.add(e, local)

    def span(self, name: str, kind: str, start: int, args: dict[str, Any]) -> None:
        """Something that went on beside this thread's ranges, from ``start`` (of :data:`now`) until now."""
        local = self.local
        e = Event(name, kind, start, local.number)
        e.end, e.args = now(), args
        self.add(e, local)

    # --- memory

    def sample(self, force: bool = False) -> int:
        """Note what tensors hold now, if that changed; returns it."""
        if not self.memory:
            return 0
        place = _place()
        stats = memory.stats(place)
        held = stats["allocated"]
        if force or held != self.held:
            self.held = held
            self.profile.counters.append(Counter(now(), place.name, held, stats["reserved"]))
        return held


def _place() -> Place:
    return current().place


def _shown(x: Any) -> Any:
    return f"{x.dtype.name}{list(x.shape)}" if isinstance(x, Tensor) else repr(x)


class Range:
    """A named range, recorded where a collector is on. Nothing is done where none is."""

    __slots__ = ("collector", "event", "kind", "name")

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self.collector: EventCollector | None = None

    def __enter__(self) -> Range:
        collector = self.collector = EventCollector.active
        if collector is not None:
            self.event = collector.begin(self.name, self.kind)
        return self

    def __exit__(self, *exc: object) -> None:
        collector, self.collector = self.collector, None
        if collector is None:
            return
        if collector is EventCollector.active:
            collector.end(self.event)
        else:
            collector.leave(self.event)
