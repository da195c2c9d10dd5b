"""Check of a package against this installation: which modules and names of paddle it uses, and which are not here.

``python -m paddle.utils.check_package NAME`` reads the sources of an installed package, of a folder or of one file; it
runs none of them. It sees imports and attributes of modules and classes, not methods of objects: ``paddle.nn.Linear``,
and not what is called on a tensor.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ABSENCE = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


@dataclass(frozen=True)
class Use:
    """A name of paddle where a file uses it."""

    name: str  # dotted, from `paddle` on
    file: str
    line: int
    guarded: bool  # the file says what happens without it


@dataclass
class _Scope:
    """Names of a module or a function that stand for something of paddle, or (None) for something else."""

    names: dict[str, str | None] = field(default_factory=dict)


def _bound(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope, without those of functions in it."""
    for node in body:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _bound(list(ast.iter_child_nodes(node)))


def _names_of(node: ast.AST) -> dict[str, str | None]:
    """Return what an import binds: names of paddle by the local name, None for anything else."""
    names: dict[str, str | None] = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            full = alias.name if alias.asname else top
            names[alias.asname or top] = full if top == "paddle" else None
    elif isinstance(node, ast.ImportFrom):
        ours = not node.level and (node.module or "").partition(".")[0] == "paddle"
        for alias in node.names:
            names[alias.asname or alias.name] = f"{node.module}.{alias.name}" if ours else None
    return names


class _Reader:
    """Reads one file."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.found: list[Use] = []
        self.scopes = [_Scope()]
        self.guards = 0
        self.kept: dict[str, str] = {}  # attributes of objects that are modules: `self.paddle = paddle`
        self.fill(tree.body)
        # Twice, as a method may use what a later one keeps: `self.paddle`.
        self.all(tree.body)
        self.found.clear()
        self.all(tree.body)

    def fill(self, body: Sequence[ast.AST]) -> None:
        """Enter what the nodes of a scope bind. A name that is bound to two things stands for neither."""
        names = self.scopes[-1].names
        nodes = list(_bound(body))
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names[node.name] = None
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
        for node in nodes:
            for name, full in _names_of(node).items():
                if names.get(name) is None or full is not None:  # `except ImportError: paddle = None` is still paddle
                    names[name] = full
        stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for node in nodes:
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            full, target = self.dotted(node.value), node.targets[0]
            if full is None or not isinstance(_target(full), ModuleType):
                continue
            if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                names[target.id] = full
            elif isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
                self.kept[target.attr] = full

    def look(self, name: str) -> str | None:
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def dotted(self, node: ast.AST) -> str | None:
        """The name of paddle that an expression is, if it is one."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            return None
        full = self.kept.get(parts.pop()) if node.id == "self" and parts else self.look(node.id)
        return None if full is None else ".".join([full, *reversed(parts)])

    def use(self, name: str, node: ast.AST) -> None:
        self.found.append(Use(name, self.file, node.lineno, self.guards > 0))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "paddle":
                    self.use(alias.name, node)
        elif isinstance(node, ast.ImportFrom):
            if not node.level and (node.module or "").partition(".")[0] == "paddle":
                for alias in node.names:
                    self.use(str(node.module) if alias.name == "*" else f"{node.module}.{alias.name}", node)
        elif isinstance(node, ast.Attribute):
            full = self.dotted(node) if isinstance(node.ctx, ast.Load) else None
            if full is None:
                self.children(node)
            else:
                self.use(full, node)
        elif isinstance(node, _SCOPES):
            self.function(node)
        elif isinstance(node, ast.Try):
            self.attempt(node)
        elif isinstance(node, ast.If) and _asks(node.test):
            self.guarded([node.test, *node.body])
            self.all(node.orelse)
        else:
            self.children(node)

    def all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def children(self, node: ast.AST) -> None:
        self.all(list(ast.iter_child_nodes(node)))

    def guarded(self, nodes: Sequence[ast.AST]) -> None:
        self.guards += 1
        self.all(nodes)
        self.guards -= 1

    def attempt(self, node: ast.Try) -> None:
        caught = {name for handler in node.handlers for name in _caught(handler)}
        (self.guarded if caught & _ABSENCE else self.all)(node.body)
        # What a handler does is the way out of an absence: one of the ways may be missing.
        for handler in node.handlers:
            (self.guarded if caught & _ABSENCE else self.all)(handler.body)
        self.all([*node.orelse, *node.finalbody])

    def function(self, node: Any) -> None:
        args = node.args
        self.all([*getattr(node, "decorator_list", []), *args.defaults, *(d for d in args.kw_defaults if d)])
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
        self.all([a.annotation for a in every if a.annotation])
        if getattr(node, "returns", None):
            self.visit(node.returns)
        body = node.body if isinstance(node.body, list) else [node.body]
        self.scopes.append(_Scope({a.arg: None for a in every}))
        self.fill(body)
        self.all(body)
        self.scopes.pop()


