"""Readable text of kernels, a line per statement."""

from __future__ import annotations

from collections.abc import Sequence

from umiak.compiler.loop.expression_text import Namer, show
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tile_printer import show_statement, show_tile
from umiak.compiler.loop.tiles import Exchange, Pipeline
from umiak.compiler.loop.tree import (
    SERIAL,
    Atomic,
    Axis,
    Barrier,
    BlockStatement,
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
    axes_of,
    expressions,
)


def show_kernel(kernel: Kernel) -> str:
    """The text of a kernel, a line per statement."""
    lines = [f"kernel {kernel.name}({kernel.dims} dims)"]
    for b in kernel.buffers:
        size = "" if b.size is None else f"[{show(b.size)}]"
        lines.append(f"  {b.space} {b.name}: {b.type}{size}")
    lines += [f"  {show_tile(t)}" for t in kernel.tiles]
    if kernel.threads is not None:
        lines.append(f"  threads {kernel.threads}")
    show_body(kernel.body, "  ", lines, [0])
    return "\n".join(lines) + "\n"


def show_body(body: Sequence[Statement], indent: str, lines: list[str], count: list[int]) -> None:
    for s in body:
        _show_statement(s, indent, lines, count)


def _show_statement(s: Statement, indent: str, lines: list[str], count: list[int]) -> None:
    names = Namer([x for x in expressions(s) if not _is_inside(s, x)], lines, indent, count)
    inside = indent + "  "

    def condition_of(x: Node | None, names: Namer) -> str:
        return "" if x is None else f" where {names.text(x)}"

    def condition(x: Node | None) -> str:
        return condition_of(x, names)

    def spell(a: Axis) -> str:
        step = f" step {a.step}" if a.step != 1 else ""
        kind = f" {a.kind}" if a.kind != SERIAL else ""
        return f"{a.index.attr} in [{names.text(a.lo)}, {names.text(a.hi)}){step}{kind}"

    if isinstance(s, (Store, Atomic)):
        index, value, where = names.text(s.index), names.text(s.value), condition(s.where)
        verb = f" {s.op}=" if isinstance(s, Atomic) else " ="
        streaming = " streaming" if isinstance(s, Store) and s.streaming else ""
        old = f"{s.old.attr}: {s.old.type} = " if isinstance(s, Atomic) and s.old is not None else ""
        lines.append(f"{indent}{old}{s.buffer}[{index}]{verb} {value}{where}{streaming}")
    elif isinstance(s, Fail):
        lines.append(f"{indent}fail {s.code}{condition(s.where)}")
    elif isinstance(s, Barrier):
        lines.append(f"{indent}barrier")
    elif isinstance(s, Let):
        results = ", ".join(f"{r.attr}: {r.type}" for r in s.results)
        lines.append(f"{indent}{results} = {', '.join(map(names.text, s.values))}")
    elif isinstance(s, Fold):
        results = ", ".join(f"{r.attr}: {r.type}" for r in s.results)
        init = ", ".join(map(names.text, s.init))
        states = ", ".join(str(r.attr) for r in s.states)
        lines.append(f"{indent}{results} = fold {states} from {init} for {spell(s.axis)}:")
        names = Namer([*s.values, *([] if s.where is None else [s.where])], lines, inside, count)
        lines.append(f"{inside}{', '.join(map(names.text, s.values))}{condition_of(s.where, names)}")
    elif isinstance(s, If):
        lines.append(f"{indent}if {names.text(s.where)}:")
        show_body(s.body, inside, lines, count)
    elif isinstance(s, Loop):
        counter = "" if s.counter is None else f" claimed by {s.counter}"
        kind = f"{'parallel ' if s.parallel else ''}{'brief ' if s.brief else ''}"
        lines.append(f"{indent}{kind}for {spell(s.axis)}{counter}:")
        show_body(s.body, inside, lines, count)
    elif isinstance(s, (Reduce, Scan)):
        init = "" if s.init is None else " from " + ", ".join(names.text(x) for x in s.init)
        kind = "reduce" if isinstance(s, Reduce) else "exclusive scan" if s.exclusive else "scan"
        results = ", ".join(f"{r.attr}: {r.type}" for r in s.results)
        lines.append(f"{indent}{results} = {kind} {s.monoid}{init} for {', '.join(map(spell, axes_of(s)))}:")
        where_node = s.where if isinstance(s, Reduce) else None
        names = Namer([*s.values, *([where_node] if where_node is not None else [])], lines, inside, count)
        where = condition(where_node)
        lines.append(f"{inside}{', '.join(map(names.text, s.values))}{where}")
        if isinstance(s, Scan):
            lines.append(f"{inside}each:")
            show_body(s.body, inside + "  ", lines, count)
    elif isinstance(s, Exchange):
        value = names.text(s.value)
        lines.append(f"{indent}{s.result.attr}: {s.result.type} = {value} of the lane that differs by {s.mask}")
    elif isinstance(s, BlockStatement):
        lines.append(f"{indent}{show_statement(s, names)}")
        if isinstance(s, Pipeline):
            for title, body in (("produce", s.produce), ("consume", s.consume)):
                lines.append(f"{inside}{title}:")
                show_body(body, inside + "  ", lines, count)
    else:
        raise TypeError(f"printer requires a statement of loop/tree.py, got {type(s).__name__}")


def _is_inside(s: Statement, x: Node) -> bool:
    """Return whether an expression stands in the loop that its statement makes."""
    return isinstance(s, (Reduce, Scan, Fold)) and (any(x is v for v in s.values) or x is getattr(s, "where", None))
