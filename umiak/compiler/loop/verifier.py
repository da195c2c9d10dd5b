"""Verification of kernels. ``verify`` names the statement and the rule that it breaks."""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.loop.node import COMPARISONS, OPS, Node, walk
from umiak.compiler.loop.tile_verifier import Tiles
from umiak.compiler.loop.tiles import WARP, Exchange
from umiak.compiler.loop.tree import (
    BLOCK,
    GLOBAL,
    IN,
    KINDS,
    LANE,
    LOCAL,
    OUT,
    SERIAL,
    SHARED,
    TILE,
    Atomic,
    Axis,
    Barrier,
    BlockStatement,
    Buffer,
    Fail,
    Fold,
    If,
    Kernel,
    Let,
    Loop,
    Reduce,
    Scan,
    Statement,
    Store,
    walk_statements,
)
from umiak.compiler.loop.types import BOOL, F64, I32, I64, U32, ScalarType

FLOATS_ONLY = ("fma", "floor", "ceil", "trunc", "rint", "sqrt", "copysign", "ldexp")
FIRST_FUNCTION = list(OPS).index("exp")  # from here on OPS lists functions of f32 and f64
FUNCTIONS = frozenset(list(OPS)[FIRST_FUNCTION:])
INTEGERS_ONLY = ("shl", "shr", "mulhi")
BITS = ("and", "or", "xor", "not")
ATOMICS = ("add", "min", "max", "or", "and")


class InvalidKernel(ValueError):
    """A kernel breaks a rule of the loop IR."""


