"""Readable text of nests.

``@0 = p0 * d0_1 + r0 in x0``: access 0 is that sum, an index of buffer ``x0``. Stores after ``each r`` run
at each point of R, others once per point of P. What a stage uses more than once gets a name in a line before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.compiler.loop.expression_text import Namer
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.printer import show_body
from umiak.compiler.nest import (
    BodyStage,
    Chain,
    FailStage,
    Nest,
    ReduceStage,
    ScanStage,
    ScatterStage,
    Stage,
    StoreStage,
)


def show_nest(nest: Nest | Chain) -> str:
    """The text of a nest, or of the nests of a chain."""
    if isinstance(nest, Nest):
        return "\n".join(_nest(nest)) + "\n"
    lines = [f"chain {nest.name}"]
    first = len(nest.nests[0].buffers) - len(nest.temporaries)
    for t, b in zip(nest.temporaries, nest.nests[0].buffers[first:], strict=True):
        lines.append(f"  temporary {b.name}: {t.type}[{t.size}]")
    return "\n".join([*lines, *(f"  {line}" for part in nest.nests for line in _nest(part))]) + "\n"


def _nest(nest: Nest) -> list[str]:
    p = nest.n_parallel
    axes = [f"p{i}" if i < p else f"r{i - p}" for i in range(len(nest.sizes))]
    lines = [f"nest {nest.name}"]
    for axis, size in zip(axes, nest.sizes, strict=True):
        lines.append(f"  {'reduced' if axis[0] == 'r' else 'parallel'} {axis} in [0, {size})")
    lines += [f"  {'out' if b.output else 'in'} {b.name}: {b.type}" for b in nest.buffers]
    lines += [f"  d{k} = {x}" for k, x in enumerate(nest.extras)]
    for k, a in enumerate(nest.accesses):
        terms = [_term(axis, s) for axis, s in zip(axes, a.strides, strict=True) if not (type(s) is int and s == 0)]
        where = "" if a.buffer is None else f" in {a.buffer}"
        lines.append(f"  @{k} = {' + '.join(terms) or '0'}{where}")
    count = [0]
    for s in nest.stages:
        _stage(s, "  ", lines, count)
    return lines


def _term(axis: str, stride: Any) -> str:
    if type(stride) is int and stride == 1:
        return axis
    text = str(stride)
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth == 0 and c in "+-":
            return f"{axis} * ({text})"
    return f"{axis} * {text}"


def _stage(s: Stage, indent: str, lines: list[str], count: list[int]) -> None:
    maybe = [x for x in (getattr(s, "where", None), getattr(s, "end", None)) if x is not None]
    if isinstance(s, (ReduceStage, ScanStage)):
        names = Namer([*s.values, *maybe], lines, indent, count)
        results = ", ".join(f"{r.attr}: {r.type}" for r in s.results)
        kind = "reduce" if isinstance(s, ReduceStage) else f"{'exclusive ' if s.exclusive else ''}scan"
        values = ", ".join(map(names.text, s.values))
        if isinstance(s, ReduceStage):
            # `end` says what `where` does.
            condition = f" before {names.text(s.end)}" if s.end is not None else _where(s.where, names)
            lines.append(f"{indent}{results} = {kind} {s.monoid} of {values}{condition}")
            return
        lines.append(f"{indent}{results} = {'ordered ' if s.ordered else ''}{kind} {s.monoid} of {values}, each r:")
        for inner in s.body:
            _store(inner, "", f"{indent}  ", lines, count)
    elif isinstance(s, StoreStage):
        _store(s, "each r: " if s.each else "", indent, lines, count)
    elif isinstance(s, FailStage):
        condition = _where(s.where, Namer([s.where], lines, indent, count))
        lines.append(f"{indent}fail {s.code}{condition}")
    elif isinstance(s, ScatterStage):
        names = Namer([s.index, *s.values, *maybe], lines, indent, count)
        index, values = names.text(s.index), _list(s.values, names)
        verb = "=" if s.monoid is None else f"{s.monoid}="
        places = "" if len(s.values) == 1 else f" + 0..{len(s.values) - 1}"
        lines.append(f"{indent}each r: {s.buffer}[{index}{places}] {verb} {values}{_where(s.where, names)}")
    elif isinstance(s, BodyStage):
        show_body(s.body, indent, lines, count)
    else:
        raise TypeError(f"show_nest requires a stage of compiler/nest.py, got {type(s).__name__}")


def _store(s: StoreStage, prefix: str, indent: str, lines: list[str], count: list[int]) -> None:
    names = Namer([s.index, s.value, *([] if s.where is None else [s.where])], lines, indent, count)
    index, value = names.text(s.index), names.text(s.value)
    lines.append(f"{indent}{prefix}{s.buffer}[{index}] = {value}{_where(s.where, names)}")


def _list(values: Sequence[Node], names: Namer) -> str:
    return ", ".join(map(names.text, values))


def _where(x: Node | None, names: Namer) -> str:
    return "" if x is None else f" where {names.text(x)}"
