"""Random words along lanes: whole blocks of four are computed, not one block for each word of it.

Lanes that read words ``c`` apart (1, 2 or 4) need ``c * lanes / 4`` blocks. A vector of blocks gives four vectors of
words, which are put in order and through memory: it takes care of blocks that begin before the first lane.
"""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.loop.functions.philox import MULTIPLIERS, keys, word
from umiak.compiler.loop.node import Node, add, i64, sub
from umiak.compiler.loop.types import U32
from umiak.compiler.render.expressions import Expressions, Value, numbers


def terms(index: Node) -> list[tuple[Node, bool]]:
    """Return the terms of an index, and whether each is subtracted."""
    result: list[tuple[Node, bool]] = []
    stack = [(index, False)]
    while stack:
        x, minus = stack.pop()
        if x.op in ("add", "sub"):
            stack += [(x.args[0], minus), (x.args[1], minus != (x.op == "sub"))]
        else:
            result.append((x, minus))
    return result


class RandomBits(Expressions):
    """Writes ``philox`` nodes: random words, drawn in blocks of four where neighbouring lanes share them."""

    words = ""

    def steps(self, x: Node) -> tuple[int, Node] | None:
        """Return the distance of the words of neighbouring lanes, if blocks serve them, and the position of lane 0."""
        if self.lanes is None:
            return None
        parts = self.form(x.args[0], self.lanes.axis)
        if parts is None or parts[0].op != "const" or parts[0].attr not in (1, 2, 4) or self.varies(x.args[1]):
            return None
        return parts[0].attr, parts[1]

    def draw(self, x: Node) -> Value:
        words = self.steps(x)
        if words is None:
            return self.value(word(*x.args))
        c, rest = words
        # Words of one block are drawn together: a constant says which.
        fixed = sum(-p.attr if minus else p.attr for p, minus in terms(rest) if p.op == "const")
        others = [(p, minus) for p, minus in terms(rest) if p.op != "const"]
        base = i64(fixed - fixed % c)
        for p, minus in others:
            base = sub(base, p) if minus else add(base, p)
        depth, read = self.drawn(c, base, x.args[1])
        lanes = self.lanes
        assert lanes is not None
        at, self.at = self.at, depth
        result = [self.every(read[u * c : u * c + c], lanes.width, fixed % c) for u in range(lanes.copies)]
        self.at = at
        return Value(depth, "", result)

    def drawn(self, c: int, rest: Node, key: Node) -> tuple[int, list[str]]:
        """Depth and vectors of all words from the position ``rest`` of lane 0 on."""
        known = ("words", c, rest, key)
        if known in self.memo:
            return self.memo[known]
        lanes, schedule = self.lanes, keys(key)
        assert lanes is not None
        w, count = lanes.width, lanes.copies * c
        chunks = (count + 3) // 4
        position, rounds = self.value(rest), [tuple(self.value(k) for k in pair) for pair in schedule]
        depth = max(position.depth, lanes.depth, *(k.depth for pair in rounds for k in pair))
        wide = [tuple(self.wide(k, U32, w) for k in pair) for pair in rounds]
        at, self.at = self.at, depth
        first = self.emit(f"add i64 {position.scalar}, {self.emit(f'mul i64 {lanes.base}, {c}')}")
        # Lanes before those that are used may have positions below 0 (the pieces of a concatenation): blocks round
        # down.
        block, apart = self.emit(f"ashr i64 {first}, 2"), self.emit(f"and i64 {first}, 3")
        buffer = self.stack(4 * w * chunks + 4)
        for q in range(chunks):
            start = self.splat(self.emit(f"add i64 {block}, {q * w}"), "i64", w)
            blocks = self.emit(f"add <{w} x i64> {start}, {numbers('i64', range(w))}")
            for k, v in enumerate(self.in_order(self.draw_blocks(blocks, wide, w), w)):
                self.put_word(buffer, v, f"<{w} x i32>", q * 4 * w + k * w)
        if count == 4 * chunks:
            # Where the first block began before, one more is needed at the end.
            after = self.emit(f"add i64 {block}, {w * chunks}")
            last = self.draw_blocks(after, [[k.scalar for k in p] for p in rounds], 0)
            for k, v in enumerate(last):
                self.put_word(buffer, v, "i32", 4 * w * chunks + k)
        source = self.emit(f"getelementptr i32, ptr {buffer}, i64 {apart}")
        read = []
        for u in range(count):
            near = self.emit(f"getelementptr i32, ptr {source}, i64 {u * w}")
            read.append(self.emit(f"load <{w} x i32>, ptr {near}, align 4"))
        self.at = at
        return self.remember(known, (depth, read), depth)

    def stack(self, words: int) -> str:
        """Memory for the words of one value at a time."""
        self.scopes[0].lines.insert(0, f"  {(name := self.name())} = alloca [{words} x i32], align 64")
        return name

    def put_word(self, buffer: str, v: str, kind: str, at: int) -> None:
        pointer = self.emit(f"getelementptr i32, ptr {buffer}, i64 {at}")
        self.emit_void(f"store {kind} {v}, ptr {pointer}, align 4")

    def every(self, read: list[str], w: int, which: int) -> str:
        """Word ``which`` of each ``len(read)`` words of vectors that follow each other."""
        while len(read) > 1:
            pairs = zip(read[::2], read[1::2], strict=True)
            read = [self.shuffle(a, b, "i32", w, range(which % 2, 2 * w, 2)) for a, b in pairs]
            which //= 2
        return read[0]

    def in_order(self, c: Sequence[str], w: int) -> list[str]:
        """Words 0, 1, 2, 3 of each block one after the other."""
        half = [k // 2 + (k % 2) * w for k in range(2 * w)]
        lower = [self.shuffle(c[k], c[k + 2], "i32", w, half[:w]) for k in (0, 1)]
        upper = [self.shuffle(c[k], c[k + 2], "i32", w, half[w:]) for k in (0, 1)]
        return [self.shuffle(a, b, "i32", w, p) for a, b in (lower, upper) for p in (half[:w], half[w:])]

    def draw_blocks(self, number: str, rounds: Sequence[Sequence[str]], w: int) -> list[str]:
        """The four words of blocks (of one: ``w`` 0)."""
        t, long = (f"<{w} x i32>", f"<{w} x i64>") if w else ("i32", "i64")
        thirty_two = "splat (i64 32)" if w else "32"
        low = self.emit(f"trunc {long} {number} to {t}")
        high = self.emit(f"trunc {long} {self.emit(f'lshr {long} {number}, {thirty_two}')} to {t}")
        c = [low, high, "", ""]
        for a, b in rounds:
            h0, l0 = self.wide_product(c[0], MULTIPLIERS[0], w)
            h1, l1 = self.wide_product(c[2], MULTIPLIERS[1], w) if c[2] else ("", "zeroinitializer" if w else "0")
            one = self.emit(f"xor {t} {c[1]}, {a}")
            two = self.emit(f"xor {t} {c[3]}, {b}") if c[3] else b
            c = [self.emit(f"xor {t} {one}, {h1}") if h1 else one, l1, self.emit(f"xor {t} {two}, {h0}"), l0]
        return c

    def wide_product(self, x: str, factor: int, w: int) -> tuple[str, str]:
        """High and low words of products. Vectors: those of even and of odd lanes, as the instruction has it."""
        if not w:
            wide = self.emit(f"mul i64 {self.emit(f'zext i32 {x} to i64')}, {factor}")
            return (
                self.emit(f"trunc i64 {self.emit(f'lshr i64 {wide}, 32')} to i32"),
                self.emit(f"trunc i64 {wide} to i32"),
            )
        long, t = f"<{w // 2} x i64>", f"<{w} x i32>"
        pairs = self.emit(f"bitcast {t} {x} to {long}")
        odd = self.emit(f"lshr {long} {pairs}, splat (i64 32)")
        even = self.emit(f"and {long} {pairs}, splat (i64 4294967295)")
        products = [self.emit(f"mul {long} {v}, splat (i64 {factor})") for v in (even, odd)]
        a, b = (self.emit(f"bitcast {long} {v} to {t}") for v in products)
        low = [k + (w - 1 if k % 2 else 0) for k in range(w)]
        high = [k + (w if k % 2 else 1) for k in range(w)]
        return self.shuffle(a, b, "i32", w, high), self.shuffle(a, b, "i32", w, low)
