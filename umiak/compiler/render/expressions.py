"""Expressions of the loop IR as text: where each is placed, and which are vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from umiak.compiler.loop.node import COUNTED, RARE, Node, add, linear, sub, walk
from umiak.compiler.loop.tree import Kernel
from umiak.compiler.loop.types import BOOL, I64, ScalarType
from umiak.compiler.render.operations import Operations, constant
from umiak.compiler.render.text import Module, literal, spell

# Comparisons of a position along the lanes with a number: how lane numbers compare with what is left of it.
_BELOW, _FROM, _AT, _NOT_AT = "ult", "uge", "eq", "ne"


@dataclass(eq=False)
class Value:
    """The form of a node in the text: one scalar for all lanes, or a vector per copy. Defined in the scope at
    ``depth``."""

    depth: int
    scalar: str = ""
    vectors: list[str] | None = None
    number: Node | None = None  # the node, where it is a constant
    splats: dict[int, str] = field(default_factory=dict)


@dataclass(eq=False)
class Lanes:
    """The open LANE axis: ``copies`` vectors of ``width`` indices each, from scalar ``base``, which steps from
    ``first`` (None: it is no loop's index). With a ``mask`` there is one copy, of which those lanes exist."""

    axis: Node
    depth: int
    width: int
    copies: int
    base: str
    first: str | None
    mask: str | None = None


class Expressions(Operations):
    """``value(node)`` says what a node is here, writing what is missing."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        super().__init__(module)
        self.kernel = kernel
        self.buffers = {b.name: b for b in kernel.buffers}
        self.lanes: Lanes | None = None
        self.condition: list[str] | None = None  # a vector per copy: where the statement's loads may read
        self.bound: dict[Node, int] = {}  # axis or variable -> depth of its scope
        self.varying: set[Node] = set()  # those that differ from lane to lane
        self.written: set[str] = set()  # buffers that the kernel stores to
        self.volatile: set[Node] = set()  # remembered nodes that depend on what such a buffer holds
        self.inductions: dict[Node, tuple[str, int]] = {}  # axis of a scalar loop -> (first index, step)
        self.previous: dict[Node, dict[str, str]] = {}  # axis of unrolled unit steps -> its products one step before
        self.branch_depth = 0  # in a branch: its scope, which nothing computed there leaves
        self.forms: dict[tuple[Node, Node], tuple[Node, Node] | None] = {}
        self.positions: dict[tuple[Node, Node], tuple[str, Node] | None] = {}

    def here(self) -> int:
        """Depth of the innermost scope."""
        return len(self.scopes) - 1

    def varies(self, x: Node) -> bool:
        return not self.varying.isdisjoint(x.axes)

    def form(self, index: Node, axis: Node) -> tuple[Node, Node] | None:
        """``node.linear``, of which both parts are the same in all lanes."""
        key = (index, axis)
        if key not in self.forms:
            self.forms[key] = linear(index, axis)
        parts = self.forms[key]
        return None if parts is None or self.varies(parts[0]) or self.varies(parts[1]) else parts

    def bind(self, x: Node, value: Value) -> None:
        """Makes ``x`` known in the innermost scope."""
        self.bound[x] = value.depth
        (self.varying.discard if value.vectors is None else self.varying.add)(x)
        self.remember(x, value, value.depth)

    def forget(self) -> None:
        """After a store, and around loops: what written buffers hold is read anew."""
        for x in self.volatile:
            self.memo.pop(x, None)
        self.volatile.clear()

    def value(self, x: Node) -> Value:
        memo = self.memo
        if x in memo:
            return memo[x]
        stack = [x]
        while stack:
            top = stack[-1]
            if top in memo:
                stack.pop()
                continue
            pending = [a for a in self.operands(top) if a not in memo]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            at = self.at
            v = self.define(top)
            self.at = at
            self.remember(top, v, v.depth)
        return memo[x]

    def operands(self, x: Node) -> tuple[Node, ...]:
        """Return the nodes that must be known before ``x``. Indices and positions are taken apart instead."""
        if x.op in ("load", "philox"):
            return x.args[1:]
        if x.attr is RARE:
            return x.args[::2]
        return () if self.position(x) is not None else x.args

    def scalar(self, x: Node) -> str:
        """A node that must be the same in all lanes."""
        v = self.value(x)
        if v.vectors is not None:
            raise ValueError(f"kernel {self.kernel.name!r} requires one {x.op} for all lanes, got one per lane")
        return v.scalar

    def vectors(self, v: Value, t: ScalarType) -> list[str]:
        """A value as one vector per copy."""
        assert self.lanes is not None
        return v.vectors if v.vectors is not None else [self.wide(v, t, self.lanes.width)] * self.lanes.copies

    def wide(self, v: Value, t: ScalarType, width: int) -> str:
        """A scalar in all lanes, made where the scalar is."""
        text = v.splats.get(width)
        if text is None:
            if v.number is not None:
                text = constant(v.number.attr, t, width)
            else:
                at, self.at = self.at, v.depth
                text = self.splat(v.scalar, spell(t), width)
                self.at = at
            v.splats[width] = text
        return text

    def define(self, x: Node) -> Value:
        op = x.op
        if op == "const":
            return Value(0, literal(x.attr, x.type), number=x)
        if op == "load":
            return self.read(x)
        if op == "philox":
            return self.draw(x)
        if op in ("dim", "word"):
            self.at = 0
            pointer = self.emit(f"getelementptr i64, ptr %{op}s, i64 {x.attr}")
            return Value(0, self.emit(f"load {spell(x.type)}, ptr {pointer}, align 8"))
        if op in ("axis", "var"):
            if self.lanes is not None and x is self.lanes.axis:
                return self.indices(self.lanes)
            raise ValueError(f"kernel {self.kernel.name!r} uses {op} {x.attr!r} where it is not defined")
        position = self.position(x)
        if position is not None:
            return self.compare(*position)
        if x.attr is RARE:
            return self.rare(x)
        args = [self.memo[a] for a in x.args]
        if not self.volatile.isdisjoint(x.args):
            self.volatile.add(x)
        self.at = depth = max(self.branch_depth, *[a.depth for a in args])
        lanes = self.lanes
        if lanes is None or all(a.vectors is None for a in args):
            if op == "mul" and x.type is I64:
                product = self.product(x, args)
                if product is not None:
                    return product
            if x.attr is COUNTED:
                quotient = self.quotient(x, args)
                if quotient is not None:
                    return quotient
            return Value(depth, self.operate(x, [a.scalar for a in args], 0))
        columns = [self.vectors(a, n.type) for a, n in zip(args, x.args)]
        return Value(depth, "", [self.operate(x, operands, lanes.width) for operands in zip(*columns)])

    def rare(self, x: Node) -> Value:
        """A select whose first value is computed behind a branch that is taken where some lane needs it."""
        where, no = (self.memo[a] for a in x.args[::2])
        if not self.volatile.isdisjoint(walk(x.args)):
            self.volatile.add(x)
        lanes, t = self.lanes, x.type
        self.at = self.here()
        wide = lanes is not None and (where.vectors is not None or no.vectors is not None or self.varies(x.args[1]))
        width = lanes.width if wide and lanes is not None else 0
        masks = self.vectors(where, BOOL) if wide else [where.scalar]
        others = self.vectors(no, t) if wide else [no.scalar]
        self.at = self.here()
        some = self.any_of(masks, width) if wide else masks[0]

        def taken() -> list[str]:
            # What stands in the branch alone may stand nowhere else.
            before, self.branch_depth = self.branch_depth, self.here()
            v = self.value(x.args[1])
            self.branch_depth = before
            self.at = self.here()
            yes = self.vectors(v, t) if wide else [v.scalar]
            return [self.choose(*c, t, width) for c in zip(masks, yes, others)]

        got = self.guarded(some, taken, [(spell(t, width), o) for o in others])
        return Value(self.here(), "", got) if wide else Value(self.here(), got[0])

    def any_of(self, masks: Sequence[str], width: int) -> str:
        """i1: whether any lane of some masks is set."""
        total = masks[0]
        for m in masks[1:]:
            total = self.emit(f"or <{width} x i1> {total}, {m}")
        return self.call("i1", f"llvm.vector.reduce.or.v{width}i1", [(f"<{width} x i1>", total)])

    def read(self, x: Node) -> Value:
        """A load, which `Memory` defines."""
        raise NotImplementedError(f"{type(self).__name__} defines no read")

    def draw(self, x: Node) -> Value:
        """A random word, which `RandomBits` defines (random.py)."""
        raise NotImplementedError(f"{type(self).__name__} defines no draw")

    # Axes
    def product(self, x: Node, args: Sequence[Value]) -> Value | None:
        """A loop's index times an invariant: a number of its own that is stepped, not multiplied."""
        for axis, c in ((x.args[0], args[1]), (x.args[1], args[0])):
            if axis.op != "axis" or c.number is not None or c.depth >= self.bound[axis]:
                continue
            depth = self.bound[axis]
            if axis in self.previous:
                last, self.at = self.previous[axis].get(c.scalar), depth
                first_term = f"mul i64 {self.memo[axis].scalar}, {c.scalar}"
                text = self.emit(first_term if last is None else f"add i64 {last}, {c.scalar}")
                self.previous[axis][c.scalar] = text
                return Value(depth, text)
            if axis in self.inductions:
                return Value(depth, self.stepped(c.scalar, depth, *self.inductions[axis]))
        return None

    def quotient(self, x: Node, args: Sequence[Value]) -> Value | None:
        """A loop's index, or such a quotient of it, by a size: a number of its own that steps when the rest is full."""
        index, (over, d) = x.args[0], args
        depth = over.depth
        if ("steps", index) in self.memo:
            by, first = self.memo["steps", index]
        elif index in self.inductions and index not in self.previous and self.bound[index] == depth:
            by, (first, step) = "1", self.inductions[index]
            if step != 1:
                return None
        else:
            return None
        if d.depth >= depth:
            return None
        self.at = depth - 1
        start = self.op_div(x, (first, d.scalar), 0)
        rest = self.emit(f"sub i64 {first}, {self.emit(f'mul i64 {start}, {d.scalar}')}")
        q, r, more, full, carry, q_after, r_after = (self.name() for _ in range(7))
        scope = self.scopes[depth]
        scope.phis += [(q, "i64", start, q_after), (r, "i64", rest, r_after)]
        scope.steps += [
            f"  {more} = add i64 {r}, {by}",
            f"  {full} = icmp eq i64 {more}, {d.scalar}",
            f"  {r_after} = select i1 {full}, i64 0, i64 {more}",
            f"  {carry} = zext i1 {full} to i64",
            f"  {q_after} = add i64 {q}, {carry}",
        ]
        self.remember(("steps", x), (carry, start), depth)
        return Value(depth, q)

    def stepped(self, c: str, depth: int, first: str, step: int) -> str:
        """``c`` times the index of the loop whose body is the scope at ``depth``."""
        scope, at, self.at = self.scopes[depth], self.at, depth - 1
        start = "0" if first == "0" else self.emit(f"mul i64 {first}, {c}")
        by = c if step == 1 else self.emit(f"mul i64 {c}, {step}")
        name, after = self.name(), self.name()
        scope.phis.append((name, "i64", start, after))
        scope.steps.append(f"  {after} = add i64 {name}, {by}")
        self.at = at
        return name

    def indices(self, lanes: Lanes) -> Value:
        """The lane axis as numbers."""
        self.at, w = lanes.depth, lanes.width
        base = self.splat(lanes.base, "i64", w)
        return Value(lanes.depth, "", [
            self.emit(f"add <{w} x i64> {base}, {numbers('i64', range(u * w, u * w + w))}") for u in range(lanes.copies)
        ])  # fmt: skip

    def position(self, x: Node) -> tuple[str, Node] | None:
        """``(comparison, number)`` where ``x`` compares the lane axis alone with a number that all lanes share."""
        if self.lanes is None or x.op not in ("lt", "le", "eq", "ne") or x.args[0].type is not I64:
            return None
        axis = self.lanes.axis
        if axis not in x.axes:
            return None
        key = (x, axis)
        if key not in self.positions:
            self.positions[key] = self._position(x, axis)
        return self.positions[key]

    def _position(self, x: Node, axis: Node) -> tuple[str, Node] | None:
        a, b = (self.form(v, axis) for v in x.args)
        if a is None or b is None or a[0].op != "const" or b[0].op != "const":
            return None
        d = a[0].attr - b[0].attr
        if d not in (1, -1):
            return None
        limit = sub(b[1], a[1]) if d == 1 else sub(a[1], b[1])
        if x.op in ("eq", "ne"):
            return (_AT if x.op == "eq" else _NOT_AT), limit
        if d == 1:
            return _BELOW, limit if x.op == "lt" else add(limit, 1)
        return _FROM, add(limit, 1) if x.op == "lt" else limit

    def compare(self, comparison: str, limit: Node) -> Value:
        lanes = self.lanes
        assert lanes is not None
        v, w = self.value(limit), lanes.width
        self.at = depth = max(v.depth, lanes.depth)
        # Scalar arithmetic and narrow lanes: comparing wide indices would take several registers.
        part = self.emit(f"sub i64 {v.scalar}, {lanes.base}")
        low = "0" if comparison in (_BELOW, _FROM) else "-1"
        result = []
        for u in range(lanes.copies):
            left = part if u == 0 else self.emit(f"sub i64 {part}, {u * w}")
            left = self.call("i64", "llvm.smax.i64", [("i64", left), ("i64", low)])
            left = self.call("i64", "llvm.smin.i64", [("i64", left), ("i64", str(w))])
            result.append(self.lane_numbers(comparison, left, w))
        return Value(depth, "", result)

    def lane_numbers(self, comparison: str, number: str, width: int) -> str:
        """Return the mask of lanes whose numbers compare so with an i64 that fits a lane's number."""
        t = "i8" if width >= 32 else "i32"
        few = self.splat(self.emit(f"trunc i64 {number} to {t}"), t, width)
        return self.emit(f"icmp {comparison} <{width} x {t}> {numbers(t, range(width))}, {few}")


def numbers(t: str, values: Sequence[int]) -> str:
    """A vector of integers."""
    return "<" + ", ".join([f"{t} {n}" for n in values]) + ">"
