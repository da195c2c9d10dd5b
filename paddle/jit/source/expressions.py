"""Expressions rewritten: calls, logical operators, conditional expressions, reads of names that branches assign."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from paddle.jit.source import build
from paddle.jit.source.names import ITEMS, has_any, is_none
from umiak.util.syntax import is_keyword_name

_SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


_ASKED = "is_asked"


def mark_asked(nodes: Iterable[ast.AST]) -> None:
    """Note which logical operators are asked for their truth alone: of a test of a statement or expression, say."""
    for node in nodes:
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            _ask(node.test)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            _ask(node.operand)


def _ask(node: ast.expr) -> None:
    if isinstance(node, ast.BoolOp):
        setattr(node, _ASKED, True)
        for x in node.values:
            _ask(x)


def _is_flag(node: ast.expr) -> bool:
    """Return whether the value of an operand is a truth value, or is made one where it stands."""
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, (ast.Compare, ast.BoolOp, ast.Constant))


class Expressions(ast.NodeTransformer):
    """Rewrites expressions of one function.

    ``helpers`` is the name under which rewritten code knows them, ``reads`` has the names and attributes of names whose
    values may be known only while the program runs, ``nones`` those of these names that may be None, ``first``: the
    function's first parameter, which ``super()`` means; None where ``super`` is the user's own.
    """

    def __init__(self, helpers: str, reads: Collection[str], nones: Collection[str], first: str | None) -> None:
        self.helpers, self.reads, self.nones, self.first = helpers, reads, nones, first
        self.function: Callable[[ast.stmt], ast.stmt] | None = None  # rewrites what a statement defines

    def helper(self, name: str, like: ast.AST, *args: ast.expr) -> ast.Call:
        """A call of a helper, at the place of ``like``."""
        of = ast.Attribute(build.load(self.helpers), name, ast.Load())
        return build.at(ast.Call(of, list(args), []), like)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.reads:
            return self.helper("read", node, node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        place = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.attr == "stop_gradient":
            return self.helper("flag_of", node, node.value)
        if node.attr == "__dict__":
            return self.helper("namespace", node, node)
        return self.helper("read", node, node) if place in self.reads else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        of_items = isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple))
        return self.helper("read", node, node) if of_items and ITEMS in self.reads else node

    def visit_List(self, node: ast.List) -> ast.expr:
        """``[*b, x]`` as a copy of ``b`` and ``[x]``, since data may decide the length of ``b``."""
        names = [x.value for x in node.elts if isinstance(x, ast.Starred) and isinstance(x.value, ast.Name)]
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not any(x.id in self.reads for x in names):
            return node
        parts: list[ast.expr] = []
        for x in node.elts:
            if isinstance(x, ast.Starred):
                parts.append(self.helper("copied", x, x.value))
            elif parts and isinstance(parts[-1], ast.List):
                parts[-1].elts.append(x)
            else:
                parts.append(build.at(ast.List([x], ast.Load()), x))
        return functools.reduce(lambda a, b: build.at(ast.BinOp(a, ast.Add(), b), node), parts)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        if is_super and self.first is not None and not (node.args or node.keywords):
            node.args = [build.at(build.load(n), node) for n in ("__class__", self.first)]
            return node
        _spread(node)
        given = [*node.args, *(k.value for k in node.keywords)]
        hands_on = any(isinstance(x, ast.Name) and x.id in self.nones for x in given)
        if hands_on and all(k.arg is not None for k in node.keywords):  # of ``**d`` the names are known in the call
            return self._called(node)
        self.generic_visit(node)
        node.func = self.helper("call", node.func, node.func)
        return node

    def _called(self, node: ast.Call) -> ast.expr:
        """A call that is given what may be None: arguments that are names are not read."""
        args = ast.Tuple([self._given(x) for x in node.args], ast.Load())
        names = [ast.Constant(k.arg) for k in node.keywords]
        kwargs = ast.Dict([*names], [self._given(k.value) for k in node.keywords])
        return self.helper("called", node, self.visit(node.func), build.at(args, node), build.at(kwargs, node))

    def _given(self, x: ast.expr) -> ast.expr:
        return x if isinstance(x, ast.Name) and x.id in self.nones else self.visit(x)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        flags = [_is_flag(x) or not getattr(node, _ASKED, False) for x in node.values]
        self.generic_visit(node)
        if _binds(node.values[1:]):
            return node
        node.values = [x if f else self.helper("truth", x, x) for x, f in zip(node.values, flags, strict=True)]
        kind = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.helper(kind, node, node.values[0], *map(build.thunk, node.values[1:]))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self.helper("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if is_none(node):
            made = self._asks_for_none(node.left, node)
            return made if isinstance(node.ops[0], ast.Is) else self.helper("not_", node, made)
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            node.left = self._read(node.left)
        if (len(node.ops) == 1 and not _of_sizes(node)) or _binds(node.comparators):
            return node
        symbols = build.at(build.names([_SYMBOLS[type(op)] for op in node.ops]), node)
        return self.helper("compare", node, symbols, node.left, *map(build.thunk, node.comparators))

    def _asks_for_none(self, x: ast.expr, like: ast.AST) -> ast.expr:
        """``x is None``, of what a branch or loop may have left with a value on one way."""
        if isinstance(x, ast.Name) and x.id in self.reads:
            return self.helper("is_none_by", like, build.thunk(x), ast.Constant(x.id))
        if isinstance(x, ast.Subscript):
            return self.helper("is_none", like, self.generic_visit(x))  # type: ignore[arg-type]
        if not isinstance(x, ast.Attribute):
            return self.helper("is_none", like, self.visit(x))
        x.value = self.visit(x.value)
        if x.attr.startswith("__"):  # the name that it has by its class
            return self.helper("is_none", like, x)
        return self.helper("is_none_of", like, x.value, ast.Constant(x.attr))

    def _read(self, node: ast.expr) -> ast.expr:
        """Read an item or attribute, which a branch or loop may have left without a value of its own: any other use of
        it says so, a comparison of objects does not."""
        return self.helper("read", node, node) if isinstance(node, (ast.Attribute, ast.Subscript)) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if _binds([node.body, node.orelse]):
            return node
        return self.helper("choose", node, node.test, build.thunk(node.body), build.thunk(node.orelse))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        if all(_targets(t) is not None for t in node.targets):  # beside a name, which holds the value itself
            for target in node.targets:
                node.value = self.unpacked(target, node.value)
        return node

    def unpacked(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """The value that a target unpacks, which may be a tensor of an open length."""
        targets = _targets(target)
        return value if targets is None else self.helper("unpacked", value, value, ast.Constant(targets))  # type: ignore[arg-type]

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.ifs = [self.helper("decided", test, test) for test in node.ifs]
        return node

    # Scopes of their own: functions and methods are rewritten as such, what else a class has stays.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node if self.function is None else self.function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        node.bases = [self.visit(x) for x in node.bases]
        node.body = [self.visit_FunctionDef(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        return node


def _targets(target: ast.expr) -> tuple[Any, ...] | None:
    """The targets that a tuple or list of them holds, each None or those that it holds itself; None for any other, and
    where one takes what is left."""
    if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(x, ast.Starred) for x in target.elts):
        return None
    return tuple(map(_targets, target.elts))


def _of_sizes(node: ast.Compare) -> bool:
    """Return whether a comparison may be one of shapes, or of a size with several, whose truth Python itself asks."""
    if isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return not isinstance(node.comparators[0], (ast.Constant, ast.JoinedStr))
    if not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return False
    return any(isinstance(x, ast.Attribute) and x.attr == "shape" for x in ast.walk(node))


def _binds(operands: Sequence[ast.expr]) -> bool:
    """Return whether operands assign names, which a function of their own would keep to itself."""
    return has_any(operands, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))


def _spread(node: ast.Call) -> None:
    """Give the items of ``*[x, y]`` and ``**{"k": x}`` as arguments of their own: any of them may be None."""
    args: list[ast.expr] = []
    for x in node.args:
        display = x.value if isinstance(x, ast.Starred) else None
        args += display.elts if isinstance(display, (ast.List, ast.Tuple)) else [x]
    node.args = args
    dicts = [k for k in node.keywords if k.arg is None]
    if len(dicts) != 1 or not isinstance(dicts[0].value, ast.Dict):
        return
    names = [getattr(key, "value", None) for key in dicts[0].value.keys]
    named = {k.arg for k in node.keywords}
    if len({*names, *named}) == len(names) + len(named) and all(map(is_keyword_name, names)):
        given = [ast.copy_location(ast.keyword(n, v), v) for n, v in zip(names, dicts[0].value.values, strict=True)]
        at = node.keywords.index(dicts[0])
        node.keywords[at : at + 1] = given
