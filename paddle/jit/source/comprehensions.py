"""List comprehensions as functions of statements, so that their loops and conditions are rewritten like others.

``[f(t) for t in x if p(t)]`` is a call of a function, defined before the statement that it stands in, which runs over
``x`` and appends to a list. Generator expressions that a built-in function takes in at once are lists first.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paddle.jit.source import build
from paddle.jit.source.names import Comprehension, Scope, has_any, suspends

if TYPE_CHECKING:
    from paddle.jit.source.rewrite import Names

COLLECTS = "collects"  # the mark of a loop that was a comprehension's
_TAKE_ALL = frozenset(("list", "max", "min", "set", "sorted", "sum", "tuple"))
_MAY_STOP = frozenset(("all", "any"))  # before the last item: only conditions are worth computing the others
_STAY = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def as_statements(node: Any, names: Names) -> None:
    """Take the comprehensions out of a function, in place."""
    if isinstance(node, ast.Lambda) or suspends(node):
        return
    node.body = _block(node.body, names, node.name)


def _block(statements: Sequence[ast.stmt], names: Names, function: str) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.ClassDef):
            out.append(s)
            continue
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            as_statements(s, names)
            out.append(s)
            continue
        taken = _Taken(names, function)
        for field, value in ast.iter_fields(s):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(s, field, _block(value, names, function))
            elif isinstance(value, list) and value and isinstance(value[0], (ast.ExceptHandler, ast.match_case)):
                for part in value:
                    part.body = _block(part.body, names, function)
            elif isinstance(value, ast.expr):
                setattr(s, field, taken.visit(value))
            elif isinstance(value, list):
                setattr(s, field, [taken.visit(x) if isinstance(x, (ast.expr, ast.withitem)) else x for x in value])
        out += [*taken.made, s]
    return out


class _Taken(ast.NodeTransformer):
    """Puts calls in place of the comprehensions of one statement. ``made``: the functions that are called."""

    def __init__(self, names: Names, function: str) -> None:
        self.names, self.function = names, function
        self.made: list[ast.stmt] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, Scope):
            return node
        if isinstance(node, Comprehension) and not isinstance(node, ast.ListComp):
            node.generators[0].iter = self.visit(node.generators[0].iter)
            return node  # what else it has is evaluated where its own names are
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        x = node.args[0] if len(node.args) == 1 else None
        if isinstance(node.func, ast.Name) and isinstance(x, ast.GeneratorExp):
            name = node.func.id
            if name in _TAKE_ALL or (name in _MAY_STOP and any(part.ifs for part in x.generators)):
                node.args = [build.at(ast.ListComp(x.elt, x.generators), x)]
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        if has_any([node], _STAY) or any(part.is_async for part in node.generators):
            return node
        given, items = self.names.new("items_of", ""), self.names.new("items", "")
        name = self.names.new(f"listed_{node.lineno}", self.function)
        append = ast.Call(ast.Attribute(build.load(items), "append", ast.Load()), [node.elt], [])
        body: list[ast.stmt] = [build.at(ast.Expr(append), node.elt)]
        for n, part in reversed(list(enumerate(node.generators))):
            for test in reversed(part.ifs):
                body = [build.at(ast.If(test, body, []), test)]
            body = [build.at(_loop(part.target, part.iter if n else build.load(given), body), node)]
        start = build.at(ast.Assign([build.store(items)], ast.List([], ast.Load())), node)
        end = build.at(ast.Return(build.load(items)), node)
        made = build.at(build.function(name, (given,), [start, *body, end]), node)
        as_statements(made, self.names)
        self.made.append(made)
        return build.at(ast.Call(build.load(name), [first.iter], []), node)


def _loop(target: ast.expr, iterable: ast.expr, body: list[ast.stmt]) -> ast.For:
    made = ast.For(target, iterable, body, [], None)
    setattr(made, COLLECTS, True)
    return made
