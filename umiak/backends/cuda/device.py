"""One device: its context, its memory, its streams, and what failed on them.

A *mark* is an event of the driver behind all that a stream has got so far. Marks are set when somebody asks, not with
each launch; a wait may therefore cover work that was handed in between an event and the wait for it.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from umiak.backends.cuda import targets
from umiak.backends.cuda.driver import PEER_ACCESS_ALREADY_ENABLED, CudaError, DeviceAttribute, Driver
from umiak.backends.cuda.ipc import Ipc
from umiak.backends.cuda.memory import MappedMemory, Memory, PinnedBlocks
from umiak.backends.cuda.modules import Modules
from umiak.backends.cuda.nest_calls import Line, Lines, wait_for_each
from umiak.backends.late_failures import Check, LateFailures
from umiak.backends.tile_matmul import Cores
from umiak.core import storage, stream
from umiak.core.buffer import Buffer
from umiak.core.place import Place
from umiak.core.storage import Storage
from umiak.core.stream import Event, QueueDriver
from umiak.core.tensor import Tensor
from umiak.util import flags
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.backends.cuda.launches import Given, Launch
    from umiak.backends.cuda.recordings import GraphSequence

DEVICE_TYPE = "gpu"
THREADS = 256  # of a block, for kernels of the loop IR

MAPPED = flags.define(
    "cuda_mapped_memory", False, "memory of CUDA devices is mapped to reserved addresses; read at a device's first use"
)
FINISHING = threading.RLock()  # of all queues, see LateFailures: streams wait for those of other devices, too
DEVICES: weakref.WeakValueDictionary[int, Device] = weakref.WeakValueDictionary()  # by index of the place

_EACH = "work of CUDA devices is done when the call that hands it in returns; what fails, fails there"
EACH = tuple(
    flags.define(name, False, _EACH, on_change=partial(wait_for_each, bit))
    for bit, name in enumerate(("benchmark", "check_cuda_error"))
)


def _limit(mib: int) -> None:
    if mib < 0:
        raise op_error(ValueError, "FLAGS_gpu_memory_limit_mb", "0 MiB or more", mib)
    for device in DEVICES.values():
        storage.allocator(device.place.index).limit = mib << 20


LIMIT = flags.define(
    "gpu_memory_limit_mb", 0, "MiB that each CUDA device may hold; 0: all that it has", on_change=_limit
)


class Recorded(NamedTuple):
    """A launch in a graph: its node, and what the kernel was given."""

    node: int
    launch: Launch
    given: Given


class Draw(NamedTuple):
    """Launches of a capture that draw random numbers: which ones, the seed and the offset that they got, and where the
    two are in their scalar pack."""

    launches: slice
    seed: int
    offset: int
    at_seed: int
    at_offset: int


class Capture:
    """Work that a stream records into a graph in place of doing it.

    ``settable``: numbers that launches are given will be set anew in the graph, so that random numbers may be drawn.
    ``draws``: those of draws alone will be; None: not even those.
    ``addresses`` that the graph will use; ``storages`` of other streams' memory among them, which are pinned; ``keep``
    what has to live as long; ``pending`` what is to be done after each launch of the graph; ``launches`` of kernels of
    the loop IR; ``others`` counts the work that is no nest; ``thread`` records; ``before``: the ticket of what the
    stream got before.
    """

    def __init__(self, before: int, settable: bool = False, draws: bool = False) -> None:
        self.before, self.settable, self.thread = before, settable, threading.get_ident()
        self.draws: list[Draw] | None = [] if draws else None
        self.addresses: set[int] = set()
        self.storages: dict[int, Storage] = {}  # by id
        self.keep: list[object] = []
        self.pending: list[tuple[str, Check]] = []
        self.launches: list[Recorded] = []
        self.work = 0
        self.others = 0

    def note(self, own: stream.Stream, operands: Iterable[object], nest: bool) -> None:
        """Note that work on the stream ``own`` uses tensors."""
        self.work += 1
        self.others += not nest
        for x in operands:
            if isinstance(x, (Buffer, Tensor)):
                self.addresses.add(x.data_ptr() if isinstance(x, Tensor) else x.pointer)
                storage, key = x.storage, hash(x.storage)
                if (storage.place, storage.stream) != (own.place, own.id) and key not in self.storages:
                    storage.pin()
                    self.storages[key] = storage

    def launched(self, queue: Queue, launch: Launch, given: Given) -> None:
        """Note a launch that the stream has recorded last."""
        self.keep.append(launch.module)
        self.addresses.update((*given.pointers, given.local, given.global_scratch, given.error))
        node = queue.device.driver.stream_captured_node(queue.handle)
        self.launches.append(Recorded(node, launch, given))


class Probe:
    """Notes of a run that may be captured later: whether somebody has waited for the device, or the host worked."""

    def __init__(self) -> None:
        self.interrupted = False


class CaptureError(RuntimeError):
    """Work that a graph cannot record."""


class Pending(NamedTuple):
    """Duties when work up to a ticket is done: ``check`` tells what its data made fail, ``done`` gives back
    what it used."""

    ticket: int
    name: str
    check: Check | None
    done: Callable[[], None] | None


class Queue(Line):
    """The work of one stream."""

    capture: Capture | None

    def __init__(self, device: Device, id: int) -> None:
        super().__init__(device.place.index, id, device.enter().stream_create())
        self.device = device
        self.stream = stream.stream(device.place.index, id)
        self.lock = threading.RLock()
        self.marks: deque[tuple[int, int]] = deque()  # tickets, and the events behind them
        self.pending: deque[Pending] = deque()
        self.completed = 0
        self.marked = 0
        self.failures = LateFailures(device.place.name)

    def put(
        self,
        name: str,
        enqueue: Callable[[int], object],
        check: Check | None = None,
        done: Callable[[], None] | None = None,
        uses: Iterable[object] = (),
        nest: bool = False,
    ) -> int:
        """Hand work in: ``enqueue`` gets the handle of the stream; its tensors are among ``uses``, also those of memory
        that it takes for itself. Its ticket.

        ``nest``: its kernels take the numbers of one call as their scalar pack, and no other way.
        """
        with self.lock:  # tickets are in the order of the work
            self.device.enter()
            enqueue(self.handle)
            if self.capture is None and (check is not None or done is not None):
                # First of all: whoever finishes what has a ticket finishes this, too.
                self.pending.append(Pending(self.stream.submitted + 1, name, check, done))
            ticket = self.stream.submit()
            if self.capture is not None:
                # What the work uses stays as it is: the graph will use it again.
                self.capture.note(self.stream, uses, nest)
                self.capture.keep.append(done)
                if check is not None:
                    self.capture.pending.append((name, check))
        if (EACH[0].value or EACH[1].value) and self.capture is None:
            self.stream.synchronize()
        return ticket

    def mark(self) -> None:
        """Set a mark behind what has none yet. Streams that are captured have none before the capture ends."""
        submitted = self.stream.submitted
        if self.marked < submitted and self.capture is None:
            driver = self.device.enter()
            event = self.device.event(self.device.events)
            driver.event_record(event, self.handle)
            self.marks.append((submitted, event))
            self.marked = submitted

    def poll(self) -> int:
        """The last ticket up to which all is done, well or not."""
        with FINISHING:
            try:
                if self.device.lost is not None:
                    raise self.device.lost
                self.mark()
                driver = self.device.enter()
                while self.marks and driver.event_query(self.marks[0][1]):
                    ticket, event = self.marks.popleft()
                    self.device.events.append(event)
                    self.finish(ticket)
            except CudaError as error:
                self.lose(error)
            return self.completed

    def finish(self, ticket: int) -> None:
        while self.pending and self.pending[0].ticket <= ticket:
            work = self.pending.popleft()
            if work.check is not None:
                self.failures.check(work.ticket, work.name, work.check)
            if work.done is not None:
                work.done()
        self.completed = max(self.completed, ticket)  # a check may ask other streams, and these this one again

    def lose(self, error: CudaError) -> None:
        """The driver gives nothing of the device any more: what is not done has failed."""
        first = self.device.lost is None
        self.device.lost = self.device.lost or error
        if self.completed < self.stream.submitted or first:
            name = self.pending[0].name if self.pending else "device"
            self.failures.add(self.completed + 1, name, error)
        self.marks.clear()
        self.pending.clear()
        self.completed = self.marked = self.stream.submitted

    def event(self, ticket: int) -> int:
        """The event behind which all up to a ticket is done; 0 where it is already. What another thread records is
        nothing to wait for, since it is not done before its graph is launched: the event is that of the work before."""
        with FINISHING:
            if ticket > self.marked:
                self.refuse_waiting()
            if self.poll() >= ticket:
                return 0
            return next((event for t, event in self.marks if t >= ticket), self.marks[-1][1] if self.marks else 0)

    def refuse_waiting(self) -> None:
        """Raise within a capture of this thread: what it records is not done."""
        if self.device.probe is not None:
            self.device.probe.interrupted = True
        if self.capture is not None and self.capture.thread == threading.get_ident():
            place = self.device.place.name
            raise CaptureError(
                f"[graph] requires work that nobody waits for, got a wait for {place} in a function that is captured. "
                "What reads a tensor's elements (numpy, item, bool) has to be outside."
            )

    def wait(self, ticket: int) -> None:
        while True:
            with FINISHING:
                event = self.event(ticket)
                if not event and self.completed < ticket:
                    raise CaptureError(
                        f"[synchronize] requires a stream that no other thread records, got stream {self.stream.id} of "
                        f"{self.device.place.name}. Wait until its graph has ended"
                    )
            if not event:
                return
            try:
                self.device.enter().event_synchronize(event)
            except CudaError as error:
                with FINISHING:
                    self.lose(error)


class TimedEvent:
    """An event of the driver that notes the time (:class:`umiak.backends.base.TimeMark`)."""

    def __init__(self, queue: Queue) -> None:
        self.device = device = queue.device
        with queue.lock:
            driver = device.enter()
            self.event = device.event(device.timed, timing=True)
            driver.event_record(self.event, queue.handle)

    def milliseconds_to(self, later: TimedEvent) -> float:
        driver = self.device.enter()
        for mark in (self, later):
            driver.event_synchronize(mark.event)
        return driver.event_elapsed_time(self.event, later.event)

    def __del__(self) -> None:
        if hasattr(self, "event"):
            self.device.timed.append(self.event)


class Device(QueueDriver):
    """A CUDA device, and the driver of its streams."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number
        self.place = Place(DEVICE_TYPE, number)
        self.context = driver.device_primary_ctx_retain(number)
        self.lost: CudaError | None = None  # the failure after which the driver gives nothing more
        self.lock = threading.RLock()
        self.queues: dict[int, Queue] = {}
        self.recording: GraphSequence | None = None  # what is being captured
        self.probe: Probe | None = None  # of a run that may be captured later
        self.events: list[int] = []  # of the driver, not in use
        self.timed: list[int] = []  # likewise, of those that note the time
        self.peers: list[int] = []  # numbers of devices whose memory this one reaches
        self.launch_entry = driver.launch_entry()
        self.lines = Lines(self.place.index, driver.current_entry(), self.context, driver.check)
        self.units = self.attribute(DeviceAttribute.MULTIPROCESSOR_COUNT)
        self.most_shared = self.attribute(DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        self.modules = Modules(self)
        self.pinned = PinnedBlocks(self)
        self.memory = MappedMemory(self) if MAPPED.value else Memory(self)
        self.ipc = Ipc(self)

    def attribute(self, attribute: DeviceAttribute) -> int:
        return self.driver.device_get_attribute(self.number, attribute)

    @property
    def capability(self) -> tuple[int, int]:
        return (
            self.attribute(DeviceAttribute.COMPUTE_CAPABILITY_MAJOR),
            self.attribute(DeviceAttribute.COMPUTE_CAPABILITY_MINOR),
        )

    @cached_property
    def cores(self) -> Cores:
        """Abilities of its tensor cores, as the PTX that it gets has them."""
        return targets.cores(*self.modules.target)

    def enter(self) -> Driver:
        """Make the context current to this thread; the driver. Other libraries change it, so it is not remembered."""
        self.driver.ctx_set_current(self.context)
        return self.driver

    def event(self, unused: list[int], timing: bool = False) -> int:
        """An event of the driver: one of those that are not in use, or a new one. Queues have locks of their own, so
        another thread may take the last one meanwhile."""
        try:
            return unused.pop()
        except IndexError:
            return self.driver.event_create(timing=timing)

    def queue(self, id: int) -> Queue:
        if (queue := self.queues.get(id)) is not None:
            return queue  # without the lock: within FINISHING, nobody waits for whoever opens another
        with self.lock:
            if id not in self.queues:
                self.queues[id] = Queue(self, id)
                self.lines.add(id, self.queues[id])
            return self.queues[id]

    def connect(self, other: Device) -> None:
        """Let this device read and write another's memory without the host, where the two can."""
        with self.lock:
            if other.number in self.peers or not self.driver.device_can_access_peer(self.number, other.number):
                return
            try:
                self.enter().ctx_enable_peer_access(other.context)
            except CudaError as error:
                if error.code != PEER_ACCESS_ALREADY_ENABLED:
                    raise
            self.peers.append(other.number)

    def close(self) -> None:
        """Wait for all work and give everything back to the driver. Memory of the allocator is not; it goes first."""
        driver = self.enter()
        for queue in self.queues.values():
            if self.lost is None:
                queue.wait(queue.stream.submitted)
                driver.stream_destroy(queue.handle)
        self.ipc.close()
        if self.lost is None:
            self.modules.close()
            self.pinned.trim()
            self.memory.close()
            for event in (*self.events, *self.timed):
                driver.event_destroy(event)
            driver.device_primary_ctx_release(self.number)
        self.lines.clear()
        self.queues.clear()
        self.events.clear()
        self.timed.clear()
        driver.ctx_set_current(0)

    # --- the driver of its streams ---

    def completed(self, id: int) -> int:
        return self.queue(id).poll()

    def synchronize(self, id: int, ticket: int) -> None:
        self.queue(id).wait(ticket)

    def scheduled(self, id: int) -> int | None:
        """The ticket before what another thread records, which is not handed to the device; None where nobody does."""
        capture = self.queue(id).capture
        return None if capture is None or capture.thread == threading.get_ident() else capture.before

    def after(self, id: int, event: Event) -> None:
        if self.queue(id).capture is not None:
            event.synchronize()  # a graph waits for nothing outside of it, and is launched when that is done
            return
        source = DEVICES.get(event.stream.place)
        if source is None:
            event.synchronize()  # another kind of device's: the host waits
            return
        other, ticket = source.queue(event.stream.id), event.ticket
        before = other.event(ticket)
        if not before and other.failures.before(ticket) is None:
            return

        def check() -> BaseException | None:
            other.poll()
            return other.failures.before(ticket)

        def enqueue(handle: int) -> None:
            if before:
                self.driver.stream_wait_event(handle, before)

        self.queue(id).put("wait", enqueue, check)

    def failures(self, id: int) -> list[tuple[str, BaseException]]:
        queue = self.queue(id)
        with FINISHING:
            return queue.failures.take()

    def native_handle(self, id: int) -> int:
        queue = self.queue(id)
        with queue.lock:
            queue.stream.submit()  # whoever asks hands in work of its own: a mark that is set from now on is behind it
        return queue.handle
