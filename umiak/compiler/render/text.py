"""LLVM types, literals, and the text of one function as nested scopes of straight code.

Text is written into any open scope, not only the innermost: what is written into an outer one lands before the loop
that is open there. So an expression is placed where its operands are defined, and no pass has to hoist it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import F32, ScalarType, bits_of
from umiak.compiler.render.target import Target


@cache
def spell(t: ScalarType, lanes: int = 0, memory: bool = False) -> str:
    """The LLVM type of a value (``lanes`` of them; 0: a scalar). Storage floats are their bits."""
    if t.kind == "b":
        name = "i8" if memory else "i1"
    elif t.kind == "f" and not t.is_storage:
        name = "float" if t is F32 else "double"
    else:
        name = f"i{t.bits}"
    return f"<{lanes} x {name}>" if lanes else name


@cache
def suffix(t: ScalarType, lanes: int = 0, memory: bool = False) -> str:
    """The type in the name of an overloaded intrinsic."""
    name = f"f{t.bits}" if t.kind == "f" and not t.is_storage else "i8" if t.kind == "b" and memory else f"i{t.bits}"
    return f"v{lanes}{name}" if lanes else name


def literal(x: Any, t: ScalarType, memory: bool = False) -> str:
    """A number of a type as LLVM writes it."""
    if t.kind == "b":
        return ("1" if x else "0") if memory else "true" if x else "false"
    if t.is_storage:
        return str(bits_of(x, t))
    if t.kind == "f":
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    return str(x)


class Scope:
    """Straight code that ends in block ``label``. ``floor``: the outermost scope to which a load used here may move:
    when that one runs, the load is run at least once."""

    __slots__ = ("floor", "label", "lines", "names", "phis", "steps")

    def __init__(self, label: str, floor: int) -> None:
        self.label = label
        self.floor = floor
        self.lines: list[str] = []
        self.names: list[Any] = []  # what the memo holds of this scope
        self.phis: list[tuple[str, str, str, str]] = []  # (name, type, at first, next)
        self.steps: list[str] = []  # what computes the phis' next values


class Module:
    """The state that the functions of a module share."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.declared: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.functions: list[str] = []

    def text(self) -> str:
        t = self.target
        wide = f'"prefer-vector-width"="{t.vector_bits}" "min-legal-vector-width"="{t.vector_bits}"' if t.x86 else ""
        return "\n".join(
            [
                f'target triple = "{t.triple}"',
                f'target datalayout = "{t.data_layout}"',
                *self.declared.values(),
                *self.helpers.values(),
                *self.functions,
                f'attributes #0 = {{ nounwind "target-cpu"="{t.cpu}" "target-features"="{t.features}" {wide} }}',
                "!0 = !{i32 1}",
                "",
            ]
        )


class Writer:
    """Writes one function. ``at`` is the depth of the scope that instructions go to."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.target = module.target
        self.count = 0
        self.scopes = [Scope("entry", 0)]
        self.at = 0
        self.memo: dict[Any, Any] = {}

    def name(self) -> str:
        """Return an SSA name that is not in use yet."""
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str) -> str:
        """Append an instruction to the current scope and return the SSA name of its result."""
        self.count += 1
        self.scopes[self.at].lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def emit_void(self, text: str) -> None:
        """Append an instruction without a result to the current scope."""
        self.scopes[self.at].lines.append("  " + text)

    def call(self, type: str, name: str, args: Sequence[tuple[str, str]], flags: str = "") -> str:
        """A call of a declared function; ``args`` are pairs of type and operand."""
        if name not in self.module.declared:
            kinds = ", ".join(t.split(" align ")[0] for t, _ in args)
            self.module.declared[name] = f"declare {type} @{name}({kinds})"
        text = f"call {flags}{type} @{name}({', '.join(f'{t} {v}' for t, v in args)})"
        if type == "void":
            self.emit_void(text)
            return ""
        return self.emit(text)

    def remember(self, key: Any, value: Any, depth: int) -> Any:
        """Keeps ``value`` for as long as the scope is open."""
        self.memo[key] = value
        self.scopes[depth].names.append(key)
        return value

    # Scopes
    def open(self, floor: int | None = None) -> Scope:
        """A scope in the innermost one; by default loads do not leave it."""
        self.count += 1
        scope = Scope(f"b{self.count}", len(self.scopes) if floor is None else floor)
        self.scopes.append(scope)
        self.at = len(self.scopes) - 1
        return scope

    def close(self) -> Scope:
        scope = self.scopes.pop()
        for key in scope.names:
            self.memo.pop(key, None)
        self.at = len(self.scopes) - 1
        return scope

    def block(self) -> str:
        self.count += 1
        return f"b{self.count}"

    def start(self, scope: Scope, label: str) -> None:
        """The next block of an open scope."""
        scope.lines.append(f"{label}:")
        scope.label = label

    def guarded(
        self,
        condition: str,
        body: Callable[[], list[str]],
        other: Sequence[tuple[str, str]] = (),
        floor: int | None = None,
    ) -> list[str]:
        """Runs ``body`` if ``condition`` holds; its results, or (type, operand) ``other`` where it does not."""
        scope = self.open(floor)
        first = scope.label
        results = body()
        self.close()
        outer, done = self.scopes[-1], self.block()
        lines = outer.lines
        lines.append(f"  br i1 {condition}, label %{first}, label %{done}")
        lines.append(f"{first}:")
        lines += scope.lines
        lines.append(f"  br label %{done}")
        before = outer.label
        self.start(outer, done)
        return [
            self.emit(f"phi {t} [ {o}, %{before} ], [ {r}, %{scope.label} ]")
            for (t, o), r in zip(other, results, strict=True)
        ]

    def loop(
        self,
        lo: str,
        hi: str,
        step: int,
        carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], list[str]],
        floor: int | None = None,
    ) -> list[str]:
        """Counts from ``lo`` while below ``hi``; ``body`` gets the index and the carried values, gives their next ones.

        ``carried`` are pairs of type and first operand. Invariant text lands in the guard's scope, before the loop.
        """

        def run() -> list[str]:
            guard = len(self.scopes) - 1
            scope = self.open(self.scopes[guard].floor)
            first = scope.label
            index = self.name()
            phis = [self.name() for _ in carried]
            scope.phis.append((index, "i64", lo, after := self.name()))
            results = body(index, phis)
            self.emit_void(f"{after} = add nsw i64 {index}, {step}")
            again = self.emit(f"icmp slt i64 {after}, {hi}")
            self.close()
            outer, done = self.scopes[-1], self.block()
            lines = outer.lines
            lines.append(f"  br label %{first}")
            lines.append(f"{first}:")
            before, end = outer.label, scope.label
            scope.phis += [(p, t, o, r) for p, (t, o), r in zip(phis, carried, results, strict=True)]
            lines += [f"  {p} = phi {t} [ {o}, %{before} ], [ {r}, %{end} ]" for p, t, o, r in scope.phis]
            lines += scope.lines
            lines += scope.steps
            lines.append(f"  br i1 {again}, label %{first}, label %{done}")
            self.start(outer, done)
            return results

        condition = self.emit(f"icmp slt i64 {lo}, {hi}")
        return self.guarded(condition, run, carried, floor)

    def number(self, x: Node) -> str:
        return literal(x.attr, x.type)
