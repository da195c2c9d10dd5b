"""Statements that attention's kernels have in common: tiles in memory of the block, products of tiles, masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from umiak.compiler.algorithms.statements import Statements
from umiak.compiler.attention.form import ADDED, BOOLEAN, COLUMNS, PATCH, Arguments, Form
from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import lowest
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tiles import Tile
from umiak.compiler.loop.tree import BLOCK, LOCAL, SHARED, Axis, Buffer, Kernel, Loop, Store
from umiak.compiler.loop.types import F32, I64, ScalarType
from umiak.ops.dot_product_attention import WORDS

LOG2_E = 1 / math.log(2)
Element: TypeAlias = "Callable[[Any, Any], Node]"  # of a matrix, by row and column
PARTS = 4  # of a row, for its maximum and sum
POINT = n.axis("point")


@dataclass(frozen=True)
class Memory:
    """A matrix in memory of the block, its rows ``stride`` elements apart."""

    name: str
    type: ScalarType
    stride: int

    def at(self, row: Node, column: Node | int = 0) -> Node:
        return n.add(n.mul(row, self.stride), column)

    def __call__(self, row: Node, column: Node | int = 0) -> Node:
        return n.load(self.name, self.type, self.at(row, column))


def divided(x: Node, size: int) -> tuple[Node, Node]:
    """Quotient and remainder of an index that is not negative."""
    if size & (size - 1) == 0:
        return n.call("shr", x, n.i64(size.bit_length() - 1)), n.call("and", x, n.i64(size - 1))
    quotient = n.div(x, size)
    return quotient, n.sub(x, n.mul(quotient, size))


class Product(NamedTuple):
    """A sum of so many terms, each of an element of the left matrix at (row, k) and one of the right at (k, column)."""

    length: int
    left: Element
    right: Element


class Place(NamedTuple):
    """A batch entry and a query head."""

    batch: Node
    head: Node


class Text(Statements):
    """Writes one kernel of a form: what a block of threads does for each point of the grid."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form, self.arguments = form, Arguments(form)
        self.scratch: list[Buffer] = []

    def kernel(
        self, role: str, points: Node, written: Sequence[str], kind: str = BLOCK, claims: str | None = None,
        tiles: Sequence[Tile] = (), threads: int | None = None,
    ) -> Kernel:  # fmt: skip
        """``claims``: the buffer that counts which points blocks have claimed, where they do."""
        (body,) = self._stack
        counter = claims if self.form.persistent else None
        loop = Loop(Axis(POINT, points, kind=kind), tuple(body), parallel=True, counter=counter)
        buffers = (*self.arguments.buffers(*written, *([counter] if counter else [])), *self.scratch)
        return Kernel(self.form.name(role), buffers, self.arguments.dims, (loop,), tuple(tiles), threads)

    def memory(
        self, name: str, rows: int, columns: int, padded: bool = True, type_: ScalarType | None = None, padding: int = 1
    ) -> Memory:
        """Memory of the block. ``padded``: what lies below each other is in different banks."""
        found = Memory(f"{name}_s", type_ or self.form.computed, columns + padding * padded)
        space = SHARED if self.form.shared else LOCAL
        self.scratch.append(Buffer(found.name, found.type, space, n.i64(rows * found.stride)))
        return found

    def store(self, buffer: Memory | str, at: Node, value: Node, where: Node | None = None) -> None:
        self.emit(Store(buffer if isinstance(buffer, str) else buffer.name, at, value, where))

    def const(self, x: float) -> Node:
        return n.const(x, self.form.computed)

    # --- tiles ---

    def fill(self, to: Memory, rows: int, columns: int, value: float) -> None:
        with self.loop(rows * columns, lanes=True) as e:
            r, c = divided(e, columns)
            self.store(to, to.at(r, c), self.const(value))

    def copy(
        self, to: Memory, name: str, place: Sequence[Node], first: Node, end: Node, columns: int,
        change: Callable[[Node], Node] = lambda x: x,
    ) -> None:  # fmt: skip
        """Rows of an operand from ``first`` on, one for each token of a tile; 0 from ``end`` on. ``place``: batch entry
        and head."""
        padded = -(-columns // PATCH) * PATCH
        with self.loop(self.form.tile * padded, lanes=True) as e:
            r, c = divided(e, padded)
            row = n.add(first, r)
            inside = n.lt(row, end)
            if padded != columns:
                inside = n.call("and", inside, n.lt(c, columns))
            x = self.arguments.load(name, place[0], row, place[1], c, where=inside)
            self.store(to, to.at(r, c), change(n.cast(x, self.form.computed)))

    def multiply(
        self, rows: int, columns: int, products: Sequence[Product], begin: Callable[..., Node],
        end: Callable[..., None],
    ) -> None:  # fmt: skip
        """Matmuls side by side, whose results have one size. A thread takes patches. ``begin(k, row, column)`` is what
        a sum starts with, ``end`` gets it."""
        patch = self.form.patch
        r_step, c_step = rows // patch, columns // patch
        with self.loop(r_step * c_step, lanes=True) as e:
            r, c = divided(e, c_step)
            at_rows = [n.add(r, r_step * k) for k in range(patch)]
            at_columns = [n.add(c, c_step * k) for k in range(patch)]
            for k, (length, left, right) in enumerate(products):
                first = [begin(k, i, j) for i in at_rows for j in at_columns]

                def step(d: Node, *sums: Node, left: Any = left, right: Any = right) -> list[Node]:
                    a, b = [left(i, d) for i in at_rows], [right(d, j) for j in at_columns]
                    pairs = [(x, y) for x in a for y in b]
                    return [n.fma(x, y, s) for (x, y), s in zip(pairs, sums, strict=True)]

                sums = iter(self.fold(length, first, step))
                for i in at_rows:
                    for j in at_columns:
                        end(k, i, j, next(sums))

    def accumulate(self, to: Memory, columns: int, product: Product, factor: Memory | None = None) -> None:
        """Add a matmul to a tile, whose rows are multiplied by ``factor`` before."""

        def begin(_: int, i: Node, c: Node) -> Node:
            return to(i, c) if factor is None else n.mul(to(i, c), factor(i))

        def end(_: int, i: Node, c: Node, x: Node) -> None:
            self.store(to, to.at(i, c), x)

        self.multiply(self.form.tile, columns, [product], begin, end)

    def write(
        self, name: str, sums: Memory, columns: int, place: Place, first: Node, tokens: str, heads: str,
        by: Memory | Node,
    ) -> None:  # fmt: skip
        """The rows of a tile into a dense result, times a number, or one for each row."""
        a, padded = self.arguments, sums.stride
        with self.loop(self.form.tile * padded, lanes=True) as e:
            i, c = divided(e, padded)
            token = n.add(first, i)
            inside = n.call("and", n.lt(token, a.size(tokens)), n.lt(c, columns))
            at = n.add(n.mul(n.add(n.mul(place.batch, a.size(tokens)), token), a.size(heads)), place.head)
            value = n.mul(sums(i, c), by(i) if isinstance(by, Memory) else by)
            self.store(name, n.add(n.mul(at, columns), c), n.cast(value, self.form.stored), inside)

    # --- masks ---

    def listed(self, counts: str, tiles: str, unit: Node, outer: Node, n_outer: Node, n_inner: Node) -> tuple:
        """The number of tiles of a row block, and of each: its number and whether to look at its scores."""
        type_ = self.form.temporaries[counts]
        base = n.add(n.mul(unit, n_outer), outer)
        count = n.cast(n.load(counts, type_, base), I64)

        def entry(k: Node) -> tuple[Node, Node]:
            x = self.let(n.cast(n.load(tiles, type_, n.add(n.mul(base, n_inner), k)), I64))
            partial = n.le(0, x)
            return n.select(partial, x, n.sub(-1, x)), partial

        return count, entry

    def intervals(self, mask_batch: Node, mask_head: Node, key: Node, where: Node | None) -> list[tuple[Node, Node]]:
        """The two intervals of queries that do not see a key."""
        a = self.arguments

        def column(k: Node) -> Node:
            return n.cast(a.load("mask", mask_batch, mask_head, key, k, where=where), I64)

        def bound(name: str, other: Node) -> Node:
            k = a.size(name)
            return n.select(n.le(0, k), column(n.maximum(k, 0)), other)

        first = column(n.i64(0)), bound("end", a.size("queries"))
        return [first, (bound("second_begin", n.i64(0)), bound("second_end", n.i64(0)))]

    def capped(self, score: Node) -> Node:
        """A score in units of log 2 with the cap."""
        most = self.form.softcap * LOG2_E
        return n.mul(n.call("tanh", n.mul(score, self.const(1 / most))), self.const(most)) if most else score

    def capped_slope(self, score: Node) -> Node:
        """The derivative of a capped score by what it was."""
        part = n.mul(score, self.const(1 / (self.form.softcap * LOG2_E)))
        return n.sub(self.const(1.0), n.mul(part, part))

    def masked(self, score: Node, place: Place, query: Node, key: Node) -> Node:
        """A score of a tile that is looked at: -inf where the query does not see the key."""
        hidden = self.hidden(place, query, key)
        return n.select(hidden, lowest(self.form.computed), self.with_added(score, place, query, key))

    def with_added(self, score: Node, place: Place, query: Node, key: Node) -> Node:
        """A score and what an added mask has for it."""
        f, a = self.form, self.arguments
        if f.mask != ADDED:
            return score
        inside = n.call("and", n.lt(query, a.size("queries")), n.lt(key, a.size("keys")))
        added = n.cast(a.load("mask", place.batch, place.head, query, key, where=inside), f.computed)
        return n.add(score, n.mul(added, self.const(LOG2_E)))

    def hidden(self, place: Place, query: Node, key: Node) -> Node:
        """Return whether the query does not see the key."""
        f, a = self.form, self.arguments
        inside = n.call("and", n.lt(query, a.size("queries")), n.lt(key, a.size("keys")))
        hidden = n.lt(n.add(query, a.size("shift")), key)
        if f.mask == COLUMNS:
            batch = n.mul(place.batch, a.size("mask_step"))
            for begin, end in self.intervals(batch, a.mask_head(place.head), key, inside):
                hidden = n.call("or", hidden, n.call("and", n.le(begin, query), n.lt(query, end)))
        elif f.mask == BOOLEAN:
            seen = a.load("mask", place.batch, place.head, query, key, where=inside)
            hidden = n.call("or", hidden, n.call("not", seen))
        return hidden

    def kept(self, place: Place, query: Node, key: Node) -> Node:
        """Return whether dropout keeps a weight."""
        a = self.arguments
        rounded = n.mul(n.div(n.add(a.size("keys"), WORDS - 1), WORDS), WORDS)
        row = n.add(n.mul(n.add(n.mul(place.batch, a.size("heads")), place.head), a.size("queries")), query)
        begin = n.mul(n.div(n.word(3, I64), WORDS), WORDS)
        word = n.call("philox", n.add(n.add(begin, n.mul(row, rounded)), key), n.word(2, I64))
        high = n.cast(n.call("shr", word, n.const(8, word.type)), F32)
        return n.le(n.cast(n.word(1), F32), n.mul(high, n.const(2.0**-24, F32)))

    @property
    def kept_scale(self) -> Node:
        """By what weights that are kept are multiplied; 0 where none is."""
        rest = n.sub(self.const(1.0), self.arguments.number(1))
        return n.select(n.lt(self.const(0.0), rest), n.div(self.const(1.0), rest), self.const(0.0))
