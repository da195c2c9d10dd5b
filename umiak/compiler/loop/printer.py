"""Readable text of loop IR. What an expression uses more than once gets a name, where it is first needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from umiak.compiler.loop.node import LEAVES, Node, walk
from umiak.compiler.loop.tree import (
    SERIAL,
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
    axes_of,
    expressions,
    walk_statements,
)

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
}  # fmt: skip


def show(node: Node) -> str:
    """The text of one expression; lines that name shared parts come first."""
    names = _Names(_shared([node]))
    lines: list[str] = []
    text = names.text(node, lines)
    return "\n".join([*lines, text])


def show_kernel(kernel: Kernel) -> str:
    """The text of a kernel, a line per statement."""
    lines = [f"kernel {kernel.name}({kernel.dims} dims)"]
    for b in kernel.buffers:
        size = "" if b.size is None else f"[{show(b.size)}]"
        lines.append(f"  {b.space} {b.name}: {b.type}{size}")
    written = {s.buffer for s in walk_statements(kernel.body) if isinstance(s, (Store, Atomic))}
    roots = [x for s in walk_statements(kernel.body) for x in expressions(s)]
    _show_body(kernel.body, _Names(_shared(roots), written), "  ", lines)
    return "\n".join(lines) + "\n"


def _shared(roots: Sequence[Node]) -> set[Node]:
    """Nodes with several users that are worth a name."""
    uses = Counter(roots)
    for x in walk(roots):
        uses.update(x.args)
    return {x for x, n in uses.items() if n > 1 and x.op not in LEAVES}


class _Names:
    """Names of shared nodes, visible from where they are given to the end of the body."""

    def __init__(self, shared: set[Node], written: Iterable[str] = (), outer: _Names | None = None) -> None:
        self.shared = shared
        self.written = frozenset(written)
        self.outer = outer
        self.count: list[int] = [0] if outer is None else outer.count
        self.known: dict[Node, str] = {}

    def inner(self) -> _Names:
        return _Names(self.shared, self.written, self)

    def find(self, x: Node) -> str | None:
        scope: _Names | None = self
        while scope is not None:
            if x in scope.known:
                return scope.known[x]
            scope = scope.outer
        return None

    def forget_loads(self) -> None:
        """After a statement: loads of what the kernel writes are new loads in the next one."""
        self.known = {x: n for x, n in self.known.items() if not _reads(x, self.written)}

    def text(self, x: Node, lines: list[str], indent: str = "") -> str:
        """The text of ``x``; definitions of names that it needs are appended to ``lines``."""
        made: dict[Node, str] = {}
        for y in walk([x]):
            name = self.find(y)
            if name is None:
                name = _spell(y, made)
                if y in self.shared and y is not x:
                    lines.append(f"{indent}t{self.count[0]} = {_bare(name)}")
                    name = self.known[y] = f"t{self.count[0]}"
                    self.count[0] += 1
            made[y] = name
        return _bare(made[x])


def _reads(x: Node, buffers: frozenset[str]) -> bool:
    return any(y.op == "load" and y.attr in buffers for y in walk([x]))


def _bare(text: str) -> str:
    """Without the parentheses around the whole."""
    if not text.startswith("("):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text


def _spell(x: Node, made: dict[Node, str]) -> str:
    args = [made[a] for a in x.args]
    if x.op == "const":
        return str(x.attr) if x.type.name in ("i64", "bool") else f"{x.attr}:{x.type}"
    if x.op == "dim":
        return f"d{x.attr}"
    if x.op == "word":
        return f"w{x.attr}:{x.type}"
    if x.op in ("axis", "var"):
        return str(x.attr)
    if x.op == "load":
        where = f" if {_bare(args[1])} else {_bare(args[2])}" if len(args) == 3 else ""
        return f"{x.attr}[{_bare(args[0])}{where}]"
    if x.op in INFIX:
        return f"({args[0]} {INFIX[x.op]} {args[1]})"
    if x.op == "select":
        return f"({args[1]} if {args[0]} else {args[2]})"
    name = {"cast": x.type.name, "bitcast": f"bits_{x.type}"}.get(x.op, x.op)
    return f"{name}({', '.join(map(_bare, args))})"


def _show_axis(a: Axis, names: _Names, indent: str, lines: list[str]) -> str:
    lo, hi = names.text(a.lo, lines, indent), names.text(a.hi, lines, indent)
    step = f" step {a.step}" if a.step != 1 else ""
    return f"{a.index.attr} in [{lo}, {hi}){step}" + (f" {a.kind}" if a.kind != SERIAL else "")


def _show_body(body: Sequence[Statement], names: _Names, indent: str, lines: list[str]) -> None:
    for s in body:
        _show_statement(s, names, indent, lines)
        names.forget_loads()


def _show_statement(s: Statement, names: _Names, indent: str, lines: list[str]) -> None:
    def text(x: Node) -> str:
        return names.text(x, lines, indent)

    def condition(x: Node | None) -> str:
        return "" if x is None else f" where {text(x)}"

    if isinstance(s, (Store, Atomic)):
        index, value, where = text(s.index), text(s.value), condition(s.where)
        verb = f" {s.op}=" if isinstance(s, Atomic) else " ="
        streaming = " streaming" if isinstance(s, Store) and s.streaming else ""
        lines.append(f"{indent}{s.buffer}[{index}]{verb} {value}{where}{streaming}")
    elif isinstance(s, Fail):
        lines.append(f"{indent}fail {s.code}{condition(s.where)}")
    elif isinstance(s, Barrier):
        lines.append(f"{indent}barrier")
    elif isinstance(s, If):
        lines.append(f"{indent}if {text(s.where)}:")
        _show_body(s.body, names.inner(), indent + "  ", lines)
    elif isinstance(s, Loop):
        lines.append(f"{indent}{'parallel ' if s.parallel else ''}for {_show_axis(s.axis, names, indent, lines)}:")
        _show_body(s.body, names.inner(), indent + "  ", lines)
    elif isinstance(s, (Reduce, Scan)):
        init = "" if s.init is None else " from " + ", ".join(text(x) for x in s.init)
        axes = ", ".join(_show_axis(a, names, indent, lines) for a in axes_of(s))
        kind = "reduce" if isinstance(s, Reduce) else "exclusive scan" if s.exclusive else "scan"
        results = ", ".join(f"{r.attr}: {r.type}" for r in s.results)
        lines.append(f"{indent}{results} = {kind} {s.monoid}{init} for {axes}:")
        inside = names.inner()
        where = inside.text(s.where, lines, indent + "  ") if isinstance(s, Reduce) and s.where is not None else None
        values = ", ".join(inside.text(x, lines, indent + "  ") for x in s.values)
        lines.append(f"{indent}  {values}" + (f" where {where}" if where else ""))
        if isinstance(s, Scan):
            lines.append(f"{indent}  each:")
            inside.forget_loads()
            _show_body(s.body, inside, indent + "    ", lines)
    else:
        raise TypeError(f"printer requires a statement of loop/tree.py, got {type(s).__name__}")
