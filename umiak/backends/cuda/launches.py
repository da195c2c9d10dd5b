"""Launches of kernels of the loop IR: what one needs that does not change, and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from umiak.backends.cuda.modules import Module
from umiak.backends.nest_launches import size_of
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.render.spmd import LAUNCH, THREAD, resources
from umiak.core import dtype as dt
from umiak.core.tensor import empty

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device, Queue

BEGIN, END = 0, 1 << 62  # of the parallel range: beyond its end does no harm
BLOCKS_PER_UNIT = 32  # blocks of a launch: more of them only repeat what each does at its beginning
THREADS = 256  # of a block


class Scratch:
    """Memory of one launch. It goes back to the allocator with this: whoever gets it comes later in the same stream."""

    def __init__(self, place: Any) -> None:
        self.place = place
        self.tensors: list[Any] = []

    def take(self, nbytes: int) -> int:
        """The address of so many bytes; 0 for none."""
        if not nbytes:
            return 0
        self.tensors.append(empty((nbytes,), dt.uint8, self.place))
        return self.tensors[-1].data_ptr()


class Launch(NamedTuple):
    """One kernel with its grid and its integers."""

    module: Module
    name: str
    blocks: int
    threads: int
    shared: int  # bytes of a block
    dims: tuple[int, ...]
    words: int  # of the scalar pack
    local: int  # bytes of scratch of all units
    global_scratch: int  # bytes of scratch of the launch

    def arguments(
        self, pointers: Sequence[int], words: Sequence[int], local: int, global_scratch: int, error: int
    ) -> list[int]:
        """The arguments of the kernel (:mod:`umiak.compiler.render.ptx`)."""
        return [*pointers, *self.dims, *words[: self.words], local, global_scratch, error, BEGIN, END]

    def put(self, queue: Queue, arguments: Sequence[int]) -> None:
        """Launch it on a stream whose context is current. Its ticket is the next one of the stream."""
        driver = queue.device.driver
        if queue.capture is not None:
            queue.capture.keep.append(self.module)
            queue.capture.addresses.update(arguments)
        driver.launch_kernel(self.module.function, self.blocks, self.threads, self.shared, queue.handle, arguments)
        self.module.used[queue] = queue.stream.submitted + 1


def prepare(device: Device, kernel: Kernel, dims: tuple[int, ...]) -> Launch:
    """The launch of a kernel with these dims."""
    need = resources(kernel, THREADS)
    count = size_of(need.range, dims)
    blocks = 1 if need.unit == LAUNCH else -(-count // need.threads) if need.unit == THREAD else count
    blocks = max(1, min(blocks, BLOCKS_PER_UNIT * device.units))
    shared = size_of(need.shared, dims)
    if shared > device.most_shared:
        raise ValueError(
            f"[{kernel.name}] requires at most {device.most_shared} bytes of shared memory on {device.place.name}, "
            f"got {shared}"
        )
    module = device.modules.load(kernel, need.threads)
    module.allow_shared(shared)
    units = blocks * (need.threads if need.unit == THREAD else 1)
    local, global_scratch = units * size_of(need.local, dims), size_of(need.global_scratch, dims)
    return Launch(module, kernel.name, blocks, need.threads, shared, dims, need.words, local, global_scratch)