def _caught(handler: ast.ExceptHandler) -> list[str]:
    if handler.type is None:
        return ["BaseException"]
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return [kind.id for kind in kinds if isinstance(kind, ast.Name)]


def _asks(test: ast.AST) -> bool:
    """Return whether a condition asks for a name or a version."""
    return any(
        (isinstance(n, ast.Name) and n.id in ("hasattr", "TYPE_CHECKING"))
        or (isinstance(n, ast.Attribute) and n.attr in ("__version__", "TYPE_CHECKING"))
        for n in ast.walk(test)
    )


# --- what is here ----------------------------------------------------------------------------------------------------


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


def _step(owner: Any, path: str, name: str) -> tuple[bool, Any]:
    """Return whether an owner has a name, and what it is."""
    try:
        return True, getattr(owner, name)
    except AttributeError:
        if not isinstance(owner, ModuleType):
            return False, None
        module = _module(f"{path}.{name}")
        return module is not None, module


@cache
def missing(name: str) -> str | None:
    """Return the first part of a dotted name that is not here, None if all is; of an object, nothing is asked."""
    path, *parts = name.split(".")
    owner: Any = import_module(path)
    for part in parts:
        if not isinstance(owner, (ModuleType, type)):
            return None
        there, below = _step(owner, path, part)
        path = f"{path}.{part}"
        if not there:
            return path
        owner = below
    return None


def _target(name: str) -> Any:
    path, *parts = name.split(".")
    owner: Any = import_module(path)
    for part in parts:
        owner = _step(owner, path, part)[1]
        path = f"{path}.{part}"
    return owner


# --- a package -------------------------------------------------------------------------------------------------------


def files_of(name: str) -> list[Path]:
    """Return the source files of a folder, a file or an installed package."""
    path = Path(name)
    if not path.exists():
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise FileNotFoundError(f"[check_package] requires a file, a folder or an installed package, got {name!r}")
        places = list(spec.submodule_search_locations or ())
        if not places and spec.origin is None:
            raise FileNotFoundError(f"[check_package] requires a package with sources, got {name!r}")
        path = Path(places[0] if places else str(spec.origin))
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def uses(files: Sequence[Path]) -> tuple[list[Use], list[str]]:
    """Return the uses of paddle in files, and the files that are no Python."""
    all_uses: list[Use] = []
    unread = []
    for file in files:
        text = file.read_bytes()
        if b"paddle" not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            unread.append(str(file))
            continue
        all_uses += _Reader(str(file), tree).found
    return all_uses, unread


def report(name: str) -> dict[str, Any]:
    """Return what a package uses: how many names, those that are not here with their places, files that are no Python.

    Args:
        name: an installed package, a folder or a file.

    Returns:
        A dict: ``names`` (how many are used), ``missing`` and ``optional`` (places by name; the package does without
        the optional ones), ``unread`` (files).
    """
    found, unread = uses(files_of(name))
    lacks: dict[str, list[Use]] = {}
    for use in found:
        absent = missing(use.name)
        if absent is not None:
            lacks.setdefault(absent, []).append(use)
    required = {n: [u for u in places if not u.guarded] for n, places in lacks.items()}
    return {
        "names": len({use.name for use in found}),
        "missing": {n: [f"{u.file}:{u.line}" for u in at] for n, at in sorted(required.items()) if at},
        "optional": {
            n: [f"{u.file}:{u.line}" for u in at] for n, at in sorted(lacks.items()) if all(u.guarded for u in at)
        },
        "unread": unread,
    }


def _print(name: str, findings: dict[str, Any]) -> None:
    absent, optional = findings["missing"], findings["optional"]
    print(f"{name}: {findings['names']} names of paddle, {len(absent)} missing, {len(optional)} optional ones missing")
    for title in ("missing", "optional"):
        for absent_name, places in findings[title].items():
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            print(f"{title} {absent_name}  {places[0]}{more}")
    for file in findings["unread"]:
        print(f"not Python {file}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser("python -m paddle.utils.check_package", description=inspect.getdoc(main))
    parser.add_argument("name", help="an installed package, a folder or a file")
    parser.add_argument("--json", action="store_true", help="print all places as JSON")
    given = parser.parse_args(arguments)
    try:
        findings = report(given.name)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps(findings, indent=1))
    else:
        _print(given.name, findings)
    return 1 if findings["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
