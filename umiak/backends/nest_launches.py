"""Nests on devices that are driven from Python: what a class of calls runs, as kernels of the loop IR.

A device's backend makes a :class:`NestLaunches` of a call. For each class of sizes and strides that comes, this tells
the backend of the :class:`Work`: kernels, in order, each with the integers that it gets. The backend prepares it
(renders the text, has it compiled), and gets back at each launch what it has prepared. Schedules are those for machines
of many threads (``schedule/gpu.py``); scatters run as on processors, where each element of the output belongs to one
point of the grid.
"""

from __future__ import annotations

import functools
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

from umiak.backends.cpu.launcher import MAX_ACCESSES, MOST_AXES
from umiak.backends.cpu.nests import launch_dims, make_launcher, name_of
from umiak.compiler import schedule
from umiak.compiler.algorithms.launch import algorithm_of, has_algorithm
from umiak.compiler.loop.node import Node, dim, i64, replace
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.loop.walk import walk
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.group import has_rule
from umiak.compiler.nest import Chain, Nest, ScatterStage, Variant
from umiak.compiler.plan import Call, scalar_program
from umiak.compiler.schedule import gpu
from umiak.core.buffer import Buffer
from umiak.core.plan import AXIS_OFFSET, AXIS_STRIDE
from umiak.ir.expr import Sym
from umiak.ir.linearise import linearise
from umiak.ir.scope import symbols_of

MOST_REMEMBERED = 256  # classes of sizes and strides of one call whose work is kept
MOST_KERNELS = 4096  # of one cache


class Step(NamedTuple):
    """One kernel and the integers that it gets. Its ``in`` and ``out`` buffers are the pointers of the launch.

    ``extras``: which of the launch's extras its first integers are (from, number).
    """

    kernel: Kernel
    dims: tuple[int, ...]
    extras: tuple[int, int] = (0, 0)


class Work(NamedTuple):
    """The kernels of a launch, in order. Steps of one list share global scratch; ``temporaries`` are sizes in bytes of
    buffers that follow operands and results among the pointers."""

    temporaries: tuple[int, ...]
    steps: tuple[tuple[Step, ...], ...]


T = TypeVar("T")


class KernelCache(Generic[T]):
    """Values that backends have worked out of kernels, such as their text, which takes milliseconds to write. Kernels
    are told apart by identity (:func:`kernels_of` gives the same ones again); ``more`` is what else values depend on.
    """

    def __init__(self) -> None:
        self.known: dict[tuple, tuple[Kernel, T]] = {}

    def get(self, kernel: Kernel, *more: Hashable) -> T | None:
        """The value that was put last; None where there is none."""
        found = self.known.get((id(kernel), *more))
        return None if found is None else found[1]

    def put(self, value: T, kernel: Kernel, *more: Hashable) -> T:
        """Keep a value, and the kernel with it, since another one could get its identity."""
        if len(self.known) >= MOST_KERNELS:
            self.known.clear()
        key = (id(kernel), *more)
        self.known[key] = kernel, value
        return value


class Launches(ABC):
    """The launches of one class of calls, each of some work that its sizes and strides decide on.

    ``prepare(work)`` is called once per class of sizes and strides, as long as that is remembered.
    """

    name: str

    def __init__(self, call: Call, prepare: Callable[[Work], Any]) -> None:
        self.prepare = prepare
        self.kinds = [p.kind for p in call.op.param_fields.values()]
        self.known: dict[tuple, Any] = {}

    def words(self, ins: Sequence[Any], params: Sequence[Any]) -> list[int]:
        """The scalar pack of a launch: numbers among the operands, then params, as words of 64 bits."""
        given: list[Any] = []
        for x in ins:
            if isinstance(x, Buffer) or x is None:
                continue
            given += [x.real, x.imag] if type(x) is complex else [x]
        for kind, value in zip(self.kinds, params, strict=True):
            given += value if kind == "ints" else [float(value) if kind == "float" else value]
        return [word(x) for x in given]

    def prepared(self, ins: Sequence[Any], words: Sequence[int]) -> Any:
        """Return what ``prepare`` gave for the work of a launch on these operands."""
        values = self.values(ins, words)
        result = self.known.get(values)
        if result is None:
            if len(self.known) >= MOST_REMEMBERED:
                self.known.clear()
            result = self.known[values] = self.prepare(self.work(values))
        return result

    @abstractmethod
    def values(self, ins: Sequence[Any], words: Sequence[int]) -> tuple:
        """Return the numbers of a launch that its work depends on."""

    @abstractmethod
    def work(self, values: tuple) -> Work:
        """The work of launches with these numbers."""


