"""One device of a plug-in: the driver of its streams, and calls of the plug-in's functions for it."""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p
from typing import Any

from umiak.backends.plugin.library import Library, PluginError, log
from umiak.backends.plugin.memory import Memory
from umiak.backends.plugin.streams import Queue
from umiak.core.place import Place
from umiak.core.stream import Event, QueueDriver


class PluginDevice(QueueDriver):
    """A device. ``number`` counts the devices that the plug-in shows, ``id`` is its own name of it."""

    def __init__(self, library: Library, number: int, id: int) -> None:
        self.library = library
        self.place = Place(library.device_type, number)
        self.c_device = library.device(id)
        self.pointer = byref(self.c_device)
        self.lock = threading.RLock()
        self.finishing = threading.RLock()  # of its queues, see LateFailures
        self.queues: dict[int, Queue] = {}
        self.idle_events: list[Any] = []
        if library.has("init_device"):
            library.call("init_device", self.pointer, on=self.place.name)
        self.memory = Memory(self)

    def choose(self) -> None:
        """Be the current device of the calling thread."""
        self.library.choose(self.c_device, self.place.name)

    def call(self, name: str, *args: Any) -> None:
        """Call a function that takes the device first, and has to succeed."""
        self.choose()
        self.library.call(name, self.pointer, *args, on=self.place.name)

    def create(self, name: str) -> c_void_p:
        """Call a function that takes the device and where to write what it makes."""
        made = c_void_p()
        self.call(name, byref(made))
        return made

    def queue(self, id: int) -> Queue:
        """The stream of a number."""
        if (queue := self.queues.get(id)) is not None:
            return queue  # without the lock, see LateFailures
        with self.lock:
            if id not in self.queues:
                self.queues[id] = Queue(self, id)
            return self.queues[id]

    def settle(self, handle: Any) -> None:
        """Wait for a stream by other means than events."""
        if handle is not None and self.library.has("synchronize_stream"):
            self.call("synchronize_stream", handle)
        elif self.library.has("synchronize_device"):
            self.call("synchronize_device")

    def close(self) -> None:
        """Give back streams and events, when all work is done, and end the device. Errors are logged."""
        steps: list[tuple[str, tuple]] = []
        for queue in self.queues.values():
            queue.wait(queue.stream.submitted)
            if queue.handle is not None and self.library.has("destroy_stream"):
                steps.append(("destroy_stream", (queue.handle,)))
        events, self.idle_events = self.idle_events, []
        steps += [("destroy_event", (handle,)) for handle in events]
        if self.library.has("deinit_device"):
            steps.append(("deinit_device", ()))
        for name, args in steps:
            try:
                self.call(name, *args)
            except PluginError as error:
                log.warning("%s", error)

    # --- the driver of its streams

    def completed(self, id: int) -> int:
        return self.queue(id).poll()

    def synchronize(self, id: int, ticket: int) -> None:
        self.queue(id).wait(ticket)

    def after(self, id: int, event: Event) -> None:
        if event.stream.place != self.place.index or not self.library.has("stream_wait_event"):
            event.synchronize()  # the host waits
            return
        other, ticket = self.queue(event.stream.id), event.ticket
        other.poll()
        before = other.mark(ticket)
        if before is None and other.failures.before(ticket) is None:
            return

        def check() -> BaseException | None:
            other.poll()
            return other.failures.before(ticket)

        def submit(handle: Any) -> None:
            if before is not None:
                self.call("stream_wait_event", handle, before.handle)

        self.queue(id).put("wait", submit, check, before)

    def failures(self, id: int) -> list[tuple[str, BaseException]]:
        queue = self.queue(id)
        with self.finishing:
            return queue.failures.take()

    def native_handle(self, id: int) -> int:
        handle = self.queue(id).handle
        return 0 if handle is None else handle.value or 0
