"""The meaning of the statements on tiles: matrices, and copies and products that end as late as they may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from umiak.compiler.loop.evaluate import DTYPES
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node, axis
from umiak.compiler.loop.tiles import (
    CHUNK,
    PANEL,
    PATTERN,
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
    in_order,
)
from umiak.compiler.loop.tree import BlockStatement, Kernel, Statement
from umiak.compiler.loop.types import ScalarType

Array = Any
_ROW, _COLUMN = axis("$row"), axis("$column")


class Machine(Protocol):
    """The interpreter's part that tiles need."""

    kernel: Kernel
    env: dict[Node, Array]
    memory: dict[str, np.ndarray]

    def values(self, roots: Sequence[Node]) -> list[Array]: ...
    def check(self, buffer: str, index: Array) -> None: ...
    def body(self, body: Sequence[Statement]) -> None: ...
    def combine(
        self, monoid: Monoid, a: Sequence[Array], b: Sequence[Array], types: Sequence[ScalarType]
    ) -> list[Array]: ...


class Tiles:
    """Tiles of a block, and what is on its way to shared memory."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.numbers = {t.name: nothing((t.rows, t.columns), t.type) for t in machine.kernel.tiles}
        self.open: list[tuple[str, Array, Array]] = []  # copies since the last Commit
        self.groups: list[list[tuple[str, Array, Array]]] = []
        self.late: dict[str, set[int]] = {}  # elements of buffers that are on their way
        self.products: list[tuple[str, Array, list[tuple[str, set[int]]]]] = []  # not done: results, what they read

    def run(self, s: BlockStatement) -> None:
        if isinstance(s, Commit):
            self.groups.append(self.open)
            self.open = []
        elif isinstance(s, Wait):
            self.arrive(len(self.groups) - s.pending)
        elif isinstance(s, ProductWait):
            done = max(len(self.products) - s.pending, 0)
            for name, value, _ in self.products[:done]:
                self.numbers[name] = value
            del self.products[:done]
        elif isinstance(s, Pipeline):
            self.machine.body(in_order(s))
        else:
            self.statements[type(s)](self, s)

    def arrive(self, count: int) -> None:
        for group in self.groups[: max(count, 0)]:
            for buffer, index, value in group:
                self.machine.memory[buffer][index] = value
                self.late[buffer] -= set(index.ravel().tolist())
        del self.groups[: max(count, 0)]

    def free(self, buffer: str, index: Array) -> None:
        """An error where elements are written that products may still read."""
        read = [elements for _, _, operands in self.products for name, elements in operands if name == buffer]
        if read and not set().union(*read).isdisjoint(index.ravel().tolist()):
            self.fail(f"a wait for products before what they read of {buffer} is written", "some that are not done")

    def done(self, tiles: Iterable[str]) -> None:
        """An error where tiles are used whose products are not done."""
        late = {name for name, *_ in self.products} & {*tiles}
        if late:
            self.fail("a wait for products before their results are used", f"{', '.join(sorted(late))} not done")

    def settled(self, buffer: str, index: Array) -> None:
        """An error where elements are used that have not arrived."""
        late = self.late.get(buffer)
        if late and not late.isdisjoint(np.asarray(index).ravel().tolist()):
            self.fail(f"a wait for copies into {buffer} before its elements are used", "some on their way")

    def fail(self, required: str, got: object) -> None:
        raise ValueError(f"[{self.machine.kernel.name}] requires {required}, got {got}")

    def points(self, tile: Tile, row: Node, column: Node, roots: Sequence[Node]) -> list[Array]:
        """Expressions at all points of a tile."""
        return self.on(tile.rows, tile.columns, row, column, roots, tile.columns)

    def on(
        self, rows: int, columns: int, row: Node, column: Node, roots: Sequence[Node], like: int | None = None
    ) -> list[Array]:
        env = self.machine.env
        former = dict(env)
        used = frozenset[Node]().union(*(x.axes for x in roots))
        self.done(t.name for t in self.machine.kernel.tiles if t.at in used)
        env[row], env[column] = np.arange(rows)[:, None], np.arange(columns)[None, :]
        if like is not None:
            for t in self.machine.kernel.tiles:
                if t.rows == rows and t.columns in (1, like):
                    env[t.at] = self.numbers[t.name]
        values = self.machine.values(roots)
        env.clear()
        env.update(former)
        return [np.broadcast_to(v, (rows, columns)) for v in values]

    def map(self, s: TileMap) -> None:
        where = [] if s.where is None else [s.where]
        self.done(t.name for t in s.results)
        found = self.points(s.results[0], s.row, s.column, [*s.values, *where])
        for tile, value in zip(s.results, found, strict=False):
            if where:
                value = np.where(found[-1], value, self.numbers[tile.name])
            self.numbers[tile.name] = np.array(value, DTYPES[tile.type.name])

    def reduce(self, s: TileReduce) -> None:
        """In the order of threads: a lane has pairs of columns, 8 apart."""
        (value,) = self.points(s.tile, s.row, s.column, [s.value])
        types = (s.value.type,)
        lanes = value.reshape(s.tile.rows, -1, 4, 2)
        own = [lanes[:, k // 2, :, k % 2] for k in range(2 * lanes.shape[1])]
        (identity,) = self.machine.values(s.monoid.identity(types))
        total = np.broadcast_to(identity, own[0].shape)
        for x in own:
            (total,) = self.machine.combine(s.monoid, [total], [x], types)
        while total.shape[1] > 1:
            (total,) = self.machine.combine(s.monoid, [total[:, ::2]], [total[:, 1::2]], types)
        self.numbers[s.result.name] = np.array(total, DTYPES[s.result.type.name])

    def elements(self, m: Matrix | Panels, rows: int, columns: int) -> Array:
        """Positions of a matrix's elements in its buffer."""
        (offset,) = self.machine.values([m.offset])
        (index,) = self.on(rows, columns, _ROW, _COLUMN, [m.index(_ROW, _COLUMN)])
        self.machine.check(m.buffer, index)
        begin = PANEL * PATTERN if isinstance(m, Panels) else CHUNK
        if int(offset) * self.machine.memory[m.buffer].itemsize % begin:
            self.fail(f"matrices that begin at multiples of {begin} bytes", f"{m.buffer} at {int(offset)}")
        return index

    def product(self, s: TileProduct) -> None:
        rows, columns = s.result.rows, s.result.columns
        operands: list[tuple[str, set[int]]] = []

        def read(m: Matrix | Panels, *size: int) -> Array:
            index = self.elements(m, *size)
            operands.append((m.buffer, set(index.ravel().tolist())))
            return self.machine.memory[m.buffer][index].astype(np.float64)

        a = (
            self.numbers[s.a.name][:, : s.depth].astype(np.float64)
            if isinstance(s.a, Tile)
            else read(s.a, rows, s.depth)
        )
        b = read(s.b, s.depth, columns)
        former = self.numbers[s.result.name]
        if s.asynchronous:
            former = next((x for name, x, _ in reversed(self.products) if name == s.result.name), former)
        else:
            self.done((s.result.name, *([s.a.name] if isinstance(s.a, Tile) else ())))
        with np.errstate(all="ignore"):
            total = (former + a @ b).astype(np.float32)
        if s.asynchronous:
            self.products.append((s.result.name, total, operands))
        else:
            self.numbers[s.result.name] = total

    def store(self, s: TileStore) -> None:
        where = [] if s.where is None else [s.where]
        index, value, *condition = self.points(s.tile, s.row, s.column, [s.index, s.value, *where])
        here = condition[0] if condition else np.ones(index.shape, np.bool_)
        if s.width == 2:
            self.together(index, here, 2, 1, "stores")
        index, value = index[here], value[here]
        self.machine.check(s.buffer, index)
        if len(np.unique(index)) != index.size:
            self.fail(f"points that are stored in different elements of {s.buffer}", index)
        self.machine.memory[s.buffer][index] = value

    def together(self, index: Array, here: Array, width: int, axis: int, kind: str) -> None:
        """The promises of ``width``."""
        index, here = (x if axis else x.T for x in (index, here))
        if index.shape[1] % width:
            self.fail(f"lines of a multiple of {width} elements", index.shape)
        index, here = (x.reshape(-1, width) for x in (index, here))
        steady = (here == here[:, :1]).all() and not np.any((index - index[:, :1] - np.arange(width))[here[:, 0]])
        if not steady or np.any(index[here[:, 0], 0] % width):
            self.fail(f"{kind} of {width} elements that follow each other from a multiple of it on", index)

    def copy(self, s: TileCopy) -> None:
        where = [] if s.where is None else [s.where]
        index, *condition = self.on(s.rows, s.columns, s.row, s.column, [s.index, *where])
        here = condition[0] if condition else np.ones(index.shape, np.bool_)
        self.together(index, here, s.width, 0 if s.target.transposed else 1, "copies")
        self.machine.check(s.source, index[here])
        memory = self.machine.memory[s.source]
        value = np.zeros(index.shape, memory.dtype)
        value[here] = memory[index[here]]
        (to,) = self.on(s.rows, s.columns, s.row, s.column, [s.target.index(s.row, s.column)])
        self.machine.check(s.target.buffer, to)
        self.free(s.target.buffer, to)
        if not s.asynchronous:
            self.machine.memory[s.target.buffer][to] = value
            return
        self.machine.memory[s.target.buffer][to] = nothing(to.shape, self.machine.kernel.buffer(s.source).type)
        self.open.append((s.target.buffer, to, value))
        self.late.setdefault(s.target.buffer, set()).update(to.ravel().tolist())

    statements: Mapping[type, Callable[[Tiles, Any], None]] = {
        TileMap: map, TileReduce: reduce, TileProduct: product, TileStore: store, TileCopy: copy,
    }  # fmt: skip


def nothing(shape: tuple[int, ...], type: ScalarType) -> np.ndarray:
    """Numbers that mean nothing."""
    dtype = DTYPES[type.name]
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(bytearray(b"\x5b" * size), dtype).reshape(shape)
