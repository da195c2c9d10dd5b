"""Tiles: a TILE axis around a LANE axis, where what is read runs along the one and what is written along the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from umiak.compiler.loop.node import Node, is_const, linear
from umiak.compiler.loop.tree import LANE, Loop, Store, expressions
from umiak.compiler.render.expressions import Lanes, Value
from umiak.compiler.render.plan import Plan, Survey
from umiak.compiler.render.reduce import Reductions
from umiak.compiler.render.text import spell

# Tiles of a block lie within this many indices along both axes: its lines stay in the nearest cache.
_BLOCK = 64


def _reversed(k: int, bits: int) -> int:
    return int(format(k, f"0{bits}b")[::-1], 2) if bits else 0


class Tiles(Reductions):
    """Writes a TILE axis around a LANE axis in square tiles, transposed in registers."""

    def transposable(self, tile: Node, lane: Node, body: Sequence[Store]) -> list[Node]:
        """Loads of elements side by side along the TILE axis and apart along the LANE axis."""
        loads: dict[Node, None] = {}
        stack = [x for s in body for x in expressions(s)]
        seen: set[Node] = set()
        while stack:
            x = stack.pop()
            if x in seen:
                continue
            seen.add(x)
            stack += x.args
            if x.op != "load" or len(x.args) != 1 or x.attr in self.written:
                continue
            along = self.form(x.args[0], tile)
            if along is None or not is_const(along[0], 1):
                continue
            across = self.form(along[1], lane)
            if across is not None and across[0].op != "const":
                loads[x] = None
        return list(loads)

    def tile(self, outer: Loop, inner: Loop, lo: str, hi: str) -> bool:
        """Writes both loops, unless nothing is gained by tiles."""
        i, j = outer.axis.index, inner.axis.index
        if any(i in x.axes for x in (inner.axis.lo, inner.axis.hi)) or not all(
            isinstance(s, Store) for s in inner.body
        ):
            return False
        body = [s for s in inner.body if isinstance(s, Store)]
        loads = self.transposable(i, j, body)
        if not loads or outer.axis.step != 1 or inner.axis.step != 1 or inner.axis.kind != LANE:
            return False
        survey = Survey(j, self.buffers).statements(body)
        width = survey.width(self.target)
        height = min(width, 16)
        jlo, jhi = self.scalar(inner.axis.lo), self.scalar(inner.axis.hi)
        self.at = self.here()
        first, end = (self.emit(f"sub i64 {b}, {a}") for a, b in ((lo, hi), (jlo, jhi)))
        first = self.emit(f"add i64 {lo}, {self.emit(f'and i64 {first}, {-height}')}")
        end = self.emit(f"add i64 {jlo}, {self.emit(f'and i64 {end}, {-width}')}")
        start = lo
        if any(s.streaming for s in body):
            fits = self.tiles_aligned(body, i, j, lo, jlo, width)
            if fits is not None:
                upper = self.emit(f"select i1 {fits}, i64 {first}, i64 {lo}")
                self.streams = True
                self.blocks(outer, inner, body, loads, (lo, upper, jlo, end), (height, width))
                self.streams = False
                start = upper
        self.blocks(outer, inner, body, loads, (start, first, jlo, end), (height, width))

        # What tiles leave over: of each row what is beside them, of rows below them all.
        plan = Plan(width, (1,), survey.masked(self.target))

        def row(_: list[str]) -> list[str]:
            inside = self.emit(f"icmp slt i64 {self.memo[i].scalar}, {first}")
            left = self.emit(f"select i1 {inside}, i64 {end}, i64 {jlo}")
            return self.over_lanes(j, left, jhi, plan, (), 0, lambda _: self.body(body))

        above = self.emit(f"icmp slt i64 {end}, {jhi}")
        self.counted(i, self.emit(f"select i1 {above}, i64 {lo}, i64 {first}"), hi, 1, (), row)
        return True

    def tiles_aligned(self, body: Sequence[Store], i: Node, j: Node, lo: str, jlo: str, width: int) -> str | None:
        """i1: whether each row of a tile that bypasses the caches is aligned."""
        total = ""
        for s in body:
            if not s.streaming:
                continue
            along = self.form(s.index, j)
            across = None if along is None else self.form(along[1], i)
            if along is None or across is None or not is_const(along[0], 1):
                return None
            b = self.buffers[s.buffer]
            c, pointer = self.value(across[0]), self.address(b, across[1])
            if max(c.depth, pointer.depth) > self.here():
                return None
            self.at = self.here()
            offset = self.emit(f"add i64 {self.emit(f'mul i64 {lo}, {c.scalar}')}, {jlo}")
            first = self.emit(f"getelementptr {spell(b.type, 0, True)}, ptr {pointer.scalar}, i64 {offset}")
            start = self.emit(f"ptrtoint ptr {first} to i64")
            bits = self.emit(f"or i64 {start}, {self.emit(f'mul i64 {c.scalar}, {b.type.bytes}')}")
            bits = self.emit(f"and i64 {bits}, {self.alignment(b.type, width) - 1}")
            total = self.emit(f"or i64 {total}, {bits}") if total else bits
        return self.emit(f"icmp eq i64 {total}, 0") if total else None

    def blocks(
        self, outer: Loop, inner: Loop, body: Sequence[Store], loads: Sequence[Node],
        bounds: tuple[str, str, str, str], shape: tuple[int, int],
    ) -> None:  # fmt: skip
        """Whole tiles, in blocks."""
        lo, hi, jlo, jhi = bounds
        height, width = shape
        j = inner.axis.index

        def least(x: str, step: int, most: str) -> str:
            return self.call("i64", "llvm.smin.i64", [("i64", self.emit(f"add i64 {x}, {step}")), ("i64", most)])

        def tiles(at: str, end: str, jat: str, jend: str) -> list[str]:
            def one(here: str, _: list[str]) -> list[str]:
                self.lanes = Lanes(j, self.here(), width, 1, here, jat)
                self.bound[j] = self.here()
                self.varying.add(j)
                self.one_tile(outer.axis.index, body, loads, height)
                self.varying.discard(j)
                self.lanes = None
                self.at = self.here()
                return []

            def row(_: list[str]) -> list[str]:
                return self.loop(jat, jend, width, (), one)

            return self.counted(outer.axis.index, at, end, height, (), row)

        deep, long = max(_BLOCK, height), max(_BLOCK, width)

        def block(jat: str, _: list[str]) -> list[str]:
            jend = least(jat, long, jhi)
            return self.loop(lo, hi, deep, (), lambda at, _: tiles(at, least(at, deep, hi), jat, jend))

        # Blocks follow each other along TILE: memory is read in order, which counts for more than how it is written.
        self.loop(jlo, jhi, long, (), block)

    def one_tile(self, i: Node, body: Sequence[Store], loads: Sequence[Node], height: int) -> None:
        lanes = self.lanes
        assert lanes is not None
        columns = [self.transposed(x, i, lanes, height) for x in loads]
        depth, start = self.here(), self.memo[i].scalar
        outer = self.memo[i], self.bound[i], self.inductions.pop(i)
        self.previous[i] = {}

        def step(k: int) -> None:
            self.at = self.here()
            at = self.emit(f"add i64 {start}, {k}") if k else start
            self.bind(i, Value(self.here(), at))
            for x, vectors in zip(loads, columns):
                self.remember(x, Value(self.here(), "", [vectors[k]]), self.here())
            self.body(body)

        for k in range(height):
            self.straight_line(partial(step, k))
        del self.previous[i]
        assert depth == self.here()
        self.memo[i], self.bound[i], self.inductions[i] = outer

    def transposed(self, x: Node, i: Node, lanes: Lanes, height: int) -> list[str]:
        """The tile of a load as one vector per index of ``i``, along the lanes."""
        b, t, w = self.buffers[x.attr], x.type, lanes.width
        along = linear(x.args[0], i)
        across = None if along is None else linear(along[1], lanes.axis)
        assert across is not None and lanes.first is not None
        c, start, one = self.value(across[0]), self.address(b, across[1]), spell(t, 0, True)
        self.at = depth = self.here()
        offset = self.emit(f"add i64 {self.stepped(c.scalar, depth, lanes.first, w)}, {self.memo[i].scalar}")
        self.at = depth
        pointer = self.emit(f"getelementptr {one}, ptr {start.scalar}, i64 {offset}")
        self.at = c.depth
        apart = [self.emit(f"mul i64 {c.scalar}, {k}") for k in (1, 2, 3, 4)]
        self.at = depth
        rows = []
        for r in range(w):
            if r and r % 4 == 0:
                pointer = self.emit(f"getelementptr {one}, ptr {pointer}, i64 {apart[3]}")
            at = pointer if r % 4 == 0 else self.emit(f"getelementptr {one}, ptr {pointer}, i64 {apart[r % 4 - 1]}")
            rows.append(self.emit(f"load {spell(t, height, True)}, ptr {at}, align {t.bytes}"))
        squares = [self.square(rows[k : k + height], one, height, t.bits) for k in range(0, w, height)]
        result = []
        for parts in zip(*squares):
            joined, n = list(parts), height
            while len(joined) > 1:
                joined = [self.shuffle(p, q, one, n, range(2 * n)) for p, q in zip(joined[::2], joined[1::2])]
                n *= 2
            got = joined[0]
            result.append(self.emit(f"icmp ne {spell(t, w, True)} {got}, zeroinitializer") if t.kind == "b" else got)
        return result

    def square(self, v: list[str], one: str, n: int, bits: int) -> list[str]:
        """A square transposed: within parts of 128 bits by interleaving, then the parts among each other."""
        inside = min(max(128 // max(bits, 8), 1), n)
        d = 1
        while d < inside:
            new = list(v)
            for q in range(n):
                if q & d == 0:
                    for at, half in ((q, 0), (q + d, inside // 2)):
                        picks = []
                        for part in range(0, n, inside):
                            for unit in range(0, inside // 2, d):
                                base = part + half + unit
                                picks += [base + e for e in range(d)] + [n + base + e for e in range(d)]
                        new[at] = self.shuffle(v[q], v[q + d], one, n, picks)
            v, d = new, 2 * d
        while d < n:
            # Even parts of both rows, then odd parts.
            new = list(v)
            for q in range(n):
                if q & d == 0:
                    for at, odd in ((q, 0), (q + d, 1)):
                        parts = [p * inside + e for p in range(odd, n // inside, 2) for e in range(inside)]
                        new[at] = self.shuffle(v[q], v[q + d], one, n, parts + [n + p for p in parts])
            v, d = new, 2 * d
        # Row q now holds the column whose number has the lowest bits of q in reverse.
        k = inside.bit_length() - 1
        return [v[c - c % inside + _reversed(c % inside, k)] for c in range(n)]
