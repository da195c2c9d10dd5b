"""The backend: what it gives for a place, and where kernels come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from umiak.backends.base import Absent, Backend, Kernel, Properties, get
from umiak.backends.cuda import copies
from umiak.backends.cuda.device import DEVICE_TYPE, DEVICES, LIMIT, Device, TimedEvent
from umiak.backends.cuda.driver import DeviceAttribute, Driver
from umiak.backends.cuda.memory import PinnedBlocks
from umiak.backends.host_calls import HostCalls
from umiak.backends.strided import densely, is_dense
from umiak.core import stream
from umiak.core.buffer import Buffer
from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.memory import caching
from umiak.ops.linalg import Matmul, WideningMatmul
from umiak.ops.quantised import ScaledMatmul
from umiak.util import log

if TYPE_CHECKING:
    from umiak.backends.cuda.captures import StreamCapture
    from umiak.backends.cuda.ipc import Ipc
    from umiak.backends.cuda.nccl import NcclCollectives
    from umiak.backends.cuda.programs import Program
    from umiak.backends.cuda.tracer import Tracer
    from umiak.core.call_program import CallProgram


class CudaBackend(Backend):
    """CUDA devices of one driver."""

    name = "cuda"
    device_type = DEVICE_TYPE
    has_streams = True
    fuses = True

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.host = HostCalls(log.get("cuda"))
        self.said: set[str] = set()
        self.devices: dict[int, Device] = {}  # by index of the place

    def device_count(self) -> int:
        return self.driver.device_get_count()

    def device(self, place: Place) -> Device:
        if place.index not in self.devices:
            self.devices[place.index] = DEVICES[place.index] = Device(self.driver, place.device_id)
        return self.devices[place.index]

    def properties(self, place: Place) -> Properties:
        driver, number = self.driver, place.device_id
        major, minor, units = (
            driver.device_get_attribute(number, a)
            for a in (
                DeviceAttribute.COMPUTE_CAPABILITY_MAJOR,
                DeviceAttribute.COMPUTE_CAPABILITY_MINOR,
                DeviceAttribute.MULTIPROCESSOR_COUNT,
            )
        )
        memory = driver.device_total_mem(number)
        return Properties(driver.device_get_name(number), major, minor, memory, units)

    def memory_info(self, place: Place) -> tuple[int, int]:
        return self.device(place).enter().mem_get_info()

    def capturing(self, place: Place, stream: int) -> bool:
        return self.device(place).queue(stream).capture is not None

    def work_capture(self, place: Place, pool: int | None) -> StreamCapture:
        from umiak.backends.cuda.captures import StreamCapture

        return StreamCapture(self.device(place), pool)

    def sharing(self, place: Place) -> Ipc:
        return self.device(place).ipc

    def collect_shared(self) -> None:
        for device in self.devices.values():
            device.ipc.collect()

    def time_mark(self, place: Place, stream: int) -> TimedEvent:
        return TimedEvent(self.device(place).queue(stream))

    def allocator(self, place: Place) -> Any:
        return caching.device_allocator(place.index, self.device(place).memory, LIMIT.value << 20)

    def stream_driver(self, place: Place) -> Device:
        return self.device(place)

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        copies.transfer(target, source, stream)
        return True

    def pinned(self, place: Place, sizes: Sequence[int], dtype: DType) -> Tensor:
        return self.device(place).pinned.tensor(sizes, dtype)

    def is_pinned(self, x: Tensor) -> bool:
        return PinnedBlocks.holds(x.data_ptr())

    def collectives(self, place: Place) -> NcclCollectives | None:
        from umiak.backends.cuda import nccl

        try:
            return nccl.NcclCollectives(self.device(place), nccl.load())
        except Absent as error:
            self.say_once(f"groups move elements by the host: {error}")
            return None

    def tracer(self) -> Tracer | None:
        from umiak.backends.cuda import tracer

        try:
            return tracer.Tracer(tracer.load(), DEVICE_TYPE, self.synchronize)
        except Absent as error:
            self.say_once(f"profiles have no work of devices: {error}")
            return None

    def synchronize(self) -> None:
        """Wait for all devices."""
        for device in self.devices.values():
            stream.synchronize(device.place.index)

    def say_once(self, text: str) -> None:
        """Warn of something, the first time."""
        if text not in self.said:
            self.said.add(text)
            log.get("cuda").warning("%s", text)

    def replays(self, calls: CallProgram) -> Program | None:
        from umiak.backends.cuda.programs import FEWEST, GRAPHS, Program

        return Program(calls) if GRAPHS.value and len(calls.steps_ops) >= FEWEST else None

    def supports(self, op: Any) -> bool:
        return op.decompose is not None or get("cpu").supports(op) or get("ref").supports(op)

    def opaque(self, op: Any) -> bool:
        return type(op) in (WideningMatmul, ScaledMatmul)

    def fuses_epilogue(self, op: Any, metas: Sequence[Any], params: Sequence[Any], steps: Sequence[Any]) -> bool:
        from umiak.backends.cuda import convolutions, epilogues

        return epilogues.fuses(op, metas, steps) or convolutions.fuses(op, metas, steps)

    def channels_last(self, op: Any, metas: Sequence[Any]) -> bool:
        from umiak.backends.cuda.convolutions import channels_last

        return channels_last(op, metas)

    def fuses_gradient(self, op: Any, metas: Sequence[Any], gated: bool, summed: str) -> bool:
        from umiak.backends.cuda.epilogues import fuses_gradient

        return fuses_gradient(metas)

    def copy_kernel(self, device: Device, call: Any) -> Kernel:
        """Copies within a device: nests, but for results that are not dense and dtypes of which there are none."""
        from umiak.backends.cuda.nests import NestKernel
        from umiak.compiler.lower.builder import NotANest

        def strided(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
            copies.copy(device, outs[0], ins[0])

        try:
            nest = NestKernel(device, call)
        except NotANest:
            return Kernel(run=strided, name="copy")

        def run(op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
            (nest.run if is_dense(outs[0]) else strided)(op, outs, ins, params)

        return nest.kernel(run)

    def kernel(self, call: Any) -> Kernel | None:
        # Imported with the first kernel: they load the compiler.
        from umiak.backends.cuda import epilogues
        from umiak.backends.cuda.convolutions import convolution
        from umiak.backends.cuda.graphs import between
        from umiak.backends.cuda.matmuls import Kernels, matmul
        from umiak.backends.cuda.nests import NestKernel
        from umiak.backends.cuda.scaled_matmuls import scaled_matmul
        from umiak.compiler.epilogue import FusedEpilogue
        from umiak.compiler.gradient_epilogue import FusedGradient
        from umiak.compiler.lower.builder import NotANest

        device, op = self.device(call.place), call.op
        if op.name == "copy":
            return self.copy_kernel(device, call)
        convolved = convolution(Kernels(device), call)
        if convolved is not None:
            return convolved
        if type(op) is FusedEpilogue:
            return epilogues.kernel(Kernels(device), call)
        if type(op) is FusedGradient:
            return epilogues.gradient(Kernels(device), call)
        if type(op) is ScaledMatmul:
            return scaled_matmul(Kernels(device), call)
        product = matmul(Kernels(device), call) if type(op) in (Matmul, WideningMatmul) else None
        if product is not None:
            return product
        try:
            nest = NestKernel(device, call)
        except NotANest:
            if op.decompose is not None or call.needs is not None:
                return None  # as its decomposition
            return between(device, self.host.kernel(call))
        run = densely(nest.run, lambda target, source, name: copies.copy(device, target, source, name))
        return nest.kernel(run)
