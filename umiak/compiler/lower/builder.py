"""From operations to a nest, by pulling: what is element ``index`` of this value?

The question starts at the outputs and ends at loads of operands. Ops that move elements answer with a question about
another index, elementwise ops with an expression over their operands' elements, reductions with a variable that a stage
computes. So views, broadcasts, pads and gathers between other ops cost index arithmetic and no memory.

Rules for op classes are registered with :func:`rule`; a rule that cannot answer raises :class:`NotANest`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import expressions, walk_statements, with_expressions
from umiak.compiler.loop.types import F32, F64, I64, STORED, U8, U32, U64, ScalarType
from umiak.compiler.nest import Access, BodyStage, FailStage, Nest, NestBuffer, ReduceStage, Stage, StoreStage, position
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta, identical, identity
from umiak.ir.program import Operation, Value

# An element: a node of the compute type, or the two parts of a complex number.
Element: TypeAlias = "Node | tuple[Node, Node]"
Index: TypeAlias = "tuple[Node, ...]"
Rule: TypeAlias = "Callable[[Builder, Operation, int, Index], Element]"


class NotANest(Exception):
    """The operations do not form one nest; the planner runs them one by one."""


def storage_type(dtype: DType) -> ScalarType:
    """The type of numbers in memory (of the parts, for complex dtypes)."""
    if dtype.is_packed:
        raise NotANest("packed elements as numbers")
    return STORED[dtype.name]


def compute_type(dtype: DType) -> ScalarType:
    """The type that arithmetic is done in (of the parts, for complex dtypes)."""
    return storage_type(dtype.compute)


def _cell(dtype: DType) -> ScalarType:
    """Return the type of cells of a buffer: bytes, where elements share them."""
    return U8 if dtype.is_packed else storage_type(dtype)


RULES: dict[type, Rule] = {}


def rule(*classes: type) -> Callable[[Rule], Rule]:
    """Register the decorated rule for op classes."""

    def enter(fn: Rule) -> Rule:
        for cls in classes:
            RULES[cls] = fn
        return fn

    return enter


@dataclass
class _Input:
    buffer: str
    meta: Meta
    strides: tuple[Any, ...]


class Trial(dict):
    """Sources where only the question is whether there is a nest: every symbol is a word, and the nest, which nobody
    renders, is left without its last rounds of simplification."""

    def __missing__(self, key: Any) -> tuple[int, int]:
        return (-1, 0)


class Builder:
    """Collects one nest.

    ``sources`` says where symbols come from: ``(operand, axis)``, or ``(-1, word)`` for a word of the scalar pack.
    """

    def __init__(self, name: str, sources: Mapping[Sym, tuple[int, int]]) -> None:
        self.name = name
        self.sources = sources
        self.guard: Node | None = None  # where what is being pulled is needed at all
        self.stages: list[Stage] = []
        self.parallel: list[tuple[Node, Any]] = []  # axis and size
        self.reduced: list[tuple[Node, Any]] = []
        self._buffers: list[NestBuffer] = []
        self._inputs: dict[int, _Input] = {}
        self._extras: dict[Any, tuple[int, Any]] = {}
        self._accesses: dict[Any, tuple[int, str | None, dict[Node, Any]]] = {}
        self._known: dict[tuple, Element] = {}
        self._reductions: dict[tuple, tuple[Node, ...]] = {}
        self._failures: set[tuple] = set()
        self._divisions: set[Node] = set()
        self.inner: set[Node] = set()  # axes of loops in bodies, along which no access runs

    # --- what there is ---------------------------------------------------------------------------------------------

    def input(self, value: Value, strides: Sequence[Any]) -> None:
        """Declare an operand; buffers take the order of these calls."""
        assert value.meta.dtype is not None
        buffer = f"x{len(self._buffers)}"
        self._buffers.append(NestBuffer(buffer, _cell(value.meta.dtype)))
        self._inputs[id(value)] = _Input(buffer, value.meta, tuple(strides))

    def skip(self) -> None:
        """Declare an operand that is never read: its buffer only keeps the numbering."""
        self._buffers.append(NestBuffer(f"x{len(self._buffers)}", F32))

    def open(self, sizes: Iterable[Any], reduced: bool = False) -> Index:
        """New axes of these sizes; their indices."""
        axes = self.reduced if reduced else self.parallel
        opened = []
        for size in sizes:
            if type(size) is int and size == 1:
                opened.append(n.i64(0))
                continue
            index = n.axis(f"{'r' if reduced else 'p'}{len(axes)}")
            axes.append((index, size))
            opened.append(index)
        return tuple(opened)

    # --- integers and numbers --------------------------------------------------------------------------------------

    def leaf(self, x: Any) -> Node:
        """An integer known per call: a size, a param, an expression of them."""
        if type(x) is not Sym:
            return n.i64(int(x))
        key = identity(x)
        if key not in self._extras:
            self._extras[key] = (len(self._extras), x)
        return n.dim(self._extras[key][0])

    def number(self, x: Any, type_: ScalarType) -> Node:
        """Return a scalar operand or param (Python scalar or symbol) as a node of a type."""
        if type(x) is not Sym:
            if isinstance(x, complex):
                raise NotANest("a complex number")
            return n.const(x, type_)
        return n.cast(self._scalar(x), type_)

    def _scalar(self, x: Any) -> Node:
        if type(x) is not Sym:
            return n.const(float(x), F64)
        if x.op == "symbol":
            operand, word = self.sources[x]
            if operand == -1:
                return n.word(word, F64 if x.kind == "float" else I64)
        if x.kind != "float":
            return self.leaf(x)
        if x.op == "itof":
            return n.cast(self.leaf(x.args[0]), F64)
        if x.op == "select":
            condition, a, b = x.args
            return n.select(n.ne(self.leaf(condition), 0), self._scalar(a), self._scalar(b))
        op = {"fadd": "add", "fsub": "sub", "fmul": "mul", "fdiv": "div", "fneg": "neg", "fpow": "pow"}.get(x.op)
        args = [self._scalar(a) for a in x.args]
        args = [n.cast(a, F64) for a in args]
        if op is not None:
            out = args[0]
            if op == "neg":
                return n.neg(out)
            if op == "pow" and n.is_const(args[1], 0.5):
                return _square_root(out)
            for a in args[1:]:
                out = n.call(op, out, a)
            return out
        if x.op in ("fmin", "fmax"):
            out = args[0]
            for a in args[1:]:  # as the scalar program does it: a < b ? a : b
                out = n.select(n.lt(out, a) if x.op == "fmin" else n.lt(a, out), out, a)
            return out
        raise NotANest(f"the number {x}")

    def _symbolic(self, x: Node) -> Any:
        """The integer behind a node over leaves, as a size; None where loads or axes take part."""
        if x.op == "const":
            return x.attr
        if x.op == "dim":
            return next(sym for k, sym in self._extras.values() if k == x.attr)
        if x.op in ("add", "sub", "mul"):
            a, b = (self._symbolic(y) for y in x.args)
            if a is None or b is None:
                return None
            return a + b if x.op == "add" else a - b if x.op == "sub" else a * b
        return None

    # --- positions -------------------------------------------------------------------------------------------------

    def _affine(self, x: Node) -> tuple[dict[Node, Any], Node]:
        """``x`` as coefficients of axes plus a rest."""
        if (x.op == "axis" and x not in self.inner) or x in self._divisions:
            return {x: 1}, n.i64(0)
        if x.axes and x.op in ("add", "sub"):
            (merged, ra), (other, rb) = (self._affine(y) for y in x.args)
            sign = 1 if x.op == "add" else -1
            for axis, c in other.items():
                merged[axis] = merged[axis] + sign * c if axis in merged else sign * c
            return merged, n.call(x.op, ra, rb)
        if x.axes and x.op == "mul":
            a, b = x.args
            if a.axes and not b.axes:
                a, b = b, a
            factor = None if a.axes else self._symbolic(a)
            if factor is not None:
                coefficients, rest = self._affine(b)
                return {axis: c * factor for axis, c in coefficients.items()}, n.mul(rest, a)
        return {}, x

    def affine(self, x: Node, buffer: str | None = None) -> Node:
        """``x`` with its affine part as an access."""
        coefficients, rest = self._affine(x)
        coefficients = {a: c for a, c in coefficients.items() if not (type(c) is int and c == 0)}
        for x in [a for a in coefficients if a.op != "axis"]:
            rest = n.add(rest, n.mul(x, self.leaf(coefficients.pop(x))))
        if not coefficients and buffer is None:
            return rest
        key = (buffer, tuple(sorted((a.attr, identity(c)) for a, c in coefficients.items())))
        if key not in self._accesses:
            self._accesses[key] = (len(self._accesses), buffer, coefficients)
        return n.add(position(self._accesses[key][0]), rest)

    def address(self, buffer: str, index: Index, strides: Sequence[Any], scale: int = 1) -> Node:
        """The index into a buffer; ``scale``: numbers per element."""
        total = n.i64(0)
        for i, stride in zip(index, strides, strict=True):
            total = n.add(total, n.mul(i, self.leaf(stride * scale)))
        return self.affine(total, buffer)

    def divided(self, i: Node, sizes: Sequence[Any]) -> list[Node]:
        """The indices along dims of these sizes of element ``i`` of all of them.

        Divisions cost more than what they save: they must cancel in the end, as they do where the dims lie one after
        the other in memory.
        """
        indices: list[Node] = []
        for size in reversed(sizes[1:]):
            outer = n.div(i, self.leaf(size))
            if outer is not i and outer.axes:
                self._divisions.add(outer)
            indices.append(n.sub(i, n.mul(outer, self.leaf(size))))
            i = outer
        return [i, *reversed(indices)]

    # --- elements --------------------------------------------------------------------------------------------------

    def read(self, x: Any, index: Index) -> Element:
        """Element ``index`` of an operand of an operation (a tensor, not a number)."""
        key = (id(x), index, self.guard)
        element = self._known.get(key)
        if element is None:
            operand = self._inputs.get(id(x))
            if operand is not None:
                element = self._load(operand, index)
            else:
                operation = x.operation
                if operation is None or type(operation.op) not in RULES:
                    raise NotANest(f"{operation.name if operation else x!r}")
                element = RULES[type(operation.op)](self, operation, x.index, index)
                dtype = x.meta.dtype
                if dtype.compute is not dtype and isinstance(element, Node):
                    # Rounded as if it had been stored, so that what shares a kernel changes no result.
                    element = n.cast(n.cast(element, storage_type(dtype)), element.type)
            self._known[key] = element
        return element

    def _load(self, x: _Input, index: Index) -> Element:
        dtype = x.meta.dtype
        assert dtype is not None
        kind, wide = storage_type(dtype), compute_type(dtype)
        address = self.address(x.buffer, index, x.strides, 2 if dtype.is_complex else 1)
        real = n.cast(n.load(x.buffer, kind, address, self.guard), wide)
        if not dtype.is_complex:
            return real
        return real, n.load(x.buffer, kind, n.add(address, 1), self.guard)

    def code(self, x: Any, index: Index) -> Node:
        """The bits of element ``index`` of a packed operand, as u32."""
        operand = self._inputs.get(id(x))
        if operand is None:
            raise NotANest("packed elements that are not in memory")
        address = self.address(operand.buffer, index, operand.strides)
        byte = n.cast(n.load(operand.buffer, U8, n.call("shr", address, n.i64(1)), self.guard), U32)
        shift = n.call("shl", n.call("and", address, n.i64(1)), n.i64(2))
        return n.call("and", n.call("shr", byte, n.cast(shift, U32)), n.const(15, U32))

    def operand(self, operation: Operation, k: int, index: Index, type_: ScalarType | None = None) -> Element:
        """Element of operand ``k`` of an operation, which broadcasts to the result's shape; numbers take ``type_``."""
        x = operation.operands[k]
        if type(x) is not Value:
            assert type_ is not None
            return self.number(x, type_)
        return self.read(x, self.broadcast(x.meta.shape, operation.results[0].meta.shape, index))

    def broadcast(self, shape: tuple, target: tuple, index: Index) -> Index:
        """The index into ``shape`` of the element that stands at ``index`` of what it broadcasts to."""
        index = index[len(index) - len(shape) :]
        target = target[len(target) - len(shape) :]
        return tuple(
            i
            if identical(m, size)
            else n.i64(0)
            if type(m) is int and m == 1
            else n.mul(i, self.leaf(dim.minimum(dim.maximum(m - 1, 0), 1)))
            for i, m, size in zip(index, shape, target, strict=True)
        )

    def guarded(self, where: Node, pull: Callable[[], Element]) -> Element:
        """Return the value of ``pull`` where ``where`` holds; elsewhere nothing is read and the value means nothing."""
        before = self.guard
        self.guard = n.conjunction(before, where)
        try:
            return pull()
        finally:
            self.guard = before

    def checked(self, i: Node, size: Any, code: int = 1, from_end: bool = True) -> tuple[Node, Node]:
        """A data index, and whether it lies inside a dim; the launch fails if it does not.

        With ``from_end`` a negative one counts from the end and is made non-negative.
        """
        top = self.leaf(size)
        position = n.select(n.lt(i, 0), n.add(i, top), i) if from_end else i
        inside = n.lt(n.bitcast(position, U64), n.bitcast(top, U64))  # what is negative is more than any size
        self.refuse(n.call("not", inside), code)
        return position, inside

    def refuse(self, where: Node, code: int = 1) -> None:
        """The launch fails if ``where`` holds for an element that is needed."""
        wrong = n.conjunction(self.guard, where)
        assert wrong is not None
        if (wrong, code) not in self._failures and not n.is_const(wrong, False):
            self._failures.add((wrong, code))
            self.stages.append(FailStage(code, wrong))

    def reduce(
        self, monoid: Monoid, values: Sequence[Node], where: Node | None = None, end: Node | None = None
    ) -> tuple[Node, ...]:
        """A reduction over the R axes, as variables."""
        axes = {a for a, _ in self.reduced}
        if self.guard is not None and any(a in axes for a in self.guard.axes):
            raise NotANest("a reduction under a condition on what it reduces")
        key = (monoid.name, tuple(values), where, end)
        reduction = self._reductions.get(key)
        if reduction is None:
            count = sum(len(s.results) for s in self.stages if isinstance(s, ReduceStage))
            results = tuple(n.var(f"v{count + k}", v.type) for k, v in enumerate(values))
            self.stages.append(ReduceStage(results, monoid, tuple(values), where, end))
            self._reductions[key] = reduction = results
        return reduction

    # --- results ---------------------------------------------------------------------------------------------------

    def output(self, meta: Meta) -> str:
        """Declare an output; outputs follow the inputs."""
        assert meta.dtype is not None
        name = f"y{len(self._buffers)}"
        self._buffers.append(NestBuffer(name, _cell(meta.dtype), output=True))
        return name

    def extra(self, name: str, type_: ScalarType, output: bool) -> None:
        """Declare a buffer that is no tensor's; these follow the outputs."""
        self._buffers.append(NestBuffer(name, type_, output))

    def store(
        self, buffer: str, dtype: DType, strides: Sequence[Any], index: Index, value: Element
    ) -> list[StoreStage]:
        """The stores of one element."""
        axes = {a for a, _ in self.reduced}
        address = self.address(buffer, index, strides, 2 if dtype.is_complex else 1)
        coefficients = next(c for _, b, c in self._accesses.values() if b == buffer)
        each = any(a in axes for a in coefficients)
        kind = storage_type(dtype)
        if isinstance(value, tuple):
            return [
                StoreStage(buffer, address, n.cast(value[0], kind), each),
                StoreStage(buffer, n.add(address, 1), n.cast(value[1], kind), each),
            ]
        return [StoreStage(buffer, address, n.cast(value, kind), each)]

    def finish(self) -> Nest:
        """The nest of what was stored."""
        axes = [*self.parallel, *self.reduced]
        if any(x in self._divisions for s in self.stages for x in n.walk(_expressions(s))):
            raise NotANest("a reshape that regroups what does not lie together")
        if type(self.sources) is Trial:
            return Nest(
                self.name,
                tuple(s for _, s in axes),
                len(self.parallel),
                tuple(self._buffers),
                (),
                tuple(self.stages),
                (),
            )
        own = {a: self.affine(a) for a, _ in axes}  # an axis that is used as a number

        def settle(roots: Sequence[Node]) -> list[Node]:
            return n.replace(roots, own)

        stages = [_map_stage(s, settle) for s in self.stages]
        there = list(n.walk(e for s in stages for e in _expressions(s)))
        used = {int(x.attr[1:]) for x in there if x.op == "var" and x.attr[0] == "@"}
        kept = {k: i for i, k in enumerate(sorted(used))}
        moved = {position(k): position(i) for k, i in kept.items()}
        # Integers that became strides are not read as such.
        read = sorted(x.attr for x in there if x.op == "dim")
        moved.update({n.dim(k): n.dim(i) for i, k in enumerate(read)})
        stages = [_map_stage(s, lambda roots: n.replace(roots, moved)) for s in stages]
        accesses = [
            Access(buffer, tuple(coefficients.get(a, 0) for a, _ in axes))
            for k, buffer, coefficients in self._accesses.values()
            if k in kept
        ]
        return Nest(
            self.name,
            tuple(size for _, size in axes),
            len(self.parallel),
            tuple(self._buffers),
            tuple(accesses),
            tuple(stages),
            tuple(x for k, x in self._extras.values() if k in read),
        )


