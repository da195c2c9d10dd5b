"""Loop IR to LLVM IR text for CPUs: explicit vectors, ready for code generation without any optimiser pass.

`Writer` (text.py) puts text into scopes, `Operations` writes operations, `Expressions` decides where a value stands
and which are vectors, `Memory` loads and stores, `Loops` opens axes, `Reductions` and `Tiles` have the statements of
their names, `ShortRows` rows that fit a vector; `Function` has the rest and the kernel's ABI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import takewhile
from typing import Any

from umiak.compiler.loop.node import Node, is_const, walk
from umiak.compiler.loop.tree import (
    IN,
    LANE,
    TILE,
    Atomic,
    Axis,
    Barrier,
    Fail,
    If,
    Kernel,
    Loop,
    Reduce,
    Scan,
    Statement,
    Store,
    expressions,
    walk_statements,
)  # fmt: skip
from umiak.compiler.render.functions import expanded
from umiak.compiler.render.plan import Plan, Survey
from umiak.compiler.render.short_rows import ShortRows
from umiak.compiler.render.target import AVX2, AVX512, NEON, Target
from umiak.compiler.render.text import Module

__all__ = ["AVX2", "AVX512", "NEON", "Target", "render", "render_module"]


def render(kernel: Kernel, target: Target) -> str:
    """A module that defines the kernel's three functions."""
    return render_module([kernel], target)


def render_module(kernels: Sequence[Kernel], target: Target) -> str:
    """One module with the functions of all kernels."""
    module = Module(target)
    for kernel in kernels:
        kernel = basic(kernel, target)
        module.functions.append(Function(module, kernel).text())
        module.functions += scratch(module, kernel)
    return module.text()


def basic(kernel: Kernel, target: Target) -> Kernel:
    """The kernel with all functions expanded, together, so that what they share stays shared."""
    nodes: dict[Node, None] = {}
    rewrite(kernel.body, lambda x: nodes.setdefault(x))
    roots = list(nodes)
    new = expanded(roots, target.native)
    if new is roots:
        return kernel
    table = dict(zip(roots, new))
    return replace(kernel, body=rewrite(kernel.body, lambda x: table[x]))


def rewrite(body: Sequence[Statement], change: Any) -> tuple[Statement, ...]:
    """Statements with each root expression changed."""

    def one(x: Any) -> Any:
        if isinstance(x, Node):
            return change(x) or x
        if isinstance(x, Axis):
            lo, hi = one(x.lo), one(x.hi)
            return x if lo is x.lo and hi is x.hi else replace(x, lo=lo, hi=hi)
        return x

    result = []
    for s in body:
        values: dict[str, Any] = {}
        for f in fields(s):  # type: ignore[arg-type]
            old = getattr(s, f.name)
            if f.name == "body":
                values[f.name] = rewrite(old, change)
            elif f.name in ("values", "init", "axes") and old is not None:
                values[f.name] = tuple(map(one, old))
            elif f.name in ("axis", "index", "value", "where"):
                values[f.name] = one(old)
        result.append(replace(s, **values))  # type: ignore[type-var]
    return tuple(result)


def scratch(module: Module, kernel: Kernel) -> list[str]:
    """``@k_local`` and ``@k_global``."""
    result: list[str] = []
    for kind in ("local", "global"):
        f = Function(module, kernel)
        total, count = f.layout(kind == "global")
        if result and not count and not any(b.size is not None for b in kernel.buffers):
            # One function is enough to say that there is none: each costs as much as a small kernel.
            return [*result, f"@{kernel.name}_global = alias i64 (ptr), ptr @{kernel.name}_local"]
        lines = [
            f"define i64 @{kernel.name}_{kind}(ptr %dims) #0 {{",
            "entry:",
            *f.scopes[0].lines,
            f"  ret i64 {total}",
        ]
        result.append("\n".join([*lines, "}"]))
    return result