class NestLaunches(Launches):
    """The launches of a nest; raises NotANest where calls are none.

    ``extras`` are integers that kernels are handed and no variant is chosen by, as expressions: an offset of random
    numbers is one. ``symbols`` are those that all else depends on; :meth:`key` gives their values.
    """

    def __init__(self, call: Call, prepare: Callable[[Work], Any]) -> None:
        super().__init__(call, prepare)
        lowered = _lowered(call)
        self.name = name_of(call.op)
        self.nests: tuple[Nest, ...] = lowered.nests if isinstance(lowered, Chain) else (lowered,)
        for nest in self.nests:
            if len(nest.sizes) > MOST_AXES or len(nest.accesses) > MAX_ACCESSES:
                raise NotANest(f"{len(nest.sizes)} axes and {len(nest.accesses)} accesses")
        self.launchers = [make_launcher(nest, stream_bytes=0) for nest in self.nests]
        asked = [launch_dims(nest) for nest in self.nests]
        self.counts = [len(x) for x in asked]
        temporaries = lowered.temporaries if isinstance(lowered, Chain) else ()
        self.n_temporaries = len(temporaries)
        wanted = [*(t.size * t.type.bytes for t in temporaries), *(x for dims in asked for x in dims)]
        symbols: dict[Sym, None] = {}
        for x in wanted:
            symbols.update(symbols_of(x))
        linear = linearise(wanted, list(symbols))
        self.program, self.registers = scalar_program(linear), linear.outputs
        self.sources = [call.classes.sources[s] for s in symbols]
        self.extras = [x for nest in self.nests for x in nest.extras]
        deciding = dict.fromkeys(s for x in wanted[: self.n_temporaries] for s in symbols_of(x))
        for nest, dims in zip(self.nests, asked, strict=True):
            for x in dims[: len(dims) - len(nest.extras)]:
                deciding.update(symbols_of(x))
        self.symbols = list(deciding)
        self.key_sources = [call.classes.sources[s] for s in self.symbols]

    def values(self, ins: Sequence[Any], words: Sequence[int]) -> tuple[int, ...]:
        return tuple([_value(ins, words, *source) for source in self.sources])

    def key(self, ins: Sequence[Any], words: Sequence[int]) -> tuple[int, ...]:
        """Return the values of ``symbols``."""
        return tuple([_value(ins, words, *source) for source in self.key_sources])

    def work(self, values: tuple[int, ...]) -> Work:
        registers = self.program.evaluate(values)
        numbers = [registers[i] for i in self.registers]
        at, extra, steps = self.n_temporaries, 0, []
        for nest, launcher, count in zip(self.nests, self.launchers, self.counts, strict=True):
            decided = launcher.decide(numbers[at : at + count])
            at += count
            extras = extra, len(nest.extras)
            extra += len(nest.extras)
            if decided is not None:
                fields, dims, _ = decided
                kernels = kernels_of(_Loops(nest), Variant(*fields))
                # Split schedules alone read the numbers of blocks, which come last.
                steps.append(tuple(Step(k, tuple(dims[: k.dims]), extras) for k in kernels))
        return Work(tuple(numbers[: self.n_temporaries]), tuple(steps))


def word(x: float) -> int:
    """A number as a word of the scalar pack, unsigned."""
    if isinstance(x, float):
        return struct.unpack("Q", struct.pack("d", x))[0]
    return int(x) & 0xFFFF_FFFF_FFFF_FFFF


def _value(ins: Sequence[Any], words: Sequence[int], operand: int, axis: int) -> int:
    """The number that a symbol of the call stands for, from where C reads it."""
    if operand < 0:
        value = words[axis]
        return value - (1 << 64) if value >> 63 else value
    x = ins[operand]
    if axis == AXIS_OFFSET:
        return x.offset // x.dtype.itemsize
    return x.strides[axis - AXIS_STRIDE] if axis >= AXIS_STRIDE else x.shape[axis]


def _lowered(call: Call) -> Nest | Chain:
    """The call's nest: of what its elements are, else of an algorithm's statements."""
    if not has_algorithm(call.op):
        return call.nest()[0]
    if has_rule(call.op):
        with suppress(NotANest):
            return call.nest()[0]
    return algorithm_of(call)


class _Loops:
    """A nest by what its kernels are made of: sizes and strides are integers that they get."""

    __slots__ = ("key", "nest")

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.key = (nest.name, len(nest.extras), len(nest.accesses), nest.buffers, nest.stages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Loops) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=4096)
def kernels_of(loops: _Loops, variant: Variant) -> tuple[Kernel, ...]:
    """The kernels of a variant, in order."""
    scatters = any(isinstance(s, ScatterStage) for s in loops.nest.stages)
    phases = schedule.kernels(loops.nest, variant) if scatters else gpu.kernels(loops.nest, variant)
    return tuple(p.kernel for p in phases)


def reads_first(x: Node, n: int) -> bool:
    """Return whether an expression over the dims of a kernel reads one of the first ``n``."""
    return any(y.op == "dim" and y.attr < n for y in walk([x]))


def size_of(x: Node, dims: Sequence[int]) -> int:
    """An expression over the dims of a kernel, as a number (``render.spmd.resources`` has such)."""
    if x.op == "const":
        return x.attr
    value = replace([x], {dim(k): i64(v) for k, v in enumerate(dims)})[0]
    if value.op != "const":
        raise ValueError(f"[size_of] requires an expression over {len(dims)} dims, got {value}")
    return value.attr
