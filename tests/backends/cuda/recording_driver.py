"""A CUDA driver without a device: it checks the order of calls and lifetimes, and does its work on the processor.

Memory of its devices is memory of this process; addresses are moved by ``TAG``, so that a host which reads one faults.
Streams run nothing before somebody waits, unless ``lazy`` is off, or in random order within ``shuffled``.
What a driver would take and a program should not do raises :class:`Violation`: use after free, memory freed under work
that uses it, events asked before they are recorded, modules unloaded in use, calls without a current context.
"""

from __future__ import annotations

import ctypes
import random
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from machine_code import Signature, sections, signature
from shared_blocks import SharedBlock

from umiak.backends.cuda.driver import CudaError, DeviceAttribute, FunctionAttribute

TAG = 0xC1 << 48  # no address of x86-64 or AArch64 begins so
GUARD = 64
FILL = 0xA5
CAPTURE_UNSUPPORTED = (900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")
GRANULARITY = 1 << 12
INLINE_SHARED, MOST_SHARED = 48 << 10, 227 << 10  # bytes of shared memory of a block: for everyone, and when asked for
LLVM_ARRAY = re.compile(r"^@\S+ = internal addrspace\(3\) global \[(\d+) x (\w+)\]", re.M)
PTX_ARRAY = re.compile(r"^\s*\.shared .*\.b8 \w+\[(\d+)\];", re.M)
CELLS = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}  # bytes
NODE_BITS = 20  # of a graph's number, those that count its nodes


class Violation(AssertionError):
    """A mistake that the driver of a machine may not notice."""


def require(condition: object, text: str) -> None:
    if not condition:
        raise Violation(text)


@dataclass
class Block:
    """Memory: of a device (``device`` 0 or more), of the host (-1, pinned), or reserved addresses."""

    address: int
    nbytes: int
    device: int
    data: np.ndarray | None = None  # with guards around it; None: nothing is mapped

    @property
    def host(self) -> int:
        assert self.data is not None
        return self.data.ctypes.data + GUARD

    @staticmethod
    def array(nbytes: int) -> np.ndarray:
        whole = np.full(nbytes + 3 * GUARD, FILL, np.uint8)
        first = -whole.ctypes.data % GUARD
        return whole[first : first + nbytes + 2 * GUARD]

    def intact(self) -> bool:
        data = self.data
        return data is None or bool((data[:GUARD] == FILL).all() and (data[-GUARD:] == FILL).all())


@dataclass
class Work:
    """Something that a stream does. ``uses`` are addresses, ``module`` that of a kernel."""

    name: str
    run: Callable[[], None]
    uses: tuple[int, ...] = ()
    module: int = 0
    kernel: tuple | None = None  # function, grid, threads, shared, arguments
    ready: Callable[[], bool] = lambda: True  # of a wait: whether it is over


@dataclass
class Stream:
    context: int
    work: deque[Work] = field(default_factory=deque)
    captured: list[Work] | None = None
    spoiled: bool = False
    graph: int = 0  # that is being captured


@dataclass
class Event:
    context: int
    timing: bool
    stream: int = 0
    recorded: int = 0  # of records, and how many of them are done
    done: int = 0


@dataclass
class Module:
    context: int
    image: str | bytes
    functions: dict[int, str] = field(default_factory=dict)


_WORD = ctypes.c_uint
CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t)
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_size_t, *[_WORD] * 7, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
)

Execute = Callable[["RecordingDriver", str, str, int, int, int, Sequence[int]], None]


