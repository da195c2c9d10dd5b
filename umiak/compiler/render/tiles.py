"""Statements on tiles for a block of threads: each lane has the registers that ``loop.tiles.place`` gives it.

Targets with ``warp`` have instructions for products, for copies beside other work, and barriers for some of the threads
(:class:`WarpWriter`). Elsewhere a lane sums up its own elements of a product in a loop, reads what it needs of matrices
in shared memory, and of a left operand in registers from those who hold it, by way of shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol
from typing import cast as cast_type

from umiak.compiler.loop.node import (
    Node,
    add,
    call,
    cast,
    conjunction,
    const,
    div,
    fma,
    i64,
    le,
    load,
    lt,
    mul,
    ne,
    rem,
    sub,
    var,
    walk,
)
from umiak.compiler.loop.tiles import (
    WARP,
    Commit,
    Exchange,
    Matrix,
    Panels,
    Pipeline,
    ProductWait,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileReduce,
    TileStore,
    Wait,
    holder,
    in_order,
    panelled,
    parted,
    place,
)
from umiak.compiler.loop.tree import (
    Atomic,
    BlockStatement,
    Buffer,
    Fold,
    If,
    Let,
    Loop,
    Reduce,
    Scan,
    Statement,
    walk_statements,
)
from umiak.compiler.loop.types import F32, I64, U32, ScalarType
from umiak.compiler.render.threads import LANE_OF_WARP, TID
from umiak.compiler.render.threads import WARP as NUMBER_OF_WARP

if TYPE_CHECKING:
    from umiak.compiler.render.spmd import Handle, Spmd

BITS = 32  # of a word of conditions
COMPUTES, COPIES = "computes", "copies"
STRAIGHT = 8  # turns of a loop that are written one after the other


class TileWriter(Protocol):
    """Text of one target for tiles. Elements are numbers of registers: Python's where ``unrolled``, else handles."""

    unrolled: bool

    def registers(self, tile: Tile) -> None: ...
    def register(self, tile: Tile, element: Any) -> Handle: ...
    def set_register(self, tile: Tile, element: Any, value: Handle) -> None: ...
    def put(self, b: Buffer, index: Handle, values: Sequence[Handle]) -> None:
        """Store two numbers side by side."""

    def chunk(
        self, target: Buffer, to: Handle, source: Buffer, index: Handle, where: Handle | None, width: int, late: bool
    ) -> None:
        """Copy ``width`` elements, or zeros."""

    def commit(self) -> None: ...
    def wait(self, pending: int) -> None: ...
    def publish(self) -> None:
        """Let tensor cores see what this thread has written to panels, once a barrier has come."""

    def finish(self, pending: int) -> None:
        """Wait for all asynchronous products but the last ones."""


class WarpWriter(TileWriter, Protocol):
    """Text of a target with ``warp``."""

    def multiply(self, spmd: Spmd, s: TileProduct) -> None: ...
    def across(self, x: Handle, type: ScalarType, mask: int) -> Handle:
        """A number of the lane that differs by the bits of the mask."""

    def meet(self, number: Handle, threads: int, wait: bool) -> None:
        """Arrive at a barrier of so many threads, and wait there or go on."""

    def may_share(self, computing: int, copying: int) -> bool:
        """Return whether so many warps can have registers of so many others."""

    def share_registers(self, computing: int, copying: int, kept: int, computes: bool) -> None:
        """Give the warps that compute the registers of those that copy, which keep some; in the text of either."""


