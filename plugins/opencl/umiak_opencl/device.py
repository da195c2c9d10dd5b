"""One device: its memory, its streams (command queues, in order), and what failed on them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import pyopencl as cl

from umiak.backends.late_failures import Check, LateFailures
from umiak.core import stream
from umiak.core.place import Place
from umiak.core.stream import Event, QueueDriver
from umiak.util import flags
from umiak_opencl.memory import Memory

DEVICE_TYPE = "opencl"
THREADS_OF_CPUS, THREADS_OF_OTHERS = 64, 256  # of a work-group
FLUSH_EVERY = 16  # submissions: a driver may wait for more before it begins

PLATFORM = flags.define(
    "opencl_platform", "", "part of the name of the platforms whose devices are used; read at the first use of a device"
)


class Submission(NamedTuple):
    """Work of a queue. ``check`` tells, when it is done, what its data made fail."""

    ticket: int
    event: cl.Event
    name: str
    check: Check | None


Commands: TypeAlias = "cl.Event | list[cl.Event]"


class Queue:
    """The work of one stream."""

    def __init__(self, device: Device, id: int) -> None:
        self.device = device
        self.stream = stream.stream(device.place.index, id)
        self.lock = threading.RLock()
        self.recorded: list[tuple[str, cl.Event]] | None = None
        self.renew(device.records)
        self.work: deque[Submission] = deque()
        self.completed = 0
        self.failures = LateFailures(device.place.name)
        self.unflushed = 0

    def renew(self, record: bool) -> None:
        """Go on with another queue of the driver, which takes the time of commands where they are to be recorded."""
        properties = cl.command_queue_properties.PROFILING_ENABLE if record else 0
        self.commands = cl.CommandQueue(self.device.context, self.device.device, properties=properties)
        self.recorded = [] if record else None

    def record(self, on: bool) -> list[tuple[str, cl.Event]]:
        """Begin or end to record commands, when all of them are done; those that were, with their names."""
        with self.lock:
            self.flush()
            self.commands.finish()
            recorded = self.recorded or []
            self.renew(on)
            return recorded

    def put(self, name: str, enqueue: Callable[[cl.CommandQueue], Commands], check: Check | None = None) -> int:
        """Hand work in, in one or more commands; ``enqueue`` gives the event of the last one, or all. Its ticket."""
        with self.lock:  # tickets are in the order of the commands
            given = enqueue(self.commands)
            events = given if isinstance(given, list) else [given]
            ticket = self.stream.submit()
            self.work.append(Submission(ticket, events[-1], name, check))
            if self.recorded is not None:
                self.recorded += [(name, event) for event in events]
            self.unflushed += 1
            if self.unflushed >= FLUSH_EVERY:
                self.flush()
        return ticket

    def flush(self) -> None:
        if self.unflushed:
            self.unflushed = 0
            if not self.device.begins_at_once:
                self.commands.flush()

    def poll(self) -> int:
        """The last ticket up to which all is done, well or not."""
        with self.device.finishing:
            self.flush()
            while self.work:
                status = self.work[0].event.command_execution_status
                if status > cl.command_execution_status.COMPLETE:
                    break
                self.finish(self.work.popleft(), status)
            return self.completed

    def finish(self, done: Submission, status: int) -> None:
        if status < 0:
            error = RuntimeError(f"the driver stopped it with {cl.status_code.to_string(status, str(status))}")
            self.failures.add(done.ticket, done.name, error)
        elif done.check is not None:
            self.failures.check(done.ticket, done.name, done.check)
        self.completed = max(self.completed, done.ticket)  # a check may ask other queues, and these this one again

    def event(self, ticket: int) -> cl.Event | None:
        """The event behind which all up to a ticket is done; None where it is already."""
        with self.device.finishing:
            return next((x.event for x in list(self.work) if x.ticket >= ticket), None)

    def wait(self, ticket: int) -> None:
        if self.poll() >= ticket:
            return
        event = self.event(ticket)
        if event is not None:
            with suppress(cl.Error):  # its status says so, and whoever waits is told
                event.wait()
        while self.poll() < ticket:
            self.commands.finish()

    def failure_before(self, ticket: int) -> BaseException | None:
        with self.device.finishing:
            return self.failures.before(ticket)


class Device(QueueDriver):
    """A device of OpenCL, and the driver of its streams."""

    def __init__(self, number: int, device: cl.Device) -> None:
        self.number, self.device = number, device
        self.context = cl.Context([device])
        self.memory = Memory(self.context, device)
        self.nothing = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 64)  # for arguments that nobody reads
        self.on_processor = bool(device.type & cl.device_type.CPU)
        self.threads = THREADS_OF_CPUS if self.on_processor else THREADS_OF_OTHERS
        self.units = device.max_compute_units
        self.most_shared = device.local_mem_size  # bytes of a work-group
        # PoCL begins work when it is handed in, and to flush it is to wait for all of it.
        self.begins_at_once = device.platform.name == "Portable Computing Language"
        self.queues: dict[int, Queue] = {}
        self.records = False
        self.lock = threading.RLock()
        self.finishing = threading.RLock()  # of its queues, see LateFailures

    @property
    def place(self) -> Place:
        return Place(DEVICE_TYPE, self.number)

    def queue(self, id: int) -> Queue:
        if (queue := self.queues.get(id)) is not None:
            return queue  # without the lock, see LateFailures
        with self.lock:
            if id not in self.queues:
                self.queues[id] = Queue(self, id)
            return self.queues[id]

    def record(self, on: bool) -> dict[int, list[tuple[str, cl.Event]]]:
        """Begin or end to record the commands of all streams; those that were, by stream."""
        with self.lock:
            self.records = on
            queues = list(self.queues.items())
        return {id: queue.record(on) for id, queue in queues}

    # --- the driver of its streams ---

    def completed(self, id: int) -> int:
        return self.queue(id).poll()

    def synchronize(self, id: int, ticket: int) -> None:
        self.queue(id).wait(ticket)

    def after(self, id: int, event: Event) -> None:
        if event.stream.place != self.place.index:
            event.synchronize()  # another device's: the host waits
            return
        other, ticket = self.queue(event.stream.id), event.ticket
        other.poll()
        before = other.event(ticket)
        if before is None and other.failure_before(ticket) is None:
            return

        def check() -> BaseException | None:
            other.poll()
            return other.failure_before(ticket)

        waited = [] if before is None else [before]
        other.flush()
        self.queue(id).put("wait", lambda q: cl.enqueue_barrier(q, wait_for=waited), check)

    def failures(self, id: int) -> list[tuple[str, BaseException]]:
        queue = self.queue(id)
        with self.finishing:
            return queue.failures.take()


INTERPRETERS = ("Oclgrind",)  # they check all that is done, and take their time


def devices() -> list[cl.Device]:
    """The devices of all platforms (of those that ``FLAGS_opencl_platform`` names), as the system lists them; those of
    interpreters come last."""
    try:
        platforms = [p for p in cl.get_platforms() if PLATFORM.value.lower() in p.name.lower()]
        platforms.sort(key=lambda p: p.name in INTERPRETERS)
        return [d for p in platforms for d in p.get_devices()]
    except cl.LogicError:  # the loader has no platform at all
        return []
