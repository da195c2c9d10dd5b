"""Statements rewritten: branches and loops as calls of helpers with a function for each block.

A block becomes a function without parameters, whose names are those of the function around it (``nonlocal``). It
returns None where it runs to its end, otherwise how it is left: ``return``, ``break`` and ``continue`` are values
there, and what follows a statement that may be left goes into the other branch, or into a function of its own.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paddle.jit.source import build
from paddle.jit.source.comprehensions import COLLECTS, as_statements
from paddle.jit.source.expressions import Expressions, mark_asked
from paddle.jit.source.names import (
    UNREAD,
    Scope,
    aliases,
    asked_for_none,
    attributes_set,
    bound_anywhere,
    bound_by,
    declared,
    declared_inside,
    identifiers,
    mark_defaults,
    may_be_none,
    none_last,
    suspends,
    within,
)

_LOOPS = (ast.While, ast.For)
_BRANCHES = (ast.If, *_LOOPS)
_BLOCKS: tuple[type, ...] = (ast.With, ast.Try, ast.Match)  # statements that hold others and stay as they are
if hasattr(ast, "TryStar"):
    _BLOCKS += (ast.TryStar,)


class Names:
    """Names for what rewriting adds, none of which the user's text has. ``made``: by name the user's function;
    ``outer``: what names have a value outside of the text."""

    def __init__(self, tree: ast.AST, outer: Mapping[str, Any]) -> None:
        self._taken = identifiers(tree)
        self._bound = bound_anywhere(tree)
        self._outer = outer
        self.made: dict[str, str] = {}
        self.helpers = self.new("jst", "")

    def is_builtin(self, name: str) -> bool:
        """Return whether a name of the text is that of a built-in function, and nothing else."""
        function = getattr(builtins, name, None)
        return function is not None and name not in self._bound and self._outer.get(name, function) is function

    def new(self, base: str, function: str) -> str:
        name, n = base, 1
        while name in self._taken:
            n += 1
            name = f"{base}_{n}"
        self._taken.add(name)
        if function:
            self.made[name] = function
        return name


class _End:
    """The end of a block: ``kind`` is "function" for the user's function itself, "tail" for the function of a block
    behind which nothing of the user's function is left to do, "block" for that of another one, and "held" where how it
    was left is kept in the name ``at``."""

    def __init__(self, kind: str, at: str = "") -> None:
        self.kind, self.at = kind, at


_FUNCTION, _TAIL, _BLOCK = _End("function"), _End("tail"), _End("block")


def rewrite(node: Any, names: Names) -> Any:
    """Rewrite the definition of a function in place, and return it. Generators and coroutines stay as they are."""
    as_statements(node, names)
    none_last(ast.walk(node))
    return _Function(node, names, ()).rewritten()


class _Function:
    """One function. ``reads``: names of functions around it that their branches assign."""

    def __init__(self, node: Any, names: Names, reads: Iterable[str]) -> None:
        self.node, self.names = node, names
        a = node.args
        self.parameters = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p is not None]
        body = [] if isinstance(node, ast.Lambda) else node.body
        self.globals = declared(body, ast.Global)
        self.nonlocals = declared(body, ast.Nonlocal)
        branches: list[ast.AST] = [n for n in within(body) if isinstance(n, _BRANCHES)]
        # What follows a branch that may be left becomes a part of it.
        parts = body if any(map(_may_leave, branches)) else branches
        self.reads = {*reads, *bound_by(parts), *attributes_set(parts), *asked_for_none(within(body))}
        # Lists that branches and loops change the length of are arrays behind them, by other names, too.
        used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
        self.reads |= aliases({*used, *self.reads}, within(body))
        first = [p.arg for p in (*a.posonlyargs, *a.args)][:1] if names.is_builtin("super") else []
        mark_asked(ast.walk(node.body) if isinstance(node, ast.Lambda) else within(body))
        mark_defaults(a)
        nones = may_be_none(a, within(body)) & self.reads
        self.expressions = Expressions(names.helpers, self.reads, nones, first[0] if first else None)
        self.expressions.function = self._inner
        self.assigned: dict[str, None] = {}  # by functions of blocks
        self._tries = 0  # ``try`` statements around what is being rewritten
        inner = [n for n in within(body) if isinstance(n, Scope)]
        # What is seen when the function has returned.
        self.outlives = {*self.globals, *self.nonlocals}.union(*map(identifiers, inner))

    def rewritten(self) -> Any:
        node = self.node
        if suspends(node):
            return node
        if isinstance(node, ast.Lambda):
            node.body = self.expressions.visit(node.body)
            return node
        body = list(node.body)
        if any(_may_leave(s) for s in body if isinstance(s, (*_BRANCHES, *_BLOCKS))) and not _always_leaves(body):
            body.append(build.at(ast.Return(ast.Constant(None)), body[-1]))
        made = self.block(body, _FUNCTION)
        own = [n for n in self.assigned if n not in {*self.parameters, *self.globals, *self.nonlocals}]
        # An annotation alone makes a name local, which the functions of blocks refer to.
        here = [build.at(ast.AnnAssign(build.store(n), ast.Constant(...), None, 1), node.body[0]) for n in own]
        doc = 1 if ast.get_docstring(node, False) is not None else 0
        node.body = [*made[:doc], *here, *made[doc:]]
        return node

    def _inner(self, node: Any) -> Any:
        """A function that is defined inside."""
        node.decorator_list = [self.expressions.visit(x) for x in node.decorator_list]
        for field in ("defaults", "kw_defaults"):
            values = getattr(node.args, field)
            setattr(node.args, field, [None if x is None else self.expressions.visit(x) for x in values])
        return _Function(node, self.names, self.reads).rewritten()

    # --- blocks

    def block(self, statements: Sequence[ast.stmt], end: _End) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for i, s in enumerate(statements):
            rest = list(statements[i + 1 :])
            if isinstance(s, (ast.Return, ast.Break, ast.Continue)):
                out.append(self._leave(s, end))
                return out  # what follows is never run
            if isinstance(s, ast.If):
                leaves = _may_leave(s)
                body, orelse = s.body, s.orelse
                if leaves and _always_leaves(body):
                    orelse, rest = [*orelse, *rest], []
                elif leaves and _always_leaves(orelse):
                    body, rest = [*body, *rest], []
                last = leaves and not rest
                call = self._if(s, body, orelse, out, _TAIL if last and end.kind in ("function", "tail") else _BLOCK)
            elif isinstance(s, _LOOPS):
                leaves = _may_leave(s)
                if _always_leaves([s]):
                    rest = []
                call = self._loop(s, out)
            elif isinstance(s, _BLOCKS):
                if not self._holds(s, end):
                    out.append(self._inside(s, end))
                    continue
                leaves = True
                held = self.names.new(f"left_{s.lineno}", "")
                out.append(build.at(ast.Assign([build.store(held)], ast.Constant(None)), s))
                if _always_leaves([s]):
                    rest = []
                out.append(self._inside(s, _End("held", held)))
                call = build.at(build.load(held), s)
            else:
                out += self._simple(s)
                continue
            if leaves:
                out += self._ended(s, call, rest, end)
                return out
            out.append(build.at(ast.Expr(call), s))
        return out

    def _leave(self, s: ast.stmt, end: _End) -> ast.stmt:
        """``return``, ``break`` or ``continue``."""
        h = self.expressions
        if isinstance(s, ast.Return):
            value = build.at(ast.Constant(None), s) if s.value is None else h.visit(s.value)
            if end.kind == "function":
                s.value = value
                return s
            left: ast.expr = h.helper("returned", s, value)
        else:
            kind = "BREAK" if isinstance(s, ast.Break) else "CONTINUE"
            left = ast.Attribute(build.load(h.helpers), kind, ast.Load())
        return build.at(ast.Assign([build.store(end.at)], left) if end.kind == "held" else ast.Return(left), s)

    def _ended(self, s: ast.stmt, call: ast.expr, rest: Sequence[ast.stmt], end: _End) -> list[ast.stmt]:
        """A block whose last statement is ``call``, which may be left, and that goes on with ``rest``."""
        out: list[ast.stmt] = []
        h = self.expressions
        if rest:
            inner = _TAIL if end.kind in ("function", "tail") else _BLOCK
            name = self._defined(f"rest_{rest[0].lineno}", rest, out, rest[0], end=inner)
            call = h.helper("then", s, call, build.load(name), build.names(self._changed(rest, inner)))
        if end.kind == "held":
            out.append(build.at(ast.Assign([build.store(end.at)], call), s))
        else:
            out.append(build.at(ast.Return(h.helper("result", s, call) if end.kind == "function" else call), s))
        return out

    def _defined(
        self,
        base: str,
        statements: Sequence[ast.stmt],
        out: list[ast.stmt],
        like: ast.AST,
        takes: Sequence[str] = (),
        first: Sequence[ast.stmt] = (),
        end: _End = _BLOCK,
    ) -> str:
        """Define the function of a block in ``out``; ``first``: what is done before."""
        name = self.names.new(base, self.node.name)
        body = self._declarations(bound_by([*first, *statements]), like)
        body += [*first, *self.block(statements, end)]
        out.append(build.at(build.function(name, takes, body or [ast.Pass()]), like))
        return name

    def _declarations(self, bound: Sequence[str], like: ast.AST) -> list[ast.stmt]:
        """Have names that the function of a block assigns be those of the function around it."""
        of_module = [n for n in bound if n in self.globals]
        around = [n for n in bound if n not in self.globals]
        self.assigned.update(dict.fromkeys(around))
        kinds = (ast.Global, of_module), (ast.Nonlocal, around)
        return [build.at(kind(those), like) for kind, those in kinds if those]

    def _changed(self, statements: Sequence[ast.AST], end: _End = _BLOCK) -> list[str]:
        """The names and attributes that statements assign. Those that nothing reads behind them have a mark."""
        bound = [n if end.kind != "tail" or n in self.outlives else UNREAD + n for n in bound_by(statements)]
        return [*bound, *declared_inside(statements), *attributes_set(statements)]

    # --- branches and loops

    def _if(self, s: ast.If, body: list[ast.stmt], orelse: list[ast.stmt], out: list[ast.stmt], end: _End) -> ast.expr:
        changed = build.names(self._changed([*body, *orelse], end))
        test = self.expressions.visit(s.test)
        then = self._defined(f"then_{s.lineno}", body, out, s, end=end)
        other: ast.expr = ast.Constant(None)
        if orelse:
            other = build.load(self._defined(f"else_{orelse[0].lineno}", orelse, out, orelse[0], end=end))
        return self.expressions.helper("if_", s, test, build.load(then), other, changed)

    def _loop(self, s: ast.While | ast.For, out: list[ast.stmt]) -> ast.expr:
        h = self.expressions
        if isinstance(s, ast.While):
            changed = self._changed([ast.Expr(s.test), *s.body])
            test = build.at(ast.Return(h.visit(s.test)), s.test)
            driver = self._test(s, test, out)
            body = self._defined(f"body_{s.lineno}", s.body, out, s)
            kind = "while_"
        else:
            changed = self._changed([ast.Assign([s.target], ast.Constant(None)), *s.body])
            driver = h.visit(s.iter)
            item = self.names.new(f"item_{s.lineno}", "")
            value = h.unpacked(s.target, build.at(build.load(item), s.target))
            first = build.at(ast.Assign([h.visit(s.target)], value), s.target)
            body = self._defined(f"body_{s.lineno}", s.body, out, s, (item,), (first,))
            kind = "collect" if hasattr(s, COLLECTS) else "for_"
        args = [driver, build.load(body), build.names(changed)]
        if s.orelse:
            args.append(build.load(self._defined(f"else_{s.orelse[0].lineno}", s.orelse, out, s.orelse[0])))
            args.append(build.names(self._changed(s.orelse)))
        return h.helper(kind, s, *args)

    def _test(self, s: ast.While, test: ast.Return, out: list[ast.stmt]) -> ast.expr:
        assert test.value is not None
        bound = bound_by([test])
        if not bound:
            return build.thunk(test.value)
        name = self.names.new(f"test_{s.lineno}", self.node.name)
        out.append(build.at(build.function(name, (), [*self._declarations(bound, s), test]), s))
        return build.load(name)

    # --- statements that hold others

    def _holds(self, s: ast.stmt, end: _End) -> bool:
        """Return whether how a statement is left has to be kept: it may be left by what becomes a function."""
        if not _may_leave(s):
            return False
        inner = [n for n in within([s]) if isinstance(n, _BRANCHES)]
        return end.kind == "held" or any(_may_leave(n) for n in inner) or isinstance(s, ast.Match)

    def _inside(self, s: Any, end: _End) -> ast.stmt:
        """A statement that holds others, with these rewritten."""
        v = self.expressions.visit
        if isinstance(s, ast.With):
            s.items = [v(item) for item in s.items]
            s.body = self.block(s.body, end)
        elif isinstance(s, ast.Match):
            s.subject = v(s.subject)
            for case in s.cases:
                case.guard = (
                    None if case.guard is None else self.expressions.helper("decided", case.guard, v(case.guard))
                )
                case.body = self.block(case.body, end)
        else:
            self._tries += 1
            s.body = self.block(s.body, end)
            self._tries -= 1
            for handler in s.handlers:
                handler.type = None if handler.type is None else v(handler.type)
                handler.body = self.block(handler.body, end)
            if end.kind == "held" and s.orelse:
                # What leaves the body skips ``else``.
                s.orelse = self._ended(s, build.at(build.load(end.at), s), s.orelse, end)
            else:
                s.orelse = self.block(s.orelse, end)
            if end.kind == "held" and any(map(_may_leave, s.finalbody)):
                # What leaves ``finally`` stands in for what has left the body.
                last = self.names.new(end.at, "")
                s.finalbody = self.block(s.finalbody, _End("held", last))
                before = build.thunk(build.at(build.load(end.at), s))
                call = self.expressions.helper("then", s, build.load(last), before, build.names(()))
                s.finalbody.insert(0, build.at(ast.Assign([build.store(last)], ast.Constant(None)), s))
                s.finalbody.append(build.at(ast.Assign([build.store(end.at)], call), s))
            else:
                s.finalbody = self.block(s.finalbody, end)
        return s

    # --- the rest

    def _simple(self, s: ast.stmt) -> list[ast.stmt]:
        h = self.expressions
        if isinstance(s, ast.Assert):
            args = [h.visit(s.test)]
            if s.msg is not None:
                args.append(build.thunk(h.visit(s.msg)))
            return [build.at(ast.Expr(h.helper("assert_", s, *args)), s)]
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id in self.reads:
            name = s.target.id
            known = h.helper("read", s.target, build.load(name))
            s.value = h.visit(s.value)
            return [build.at(ast.Assign([build.store(name)], known), s), s]
        if isinstance(s, ast.Raise) and s.exc is not None:
            s.exc = h.helper("raised", s.exc, h.visit(s.exc), ast.Constant(self._tries > 0))
            s.cause = None if s.cause is None else h.visit(s.cause)
            return [s]
        return [*self._flagged(s), h.visit(s)]

    def _flagged(self, s: ast.stmt) -> list[ast.stmt]:
        """Notes before a statement that sets flags of tensors."""
        targets = s.targets if isinstance(s, ast.Assign) else ()
        owners = [t.value for t in targets if isinstance(t, ast.Attribute) and _is_flag(t)]
        h = self.expressions
        return [build.at(ast.Expr(h.helper("flagged", s, h.visit(copy.deepcopy(x)))), s) for x in owners]


def _is_flag(target: ast.Attribute) -> bool:
    """Return whether ``x.stop_gradient`` is assigned, of an ``x`` that is reached by names."""
    kinds = (ast.Name, ast.Attribute, ast.expr_context)
    return target.attr == "stop_gradient" and all(isinstance(x, kinds) for x in ast.walk(target))


def _may_leave(s: Any) -> bool:
    """Return whether a statement may be left other than by running to its end."""
    return _leaves(s, False)


def _leaves(node: ast.AST, in_loop: bool) -> bool:
    if isinstance(node, Scope):
        return False
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return not in_loop
    if isinstance(node, (*_LOOPS, ast.AsyncFor)):
        return any(_leaves(n, True) for n in node.body) or any(_leaves(n, in_loop) for n in node.orelse)
    return any(_leaves(n, in_loop) for n in ast.iter_child_nodes(node))


def _always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Return whether a block never runs to its end."""
    for s in statements:
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return True
        if isinstance(s, ast.If) and _always_leaves(s.body) and _always_leaves(s.orelse):
            return True
        if isinstance(s, ast.While) and isinstance(s.test, ast.Constant) and s.test.value:
            if not any(map(_breaks, s.body)):
                return True
        if isinstance(s, ast.Try) and _always_leaves([*s.body, *s.orelse]):
            if all(_always_leaves(h.body) for h in s.handlers):
                return True
    return False


def _breaks(node: ast.AST) -> bool:
    """Return whether a statement of a loop's body ends the loop by ``break``."""
    if isinstance(node, Scope):
        return False
    if isinstance(node, (*_LOOPS, ast.AsyncFor)):
        return any(map(_breaks, node.orelse))
    return isinstance(node, ast.Break) or any(map(_breaks, ast.iter_child_nodes(node)))