def verify(kernel: Kernel) -> None:
    """Raise :class:`InvalidKernel` unless every rule holds."""
    _Verifier(kernel).run()


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.buffers: dict[str, Buffer] = {}
        self.defined: set[str] = set()  # variables anywhere in the kernel
        self.visible: set[Node] = set()
        self.lanes: list[Node] = []  # LANE and TILE axes around
        self.tile: Node | None = None  # the last of them, if TILE
        self.lane_axis: Axis | None = None  # the innermost of them
        self.checked: set[Node] = set()
        self.at: Statement | None = None
        self.tiles = Tiles(self)

    def fail(self, rule: str, got: object) -> None:
        where = "" if self.at is None else f" in {type(self.at).__name__}"
        raise InvalidKernel(f"[{self.kernel.name}]{where}: requires {rule}, got {got}")

    def run(self) -> None:
        for b in self.kernel.buffers:
            if b.name in self.buffers:
                self.fail("different names of buffers", f"{b.name!r} twice")
            self.buffers[b.name] = b
            if b.space not in (IN, OUT, LOCAL, SHARED, GLOBAL):
                self.fail("a known space of a buffer", f"{b.space!r} of {b.name!r}")
            if (b.size is None) != (b.space in (IN, OUT)):
                self.fail("a size of scratch buffers and none of others", f"{b.name!r} ({b.space}, size {b.size})")
            if b.size is not None:
                self.expression(b.size, I64)
                if any(x.op in ("axis", "var", "load", "word") for x in walk([b.size])):
                    self.fail("a size made of dims and constants", f"{b.size} of {b.name!r}")
        self.tiles.kernel()
        parallel = [s for s in walk_statements(self.kernel.body) if isinstance(s, Loop) and s.parallel]
        if parallel and (len(parallel) > 1 or self.kernel.body != (parallel[0],)):
            self.fail("one parallel loop at most, around all else", f"{len(parallel)} among {len(self.kernel.body)}")
        self.body(self.kernel.body)

    # --- statements ---

    def body(self, body: Sequence[Statement]) -> None:
        """Check a body, whose definitions are not visible after it."""
        before = set(self.visible)
        for s in body:
            self.at = s
            self.statement(s)
        self.visible = before

    def statement(self, s: Statement) -> None:
        if isinstance(s, (Store, Atomic)):
            self.store(s)
        elif isinstance(s, Fail):
            if s.code <= 0:
                self.fail("a code > 0", s.code)
            self.expression(s.where, BOOL)
        elif isinstance(s, If):
            self.expression(s.where, BOOL)
            self.uniform(s.where, "a condition")
            self.body(s.body)
        elif isinstance(s, Loop):
            self.loop(s)
        elif isinstance(s, Reduce):
            self.reduce(s)
        elif isinstance(s, Scan):
            self.scan(s)
        elif isinstance(s, Let):
            self.let(s)
        elif isinstance(s, Fold):
            self.fold(s)
        elif isinstance(s, Barrier):
            if self.lanes:
                self.fail("a barrier outside of lanes", f"one inside of {self.lanes[-1].attr}")
        elif isinstance(s, Exchange):
            self.exchange(s)
        elif isinstance(s, BlockStatement):
            self.tiles.statement(s)
        else:
            self.fail("a statement of loop/tree.py", type(s).__name__)

    def store(self, s: Store | Atomic) -> None:
        b = self.buffers.get(s.buffer)
        if b is None:
            self.fail("a declared buffer", repr(s.buffer))
            return
        if b.space == IN:
            self.fail("a store into out or scratch", f"one into {s.buffer!r} (in)")
        if isinstance(s, Atomic) and s.op not in ATOMICS:
            self.fail(f"an atomic of {', '.join(ATOMICS)}", repr(s.op))
        self.expression(s.index, I64)
        self.expression(s.value, b.type)
        if s.where is not None:
            self.expression(s.where, BOOL)
        if isinstance(s, Atomic) and s.old is not None:
            if s.old.type is not b.type or b.type not in (I32, U32):
                self.fail("a former element of i32 or u32", b.type)
            self.variables([s.old])

    def exchange(self, s: Exchange) -> None:
        a = self.lane_axis
        threads = self.kernel.threads
        steady = a is not None and self.lanes and a.lo.attr == 0 and a.hi.op == "const"
        if not steady or threads is None or a is None or a.hi.attr % threads:
            self.fail("lanes from 0 to a multiple of the kernel's threads", a if a is None else a.hi)
        if not 0 < s.mask < WARP:
            self.fail(f"a mask of 1 to {WARP - 1}", s.mask)
        if s.result.type is BOOL:
            self.fail("a number to exchange", BOOL)
        self.expression(s.value, s.result.type)
        self.variables([s.result])

    def loop(self, s: Loop) -> None:
        if s.counter is not None:
            b = self.buffers.get(s.counter)
            if not s.parallel or s.axis.kind == LANE or b is None or b.space not in (OUT, GLOBAL) or b.type is not I32:
                self.fail("a counter of i32 in memory, of a parallel loop of blocks", repr(s.counter))
        if s.parallel:
            if s.axis.step != 1 or s.axis.lo.attr != 0:
                self.fail("a parallel loop from 0 in steps of 1", f"from {s.axis.lo} in steps of {s.axis.step}")
        if s.axis.kind == TILE and not (
            len(s.body) == 1 and isinstance(s.body[0], Loop) and s.body[0].axis.kind == LANE
        ):
            self.fail("a lane loop and nothing else in a tile loop", [type(x).__name__ for x in s.body])
        before, lanes = set(self.visible), len(self.lanes)
        self.axis(s.axis)
        self.body(s.body)
        self.visible = before
        del self.lanes[lanes:]

    def axis(self, a: Axis) -> None:
        self.expression(a.lo, I64)
        self.expression(a.hi, I64)
        self.uniform(a.lo, "a bound")
        self.uniform(a.hi, "a bound")
        if a.kind not in KINDS:
            self.fail(f"an axis kind of {', '.join(KINDS)}", repr(a.kind))
        if a.index.op != "axis":
            self.fail("an axis node as index", a.index.op)
        if a.step < 1 or (a.step != 1 and a.kind != SERIAL):
            self.fail("steps of 1, or more on a serial axis", f"{a.step} on {a.kind} {a.index.attr}")
        self.define(a.index)
        if a.kind in (LANE, TILE):
            if self.lanes and not (a.kind == LANE and self.lanes == [self.tile]):
                self.fail("no lane axis inside of lanes", f"{a.index.attr} inside of {self.lanes[-1].attr}")
            self.lanes.append(a.index)
            self.lane_axis = a
            self.tile = a.index if a.kind == TILE else None
        elif a.kind == BLOCK and self.lanes:
            self.fail("block axes outside of lanes", f"{a.index.attr} inside of {self.lanes[-1].attr}")

    def results(self, s: Reduce | Scan) -> None:
        m = s.monoid
        for kind, items in (("results", s.results), ("values", s.values), ("init", s.init)):
            if items is not None and len(items) != m.size:
                self.fail(f"{m.size} {kind} for {m}", len(items))
        for r in s.results:
            if r.op != "var":
                self.fail("variables as results", r.op)
        types = tuple(r.type for r in s.results)
        for x, t in zip(s.init or (), types):
            self.expression(x, t)
        for x, t in zip(m.identity(types), types):
            if x.type is not t:
                self.fail(f"an identity of {m} of type {t}", x.type)

    def reduce(self, s: Reduce) -> None:
        self.results(s)
        before, lanes = set(self.visible), len(self.lanes)
        for k, a in enumerate(s.axes):
            if a.kind not in (SERIAL, LANE) or (a.kind == LANE and k != len(s.axes) - 1):
                self.fail("serial axes and perhaps a lane axis at last", f"{a.kind} {a.index.attr}")
            if a.kind == LANE and not s.monoid.commutative:
                self.fail("a commutative monoid over lanes", s.monoid)
            self.axis(a)
        for x, r in zip(s.values, s.results):
            self.expression(x, r.type)
        if s.where is not None:
            self.expression(s.where, BOOL)
        self.visible = before
        del self.lanes[lanes:]
        for r in s.results:
            self.define(r)

    def scan(self, s: Scan) -> None:
        self.results(s)
        if s.axis.kind not in (SERIAL, LANE):
            self.fail("a serial or lane axis", s.axis.kind)
        before, lanes = set(self.visible), len(self.lanes)
        self.axis(s.axis)
        for x, r in zip(s.values, s.results):
            self.expression(x, r.type)
        for r in s.results:
            self.define(r)
        if any(not isinstance(x, Store) for x in s.body):
            self.fail("stores as the body", [type(x).__name__ for x in s.body])
        self.body(s.body)
        self.visible = before
        del self.lanes[lanes:]

    def let(self, s: Let) -> None:
        if len(s.results) != len(s.values):
            self.fail("a value for each variable", f"{len(s.values)} for {len(s.results)}")
        for r, x in zip(s.results, s.values):
            self.expression(x, r.type)
        self.variables(s.results)

    def fold(self, s: Fold) -> None:
        counts = {len(x) for x in (s.results, s.states, s.init, s.values)}
        if len(counts) != 1:
            self.fail("as many results, states, first and next values", sorted(counts))
        if s.axis.kind != SERIAL:
            self.fail("a serial axis", s.axis.kind)
        for r, x in zip(s.results, s.init):
            self.expression(x, r.type)
        before = set(self.visible)
        self.axis(s.axis)
        self.variables(s.states)
        for r, x in zip(s.results, s.values):
            self.expression(x, r.type)
        if s.where is not None:
            self.expression(s.where, BOOL)
        self.visible = before
        self.variables(s.results)

    def variables(self, defined: Sequence[Node]) -> None:
        for r in defined:
            if r.op != "var":
                self.fail("variables as results", r.op)
            self.define(r)

    # --- expressions ---

    def define(self, x: Node) -> None:
        """Variables once in the kernel; axes of statements side by side may share a name."""
        if x.attr in self.defined or any(x.attr == y.attr for y in self.visible):
            self.fail("every axis and variable defined once", f"{x.attr!r} twice")
        if x.op == "var":
            self.defined.add(x.attr)
        self.visible.add(x)

    def uniform(self, x: Node, description: str) -> None:
        """The same for all lanes."""
        for lane in self.lanes:
            if lane in x.axes:
                self.fail(f"{description} that depends on no lane axis around", x)

    def expression(self, x: Node, type: ScalarType) -> None:
        if x.type is not type:
            self.fail(f"an expression of type {type}", f"{x.type}: {x}")
        for y in x.axes:
            if y not in self.visible:
                self.fail("axes and variables defined before use", f"{y.attr!r} in {x}")
        for y in walk([x]):
            if y not in self.checked:
                self.node(y)
                self.checked.add(y)

    def node(self, x: Node) -> None:
        def expect(holds: bool, rule: str) -> None:
            if not holds:
                self.fail(f"{x.op}: {rule}", f"{x.type} of {', '.join(a.type.name for a in x.args)}")

        if x.op not in OPS:
            self.fail("an operation of OPS", x.op)
        if x.op == "load":
            self.load(x)
            return
        expect(len(x.args) == OPS[x.op][0], f"{OPS[x.op][0]} operands")
        if x.op == "dim" and not 0 <= x.attr < self.kernel.dims:
            self.fail(f"a dim below {self.kernel.dims}", x.attr)
        if x.op == "word":
            expect(x.type in (F64, I64), "f64 or i64")
        if x.op == "bitcast":
            expect(x.type.bits == x.args[0].type.bits, "types of one size")
        if not x.args or x.op in ("cast", "bitcast"):
            return
        t = x.args[-1].type
        values = x.args[1:] if x.op == "select" else x.args
        expect(all(a.type is t for a in values), "operands of one type")
        result = BOOL if x.op in COMPARISONS else U32 if x.op == "philox" else t
        expect(x.type is result, "a result of the operands' type, comparisons bool, words u32")
        if x.op == "select":
            expect(x.args[0].type is BOOL, "a bool first")
        else:
            expect(not t.is_storage, "no narrow floats")
        if x.op == "philox":
            expect(t is I64, "i64")
        elif x.op in FLOATS_ONLY or x.op in FUNCTIONS:
            expect(t.is_float, "floats")
        elif x.op in INTEGERS_ONLY:
            expect(t.is_integer and (x.op != "mulhi" or (t.kind == "u" and t.bits >= 32)), "integers")
        elif x.op in BITS:
            expect(not t.is_float, "integers or bools")
        elif x.op not in (*COMPARISONS, "select", "min", "max"):
            expect(t is not BOOL, "numbers")

    def load(self, x: Node) -> None:
        b = self.buffers.get(x.attr)
        if b is None:
            self.fail("a declared buffer", repr(x.attr))
        elif b.type is not x.type:
            self.fail(f"a load of {b.type} from {x.attr!r}", x.type)
        expected = (I64,) if len(x.args) == 1 else (I64, BOOL, x.type)
        if tuple(a.type for a in x.args) != expected:
            self.fail("a load's index, condition and other value", [a.type for a in x.args])
