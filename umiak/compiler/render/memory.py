"""Loads and stores: what lies side by side becomes a vector, the rest is gathered and scattered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from umiak.compiler.loop.node import Node, add, call, is_const, make, sub
from umiak.compiler.loop.tree import GLOBAL, IN, OUT, Atomic, Buffer, Store
from umiak.compiler.loop.types import BOOL, I64, ScalarType
from umiak.compiler.render.expressions import Value, numbers
from umiak.compiler.render.random import RandomBits, terms
from umiak.compiler.render.text import spell, suffix


def shift(index: Node) -> int:
    """The constant that an index adds."""
    return sum(-x.attr if minus else x.attr for x, minus in terms(index) if x.op == "const")


class Memory(RandomBits):
    """``streams``: whether stores that may bypass the caches do just now; ``streamed``: whether any does."""

    streams = False
    streamed = False
    dummy = ""

    def alignment(self, t: ScalarType, width: int) -> int:
        """Bytes to which a vector must be aligned for a store that bypasses the caches."""
        return min(width * t.bytes, self.target.vector_bits // 8)

    # Pointers
    def pointer(self, b: Buffer) -> Value:
        """The first element of a buffer."""
        key = ("pointer", b.name)
        if key in self.memo:
            return self.memo[key]
        at, self.at = self.at, 0
        if b.space in (IN, OUT):
            k = [c.name for c in self.kernel.buffers if c.space in (IN, OUT)].index(b.name)
            text = self.emit(f"load ptr, ptr {self.emit(f'getelementptr ptr, ptr %ptrs, i64 {k}')}, align 8")
        else:
            field = int(b.space == GLOBAL)
            area = self.emit(f"load ptr, ptr {self.emit(f'getelementptr ptr, ptr %ctx, i64 {field}')}, align 8")
            offset, _ = self.layout(b.space == GLOBAL, b.name)
            text = self.emit(f"getelementptr i8, ptr {area}, i64 {offset}")
        self.at = at
        return self.remember(key, Value(0, text), 0)

    def layout(self, shared: bool, until: str = "") -> tuple[str, int]:
        """Bytes of scratch buffers before ``until`` (of all by default), each aligned to 64; how many they are."""
        total, count = "0", 0
        for b in self.kernel.buffers:
            if b.space in (IN, OUT) or (b.space == GLOBAL) != shared:
                continue
            if b.name == until:
                break
            assert b.size is not None
            v = self.value(b.size)
            if v.depth:
                raise ValueError(
                    f"kernel {self.kernel.name!r} requires sizes of dims alone, got another for {b.name!r}"
                )
            size = self.emit(f"mul i64 {v.scalar}, {b.type.bytes}")
            size = self.emit(f"and i64 {self.emit(f'add i64 {size}, 63')}, -64")
            total, count = self.emit(f"add i64 {total}, {size}"), count + 1
        return total, count

    def address(self, b: Buffer, index: Node) -> Value:
        """Return the address of an element whose index is the same in all lanes: each term is added where it is
        defined."""
        key = ("address", b.name, index)
        known = self.memo.get(key)
        if known is not None:
            return known
        pointer, fixed = self.pointer(b), 0
        parts = []
        for x, minus in terms(index):
            if x.op == "const":
                fixed += -x.attr if minus else x.attr
            else:
                v = self.value(x)
                parts.append((v.depth, minus, v.scalar))
        parts.sort(key=lambda p: p[:2])
        text, depth, at = pointer.scalar, 0, self.at
        one = spell(b.type, 0, True)
        k = 0
        while k < len(parts):
            depth = self.at = parts[k][0]
            total = ""
            while k < len(parts) and parts[k][0] == depth:
                _, minus, term = parts[k]
                if minus:
                    total = self.emit(f"sub i64 {total or '0'}, {term}")
                else:
                    total = self.emit(f"add i64 {total}, {term}") if total else term
                k += 1
            text = self.emit(f"getelementptr {one}, ptr {text}, i64 {total}")
        if fixed:
            self.at = depth
            text = self.emit(f"getelementptr {one}, ptr {text}, i64 {fixed}")
        self.at = at
        v = Value(depth, text)
        if not any(x in self.volatile for x, _ in terms(index)):
            self.remember(key, v, depth)
        return v

    def spare(self) -> str:
        """Memory that may be read and written in place of what does not exist."""
        if not self.dummy:
            self.scopes[0].lines.insert(0, "  %dummy = alloca [64 x i8], align 64")
            self.dummy = "%dummy"
        return self.dummy

    def run(self, b: Buffer, rest: Node, back: bool = False) -> tuple[int, list[str]]:
        """Depth and pointers of vectors whose elements lie side by side: per copy, the lowest address."""
        lanes = self.lanes
        assert lanes is not None
        key = ("run", b.name, rest, back)
        known = self.memo.get(key)
        if known is not None:
            return known
        start, w, one = self.address(b, rest), lanes.width, spell(b.type, 0, True)
        at, self.at = self.at, max(start.depth, lanes.depth)
        depth = self.at
        far = self.emit(f"sub i64 {1 - w}, {lanes.base}") if back else lanes.base
        first = self.emit(f"getelementptr {one}, ptr {start.scalar}, i64 {far}")
        pointers = [first]
        for u in range(1, lanes.copies):
            pointers.append(self.emit(f"getelementptr {one}, ptr {first}, i64 {-u * w if back else u * w}"))
        self.at = at
        return self.remember(key, (depth, pointers), depth)

    def paired(self, b: Buffer, rest: Node, odd: int) -> tuple[int, list[str]]:
        """Depth and pointers of vectors twice as wide, of which every other element is meant: per copy, their begin.
        ``odd``: which one it is."""
        lanes = self.lanes
        assert lanes is not None
        rest = sub(rest, odd)
        key = ("paired", b.name, rest)
        known = self.memo.get(key)
        if known is not None:
            return known
        start, w, one = self.address(b, rest), lanes.width, spell(b.type, 0, True)
        at, self.at = self.at, max(start.depth, lanes.depth)
        depth = self.at
        first = self.emit(f"getelementptr {one}, ptr {start.scalar}, i64 {self.emit(f'shl i64 {lanes.base}, 1')}")
        pointers = [first]
        for u in range(1, lanes.copies):
            pointers.append(self.emit(f"getelementptr {one}, ptr {first}, i64 {2 * u * w}"))
        self.at = at
        return self.remember(key, (depth, pointers), depth)

    def pairs(self, t: ScalarType) -> bool:
        """Return whether every other element is better picked from vectors than gathered."""
        return self.gathers(t)

    def load_every_other(self, pointer: str, mask: str | None, instead: str, t: ScalarType, w: int, odd: int) -> str:
        """Elements 0, 2, 4, … (1, 3, 5, …) from ``pointer``; nothing before the first or after the last is read."""
        full = spell(t, w, True)
        halves = []
        for half in (0, 1):
            at = self.emit(f"getelementptr {spell(t, 0, True)}, ptr {pointer}, i64 {w}") if half else pointer
            if mask is not None:
                parts = [half * w // 2 + k // 2 if k % 2 == odd else w for k in range(w)]
                lanes = self.shuffle(mask, "zeroinitializer", "i1", w, parts)
            elif odd or not half:
                halves.append(self.emit(f"load {full}, ptr {at}, align {t.bytes}"))
                continue
            else:
                lanes = f"<{', '.join(f'i1 {str(k < w - 1).lower()}' for k in range(w))}>"
            halves.append(self.masked_load(at, lanes, "zeroinitializer", t, w))
        got = self.shuffle(halves[0], halves[1], spell(t, 0, True), w, range(odd, 2 * w, 2))
        if mask is None or instead == "zeroinitializer":
            return got
        return self.emit(f"select <{w} x i1> {mask}, {full} {got}, {full} {instead}")

    def scattered(self, b: Buffer, index: Node) -> tuple[int, list[str]]:
        """Depth and vectors of pointers, per copy."""
        lanes = self.lanes
        assert lanes is not None
        w, one = lanes.width, spell(b.type, 0, True)
        parts = self.form(index, lanes.axis)
        if parts is None:
            v, base, at = self.value(index), self.pointer(b), self.at
            self.at = v.depth
            result = [
                self.emit(f"getelementptr {one}, ptr {base.scalar}, <{w} x i64> {i}") for i in self.vectors(v, I64)
            ]
            self.at = at
            return v.depth, result
        c, start, at = self.value(parts[0]), self.address(b, parts[1]), self.at
        self.at = depth = max(c.depth, start.depth, lanes.depth)
        apart = self.strides(c, w)
        if c.number is None and lanes.first is not None and lanes.depth > c.depth:
            moved = self.stepped(c.scalar, lanes.depth, lanes.first, w * lanes.copies)
        else:
            moved = self.emit(f"mul i64 {c.scalar}, {lanes.base}")
        self.at = depth
        pointer = self.emit(f"getelementptr {one}, ptr {start.scalar}, i64 {moved}")
        result = []
        for u in range(lanes.copies):
            if u:
                self.at = c.depth
                far = self.emit(f"mul i64 {c.scalar}, {u * w}")
                self.at = depth
                moved = self.emit(f"getelementptr {one}, ptr {pointer}, i64 {far}")
            result.append(self.emit(f"getelementptr {one}, ptr {moved if u else pointer}, <{w} x i64> {apart}"))
        self.at = at
        return depth, result

    def strides(self, c: Value, width: int) -> str:
        """0, c, 2c, …"""
        key = ("strides", c.scalar, width)
        if key in self.memo:
            return self.memo[key]
        at, self.at = self.at, c.depth
        text = self.emit(f"mul <{width} x i64> {self.wide(c, I64, width)}, {numbers('i64', range(width))}")
        self.at = at
        return self.remember(key, text, c.depth)

    # Masks
    def masks(self, where: Value | None) -> list[str | None]:
        """Per copy, the lanes that exist, may be read, and fulfil ``where``."""
        lanes = self.lanes
        assert lanes is not None
        exist: list[str | None] = [lanes.mask] * lanes.copies if self.condition is None else [*self.condition]
        if where is None:
            return exist
        more = self.vectors(where, BOOL)
        return [m if o is None else self.emit(f"and <{lanes.width} x i1> {o}, {m}") for o, m in zip(exist, more)]

    # Loads
    def read(self, x: Node) -> Value:
        b, index, t = self.buffers[x.attr], x.args[0], x.type
        where, other = (self.memo[a] for a in x.args[1:]) if len(x.args) > 1 else (None, None)
        if where is not None and ("holds", x.args[1]) in self.memo:
            where = other = None
        if x.attr in self.written or not self.volatile.isdisjoint(x.args):
            self.volatile.add(x)
        moved = self.lanes is not None and self.varies(index)
        if not moved and (where is None or where.vectors is None):
            return self.read_one(x, b, where, other)
        assert self.lanes is not None
        if not moved:
            return self.read_spread(x, b, where, other)
        return self.read_lanes(x, b, index, t, where, other)

    def earliest(self, x: Node, *needed: int) -> int:
        """Depth at which a load may stand."""
        if x in self.volatile or self.condition is not None:
            return self.here()
        return max(self.scopes[-1].floor, *needed)

    def read_one(self, x: Node, b: Buffer, where: Value | None, other: Value | None) -> Value:
        pointer, t = self.address(b, x.args[0]), x.type
        where_depth = max(where.depth, other.depth) if where is not None and other is not None else 0
        self.at = depth = self.earliest(x, pointer.depth, where_depth)
        text, safe = pointer.scalar, None if where is None else where.scalar
        if self.condition is not None and self.lanes is not None:
            some = self.any_of([m for m in self.masks(None) if m is not None], self.lanes.width)
            safe = some if safe is None else self.emit(f"and i1 {safe}, {some}")
        if safe is not None:
            text = self.emit(f"select i1 {safe}, ptr {text}, ptr {self.spare()}")
        got = self.emit(f"load {spell(t, 0, True)}, ptr {text}, align {t.bytes}")
        if t.kind == "b":
            got = self.emit(f"icmp ne i8 {got}, 0")
        if where is not None and other is not None:
            if other.vectors is not None:
                return Value(depth, "", self.chosen(Value(depth, got), where, other, t))
            got = self.choose(where.scalar, got, other.scalar, t, 0)
        return Value(depth, got)

    def chosen(self, yes: Value, where: Value, no: Value, t: ScalarType) -> list[str]:
        assert self.lanes is not None
        columns = zip(self.vectors(where, BOOL), self.vectors(yes, t), self.vectors(no, t))
        return [self.choose(*c, t, self.lanes.width) for c in columns]

    def read_spread(self, x: Node, b: Buffer, where: Value | None, other: Value | None) -> Value:
        """One element for all lanes in which a condition holds; it is not read where there are none."""
        assert self.lanes is not None and where is not None and other is not None
        pointer, t = self.address(b, x.args[0]), x.type
        self.at = depth = self.earliest(x, pointer.depth, where.depth, other.depth, self.lanes.depth)
        some = self.any_of([m for m in self.masks(where) if m is not None], self.lanes.width)
        text = self.emit(f"select i1 {some}, ptr {pointer.scalar}, ptr {self.spare()}")
        got = self.emit(f"load {spell(t, 0, True)}, ptr {text}, align {t.bytes}")
        if t.kind == "b":
            got = self.emit(f"icmp ne i8 {got}, 0")
        return Value(depth, "", self.chosen(Value(depth, got), where, other, t))

    def read_lanes(
        self, x: Node, b: Buffer, index: Node, t: ScalarType, where: Value | None, other: Value | None
    ) -> Value:
        lanes = self.lanes
        assert lanes is not None
        w, full = lanes.width, spell(t, lanes.width, True)
        parts = self.form(index, lanes.axis)
        c = parts[0].attr if parts is not None and parts[0].op == "const" else 0
        needed = [v.depth for v in (where, other) if v is not None]
        odd = 0
        if c in (1, -1):
            assert parts is not None
            pointer_depth, pointers = self.run(b, parts[1], c == -1)
        elif c == 2 and self.pairs(t):
            assert parts is not None
            odd = int(shift(parts[1]) == 1)  # the imaginary part of a pair
            pointer_depth, pointers = self.paired(b, parts[1], odd)
        else:
            c = 0
            pointer_depth, pointers = self.scattered(b, index)
        self.at = depth = self.earliest(x, pointer_depth, lanes.depth, *needed)
        masks = self.masks(where)
        # A bool's byte is not its value: what is not read is chosen after the load.
        fill = ["zeroinitializer"] * lanes.copies if other is None or t.kind == "b" else self.vectors(other, t)
        result = []
        for pointer, mask, instead in zip(pointers, masks, fill):
            if c in (1, -1):
                back = range(w - 1, -1, -1)
                if mask is None:
                    got = self.emit(f"load {full}, ptr {pointer}, align {t.bytes}")
                else:
                    if c == -1:
                        mask = self.shuffle(mask, "poison", "i1", w, back)
                        if instead != "zeroinitializer":
                            instead = self.shuffle(instead, "poison", spell(t), w, back)
                    got = self.masked_load(pointer, mask, instead, t, w)
                if c == -1:
                    got = self.shuffle(got, "poison", spell(t, 0, True), w, back)
            elif c == 2:
                got = self.load_every_other(pointer, mask, instead, t, w, odd)
            else:
                got = self.gather(pointer, mask, instead, t, w)
            result.append(self.emit(f"icmp ne {full} {got}, zeroinitializer") if t.kind == "b" else got)
        if t.kind == "b" and where is not None and other is not None and not (other.number and not other.number.attr):
            result = self.chosen(Value(depth, "", result), where, other, t)
        return Value(depth, "", result)

    def masked_load(self, pointer: str, mask: str, instead: str, t: ScalarType, w: int) -> str:
        full = spell(t, w, True)
        name = f"llvm.masked.load.{suffix(t, w, True)}.p0"
        return self.call(full, name, [(f"ptr align {t.bytes}", pointer), (f"<{w} x i1>", mask), (full, instead)])

    def gather(self, pointers: str, mask: str | None, instead: str, t: ScalarType, w: int) -> str:
        full = spell(t, w, True)
        name = f"llvm.masked.gather.{suffix(t, w, True)}.v{w}p0"
        if mask is None and self.target.slow_gathers and self.gathers(t):
            return self.collect(pointers, t, w)
        if mask is None:
            mask = "splat (i1 true)"
        elif not self.gathers(t):
            # Lane by lane, without branches.
            spare = self.splat(self.spare(), "ptr", w)
            pointers = self.emit(f"select <{w} x i1> {mask}, <{w} x ptr> {pointers}, <{w} x ptr> {spare}")
            got = self.gather(pointers, None, "zeroinitializer", t, w)
            return self.emit(f"select <{w} x i1> {mask}, {full} {got}, {full} {instead}")
        operands = [(f"<{w} x ptr> align {t.bytes}", pointers), (f"<{w} x i1>", mask), (full, instead)]
        return self.call(full, name, operands)

    def collect(self, pointers: str, t: ScalarType, w: int) -> str:
        """Lane by lane."""
        full, one = spell(t, w, True), spell(t, 0, True)
        got = "poison"
        for k in range(w):
            at = self.emit(f"extractelement <{w} x ptr> {pointers}, i64 {k}")
            x = self.emit(f"load {one}, ptr {at}, align {t.bytes}")
            got = self.emit(f"insertelement {full} {got}, {one} {x}, i64 {k}")
        return got

    def gathers(self, t: ScalarType) -> bool:
        return self.target.x86 and t.bits in (32, 64) and bool(self.target.maskable)

    # Stores
    def under(self, where: Node | None, body: Callable[[], None]) -> None:
        """Writes ``body`` such that its loads and stores happen only where ``where`` holds."""
        if where is None or is_const(where, True):
            body()
            return

        def then() -> list[str]:
            body()
            return []

        v = self.value(where)
        if v.vectors is None:
            self.guarded(v.scalar, then)
            return
        before = self.condition
        self.condition = [m for m in self.masks(v) if m is not None]
        self.straight_line(body)
        self.condition = before

    def straight_line(self, body: Callable[[], None]) -> None:
        """A scope of its own without a branch: what is remembered in it is not used after it."""
        scope = self.open()
        scope.label = self.scopes[-2].label
        body()
        self.close()
        self.scopes[-1].lines += scope.lines
        self.scopes[-1].label = scope.label

    def store(self, s: Store) -> None:
        self.under(s.where, lambda: self.put(s.buffer, s.index, self.value(s.value), s.streaming and self.streams))
        self.forget()

    def put(self, buffer: str, index: Node, v: Value, streams: bool = False) -> None:
        """Stores a value at an index, in all lanes."""
        b, lanes = self.buffers[buffer], self.lanes
        t = b.type
        if lanes is None or (v.vectors is None and self.condition is None and not self.varies(index)):
            pointer = self.address(b, index)
            self.at = self.here()
            text = v.scalar if t.kind != "b" else self.emit(f"zext i1 {v.scalar} to i8")
            self.emit_void(f"store {spell(t, 0, True)} {text}, ptr {pointer.scalar}, align {t.bytes}")
            return
        w, full = lanes.width, spell(t, lanes.width, True)
        values = self.vectors(v, t)
        parts = self.form(index, lanes.axis)
        c = parts[0].attr if parts is not None and parts[0].op == "const" else 0
        if c == 1:
            assert parts is not None
            _, pointers = self.run(b, parts[1])
        else:
            _, pointers = self.scattered(b, index)
        self.at = self.here()
        if t.kind == "b":
            values = [self.emit(f"zext <{w} x i1> {x} to {full}") for x in values]
        for x, at, mask in zip(values, pointers, self.masks(None)):
            if c != 1:
                kinds = [(full, x), (f"<{w} x ptr> align {t.bytes}", at), (f"<{w} x i1>", mask or "splat (i1 true)")]
                self.call("void", f"llvm.masked.scatter.{suffix(t, w, True)}.v{w}p0", kinds)
            elif mask is not None:
                self.store_lanes(t, x, at, mask)
            elif streams:
                self.streamed = True
                self.emit_void(f"store {full} {x}, ptr {at}, align {self.alignment(t, w)}, !nontemporal !0")
            else:
                self.emit_void(f"store {full} {x}, ptr {at}, align {t.bytes}")

    def store_lanes(self, t: ScalarType, x: str, at: str, mask: str) -> None:
        """Stores the lanes of a vector that a mask has. Where a masked store takes long, all of them are stored as a
        vector, and the first ones, which are what the end of a loop has, in pieces of 4, 2 and 1."""
        assert self.lanes is not None
        w, full = self.lanes.width, spell(t, self.lanes.width, True)

        def some() -> list[str]:
            kinds = [(full, x), (f"ptr align {t.bytes}", at), (f"<{w} x i1>", mask)]
            self.call("void", f"llvm.masked.store.{suffix(t, w, True)}.p0", kinds)
            return []

        if not self.target.slow_masked_stores:
            some()
            return
        bits = self.emit(f"bitcast <{w} x i1> {mask} to i{w}")
        every = self.emit(f"icmp eq i{w} {bits}, -1")
        self.guarded(every, lambda: self.store_first(t, x, w, at))
        part = self.emit(f"xor i1 {every}, true")
        self.guarded(part, some if self.condition is not None else lambda: self.store_pieces(t, x, at, bits))

    def store_first(self, t: ScalarType, x: str, lanes: int, at: str) -> list[str]:
        """Stores a vector's first lanes."""
        w = self.lanes.width if self.lanes is not None else lanes
        if lanes == 1:
            x = self.emit(f"extractelement {spell(t, w, True)} {x}, i64 0")
        elif lanes < w:
            x = self.shuffle(x, "poison", spell(t, 0, True), w, list(range(lanes)))
        self.emit_void(f"store {spell(t, 0 if lanes == 1 else lanes, True)} {x}, ptr {at}, align {t.bytes}")
        return []

    def store_pieces(self, t: ScalarType, x: str, at: str, bits: str) -> list[str]:
        """Stores the first lanes of a vector, as many as there are ``bits`` set, some but not all."""
        assert self.lanes is not None
        w, full, element = self.lanes.width, spell(t, self.lanes.width, True), spell(t, 0, True)
        lanes = w // 2
        while lanes:
            has = self.emit(f"icmp ne i{w} {self.emit(f'and i{w} {bits}, {1 << (lanes - 1)}')}, 0")
            self.guarded(has, partial(self.store_first, t, x, lanes, at))
            if lanes > 1:
                behind = self.shuffle(x, "poison", element, w, [*range(lanes, w), *range(lanes)])
                x = self.emit(f"select i1 {has}, {full} {behind}, {full} {x}")
                at = self.emit(
                    f"select i1 {has}, ptr {self.emit(f'getelementptr {element}, ptr {at}, i64 {lanes}')}, ptr {at}"
                )
                bits = self.emit(f"select i1 {has}, i{w} {self.emit(f'lshr i{w} {bits}, {lanes}')}, i{w} {bits}")
            lanes //= 2
        return []

    def is_pair(self, s: Store, then: Store) -> bool:
        """Return whether two stores write pairs that lie side by side."""
        lanes = self.lanes
        if lanes is None or s.buffer != then.buffer or s.where is not then.where or self.streams:
            return False
        t = self.buffers[s.buffer].type
        parts, others = self.form(s.index, lanes.axis), self.form(then.index, lanes.axis)
        return (
            self.pairs(t)
            and parts is not None
            and others is not None
            and is_const(parts[0], 2)
            and is_const(others[0], 2)
            and add(parts[1], 1) is others[1]
        )

    def store_pair(self, s: Store, then: Store) -> None:
        def put() -> None:
            lanes, t = self.lanes, self.buffers[s.buffer].type
            assert lanes is not None
            w, full = lanes.width, spell(t, lanes.width, True)
            columns = [self.vectors(self.value(x.value), t) for x in (s, then)]
            form = self.form(s.index, lanes.axis)
            assert form is not None
            _, pointers = self.paired(self.buffers[s.buffer], form[1], 0)
            self.at = self.here()
            for first, second, pointer, mask in zip(*columns, pointers, self.masks(None)):
                for half in (0, 1):
                    lanes_of = [half * w // 2 + k // 2 for k in range(w)]
                    mixed = self.shuffle(first, second, spell(t), w, [p + w * (k % 2) for k, p in enumerate(lanes_of)])
                    at = self.emit(f"getelementptr {spell(t, 0, True)}, ptr {pointer}, i64 {w}") if half else pointer
                    if mask is None:
                        self.emit_void(f"store {full} {mixed}, ptr {at}, align {t.bytes}")
                        continue
                    self.store_lanes(t, mixed, at, self.shuffle(mask, "poison", "i1", w, lanes_of))

        self.under(s.where, put)
        self.forget()

    def atomic(self, s: Atomic) -> None:
        """One thread owns what it writes, and lanes do not meet (a loop in which they could is not vectorised)."""

        def update() -> None:
            old = make("load", self.buffers[s.buffer].type, (s.index,), s.buffer)
            self.forget()
            self.put(s.buffer, s.index, self.value(call(s.op, old, s.value)))

        self.under(s.where, update)
        self.forget()
