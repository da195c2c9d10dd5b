"""Calls of captured programs as graphs of the driver: docs/design/cuda.md.

The first run of a class of inputs runs the calls one by one, and notes which of them somebody waits in; the second one
records them, and later ones launch what was recorded. Numbers of a run (rates, words of random streams) are written
into the nodes of the graphs that depend on them.
"""

from __future__ import annotations

import struct
import sys
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from umiak.backends.base import runs_everywhere
from umiak.backends.cuda import copies
from umiak.backends.cuda.device import DEVICES, Capture, CaptureError, Device, Probe, Recorded
from umiak.backends.cuda.launches import Launch
from umiak.backends.cuda.recordings import LOCK, GraphSequence
from umiak.backends.nest_launches import word
from umiak.core import eager, inplace, observed
from umiak.core.buffer import Buffer
from umiak.core.call_program import CallProgram
from umiak.core.context import current
from umiak.core.tensor import Tensor, empty
from umiak.ops.base import REGISTRY
from umiak.util import flags, log

GRAPHS = flags.define("cuda_graphs", True, "programs that are captured run as graphs of the driver on CUDA devices")
MOST_FORMS = 8  # classes of inputs of one program that are recorded
MOST_RECORDINGS = 8  # of one class, until it is taken for one that always changes
FEWEST = 3  # calls that a graph is worth

_logger = log.get("cuda")


class Changed(Exception):
    """The graphs do not serve: ``apart`` is the call that has to be between two of them; -1: none."""

    def __init__(self, apart: int) -> None:
        super().__init__(apart)
        self.apart = apart


class Numbered(NamedTuple):
    """A call that reads numbers: its launches, of the graph of that number; None where they cannot be set."""

    step: int
    registers: tuple[int, ...]
    graph: int
    launches: list[Recorded] | None


class Apart:
    """A call that is done between two graphs; its results are written to where the first ones were."""

    def __init__(self, op: Any, operands: tuple, params: tuple, results: tuple, into: bool, words: list[int]) -> None:
        self.op, self.operands, self.params, self.results, self.into = op, operands, params, results, into
        self.words = words

    def __call__(self) -> None:
        numbers = iter(self.words)
        operands = tuple(x if isinstance(x, Tensor) or x is None else _number(x, numbers) for x in self.operands)
        params = tuple(
            tuple(_number(n, numbers) for n in x) if type(x) is tuple else _number(x, numbers) for x in self.params
        )
        if self.into:
            inplace.apply_into(self.op, self.results, operands, params)
            return
        made = eager.apply(self.op, operands, params)
        for mine, x in zip(self.results, made if isinstance(made, tuple) else (made,), strict=True):
            inplace.apply_into(REGISTRY["copy"](), (mine,), (x,))


def _number(like: Any, words: Any) -> Any:
    """The next number among words, of the type of another one."""
    if type(like) is complex:
        return complex(_number(0.0, words), _number(0.0, words))
    value = next(words)
    if type(like) is float:
        return struct.unpack("d", struct.pack("Q", word(value)))[0]
    return type(like)(value)


class Program:
    """A call program on CUDA devices; ``run`` is ``CallProgram.run``."""

    def __init__(self, calls: CallProgram) -> None:
        self.calls = calls
        self.ops: list[Any] = calls.steps_ops
        self.reads = observed.registers_read(calls)
        self.forms: dict[tuple, Form] = {}

    def run(self, inputs: list[Tensor], words: list, donation: bytes | None) -> list[Any]:
        """The results of the calls."""
        device = _device_of(inputs)
        if device is None or not GRAPHS.value or current().observers or _captured(device):
            return self.calls.run(inputs, words, donation)
        with LOCK:
            key = (device.number, donation, *[(x.dtype, tuple(x.shape), tuple(x.strides), x.offset) for x in inputs])
            form = self.forms.get(key)
            if form is None:
                while len(self.forms) >= MOST_FORMS:
                    self.forms.pop(next(iter(self.forms))).close()
                form = self.forms[key] = Form(self, device)
            return form.run(inputs, words, donation)

    def graphs(self) -> list[int]:
        """The number of graphs of each class of inputs that is recorded."""
        return [len(f.recording.segments()) for f in self.forms.values() if f.recording is not None]

    def close(self) -> None:
        """Give all graphs back."""
        while self.forms:
            self.forms.popitem()[1].close()

    def __del__(self) -> None:
        if hasattr(self, "forms") and not sys.is_finalizing():
            self.close()


