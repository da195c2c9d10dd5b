"""The backend: what it gives for a place, and where kernels come from."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyopencl as cl

from umiak.backends.base import Backend, Kernel, Properties, get
from umiak.backends.strided import densely
from umiak.core.buffer import Buffer
from umiak.core.place import Place
from umiak.memory import caching
from umiak.ops import convolution, linalg
from umiak.util import flags
from umiak_opencl import convolutions, copies, products
from umiak_opencl.counts import HOST
from umiak_opencl.device import DEVICE_TYPE, Device, devices
from umiak_opencl.tracer import Tracer

# What makes the kernel of an op's calls, where it is not a nest.
WRITTEN = {
    linalg.Matmul: products.kernel,
    convolution.Conv: convolutions.kernel,
    convolution.ConvInputGrad: convolutions.kernel,
    convolution.ConvWeightGrad: convolutions.kernel,
}


WRITTEN_KERNELS = flags.define(
    "opencl_written_kernels", True, "without: products and convolutions, too, run by kernels that the loop IR gives"
)


class OpenCLBackend(Backend):
    name = DEVICE_TYPE
    device_type = DEVICE_TYPE
    has_streams = True
    fuses = True

    def __init__(self) -> None:
        self._found: list[cl.Device] | None = None
        self.devices: dict[int, Device] = {}  # by index of the place

    @property
    def found(self) -> list[cl.Device]:
        if self._found is None:
            self._found = devices()
        return self._found

    def device_count(self) -> int:
        return len(self.found)

    def device(self, place: Place) -> Device:
        if place.index not in self.devices:
            self.devices[place.index] = Device(place.device_id, self.found[place.device_id])
        return self.devices[place.index]

    def properties(self, place: Place) -> Properties:
        d = self.found[place.device_id]
        major, minor = d.version.split()[1].split(".")  # "OpenCL 3.0 ...": the standard says so
        return Properties(d.name.strip(), int(major), int(minor), d.global_mem_size, d.max_compute_units)

    def allocator(self, place: Place) -> Any:
        return caching.device_allocator(place.index, self.device(place).memory)

    def stream_driver(self, place: Place) -> Device:
        return self.device(place)

    def tracer(self) -> Tracer:
        """A recording of the devices that are in use by then."""
        return Tracer(list(self.devices.values()))

    def copy(self, target: Buffer, source: Buffer, stream: int) -> bool:
        to, of = (self.devices.get(x.place.index) for x in (target, source))
        nbytes = target.nbytes
        if to is None:  # to the host, which waits
            assert of is not None, "one of the two is this backend's"
            array = target.host_bytes()
            buffer, at = of.memory.find(source.pointer)
            of.queue(stream).put("copy", lambda q: cl.enqueue_copy(q, array, buffer, src_offset=at, is_blocking=False))
        elif of is None:
            data = source.host_bytes().copy()  # staged: the host may go on
            buffer, at = to.memory.find(target.pointer)
            to.queue(stream).put("copy", lambda q: cl.enqueue_copy(q, buffer, data, dst_offset=at, is_blocking=False))
        elif to is of:
            (a, a_at), (b, b_at) = to.memory.find(target.pointer), to.memory.find(source.pointer)
            to.queue(stream).put(
                "copy", lambda q: cl.enqueue_copy(q, a, b, byte_count=nbytes, src_offset=b_at, dst_offset=a_at)
            )
        else:
            return False  # memory of another context
        return True

    def supports(self, op: Any) -> bool:
        return op.decompose is not None or get("cpu").supports(op) or get("ref").supports(op)

    def kernel(self, call: Any) -> Kernel | None:
        from umiak.compiler.lower.builder import NotANest
        from umiak_opencl.nests import NestKernel

        device, op = self.device(call.place), call.op
        if op.name == "copy":
            return Kernel(run=lambda op, outs, ins, params: copies.copy(device, outs[0], ins[0]), name="copy")
        make = WRITTEN.get(type(op)) if WRITTEN_KERNELS.value else None
        written = make(device, call) if make is not None else None
        if written is not None:
            return written
        try:
            made = NestKernel(device, call)
            return Kernel(
                run=densely(made.run, partial(copies.copy, device)), residuals=True, keep=made, name=made.name
            )
        except NotANest:
            pass
        if op.decompose is not None or call.needs is not None:
            return None  # as its decomposition
        return HOST.kernel(call)


backend = OpenCLBackend()
