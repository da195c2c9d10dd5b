"""The meaning of loop IR: runs a kernel on NumPy buffers.

Serial axes run one index after the other. The indices of a lane axis run side by side, as arrays; a kernel whose lanes
write the same element fails. Everything is evaluated where it stands, also under a condition that does not hold: what
may be out of bounds must say so itself, in a load's own condition. Access out of bounds is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import Any

import numpy as np

from umiak.compiler.loop.evaluate import DTYPES, evaluate
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node, var, walk
from umiak.compiler.loop.tile_interpreter import Tiles
from umiak.compiler.loop.tiles import WARP, Exchange
from umiak.compiler.loop.tree import (
    GLOBAL,
    IN,
    LANE,
    OUT,
    Atomic,
    Axis,
    Barrier,
    BlockStatement,
    Buffer,
    Fail,
    Fold,
    If,
    Kernel,
    Let,
    Loop,
    Reduce,
    Scan,
    Statement,
    Store,
    expressions,
)
from umiak.compiler.loop.types import ScalarType

Array = Any
ATOMIC = {"add": np.add, "min": np.minimum, "max": np.maximum, "or": np.bitwise_or, "and": np.bitwise_and}


def run(
    kernel: Kernel,
    pointers: Sequence[np.ndarray],
    dims: Sequence[int] = (),
    words: Sequence[float | int] = (),
    lo: int = 0,
    hi: int | None = None,
    scratch: dict[str, np.ndarray] | None = None,
) -> int:
    """Run the part ``[lo, hi)`` (by default all) of the kernel's parallel loop; 0 or the code of a Fail.

    ``pointers``: one-dimensional arrays of the in and out buffers, in order. ``scratch`` holds the global buffers from
    one kernel of a launch to the next.
    """
    try:
        _Run(kernel, pointers, dims, words, {} if scratch is None else scratch).run(lo, hi)
    except _Failed as failed:
        return failed.code
    return 0


class _Failed(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class _Run:
    def __init__(
        self,
        kernel: Kernel,
        pointers: Sequence[np.ndarray],
        dims: Sequence[int],
        words: Sequence[float | int],
        scratch: dict[str, np.ndarray],
    ) -> None:
        if len(dims) != kernel.dims:
            raise ValueError(f"[{kernel.name}] requires {kernel.dims} dims, got {len(dims)}")
        self.kernel = kernel
        self.dims, self.words = dims, words
        self.env: dict[Node, Array] = {}  # axes and variables
        self.lanes: tuple[int, ...] = ()
        self.memory: dict[str, np.ndarray] = {}
        named = [b for b in kernel.buffers if b.space in (IN, OUT)]
        if len(named) != len(pointers):
            raise ValueError(f"[{kernel.name}] requires {len(named)} pointers, got {len(pointers)}")
        for b, memory in zip(named, pointers):
            if memory.ndim != 1 or memory.dtype != DTYPES[b.type.name]:
                raise ValueError(
                    f"[{kernel.name}] requires {b.name} as 1-d {b.type}, got {memory.ndim}-d {memory.dtype}"
                )
            self.memory[b.name] = memory
        for b in kernel.buffers:
            if b.space == GLOBAL:
                if b.name not in scratch:
                    scratch[b.name] = self.fresh(b)
                self.memory[b.name] = scratch[b.name]
            elif b.space not in (IN, OUT):
                self.memory[b.name] = self.fresh(b)
        self.tiles = Tiles(self)

    def fresh(self, b: Buffer) -> np.ndarray:
        """Scratch with nothing useful in it."""
        assert b.size is not None
        size = int(self.values([b.size])[0])
        return np.frombuffer(bytearray(b"\x5b" * (size * DTYPES[b.type.name].itemsize)), DTYPES[b.type.name])

    def run(self, lo: int, hi: int | None) -> None:
        body = self.kernel.body
        if len(body) == 1 and isinstance(body[0], Loop) and body[0].parallel:
            axis = body[0].axis
            end = int(self.values([axis.hi])[0])
            part = range(lo, end if hi is None else hi)
            if len(part) and not 0 <= part[0] <= part[-1] < end:
                raise IndexError(f"[{self.kernel.name}] requires a part of [0, {end}), got [{lo}, {hi})")
            self.loop(body[0], part if body[0].counter is None else self.claimed(body[0].counter, part))
        elif lo == 0:
            self.body(body)

    def claimed(self, counter: str, part: range) -> Iterator[int]:
        """The iterations of a loop as they are claimed, one after the other."""
        memory = self.memory[counter]
        while memory[0] < len(part):
            memory[0] += 1
            yield part[memory[0] - 1]

    # --- expressions ---

    def values(self, roots: Sequence[Node]) -> list[Array]:
        env = dict(self.env)
        for x in walk(roots):
            if x.op == "dim":
                env[x] = self.dims[x.attr]
            elif x.op == "word":
                env[x] = self.words[x.attr]
        return evaluate(roots, env, self.load)

    def load(self, x: Node, index: Array, where: Array | None = None, other: Array | None = None) -> Array:
        memory = self.memory[x.attr]
        if where is None or other is None:
            self.check(x.attr, index)
            return memory[index]
        index, where, other = np.broadcast_arrays(index, where, other)
        result = np.array(other, memory.dtype)
        self.check(x.attr, index[where])
        result[where] = memory[index[where]]
        return result

    def check(self, buffer: str, index: Array) -> None:
        self.tiles.settled(buffer, index)
        size = len(self.memory[buffer])
        if np.any((index < 0) | (index >= size)):
            raise IndexError(f"[{self.kernel.name}] requires indices of {buffer} in [0, {size}), got {index}")

    def combine(
        self, monoid: Monoid, a: Sequence[Array], b: Sequence[Array], types: Sequence[ScalarType]
    ) -> list[Array]:
        """One step of a monoid, whose meaning is an expression of its operands."""
        left = tuple(var(f"left {k}", t) for k, t in enumerate(types))
        right = tuple(var(f"right {k}", t) for k, t in enumerate(types))
        env: Mapping[Node, Array] = dict(zip((*left, *right), (*a, *b)))
        return evaluate(monoid.combine(left, right), env)

    def start(self, s: Reduce | Scan) -> list[Array]:
        types = tuple(r.type for r in s.results)
        return self.values(s.init or s.monoid.identity(types))

    # --- statements ---

    def indices(self, a: Axis) -> range:
        lo, hi = self.values([a.lo, a.hi])
        return range(int(lo), int(hi), a.step)

    def body(self, body: Sequence[Statement]) -> None:
        for stores, run in groupby(body, lambda s: isinstance(s, Store)):
            statements = list(run)
            early = self.read_early(statements) if stores and len(statements) > 1 else {}
            self.env.update(early)
            for s in statements:
                self.statement(s)
            for x in early:
                del self.env[x]

    def read_early(self, stores: Sequence[Statement]) -> dict[Node, Array]:
        """Load the values that several stores read from ``in`` buffers, before the first of them writes."""
        pure: dict[Node, bool] = {}
        for x in walk(y for s in stores for y in expressions(s)):
            own = x.op != "load" or self.kernel.buffer(x.attr).space == IN
            pure[x] = own and all(pure[a] for a in x.args)
        loads = [x for x in pure if x.op == "load" and pure[x]]
        return dict(zip(loads, self.values(loads)))

    def statement(self, s: Statement) -> None:
        if isinstance(s, Loop):
            self.loop(s, self.indices(s.axis))
        elif isinstance(s, Store):
            self.store(s)
        elif isinstance(s, Atomic):
            self.atomic(s)
        elif isinstance(s, Reduce):
            self.reduce(s)
        elif isinstance(s, Scan):
            self.scan(s)
        elif isinstance(s, Let):
            self.env.update(zip(s.results, self.values(s.values)))
        elif isinstance(s, Fold):
            self.fold(s)
        elif isinstance(s, If):
            if self.values([s.where])[0]:
                self.body(s.body)
        elif isinstance(s, Fail):
            if np.any(self.values([s.where])[0]):
                raise _Failed(s.code)
        elif isinstance(s, BlockStatement):
            self.tiles.run(s)
        elif isinstance(s, Exchange):
            self.exchange(s)
        elif not isinstance(s, Barrier):
            raise TypeError(f"interpreter requires a statement of loop/tree.py, got {type(s).__name__}")

    def exchange(self, s: Exchange) -> None:
        value = np.broadcast_to(self.values([s.value])[0], self.lanes)
        if len(value) % WARP:
            raise ValueError(f"[{self.kernel.name}] requires an exchange among warps, got {len(value)} lanes")
        self.env[s.result] = value[np.arange(len(value)) ^ s.mask]

    def loop(self, s: Loop, indices: Iterable[int]) -> None:
        if s.axis.kind == LANE:
            indices = list(indices)
            if indices:
                self.env[s.axis.index] = np.array(indices)
                self.lanes = (len(indices),)
                self.body(s.body)
                self.lanes = ()
        else:
            for i in indices:
                self.env[s.axis.index] = np.int64(i)
                self.body(s.body)

    def store(self, s: Store) -> None:
        where = [] if s.where is None else [s.where]
        index, value, *condition = (np.broadcast_to(x, self.lanes) for x in self.values([s.index, s.value, *where]))
        if condition:
            index, value = index[condition[0]], value[condition[0]]
        self.check(s.buffer, index)
        if len(np.unique(index)) != index.size:
            raise ValueError(
                f"[{self.kernel.name}] requires lanes to write different elements of {s.buffer}, got {index}"
            )
        self.memory[s.buffer][index] = value

    def atomic(self, s: Atomic) -> None:
        where = [] if s.where is None else [s.where]
        index, value, *condition = (np.broadcast_to(x, self.lanes) for x in self.values([s.index, s.value, *where]))
        if condition:
            index, value = index[condition[0]], value[condition[0]]
        self.check(s.buffer, index)
        if s.old is None:
            ATOMIC[s.op].at(self.memory[s.buffer], index, value)
            return
        before = np.zeros(np.shape(index), self.memory[s.buffer].dtype)
        for k in np.ndindex(np.shape(index)):
            before[k] = self.memory[s.buffer][index[k]]
            self.memory[s.buffer][index[k]] = ATOMIC[s.op](before[k], value[k])
        if condition:
            kept = np.zeros(self.lanes, before.dtype)
            kept[condition[0]] = before
            before = kept
        self.env[s.old] = before[()] if not self.lanes else before

    def reduce(self, s: Reduce) -> None:
        """Lanes of the reduction, if there are, are combined in pairs; then points in order."""
        types = tuple(r.type for r in s.results)
        last = s.axes[-1] if s.axes and s.axes[-1].kind == LANE else None
        serial = s.axes[:-1] if last is not None else s.axes
        total = self.start(s)
        identity = self.values(s.monoid.identity(types))
        for point in product(*(self.indices(a) for a in serial)):
            self.env.update(zip((a.index for a in serial), map(np.int64, point)))
            shape = self.lanes
            if last is not None:
                self.env[last.index] = lanes = np.array(self.indices(last), np.int64)
                shape = lanes.shape
            where = [] if s.where is None else [s.where]
            *values, condition = self.values([*s.values, *where]) + ([] if where else [np.True_])
            values = [np.broadcast_to(np.where(condition, v, i), shape) for v, i in zip(values, identity)]
            if last is not None:
                values = self.across(s.monoid, values, types, identity)
            total = self.combine(s.monoid, total, values, types)
        self.env.update(zip(s.results, total))

    def across(
        self, monoid: Monoid, values: list[Array], types: Sequence[ScalarType], identity: list[Array]
    ) -> list[Array]:
        while len(values[0]) > 1:
            odd = [v[-1:] for v in values] if len(values[0]) % 2 else None
            values = self.combine(monoid, [v[: len(v) - 1 : 2] for v in values], [v[1::2] for v in values], types)
            if odd is not None:
                values = [np.append(v, o) for v, o in zip(values, odd)]
        return [v[0] for v in values] if len(values[0]) else identity

    def fold(self, s: Fold) -> None:
        states = self.values(s.init)
        for i in self.indices(s.axis):
            self.env[s.axis.index] = np.int64(i)
            self.env.update(zip(s.states, states))
            if s.where is None:
                states = self.values(s.values)
                continue
            (go,) = self.values([s.where])
            if np.any(go):
                states = [np.where(go, x, y) for x, y in zip(self.values(s.values), states)]
            elif s.axis.index not in s.where.axes:
                break
        self.env.update(zip(s.results, states))

    def scan(self, s: Scan) -> None:
        types = tuple(r.type for r in s.results)
        total = self.start(s)
        for i in self.indices(s.axis):
            self.env[s.axis.index] = np.int64(i)
            after = self.combine(s.monoid, total, self.values(s.values), types)
            self.env.update(zip(s.results, total if s.exclusive else after))
            total = after
            self.body(s.body)
