"""The names that statements bind, and what else is asked of a piece of syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
UNREAD = "."  # before a name that nothing reads behind a statement
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all below, without the inside of other scopes."""
    for node in nodes:
        yield node
        if not isinstance(node, Scope):
            yield from within(ast.iter_child_nodes(node))


def bound_by(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements bind in their scope, in order."""
    out: dict[str, None] = {}
    for node in nodes:
        _bound(node, out, False)
    return list(out)


def _bound(node: ast.AST, out: dict[str, None], in_comprehension: bool) -> None:
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, Scope):
        out[node.name] = None  # type: ignore[union-attr]
        return
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, (ast.Store, ast.Del)) and not in_comprehension:
            out[node.id] = None
    elif isinstance(node, ast.NamedExpr):
        out[node.target.id] = None
        _bound(node.value, out, in_comprehension)
        return
    elif isinstance(node, ast.alias):
        out[(node.asname or node.name).split(".")[0]] = None
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        out[node.name] = None
    elif isinstance(node, ast.MatchMapping) and node.rest:
        out[node.rest] = None
    inner = in_comprehension or isinstance(node, Comprehension)
    for child in ast.iter_child_nodes(node):
        _bound(child, out, inner)


def attributes_set(nodes: Iterable[ast.AST]) -> list[str]:
    """The attributes of names that statements set, as ``self.x``."""
    return list(
        dict.fromkeys(
            f"{n.value.id}.{n.attr}" for n in within(nodes)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        )
    )  # fmt: skip


def bound_anywhere(tree: ast.AST) -> set[str]:
    """The names that a tree binds in any of its scopes."""
    out: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            out[node.arg] = None
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            out.update(dict.fromkeys(node.names))
        else:
            _bound(node, out, False)
    return set(out)


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    """The names in ``global`` or ``nonlocal`` statements of a scope."""
    return {name for n in within(nodes) if isinstance(n, kind) for name in n.names}


def declared_inside(nodes: Iterable[ast.AST]) -> list[str]:
    """The names of a scope that functions defined in these statements assign by ``nonlocal``, in order."""
    scopes = [n for n in within(nodes) if isinstance(n, Scope) and not isinstance(n, ast.Lambda)]
    out: dict[str, None] = {}
    for scope in scopes:
        out.update(dict.fromkeys(sorted(declared(scope.body, ast.Nonlocal))))
        out.update(dict.fromkeys(n for n in declared_inside(scope.body) if n not in bound_by(scope.body)))
    return list(out)


def has_any(nodes: Iterable[ast.AST], kinds: Any) -> bool:
    """Return whether there is a node of these kinds, inner scopes aside."""
    return any(isinstance(n, kinds) for n in within(nodes))


def suspends(node: Any) -> bool:
    """Return whether a function is a generator or a coroutine."""
    body = node.body if isinstance(node.body, list) else [node.body]
    return isinstance(node, ast.AsyncFunctionDef) or has_any(body, _SUSPENDS)


def identifiers(tree: ast.AST) -> set[str]:
    """All identifiers of a tree, wherever they are bound."""
    out: set[str] = set()
    for node in ast.walk(tree):
        for field in ("id", "name", "arg", "attr", "asname", "rest"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                out.add(value)
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            out.update(node.names)
    return out


ITEMS = "[]"  # among names: items of what the text reads


def asked_for_none(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names and attributes that the text asks whether they are None, and those that a conditional expression or a
    function of the user's may leave so; ``ITEMS`` where items are asked."""
    for node in nodes:
        if is_none(node):
            assert isinstance(node, ast.Compare)
            yield from _named(node.left)
            if isinstance(node.left, ast.Subscript):
                yield ITEMS
        elif isinstance(node, ast.Assign) and _may_be_none(node.value):
            for target in node.targets:
                yield from _named(target)


_NONE_BY_DEFAULT = "is_none_by_default"


def mark_defaults(a: ast.arguments) -> None:
    """Note which parameters are None unless they are given."""
    last = [*a.posonlyargs, *a.args][::-1]
    pairs = [*zip(last, a.defaults[::-1], strict=False), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    for p, default in pairs:
        if default is not None and _is_none(default):
            setattr(p, _NONE_BY_DEFAULT, True)


def may_be_none(a: ast.arguments, nodes: Iterable[ast.AST]) -> set[str]:
    """The names of a function that its text sets to None on some way, and parameters that are None by default."""
    out = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if hasattr(p, _NONE_BY_DEFAULT)}
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _gives_none(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            out.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
    return out


def _gives_none(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return _gives_none(node.body) or _gives_none(node.orelse)
    return any(map(_gives_none, node.elts)) if isinstance(node, ast.Tuple) else _is_none(node)


def aliases(names: Iterable[str], nodes: Iterable[ast.AST]) -> set[str]:
    """The names that assignments of the text make others of what one of ``names`` holds."""
    assigned = [n for n in nodes if isinstance(n, ast.Assign)]
    pairs = [({*bound_by(n.targets)}, {*_given_on(n.value)}) for n in assigned]
    pairs += [({*bound_by(n.targets[:1])}, {*bound_by(n.targets[1:])}) for n in assigned]  # a = b = [...]
    known, out = set(names), set[str]()
    while True:
        more = set().union(*(x | y for x, y in pairs if x and y and not known.isdisjoint(x | y)))
        if more <= known:
            return out
        out |= more
        known |= more


def _given_on(node: ast.expr) -> Iterator[str]:
    """The names, and attributes of names, whose values an expression hands on as they are."""
    if isinstance(node, (ast.Tuple, ast.List)):
        parts: Sequence[ast.expr] = node.elts
    elif isinstance(node, ast.IfExp):
        parts = node.body, node.orelse
    else:
        parts = node.values if isinstance(node, ast.BoolOp) else ()
    yield from _named(node)
    for part in parts:
        yield from _given_on(part)


def _named(node: ast.expr) -> Iterator[str]:
    """A name, or an attribute of one, as ``attributes_set`` has it."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield f"{node.value.id}.{node.attr}"


def none_last(nodes: Iterable[ast.AST]) -> None:
    """Have ``None is x`` be ``x is None``."""
    for node in nodes:
        if isinstance(node, ast.Compare) and _is_none(node.left) and len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)):
                node.left, node.comparators = node.comparators[0], [node.left]


def is_none(node: ast.AST) -> bool:
    """Return whether an expression is ``x is None``, or its contrary."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return False
    return _is_none(node.comparators[0])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _may_be_none(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return any(_is_none(x) or _may_be_none(x) for x in (node.body, node.orelse))
    if not isinstance(node, ast.Call):
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    return isinstance(owner, ast.Name) and (owner is node.func or owner.id == "self")
