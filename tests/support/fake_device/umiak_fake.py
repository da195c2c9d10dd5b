"""Two devices that do all that makes a real one difficult, in plain Python.

Their memory has addresses that mean nothing to the host: whoever reads one as a pointer crashes. Kernels return when
they are queued, and run later on a thread per stream; a kernel that fails is told of at the next synchronisation. The
kernels are the NumPy definitions of ops, over the private memory.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from umiak import backends
from umiak.core import stream
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.stream import Event, QueueDriver
from umiak.memory import caching
from umiak.util import packing

COUNT = 2
SIZE = 1 << 28  # bytes of a device; the system gives them when they are first written
PATIENCE = 60.0  # seconds after which a wait is a deadlock of the test


class Memory:
    """The memory of one device, and the numbers by which it is known outside."""

    def __init__(self, number: int) -> None:
        # No address of x86-64 or AArch64 has these bits: a load faults.
        self.base = (0xFA << 48) + (number << 40)
        self.bytes = np.zeros(SIZE, np.uint8)
        self.bytes[:64] = 0xFF
        self.end = 64
        self.free: dict[int, list[int]] = {}  # size -> addresses

    def take(self, nbytes: int) -> int:
        size = -(-nbytes // 64) * 64
        if self.free.get(size):
            return self.free[size].pop()
        if self.end + size > SIZE:
            return 0
        self.end += size
        return self.base + self.end - size

    def give(self, address: int, nbytes: int) -> None:
        size = -(-nbytes // 64) * 64
        self.at(address, size)[:] = 0xFF  # NaN: what is read of it shows
        self.free.setdefault(size, []).append(address)

    def at(self, address: int, nbytes: int) -> np.ndarray:
        start = address - self.base
        if not 0 <= start <= start + nbytes <= SIZE:
            raise MemoryError(f"address {address:#x} is none of this device's")
        return self.bytes[start : start + nbytes]

    def move(self, target: int, source: int, nbytes: int) -> None:
        self.at(target, nbytes)[:] = self.at(source, nbytes)

    def read(self, address: int, nbytes: int) -> bytes:
        return self.at(address, nbytes).tobytes()

    def write(self, address: int, data: bytes) -> None:
        self.at(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def array(self, span: Span) -> np.ndarray:
        """The elements of a span, over this memory; of packed ones a copy."""
        if 0 in span.shape:
            return np.empty(span.shape, span.dtype)
        if span.packed:
            raw = self.at(span.address, -(-math.prod(span.shape) // packing.PER_BYTE))
            return packing.unpack(raw, math.prod(span.shape), span.dtype).reshape(span.shape)
        strides = [s * span.dtype.itemsize for s in span.strides]
        return np.ndarray(span.shape, span.dtype, self.bytes, span.address - self.base, strides)


class Span:
    """Where elements were when work on them was queued. It keeps nothing alive, as a device would not."""

    def __init__(self, buffer: Buffer) -> None:
        self.address, self.shape, self.strides = buffer.pointer, buffer.shape, buffer.strides
        self.dtype, self.packed = buffer.dtype.numpy, buffer.dtype.is_packed


class Queue:
    """The work of one stream, done by a thread in order."""

    def __init__(self, device: Device, id: int) -> None:
        self.device, self.id = device, id
        self.changed = threading.Condition()
        self.jobs: deque[tuple[int, str, Callable[[], None]]] = deque()
        self.completed = 0
        self.failed: list[tuple[str, BaseException]] = []  # not told yet
        self.first: tuple[int, str, BaseException] | None = None
        threading.Thread(target=self.work, name=f"fake:{device.number} stream {id}", daemon=True).start()

    def put(self, name: str, job: Callable[[], None]) -> int:
        with self.changed:  # threads that share the stream: tickets are in the order of the jobs
            ticket = stream.stream(self.device.place.index, self.id).submit()
            self.jobs.append((ticket, name, job))
            self.changed.notify_all()
        return ticket

    def work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.jobs)
            self.device.running.wait()
            ticket, name, job = self.jobs[0]
            error = None
            try:
                job()
            except BaseException as e:
                error = e
            with self.changed:
                self.jobs.popleft()
                del job
                if error is not None:
                    self.failed.append((name, error))
                    self.first = self.first or (ticket, name, error)
                self.completed = ticket
                self.changed.notify_all()

    def wait(self, ticket: int) -> None:
        with self.device.awaited(), self.changed:
            if not self.changed.wait_for(lambda: self.completed >= ticket, PATIENCE):
                raise TimeoutError(f"stream {self.id} of {self.device.place.name} is held at ticket {self.completed}")


class Upstream(Exception):
    """Work of another stream, on which this one's depends, has failed."""