def _device_of(inputs: Sequence[Tensor]) -> Device | None:
    """The device that all inputs lie on."""
    places = {x.place for x in inputs}
    return DEVICES.get(places.pop().index) if len(places) == 1 else None


def _captured(device: Device) -> bool:
    """Return whether work of the current stream goes into a graph already."""
    return device.queue(current().get_stream(device.place)).capture is not None


class Form:
    """The calls for one class of inputs."""

    def __init__(self, program: Program, device: Device) -> None:
        self.program, self.device = program, device
        self.seen: list[Any] | None = None  # the inputs of the last run that was not a replay, weakly
        self.apart: set[int] = set()
        self.moving: set[int] = set()  # inputs that are other tensors at each run
        self.recording: GraphSequence | None = None
        self.recordings = 0
        self.refused = ""

    def run(self, inputs: list[Tensor], words: list, donation: bytes | None) -> list[Any]:
        if self.refused:
            return self.program.calls.run(inputs, words, donation)
        if self.seen is None:
            return self.observe(inputs, words, donation)
        if self.recording is not None:
            try:
                self.require_same(inputs)
                self.set_numbers(words)
                return self.replay(inputs, donation)
            except Changed as change:
                if change.apart >= 0:
                    self.apart.add(change.apart)
                self.close()
        if self.recordings == MOST_RECORDINGS:
            self.refuse(f"it was recorded {MOST_RECORDINGS} times")
            return self.program.calls.run(inputs, words, donation)
        self.recordings += 1
        return self.record(inputs, words, donation)

    def refuse(self, reason: str) -> None:
        self.refused = reason
        _logger.info("a program of %d calls runs without graphs: %s", len(self.program.ops), reason)

    # --- the first run ---

    def observe(self, inputs: list[Tensor], words: list, donation: bytes | None) -> list[Any]:
        """Run the calls one by one, and note those that a graph cannot hold."""
        device, ops = self.device, self.program.ops
        device.probe = probe = Probe()

        def after(i: int, operands: tuple, params: tuple, results: tuple, into: bool) -> None:
            if probe.interrupted or runs_everywhere(ops[i]):
                self.apart.add(i)
            probe.interrupted = False

        self.seen = [weakref.ref(x) for x in inputs]
        try:
            return observed.run(self.program.calls, inputs, words, donation, after)
        finally:
            device.probe = None

    # --- capture ---

    def record(self, inputs: list[Tensor], words: list, donation: bytes | None) -> list[Any]:
        assert self.seen is not None
        self.moving |= {i for i, x in enumerate(inputs) if self.seen[i]() is not x}
        self.seen = [weakref.ref(x) for x in inputs]
        try:
            recording = GraphSequence(self.device, settable=True)
        except CaptureError as error:
            self.refuse(str(error))
            return self.program.calls.run(inputs, words, donation)
        try:
            with recording.entered():
                self.capture(recording, inputs, words, donation)
        except BaseException as error:
            recording.close()
            if isinstance(error, CaptureError) and not recording.launches:
                self.refuse(str(error))
                return self.program.calls.run(inputs, words, donation)
            raise
        self.recording = recording
        return self.results(inputs)

    def capture(self, recording: GraphSequence, inputs: list[Tensor], words: list, donation: bytes | None) -> None:
        """Run the calls, and record what they hand to the device."""
        program, place = self.program, self.device.place
        self.given: list[Tensor] = list(inputs)
        for i in self.moving:
            self.given[i] = empty(tuple(inputs[i].shape), inputs[i].dtype, place)
        self.fetch(recording, inputs)
        # Memory of fixed inputs alone may become that of results. Where graphs are launched before the whole is
        # recorded, and what follows may still be refused, nothing is overwritten.
        given_up = bytes(
            2 * (x == 2 and i not in self.moving and not self.apart) for i, x in enumerate(donation or b"")
        )
        registers = [word(x) for x in observed.registers(program.calls, words)]
        self.numbered: list[Numbered] = []
        begun: list[tuple[Capture, int, int]] = []  # of the call: the capture, its launches and other work before

        def begin(i: int) -> None:
            """Call ``i`` comes: within a capture, or between two."""
            inside = self.device.recording is not None
            if i in self.apart and inside:
                recording.end_and_launch()
            elif i not in self.apart and not inside:
                recording.begin()
            capture = recording.queue.capture
            begun[:] = [] if capture is None else [(capture, len(capture.launches), capture.others)]

        def after(i: int, operands: tuple, params: tuple, results: tuple, into: bool) -> None:
            reads = program.reads[i]
            if i in self.apart:
                given = [registers[r] for r in reads]
                recording.steps.append(Apart(program.ops[i], operands, params, results, into, given))
            elif reads:
                capture, first, others = begun[0]
                launches = capture.launches[first:]
                expected = [registers[r] for r in reads]
                alone = launches and capture.others == others and all(x.given.words == expected for x in launches)
                self.numbered.append(Numbered(i, reads, len(recording.segments()), launches if alone else None))
            if i + 1 < len(program.ops):
                begin(i + 1)

        begin(0)
        self.made = observed.run(program.calls, self.given, words, given_up if donation is not None else None, after)
        if self.device.recording is not None:
            recording.end_and_launch()
        self.fixed = [None if i in self.moving else x.storage for i, x in enumerate(inputs)]
        self.words, self.registers = list(words), registers

    def fetch(self, recording: GraphSequence, inputs: Sequence[Tensor]) -> None:
        """Copy the inputs that are other tensors at each run to where the graphs read them."""
        for i in self.moving:
            copies.copy(self.device, Buffer(self.given[i]), Buffer(inputs[i]))
            inputs[i].storage.use_on_stream(recording.outer)  # which comes after the recording's stream

    def results(self, inputs: Sequence[Tensor]) -> list[Any]:
        """Inputs that were written to, and copies of what a run made, since the next one writes over it."""
        where = {id(x): i for i, x in enumerate(self.given) if i not in self.moving}
        copy = REGISTRY["copy"]()
        return [
            x if x is None else inputs[where[id(x)]] if id(x) in where else eager.apply(copy, (x,)) for x in self.made
        ]

    # --- later runs ---

    def require_same(self, inputs: Sequence[Tensor]) -> None:
        """Raise :class:`Changed` where a tensor that the graphs know by its address lies elsewhere."""
        assert self.seen is not None
        for i, (x, storage) in enumerate(zip(inputs, self.fixed, strict=True)):
            if storage is not None and x.storage is not storage:
                if self.seen[i]() is not x:
                    self.moving.add(i)
                raise Changed(-1)

    def set_numbers(self, words: list) -> None:
        """Write the numbers of a run into the graphs."""
        if words == self.words:
            return
        assert self.recording is not None
        now = [word(x) for x in observed.registers(self.program.calls, words)]
        before, driver = self.registers, self.device.enter()
        instances = [s.instance for s in self.recording.segments()]
        changed = [n for n in self.numbered if any(now[r] != before[r] for r in n.registers)]
        nodes: list[tuple[int, Recorded, Launch, list[int]]] = []
        for n in changed:
            given = [now[r] for r in n.registers]
            for x in n.launches or ():
                launch = x.launch if x.given.resized is None else x.given.resized(given)
                if launch is None:
                    raise Changed(n.step)
                nodes.append((instances[n.graph], x, launch, given))
            if n.launches is None:
                if self.program.ops[n.step].view:
                    self.refuse(f"[{self.program.ops[n.step].name}] takes a view by numbers of the run")
                raise Changed(n.step)
        for instance, x, launch, given in nodes:
            driver.graph_exec_kernel_node_set_params(
                instance, x.node, launch.module.function, launch.blocks, launch.threads, launch.shared,
                launch.arguments(x.given._replace(words=given)),
            )  # fmt: skip
        apart = sorted(self.apart)
        calls = [s for s in self.recording.steps if isinstance(s, Apart)]
        for i, call in zip(apart, calls, strict=True):
            call.words = [now[r] for r in self.program.reads[i]]
        self.words, self.registers = list(words), now

    def replay(self, inputs: list[Tensor], donation: bytes | None) -> list[Any]:
        assert self.recording is not None
        with self.recording.entered():
            self.fetch(self.recording, inputs)
            self.recording.play()
        results = self.results(inputs)
        written = {id(x) for x in results}
        for x in inputs:
            if id(x) in written:
                x._bump_version()
        return results

    def close(self) -> None:
        """Give the graphs back, and the memory with them."""
        recording, self.recording = self.recording, None
        self.made, self.given, self.numbered, self.fixed = [], [], [], []
        if recording is not None:
            recording.close()
