"""From a function that fails to a small one that fails in the same way: statements and parts of expressions go."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace

from tests.fuzz.functions.check import Failure, check
from tests.fuzz.functions.generate import Program
from tests.fuzz.shrink import shrunk


def shrink(program: Program, failure: Failure, steps: int = 600) -> tuple[Program, Failure]:
    """Leave out what is not needed for a failure of the same kind."""
    return shrunk(program, failure, smaller, fails, steps)


def fails(program: Program, wanted: Failure) -> Failure | None:
    try:
        check(program, (wanted.mode,))
    except Failure as found:
        return found if found.kind() == wanted.kind() else None
    except Exception:  # a candidate that means nothing
        return None
    return None


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one thing less; those that leave out much come first."""
    if program.setting != "plain":
        yield replace(program, setting="plain")
    if program.between:
        for between in _fewer(program.between):
            yield replace(program, between=between)
    for changed in _changes(ast.parse(program.text)):
        yield replace(program, text=ast.unparse(ast.fix_missing_locations(changed)) + "\n")


def _fewer(between: tuple[tuple[str, ...], ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Less between calls."""
    yield ()
    for i, words in enumerate(between):
        for word in words:
            yield (*between[:i], tuple(w for w in words if w != word), *between[i + 1 :])


def _changes(tree: ast.Module) -> Iterator[ast.Module]:
    # Whole definitions and calls of the program first, then statements from the last to the first, then expressions.
    paths = list(_statements(tree))
    paths.sort(key=lambda p: (len(p) > 1, -len(ast.dump(_at(tree, p)))))
    for path in paths:
        yield from _without(tree, path)
    for path in paths:
        yield from _simpler(tree, path)


Path = tuple[tuple[str, int], ...]


def _statements(tree: ast.AST, path: Path = ()) -> Iterator[Path]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        items = getattr(tree, name, None)
        if isinstance(items, list):
            for i, item in enumerate(items):
                yield (*path, (name, i))
                yield from _statements(item, (*path, (name, i)))


def _at(tree: ast.AST, path: Path) -> ast.AST:
    for name, i in path:
        tree = getattr(tree, name)[i]
    return tree


def _replaced(tree: ast.Module, path: Path, new: list[ast.AST]) -> ast.Module:
    made = copy.deepcopy(tree)
    items = getattr(_at(made, path[:-1]), path[-1][0])
    i = path[-1][1]
    items[i : i + 1] = copy.deepcopy(new)
    if not items and path[-1][0] == "body":
        items.append(ast.Pass())
    return made


def _without(tree: ast.Module, path: Path) -> Iterator[ast.Module]:
    node = _at(tree, path)
    if isinstance(node, ast.Pass):
        return
    yield _replaced(tree, path, [])
    for name in ("body", "orelse", "finalbody"):  # the body in place of the compound statement
        items = getattr(node, name, None)
        if items and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler, ast.match_case)):
            yield _replaced(tree, path, items)
    if isinstance(node, ast.Try) and node.handlers:
        yield _replaced(tree, path, node.handlers[0].body)


def _simpler(tree: ast.Module, path: Path) -> Iterator[ast.Module]:
    """An expression of a statement replaced by a part of it."""
    node = _at(tree, path)
    for name, value in ast.iter_fields(node):
        for i, root in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(root, ast.expr):
                for new in _parts(root):
                    changed = copy.deepcopy(node)
                    if isinstance(value, list):
                        getattr(changed, name)[i] = new
                    else:
                        setattr(changed, name, new)
                    yield _replaced(tree, path, [changed])


def _parts(root: ast.expr) -> Iterator[ast.expr]:
    """The expression with one of its parts in place of the whole, or of a part that has it."""
    for child in ast.iter_child_nodes(root):
        if isinstance(child, ast.expr):
            yield copy.deepcopy(child)
    for name, value in ast.iter_fields(root):
        items = value if isinstance(value, list) else [value]
        for i, child in enumerate(items):
            if isinstance(value, list) and len(items) > 1 and isinstance(root, (ast.List, ast.Tuple)):
                made = copy.deepcopy(root)
                del getattr(made, name)[i]
                yield made
            if isinstance(child, ast.expr):
                for part in _parts(child):
                    made = copy.deepcopy(root)
                    if isinstance(value, list):
                        getattr(made, name)[i] = part
                    else:
                        setattr(made, name, part)
                    yield made