def _square_root(x: Node) -> Node:
    """``x ** 0.5`` by one instruction, and as C's pow has it at the ends: 0 of -0, infinity of its negative."""
    return n.select(n.eq(x, -math.inf), math.inf, n.add(n.call("sqrt", x), 0.0))


def _expressions(s: Any) -> list[Node]:
    if isinstance(s, BodyStage):
        return [x for inner in walk_statements(s.body) for x in expressions(inner)]
    out = [*getattr(s, "values", ())]
    for name in ("index", "value", "where", "end"):
        x = getattr(s, name, None)
        if x is not None:
            out.append(x)
    for inner in getattr(s, "body", ()):
        out += _expressions(inner)
    return out


def _map_stage(s: Any, f: Callable[[Sequence[Node]], list[Node]]) -> Any:
    """The stage with its expressions replaced."""
    from dataclasses import replace

    if isinstance(s, BodyStage):
        return replace(s, body=with_expressions(s.body, lambda x: f([x])[0]))
    changed: dict[str, Any] = {}
    if getattr(s, "values", ()):
        changed["values"] = tuple(f(s.values))
    for name in ("index", "value", "where", "end"):
        x = getattr(s, name, None)
        if x is not None:
            changed[name] = f([x])[0]
    if getattr(s, "body", ()):
        changed["body"] = tuple(_map_stage(b, f) for b in s.body)
    return replace(s, **changed)
