"""Text of symbolic expressions, which ``umiak.ir.text`` reads back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from umiak.ir.expr import Sym

_INFIX = {
    "floordiv": "//",
    "mod": "%",
    "fadd": "+",
    "fsub": "-",
    "fmul": "*",
    "fdiv": "/",
    "fpow": "**",
    "eq": "==",
    "ne": "!=",
    "le": "<=",
    "lt": "<",
    "and": "and",
    "or": "or",
}

_CALLS = {
    "min": "min",
    "max": "max",
    "fmin": "min",
    "fmax": "max",
    "cdiv": "cdiv",
    "select": "where",
    "itof": "float",
    "ftoi": "int",
    "broadcast": "broadcast",
}


def is_node(x: Any) -> bool:
    """Return whether this is a node; numbers have no ``op``."""
    return hasattr(x, "op")


def show_expression(x: Any) -> str:
    """Text that ``umiak.ir.text.parse_expression`` reads back to the same node."""
    if not is_node(x):
        return repr(x)
    if x.op == "symbol":
        return x.name
    if x.op == "add":
        return _show_sum(x)
    if x.op == "mul":
        factors = "*".join(_show_part(a) for a in x.args if is_node(a))
        if is_node(x.args[0]):
            return factors
        return f"-{factors}" if x.args[0] == -1 else f"{x.args[0]}*{factors}"
    if x.op in _CALLS:
        return f"{_CALLS[x.op]}({', '.join(map(show_expression, x.args))})"
    if x.op == "fneg":
        return f"-{_show_part(x.args[0])}"
    if x.op == "not":
        return f"not ({show_expression(x.args[0])})"
    show = _show_side if x.kind == "bool" and x.op in ("eq", "ne", "le", "lt") else _show_part
    return f" {_INFIX[x.op]} ".join(map(show, x.args))


def _show_sum(x: Sym) -> str:
    out = ""
    for i, arg in enumerate(x.args):
        text = show_expression(arg)
        if is_node(arg) and arg.op not in ("symbol", "mul") and arg.op not in _CALLS:
            text = f"({text})"
        if i == 0:
            out = text
        elif text.startswith("-"):
            out += f" - {text[1:]}"
        else:
            out += f" + {text}"
    return out


def _show_side(x: Any) -> str:
    """A side of a comparison; arithmetic binds tighter than it."""
    return _show_part(x) if is_node(x) and x.kind == "bool" else show_expression(x)


def _show_part(x: Any) -> str:
    text = show_expression(x)
    if is_node(x):
        return text if x.op == "symbol" or x.op in _CALLS else f"({text})"
    return f"({text})" if text.startswith("-") else text
