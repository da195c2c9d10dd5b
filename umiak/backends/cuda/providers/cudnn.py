"""Convolutions by cuDNN, from the wheel ``nvidia-cudnn-cu13`` or wherever ``cuda.pathfinder`` finds it."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from umiak.backends.cpu.providers import DETERMINISTIC
from umiak.backends.cuda.device import TimedEvent
from umiak.backends.cuda.launches import Scratch
from umiak.backends.cuda.providers import cudnn_flags as flags
from umiak.backends.cuda.providers import cudnn_library as dnn
from umiak.backends.cuda.providers.cudnn_library import CudnnError, Descriptor, Library
from umiak.core.buffer import Buffer
from umiak.core.context import current
from umiak.util import log
from umiak.util.errors import op_error

if TYPE_CHECKING:
    from umiak.backends.cuda.device import Device, Queue

DTYPES = tuple(dnn.DTYPES)
OLDEST = 90000  # version
MOST_PLANS = 16  # that are looked at, in the library's order
MOST_ALIGNED = 16
IMAGE, WEIGHTS, RESULT, BIAS, PRODUCT, SUM = range(1, 7)  # numbers of tensors


@functools.cache
def load() -> Library | str:
    """The library; where there is none, the reason."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path = load_nvidia_dynamic_lib("cudnn").abs_path
    except ImportError as error:
        return f"cuda-pathfinder is not installed ({error})"
    except RuntimeError as error:  # DynamicLibNotFoundError
        return f"cuDNN is not installed (the extra umiak[cuda] has it): {error}"
    library = Library(ctypes.CDLL(path))
    version = library.version()
    return library if version >= OLDEST else f"cuDNN requires version 9, got {version}"


def find(device: Device) -> Cudnn | None:
    """The library on a device; None: columns and matmuls."""
    if flags.PROVIDER.value == "im2col":
        return None
    library = load()
    if isinstance(library, str):
        if flags.PROVIDER.value == "cudnn":
            raise op_error(RuntimeError, "FLAGS_cuda_conv", "cuDNN", library)
        _say_once(library)
        return None
    return _on(device, library)


def is_there() -> bool:
    """Return whether the library convolves here."""
    return flags.PROVIDER.value != "im2col" and not isinstance(load(), str)


@functools.cache
def _on(device: Device, library: Library) -> Cudnn:
    return Cudnn(device, library)


@functools.cache
def _say_once(reason: str) -> None:
    log.get("cuda").warning("convolutions are columns and matmuls, which takes memory for the columns: %s", reason)


