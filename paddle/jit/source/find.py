"""The syntax tree of a function, found in the file that it was compiled from."""

from __future__ import annotations

import ast
import inspect
from types import CodeType, FunctionType
from typing import Any

from paddle.jit.source import build
from paddle.jit.source.errors import SourceError, line_of
from umiak.util.syntax import parse

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# By filename: the lines, and the functions that begin at each line. A file that was read anew has other lines.
_FILES: dict[str, tuple[list[str], dict[int, list[Definition]]]] = {}


def definition(function: FunctionType) -> tuple[Definition, list[str]]:
    """Return the definition of ``function`` as its file has it, and the lines of the file."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(code)
    except (OSError, TypeError) as error:
        raise _refused(function, "its source text is not there") from error
    cached = _FILES.get(code.co_filename)
    if cached is None or cached[0] != lines:
        try:
            tree = parse("".join(lines))
        except SyntaxError as error:
            raise _refused(function, f"its file is no Python any more ({error})") from error
        cached = _FILES[code.co_filename] = lines, _by_line(tree)
    found = [d for d in cached[1].get(code.co_firstlineno, ()) if _is_like(d, code)]
    if len(found) > 1:
        found = [d for d in found if _compiles_to(d, code)][:1]
    if not found:
        raise _refused(function, "its file has another text now than when it was imported")
    return found[0], lines


def _refused(function: FunctionType, reason: str) -> SourceError:
    return SourceError(
        f"[to_static] requires the source of {function.__qualname__} ({line_of(function.__code__)}), but {reason}. "
        "Define it in a file, mark it by paddle.jit.not_to_static, or use to_static(full_graph=False)"
    )


def _by_line(tree: ast.AST) -> dict[int, list[Definition]]:
    """The functions by the line that their code objects name: that of the first decorator."""
    out: dict[int, list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            out.setdefault(first, []).append(node)
        elif isinstance(node, ast.Lambda):
            out.setdefault(node.lineno, []).append(node)
    return out


def _is_like(node: Definition, code: CodeType) -> bool:
    """Return whether name and parameters are those of the code."""
    if (code.co_name == "<lambda>") != isinstance(node, ast.Lambda):
        return False
    if not isinstance(node, ast.Lambda) and node.name != code.co_name and not node.name.startswith("__"):
        return False
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    names += [p.arg for p in (a.vararg, a.kwarg) if p is not None]
    held = code.co_varnames[: len(names)]
    return len(held) == len(names) and all(h == n or h.endswith(n) for h, n in zip(held, names, strict=True))


def _compiles_to(node: Definition, code: CodeType) -> bool:
    """Return whether a function that shares its line with others has this code."""
    # What is free in the code is a name of a function around it.
    body: list[Any] = [ast.Return(node)] if isinstance(node, ast.Lambda) else [node]
    outer = ast.Module([build.function("around", code.co_freevars, body)], [])
    compiled = compile(ast.fix_missing_locations(outer), code.co_filename, "exec", dont_inherit=True)
    around = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    inner = next(c for c in around.co_consts if isinstance(c, CodeType) and c.co_name == code.co_name)
    return inner.co_code == code.co_code and _constants(inner) == _constants(code) and inner.co_names == code.co_names


def _constants(code: CodeType) -> list[Any]:
    return [c for c in code.co_consts if not isinstance(c, CodeType)]
