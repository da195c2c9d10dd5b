"""Triton's kernels on devices of this backend: the driver that Triton asks for devices, streams, loading and launches.

Triton compiles; everything that it wants of a machine goes through the object that ``triton.runtime.driver`` has as
active. This one gives it the devices and current streams of the engine, so that launches have tickets, as work of the
engine has: whoever waits for a stream waits for them, memory is not given back under them, and graphs record them.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from umiak.backends.cuda.device import DEVICE_TYPE, Device, Queue, TimedEvent
from umiak.backends.cuda.driver import FunctionAttribute
from umiak.backends.cuda.launch_entry import launch
from umiak.backends.cuda.modules import Module
from umiak.core import dtype as dt
from umiak.core import stream
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.place import Place
from umiak.core.tensor import Tensor, empty
from umiak.util import log

if TYPE_CHECKING:
    from umiak.backends.cuda.backend import CudaBackend

DRIVERS = "triton.runtime.driver"  # the module that knows the active driver
CACHE_BYTES = 256 << 20  # written between two timed runs, so that no data is in a cache

# Numbers as parameters of kernels, by Triton's names of their types: packed in this format of `struct`.
FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}
INTS = frozenset(("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"))


def pointer(value: Any, kernel: str, place: Place) -> tuple[int, Tensor | None]:
    """The address that an argument stands for, and its tensor: None, an address, a tensor, or a view of one by
    ``triton.reinterpret``."""
    if value is None or isinstance(value, int):
        return value or 0, None
    x = value if isinstance(value, Tensor) else getattr(value, "base", None)
    if not isinstance(x, Tensor):
        raise TypeError(
            f"[{kernel}] requires tensors of this library, addresses or None for pointers, got {type(value).__name__}. "
            "After triton.runtime.driver.reset_active() Triton launches kernels on tensors of other libraries"
        )
    if x.place is not place:
        raise ValueError(
            f"[{kernel}] requires tensors on {place.name}, the current device, got one on {x.place.name}. "
            "Move it there, or call paddle.set_device first"
        )
    return value.data_ptr(), x


def number(kind: str, value: Any) -> int:
    """The bits of a number as a parameter of a kernel."""
    if kind in INTS:
        return int(value)
    if kind == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return int.from_bytes(struct.pack(FLOATS[kind], value), "little")


def parameters(kernel: str, types: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Types and values of a kernel's parameters: constants are none, tuples are several."""
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, tuple):
            yield from parameters(kernel, kind, value)
        elif kind.startswith("tensordesc"):
            raise TypeError(
                f"[{kernel}] requires pointers, got a TensorDescriptor. Pass the tensor, its sizes and strides, and "
                "make the descriptor in the kernel (tl.make_tensor_descriptor)"
            )
        elif kind != "constexpr":
            yield kind, value