class Operand(NamedTuple):
    """A tensor as the library sees it: sizes and strides of images, channels and at least two spatial dims."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    aligned: int


class Problem(NamedTuple):
    """One class of convolutions. ``bias`` and ``relu`` follow a forward one."""

    kind: int
    dtype: str
    x: Operand
    w: Operand
    y: Operand
    pre: tuple[int, ...]
    post: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    bias: Operand | None
    relu: bool


class Plan(NamedTuple):
    """A way to compute a class of convolutions, and the bytes that it takes beside the tensors."""

    descriptor: Descriptor
    workspace: int


class Choice(NamedTuple):
    """The switches that a plan was chosen under."""

    deterministic: bool
    exhaustive: bool
    limit: int  # bytes


class Cudnn:
    """cuDNN on one device."""

    def __init__(self, device: Device, library: Library) -> None:
        self.device, self.library = device, library
        device.enter()
        self.handle = ctypes.c_void_p()
        library.call("Create", ctypes.byref(self.handle))
        self.chosen: dict[tuple[Problem, Choice], Plan | None] = {}
        self.lock = threading.Lock()  # of the handle, which knows one stream at a time

    def convolve(self, problem: Problem, buffers: dict[int, Buffer], out: int, name: str) -> bool:
        """Queue a convolution on the current stream, as part of op ``name``; ``buffers`` by number, of which ``out`` is
        written. False, and nothing done, where the library has no plan for it."""
        queue = self.device.queue(current().get_stream(buffers[out].place))
        plan = self.plan(problem, buffers, queue)
        if plan is None:
            return False
        scratch = Scratch(buffers[out].place)
        run = self.run(plan, buffers, scratch.take(plan.workspace))
        uses = (*(x for number, x in buffers.items() if number != out), buffers[out])
        queue.put(name, run, uses=(*uses, *scratch.tensors))
        return True

    def run(self, plan: Plan, buffers: dict[int, Buffer], workspace: int) -> Callable[[int], None]:
        """A function that hands a plan to a stream."""
        pack = Descriptor(self.library, dnn.PACK)
        pack.set(dnn.PACK_IDS, dnn.INT64, *buffers)
        pack.set(dnn.PACK_POINTERS, dnn.POINTER, *(x.pointer for x in buffers.values()))
        pack.set(dnn.PACK_WORKSPACE, dnn.POINTER, workspace).finalise()

        def enqueue(stream: int) -> None:
            with self.lock:
                self.library.call("SetStream", self.handle, ctypes.c_void_p(stream))
                self.library.call("BackendExecute", self.handle, plan.descriptor.handle, pack.handle)

        return enqueue

    def plan(self, problem: Problem, buffers: dict[int, Buffer], queue: Queue) -> Plan | None:
        """The plan for a class of convolutions; None where there is none."""
        # Nothing is done yet while a graph is recorded, so no time can be taken.
        exhaustive = flags.EXHAUSTIVE.value and queue.capture is None
        choice = Choice(DETERMINISTIC.value, exhaustive, flags.WORKSPACE.value << 20)
        known = self.chosen.get((problem, choice._replace(exhaustive=True)))
        if known is not None:
            return known
        if (problem, choice) not in self.chosen:
            plans = self.plans(problem, choice)
            if exhaustive:
                found = self.fastest(list(plans), buffers, queue)
            else:
                found = next(plans, None)
            self.chosen[problem, choice] = found
        return self.chosen[problem, choice]

    def plans(self, problem: Problem, choice: Choice) -> Iterator[Plan]:
        """The plans that the switches allow, in the library's order."""
        try:
            graph = self.graph(problem)
        except CudnnError:
            return
        for mode in (dnn.MODE_A, dnn.MODE_FALLBACK):
            try:
                heuristics = Descriptor(self.library, dnn.HEURISTICS)
                heuristics.set(dnn.HEURISTICS_GRAPH, dnn.DESCRIPTOR, graph)
                heuristics.set(dnn.HEURISTICS_MODE, dnn.HEURISTIC_MODE, mode).finalise()
                configs = heuristics.get_descriptors(dnn.HEURISTICS_RESULTS, dnn.ENGINE_CONFIG, MOST_PLANS)
            except CudnnError:
                continue
            for config in configs:
                if self.allowed(config, problem.dtype, choice):
                    plan = self.built(config, graph)
                    if plan is not None and plan.workspace <= choice.limit:
                        yield plan

    def graph(self, x: Problem) -> Descriptor:
        """The operations of a class of convolutions."""
        library, dtype = self.library, dnn.DTYPES[x.dtype]

        def tensor(number: int, of: Operand, dtype: int = dtype, virtual: bool = False) -> Descriptor:
            return dnn.tensor(library, number, dtype, of.sizes, of.strides, of.aligned, virtual)

        image, weights, result = tensor(IMAGE, x.x), tensor(WEIGHTS, x.w), tensor(RESULT, x.y)
        of = dnn.convolution(library, x.pre, x.post, x.strides, x.dilations)
        steps: list[Descriptor] = []
        y = result
        # From the end: what is between two steps is a number in a register.
        if x.relu:
            before = tensor(SUM, x.y, dnn.FLOAT, True)
            steps.append(dnn.step(library, dnn.RELU, before, y))
            y = before
        if x.bias is not None:
            before = tensor(PRODUCT, x.y, dnn.FLOAT, True)
            steps.append(dnn.step(library, dnn.ADD, before, y, tensor(BIAS, x.bias)))
            y = before
        steps.append(dnn.operation(library, x.kind, of, image, weights, y))
        graph = Descriptor(library, dnn.GRAPH)
        graph.set(dnn.GRAPH_HANDLE, dnn.HANDLE, self.handle)
        return graph.set(dnn.GRAPH_OPERATIONS, dnn.DESCRIPTOR, *reversed(steps)).finalise()

    def allowed(self, config: Descriptor, dtype: str, choice: Choice) -> bool:
        """Return whether an engine adds in the same order each time, where that is asked for, and does not round
        float32 to fewer bits."""
        (engine,) = config.get_descriptors(dnn.CONFIG_ENGINE, dnn.ENGINE, 1)
        notes = engine.get(dnn.ENGINE_NOTES, dnn.NOTE, dnn.NOTES)
        if choice.deterministic and dnn.NONDETERMINISTIC in notes:
            return False
        return dtype != "float32" or not {dnn.TENSOR_CORE, dnn.DOWN_CONVERT} & {*notes}

    def built(self, config: Descriptor, graph: Descriptor) -> Plan | None:
        """The plan of a configuration; None where the library declines it after all."""
        plan = Descriptor(self.library, dnn.PLAN)
        plan.keep.append(graph)
        try:
            plan.set(dnn.PLAN_HANDLE, dnn.HANDLE, self.handle)
            plan.set(dnn.PLAN_CONFIG, dnn.DESCRIPTOR, config).finalise()
            (workspace,) = plan.get(dnn.PLAN_WORKSPACE, dnn.INT64, 1)
        except CudnnError:
            return None
        return Plan(plan, workspace)

    def fastest(self, plans: Sequence[Plan], buffers: dict[int, Buffer], queue: Queue) -> Plan | None:
        """The plan that takes the least time on these tensors, each tried twice."""
        best: tuple[float, Plan] | None = None
        for plan in plans:
            scratch = Scratch(queue.device.place)
            run = self.run(plan, buffers, scratch.take(plan.workspace))
            try:
                queue.put("cudnn", run)
                begin = TimedEvent(queue)
                queue.put("cudnn", run)
            except CudnnError:
                continue
            taken = begin.milliseconds_to(TimedEvent(queue))
            if best is None or taken < best[0]:
                best = taken, plan
        return None if best is None else best[1]


def operand(sizes: Sequence[int], strides: Sequence[int], pointer: int) -> Operand:
    """A tensor as the library sees it: with one spatial dim, there is another one of size 1 before it."""
    if len(sizes) == 3:
        n, c, s = sizes
        sizes, strides = (n, c, 1, s), (*strides[:2], strides[2] * s, strides[2])
    return Operand(tuple(sizes), tuple(strides), min(MOST_ALIGNED, pointer & -pointer))


def two(values: Sequence[int], least: int) -> tuple[int, ...]:
    """Numbers of spatial dims, at least two of them."""
    return tuple(values) if len(values) > 1 else (least, *values)
