"""Statements of kernels with tensor cores: tiles in registers, lines of matrices in memory of the block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from umiak.compiler.attention.form import ADDED, LARGEST, Form
from umiak.compiler.attention.text import LOG2_E, Memory, Place, Text, divided
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import lowest
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import (
    COLUMNS,
    PANEL,
    ROWS,
    WARP,
    WARPGROUP,
    Matrix,
    Panels,
    Pipeline,
    Tile,
    TileCopy,
    TileMap,
    TileProduct,
    TileStore,
)
from umiak.compiler.loop.tree import Axis, Statement
from umiak.compiler.loop.types import I64, ScalarType

SLOTS = 2  # steps whose operands are in memory of the block
KEPT, KEPT_BESIDE_DROPOUT = 40, 56  # registers of a thread that copies, without spills in either kind of warps
DEPTH = 16  # of a step of tensor cores


class Lines(NamedTuple):
    """Rows of an operand in memory of the block, ``each`` in a slot."""

    memory: Memory
    each: int


class Here(NamedTuple):
    """Tokens of a tile of scores by its row and column. ``transposed``: rows are keys, not queries."""

    place: Place
    query: Node
    key: Node
    transposed: bool = False

    def tokens(self, row: Node, column: Node) -> tuple[Node, Node]:
        """The query and the key of a point."""
        i, j = (column, row) if self.transposed else (row, column)
        return n.add(self.query, i), n.add(self.key, j)


def up(x: int) -> int:
    """Columns of a tile, or of a line, for so many dims of a head."""
    return -(-x // DEPTH) * DEPTH


class TensorText(Text):
    """Statements on tiles in registers."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self.declared: list[Tile] = []
        # One warp could not copy as fast as groups of four multiply. Four give away their registers.
        few = 2 if form.grouped and not form.dropout else 1
        many = form.grouped and form.persistent and form.tile == LARGEST
        self.producers = 1 if form.gradient else WARPGROUP if many else few

    @property
    def threads(self) -> int:
        """Threads of a block: a warp for 16 rows, and those that copy."""
        return (self.form.tile // ROWS + self.producers) * WARP

    def tile(self, name: str, columns: int, type_: ScalarType | None = None) -> Tile:
        """A tile of as many rows as the form's tiles have."""
        tile = self.form.tile
        self.declared.append(Tile(name, type_ or self.form.computed, tile, columns, (tile // ROWS, 1)))
        return self.declared[-1]

    def lines(self, name: str, count: int, columns: int, slots: int = 1) -> Lines:
        """Memory of the block for matmuls. Lines of 16 bytes more than a multiple of 128 begin in different banks;
        there are as many panels as hold one."""
        stored = self.form.stored
        if self.form.grouped:
            width = PANEL // stored.bytes
            columns = -(-columns // width) * width
        padding = 0 if self.form.grouped else COLUMNS
        return Lines(self.memory(name, slots * count, columns, type_=stored, padding=padding), count)

    def matrix(self, lines: Lines, slot: Node | int = 0, transposed: bool = False) -> Matrix | Panels:
        """The first lines in memory of the block, or those of a slot."""
        m, count = lines
        offset = n.mul(n.add(slot, n.i64(0)), count * m.stride)
        if self.form.grouped:
            return Panels(m.name, offset, count, PANEL // m.type.bytes, transposed)
        return Matrix(m.name, offset, m.stride, transposed)

    def point(self) -> tuple[Node, Node]:
        return n.axis(f"row{self._fresh()}"), n.axis(f"column{self._fresh()}")

    def map(
        self, *pairs: tuple[Tile, Callable[[Node, Node], Node]], where: Callable[[Node, Node], Node] | None = None
    ) -> None:
        """Numbers of tiles of one shape, by row and column; others stay where ``where`` does not hold."""
        row, column = self.point()
        condition = None if where is None else where(row, column)
        self.emit(TileMap(tuple(t for t, _ in pairs), tuple(f(row, column) for _, f in pairs), row, column, condition))

    def copied(
        self, to: Lines, slot: Node | int, name: str, place: Place, first: Node, tokens: str, columns: int,
        late: bool = False,
    ) -> TileCopy:  # fmt: skip
        """The copy of an operand's rows from ``first`` on into those of a slot; 0 beyond its end."""
        a = self.arguments
        row, column = self.point()
        token = n.add(first, row)
        inside = within(n.lt(token, a.size(tokens)), column, columns)
        at = a.at(name, place.batch, token, place.head, column)
        target = self.matrix(to, slot)
        return TileCopy(target, to.each, up(columns), name, row, column, at, inside, self.form.width, late)

    def written(
        self, name: str, sums: Tile, columns: int, place: Place, first: Node, tokens: str, heads: str, by: Node
    ) -> None:
        """The rows of a tile into a dense result, times a number."""
        a = self.arguments
        row, column = self.point()
        token = n.add(first, row)
        at = n.add(n.mul(n.add(n.mul(place.batch, a.size(tokens)), token), a.size(heads)), place.head)
        inside = within(n.lt(token, a.size(tokens)), column, columns)
        value = n.cast(n.mul(sums.at, by), self.form.stored)
        pair = 1 if columns % 2 else 2
        self.emit(TileStore(sums, name, row, column, n.add(n.mul(at, columns), column), value, inside, pair))

    def scores(
        self, to: Tile, left: Matrix | Panels, right: Matrix | Panels, here: Here, partial: Node,
        ends: tuple[str, ...] = ("keys",),
    ) -> None:  # fmt: skip
        """Scores of a tile in units of log 2. Only those of a partial one are looked at, and of one that has a token
        beyond the last (``ends``: of which kinds it may have)."""
        f, a = self.form, self.arguments
        scale = n.mul(a.number(0), self.const(LOG2_E))
        self.map((to, lambda *_: self.const(0.0)))
        self.emit(TileProduct(to, left, right, up(f.dim)))
        self.map((to, lambda *_: self.capped(n.mul(to.at, scale))))
        if f.mask == ADDED:
            with self.when(partial):
                self.map((to, lambda i, j: self.with_added(to.at, here.place, *here.tokens(i, j))))

        def hidden(i: Node, j: Node) -> Node:
            query, key = here.tokens(i, j)
            beyond = [n.le(a.size(name), {"queries": query, "keys": key}[name]) for name in ends]
            found = self.hidden(here.place, query, key)
            for x in beyond:
                found = n.call("or", x, found)
            return found

        look = partial
        sizes = dict(zip(("keys", "queries"), (to.columns, to.rows) if not here.transposed else (to.rows, to.columns)))
        for name in ends:
            start = here.key if name == "keys" else here.query
            look = n.call("or", look, n.lt(n.sub(a.size(name), start), sizes[name]))
        with self.when(look):
            self.map((to, lambda *_: lowest(f.computed)), where=hidden)

    def steps(
        self, counts: str, tiles: str, unit: Node, outer: Node, n_outer: Node, n_inner: Node, index: Node, step: int
    ) -> tuple[Node, Node, Node]:
        """The number of steps of a row of tiles; and of one, its first token and whether to look at its scores."""
        f = self.form
        type_, parts = f.temporaries[counts], f.tile // step
        base = n.add(n.mul(unit, n_outer), outer)
        count = n.mul(n.cast(n.load(counts, type_, base), I64), parts)
        listed, part = divided(index, parts) if parts > 1 else (index, n.i64(0))
        entry = n.cast(n.load(tiles, type_, n.add(n.mul(base, n_inner), listed)), I64)
        partial = n.le(0, entry)
        begin = n.mul(n.select(partial, entry, n.sub(-1, entry)), f.tile)
        return count, n.add(begin, n.mul(part, step)), partial

    def pipeline(
        self, index: Node, count: Node, slot: Node, produce: Sequence[Statement], consume: Sequence[Statement]
    ) -> None:
        kept = KEPT_BESIDE_DROPOUT if self.form.dropout else KEPT
        axis = Axis(index, count)
        self.emit(Pipeline(axis, slot, SLOTS, tuple(produce), tuple(consume), self.producers, kept=kept))

    def dropped(self, here: Here) -> Callable[[Node, Node], Node]:
        """A condition of points: dropout takes the weight away."""
        return lambda i, j: n.call("not", self.kept(here.place, *here.tokens(i, j)))


def within(inside: Node, column: Node, columns: int) -> Node:
    """A row's condition and that of its columns, of which a tile may have more."""
    return n.call("and", inside, n.lt(column, columns)) if columns % DEPTH else inside
