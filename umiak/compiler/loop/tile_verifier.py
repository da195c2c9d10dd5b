"""Rules of the statements on tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import (
    CHUNK,
    COLUMNS,
    PANEL,
    PATTERN,
    ROWS,
    WARP,
    Commit,
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
)
from umiak.compiler.loop.tree import (
    IN,
    SERIAL,
    SHARED,
    BlockStatement,
    Buffer,
    If,
    Kernel,
    Statement,
    walk_statements,
)
from umiak.compiler.loop.types import BF16, BOOL, F8E4M3FN, F8E5M2, F16, F32, I64, ScalarType

BYTES = (BF16, F16), (F8E4M3FN, F8E5M2)  # operands of products: of two bytes, of one
MOST_SLOTS = 6  # named barriers of a pipeline: two for each slot


class Checker(Protocol):
    """The verifier's part that tiles need."""

    kernel: Kernel
    buffers: dict[str, Buffer]
    visible: set[Node]
    lanes: list[Node]

    def fail(self, rule: str, got: object) -> None: ...
    def body(self, body: Sequence[Statement]) -> None: ...
    def define(self, x: Node) -> None: ...
    def expression(self, x: Node, type: ScalarType) -> None: ...


class Tiles:
    """Checks of statements on tiles; a :class:`Checker` knows what is visible."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.known: set[Tile] = set()
        self.inside: Pipeline | None = None

    def kernel(self) -> None:
        """The declarations of tiles and threads."""
        c, threads = self.checker, self.checker.kernel.threads
        if threads is not None and (threads % WARP or not WARP <= threads <= 1024):
            c.fail("32 to 1024 threads, a multiple of 32", threads)
        for t in c.kernel.tiles:
            if threads is None:
                c.fail("a number of threads for tiles", f"{t.name!r} and none")
                return
            if any(t.name == u.name for u in self.known) or t.name in c.buffers:
                c.fail("different names of tiles and buffers", f"{t.name!r} twice")
            rows = t.rows % (ROWS * t.warps[0]) or t.rows < 1
            columns = t.columns != 1 and (t.columns % (COLUMNS * t.warps[1]) or t.columns < 1)
            if rows or columns:
                c.fail("rows and columns that fragments of 16 × 8 and warps divide", t)
            if t.count * WARP > threads:
                c.fail(f"warps among {threads // WARP}", t)
            self.known.add(t)

    def statement(self, s: BlockStatement) -> None:
        c = self.checker
        if c.lanes:
            c.fail("tiles outside of lanes", f"some inside of {c.lanes[-1].attr}")
        if isinstance(s, (Wait, ProductWait)):
            if s.pending < 0:
                c.fail("a number of groups", s.pending)
        elif not isinstance(s, Commit):
            self.statements[type(s)](self, s)

    def tile(self, t: Tile) -> None:
        if t not in self.known:
            self.checker.fail("a declared tile", t)

    def points(self, tile: Tile | None, row: Node, column: Node, roots: Sequence[tuple[Node, ScalarType]]) -> None:
        """Expressions at points of a tile may use its row, its column, and elements of tiles like it."""
        c = self.checker
        before = set(c.visible)
        for x in (row, column):
            if x.op != "axis":
                c.fail("axes as row and column", x.op)
            c.define(x)
        if tile is not None:
            self.tile(tile)
            for t in self.known:
                if t.rows == tile.rows and t.warps == tile.warps and t.columns in (1, tile.columns):
                    c.visible.add(t.at)
        for x, type in roots:
            c.expression(x, type)
        c.visible.clear()
        c.visible.update(before)

    def map(self, s: TileMap) -> None:
        c = self.checker
        if not s.results or len(s.results) != len(s.values):
            c.fail("a value for each tile", f"{len(s.values)} for {len(s.results)}")
        first = s.results[0]
        for t in s.results:
            self.tile(t)
            if (t.rows, t.columns, t.warps) != (first.rows, first.columns, first.warps):
                c.fail("tiles of one shape", t)
        where = [] if s.where is None else [(s.where, BOOL)]
        named = {t.name for t in self.known if s.where is not None and t.at in s.where.axes}
        if named:
            c.fail("a condition of places and memory", f"one of {', '.join(sorted(named))}")
        self.points(first, s.row, s.column, [*((x, t.type) for x, t in zip(s.values, s.results)), *where])

    def reduce(self, s: TileReduce) -> None:
        c, t = self.checker, s.tile
        self.tile(s.result)
        if s.monoid.size != 1 or not s.monoid.commutative:
            c.fail("a commutative monoid of one number", s.monoid)
        if t.columns == 1 or t.warps[1] != 1 or (s.result.rows, s.result.columns, s.result.warps) != (
            t.rows, 1, t.warps,
        ):  # fmt: skip
            c.fail("warps in one column, and a result of one column like them", f"{t}, {s.result}")
        self.points(t, s.row, s.column, [(s.value, s.result.type)])

    def matrix(self, m: Matrix | Panels) -> Buffer | None:
        c = self.checker
        b = c.buffers.get(m.buffer)
        if b is None or b.space != SHARED:
            c.fail("a matrix in a shared buffer", repr(m.buffer))
            return None
        if isinstance(m, Panels):
            if m.width * b.type.bytes != PANEL or m.lines < 1 or m.lines % PATTERN:
                c.fail(f"panels of {PANEL} bytes, and of a multiple of {PATTERN} lines", f"{m.lines} of {m.width}")
        elif m.pitch < 1 or m.pitch * b.type.bytes % CHUNK:
            c.fail(f"lines of a multiple of {CHUNK} bytes", f"{m.pitch} of {b.type} in {m.buffer!r}")
        c.expression(m.offset, I64)
        return b

    def product(self, s: TileProduct) -> None:
        c, d = self.checker, s.result
        self.tile(d)
        if d.type is not F32 or d.columns == 1:
            c.fail("a result of f32", d)
        right = self.matrix(s.b)
        if isinstance(s.a, Tile):
            self.tile(s.a)
            a, of_warp = s.a, (d.rows, d.warps)
            if a.type not in BYTES[0] or (a.rows, a.warps) != of_warp or d.warps[1] != 1 or a.columns < s.depth:
                c.fail("a tile of 16 bits, rows and warps of the result, warps in one column", a)
            left: ScalarType | None = a.type
        else:
            found = self.matrix(s.a)
            left = None if found is None else found.type
        if right is None or left is None:
            return
        if left is not right.type or left not in (*BYTES[0], *BYTES[1]):
            c.fail("operands of one type, of 16 or 8 bits", f"{left} and {right.type}")
        if s.depth < 1 or s.depth % (2 * CHUNK // left.bytes):
            c.fail(f"a depth that is a multiple of {2 * CHUNK // left.bytes}", s.depth)
        if left in BYTES[1] and (not s.b.transposed or (not isinstance(s.a, Tile) and s.a.transposed)):
            c.fail("numbers of 8 bits side by side along the depth", f"{s.a}, {s.b}")
        if s.asynchronous and not (s.grouped and isinstance(s.a, Panels)):
            c.fail("asynchronous products of panels, by four warps and 64 rows", f"{s.a}, {s.b}")

    def store(self, s: TileStore) -> None:
        c, b = self.checker, self.checker.buffers.get(s.buffer)
        if b is None or b.space == IN:
            c.fail("a store into a declared buffer that is no input", repr(s.buffer))
            return
        if s.width not in (1, 2) or (s.width == 2 and s.tile.columns == 1):
            c.fail("a width of 1, or of 2 columns", s.width)
        where = [] if s.where is None else [(s.where, BOOL)]
        self.points(s.tile, s.row, s.column, [(s.index, I64), (s.value, b.type), *where])

    def copy(self, s: TileCopy) -> None:
        c, source, target = self.checker, self.checker.buffers.get(s.source), self.matrix(s.target)
        if source is None or source.space == SHARED:
            c.fail("a copy from a declared buffer that is not shared", repr(s.source))
        elif target is not None and (source.type is not target.type or source.type is BOOL):
            c.fail("a copy between buffers of one type of numbers", f"{source.type} and {target.type}")
        line, lines = (s.rows, s.columns) if s.target.transposed else (s.columns, s.rows)
        longest = line if isinstance(s.target, Panels) else s.target.pitch
        if min(s.rows, s.columns) < 1 or line > longest or line % s.width:
            c.fail(f"lines of at most {longest} elements, a multiple of {s.width}", line)
        if isinstance(s.target, Panels) and lines > s.target.lines:
            c.fail(f"at most {s.target.lines} lines", lines)
        if target is not None and s.width * target.type.bytes not in (target.type.bytes, 4, 8, 16):
            c.fail("an element, or 4, 8 or 16 bytes at once", f"{s.width} of {target.type}")
        where = [] if s.where is None else [(s.where, BOOL)]
        self.points(None, s.row, s.column, [(s.index, I64), *where])

    def pipeline(self, s: Pipeline) -> None:
        c, a = self.checker, s.axis
        if self.inside is not None:
            c.fail("no pipeline inside of one", s.axis.index.attr)
        if a.kind != SERIAL or a.step != 1 or s.slot.op != "axis":
            c.fail("a serial axis in steps of 1, and an axis for slots", a)
        if not 2 <= s.slots <= MOST_SLOTS:
            c.fail(f"2 to {MOST_SLOTS} slots", s.slots)
        if not 0 <= s.held < s.slots - 1:
            c.fail("a slot that is filled beside those that are held and used", f"{s.held} of {s.slots} held")
        for x in walk_statements(s.produce):
            if not isinstance(x, (TileCopy, If)) or (isinstance(x, TileCopy) and not x.asynchronous):
                c.fail("asynchronous copies alone", type(x).__name__)
        for x in walk_statements(s.consume):
            if isinstance(x, (Commit, Wait, Pipeline)) or (isinstance(x, TileCopy) and x.asynchronous):
                c.fail("no asynchronous copies where others are used", type(x).__name__)
        threads = c.kernel.threads or 0
        used = [t for x in walk_statements(s.consume) for t in tiles_of(x)]
        if s.producers < 0 or any((t.count + s.producers) * WARP > threads for t in used):
            c.fail(f"tiles of the warps that copy nothing, of {threads // WARP}", s.producers)
        c.expression(a.lo, I64)
        c.expression(a.hi, I64)
        before = set(c.visible)
        c.define(a.index)
        c.define(s.slot)
        self.inside = s
        c.body(s.produce)
        c.body(s.consume)
        self.inside = None
        c.visible.clear()
        c.visible.update(before)

    statements: Mapping[type, Callable[[Tiles, Any], None]] = {
        TileMap: map, TileReduce: reduce, TileProduct: product, TileStore: store, TileCopy: copy, Pipeline: pipeline,
    }  # fmt: skip


def tiles_of(s: Statement) -> tuple[Tile, ...]:
    """The tiles that a statement names itself."""
    if isinstance(s, TileMap):
        return s.results
    if isinstance(s, TileReduce):
        return s.result, s.tile
    if isinstance(s, TileProduct):
        return (s.result, s.a) if isinstance(s.a, Tile) else (s.result,)
    return (s.tile,) if isinstance(s, TileStore) else ()