class Launcher:
    """Launches of one compiled kernel."""

    def __init__(self, driver: TritonDriver, source: Any, metadata: Any) -> None:
        self.driver = driver
        self.name: str = metadata.name
        self.types = list(source.signature.values())
        self.threads = metadata.num_warps * metadata.warp_size
        self.shared: int = metadata.shared
        self.cluster: int = getattr(metadata, "num_ctas", 1)
        self.cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self.overlapping = bool(getattr(metadata, "launch_pdl", False))
        # Memory that each block wants for itself, as two last parameters: bytes, and what addresses are multiples of.
        self.scratch = [
            (getattr(metadata, f"{kind}_scratch_size", 0) or 0, getattr(metadata, f"{kind}_scratch_align", 0) or 1)
            for kind in ("global", "profile")
        ]

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: int, packed: Any, metadata: Any, enter: Any, leave: Any,
        *values: Any,
    ) -> None:  # fmt: skip
        queue = self.driver.queue(stream, self.name)
        place = queue.device.place
        words: list[int] = []
        tensors: list[Tensor] = []
        for kind, value in parameters(self.name, self.types, values):
            if kind[0] != "*":
                words.append(number(kind, value))
                continue
            address, tensor = pointer(value, self.name, place)
            words.append(address)
            if tensor is not None:
                tensors.append(tensor)
        blocks = x * y * z * self.cluster
        if not blocks:
            return
        for nbytes, align in self.scratch:
            if nbytes:
                tensors.append(empty((nbytes * blocks + align - 1,), dt.uint8, place))
            words.append(-(-tensors[-1].data_ptr() // align) * align if nbytes else 0)
        if enter is not None:
            enter(metadata)
        self.put(queue, (x * self.cluster, y, z), function, words, tensors)
        if leave is not None:
            leave(metadata)

    def put(
        self, queue: Queue, grid: tuple[int, int, int], function: int, words: list[int], tensors: list[Tensor]
    ) -> None:
        device = queue.device
        module = self.driver.modules[function]

        def enqueue(handle: int) -> None:
            if self.cluster > 1 or self.cooperative or self.overlapping:
                device.driver.launch_kernel_ex(
                    function, grid, self.threads, self.cluster, self.cooperative, self.overlapping, self.shared,
                    handle, words,
                )  # fmt: skip
                return
            code = launch(device.launch_entry, function, grid, self.threads, self.shared, handle, words)
            if code:
                device.driver.check("cuLaunchKernel", code)

        for x in tensors:
            x.storage.use_on_stream(queue.stream.id)
        queue.put(self.name, enqueue, uses=[Buffer(x) for x in tensors])
        if queue.capture is not None:
            queue.capture.keep.append(module)


class Utils:
    """Machine code as modules, and what devices are like."""

    def __init__(self, driver: TritonDriver) -> None:
        self.driver = driver

    def load_binary(self, name: str, image: str | bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        """Load machine code: module, function, registers of a thread, words that it keeps in memory for want of
        registers, and most threads of a block."""
        own = self.driver.device(device)
        own.modules.sweep()
        module = Module(own.modules, image, name)
        module.allow_shared(shared)
        self.driver.modules[module.function] = module
        driver = own.enter()
        registers, local, threads = (
            driver.func_get_attribute(module.function, a)
            for a in (
                FunctionAttribute.NUM_REGS,
                FunctionAttribute.LOCAL_SIZE_BYTES,
                FunctionAttribute.MAX_THREADS_PER_BLOCK,
            )
        )
        return module.handle, module.function, registers, local // 4, threads

    def unload_module(self, handle: int) -> None:
        """Give a module back, when no stream runs it any more."""
        for function, module in [*self.driver.modules.items()]:
            if module.handle == handle:
                del self.driver.modules[function]

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Properties of a device by Triton's names."""
        own = self.driver.device(device)
        return {"max_shared_mem": own.most_shared, "multiprocessor_count": own.units, "warpSize": 32}


class Event:
    """A point of the current stream, whose time is known; what timed runs of Triton's autotuner use."""

    def __init__(self, driver: TritonDriver, enable_timing: bool = True) -> None:
        self.driver = driver
        self.mark: TimedEvent | None = None

    def record(self) -> None:
        """Set it behind the work of the current stream."""
        self.mark = TimedEvent(self.driver.current_queue())

    def elapsed_time(self, later: Event) -> float:
        """Return the milliseconds to a later one."""
        assert self.mark is not None and later.mark is not None
        return self.mark.milliseconds_to(later.mark)


class Interface:
    """Waiting and timing, as Triton's benchmarks ask for them."""

    def __init__(self, driver: TritonDriver) -> None:
        self.driver = driver

    def synchronize(self) -> None:
        """Wait for all work of the current device."""
        stream.synchronize(self.driver.current_queue().device.place.index)

    def Event(self, enable_timing: bool = True) -> Event:
        return Event(self.driver, enable_timing)


class TritonDriver:
    """Devices, streams and launches of a backend, as Triton asks a machine for them. Devices have CUDA's numbers."""

    def __init__(self, backend: CudaBackend) -> None:
        self.backend = backend
        self.modules: dict[int, Module] = {}  # by function
        self.utils = Utils(self)
        self.launcher_cls: Callable[[Any, Any], Launcher] = lambda source, metadata: Launcher(self, source, metadata)

    def place(self) -> Place:
        """The current device; the first one where the host is current."""
        place = current().place
        return place if place.device_type == DEVICE_TYPE else Place(DEVICE_TYPE, 0)

    def device(self, number: int) -> Device:
        return self.backend.device(Place(DEVICE_TYPE, number))

    def current_queue(self) -> Queue:
        place = self.place()
        return self.backend.device(place).queue(current().get_stream(place))

    def queue(self, handle: int, kernel: str) -> Queue:
        """The queue whose stream has a handle."""
        queue = self.current_queue()
        if queue.handle == handle:
            return queue
        own = [q for device in self.backend.devices.values() for q in device.queues.values() if q.handle == handle]
        if not own:
            raise ValueError(f"[{kernel}] requires a stream of {DEVICE_TYPE}, got {handle:#x}, which is none of them")
        return own[0]

    # --- names that Triton knows

    def get_current_device(self) -> int:
        return self.place().device_id

    def get_current_stream(self, device: int) -> int:
        place = Place(DEVICE_TYPE, device)
        return self.backend.device(place).queue(current().get_stream(place)).handle

    def get_device_capability(self, device: int) -> tuple[int, int]:
        return self.device(device).capability

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        major, minor = self.get_device_capability(self.get_current_device())
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench

        return do_bench

    def get_device_interface(self) -> Interface:
        return Interface(self)

    def get_empty_cache_for_benchmark(self) -> Tensor:
        return empty((CACHE_BYTES,), dt.uint8, self.place())

    def clear_cache(self, cache: Tensor) -> None:
        queue, address = self.current_queue(), cache.data_ptr()
        put = queue.device.driver.memset_d32_async
        queue.put("memset", lambda handle: put(address, 0, CACHE_BYTES // 4, handle), uses=[Buffer(cache)])


class Watch(MetaPathFinder):
    """Makes a driver the active one of Triton when that is imported."""

    def __init__(self, driver: TritonDriver) -> None:
        self.driver = driver

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != DRIVERS:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                activate(self.driver)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def attach(backend: CudaBackend) -> TritonDriver:
    """Give Triton a driver over a backend: now, or when it is imported. It keeps its own where PyTorch with CUDA is
    loaded, whose streams it goes by."""
    driver = TritonDriver(backend)
    if DRIVERS in sys.modules:
        activate(driver)
    else:
        sys.meta_path.insert(0, Watch(driver))
    return driver


def activate(driver: TritonDriver) -> None:
    cuda = getattr(getattr(sys.modules.get("torch"), "version", None), "cuda", None)
    if isinstance(cuda, str):
        log.get("cuda").info("Triton keeps its own driver, since PyTorch with CUDA is loaded")
        return
    sys.modules[DRIVERS].driver.set_active(driver)


def take(backend: CudaBackend) -> None:
    """Make the driver over a backend the active one of Triton, which is imported, whatever else is loaded."""
    drivers = sys.modules[DRIVERS].driver
    if not isinstance(drivers._active, TritonDriver):
        drivers.set_active(TritonDriver(backend))
