"""Vector width and unrolling of LANE loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from umiak.compiler.loop.node import RARE, Node, linear, walk
from umiak.compiler.loop.tree import Atomic, Buffer, Loop, Reduce, Scan, Statement, Store, expressions, walk_statements
from umiak.compiler.render.target import Target

LONG = 60  # so many nodes are worth some care for the time to compile them
PLAIN = 2  # loops of so few operations wait for memory


@dataclass(frozen=True)
class Plan:
    """``width`` lanes to a vector; vectors per step, in falling order, before the end; whether the end is masked."""

    width: int
    copies: tuple[int, ...]
    masked: bool
    streaming: tuple[Store, ...] = ()  # those that bypass the caches where they are aligned


class Survey:
    """Statistics of the expressions of a lane loop."""

    def __init__(self, axis: Node, buffers: dict[str, Buffer]) -> None:
        self.axis = axis
        self.buffers = buffers
        self.moving = {axis}  # what differs from lane to lane
        self.bits: set[int] = set()
        self.memory: set[int] = set()
        self.operations = 0
        self.nested = False
        self.rare = False  # whether much stands behind a branch alone
        self.branches = False
        self.gathers = False
        self.streams = False
        self.draws: set[int] = set()  # how far apart lanes read random words
        self.lane_by_lane = False  # whether lanes must take turns
        self.seen: set[Node] = set()

    def add(self, roots: Iterable[Node | None]) -> Survey:
        stack = [r for r in roots if r is not None]
        while stack:
            x = stack.pop()
            if x in self.seen or self.moving.isdisjoint(x.axes):
                continue
            self.seen.add(x)
            args = x.args
            if x.op == "philox":
                form = linear(args[0], self.axis)
                self.operations += 12
                self.bits.add(32)
                if form is not None and form[0].op == "const" and form[0].attr in (1, 2, 4):
                    self.draws.add(form[0].attr)
                    args = args[1:]
            elif x.op == "load":
                self.note(x.attr)
                form = linear(args[0], self.axis)
                self.gathers |= form is None or form[0].op != "const" or form[0].attr not in (-1, 0, 1, 2)
                if form is not None:
                    args = args[1:]
            elif x.op in ("lt", "le", "eq", "ne") and args[0].type.name == "i64":
                self.operations += 1
                if all(linear(a, self.axis) is not None for a in args):
                    continue
            elif x.attr is RARE:
                self.branches = True
                known = set(walk(x.args[::2]))
                self.rare |= sum(n not in known for n in walk([x.args[1]])) > LONG
                self.operations += 2
                self.bits.add(max(x.type.bits, 8))
                args = args[::2]
            elif x.type.kind != "b":
                self.operations += x.op not in ("axis", "var", "bitcast")
                self.bits.add(x.type.bits)
            else:
                self.operations += 1
            stack += args
        return self

    def note(self, buffer: str) -> None:
        bits = max(self.buffers[buffer].type.bits, 8)
        self.bits.add(bits)
        self.memory.add(bits)

    def statements(self, body: Sequence[Statement]) -> Survey:
        for s in walk_statements(body):
            if isinstance(s, (Reduce, Scan)):
                self.moving.update(s.results)
        for s in walk_statements(body):
            if isinstance(s, (Reduce, Scan, Loop)):
                self.nested = True
                axes = s.axes if isinstance(s, Reduce) else (s.axis,)
                if any(self.axis in n.axes for a in axes for n in (a.lo, a.hi)):
                    self.lane_by_lane = True
            if isinstance(s, (Store, Atomic)):
                self.add((s.value, s.where))
                if not self.moving.isdisjoint(s.index.axes):
                    self.note(s.buffer)
                    if linear(s.index, self.axis) is None:
                        self.add((s.index,))
                if isinstance(s, Store):
                    self.streams |= s.streaming
                else:
                    form = linear(s.index, self.axis)
                    self.lane_by_lane |= form is None or form[0].op != "const" or form[0].attr != 1
            else:
                self.add(expressions(s))
        return self

    def width(self, target: Target, work: int = PLAIN + 1) -> int:
        """Lanes of the widest type fill a register; 64-bit numbers beside narrower ones take several. ``work``:
        operations per index."""
        bits = self.bits or {32}
        widest = max(bits)
        if widest == 64 and len(bits) > 1:
            widest = 32
        plain = work <= PLAIN and not self.streams and not self.nested
        return max((target.plain_bits if plain else target.vector_bits) // widest, 2)

    def masked(self, target: Target) -> bool:
        return self.memory <= target.maskable
