"""A stream of a plug-in's device: the work that was handed in, in order, and what failed of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from umiak.backends.late_failures import Check, LateFailures
from umiak.backends.plugin.library import Library, PluginError
from umiak.backends.plugin.structures import Status
from umiak.core import stream

if TYPE_CHECKING:
    from umiak.backends.plugin.device import PluginDevice

Outcome = bool | PluginError  # False: it is under way; True: done; else why it failed


def asynchronous(library: Library) -> bool:
    """Return whether work can be told to be done by events; else it is waited for where it is handed in."""
    return library.has("create_event", "destroy_event", "record_event", "synchronize_event")


class Mark:
    """An event of the plug-in. It goes back to the device's stock with its last user, who may be waiting for it."""

    __slots__ = ("device", "handle")

    def __init__(self, device: PluginDevice) -> None:
        self.device = device
        self.handle: Any = device.idle_events.pop() if device.idle_events else device.create("create_event")

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            self.device.idle_events.append(handle)


class Submission(NamedTuple):
    """Work that was handed in, and the event behind it. ``check`` tells, when it is done, what its data made fail;
    ``keep`` lives until then."""

    ticket: int
    mark: Mark
    name: str
    check: Check | None
    keep: Any


class Queue:
    """The work of one stream. ``handle`` is the plug-in's; None where it has no streams."""

    def __init__(self, device: PluginDevice, id: int) -> None:
        self.device = device
        self.handle = device.create("create_stream") if device.library.has("create_stream") else None
        self.stream = stream.stream(device.place.index, id)
        self.lock = threading.RLock()
        self.work: deque[Submission] = deque()
        self.completed = 0
        self.failures = LateFailures(device.place.name)

    def put(
        self, name: str, submit: Callable[[Any], None], check: Check | None = None, keep: Any = None
    ) -> Mark | None:
        """Hand work in: ``submit(handle)`` calls the plug-in. The event behind it; None where it is done already."""
        device = self.device
        with self.lock:  # tickets are in the order of the work
            device.choose()
            if not asynchronous(device.library):
                submit(self.handle)
                device.settle(self.handle)
                return None
            try:
                submit(self.handle)
                mark = Mark(device)
                device.call("record_event", self.handle, mark.handle)
            except PluginError:
                with suppress(PluginError):  # nothing tells any more when what was handed in is done
                    device.settle(self.handle)
                raise
            self.work.append(Submission(self.stream.submit(), mark, name, check, keep))
            return mark

    def poll(self) -> int:
        """The last ticket up to which all is done, well or not."""
        with self.device.finishing:
            while self.work:
                outcome = self.outcome(self.work[0].mark)
                if outcome is False:
                    break
                self._finish(self.work.popleft(), outcome)
            return self.completed

    def _finish(self, done: Submission, outcome: Outcome) -> None:
        if isinstance(outcome, PluginError):
            self.failures.add(done.ticket, done.name, outcome)
        elif done.check is not None:
            self.failures.check(done.ticket, done.name, done.check)
        self.completed = max(self.completed, done.ticket)  # a check may ask other queues, and these this one again

    def mark(self, ticket: int) -> Mark | None:
        """The event behind which all up to a ticket is done; None where it is already."""
        with self.device.finishing:
            return next((x.mark for x in list(self.work) if x.ticket >= ticket), None)

    def wait(self, ticket: int) -> None:
        """Wait until all up to a ticket is done, well or not; other threads go on."""
        while self.poll() < ticket:
            mark = self.mark(ticket)
            if mark is None:
                continue
            outcome = self._told("synchronize_event", mark)
            with self.device.finishing:
                # Another thread may have been first; a check may ask other queues, and these this one again.
                last = next((x.ticket for x in list(self.work) if x.mark is mark), 0)
                while self.work and self.work[0].ticket <= last:
                    done = self.work.popleft()
                    # What comes before is over, too; it may have failed on its own.
                    self._finish(done, outcome if done.mark is mark else self.outcome(done.mark) or True)

    def outcome(self, mark: Mark) -> Outcome:
        """Return at once what became of the work before an event; a plug-in without such a question is never sure."""
        return self._told("query_event", mark) if self.device.library.has("query_event") else False

    def _told(self, name: str, mark: Mark) -> Outcome:
        device = self.device
        try:
            device.choose()
            status = device.library.status(name, device.pointer, mark.handle)
            if name == "query_event" and status == Status.C_FAILED:  # not yet
                return False
            device.library.check(name, status, device.place.name)
        except PluginError as error:
            return error
        return True
