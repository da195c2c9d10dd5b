"""Syntax that rewriting puts in: calls of helpers, functions of blocks."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)


def at(node: Node, like: ast.AST) -> Node:
    """Return ``node`` with the place of ``like`` for all of it that has none: of a statement of several lines the first
    one, which tracebacks show."""
    children: list[Any] = [node, *ast.walk(node)]
    for child in children:
        if "lineno" in child._attributes and (child is node or not hasattr(child, "lineno")):
            ast.copy_location(child, like)
            if child.end_lineno != child.lineno:
                child.end_lineno, child.end_col_offset = child.lineno, _end_of_head(child.lineno, like)
    return node


def _end_of_head(line: int, statement: Any) -> int:
    """The column behind the first line of a statement, as far as is known."""
    for name in ("test", "iter"):
        head = getattr(statement, name, None)
        if head is not None and head.end_lineno == line:
            return head.end_col_offset
    return statement.col_offset + 1


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def parameters(names: Sequence[str] = ()) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def thunk(value: ast.expr) -> ast.Lambda:
    """A function without parameters that evaluates an expression."""
    return at(ast.Lambda(parameters(), value), value)


def names(those: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(n) for n in those], ast.Load())


def function(name: str, takes: Sequence[str], body: Sequence[ast.stmt]) -> ast.FunctionDef:
    made: dict[str, Any] = {"name": name, "args": parameters(takes), "body": list(body), "decorator_list": []}
    if "type_params" in ast.FunctionDef._fields:
        made["type_params"] = []
    return ast.FunctionDef(**made)
