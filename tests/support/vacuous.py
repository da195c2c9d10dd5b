"""Finds tests that cannot fail: without an assertion, with one that always holds, or with one whose failure is caught.

A helper counts as an assertion where its own source has one, followed through the modules of the tests. What only shows
when tests run, such as a loop over nothing, is not seen here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.support.garbage import without_collections
from tests.support.syntax import Syntax

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Calls that fail by themselves: of pytest, of subprocess.
FAILING = {"raises", "warns", "deprecated_call", "fail", "check_call", "check_output"}
# Runs a function of the tests by its name.
BY_NAME = {"simulate"}
# These would accept any mistake of the test itself.
BROAD = {"Exception", "BaseException"}


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    test: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.test} {self.what}"


@dataclass
class Module:
    path: str
    syntax: Syntax
    functions: dict[str, ast.AST] = field(default_factory=dict)
    imported: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    @classmethod
    def parse(cls, path: str, text: str) -> Module:
        made = cls(path, Syntax(text))
        for node in made.syntax.tree.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                made.functions[node.name] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):  # a table of functions, a lambda
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                made.functions |= {t.id: node for t in targets if isinstance(t, ast.Name)}
        for node in made.syntax.nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    made.imported[name.asname or name.name] = (node.module, name.name)
            elif isinstance(node, ast.Import):
                for name in node.names:
                    made.imported[name.asname or name.name] = (name.name, None)
        return made

    @property
    def stem(self) -> str:
        return Path(self.path).stem


def called_name(call: ast.Call) -> str:
    f = call.func
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def fails_by_itself(node: ast.AST) -> bool:
    """Whether a node is an assertion: a statement, or a call that raises when what it looks at is wrong."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    check = keyword(node, "check")
    checked = name == "run" and isinstance(check, ast.Constant) and check.value is True
    return name in FAILING or name in BY_NAME or name.startswith("assert_") or checked


def is_test(node: ast.AST) -> bool:
    return isinstance(node, FUNCTIONS) and node.name.startswith("test_")