class BlockTiles:
    """The part of :class:`~umiak.compiler.render.spmd.Spmd` for one kernel's tiles."""

    def __init__(self, spmd: Spmd) -> None:
        self.spmd, self.out = spmd, spmd.out
        self.pending: set[str] = set()  # buffers that copies are on their way to
        self.reading: set[str] = set()  # buffers that asynchronous products read
        self.panels = panelled(spmd.kernel)
        self.first = 0  # the first thread of those that copy
        self.again = (
            False  # whether there are several pipelines in an iteration, of which others have a text of their own
        )
        self.role: str | None = None  # of the warps whose text it is, where some have a text of their own

    @property
    def warp_out(self) -> WarpWriter:
        """The writer of a target with ``warp``."""
        return cast_type(WarpWriter, self.out)

    def declare(self) -> None:
        for t in self.spmd.kernel.tiles:
            self.out.registers(t)

    def statement(self, s: BlockStatement) -> None:
        spmd = self.spmd
        if isinstance(s, Commit):
            self.out.commit()
        elif isinstance(s, Wait):
            self.out.wait(s.pending)
            self.published(self.pending)
            spmd.dirty |= self.pending
        elif isinstance(s, ProductWait):
            self.out.finish(s.pending)
            spmd.seen |= self.reading  # until here: whoever writes there waits for all
        elif isinstance(s, Pipeline):
            if s.producers and spmd.out.warp:
                self.divided(s)
            else:
                spmd.body(in_order(s))
        elif isinstance(s, TileCopy) and s.asynchronous:
            # What they write is nobody's to read before a Wait; who reads what was there has to be done.
            reads, writes = spmd.effects([s])
            spmd.meet(reads, set())
            if writes & (spmd.dirty | spmd.seen):
                spmd.barrier()
            self.pending |= writes
            self.copy(s)
        else:
            spmd.settle([s])
            self.statements[type(s)](self, s)
            if isinstance(s, TileCopy):
                self.published({s.target.buffer})

    def published(self, buffers: Collection[str]) -> None:
        """Let tensor cores see what this thread has written to panels among these buffers."""
        if not self.panels.isdisjoint(buffers):
            self.out.publish()

    # --- points ---

    @property
    def lane(self) -> Node:
        return LANE_OF_WARP if self.spmd.out.warp else rem(TID, i64(WARP))

    @property
    def warp(self) -> Node:
        return NUMBER_OF_WARP if self.spmd.out.warp else div(TID, i64(WARP))

    def across_of(self, tile: Tile) -> Node:
        """The warp's place along the first dim of a tile's grid."""
        return rem(self.warp, i64(tile.warps[0]))

    def down_of(self, tile: Tile) -> Node:
        """Its place along the second one."""
        return div(self.warp, i64(tile.warps[0]))

    @contextmanager
    def members(self, tile: Tile) -> Iterator[None]:
        """The threads that have a part of a tile, each for itself."""
        spmd = self.spmd
        some = lt(self.warp, i64(tile.count)) if tile.count * WARP < spmd.threads else None
        with spmd.apart(), spmd.when(some):
            yield

    def each_element(self, count: int) -> Iterator[Node]:
        """The numbers below ``count``, as a loop of the text or one after the other."""
        spmd = self.spmd
        if self.out.unrolled:
            for k in range(count):
                with spmd.scope({}):
                    spmd.fresh.clear()
                    yield i64(k)
        else:
            turn = var("$turn", I64)
            with spmd.each(turn, i64(0), i64(count), i64(1), ()):
                yield turn

    def number(self, element: Node) -> Any:
        """An element as the writer has it."""
        return element.attr if self.out.unrolled else self.spmd.value(element)

    @contextmanager
    def at(self, tile: Tile, row: Node, column: Node, element: Node, roots: Sequence[Node]) -> Iterator[None]:
        """The point of an element, with the elements there of the tiles that expressions name."""
        spmd = self.spmd
        used = frozenset[Node]().union(*(x.axes for x in roots))
        names = {}
        if used & {row, column}:
            here = place(tile, self.warp, self.lane, element)
            names = {row: spmd.value(here.row), column: spmd.value(here.column)}
        for t in spmd.kernel.tiles:
            if t.at in used:
                names[t.at] = self.out.register(t, self.number(self.like(t, tile, element)))
        with spmd.scope(names):
            yield

    @staticmethod
    def like(t: Tile, tile: Tile, element: Node) -> Node:
        """The element of ``t``, which may have one column, at an element of ``tile``."""
        if t.columns == tile.columns or t.columns != 1:
            return element
        block = div(element, i64(4 * tile.column_fragments))
        return add(mul(block, i64(2)), div(rem(element, i64(4)), i64(2)))

    def begin(self, tile: Tile) -> None:
        """Compute once the common part of all elements' points."""
        first = place(tile, self.warp, self.lane, i64(0))
        for x in first:
            self.spmd.value(x)

    # --- statements ---

    def map(self, s: TileMap) -> None:
        spmd, tile = self.spmd, s.results[0]
        with self.members(tile), spmd.scope({}):
            self.begin(tile)
            where = self.condition(s) if s.where is not None else None
            for element in self.each_element(tile.elements):
                values = list(s.values)
                if where is not None:
                    holds = where(element)
                    values = [call("select", holds, x, t.at) for x, t in zip(values, s.results, strict=True)]
                with self.at(tile, s.row, s.column, element, values):
                    handles = [spmd.value(x) for x in values]
                    for t, x in zip(s.results, handles, strict=True):
                        self.out.set_register(t, self.number(element), x)

    def condition(self, s: TileMap) -> Callable[[Node], Node]:
        """The condition of a map at an element; of elements that are Python's numbers, from bits that a loop finds.

        The bit of a word's last element ends up on top.
        """
        spmd, out, tile = self.spmd, self.out, s.results[0]
        assert s.where is not None
        root = s.where
        if not out.unrolled:
            return lambda _: root
        words = []
        for first in range(0, tile.elements, BITS):
            count = min(BITS, tile.elements - first)
            each = 2 if count % 4 else 4
            word = out.variable(U32, spmd.value(const(0, U32)))
            turn, bits = var("$turn", I64), var("$bits", U32)
            with spmd.each(turn, i64(first), i64(first + count), i64(each), ()):
                for k in range(each):
                    with self.at(tile, s.row, s.column, add(turn, i64(k)), [root]), spmd.scope({bits: out.get(word)}):
                        top = mul(cast(root, U32), const(1 << BITS - 1, U32))
                        out.set(word, spmd.value(call("or", call("shr", bits, const(1, U32)), top)))
            words.append((var(f"$bits{first}", U32), BITS - count))
            spmd.scopes[-1][words[-1][0]] = out.get(word)

        def holds(element: Node) -> Node:
            k = element.attr
            name, below = words[k // BITS]
            return ne(call("and", name, const(1 << k % BITS + below, U32)), const(0, U32))

        return holds

    def reduce(self, s: TileReduce) -> None:
        spmd, out, types = self.spmd, self.out, (s.value.type,)
        with self.members(s.tile):
            for element in self.each_element(s.result.elements):
                (identity,) = s.monoid.identity(types)
                out.set_register(s.result, self.number(element), spmd.value(identity))
            self.begin(s.tile)
            for element in self.each_element(s.tile.elements):
                with self.at(s.tile, s.row, s.column, element, [s.value]):
                    to = self.number(self.like(s.result, s.tile, element))
                    pair = [out.register(s.result, to)], [spmd.value(s.value)]
                    out.set_register(s.result, to, spmd.combine(s.monoid, types, *pair)[0])
        for k in range(s.result.elements):  # no loop of the text: there are barriers in it
            at = self.number(i64(k))
            for mask in (1, 2):
                own = out.register(s.result, at)
                other = self.exchange(own, s.value.type, mask)
                out.set_register(s.result, at, spmd.combine(s.monoid, types, [own], [other])[0])

    def exchange(self, x: Handle, type: ScalarType, mask: int) -> Handle:
        """A number of the lane that differs by the bits of the mask. All threads of the group come here."""
        spmd = self.spmd
        if spmd.out.warp:
            return self.warp_out.across(x, type, mask)
        cell = spmd.cells("exchange", type, spmd.threads)
        spmd.out.store(cell, spmd.value(TID), x)
        spmd.out.barrier()
        got = spmd.out.load(cell, spmd.value(call("xor", TID, i64(mask))))
        spmd.out.barrier()
        return got

    def store(self, s: TileStore) -> None:
        spmd, tile, b = self.spmd, s.tile, self.spmd.buffers[s.buffer]
        roots = [s.index, s.value, *([] if s.where is None else [s.where])]
        with self.members(tile):
            self.begin(tile)
            for turn in self.each_element(tile.elements // s.width):
                elements = [add(mul(turn, i64(s.width)), i64(k)) for k in range(s.width)]
                where = None
                if s.where is not None:
                    with self.at(tile, s.row, s.column, elements[0], [s.where]):
                        where = spmd.value(s.where)
                    spmd.out.open_if(where)
                with spmd.scope({}):
                    stored = []
                    for element in elements:
                        # What one element's number goes into is not the other's.
                        with self.at(tile, s.row, s.column, element, roots):
                            stored.append((spmd.value(s.index), spmd.value(s.value)))
                    if s.width == 1:
                        spmd.out.store(b, *stored[0])
                    else:
                        self.out.put(b, stored[0][0], [x for _, x in stored])
                if where is not None:
                    spmd.out.close()

    def copy(self, s: TileCopy) -> None:
        spmd = self.spmd
        line, lines = (s.rows, s.columns) if s.target.transposed else (s.columns, s.rows)
        across, threads = line // s.width, spmd.threads
        own = sub(TID, i64(self.first)) if self.first else TID
        source, target = spmd.buffers[s.source], spmd.buffers[s.target.buffer]

        count = lines * across

        def one(number: Node) -> None:
            place_of_line, piece = parted(number, across)
            along = mul(piece, i64(s.width))
            row, column = (along, place_of_line) if s.target.transposed else (place_of_line, along)
            with spmd.scope({s.row: spmd.value(row), s.column: spmd.value(column)}):
                to = spmd.value(s.target.index(s.row, s.column))
                index, where = spmd.value(s.index), None if s.where is None else spmd.value(s.where)
                self.out.chunk(target, to, source, index, where, s.width, s.asynchronous)

        def common() -> None:
            """Compute once what all chunks have in common, loads too: some thread has a chunk."""
            roots = [s.index, s.target.offset, *([] if s.where is None else [s.where])]
            for x in walk(spmd.expanded(roots)):
                if not x.axes & {s.row, s.column} and all(spmd.find(a) is not None for a in x.axes):
                    spmd.value(x)

        with spmd.apart(), spmd.scope({}):  # nobody else keeps it in registers
            common()
            if self.out.unrolled and not self.copies_alone and count <= STRAIGHT * threads:
                for first in range(0, count, threads):
                    number = add(own, i64(first))
                    rest = lt(number, i64(count)) if first + threads > count else None
                    with spmd.scope({}), spmd.when(rest):
                        spmd.fresh.clear()
                        one(number)
            else:
                number = var("$chunk", I64)
                with spmd.each(number, own, i64(count), i64(threads), ()):
                    one(number)

    # --- products ---

    def product(self, s: TileProduct) -> None:
        if s.asynchronous:
            self.reading |= {*s.reads()}
        if self.spmd.out.warp:
            with self.members(s.result):
                self.warp_out.multiply(self.spmd, s)
        else:
            self.sums(s)

    def sums(self, s: TileProduct) -> None:
        """Element by element."""
        spmd, out = self.spmd, self.out
        left = self.shared(s.a) if isinstance(s.a, Tile) else s.a
        row, column, k = var("$row", I64), var("$column", I64), var("$k", I64)
        x, y, total = var("$x", F32), var("$y", F32), var("$total", F32)
        with self.members(s.result):
            for element in self.each_element(s.result.elements):
                with self.at(s.result, row, column, element, [row]):
                    at = self.number(element)
                    sum_ = spmd.out.variable(F32, out.register(s.result, at))
                    with spmd.each(k, i64(0), i64(s.depth), i64(1), ()):
                        a = self.element(left, s.a, row, k)
                        b = self.element(s.b, s.b, k, column)
                        with spmd.scope({x: a, y: b, total: spmd.out.get(sum_)}):
                            spmd.out.set(sum_, spmd.value(fma(x, y, total)))
                    out.set_register(s.result, at, spmd.out.get(sum_))
        if isinstance(s.a, Tile):
            spmd.barrier()

    def element(
        self, where: Matrix | Panels | Buffer, operand: Matrix | Panels | Tile, row: Node, column: Node
    ) -> Handle:
        """An element of an operand, as f32."""
        spmd = self.spmd
        if not isinstance(where, Buffer):
            b = spmd.buffers[where.buffer]
            return spmd.value(cast(load(b.name, b.type, where.index(row, column)), F32))
        assert isinstance(operand, Tile)
        held = holder(operand, row, column)
        thread = add(mul(held.warp, i64(WARP)), held.lane)
        got = spmd.out.load(where, spmd.value(add(mul(thread, i64(operand.elements)), held.element)))
        raw = var("$raw", operand.type)
        with spmd.scope({raw: got}):
            return spmd.value(cast(raw, F32))

    def shared(self, tile: Tile) -> Buffer:
        """The registers of a tile in shared memory, those of each thread one after the other."""
        spmd = self.spmd
        cell = spmd.cells(f"operand_{tile.elements}", tile.type, spmd.threads * tile.elements)
        spmd.barrier()
        with self.members(tile):
            for element in self.each_element(tile.elements):
                to = spmd.value(add(mul(TID, i64(tile.elements)), element))
                spmd.out.store(cell, to, self.out.register(tile, self.number(element)))
        spmd.out.barrier()
        return cell

    # --- some warps copy, the others compute ---

    @property
    def copies_alone(self) -> bool:
        """Return whether the text is that of the warps that copy."""
        return self.role == COPIES

    @property
    def all_threads(self) -> int:
        return self.spmd.kernel.threads or self.spmd.threads

    def roles(self, body: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
        """Statements of an iteration by role, in a text each, where warps may have different numbers of registers:
        those of the warps that compute, then of those that copy. Else all of them, also where what is copied depends on
        what is computed."""
        spmd = self.spmd
        pipelines = [s for s in walk_statements(body) if isinstance(s, Pipeline)]
        copying = max((s.producers for s in pipelines), default=0)
        computing = spmd.threads // WARP - copying
        copies = None
        if copying and spmd.out.warp and self.warp_out.may_share(computing, copying):
            copied = set[str]().union(*(x for s in pipelines for x in spmd.effects(s.produce)))
            copies = self.copies_of(body, copied)
        if copies is None or any(s.producers != copying for s in pipelines):
            yield body
            return
        self.again = len(pipelines) > 1 or any(isinstance(s, Loop) for s in copies)
        before, kept = spmd.threads, max(s.kept for s in pipelines)
        spmd.value(self.warp)
        computes = lt(self.warp, i64(computing))
        with spmd.when(computes):
            spmd.threads, spmd.group, self.role = WARP * computing, 2 * max(s.slots for s in pipelines) + 1, COMPUTES
            self.warp_out.share_registers(computing, copying, kept, True)
            yield body
        spmd.group = None
        with spmd.when(call("not", computes)):
            spmd.threads, self.first, self.role = WARP * copying, WARP * computing, COPIES
            self.warp_out.share_registers(computing, copying, kept, False)
            yield copies
        spmd.threads, self.first, self.role = before, 0, None

    def copies_of(self, body: Sequence[Statement], copied: Collection[str]) -> tuple[Statement, ...] | None:
        """The loops, conditions and pipelines of a body without what is not copied ahead; None where they need numbers,
        or (``copied``) memory, that the rest computes."""
        found: list[Statement] = []
        rest: list[Statement] = []
        for s in body:
            if isinstance(s, Pipeline):
                needed = [s.axis.lo, s.axis.hi]
                found.append(replace(s, consume=()))
            elif isinstance(s, (Loop, If)) and any(isinstance(x, Pipeline) for x in walk_statements(s.body)):
                needed = [s.where] if isinstance(s, If) else [s.axis.lo, s.axis.hi]
                inside = self.copies_of(s.body, copied)
                if inside is None:
                    return None
                found.append(replace(s, body=inside))
            else:
                needed = []
                rest.append(s)
            if self.spmd.loaded(needed):
                return None
        defines = any(isinstance(s, (Let, Reduce, Scan, Fold, Exchange, Atomic)) for s in rest)
        return None if defines or not self.spmd.effects(rest)[1].isdisjoint(copied) else tuple(found)

    def divided(self, s: Pipeline) -> None:
        """Barriers 1 to ``slots`` tell that a slot is full, the next ones that it is free; one more is of those who
        compute."""
        spmd = self.spmd
        if self.role is not None:
            if self.copies_alone:
                self.prefetch(s)
            else:
                spmd.barrier()
                self.computed(s)
            if self.again:  # the slots are filled anew
                spmd.everybody()
            return
        threads = spmd.threads
        consumers = threads - WARP * s.producers
        spmd.barrier()
        spmd.value(self.warp)
        with spmd.when(lt(self.warp, i64(consumers // WARP))):
            spmd.threads, spmd.group = consumers, 2 * s.slots + 1
            self.computed(s)
            spmd.group = None
        with spmd.when(le(i64(consumers // WARP), self.warp)):
            spmd.threads, self.first = threads - consumers, consumers
            self.prefetch(s)
            self.first = 0
        spmd.threads = threads
        spmd.barrier()

    def meet(self, number: Node, wait: bool) -> None:
        self.warp_out.meet(self.spmd.value(number), self.all_threads, wait)

    @staticmethod
    def full(s: Pipeline, index: Node) -> Node:
        """The barrier that tells that the slot of an index is full."""
        return add(rem(sub(index, s.axis.lo), i64(s.slots)), i64(1))

    def free(self, s: Pipeline, index: Node) -> Node:
        """The one that tells that it is free."""
        return add(self.full(s, index), i64(s.slots))

    def computed(self, s: Pipeline) -> None:
        """The part of the warps that compute."""
        spmd, a = self.spmd, s.axis

        def consumed(index: Node) -> None:
            self.meet(self.full(s, index), True)
            spmd.body(s.at(s.consume, index))
            spmd.release(s.consume)

        # The first index stands before the loop where products go on from one to the next: were registers at the loop's
        # beginning those of products that go on, or others, the assembler would have each one waited for.
        first = i64(1) if s.held else i64(0)
        with spmd.when(lt(a.lo, a.hi) if s.held else None):
            if s.held:
                consumed(a.lo)
            with spmd.each(a.index, add(a.lo, first), a.hi, i64(1), ()):
                consumed(a.index)
                left = sub(a.index, i64(s.held))
                begun = le(a.lo, left) if s.held > 1 else None
                with spmd.when(conjunction(begun, lt(add(left, i64(s.slots)), a.hi))):
                    self.meet(self.free(s, left), False)
            if s.held:
                self.out.finish(0)

    def prefetch(self, s: Pipeline) -> None:
        """The part of the warps that copy."""
        spmd, a, prefetched = self.spmd, s.axis, s.prefetched
        with spmd.each(a.index, a.lo, add(a.hi, i64(prefetched)), i64(1), ()):
            with spmd.when(lt(a.index, a.hi)):
                with spmd.when(le(add(a.lo, i64(s.slots)), a.index)):
                    self.meet(self.free(s, a.index), True)
                self.filled(s)
            self.out.commit()
            self.out.wait(prefetched)
            self.published(spmd.effects(s.produce)[1])
            before = sub(a.index, i64(prefetched))
            with spmd.when(le(a.lo, before)):
                self.meet(self.full(s, before), False)
        self.out.wait(0)

    def filled(self, s: Pipeline) -> None:
        spmd = self.spmd

        def run(body: Sequence[Any]) -> None:
            for x in body:
                if isinstance(x, TileCopy):
                    self.copy(x)
                else:
                    with spmd.when(x.where):
                        run(x.body)

        run(s.at(s.produce, s.axis.index))

    statements: Mapping[type, Callable[[BlockTiles, Any], None]] = {
        TileMap: map, TileReduce: reduce, TileProduct: product, TileStore: store, TileCopy: copy,
    }  # fmt: skip
