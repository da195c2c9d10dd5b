"""Tiles: matrices that the warps of a block keep in registers, and what a block does with them.

A statement here is one of the whole block: its meaning is that of matrices, and a renderer deals elements out to
threads as :func:`place` says. Numbers reach tiles from memory by expressions (:class:`TileMap`), and products from
matrices in shared memory (:class:`Matrix`), which :class:`TileCopy` brings there.

The elements of a tile are dealt out as tensor cores of NVIDIA have accumulators (PTX ISA, "Matrix fragments for
mma.m16n8k16"), and a tile that is stored in 16 bits is at the same time the left operand of a product, since that
fragment is two accumulators side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node, add, call, div, i64, lt, mul, rem, sub, var
from umiak.compiler.loop.node import replace as replace_nodes
from umiak.compiler.loop.tree import (
    Axis,
    Barrier,
    BlockStatement,
    If,
    Kernel,
    Loop,
    Statement,
    walk_statements,
    with_expressions,
)
from umiak.compiler.loop.types import ScalarType

WARP = 32
WARPGROUP = 4  # warps whose tensor cores multiply together
ROWS, COLUMNS = 16, 8  # of a fragment
CHUNK = 16  # bytes that tensor cores read at once: lines of matrices begin at multiples of it
PANEL = 128  # bytes of a line in a panel
PATTERN = 8  # lines after which the order of pieces in a panel repeats


@dataclass(frozen=True)
class Tile:
    """``rows`` × ``columns`` numbers in registers, dealt out to a grid of ``warps``: the first ones of the block.

    Blocks of 16 rows go to the warps of the grid's first dim in turn; columns are cut into as many parts as its second
    dim has. With one column it has a number for each row, which all lanes that hold elements of the row know, and it
    goes with tiles of any number of columns. What nobody has written means nothing.
    """

    name: str
    type: ScalarType
    rows: int
    columns: int
    warps: tuple[int, int]

    @property
    def at(self) -> Node:
        """The element at the point of a statement: a leaf of its expressions."""
        return var(self.name, self.type)

    @property
    def count(self) -> int:
        """Warps that have a part of it."""
        return self.warps[0] * self.warps[1]

    @property
    def row_fragments(self) -> int:
        """Blocks of 16 rows of a warp."""
        return self.rows // (ROWS * self.warps[0])

    @property
    def column_fragments(self) -> int:
        """Blocks of 8 columns of a warp; 0 of a tile of one column."""
        return 0 if self.columns == 1 else self.columns // (COLUMNS * self.warps[1])

    @property
    def elements(self) -> int:
        """Registers of a lane."""
        return self.row_fragments * (4 * self.column_fragments or 2)


class Place(NamedTuple):
    """A point of a tile."""

    row: Node
    column: Node


def place(tile: Tile, warp: Node, lane: Node, element: Node) -> Place:
    """The point whose number is in register ``element`` of a lane. Four registers are a fragment of 16 × 8: two columns
    side by side, eight rows below these the same; fragments follow each other along columns, then along rows."""
    across, down = rem(warp, i64(tile.warps[0])), div(warp, i64(tile.warps[0]))
    row = div(lane, i64(4))
    if tile.columns == 1:
        block, half = div(element, i64(2)), rem(element, i64(2))
        column = i64(0)
    else:
        fragment, corner = div(element, i64(4)), rem(element, i64(4))
        block, half = div(fragment, i64(tile.column_fragments)), div(corner, i64(2))
        column = add(mul(down, i64(COLUMNS * tile.column_fragments)), mul(rem(lane, i64(4)), i64(2)))
        side = mul(rem(fragment, i64(tile.column_fragments)), i64(COLUMNS))
        column = add(column, add(side, rem(corner, i64(2))))
    start = add(mul(block, i64(ROWS * tile.warps[0])), mul(half, i64(8)))
    return Place(add(add(mul(across, i64(ROWS)), row), start), column)


class Holder(NamedTuple):
    """The warp, the lane and the register that hold a point of a tile."""

    warp: Node
    lane: Node
    element: Node


def holder(tile: Tile, row: Node, column: Node) -> Holder:
    """The inverse of :func:`place`."""
    fragments = tile.column_fragments
    across, block = rem(div(row, i64(ROWS)), i64(tile.warps[0])), div(row, i64(ROWS * tile.warps[0]))
    down, inside = div(column, i64(COLUMNS * fragments)), rem(column, i64(COLUMNS * fragments))
    fragment = add(mul(block, i64(fragments)), div(inside, i64(COLUMNS)))
    corner = add(mul(div(rem(row, i64(ROWS)), i64(8)), i64(2)), rem(column, i64(2)))
    lane = add(mul(rem(row, i64(8)), i64(4)), div(rem(column, i64(COLUMNS)), i64(2)))
    return Holder(add(mul(down, i64(tile.warps[0])), across), lane, add(mul(fragment, i64(4)), corner))


@dataclass(frozen=True)
class Matrix:
    """A matrix in a ``shared`` buffer: lines of ``pitch`` elements from ``offset`` on. Lines are its rows, or its
    columns where it is ``transposed``. Lines begin at multiples of 16 bytes; where they are 16 bytes longer than a
    multiple of 128, lines that follow each other are in different banks."""

    buffer: str
    offset: Node
    pitch: int
    transposed: bool = False

    def index(self, row: Node, column: Node) -> Node:
        """Position of an element."""
        line, along = (column, row) if self.transposed else (row, column)
        return add(self.offset, add(mul(line, i64(self.pitch)), along))

    def replaced(self, f: Callable[[Node], Node]) -> Matrix:
        return replace(self, offset=f(self.offset))


def parted(x: Node, size: int) -> tuple[Node, Node]:
    """Quotient and remainder of a number that is not negative: bits of it where the size is a power of two."""
    if size & (size - 1):
        return div(x, i64(size)), rem(x, i64(size))
    return call("shr", x, i64(size.bit_length() - 1)), call("and", x, i64(size - 1))


@dataclass(frozen=True)
class Panels:
    """A matrix in a ``shared`` buffer as tensor cores read it themselves. Its lines are cut into panels of ``width``
    elements, 128 bytes; a panel has that part of all ``lines``, one after the other. Of the eight pieces of 16 bytes of
    a line the one that stands at place p is number p xor the line's number modulo 8, so that pieces above each other
    are in different banks. Panels begin at multiples of 1024 bytes.

    Source: PTX ISA, "Shared memory matrix layout" of ``wgmma``, the canonical layouts with 128-byte swizzling: K-major
    where lines run along the depth of a product, MN-major where they run across it.
    """

    buffer: str
    offset: Node
    lines: int
    width: int
    transposed: bool = False

    def index(self, row: Node, column: Node) -> Node:
        """Position of an element."""
        line, along = (column, row) if self.transposed else (row, column)
        panel, inside = parted(along, self.width)
        piece = self.width // PATTERN
        number, rest = parted(inside, piece)
        place = call("xor", number, parted(line, PATTERN)[1])
        before = add(mul(panel, i64(self.lines)), line)
        return add(self.offset, add(mul(before, i64(self.width)), add(mul(place, i64(piece)), rest)))

    def replaced(self, f: Callable[[Node], Node]) -> Panels:
        return replace(self, offset=f(self.offset))


def panelled(kernel: Kernel) -> frozenset[str]:
    """The buffers of a kernel in which there are panels."""
    found = set()
    for s in walk_statements(kernel.body):
        named = s.matrices() if isinstance(s, TileProduct) else (s.target,) if isinstance(s, TileCopy) else ()
        found |= {m.buffer for m in named if isinstance(m, Panels)}
    return frozenset(found)


def _maybe(f: Callable[[Node], Node], x: Node | None) -> Node | None:
    return None if x is None else f(x)


@dataclass(frozen=True)
class TileMap(BlockStatement):
    """``results`` become ``values`` at each point (``row``, ``column``), axes that the expressions may use besides
    elements of tiles (``Tile.at``) and memory. Values are of the points as they were before.

    ``where``: points at which it does not hold keep their numbers. It names no tiles, so that it can be computed by a
    loop before any value: written once for each element, long conditions take more registers than there are.
    """

    results: tuple[Tile, ...]
    values: tuple[Node, ...]
    row: Node
    column: Node
    where: Node | None = None

    def nodes(self) -> Iterator[Node]:
        yield from self.values
        if self.where is not None:
            yield self.where

    def replaced(self, f: Callable[[Node], Node]) -> TileMap:
        return replace(self, values=tuple(map(f, self.values)), where=_maybe(f, self.where))


@dataclass(frozen=True)
class TileReduce(BlockStatement):
    """The one column of ``result`` becomes the combination of ``value`` along the columns of ``tile``, whose warps
    stand in one column. Lanes begin with the identity and combine their own columns in order, then neighbours, then
    pairs of neighbours."""

    result: Tile
    tile: Tile
    monoid: Monoid
    value: Node
    row: Node
    column: Node

    def nodes(self) -> Iterator[Node]:
        yield self.value

    def replaced(self, f: Callable[[Node], Node]) -> TileReduce:
        return replace(self, value=f(self.value))


@dataclass(frozen=True)
class TileProduct(BlockStatement):
    """``result += a b`` over ``depth`` columns of ``a``: products are exact and summed up in f32, in any order.

    ``a``: a matrix, or a tile of 16 bits, whose warps stand in one column as those of the result do. Both operands are
    of one type: bf16 or f16, or f8e4m3fn or f8e5m2, where lines of ``a`` are rows and those of ``b`` columns.

    ``asynchronous``, of two matrices in panels: the sums are there after the :class:`ProductWait` for it. Until then
    nobody uses the result but for the next such product, or writes where the operands are.
    """

    result: Tile
    a: Matrix | Panels | Tile
    b: Matrix | Panels
    depth: int
    asynchronous: bool = False

    @property
    def grouped(self) -> bool:
        """Return whether four warps, 64 rows, can do it together from matrices in panels."""
        d, width = self.result, self.result.columns // self.result.warps[1]
        if not isinstance(self.b, Panels) or isinstance(self.a, Matrix) or d.warps[0] % WARPGROUP or width > 256:
            return False
        # A warp's columns begin with a panel where lines run along them.
        return self.b.transposed or d.warps[1] == 1 or width % self.b.width == 0

    def matrices(self) -> tuple[Matrix | Panels, ...]:
        return tuple(x for x in (self.a, self.b) if not isinstance(x, Tile))

    def nodes(self) -> Iterator[Node]:
        yield from (x.offset for x in self.matrices())

    def replaced(self, f: Callable[[Node], Node]) -> TileProduct:
        a = self.a if isinstance(self.a, Tile) else self.a.replaced(f)
        return replace(self, a=a, b=self.b.replaced(f))

    def reads(self) -> tuple[str, ...]:
        return tuple(x.buffer for x in self.matrices())


@dataclass(frozen=True)
class TileStore(BlockStatement):
    """``buffer[index] = value`` at each point of ``tile`` where ``where`` holds. ``width``: columns side by side that
    are stored at once, 1 or 2: of 2, which begin at an even column, ``index`` follows each other, the first is even,
    and ``where`` is the same."""

    tile: Tile
    buffer: str
    row: Node
    column: Node
    index: Node
    value: Node
    where: Node | None = None
    width: int = 1

    def nodes(self) -> Iterator[Node]:
        yield from (self.index, self.value)
        if self.where is not None:
            yield self.where

    def replaced(self, f: Callable[[Node], Node]) -> TileStore:
        return replace(self, index=f(self.index), value=f(self.value), where=_maybe(f, self.where))

    def writes(self) -> tuple[str, ...]:
        return (self.buffer,)


@dataclass(frozen=True)
class TileCopy(BlockStatement):
    """The first ``rows`` × ``columns`` elements of ``target`` become ``source[index]`` at each point, 0 where ``where``
    does not hold. ``width`` elements of a line are copied at once: from a multiple of it on, ``index`` follows each
    other, the first is a multiple of ``width``, and ``where`` is the same.

    ``asynchronous``: they are there after the :class:`Wait` for their group. Of 16, 8 or 4 bytes at once, tensor-core
    targets copy them beside whatever else they do.
    """

    target: Matrix | Panels
    rows: int
    columns: int
    source: str
    row: Node
    column: Node
    index: Node
    where: Node | None = None
    width: int = 1
    asynchronous: bool = False

    def nodes(self) -> Iterator[Node]:
        yield from (self.target.offset, self.index)
        if self.where is not None:
            yield self.where

    def replaced(self, f: Callable[[Node], Node]) -> TileCopy:
        return replace(self, target=self.target.replaced(f), index=f(self.index), where=_maybe(f, self.where))

    def reads(self) -> tuple[str, ...]:
        return (self.source,)

    def writes(self) -> tuple[str, ...]:
        return (self.target.buffer,)


@dataclass(frozen=True)
class Commit(BlockStatement):
    """The asynchronous copies since the last one are a group, which may be empty."""


@dataclass(frozen=True)
class Wait(BlockStatement):
    """All groups but the last ``pending`` have arrived. Each thread knows it of its own copies: a barrier comes before
    what others copied is read."""

    pending: int


@dataclass(frozen=True)
class ProductWait(BlockStatement):
    """All asynchronous products but the last ``pending`` are done."""

    pending: int


@dataclass(frozen=True)
class Pipeline(BlockStatement):
    """``produce``, then ``consume``, at each index of a serial ``axis``, in order. ``produce`` has asynchronous copies
    alone, into matrices that depend on ``slot``, which counts the indices modulo ``slots``; it may run up to ``slots``
    indices ahead, so what it reads nothing in ``consume`` writes.

    ``producers``: warps at the end of the block that do nothing but copy, where a target can have threads wait for some
    of the others; 0: every thread copies ahead. The tiles of ``consume`` are those of the other warps.

    ``kept``: registers that a thread of theirs keeps, where a target has them give the others to those who compute.

    ``held``: asynchronous products of ``consume`` may still read the slots of so many indices, the last ones. At the
    end all are done.
    """

    axis: Axis
    slot: Node
    slots: int
    produce: tuple[Statement, ...]
    consume: tuple[Statement, ...]
    producers: int = 0
    held: int = 0
    kept: int = 40

    @property
    def prefetched(self) -> int:
        """Indices whose copies are under way while one is used."""
        return self.slots - 1 - self.held

    @property
    def body(self) -> tuple[Statement, ...]:
        return (*self.produce, *self.consume)

    def nodes(self) -> Iterator[Node]:
        yield from (self.axis.lo, self.axis.hi)

    def replaced(self, f: Callable[[Node], Node]) -> Pipeline:
        axis = replace(self.axis, lo=f(self.axis.lo), hi=f(self.axis.hi))
        produce, consume = (with_expressions(x, f) for x in (self.produce, self.consume))
        return replace(self, axis=axis, produce=produce, consume=consume)

    def at(self, body: tuple[Statement, ...], index: Node) -> tuple[Statement, ...]:
        """Statements of the body at an index."""
        table = {self.axis.index: index, self.slot: rem(sub(index, self.axis.lo), i64(self.slots))}
        return with_expressions(body, lambda x: replace_nodes([x], table)[0])


def in_order(p: Pipeline) -> tuple[Statement, ...]:
    """A pipeline as a loop in which every thread copies ahead, with one barrier in each iteration."""
    a, prefetched = p.axis, p.prefetched

    def filled(index: Node) -> tuple[Statement, ...]:
        return If(lt(index, a.hi), p.at(p.produce, index)), Commit()

    first = [s for k in range(prefetched) for s in filled(add(a.lo, i64(k)))]
    # The slot that is filled is the one of the index before, or of the last one that is not held: all threads have left
    # it at the barrier.
    each = (Wait(prefetched - 1), Barrier(), *filled(add(a.index, i64(prefetched))), *p.at(p.consume, a.index))
    last = (ProductWait(0),) if p.held else ()
    return (*first, Loop(a, each), *last, Wait(0), Barrier())


@dataclass(frozen=True)
class Exchange(Statement):
    """``result`` (a variable) becomes ``value`` of the lane whose number differs by the bits of ``mask`` (below 32).

    For a loop over lanes from 0 to a number of the kernel's ``threads``, or a multiple.
    """

    result: Node
    value: Node
    mask: int
