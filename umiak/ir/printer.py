"""Readable text of programs; umiak.ir.parser reads it back to an equal program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from umiak.ir.expr import INF, Sym
from umiak.ir.expression_text import show_expression
from umiak.ir.meta import SHORT, Meta

if TYPE_CHECKING:
    from umiak.ir.program import Block, Operation, Program, Value

INDENT = "  "


def quoted(text: str) -> str:
    import json  # which takes longer to load than this module, and few programs are printed

    return json.dumps(text)


def is_dtype(x: Any) -> bool:
    return hasattr(x, "compute") and getattr(x, "name", None) in SHORT


def show_attribute(x: Any) -> str:
    """A static attribute: a number, string, dtype, op, None, or a tuple of these."""
    if x is None or isinstance(x, (bool, int, float)):
        return repr(x)
    if isinstance(x, complex):
        return f"complex({x.real!r}, {x.imag!r})"
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, tuple):
        inner = ", ".join(map(show_attribute, x))
        return f"({inner},)" if len(x) == 1 else f"({inner})"
    if is_dtype(x):
        return SHORT[x.name]
    if hasattr(x, "attributes") and hasattr(x, "name"):
        return f"{x.name}({', '.join(f'{k}={show_attribute(v)}' for k, v in x.attributes.items())})"
    if hasattr(x, "shown"):  # what the compiler makes is shown in dumps, and never parsed
        return x.shown
    raise TypeError(f"an attribute of type {type(x).__name__} cannot be written in a program: {x!r}")


def show_param(x: Any) -> str:
    if isinstance(x, (tuple, list)):
        inner = ", ".join(map(show_param, x))
        return f"({inner},)" if len(x) == 1 else f"({inner})"
    return show_attribute(x) if isinstance(x, (complex, str)) or x is None else show_expression(x)


def show_symbol(x: Sym) -> str:
    """The declaration of a symbol."""
    out = f"{x.name}: {x.kind}"
    if x.kind == "int":
        low = "(-inf" if x.lo == -INF else f"[{x.lo}"
        high = "inf)" if x.hi == INF else f"{x.hi}]"
        out += f" in {low}, {high}"
    return out if x.hint is None else f"{out} hint {x.hint!r}"


class Printer:
    """Writes text; ``number`` says which number a value is shown with."""

    def __init__(self, number: Callable[[Value], int]) -> None:
        self.number = number

    def operand(self, x: Any) -> str:
        return f"%{self.number(x)}" if hasattr(x, "producer") else show_param(x)  # a Value

    def operands(self, xs: Any) -> str:
        return ", ".join(map(self.operand, xs))

    def declaration(self, value: Value) -> str:
        return f"{self.operand(value)}: {show_meta(value.meta)}"

    def operation(self, operation: Operation, indent: str = "") -> list[str]:
        params = ""
        if operation.params:
            names = list(getattr(operation.op, "param_fields", ()))
            named = len(names) == len(operation.params)
            texts = map(show_param, operation.params)
            params = "; " + ", ".join(f"{names[i]}={t}" if named else t for i, t in enumerate(texts))
        line = f"{operation.name}({self.operands(operation.operands)}{params})"
        if operation.attributes:
            line += " {" + ", ".join(f"{k}={show_attribute(v)}" for k, v in operation.attributes.items()) + "}"
        if operation.results:
            metas = ", ".join(show_meta(r.meta) + (" stop" if r.stop else "") for r in operation.results)
            line = f"{self.operands(operation.results)} = {line} : {metas}"
        if operation.recompute:
            line += f" recompute {operation.recompute}"
        if not operation.regions:
            return [indent + line]
        lines = [f"{indent}{line} ["]
        for region in operation.regions:
            head = ", ".join(map(self.declaration, region.arguments))
            lines.append(f"{indent}{INDENT}block({head}) {{")
            lines += self.block(region, indent + 2 * INDENT, "yield")
            lines.append(f"{indent}{INDENT}}}")
        return [*lines, f"{indent}]"]

    def block(self, block: Block, indent: str, end: str) -> list[str]:
        lines = [line for operation in block.operations for line in self.operation(operation, indent)]
        return [*lines, f"{indent}{end} {self.operands(block.outputs)}".rstrip()]

    def program(self, program: Program) -> str:
        bound = {id(v): n for n, v in program.constants.items()}
        inputs = []
        for value in program.inputs:
            name = bound.get(id(value))
            inputs.append(self.declaration(value) + ("" if name is None else f" = {quoted(name)}"))
        symbols = f"; {', '.join(map(show_symbol, program.symbols))}" if program.symbols else ""
        name = f" {quoted(program.name)}" if program.name else ""
        lines = [f"program{name}({', '.join(inputs)}{symbols}) {{"]
        lines += [f"{INDENT}guard {show_expression(g)}" for g in program.guards]
        lines += [f"{INDENT}check {show_expression(c.condition)}, {quoted(c.message)}" for c in program.checks]
        lines += self.block(program.body, INDENT, "return")
        lines += [f"{INDENT}write {self.operand(w.target)} <- {self.operand(w.value)}" for w in program.effects]
        return "\n".join([*lines, "}"])


def show_meta(meta: Meta) -> str:
    return repr(meta)


def show(program: Program) -> str:
    return Printer(lambda v: v.id).program(program)


def show_operation(operation: Operation) -> str:
    return "\n".join(Printer(lambda v: v.id).operation(operation))
