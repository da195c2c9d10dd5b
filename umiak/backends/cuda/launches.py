"""Launches of kernels of the loop IR: what one needs that does not change, and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from umiak.backends.cuda.launch_entry import Entry
from umiak.backends.cuda.modules import Module
from umiak.backends.nest_launches import reads_first, size_of
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.render.spmd import LAUNCH, THREAD
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


class Given(NamedTuple):
    """Arguments of a launch beside the integers: addresses, and the words of the scalar pack."""

    pointers: list[int]
    words: list[int]
    local: int = 0
    global_scratch: int = 0
    error: int = 0
    resized: Callable[[list[int]], Launch | None] | None = None  # the launch for other words; None: of other kernels


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
    entry: Entry
    extras: tuple[int, int]  # which extras of the call its first integers are: from, number
    fixed: bool  # grid and scratch are the same for all extras

    def arguments(self, given: Given) -> list[int]:
        """The arguments of the kernel (:mod:`umiak.compiler.render.ptx`)."""
        behind = (given.local, given.global_scratch, given.error, BEGIN, END)
        return [*given.pointers, *self.dims, *given.words[: self.words], *behind]

    def fits_in_place_of(self, other: Launch) -> bool:
        """Return whether it is the other one but for its grid and integers."""
        mine, its = (
            (x.module, x.threads, x.shared, len(x.dims), x.words, x.local, x.global_scratch) for x in (self, other)
        )
        return mine == its

    def put(self, queue: Queue, given: Given) -> None:
        """Launch it on a stream whose context is current. Its ticket is the next one of the stream."""
        code = self.entry.launch(
            queue.handle, given.pointers, given.words, given.local, given.global_scratch, given.error
        )
        if code:
            queue.device.driver.check("cuLaunchKernel", code)
        if queue.capture is not None:
            queue.capture.launched(queue, self, given)


def prepare(device: Device, kernel: Kernel, dims: tuple[int, ...], extras: tuple[int, int] = (0, 0)) -> Launch:
    """The launch of a kernel with these dims, the first of which are ``extras`` of the call."""
    need, module = device.modules.of(kernel, THREADS)
    count = size_of(need.range, dims)
    blocks = 1 if need.unit == LAUNCH else -(-count // need.threads) if need.unit == THREAD else count
    blocks = max(1, min(blocks, BLOCKS_PER_UNIT * device.units))
    shared = size_of(need.shared, dims)
    if shared + module.fixed > device.most_shared:
        raise ValueError(
            f"[{kernel.name}] requires at most {device.most_shared} bytes of shared memory on {device.place.name}, "
            f"got {shared + module.fixed}"
        )
    module.allow_shared(shared)
    units = blocks * (need.threads if need.unit == THREAD else 1)
    local, global_scratch = units * size_of(need.local, dims), size_of(need.global_scratch, dims)
    entry = Entry(
        device.launch_entry, module.function, blocks, need.threads, shared, list(dims), need.words, BEGIN, END
    )
    fixed = not any(reads_first(x, extras[1]) for x in (need.range, need.shared, need.local, need.global_scratch))
    return Launch(
        module, kernel.name, blocks, need.threads, shared, dims, need.words, local, global_scratch, entry, extras, fixed
    )
