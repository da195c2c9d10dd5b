"""Kernels of nests: the loop IR of a class of calls, loaded when sizes first ask for it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from umiak.backends.attention_launches import launches_of
from umiak.backends.base import Kernel
from umiak.backends.cuda.device import Capture, CaptureError, Device, Draw
from umiak.backends.cuda.launch_entry import Entry
from umiak.backends.cuda.launches import Given, Launch, Scratch, prepare
from umiak.backends.cuda.nest_calls import Table
from umiak.backends.late_failures import DataCheck
from umiak.backends.nest_launches import NestLaunches, Work
from umiak.compiler.dump import dump
from umiak.compiler.fused import Fused
from umiak.compiler.loop import tree
from umiak.compiler.loop.printer import show_kernel
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.core.dtype import DType

WORD = 4  # bytes that a kernel writes to where its data are refused


def _sticky_word(device: Device, capture: Capture) -> int:
    """The address of an error word for a graph: of its own, and set back by its reader alone, as the next replay may
    come before anybody looks."""
    memory = device.memory
    address = memory.take(WORD)
    if not address:
        raise MemoryError(f"[graph] requires memory on {device.place.name}, which has none left")
    memory.write(address, bytes(WORD))
    capture.keep.append(partial(memory.give, address, WORD))
    return address


class Prepared(NamedTuple):
    temporaries: tuple[int, ...]
    steps: tuple[tuple[Launch, ...], ...]  # launches of one step share global scratch
    fails: bool

    @property
    def alone(self) -> bool:
        """Launches need nothing of Python: no check behind them, nothing that extras decide on."""
        return not self.fails and all(k.fixed for step in self.steps for k in step)


class Sizes(NamedTuple):
    """A buffer without its memory."""

    dtype: DType
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, x: Buffer) -> Sizes:
        return cls(x.dtype, x.offset, x.shape, x.strides)


def _flat(prepared: Prepared) -> list[tuple[Entry, int, int, int, int]]:
    """The launches of all steps: each one's entry, the scratch that it shares with those behind it in its step (-1: it
    is such a one), its own, and its extras."""
    return [
        (k.entry, -1 if i else max(x.global_scratch for x in step), k.local, *k.extras)
        for step in prepared.steps
        for i, k in enumerate(step)
    ]


class NestKernel:
    """The launches of one class of calls on one device; raises NotANest where they are no nest."""

    def __init__(self, device: Device, call: Any) -> None:
        self.device = device
        self.lock = threading.Lock()  # what is prepared is found by all threads
        self.launches = launches_of(call, self.prepare, device.most_shared, device.cores.together)
        self.name = self.launches.name
        self.nest: NestLaunches | None = None  # of calls that may be launched without Python
        self.table: Table | None = None
        if isinstance(self.launches, NestLaunches):
            self.nest = self.launches
            self.table = Table(device.lines, len(self.nest.symbols), len(self.nest.extras))
        operations = call.op.group.operations if isinstance(call.op, Fused) else ()
        self.random = call.op.random or any(o.op.random for o in operations)
        # Where the words of a stream of random numbers begin is among the params of ops that draw them.
        names = list(call.op.param_fields)
        self.streamed = {"seed", "offset"} <= {*names}
        self.dropout = names.index("p") if self.streamed and not self.random and "p" in names else -1

    def prepare(self, work: Work) -> Prepared:
        steps = []
        for kernels in work.steps:
            for k in kernels:
                dump("loop", self.name, partial(show_kernel, k.kernel))
            steps.append(tuple(prepare(self.device, *k) for k in kernels))
        bodies = [tree.walk_statements(k.kernel.body) for kernels in work.steps for k in kernels]
        fails = any(isinstance(s, tree.Fail) for body in bodies for s in body)
        return Prepared(work.temporaries, tuple(steps), fails)

    def run(self, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple) -> None:
        words = self.launches.words(ins, params)
        with self.lock:
            prepared = self.launches.prepared(ins, words)
            if self.nest is not None and self.table is not None and prepared.alone:
                key = self.nest.key(ins, words)
                self.table.add(key, len(ins) + len(outs), prepared.temporaries, _flat(prepared), prepared)
        if prepared.steps:
            self.launch(prepared, op, outs, ins, params, words)

    def kernel(self, run: Any) -> Kernel:
        """Of calls that ``run`` does where they are not ready to be launched without Python."""
        if self.nest is None or self.table is None:
            return Kernel(run=run, residuals=True, keep=self, name=self.name)
        return Kernel(
            address=self.table.address, launch_self=id(self.table), dims=[*self.nest.symbols, *self.nest.extras],
            run=run, residuals=True, keep=self, name=self.name,
        )  # fmt: skip

    def resized(self, prepared: Prepared, sizes: list[Any], index: int, words: list[int]) -> Launch | None:
        """The launch of that number in what was prepared, for other words; None where they want other kernels."""
        with self.lock:
            other = self.launches.prepared(sizes, words)
        before, now = ([k for step in p.steps for k in step] for p in (prepared, other))
        same = len(before) == len(now) and prepared.temporaries == other.temporaries
        return now[index] if same and now[index].fits_in_place_of(before[index]) else None

    def launch(
        self, prepared: Prepared, op: Any, outs: Sequence[Buffer], ins: Sequence[Any], params: tuple, words: list[int]
    ) -> None:
        device, place = self.device, outs[0].place
        queue, driver = device.queue(current().get_stream(place)), device.driver
        capture = queue.capture
        draws = capture is not None and not capture.settable and self.draws(params)
        if draws and (capture.draws is None or not self.streamed):  # type: ignore[union-attr]
            raise CaptureError(f"[graph] requires a function that draws no random numbers, got {op.name}")
        first = len(capture.launches) if capture is not None else 0
        scratch = Scratch(place)
        # Numbers and absent operands have a place among the pointers, too.
        pointers = [x.pointer if isinstance(x, Buffer) else 0 for x in (*ins, *outs)]
        pointers += [scratch.take(n) for n in prepared.temporaries]
        work: list[tuple[Launch, Given]] = []
        sizes = [Sizes.of(x) if isinstance(x, Buffer) else x for x in ins] if queue.capture is not None else []
        error = 0 if not prepared.fails else scratch.take(WORD) if capture is None else _sticky_word(device, capture)
        for launches in prepared.steps:
            global_scratch = scratch.take(max(k.global_scratch for k in launches))
            for k in launches:
                resized = partial(self.resized, prepared, sizes, len(work)) if queue.capture is not None else None
                work.append((k, Given(pointers, words, scratch.take(k.local), global_scratch, error, resized)))

        def enqueue(stream: int) -> None:
            for launch, given in work:
                launch.put(queue, given)

        if not prepared.fails:
            queue.put(op.name, enqueue, uses=(*ins, *outs), nest=True)
            if draws:
                self.note_draw(capture, op, params, words, slice(first, first + len(work)))
            return
        block = device.pinned.take(WORD)
        code = ctypes.c_uint32.from_address(block[0])

        def checked(stream: int) -> None:
            if capture is None:
                driver.memset_d32_async(error, 0, 1, stream)
            enqueue(stream)
            driver.memcpy_async(block[0], error, WORD, stream)

        def told() -> int:
            value = code.value
            if value and capture is not None:
                code.value = 0
                device.memory.write(error, bytes(WORD))
            return value

        check = DataCheck(op, ins, params, told, device.memory.array)
        queue.put(op.name, checked, check, partial(device.pinned.give, block), (*ins, *outs), nest=True)
        if draws:
            self.note_draw(capture, op, params, words, slice(first, first + len(work)))

    def draws(self, params: tuple) -> bool:
        """Return whether a call draws random numbers: attention does where its ``p`` is not 0."""
        return self.random or (self.dropout >= 0 and params[self.dropout] != 0)

    def note_draw(self, capture: Any, op: Any, params: tuple, words: list[int], launches: slice) -> None:
        """Tell a capture of launches that draw."""
        at: dict[str, int] = {}
        behind = len(words)
        for (name, field), value in reversed([*zip(op.param_fields.items(), params, strict=True)]):
            behind -= len(value) if field.kind == "ints" else 1
            at[name] = behind
        capture.draws.append(
            Draw(launches, words[at["seed"]], params[list(op.param_fields).index("offset")], at["seed"], at["offset"])
        )