def tests_of(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that pytest collects: of the module, and of its classes."""
    for node in tree.body:
        if is_test(node):
            yield node  # type: ignore[misc]
        elif isinstance(node, ast.ClassDef):
            yield from (n for n in node.body if is_test(n))  # type: ignore[misc]


class Checker:
    """The modules of a tree of tests, which may call each other's helpers."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = list(modules)
        self.by_stem: dict[str, list[Module]] = {}
        for m in self.modules:
            self.by_stem.setdefault(m.stem, []).append(m)
        self.known: dict[int, bool] = {}

    @classmethod
    def of_folder(cls, folder: Path) -> Checker:
        paths = sorted(folder.rglob("*.py"))
        with without_collections():
            return cls(Module.parse(str(p.relative_to(folder.parent)), p.read_text()) for p in paths)

    @cached_property
    def fixtures(self) -> dict[str, list[tuple[Module, ast.AST]]]:
        """Functions by name that pytest gives to tests as arguments."""
        found: dict[str, list[tuple[Module, ast.AST]]] = {}
        for m in self.modules:
            for name, node in m.functions.items():
                for d in node.decorator_list if isinstance(node, FUNCTIONS) else ():
                    if "fixture" in ast.unparse(d):
                        renamed = keyword(d, "name") if isinstance(d, ast.Call) else None
                        key = renamed.value if isinstance(renamed, ast.Constant) else name
                        found.setdefault(str(key), []).append((m, node))
        return found

    def helpers(self, module: Module, name: str, member: str | None = None) -> Iterator[tuple[Module, ast.AST]]:
        """What ``name``, or ``name.member``, is in a module."""
        if member is None and name in module.functions:
            yield module, module.functions[name]
            return
        source, original = module.imported.get(name, (None, None))
        if source is None:
            yield from self.fixtures.get(name, ())
            return
        wanted = member if original is None else original
        stems = [source.rpartition(".")[2]] + ([original] if original is not None and member is not None else [])
        for stem in stems:
            for other in self.by_stem.get(stem, ()):
                for key in {wanted, member} - {None}:
                    if key in other.functions:
                        yield other, other.functions[key]

    def asserts(self, module: Module, node: ast.AST) -> bool:
        """Whether something inside a function can fail."""
        if id(node) in self.known:
            return self.known[id(node)]
        self.known[id(node)] = False  # a helper that calls itself
        parts = module.syntax.walk(node)
        found = any(map(fails_by_itself, parts))
        if not found:
            # Also what is handed over: `run_threads(work)`, `parametrize(..., check)`, and decorators.
            names = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            pairs = {
                (n.value.id, n.attr) for n in parts if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
            }
            looked_up: list[tuple[str, str | None]] = [*((n, None) for n in sorted(names)), *sorted(pairs)]
            found = any(self.asserts(*h) for n, m in looked_up for h in self.helpers(module, n, m) if h[1] is not node)
        self.known[id(node)] = found
        return found

    def findings(self) -> list[Finding]:
        found = []
        for module in self.modules:
            if not module.stem.startswith("test_"):
                continue
            for test in tests_of(module.syntax.tree):
                marks = "\n".join(map(ast.unparse, test.decorator_list))
                if not self.asserts(module, test) and "skip(" not in marks:
                    found.append(Finding(module.path, test.lineno, test.name, "asserts nothing"))
            for node in module.syntax.nodes:
                for line, what in problems(node) if type(node) in PROBLEMATIC else ():
                    found.append(Finding(module.path, line, "", what))
        return found


PROBLEMATIC = {ast.Assert, ast.Try, ast.Call, ast.For}  # what `problems` knows; most nodes are none of these


def problems(node: ast.AST) -> Iterator[tuple[int, str]]:
    """What is wrong with one node, wherever it stands."""
    if isinstance(node, ast.Assert):
        why = always_true(node.test)
        if why:
            yield node.lineno, f"asserts {ast.unparse(node.test)[:60]!r}, {why}"
    elif isinstance(node, ast.Try):
        inside = [n for stmt in node.body for n in ast.walk(stmt)]
        asserting = any(map(fails_by_itself, inside))
        for handler in node.handlers:
            names = caught(handler)
            if not silent(handler):
                continue
            if not names or names & BROAD:
                yield handler.lineno, "swallows every exception"
            elif asserting and "AssertionError" in names:
                yield handler.lineno, "catches the failure of its own assertion"
    elif isinstance(node, ast.Call):
        name = called_name(node)
        if name == "suppress" and {ast.unparse(a) for a in node.args} & BROAD:
            yield node.lineno, "suppresses every exception"
        if name == "raises" and node.args and ast.unparse(node.args[0]) in BROAD and keyword(node, "match") is None:
            yield node.lineno, f"accepts any {ast.unparse(node.args[0])}"
        if name.startswith("assert_") and len(node.args) >= 2 and same(node.args[0], node.args[1]):
            yield node.lineno, f"compares {ast.unparse(node.args[0])!r} with itself"
        if name == "parametrize" and len(node.args) >= 2 and empty(node.args[1]):
            yield node.lineno, "is parametrised over nothing"
    elif isinstance(node, ast.For) and empty(node.iter):
        yield node.iter.lineno, "loops over nothing"


def silent(handler: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing with the error: it raises, asserts, calls, counts and keeps nothing."""
    parts = [n for statement in handler.body for n in ast.walk(statement)]
    keeps = any(isinstance(n, ast.Name) and n.id == handler.name for n in parts)
    return not keeps and not any(isinstance(n, (ast.Raise, ast.Assert, ast.Call, ast.AugAssign)) for n in parts)


def caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return set()
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(k).rpartition(".")[2] for k in kinds}


def empty(node: ast.expr) -> bool:
    return (isinstance(node, (ast.List, ast.Tuple, ast.Set)) and not node.elts) or (
        isinstance(node, ast.Dict) and not node.keys
    )


def pure(node: ast.expr) -> bool:
    """Whether reading an expression twice gives the same: it calls nothing."""
    return not any(isinstance(n, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)) for n in ast.walk(node))


def same(a: ast.expr, b: ast.expr) -> bool:
    return pure(a) and ast.dump(a) == ast.dump(b)


def zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0


def a_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called_name(node) in ("len", "abs")


def always_true(test: ast.expr) -> str | None:
    """Why an asserted expression cannot be false; None where it can."""
    if isinstance(test, ast.Constant):
        return "a constant" if test.value else None  # `assert False` fails, as it means to
    if isinstance(test, ast.Tuple) and test.elts:
        return "a tuple, which is true"
    if isinstance(test, (ast.GeneratorExp, ast.Lambda)):
        return "an object that is always true"
    if isinstance(test, ast.JoinedStr):
        return "a text"
    if isinstance(test, ast.BoolOp):
        whys = [always_true(v) for v in test.values]
        if isinstance(test.op, ast.Or):
            return next((w for w in whys if w), None)
        return next((f"of which {ast.unparse(v)!r} is {w}" for v, w in zip(test.values, whys) if w), None)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        for a, op, b in zip(sides, test.ops, sides[1:]):
            if isinstance(op, (ast.Eq, ast.Is, ast.LtE, ast.GtE)) and same(a, b):
                return "which compares a thing with itself"
            if (isinstance(op, ast.GtE) and a_length(a) and zero(b)) or (
                isinstance(op, ast.LtE) and zero(a) and a_length(b)
            ):
                return "which holds of every length"
    if isinstance(test, ast.Call) and called_name(test) in ("all", "any") and test.args and empty(test.args[0]):
        return "a question about nothing"
    if isinstance(test, ast.Call) and called_name(test) == "isinstance" and ast.unparse(test.args[1]) == "object":
        return "which holds of everything"
    return None
