"""List comprehensions as functions of statements, so that their loops and conditions are rewritten like others.

``[f(t) for t in x if p(t)]`` is a call of a function, defined before the statement that it stands in, which runs over
``x`` and appends to a list. Generator expressions that a built-in function takes in at once are lists first; with
conditions, ``any`` and ``all`` are functions that return at the item that decides.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from paddle.jit.source import build
from paddle.jit.source.names import Comprehension, Scope, has_any, suspends, within

if TYPE_CHECKING:
    from paddle.jit.source.rewrite import Names

COLLECTS = "collects"  # the mark of a loop that was a comprehension's
_TAKE_ALL = frozenset(("list", "max", "min", "set", "sorted", "sum", "tuple"))
_MAY_STOP = {"all": False, "any": True}  # by what an item is that decides
_STAY = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_OF_THE_FRAME = frozenset(("dir", "locals", "super", "vars"))  # without arguments they ask where they stand


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
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        x = node.args[0] if len(node.args) == 1 or (len(node.args) == 2 and name == "sum") else None
        if isinstance(x, ast.GeneratorExp) and self.names.is_builtin(name) and not _stays(x):
            if name in _TAKE_ALL:
                node.args[0] = build.at(ast.ListComp(x.elt, x.generators), x)
            elif name in _MAY_STOP and any(part.ifs for part in x.generators) and not node.keywords:
                leave = ast.Return(ast.Constant(_MAY_STOP[name]))
                test = x.elt if _MAY_STOP[name] else ast.UnaryOp(ast.Not(), x.elt)
                return self._called(x, [ast.If(test, [leave], [])], [], ast.Constant(not _MAY_STOP[name]))
        return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        if _stays(node):
            node.generators[0].iter = self.visit(node.generators[0].iter)
            return node
        items = self.names.new("items", "")
        append = ast.Call(ast.Attribute(build.load(items), "append", ast.Load()), [node.elt], [])
        start = ast.Assign([build.store(items)], ast.List([], ast.Load()))
        return self._called(node, [ast.Expr(append)], [start], build.load(items))

    def _called(
        self, node: ast.ListComp | ast.GeneratorExp, body: list[ast.stmt], before: list[ast.stmt], result: ast.expr
    ) -> ast.AST:
        """A call of a function that does ``body`` for all items; ``result``: what it returns behind its loop."""
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        given = self.names.new("items_of", "")
        name = self.names.new(f"listed_{node.lineno}", self.function)
        body = [build.at(s, node.elt) for s in body]
        for n, part in reversed(list(enumerate(node.generators))):
            for test in reversed(part.ifs):
                body = [build.at(ast.If(test, body, []), test)]
            body = [build.at(_loop(part.target, part.iter if n else build.load(given), body), node)]
        before, end = [build.at(s, node) for s in before], build.at(ast.Return(result), node)
        made = build.at(build.function(name, (given,), [*before, *body, end]), node)
        as_statements(made, self.names)
        self.made.append(made)
        return build.at(ast.Call(build.load(name), [first.iter], []), node)


def _stays(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Return whether a comprehension can be no function of statements."""
    if has_any([node], _STAY) or any(part.is_async for part in node.generators) or _calls(node, _OF_THE_FRAME, 0):
        return True
    return isinstance(node, ast.GeneratorExp) and _calls(node, {"next"}, 1)  # whose StopIteration is a RuntimeError


def _calls(node: ast.AST, functions: Collection[str], count: int) -> bool:
    """Return whether one of these functions is called there, with ``count`` arguments."""
    calls = (n for n in within([node]) if isinstance(n, ast.Call) and len(n.args) == count)
    return any(isinstance(n.func, ast.Name) and n.func.id in functions for n in calls)


def _loop(target: ast.expr, iterable: ast.expr, body: list[ast.stmt]) -> ast.For:
    made = ast.For(target, iterable, body, [], None)
    setattr(made, COLLECTS, True)
    return made
