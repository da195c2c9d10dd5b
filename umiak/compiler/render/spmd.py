"""Kernels for machines of many threads: how the statements of a kernel are divided among blocks and threads.

The parallel loop is the grid: blocks (or, where nothing in it needs a block, threads) take every n-th iteration. Inside
of an iteration that a block runs, code is *uniform*: all threads are at the same point with the same numbers, stores
are done by one thread, and lane axes are dealt out to the threads. In lanes, and in iterations that a thread
runs, every thread is at a point of its own and all axes are serial.

A barrier comes between uniform statements where one reads or writes a buffer that another may still be writing or
reading. What a target's text looks like is known to a :class:`Writer` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import (
    Node,
    add,
    call,
    cast,
    conjunction,
    const,
    eq,
    i64,
    linear,
    lt,
    minimum,
    mul,
    rem,
    var,
    walk,
)
from umiak.compiler.loop.node import div as divide
from umiak.compiler.loop.tiles import Commit, Exchange, ProductWait, Wait
from umiak.compiler.loop.tree import (
    GLOBAL,
    IN,
    LANE,
    LOCAL,
    SERIAL,
    SHARED,
    TILE,
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
    axes_of,
    expressions,
    walk_statements,
)
from umiak.compiler.loop.types import F32, I32, I64, ScalarType
from umiak.compiler.render.scratch import layout
from umiak.compiler.render.threads import BLOCK, BLOCKS, HI, LANE_OF_WARP, LO, TID, WARP
from umiak.compiler.render.tiles import BlockTiles, TileWriter

THREADS = 256
EDGE = 32  # of tiles

# Who runs one iteration of the parallel loop.
THREAD, BLOCK_OF_THREADS, LAUNCH = "thread", "block", "launch"

Handle = str  # a number in a target's text
Update = Callable[[Handle], Handle]


@dataclass(frozen=True)
class Resources:
    """Requirements of a launch; sizes are expressions over the dims."""

    threads: int  # of a block, exactly
    unit: str  # who runs one iteration of the parallel loop; LAUNCH: there is none, the first block runs all
    range: Node  # iterations of the parallel loop
    words: int  # of the scalar pack
    local: Node  # bytes of local scratch of each unit: of every thread or of every block in the grid
    shared: Node  # bytes of dynamic shared memory of a block
    global_scratch: Node  # bytes of global scratch


class Writer(TileWriter, Protocol):
    """Text of one target. Handles stay valid to the end of the block of statements they were made in."""

    warp: int  # threads that can read each other's numbers directly; 0 where none can

    def leaf(self, x: Node) -> Handle: ...
    def operation(self, x: Node, args: list[Handle]) -> Handle: ...
    def load(self, b: Buffer, index: Handle) -> Handle: ...
    def load_where(self, b: Buffer, index: Handle, where: Handle, other: Handle) -> Handle: ...
    def store(self, b: Buffer, index: Handle, value: Handle, streaming: bool = False) -> None: ...
    def atomic(self, b: Buffer, index: Handle, op: str, value: Handle, update: Update) -> None: ...
    def fetch(self, b: Buffer, index: Handle, op: str, value: Handle) -> Handle: ...
    def pointer(self, b: Buffer, offset: Handle) -> None: ...
    def array(self, name: str, type: ScalarType, count: int) -> Buffer: ...
    def variable(self, type: ScalarType, value: Handle) -> str: ...
    def get(self, name: str) -> Handle: ...
    def set(self, name: str, value: Handle) -> None: ...
    def open_if(self, where: Handle) -> None: ...
    def open_for(self, lo: Handle, hi: Handle, step: Handle) -> Handle: ...
    def open_while(self, name: str, hi: Handle) -> Handle: ...
    def close(self) -> None: ...
    def barrier(self) -> None: ...
    def down(self, x: Handle, type: ScalarType, by: int) -> Handle: ...
    def up(self, x: Handle, type: ScalarType, by: int) -> Handle: ...
    def fail(self, code: int) -> None: ...


def words(kernel: Kernel) -> int:
    """Return the number of words of the scalar pack that a kernel reads."""
    roots = [x for s in walk_statements(kernel.body) for x in expressions(s)]
    return 1 + max((x.attr for x in walk(roots) if x.op == "word"), default=-1)


def unit_of(kernel: Kernel) -> str:
    """Return the unit that runs one iteration of the parallel loop."""
    loop = parallel_loop(kernel)
    if loop is None:
        return LAUNCH
    if loop.axis.kind == LANE:
        return THREAD
    together = loop.axis.kind != SERIAL or any(b.space == SHARED for b in kernel.buffers)
    for s in walk_statements(loop.body):
        together |= isinstance(s, (Barrier, BlockStatement)) or any(a.kind in (LANE, TILE) for a in axes_of(s))
    return BLOCK_OF_THREADS if together else THREAD


def parallel_loop(kernel: Kernel) -> Loop | None:
    """The parallel loop, which is all of the body."""
    first = kernel.body[0] if kernel.body else None
    return first if isinstance(first, Loop) and first.parallel else None


def resources(kernel: Kernel, threads: int = THREADS) -> Resources:
    """Return the requirements of launches of a kernel."""
    loop = parallel_loop(kernel)
    return Resources(
        kernel.threads or threads,
        unit_of(kernel),
        i64(1) if loop is None else loop.axis.hi,
        words(kernel),
        *(layout(kernel, space)[1] for space in (LOCAL, SHARED, GLOBAL)),
    )


class Spmd:
    """Writes one kernel. ``expand`` turns expressions into such that the writer knows."""

    def __init__(
        self, kernel: Kernel, writer: Writer, expand: Callable[[Sequence[Node]], list[Node]], threads: int = THREADS
    ) -> None:
        threads = kernel.threads or threads
        if threads % 32 or not 32 <= threads <= 1024:
            raise ValueError(f"[{kernel.name}] requires 32 to 1024 threads, a multiple of 32, got {threads}")
        self.kernel, self.out, self.threads = kernel, writer, threads
        self._expand = expand
        self._expanded: dict[Node, Node] = {}
        self.buffers = {b.name: b for b in kernel.buffers}
        self.scopes: list[dict[Node, Handle]] = [{}]
        self.fresh: dict[Node, Handle] = {}  # what depends on memory that the kernel writes: to the end of a statement
        self.impure: dict[Node, bool] = {}
        self.uniform = False
        self.dirty: set[str] = set()  # buffers written, and read, by uniform statements since the last barrier
        self.seen: set[str] = set()
        self.arrays: dict[tuple[str, ScalarType, int], Buffer] = {}
        self.group: int | None = None  # the barrier of the threads that are here, where these are not all of the block
        self.tiles = BlockTiles(self)

    # --- the kernel ---

    def run(self, names: dict[Node, Handle]) -> None:
        """``names``: handles of TID, BLOCK, BLOCKS, LO, HI and, with warps, LANE_OF_WARP and WARP."""
        self.scopes[0].update(names)
        unit = unit_of(self.kernel)
        self.tiles.declare()
        for space, owner in ((LOCAL, BLOCK), (SHARED, None), (GLOBAL, None)):
            offsets, size = layout(self.kernel, space)
            if space == LOCAL and unit == THREAD:
                owner = add(mul(BLOCK, i64(self.threads)), TID)
            for name, at in offsets.items():
                offset = at if owner is None else add(mul(owner, size), at)
                self.out.pointer(self.buffers[name], self.value(offset))
        loop = parallel_loop(self.kernel)
        if loop is None:
            self.uniform = True
            with self.when(conjunction(eq(BLOCK, i64(0)), eq(LO, i64(0)))):
                self.body(self.kernel.body)
            return
        first, step = BLOCK, BLOCKS
        if unit == THREAD:
            first, step = add(mul(BLOCK, i64(self.threads)), TID), mul(BLOCKS, i64(self.threads))
        self.uniform = unit == BLOCK_OF_THREADS
        # Iterations are independent: only scratch that the next one uses again has to be free.
        own = {b.name for b in self.kernel.buffers if b.space in (LOCAL, SHARED)}
        if loop.counter is not None:
            for body in self.tiles.roles(loop.body):
                self.claim(loop, self.buffers[loop.counter], body)
            return
        with self.each(loop.axis.index, add(LO, first), minimum(HI, loop.axis.hi), step, loop.body):
            self.body(loop.body)
            if self.uniform and own & (self.dirty | self.seen):
                self.barrier()

    def claim(self, loop: Loop, counter: Buffer, body: Sequence[Statement]) -> None:
        """Iterations of blocks that take the next one when they are done with one."""
        end = self.value(minimum(HI, loop.axis.hi))
        index = self.out.variable(I64, self.value(LO))
        cell, got = self.cells("claimed", I32, 1), var("$claimed", I32)

        def following() -> None:
            self.everybody()
            if not self.tiles.copies_alone:
                with self.when(eq(TID, i64(0))):
                    one = self.value(const(1, I32))
                    self.out.store(cell, self.value(i64(0)), self.out.fetch(counter, self.value(i64(0)), "add", one))
            self.everybody()
            with self.scope({got: self.out.load(cell, self.value(i64(0)))}):
                self.out.set(index, self.value(add(LO, cast(got, I64))))

        following()
        self.hoist(loop.axis.index, body)
        handle = self.out.open_while(index, end)
        with self.scope({loop.axis.index: handle}):
            self.fresh.clear()
            self.body(body)
            following()
        self.out.close()

    def body(self, body: Sequence[Statement]) -> None:
        for s in body:
            self.fresh.clear()
            self.statement(s)
        self.fresh.clear()

    def statement(self, s: Statement) -> None:
        if isinstance(s, (Store, Atomic)):
            self.settle([s])
            if isinstance(s, Atomic) and s.old is not None:
                self.fetch(s, s.old)
                return
            with self.when(conjunction(eq(TID, i64(0)) if self.uniform else None, s.where)):
                self.store(s)
        elif isinstance(s, Fail):
            self.settle([s])
            with self.when(s.where):
                self.out.fail(s.code)
        elif isinstance(s, If):
            self.branch(s)
        elif isinstance(s, Reduce):
            self.settle([s])
            self.reduce(s)
        elif isinstance(s, Scan):
            self.scan(s)
        elif isinstance(s, Let):
            self.settle([s])
            self.let(s.results, s.values)
        elif isinstance(s, Fold):
            self.settle([s])
            self.fold(s)
        elif isinstance(s, Loop):
            self.loop(s)
        elif isinstance(s, Barrier):
            self.barrier()
        elif isinstance(s, Exchange):
            self.define(s.result, self.tiles.exchange(self.value(s.value), s.result.type, s.mask))
        elif isinstance(s, BlockStatement):
            self.tiles.statement(s)
        else:
            raise TypeError(f"[{self.kernel.name}] requires a statement of loop/tree.py, got {type(s).__name__}")

    def store(self, s: Store | Atomic) -> None:
        b = self.buffers[s.buffer]
        index, value = self.value(s.index), self.value(s.value)
        if isinstance(s, Store):
            self.out.store(b, index, value, s.streaming)
            return
        # A narrow float is added up in f32.
        old, given = var("$old", b.type), var("$new", b.type)
        wide = F32 if b.type.is_storage else b.type
        new = cast(call(s.op, cast(old, wide), cast(given, wide)), b.type)

        def update(handle: Handle) -> Handle:
            with self.scope({old: handle, given: value}):
                return self.value(new)

        self.out.atomic(b, index, s.op, value, update)

    def fetch(self, s: Atomic, old: Node) -> None:
        """An atomic whose former element all that are here get to know."""
        b, together = self.buffers[s.buffer], self.uniform
        former = self.out.variable(b.type, self.value(const(0, b.type)))
        with self.when(conjunction(eq(TID, i64(0)) if together else None, s.where)):
            self.out.set(former, self.out.fetch(b, self.value(s.index), s.op, self.value(s.value)))
        if together:
            cell = self.cells("fetched", b.type, 1)
            self.barrier()
            with self.when(eq(TID, i64(0))):
                self.out.store(cell, self.value(i64(0)), self.out.get(former))
            self.barrier()
            self.out.set(former, self.out.load(cell, self.value(i64(0))))
            self.dirty.add(s.buffer)
        self.define(old, self.out.get(former))

    def branch(self, s: If) -> None:
        if not self.uniform:
            with self.when(s.where):
                self.body(s.body)
            return
        self.meet(self.loaded([s.where]), set())
        dirty, seen = set(self.dirty), set(self.seen)
        with self.when(s.where):
            self.body(s.body)
        self.dirty |= dirty
        self.seen |= seen

    # --- loops ---

    def loop(self, s: Loop) -> None:
        a = s.axis
        if not self.uniform:
            with self.serial(a, s.body):
                self.body(s.body)
        elif a.kind == LANE:
            self.settle([s])
            with self.apart(), self.lanes(a, s.body):
                self.body(s.body)
        elif a.kind == TILE and self.tiled(s):
            self.settle([s])
            self.tile(s)
        else:
            self.meet(self.loaded([a.lo, a.hi]), set())
            with self.again(s), self.serial(a, s.body):
                self.body(s.body)
                if not self.begins_apart(s.body):
                    self.release([s])

    @staticmethod
    def begins_apart(body: Sequence[Statement]) -> bool:
        """Return whether a body has a barrier before it does anything."""
        first = next((s for s in body if not isinstance(s, (Wait, Commit, ProductWait))), None)
        return isinstance(first, Barrier)

    def serial(self, a: Axis, body: Iterable[Statement]) -> AbstractContextManager[None]:
        return self.each(a.index, a.lo, a.hi, i64(a.step), body)

    def lanes(self, a: Axis, body: Iterable[Statement]) -> AbstractContextManager[None]:
        return self.each(a.index, add(a.lo, mul(TID, i64(a.step))), a.hi, i64(self.threads * a.step), body)

    @contextmanager
    def each(self, index: Node, lo: Node, hi: Node, step: Node, body: Iterable[Statement]) -> Iterator[None]:
        """A loop, with what does not depend on its index computed before it."""
        bounds = self.value(lo), self.value(hi), self.value(step)
        self.hoist(index, body)
        handle = self.out.open_for(*bounds)
        with self.scope({index: handle}):
            self.fresh.clear()
            yield
        self.out.close()

    def hoist(self, index: Node, body: Iterable[Statement]) -> None:
        roots = [x for s in walk_statements(tuple(body)) for x in expressions(s)]
        loads: dict[Node, bool] = {}
        for x in walk(self.expanded(roots)):
            loads[x] = x.op == "load" or any(loads[a] for a in x.args)
            # Loads stay: the loop may have no iteration, and then nothing may be read.
            if x.args and not loads[x] and index not in x.axes and all(self.find(a) is not None for a in x.axes):
                self.value(x)

    @contextmanager
    def again(self, s: Statement) -> Iterator[None]:
        """Around a uniform loop: what an iteration leaves open concerns the next one and what follows."""
        dirty, seen = set(self.dirty), set(self.seen)
        yield
        self.dirty |= dirty
        self.seen |= seen

    def release(self, body: Sequence[Statement]) -> None:
        """At the end of an iteration of a uniform loop of these statements."""
        reads, writes = self.effects(body)
        if writes and (self.dirty or self.seen & writes):
            self.barrier()

    # --- reductions ---

    def reduce(self, s: Reduce) -> None:
        types = tuple(r.type for r in s.results)
        together = self.uniform and bool(s.axes) and s.axes[-1].kind == LANE
        identity = s.monoid.identity(types)
        first = identity if together or s.init is None else s.init
        totals = [self.out.variable(t, self.value(x)) for t, x in zip(types, first)]
        with self.apart():
            self.accumulate(s, list(s.axes), totals, together)
        result = [self.out.get(v) for v in totals]
        if together:
            result = self.together(s.monoid, types, result)
            if s.init is not None:
                result = self.combine(s.monoid, types, [self.value(x) for x in s.init], result)
        for r, handle in zip(s.results, result):
            self.define(r, handle)

    def accumulate(self, s: Reduce, axes: list[Axis], totals: list[str], together: bool) -> None:
        if axes:
            a, rest = axes[0], axes[1:]
            inside = [Reduce(s.results, s.monoid, tuple(rest), s.values, s.init, s.where)]
            with (self.lanes if together and not rest else self.serial)(a, inside):
                self.accumulate(s, rest, totals, together)
            return
        with self.when(s.where):
            self.add_to(s.monoid, tuple(r.type for r in s.results), totals, [self.value(x) for x in s.values])

    def add_to(self, m: Monoid, types: tuple[ScalarType, ...], totals: list[str], values: list[Handle]) -> list[Handle]:
        new = self.combine(m, types, [self.out.get(v) for v in totals], values)
        for name, handle in zip(totals, new):
            self.out.set(name, handle)
        return new

    def combine(self, m: Monoid, types: tuple[ScalarType, ...], a: list[Handle], b: list[Handle]) -> list[Handle]:
        """The monoid's combination of two tuples of handles."""
        left = tuple(var(f"$a{k}", t) for k, t in enumerate(types))
        right = tuple(var(f"$b{k}", t) for k, t in enumerate(types))
        with self.scope({**dict(zip(left, a)), **dict(zip(right, b))}):
            return [self.value(x) for x in m.combine(left, right)]

    def together(self, m: Monoid, types: tuple[ScalarType, ...], values: list[Handle]) -> list[Handle]:
        """The combination of all threads' values in their order, the same handle value in each.

        Neighbours first, so that the order holds; every thread takes the number that the first one has, because
        combining in another order may differ in the last bit and uniform code must not diverge.
        """
        out, width = self.out, self.out.warp
        for step in self.doublings(width) if width else ():
            values = self.combine(m, types, values, [out.down(x, t, step) for x, t in zip(values, types)])
        cells = [self.cells(f"reduce{k}", t, self.threads // (width or 1)) for k, t in enumerate(types)]
        self.barrier()
        with self.when(eq(LANE_OF_WARP, i64(0)) if width else None):
            for c, x in zip(cells, values):
                out.store(c, self.value(WARP if width else TID), x)
        self.barrier()
        if width:
            total = [out.load(c, self.value(i64(0))) for c in cells]
            for k in range(1, self.threads // width):
                total = self.combine(m, types, total, [out.load(c, self.value(i64(k))) for c in cells])
            return total
        for step in self.doublings(self.threads):
            at = rem(TID, i64(2 * step))
            with self.when(conjunction(eq(at, i64(0)), lt(add(TID, i64(step)), i64(self.threads)))):
                pairs = [[out.load(c, self.value(x)) for c in cells] for x in (TID, add(TID, i64(step)))]
                for c, x in zip(cells, self.combine(m, types, *pairs)):
                    out.store(c, self.value(TID), x)
            self.barrier()
        return [out.load(c, self.value(i64(0))) for c in cells]

    # --- variables ---

    def let(self, variables: Sequence[Node], values: Sequence[Node]) -> list[str]:
        """Variables of the text, in which numbers are kept that come from memory."""
        names = [self.out.variable(r.type, self.value(x)) for r, x in zip(variables, values, strict=True)]
        for r, name in zip(variables, names):
            self.define(r, self.out.get(name))
        return names

    def fold(self, s: Fold) -> None:
        states = [self.out.variable(r.type, self.value(x)) for r, x in zip(s.results, s.init)]
        with self.apart(), self.serial(s.axis, [s]):
            for r, name in zip(s.states, states):
                self.define(r, self.out.get(name))
            with self.when(s.where):
                values = [self.value(x) for x in s.values]
                for name, handle in zip(states, values):
                    self.out.set(name, handle)
        for r, name in zip(s.results, states):
            self.define(r, self.out.get(name))

    # --- scans ---

    def scan(self, s: Scan) -> None:
        if self.uniform and s.axis.kind == LANE:
            self.settle([s])
            self.scan_lanes(s)
            return
        if self.uniform:
            self.meet(self.loaded([s.axis.lo, s.axis.hi, *(s.init or ())]), set())
        types = tuple(r.type for r in s.results)
        first = s.monoid.identity(types) if s.init is None else s.init
        carry = [self.out.variable(t, self.value(x)) for t, x in zip(types, first)]
        with self.again(s), self.serial(s.axis, [s]):
            if self.uniform:
                self.meet(self.loaded(s.values), set())
            values = [self.value(x) for x in s.values]
            before = [self.out.get(v) for v in carry]
            new = self.add_to(s.monoid, types, carry, values)
            for r, handle in zip(s.results, before if s.exclusive else new):
                self.define(r, handle)
            self.body(s.body)
            if self.uniform:
                self.release([s])

    def scan_lanes(self, s: Scan) -> None:
        """Chunks of one index per thread, one after the other."""
        out, types, a = self.out, tuple(r.type for r in s.results), s.axis
        identity = [self.value(x) for x in s.monoid.identity(types)]
        first = identity if s.init is None else [self.value(x) for x in s.init]
        carry = [out.variable(t, x) for t, x in zip(types, first)]
        base = var(f"$base {a.index.attr}", I64)
        index = add(base, TID)
        with self.each(base, a.lo, a.hi, i64(self.threads), ()):
            inside = lt(index, a.hi)
            here = [out.variable(t, x) for t, x in zip(types, identity)]
            with self.when(inside), self.scope({a.index: self.value(index)}):
                for v, value in zip(here, s.values):
                    out.set(v, self.value(value))
            upto, before, total = self.running(s.monoid, types, [out.get(v) for v in here])
            carried = [out.get(v) for v in carry]
            if s.exclusive:
                # The first thread has nothing before it but the carry itself.
                own = [out.variable(t, x) for t, x in zip(types, carried)]
                with self.when(lt(i64(0), TID)):
                    for v, x in zip(own, self.combine(s.monoid, types, carried, before)):
                        out.set(v, x)
                result = [out.get(v) for v in own]
            else:
                result = self.combine(s.monoid, types, carried, upto)
            with (
                self.when(inside),
                self.scope({a.index: self.value(index), **dict(zip(s.results, result))}),
                self.apart(),
            ):
                self.body(s.body)
            for v, x in zip(carry, self.combine(s.monoid, types, carried, total)):
                out.set(v, x)
        reads, writes = self.effects([s])
        self.seen |= reads
        self.dirty |= writes

    def running(
        self, m: Monoid, types: tuple[ScalarType, ...], values: list[Handle]
    ) -> tuple[list[Handle], list[Handle], list[Handle]]:
        """The combination of the values up to each thread, of those before it, and of all.

        What is before the first thread means nothing.
        """
        out = self.out
        cells = [self.cells(f"scan{k}", t, self.threads) for k, t in enumerate(types)]
        own = [out.variable(t, x) for t, x in zip(types, values)]

        def merge(where: Node, others: Callable[[], list[Handle]]) -> None:
            with self.when(where):
                for v, x in zip(own, self.combine(m, types, others(), [out.get(v) for v in own])):
                    out.set(v, x)

        if out.warp:
            for step in self.doublings(out.warp):
                # All threads of the warp take part in the exchange, also those that have no use for it.
                got = [out.up(out.get(v), t, step) for v, t in zip(own, types)]
                merge(lt(i64(step - 1), LANE_OF_WARP), lambda got=got: got)  # type: ignore[misc]
        self.barrier()
        self.put(cells, own)
        self.barrier()
        if out.warp:
            # The last cell of each warp before this one's.
            for k in reversed(range(self.threads // out.warp - 1)):
                at = i64((k + 1) * out.warp - 1)
                merge(lt(i64(k), WARP), lambda at=at: [out.load(c, self.value(at)) for c in cells])  # type: ignore[misc]
            self.barrier()
            self.put(cells, own)
            self.barrier()
        else:
            for step in self.doublings(self.threads):
                merge(
                    lt(i64(step - 1), TID),
                    lambda step=step: [out.load(c, self.value(add(TID, i64(-step)))) for c in cells],  # type: ignore[misc]
                )
                self.barrier()
                self.put(cells, own)
                self.barrier()
        left = call("max", add(TID, i64(-1)), i64(0))
        before = [out.load(c, self.value(left)) for c in cells]
        total = [out.load(c, self.value(i64(self.threads - 1))) for c in cells]
        return [out.get(v) for v in own], before, total

    def put(self, cells: list[Buffer], variables: list[str]) -> None:
        for c, v in zip(cells, variables):
            self.out.store(c, self.value(TID), self.out.get(v))

    @staticmethod
    def doublings(n: int) -> list[int]:
        return [1 << k for k in range((n - 1).bit_length())]

    # --- tiles ---

    def tiled(self, s: Loop) -> bool:
        """Return whether a tile loop can go through shared memory; one that cannot is a plain loop around lanes."""
        inner = s.body[0]
        return (
            len(s.body) == 1
            and isinstance(inner, Loop)
            and s.axis.index not in inner.axis.lo.axes | inner.axis.hi.axes
            and all(isinstance(x, Store) for x in inner.body)
        )

    def tile(self, s: Loop) -> None:
        """Squares of points. Neighbouring threads run along the lane axis; what lies along the tile axis in memory goes
        through a square of shared memory, where they run along that one on the other side."""
        inner = s.body[0]
        assert isinstance(inner, Loop)
        i, j = s.axis, inner.axis
        stores = [x for x in inner.body if isinstance(x, Store)]
        roots = [x for st in stores for x in expressions(st)]
        crossed = [x for x in walk(self.expanded(roots)) if self.along(x, i.index, j.index)]
        base_i, base_j = var(f"$base {i.index.attr}", I64), var(f"$base {j.index.attr}", I64)
        x, y = var("$x", I64), var("$y", I64)  # along the direction of neighbouring threads, and across
        inside = conjunction(lt(i.index, i.hi), lt(j.index, j.hi))

        @contextmanager
        def points(across: bool) -> Iterator[None]:
            """Every point of the square on some thread; neighbours along j, or along i."""
            number = var("$point", I64)
            with self.each(number, TID, i64(EDGE * EDGE), i64(self.threads), ()):
                here = {x: self.value(rem(number, i64(EDGE))), y: self.value(divide(number, i64(EDGE)))}
                with self.scope(here):
                    di, dj = (x, y) if across else (y, x)
                    at = {i.index: self.value(add(base_i, di)), j.index: self.value(add(base_j, dj))}
                    with self.scope(at), self.when(inside):
                        yield

        pad = EDGE + 1  # neighbours in a column are in different banks
        read = {c: self.cells(f"tile{k}", c.type, EDGE * pad) for k, c in enumerate(crossed)}
        written = {
            k: self.cells(f"tile{len(crossed) + k}", st.value.type, EDGE * pad)
            for k, st in enumerate(stores)
            if st.where is None and self.crosses(st.index, i.index, j.index)
        }
        direct, transposed = add(mul(y, i64(pad)), x), add(mul(x, i64(pad)), y)
        with self.apart(), self.each(base_i, i.lo, i.hi, i64(EDGE), ()), self.each(base_j, j.lo, j.hi, i64(EDGE), ()):
            if read:
                with points(across=True):
                    for load, cell in read.items():
                        self.out.store(cell, self.value(transposed), self.value(load))
                self.out.barrier()
            with (
                points(across=False),
                self.scope({load: self.out.load(cell, self.value(direct)) for load, cell in read.items()}),
            ):
                for k, st in enumerate(stores):
                    self.fresh.clear()
                    if k in written:
                        self.out.store(written[k], self.value(direct), self.value(st.value))
                    else:
                        with self.when(st.where):
                            self.store(st)
            if written:
                self.out.barrier()
                with points(across=True):
                    for k, cell in written.items():
                        st = stores[k]
                        value = self.out.load(cell, self.value(transposed))
                        self.out.store(self.buffers[st.buffer], self.value(st.index), value, st.streaming)
            if read or written:
                self.out.barrier()

    def along(self, x: Node, i: Node, j: Node) -> bool:
        """Return whether ``x`` is a load of an input whose neighbours in memory are those along ``i``."""
        return x.op == "load" and self.buffers[x.attr].space == IN and self.crosses(x.args[0], i, j)

    @staticmethod
    def crosses(index: Node, i: Node, j: Node) -> bool:
        p, q = linear(index, i), linear(index, j)
        return p is not None and q is not None and p[0] is i64(1) and q[0] is not i64(1) and j in index.axes

    # --- barriers ---

    def settle(self, body: Sequence[Statement]) -> None:
        """A barrier before a uniform statement where one is needed."""
        if self.uniform:
            self.meet(*self.effects(body))

    def meet(self, reads: set[str], writes: set[str]) -> None:
        if reads & self.dirty or writes & (self.dirty | self.seen):
            self.barrier()
        self.dirty |= writes
        self.seen |= reads

    def barrier(self) -> None:
        if self.uniform:
            if self.group is None:
                self.out.barrier()
            else:
                self.out.meet(self.value(i64(self.group)), self.threads, True)
            self.dirty.clear()
            self.seen.clear()
            self.fresh.clear()

    def everybody(self) -> None:
        """A barrier of all threads of the block, wherever they are in the text."""
        if self.tiles.role is None:
            self.barrier()
            return
        self.tiles.warp_out.meet(self.value(i64(0)), self.tiles.all_threads, True)
        self.dirty.clear()
        self.seen.clear()
        self.fresh.clear()

    def effects(self, body: Sequence[Statement]) -> tuple[set[str], set[str]]:
        """Buffers that statements read, of those that the kernel may write, and that they write."""
        reads: set[str] = set()
        writes: set[str] = set()
        for s in walk_statements(body):
            reads |= self.loaded(expressions(s))
            if isinstance(s, (Store, Atomic)):
                writes.add(s.buffer)
            elif isinstance(s, BlockStatement):
                reads |= {name for name in s.reads() if self.buffers[name].space != IN}
                writes |= {*s.writes()}
        return reads, writes

    def loaded(self, roots: Iterable[Node]) -> set[str]:
        return {x.attr for x in walk(roots) if x.op == "load" and self.buffers[x.attr].space != IN}

    # --- expressions ---

    def value(self, x: Node) -> Handle:
        """The handle of an expression at this point of the code."""
        x = self.expanded([x])[0]
        handle = self.find(x)
        if handle is not None:
            return handle
        stack = [x]
        while stack:
            y = stack[-1]
            if self.find(y) is not None:
                stack.pop()
                continue
            missing = [a for a in y.args if self.find(a) is None]
            if missing:
                stack.extend(missing)
            else:
                self.emit(y)
        handle = self.find(x)
        assert handle is not None, x
        return handle

    def emit(self, x: Node) -> None:
        args = []
        for a in x.args:
            handle = self.find(a)
            assert handle is not None, a
            args.append(handle)
        load = x.op == "load"
        self.impure[x] = (load and self.buffers[x.attr].space != IN) or any(self.impure.get(a, False) for a in x.args)
        if load:
            b = self.buffers[x.attr]
            handle = self.out.load(b, args[0]) if len(args) == 1 else self.out.load_where(b, *args)
        elif x.args:
            handle = self.out.operation(x, args)
        elif x.op in ("axis", "var"):
            raise ValueError(f"[{self.kernel.name}] requires {x.attr!r} to be defined before its use")
        else:
            handle = self.out.leaf(x)
        (self.fresh if self.impure[x] else self.scopes[-1])[x] = handle

    def find(self, x: Node) -> Handle | None:
        for scope in reversed(self.scopes):
            if x in scope:
                return scope[x]
        return self.fresh.get(x)

    def expanded(self, roots: Sequence[Node]) -> list[Node]:
        missing = [x for x in roots if x not in self._expanded]
        for x, y in zip(missing, self._expand(missing) if missing else ()):
            self._expanded[x] = y
            self._expanded[y] = y
        return [self._expanded[x] for x in roots]

    def define(self, x: Node, handle: Handle) -> None:
        self.scopes[-1][x] = handle

    def cells(self, name: str, type: ScalarType, count: int) -> Buffer:
        """Shared memory of a fixed size, used again by whoever asks for the same name, type and size."""
        key = (name, type, count)
        if key not in self.arrays:
            taken = sum(known[:2] == key[:2] for known in self.arrays)
            self.arrays[key] = self.out.array(f"{name}_{type}" + (f"_{taken}" if taken else ""), type, count)
        return self.arrays[key]

    @contextmanager
    def scope(self, names: dict[Node, Handle]) -> Iterator[None]:
        """Handles made inside are forgotten at the end."""
        self.scopes.append(names)
        kept, self.fresh = self.fresh, dict(self.fresh)
        yield
        self.fresh = kept
        self.scopes.pop()

    @contextmanager
    def when(self, where: Node | None) -> Iterator[None]:
        """Statements under a condition; without one, just there."""
        if where is None:
            yield
            return
        self.out.open_if(self.value(where))
        with self.scope({}):
            yield
        self.out.close()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Every thread at a point of its own."""
        before, self.uniform = self.uniform, False
        yield
        self.uniform = before