class Device(QueueDriver):
    """One device: its memory and its streams."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.memory = Memory(number)
        self.queues: dict[int, Queue] = {}
        self.running = threading.Event()
        self.running.set()
        self.waiting = 0
        self.lazy = False  # nothing runs while nobody waits
        self.lock = threading.Lock()
        self.copies: list[tuple[str, str, int]] = []  # from, to, bytes

    @property
    def place(self) -> Place:
        return Place("fake", self.number)

    def queue(self, id: int) -> Queue:
        with self.lock:
            if id not in self.queues:
                self.queues[id] = Queue(self, id)
            return self.queues[id]

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Somebody waits for this device."""
        with self.lock:
            self.waiting += 1
            if self.lazy:
                self.running.set()
        try:
            yield
        finally:
            with self.lock:
                self.waiting -= 1
                if self.lazy and not self.waiting:
                    self.running.clear()

    def completed(self, id: int) -> int:
        return self.queue(id).completed

    def synchronize(self, id: int, ticket: int) -> None:
        self.queue(id).wait(ticket)

    def after(self, id: int, event: Event) -> None:
        device = backend.devices.get(event.stream.place)
        if device is None:  # another backend's
            event.synchronize()
            return
        other, ticket = device.queue(event.stream.id), event.ticket

        def wait() -> None:
            other.wait(ticket)
            if other.first is not None and other.first[0] <= ticket:
                _, name, error = other.first
                raise Upstream(f"[{name}] on {device.place.name}: {error}") from error

        self.queue(id).put("wait", wait)

    def failures(self, id: int) -> list[tuple[str, BaseException]]:
        queue = self.queue(id)
        with queue.changed:
            found, queue.failed = queue.failed, []
            queue.first = None if found else queue.first
        return found


class FakeBackend(backends.Backend):
    name = "fake"
    device_type = "fake"
    has_streams = True

    def __init__(self) -> None:
        self.devices: dict[int, Device] = {}  # by index of the place
        self.launched: list[str] = []  # names of ops, while somebody counts

    def device_count(self) -> int:
        return COUNT

    def device(self, place: Place) -> Device:
        if place.index not in self.devices:
            self.devices[place.index] = Device(place.device_id)
        return self.devices[place.index]

    def allocator(self, place: Place) -> Any:
        return caching.device_allocator(place.index, self.device(place).memory)

    def stream_driver(self, place: Place) -> Device:
        return self.device(place)

    def supports(self, op: Any) -> bool:
        return backends.get("ref").supports(op)

    def kernel(self, call: Any) -> backends.Kernel | None:
        found = backends.get("ref").kernel(call)
        if found is None:
            return None
        device = self.device(call.place)

        def run(op: Any, outs: list, ins: list, params: tuple) -> None:
            to = [Span(x) for x in outs]
            of = [Span(x) if isinstance(x, Buffer) else x for x in ins]

            def job() -> None:
                array = device.memory.array
                results = list(map(array, to))
                found.run(op, results, [array(x) if isinstance(x, Span) else x for x in of], params)
                for span, made in zip(to, results, strict=True):
                    if span.packed:
                        device.memory.write(span.address, packing.pack(made).tobytes())

            device.queue(current().get_stream(device.place)).put(op.name, job)

        return backends.Kernel(run=run)

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        a, b = (self.devices.get(x.place.index) for x in (target, source))
        nbytes = target.nbytes
        device = a or b
        device.copies.append((source.place.name, target.place.name, nbytes))
        if a is None:  # to the host, which waits
            to, of = target.host_bytes(), source.pointer
            device.queue(stream).put("copy", lambda: np.copyto(to, b.memory.at(of, nbytes)))
        elif b is None:
            data, to = source.host_bytes().copy(), target.pointer  # staged: the host may go on
            device.queue(stream).put("copy", lambda: a.memory.write(to, data.tobytes()))
        else:
            to, of = target.pointer, source.pointer
            device.queue(stream).put("copy", lambda: np.copyto(a.memory.at(to, nbytes), b.memory.at(of, nbytes)))
        return True

    @contextmanager
    def lazy(self) -> Iterator[None]:
        """What is queued on any device inside runs when somebody waits for that device, or after the end."""
        devices = [self.device(Place("fake", i)) for i in range(COUNT)]
        for device in devices:
            with device.lock:
                device.lazy = True
                if not device.waiting:
                    device.running.clear()
        try:
            yield
        finally:
            for device in devices:
                with device.lock:
                    device.lazy = False
                    device.running.set()

    @contextmanager
    def held(self, place: Place) -> Iterator[None]:
        """Nothing that is queued on a device inside begins before the end."""
        device = self.device(place)
        device.running.clear()
        try:
            yield
        finally:
            device.running.set()


backend = FakeBackend()