class RecordingDriver:
    """:class:`umiak.backends.cuda.driver.Driver` of ``devices`` devices with ``memory`` bytes each.

    ``execute(driver, image, name, blocks, threads, shared, arguments)`` runs a kernel; without it they do nothing.
    ``bodies`` has functions ``(driver, grid, arguments)`` that stand for the machine code of kernels, by name.
    ``launched`` and ``calls`` list what came: of a launch name, blocks (of a grid of several dims all), threads, shared
    memory and arguments; ``special`` those with attributes besides.
    """

    def __init__(
        self,
        devices: int = 1,
        memory: int = 1 << 30,
        capability: tuple[int, int] = (9, 0),
        version: int = 12080,
        execute: Execute | None = None,
        lazy: bool = True,
    ) -> None:
        self.count, self.memory, self.capability, self.version = devices, memory, capability, version
        self.execute, self.lazy = execute, lazy
        self.order: random.Random | None = None  # that says which stream goes on
        self.lock = threading.RLock()
        self.current = threading.local()
        self.retained = [0] * devices
        self.free_bytes = [memory] * devices
        self.blocks: dict[int, Block] = {}
        self.physical: dict[int, tuple[int, np.ndarray, int]] = {}  # device, memory, where it is mapped
        self.streams: dict[int, Stream] = {}
        self.events: dict[int, Event] = {}
        self.modules: dict[int, Module] = {}
        self.graphs: dict[int, list[Work]] = {}
        self.instances: dict[int, list[Work]] = {}
        self.peers: set[tuple[int, int]] = set()
        self.exported: dict[int, SharedBlock] = {}  # blocks that processes share, by address
        self.opened: dict[int, bytes] = {}  # those among them of another process, with their handles
        self.calls: list[str] = []
        self.launched: list[tuple[str, int | tuple[int, int, int], int, int, tuple[int, ...]]] = []
        self.special: list[tuple[str, int, bool, bool]] = []  # name, cluster, cooperative, overlapping
        self.bodies: dict[str, Callable[[RecordingDriver, tuple[int, int, int], tuple[int, ...]], None]] = {}
        self.failing: dict[str, CudaError] = {}
        self.number = 0x100
        self.signatures: dict[int, Signature] = {}  # by function
        self.fixed: dict[int, int] = {}  # bytes of shared memory that a kernel's own arrays take, by function
        self.allowed: dict[int, int] = {}  # and that launches may have beside
        self.raised: BaseException | None = None  # within a call by its address
        self.entry = LAUNCH(self.launch)
        self.setting = CURRENT(self.set_current)

    # --- helpers ---

    def fail(self, call: str, code: int = 719, name: str = "CUDA_ERROR_LAUNCH_FAILED") -> None:
        """Let a function fail from now on."""
        self.failing[call] = CudaError(call, code, name)

    def called(self, name: str, context: bool = True) -> int:
        """Note a call; the current context."""
        self.calls.append(name)
        if name in self.failing:
            raise self.failing[name]
        current = getattr(self.current, "context", 0)
        require(current or not context, f"{name} without a current context")
        return current

    def new(self) -> int:
        self.number += 1
        return self.number

    def find(self, address: int, nbytes: int = 1) -> Block | None:
        """The block that bytes lie in; None where they are memory of the host that is not pinned."""
        for b in self.blocks.values():
            if b.address <= address < b.address + b.nbytes:
                require(
                    address + nbytes <= b.address + b.nbytes, f"{nbytes} bytes at {address:#x} run past their block"
                )
                require(b.data is not None, f"nothing is mapped at {address:#x}")
                return b
        require(address >> 48 != TAG >> 48, f"{address:#x} is used after it was freed, or never was memory")
        return None

    def host(self, address: int, nbytes: int = 1) -> int:
        """The address of this process behind an address of a device."""
        block = self.find(address, nbytes)
        return address if block is None else block.host + address - block.address

    def in_use(self, block: Block) -> str:
        for number, stream in self.streams.items():
            for work in stream.work:
                if any(block.address <= a < block.address + block.nbytes for a in work.uses):
                    return f"{work.name} on stream {number:#x}"
        return ""

    def stream(self, number: int, call: str) -> Stream:
        current = self.called(call)
        require(number in self.streams, f"{call} of a stream that there is not")
        require(self.streams[number].context == current, f"{call} in another context than its stream's")
        return self.streams[number]

    def put(self, number: int, work: Work) -> None:
        with self.lock:
            stream = self.streams[number]
            if stream.captured is not None:
                stream.captured.append(work)
                return
            stream.work.append(work)
            if not self.lazy:
                self.advance(number)
            elif self.order is not None:
                self.shuffle(self.order)

    def advance(self, number: int, until: Callable[[], bool] = lambda: False) -> None:
        """Do the work of a stream, up to a condition."""
        with self.lock:
            stream = self.streams[number]
            while stream.work and not until():
                if self.order is not None:
                    self.shuffle(self.order)
                if stream.work:
                    self.step(stream)

    def step(self, stream: Stream) -> None:
        work = stream.work[0]
        for address in work.uses:
            self.find(address)
        work.run()
        # A wait lets others run, and these perhaps this one.
        if stream.work and stream.work[0] is work:
            stream.work.popleft()

    def shuffle(self, r: random.Random) -> None:
        """Have some streams that could go on do so, perhaps."""
        while r.random() < 0.4:
            able = [s for s in self.streams.values() if s.work and s.work[0].ready()]
            if not able:
                return
            stream = r.choice(able)
            for _ in range(r.choice((1, 1, 2, 8))):
                if stream.work and stream.work[0].ready():
                    self.step(stream)

    @contextmanager
    def shuffled(self, r: random.Random) -> Iterator[None]:
        """Streams go on when they like, as ``r`` draws it."""
        self.order = r
        try:
            yield
        finally:
            self.order = None

    def unsupported(self, stream: Stream, call: str) -> None:
        """Some calls end a capture."""
        if stream.captured is not None:
            stream.spoiled = True
            raise CudaError(call, *CAPTURE_UNSUPPORTED)

    # --- devices and contexts ---

    def driver_get_version(self) -> int:
        return self.version

    def device_get_count(self) -> int:
        return self.count

    def device_get_name(self, device: int) -> str:
        return f"recording device {device}"

    def device_total_mem(self, device: int) -> int:
        return self.memory

    def device_get_attribute(self, device: int, attribute: DeviceAttribute) -> int:
        return {
            DeviceAttribute.MULTIPROCESSOR_COUNT: 1,
            DeviceAttribute.COMPUTE_CAPABILITY_MAJOR: self.capability[0],
            DeviceAttribute.COMPUTE_CAPABILITY_MINOR: self.capability[1],
            DeviceAttribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: MOST_SHARED,
            DeviceAttribute.VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: 1,
        }[attribute]

    def device_can_access_peer(self, device: int, peer: int) -> bool:
        return device != peer

    def device_primary_ctx_retain(self, device: int) -> int:
        self.called("cuDevicePrimaryCtxRetain", False)
        self.retained[device] += 1
        return device + 1

    def device_primary_ctx_release(self, device: int) -> None:
        self.called("cuDevicePrimaryCtxRelease", False)
        require(self.retained[device] > 0, "a context is released more often than retained")
        self.retained[device] -= 1

    def ctx_set_current(self, context: int) -> None:
        self.called("cuCtxSetCurrent", False)
        require(not context or self.retained[context - 1], "a context is made current that nobody retains")
        self.current.context = context

    def ctx_enable_peer_access(self, peer: int) -> None:
        pair = self.called("cuCtxEnablePeerAccess"), peer
        if pair in self.peers:
            raise CudaError("cuCtxEnablePeerAccess", 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED")
        self.peers.add(pair)

    # --- memory ---

    def mem_get_info(self) -> tuple[int, int]:
        return self.free_bytes[self.called("cuMemGetInfo") - 1], self.memory

    def spend(self, device: int, nbytes: int, call: str) -> None:
        if nbytes > self.free_bytes[device]:
            raise CudaError(call, 2, "CUDA_ERROR_OUT_OF_MEMORY")
        self.free_bytes[device] -= nbytes

    def mem_alloc(self, nbytes: int) -> int:
        device = self.called("cuMemAlloc") - 1
        require(nbytes > 0, "cuMemAlloc of no bytes")
        with self.lock:
            self.spend(device, nbytes, "cuMemAlloc")
            block = Block(0, nbytes, device, Block.array(nbytes))
            block.address = TAG + block.host
            self.blocks[block.address] = block
            return block.address

    def mem_free(self, address: int) -> None:
        self.called("cuMemFree")
        with self.lock:
            require(address not in self.opened, "cuMemFree of memory of another process")
            if address in self.exported:
                require(not self.exported[address].users.value, "cuMemFree of memory that another process has open")
                self.exported.pop(address).close()
            block = self.take_out(address, "cuMemFree")
            require(block.device >= 0, "cuMemFree of pinned memory")
            self.free_bytes[block.device] += block.nbytes

    def take_out(self, address: int, call: str) -> Block:
        require(address in self.blocks, f"{call} of {address:#x}, which is no block, or freed already")
        block = self.blocks[address]
        user = self.in_use(block)
        require(not user, f"{call} of {address:#x}, which {user} still uses")
        require(block.intact(), f"something was written beyond the {block.nbytes} bytes at {address:#x}")
        return self.blocks.pop(address)

    def mem_host_alloc(self, nbytes: int) -> int:
        self.called("cuMemHostAlloc")
        with self.lock:
            block = Block(0, nbytes, -1, Block.array(nbytes))
            block.address = block.host
            self.blocks[block.address] = block
            return block.address

    def mem_free_host(self, address: int) -> None:
        self.called("cuMemFreeHost")
        with self.lock:
            require(self.take_out(address, "cuMemFreeHost").device < 0, "cuMemFreeHost of memory of a device")

    def mem_get_allocation_granularity(self, device: int) -> int:
        return GRANULARITY

    def mem_address_reserve(self, nbytes: int) -> int:
        device = self.called("cuMemAddressReserve") - 1
        require(nbytes % GRANULARITY == 0, "addresses are reserved in whole pages")
        with self.lock:
            self.number += -(-nbytes // GRANULARITY) + 1
            address = TAG + (1 << 47) + self.number * GRANULARITY
            self.blocks[address] = Block(address, nbytes, device)
            return address

    def mem_address_free(self, address: int, nbytes: int) -> None:
        self.called("cuMemAddressFree")
        block = self.blocks.pop(address, None)
        require(block is not None and block.nbytes == nbytes, "cuMemAddressFree of what is not reserved so")
        require(block.data is None, "addresses are freed that memory is mapped to")

    def mem_create(self, nbytes: int, device: int) -> int:
        self.called("cuMemCreate")
        self.spend(device, nbytes, "cuMemCreate")
        handle = self.new()
        self.physical[handle] = device, Block.array(nbytes), 0
        return handle

    def mem_release(self, handle: int) -> None:
        self.called("cuMemRelease")
        require(handle in self.physical, "cuMemRelease of a handle that there is not")
        device, data, mapped = self.physical.pop(handle)
        require(not mapped, "cuMemRelease of memory that is mapped")
        self.free_bytes[device] += len(data) - 2 * GUARD

    def mem_map(self, address: int, nbytes: int, handle: int) -> None:
        self.called("cuMemMap")
        block = self.blocks.get(address)
        require(block is not None and block.data is None, "cuMemMap to addresses that are not reserved, or taken")
        require(handle in self.physical and not self.physical[handle][2], "cuMemMap of memory that there is not")
        device, data, _ = self.physical[handle]
        require(len(data) - 2 * GUARD == nbytes == block.nbytes, "cuMemMap of another size")
        self.physical[handle] = device, data, address
        block.data, block.device = data, -2  # without access

    def mem_set_access(self, address: int, nbytes: int, devices: Sequence[int]) -> None:
        self.called("cuMemSetAccess")
        require(self.find(address, nbytes) is not None, "cuMemSetAccess of what is not mapped")
        self.blocks[address].device = devices[0]

    def mem_unmap(self, address: int, nbytes: int) -> None:
        self.called("cuMemUnmap")
        block = self.find(address, nbytes)
        require(block is not None and not self.in_use(block), "cuMemUnmap of memory in use")
        for handle, (device, data, mapped) in self.physical.items():
            if mapped == address:
                self.physical[handle] = device, data, 0
        block.data = None

    def ipc_get_mem_handle(self, address: int) -> bytes:
        self.called("cuIpcGetMemHandle")
        block = self.blocks.get(address)
        require(block is not None and block.data is not None, "cuIpcGetMemHandle of what is no block")
        require(address not in self.opened, "cuIpcGetMemHandle of memory of another process")
        require(address & (1 << 47) == 0, "cuIpcGetMemHandle of memory that is mapped")
        with self.lock:
            if address not in self.exported:
                self.exported[address] = SharedBlock.of(block.data)
                block.data = self.exported[address].data
        return self.exported[address].handle()

    def ipc_open_mem_handle(self, handle: bytes) -> int:
        device = self.called("cuIpcOpenMemHandle") - 1
        # The driver refuses handles of the same process; so does this.
        if handle in [x.handle() for x in self.exported.values()]:
            raise CudaError("cuIpcOpenMemHandle", 201, "CUDA_ERROR_INVALID_CONTEXT")
        require(handle not in self.opened.values(), "a handle is opened twice")
        shared = SharedBlock.opened(handle)
        with self.lock:
            block = Block(0, shared.nbytes - 2 * GUARD, device, shared.data)
            block.address = TAG + block.host
            self.blocks[block.address] = block
            self.opened[block.address] = handle
            self.exported[block.address] = shared
        return block.address

    def ipc_close_mem_handle(self, address: int) -> None:
        self.called("cuIpcCloseMemHandle")
        with self.lock:
            require(self.opened.pop(address, None), "cuIpcCloseMemHandle of a handle that was not opened")
            self.take_out(address, "cuIpcCloseMemHandle")
            shared = self.exported.pop(address)
            shared.users.value -= 1
            shared.close()

    # --- streams and events ---

    def stream_create(self) -> int:
        current = self.called("cuStreamCreate")
        number = self.new()
        self.streams[number] = Stream(current)
        return number

    def stream_destroy(self, stream: int) -> None:
        require(not self.stream(stream, "cuStreamDestroy").work, "a stream is destroyed that has work")
        del self.streams[stream]

    def stream_synchronize(self, stream: int) -> None:
        self.unsupported(self.stream(stream, "cuStreamSynchronize"), "cuStreamSynchronize")
        self.advance(stream)

    def stream_wait_event(self, stream: int, event: int) -> None:
        self.unsupported(self.stream(stream, "cuStreamWaitEvent"), "cuStreamWaitEvent")
        waited = self.event(event)
        require(waited.recorded, "cuStreamWaitEvent of an event that was never recorded")
        ticket = waited.recorded

        def run() -> None:
            if waited.done < ticket:
                self.advance(waited.stream, lambda: waited.done >= ticket)
            require(waited.done >= ticket, "streams wait for each other")

        self.put(stream, Work("cuStreamWaitEvent", run, ready=lambda: waited.done >= ticket))

    def event_create(self, timing: bool = False) -> int:
        current = self.called("cuEventCreate")
        number = self.new()
        self.events[number] = Event(current, timing)
        return number

    def event(self, number: int) -> Event:
        require(number in self.events, "an event that there is not, or not any more")
        return self.events[number]

    def event_destroy(self, event: int) -> None:
        self.called("cuEventDestroy")
        self.event(event)
        del self.events[event]

    def event_record(self, event: int, stream: int) -> None:
        owner, record = self.stream(stream, "cuEventRecord"), self.event(event)
        self.unsupported(owner, "cuEventRecord")
        require(record.context == owner.context, "cuEventRecord with an event of another context")
        record.recorded += 1
        record.stream, ticket = stream, record.recorded

        def run() -> None:
            record.done = ticket

        self.put(stream, Work("cuEventRecord", run))

    def event_query(self, event: int) -> bool:
        self.called("cuEventQuery")
        asked = self.event(event)
        require(asked.recorded, "cuEventQuery of an event that was never recorded")
        return asked.done >= asked.recorded

    def event_synchronize(self, event: int) -> None:
        self.called("cuEventSynchronize")
        waited = self.event(event)
        require(waited.recorded, "cuEventSynchronize of an event that was never recorded")
        if waited.done < waited.recorded:
            self.advance(waited.stream, lambda: waited.done >= waited.recorded)

    def event_elapsed_time(self, start: int, end: int) -> float:
        self.called("cuEventElapsedTime")
        for number in (start, end):
            event = self.event(number)
            require(event.timing and event.done >= event.recorded > 0, "the time of an event that has none")
        return 1.0

    # --- work of a stream ---

    def memcpy_async(self, target: int, source: int, nbytes: int, stream: int) -> None:
        owner = self.stream(stream, "cuMemcpyAsync")
        ends = [self.find(x, nbytes) for x in (target, source)]
        if None in ends:
            self.unsupported(owner, "cuMemcpyAsync")
        for end in ends:
            require(end is None or end.device in (-1, owner.context - 1), "cuMemcpyAsync of another device's memory")
        uses = tuple(x for x, end in zip((target, source), ends) if end is not None)
        self.put(stream, Work("cuMemcpyAsync", lambda: self.copy(target, source, nbytes), uses))

    def memcpy_peer_async(
        self, target: int, target_context: int, source: int, source_context: int, nbytes: int, stream: int
    ) -> None:
        self.stream(stream, "cuMemcpyPeerAsync")
        for address, context in ((target, target_context), (source, source_context)):
            block = self.find(address, nbytes)
            require(block is not None and block.device == context - 1, "cuMemcpyPeerAsync of another device's memory")
        self.put(stream, Work("cuMemcpyPeerAsync", lambda: self.copy(target, source, nbytes), (target, source)))

    def copy(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(self.host(target, nbytes), self.host(source, nbytes), nbytes)

    def memset_d32_async(self, address: int, value: int, count: int, stream: int) -> None:
        self.stream(stream, "cuMemsetD32Async")
        require(self.find(address, 4 * count) is not None, "cuMemsetD32Async of memory of the host")

        def run() -> None:
            np.ctypeslib.as_array((ctypes.c_uint32 * count).from_address(self.host(address, 4 * count)))[:] = value

        self.put(stream, Work("cuMemsetD32Async", run, (address,)))

    def launch_entry(self) -> int:
        return ctypes.cast(self.entry, ctypes.c_void_p).value

    def current_entry(self) -> int:
        return ctypes.cast(self.setting, ctypes.c_void_p).value

    def set_current(self, context: int) -> int:
        """``cuCtxSetCurrent`` itself."""
        try:
            self.ctx_set_current(context)
        except BaseException as error:
            self.raised = error
            return 999
        return 0

    def launch(self, function, x, y, z, threads, second, third, shared, stream, arguments, extra) -> int:
        """``cuLaunchKernel`` itself."""
        try:
            self.stream(stream, "cuLaunchKernel")
            require((second, third, extra) == (1, 1, None), "a block of more than one dim")
            sizes = self.signature(function).sizes
            words = tuple(
                int.from_bytes(ctypes.string_at(arguments[i], size), "little") for i, size in enumerate(sizes)
            )
            self.put(stream, self.kernel(function, (x, y, z), threads, shared, words))
        except BaseException as error:  # nothing crosses the call by its address; `check` raises it
            self.raised = error
            return 999
        return 0

    def check(self, call: str, code: int) -> None:
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised
        if code:
            raise CudaError(call, code, "CUDA_ERROR_UNKNOWN")

    def launch_kernel_ex(
        self,
        function: int,
        grid: tuple[int, int, int],
        threads: int,
        cluster: int,
        cooperative: bool,
        overlapping: bool,
        shared: int,
        stream: int,
        arguments: Sequence[int],
    ) -> None:
        self.stream(stream, "cuLaunchKernelEx")
        require(grid[0] % cluster == 0, "a grid that clusters do not divide")
        sizes = self.signature(function).sizes
        require(len(sizes) == len(arguments), f"{len(arguments)} arguments of {len(sizes)} parameters")
        words = tuple(a & ((1 << 8 * size) - 1) for a, size in zip(arguments, sizes))
        work = self.kernel(function, grid, threads, shared, words)
        self.special.append((work.name, cluster, cooperative, overlapping))
        self.put(stream, work)

    def signature(self, function: int) -> Signature:
        """The parameters of a kernel, as its text or its machine code has them."""
        module = next((m for m in self.modules.values() if function in m.functions), None)
        require(module is not None, "a kernel of a module that was unloaded, or never loaded")
        if function not in self.signatures:
            name = module.functions[function]
            if isinstance(module.image, bytes):
                self.signatures[function] = signature(module.image, name)
            else:
                llvm = re.search(rf"define ptx_kernel void @{re.escape(name)}\((.*)\) #0", module.image)
                text = llvm or re.search(rf"\.entry {re.escape(name)}\(([^)]*)\)", module.image)
                self.signatures[function] = Signature((8,) * (text[1].count(",") + 1), 0)
        return self.signatures[function]

    def kernel(
        self, function: int, grid: int | tuple[int, int, int], threads: int, shared: int, arguments: tuple[int, ...]
    ) -> Work:
        number, module = next(((n, m) for n, m in self.modules.items() if function in m.functions), (0, None))
        require(module is not None, "a kernel of a module that was unloaded, or never loaded")
        x, y, z = grid if isinstance(grid, tuple) else (grid, 1, 1)
        require(0 < x < 1 << 31 and 0 < y < 1 << 16 and 0 < z < 1 << 16, "a grid that no device has")
        most = self.signature(function).threads or 1024
        require(0 < threads <= most, f"blocks of {threads} threads of a kernel for {most}")
        allowed = self.allowed.get(function, INLINE_SHARED - self.fixed_shared(function))
        require(shared <= allowed, f"{shared} bytes of shared memory of a launch that may have {allowed}")
        name, image = module.functions[function], module.image
        uses = tuple(a for a in arguments if a >> 48 == TAG >> 48 and self.is_memory(a))
        blocks = (x, y, z) if (y, z) != (1, 1) else x

        def run() -> None:
            require(number in self.modules, f"{name} runs when its module was unloaded")
            self.launched.append((name, blocks, threads, shared, arguments))
            if name in self.bodies:
                self.bodies[name](self, (x, y, z), arguments)
            elif self.execute is not None and isinstance(image, str):
                self.execute(self, image, name, x, threads, shared, arguments)

        return Work(name, run, uses, number, (function, grid, threads, shared, arguments))

    def is_memory(self, address: int) -> bool:
        return any(b.address <= address < b.address + b.nbytes for b in self.blocks.values())

    # --- modules ---

    def module_load_data(self, image: str | bytes) -> int:
        current = self.called("cuModuleLoadDataEx")
        number = self.new()
        self.modules[number] = Module(current, image)
        return number

    def module_unload(self, module: int) -> None:
        self.called("cuModuleUnload")
        require(module in self.modules, "a module is unloaded twice")
        for number, stream in self.streams.items():
            require(all(w.module != module for w in stream.work), f"a module is unloaded that stream {number:#x} runs")
        for works in (*self.graphs.values(), *self.instances.values()):
            require(all(w.module != module for w in works), "a module is unloaded that a graph has")
        del self.modules[module]

    def module_get_function(self, module: int, name: str) -> int:
        self.called("cuModuleGetFunction")
        image = self.modules[module].image
        if isinstance(image, bytes):
            require(any(section == f".text.{name}" for section, _ in sections(image)), name)
        else:
            require(f"@{name}(" in image or f".entry {name}(" in image, name)
        function = self.new()
        self.modules[module].functions[function] = name
        return function

    def fixed_shared(self, function: int) -> int:
        """Bytes of shared memory of a kernel's own arrays; machine code is not asked."""
        if function not in self.fixed:
            image = next(m.image for m in self.modules.values() if function in m.functions)
            text = "" if isinstance(image, bytes) else image
            arrays = sum(int(n) * CELLS[type] for n, type in LLVM_ARRAY.findall(text))
            self.fixed[function] = arrays + sum(map(int, PTX_ARRAY.findall(text)))
        return self.fixed[function]

    def func_set_max_dynamic_shared_size(self, function: int, nbytes: int) -> None:
        self.called("cuFuncSetAttribute")
        if nbytes + self.fixed_shared(function) > MOST_SHARED:
            raise CudaError("cuFuncSetAttribute", 1, "CUDA_ERROR_INVALID_VALUE")
        self.allowed[function] = nbytes

    def func_get_attribute(self, function: int, attribute: FunctionAttribute) -> int:
        self.called("cuFuncGetAttribute")
        return {
            FunctionAttribute.NUM_REGS: 32,
            FunctionAttribute.LOCAL_SIZE_BYTES: 0,
            FunctionAttribute.SHARED_SIZE_BYTES: self.fixed_shared(function),
            FunctionAttribute.MAX_THREADS_PER_BLOCK: self.signature(function).threads or 1024,
        }[attribute]

    # --- graphs ---

    def stream_begin_capture(self, stream: int) -> None:
        owner = self.stream(stream, "cuStreamBeginCapture")
        require(owner.captured is None, "a stream is captured twice")
        owner.captured, owner.spoiled, owner.graph = [], False, self.new() << NODE_BITS

    def stream_captured_node(self, stream: int) -> int:
        owner = self.stream(stream, "cuStreamGetCaptureInfo")
        require(owner.captured, "the last node of a stream that has recorded nothing")
        return owner.graph + len(owner.captured) - 1

    def stream_end_capture(self, stream: int) -> int:
        owner = self.stream(stream, "cuStreamEndCapture")
        captured, owner.captured = owner.captured, None
        require(captured is not None, "cuStreamEndCapture of a stream that is not captured")
        if owner.spoiled:
            raise CudaError("cuStreamEndCapture", 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
        self.graphs[owner.graph] = captured
        return owner.graph

    def graph_debug_dot_print(self, graph: int, path: str, flags: int) -> None:
        self.called("cuGraphDebugDotPrint")
        require(0 < flags < 1 << 16, "flags that the driver does not know")
        nodes = " -> ".join(f'"{i}: {work.name}"' for i, work in enumerate(self.graphs[graph]))
        Path(path).write_text(f"digraph {{ {nodes} }}\n")

    def graph_instantiate(self, graph: int) -> int:
        self.called("cuGraphInstantiate")
        number = self.new()
        self.instances[number] = list(self.graphs[graph])
        return number

    def graph_exec_kernel_node_set_params(
        self, instance: int, node: int, function: int, blocks: int, threads: int, shared: int, arguments: Sequence[int]
    ) -> None:
        self.called("cuGraphExecKernelNodeSetParams")
        at = node & ((1 << NODE_BITS) - 1)
        kernel = self.instances[instance][at].kernel
        require(kernel is not None and kernel[0] == function, "a node gets the arguments of another kernel")
        self.instances[instance][at] = self.kernel(function, blocks, threads, shared, tuple(arguments))

    def graph_launch(self, instance: int, stream: int) -> None:
        self.unsupported(self.stream(stream, "cuGraphLaunch"), "cuGraphLaunch")
        require(instance in self.instances, "a graph is launched that was destroyed")
        for work in self.instances[instance]:
            for address in work.uses:
                self.find(address)
            self.put(stream, work)

    def graph_exec_destroy(self, instance: int) -> None:
        self.called("cuGraphExecDestroy")
        require(self.instances.pop(instance, None) is not None, "a graph is destroyed twice")

    def graph_destroy(self, graph: int) -> None:
        self.called("cuGraphDestroy")
        require(self.graphs.pop(graph, None) is not None, "a graph is destroyed twice")

    # --- at the end ---

    def left(self) -> list[str]:
        """What was not given back."""
        kinds = {"blocks": self.blocks, "physical memory": self.physical, "streams": self.streams,
                 "events": self.events, "modules": self.modules, "graphs": self.graphs, "instances": self.instances,
                 "contexts": [x for x in self.retained if x]}  # fmt: skip
        return [f"{len(x)} {kind}" for kind, x in kinds.items() if x]
