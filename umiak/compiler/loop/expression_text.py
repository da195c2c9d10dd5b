"""Text of scalar expressions. What one uses more than once gets a name, where it is first needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from umiak.compiler.loop.walk import walk

if TYPE_CHECKING:
    from umiak.compiler.loop.node import Node

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
}  # fmt: skip


def show(node: Node) -> str:
    """The text of one expression; lines that name shared parts come first."""
    lines: list[str] = []
    text = Namer([node], lines, "", [0]).text(node)
    return "\n".join([*lines, text])


class Namer:
    """Texts of the expressions of one statement. Definitions of names that they need are appended to ``lines``."""

    def __init__(self, roots: Sequence[Node], lines: list[str], indent: str, count: list[int]) -> None:
        uses = Counter(roots)
        for x in walk(roots):
            uses.update(x.args)
        self.shared = {x for x, n in uses.items() if n > 1 and x.args}
        self.lines, self.indent, self.count = lines, indent, count
        self.made: dict[Node, str] = {}

    def text(self, root: Node) -> str:
        for x in walk([root]):
            if x not in self.made:
                text = _spell(x, self.made)
                if x in self.shared:
                    name = f"t{self.count[0]}"
                    self.count[0] += 1
                    self.lines.append(f"{self.indent}{name} = {_bare(text)}")
                    text = name
                self.made[x] = text
        return _bare(self.made[root])


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


def _spell(x: Node, texts: dict[Node, str]) -> str:
    args = [texts[a] for a in x.args]
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
