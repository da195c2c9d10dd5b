"""Kernels of nests: the loop IR of a class of calls, as OpenCL C that is compiled when sizes first ask for it."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl

from umiak.backends.attention_launches import launches_of
from umiak.backends.late_failures import DataCheck
from umiak.backends.nest_launches import KernelCache, Step, Work, size_of
from umiak.compiler.dump import dump
from umiak.compiler.loop import tree
from umiak.compiler.loop.printer import show_kernel
from umiak.compiler.render import opencl
from umiak.compiler.render.spmd import LAUNCH, THREAD, Resources, resources
from umiak.core import dtype as dt
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.tensor import empty
from umiak_opencl.device import Device
from umiak_opencl.programs import program

BEGIN, END = struct.pack("q", 0), struct.pack("q", 1 << 62)  # of the parallel range: beyond its end does no harm
BLOCKS_PER_UNIT = 32  # work-groups of a launch: more of them only repeat what each does at its beginning
NO_ERROR = np.zeros(1, np.uint32)
NEEDS: KernelCache[Resources] = KernelCache()  # by threads of a work-group
TEXTS: KernelCache[str] = KernelCache()  # by that, and where integers come from


Found = tuple[cl.Buffer, int]  # an object and the offset in it


class Launchable(NamedTuple):
    """One kernel of a launch. Its integers are set; pointers, offsets and words are set at each launch."""

    kernel: cl.Kernel
    groups: int
    threads: int
    words: int
    local: int  # bytes of scratch of all units
    integers: int  # what comes between offsets and words

    def queue(
        self, commands: cl.CommandQueue, pointers: Sequence[Found], words: Sequence[bytes], scratch: Sequence[Found]
    ) -> cl.Event:
        set_arg, n = self.kernel.set_arg, len(pointers)
        for i, (buffer, at) in enumerate(pointers):
            set_arg(i, buffer)
            set_arg(n + i, struct.pack("q", at))
        i = 2 * n + self.integers
        for word in words[: self.words]:
            set_arg(i, word)
            i += 1
        for k, (buffer, at) in enumerate(scratch):
            set_arg(i + k, buffer)
            set_arg(i + len(scratch) + k, struct.pack("q", at))
        return cl.enqueue_nd_range_kernel(commands, self.kernel, (self.groups * self.threads,), (self.threads,))


class Prepared(NamedTuple):
    temporaries: tuple[int, ...]
    steps: tuple[tuple[int, tuple[Launchable, ...]], ...]  # bytes of global scratch, kernels
    fails: bool
    keep: list[cl.Buffer]


class Scratch:
    """Memory of one launch. It goes back to the allocator with this: whoever gets it comes later in the same stream."""

    def __init__(self, device: Device, place: Any) -> None:
        self.device, self.place, self.taken = device, place, []

    def take(self, nbytes: int) -> Found:
        if not nbytes:
            return self.device.nothing, 0
        self.taken.append(empty([nbytes], dt.uint8, self.place))
        return self.device.memory.find(self.taken[-1].data_ptr())


class NestKernel:
    """The launches of one class of calls on one device; raises NotANest where they are no nest."""

    def __init__(self, device: Device, call: Any) -> None:
        self.device = device
        self.lock = threading.Lock()  # arguments are set one by one
        self.launches = launches_of(call, self.prepare, device.most_shared)
        self.name = self.launches.name

    def prepare(self, work: Work) -> Prepared:
        keep: list[cl.Buffer] = []
        steps = []
        for kernels in work.steps:
            whole = max(size_of(self.needs(k).global_scratch, k.dims) for k in kernels)
            steps.append((whole, tuple(self.launchable(k, keep) for k in kernels)))
        bodies = [tree.walk_statements(k.kernel.body) for kernels in work.steps for k in kernels]
        fails = any(isinstance(s, tree.Fail) for body in bodies for s in body)
        return Prepared(work.temporaries, tuple(steps), fails, keep)

    def needs(self, step: Step) -> Resources:
        """Return what launches of a step's kernel need."""
        threads = self.device.threads
        return NEEDS.get(step.kernel, threads) or NEEDS.put(resources(step.kernel, threads), step.kernel, threads)

    def launchable(self, step: Step, keep: list[cl.Buffer]) -> Launchable:
        device, kernel, dims = self.device, step.kernel, step.dims
        dump("loop", self.name, partial(show_kernel, kernel))
        need = self.needs(step)
        pointers = sum(b.space in (tree.IN, tree.OUT) for b in kernel.buffers)
        count = size_of(need.range, dims)
        groups = 1 if need.unit == LAUNCH else -(-count // need.threads) if need.unit == THREAD else count
        groups = max(1, min(groups, BLOCKS_PER_UNIT * device.units))
        # Pointers and words, each with an offset; scratch likewise; the range.
        others = 8 * (2 * pointers + need.words + 2 * 3 + 3)
        in_memory = others + 8 * len(dims) > device.device.max_parameter_size
        text = TEXTS.get(kernel, need.threads, in_memory) or TEXTS.put(
            opencl.render(kernel, need.threads, offsets=True, dims_in_memory=in_memory), kernel, need.threads, in_memory
        )
        made = cl.Kernel(program(device, text), kernel.name)
        first = 2 * pointers
        if in_memory:
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            keep.append(cl.Buffer(device.context, flags, hostbuf=np.asarray(dims, np.int64)))
            made.set_arg(first, keep[-1])
        else:
            for i, d in enumerate(dims):
                made.set_arg(first + i, struct.pack("q", d))
        integers = 1 if in_memory else len(dims)
        last = first + integers + need.words + 6
        made.set_arg(last, BEGIN)
        made.set_arg(last + 1, END)
        shared = size_of(need.shared, dims)
        if shared:
            made.set_arg(last + 2, cl.LocalMemory(shared))
        units = groups * (need.threads if need.unit == THREAD else 1)
        return Launchable(made, groups, need.threads, need.words, units * size_of(need.local, dims), integers)

    def run(self, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        words = self.launches.words(ins, params)
        with self.lock:
            prepared = self.launches.prepared(ins, words)
            if prepared.steps:
                self.launch(prepared, op, outs, ins, params, words)

    def launch(
        self, prepared: Prepared, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple, words: list[int]
    ) -> None:
        device, place = self.device, outs[0].place
        queue = device.queue(current().get_stream(place))
        find = device.memory.find
        # Scratch goes back to the allocator when this returns; its next user comes later in the same stream.
        scratch = Scratch(device, place)
        # Numbers and absent operands have a place among the pointers, too.
        pointers = [find(x.pointer) if isinstance(x, Buffer) else (device.nothing, 0) for x in (*ins, *outs)]
        pointers += [scratch.take(n) for n in prepared.temporaries]
        packed = [struct.pack("Q", w) for w in words]
        code = np.zeros(1, np.uint32)  # the error word, copied behind the launch
        check = None
        if prepared.fails:
            check = DataCheck(op, ins, params, lambda: int(code[0]), device.memory.array)
        error = scratch.take(4 if check is not None else 0)

        def enqueue(commands: cl.CommandQueue) -> list[cl.Event]:
            events = []
            if check is not None:
                events.append(cl.enqueue_fill_buffer(commands, error[0], NO_ERROR, error[1], 4))
            for whole, kernels in prepared.steps:
                global_scratch = scratch.take(whole)
                for k in kernels:
                    events.append(k.queue(commands, pointers, packed, (scratch.take(k.local), global_scratch, error)))
            if check is not None:
                events.append(cl.enqueue_copy(commands, code, error[0], src_offset=error[1], is_blocking=False))
            return events

        queue.put(op.name, enqueue, check)