class Function(ShortRows):
    """One kernel's text."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        super().__init__(module, kernel)
        self.codes: set[int] = set()
        self.written.update(s.buffer for s in walk_statements(kernel.body) if isinstance(s, (Store, Atomic)))

    def text(self) -> str:
        body = self.kernel.body
        if any(isinstance(s, Loop) and s.parallel for s in body):
            self.body(body)
        else:
            first = self.emit("icmp eq i64 %lo, 0")
            self.guarded(first, lambda: self.body(body))
        if self.streamed and self.target.x86:
            # Such stores are seen by other threads in no order otherwise.
            self.call("void", "llvm.x86.sse.sfence", [])
        lines = [
            f"define i32 @{self.kernel.name}(ptr %ptrs, ptr %dims, ptr %words, ptr %ctx, i64 %lo, i64 %hi) #0 {{",
            "entry:",
            *self.scopes[0].lines,
            "  ret i32 0",
        ]
        for code in sorted(self.codes):
            lines += [f"fail.{code}:", f"  ret i32 {code}"]
        return "\n".join([*lines, "}"])

    def body(self, statements: Sequence[Statement]) -> list[str]:
        """Writes statements; nothing is carried on by them."""
        done: Statement | None = None
        for k, s in enumerate(statements):
            if s is done:
                continue
            if k + 1 < len(statements) and self.joined(s, statements[k + 1]):
                continue
            if k and isinstance(s, Reduce) and (first := self.joined(statements[k - 1], s)):
                self.reduce(s, first)
            elif isinstance(s, Store):
                if k == 0 or not isinstance(statements[k - 1], Store):
                    self.read_early(list(takewhile(lambda t: isinstance(t, Store), statements[k:])))
                then = statements[k + 1] if k + 1 < len(statements) else None
                if isinstance(then, Store) and self.is_pair(s, then):
                    self.store_pair(s, then)
                    done = then
                else:
                    self.store(s)
            elif isinstance(s, Loop):
                self.open_loop(s)
            elif isinstance(s, Reduce):
                self.reduce(s)
            elif isinstance(s, Scan):
                self.scan(s)
            elif isinstance(s, If):
                self.branch(s)
            elif isinstance(s, Fail):
                self.fail(s)
            elif isinstance(s, Atomic):
                self.atomic(s)
            elif not isinstance(s, Barrier):
                raise TypeError(
                    f"kernel {self.kernel.name!r} requires statements of the loop IR, got {type(s).__name__}"
                )
        return []

    def read_early(self, stores: Sequence[Statement]) -> None:
        """Load what all but the first of several stores read, before that one writes: an output may be the same memory
        as an input with elements of its size."""
        if len(stores) < 2:
            return
        sizes = {self.buffers[s.buffer].type.bytes for s in stores if isinstance(s, Store)}
        known = set(walk(expressions(stores[0])))
        inputs: dict[Node, bool] = {}
        for x in walk(e for s in stores[1:] for e in expressions(s)):
            own = x.op != "load" or self.buffers[x.attr].space == IN
            inputs[x] = own and all(inputs[a] for a in x.args)
            if x.op == "load" and inputs[x] and x not in known and self.buffers[x.attr].type.bytes in sizes:
                self.value(x)

    def joined(self, first: Statement, then: Statement) -> tuple[Store, ...] | None:
        """Stores over lanes that a reduction over the same axes can make on its way: it reads what they store, where
        they store it, and nothing else that is written."""
        axes: list[Axis] = []
        body: tuple[Statement, ...] = (first,)
        while len(body) == 1 and isinstance(body[0], Loop) and not body[0].parallel:
            axes.append(body[0].axis)
            body = body[0].body
        if not axes or self.lanes is not None or not isinstance(then, Reduce) or then.axes != tuple(axes):
            return None
        if axes[-1].kind != LANE or axes[-1].step != 1 or not then.monoid.commutative:
            return None
        stores = tuple(s for s in body if isinstance(s, Store) and s.where is None)
        indices = {s.buffer: s.index for s in stores}
        if len(stores) != len(body) or len(indices) != len(stores):
            return None
        for x in walk([*then.values, *([] if then.where is None else [then.where])]):
            if x.op == "load" and x.attr in self.written and (len(x.args) > 1 or indices.get(x.attr) is not x.args[0]):
                return None
        return stores

    def branch(self, s: If) -> None:
        where = self.scalar(s.where)
        self.forget()
        self.guarded(where, lambda: self.body(s.body))
        self.forget()

    def fail(self, s: Fail) -> None:
        if is_const(s.where, False):
            return
        v = self.value(s.where)
        self.at = self.here()
        where = v.scalar
        if v.vectors is not None:
            assert self.lanes is not None
            where = self.any_of([m or "" for m in self.masks(v)], self.lanes.width)
        self.codes.add(s.code)
        after, scope = self.block(), self.scopes[-1]
        self.emit_void(f"br i1 {where}, label %fail.{s.code}, label %{after}")
        self.start(scope, after)
        scope.floor = self.here()  # what follows may rely on the check
        if s.where.op == "not" and s.where not in self.volatile:
            self.remember(("holds", s.where.args[0]), True, self.here())

    def open_loop(self, s: Loop) -> None:
        axis = s.axis
        lo, hi = self.part(axis) if s.parallel else (self.scalar(axis.lo), self.scalar(axis.hi))
        self.forget()
        self.at = self.here()
        if axis.kind == TILE and self.lanes is None and len(s.body) == 1 and isinstance(s.body[0], Loop):
            if self.tile(s, s.body[0], lo, hi):
                self.forget()
                return
        if axis.kind == LANE and self.lanes is None and axis.step == 1:
            survey = Survey(axis.index, self.buffers).statements(s.body)
            if not survey.lane_by_lane:
                self.lane_loop(s, lo, hi, survey)
                self.forget()
                return
        if self.lanes is not None or not self.rows(s, lo, hi):
            self.counted(axis.index, lo, hi, axis.step, (), lambda _: self.body(s.body))
        self.forget()

    def part(self, axis: Axis) -> tuple[str, str]:
        """The indices of a part of the parallel loop."""
        if is_const(axis.lo, 0) and axis.step == 1:
            return "%lo", "%hi"
        first, end = self.scalar(axis.lo), self.scalar(axis.hi)
        lo, hi = (self.emit(f"add i64 {first}, {self.emit(f'mul i64 {n}, {axis.step}')}") for n in ("%lo", "%hi"))
        return lo, self.call("i64", "llvm.smin.i64", [("i64", hi), ("i64", end)])

    def lane_loop(self, s: Loop, lo: str, hi: str, survey: Survey) -> None:
        combined = [self.combination(x).cost for x in walk_statements(s.body) if isinstance(x, (Reduce, Scan))]
        work = survey.operations + sum(combined)
        copies: tuple[int, ...]
        if survey.nested:
            # Columns: what a step reads of each row should be many cache lines, more than results fit registers.
            many = 16 if self.target.registers > 16 else 8
            copies = (many, 4) if work <= 2 else (8, 2) if work <= 20 else (4,) if work <= 60 else (2,)
        else:
            # Chains with branches in them are long: what runs side by side hides them.
            copies = (4,) if work <= (90 if survey.branches else 8) else (2,) if work <= 40 else (1,)
        if survey.gathers and self.target.slow_gathers:
            copies = (1,)  # a copy is long
        if survey.draws:
            copies = (max(4 // c for c in survey.draws),)  # whole blocks
        width = survey.width(self.target, work)
        streams = survey.streams and not survey.nested
        streaming = tuple(t for t in s.body if streams and isinstance(t, Store) and t.streaming)
        masked = survey.masked(self.target)
        if survey.rare and masked and not streaming and not survey.nested:
            copies = ()  # what is behind branches is long: it is there once
        if s.brief and work > 8 and not survey.draws:
            copies = () if masked and not streaming else (1,)
        plan = Plan(width, copies, masked, streaming)
        self.over_lanes(s.axis.index, lo, hi, plan, (), 0, lambda _: self.body(s.body))
