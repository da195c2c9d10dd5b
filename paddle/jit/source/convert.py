"""``convert``: a function rewritten and compiled anew, over the same globals and the same closure."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any

from paddle.jit.source import build
from paddle.jit.source.errors import ConversionError, line_of
from paddle.jit.source.find import definition
from paddle.jit.source.names import mark_defaults, suspends
from paddle.jit.source.rewrite import Names, rewrite
from paddle.jit.source.show import show

# The helpers that rewritten code calls. They convert what it calls in turn: ``runtime.py`` enters them.
HELPERS = SimpleNamespace()
HELPER_CELL = CellType(HELPERS)  # of all rewritten functions
_FUTURE = functools.reduce(int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


class _Rewritten:
    """The rewritten code of one function; ``text``: its source."""

    def __init__(self, code: CodeType, helpers: str, text: str) -> None:
        self.code, self.helpers, self.text = code, helpers, text


# By the id of a code object, which is held so that the id stays its own.
_DONE: dict[int, tuple[CodeType, _Rewritten | None]] = {}
# Code that rewriting has made, functions inside of rewritten ones included.
_CONVERTED: dict[int, CodeType] = {}


def is_converted(function: FunctionType) -> bool:
    """Return whether a function is the result of a conversion, or was defined inside of one."""
    return is_converted_code(function.__code__)


def is_converted_code(code: CodeType) -> bool:
    """Return whether code was made by a conversion."""
    return id(code) in _CONVERTED


def convert(function: FunctionType) -> FunctionType:
    """Return ``function`` rewritten, so that its branches and loops on tensors become operations while it is traced.

    It has the same globals, closure cells, defaults and name; its code has the file and lines of the user's text.
    Generators and coroutines, and what is converted already, are returned as they are.
    """
    if is_converted(function):
        return function
    done = _rewritten(function)
    if done is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[done.helpers] = HELPER_CELL
    closure = tuple(cells[name] for name in done.code.co_freevars)
    out = FunctionType(done.code, function.__globals__, function.__name__, function.__defaults__, closure)
    out.__kwdefaults__ = function.__kwdefaults__
    out.__dict__.update(function.__dict__)
    for name in ("__qualname__", "__module__", "__doc__"):
        setattr(out, name, getattr(function, name))
    out.__annotations__ = function.__annotations__
    return out


def code_of(function: FunctionType) -> str:
    """Return the rewritten source of a function."""
    done = _rewritten(function)
    if done is None:
        raise ConversionError(
            f"[to_static] requires a function that is no generator or coroutine, got {function.__qualname__} "
            f"({line_of(function.__code__)})"
        )
    return done.text


def _rewritten(function: FunctionType) -> _Rewritten | None:
    """The rewritten code; None where there is nothing to rewrite."""
    key = id(function.__code__)
    if key not in _DONE:
        node, _ = definition(function)
        _DONE[key] = function.__code__, None if suspends(node) else _rewrite(function, node)
    return _DONE[key][1]


def _rewrite(function: FunctionType, found: Any) -> _Rewritten:
    node = copy.deepcopy(found)
    # They are made once, by the user's own definition; the rewritten function is given them.
    node.decorator_list = []
    a = node.args
    mark_defaults(a)
    a.defaults, a.kw_defaults = [], [None] * len(a.kwonlyargs)
    if not isinstance(node, ast.Lambda):
        node.returns = None
        for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if p is not None:
                p.annotation = None
        if getattr(node, "type_params", None):
            node.type_params = []
    show(function, "the function", node)
    names = Names(node, {**function.__globals__, **dict.fromkeys(function.__code__.co_freevars)})
    node = rewrite(node, names)
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))
    show(function, "with helpers", node, final=True)
    made = _compiled(function, node, names)
    _note(made)
    return _Rewritten(made, names.helpers, text)


def _compiled(function: FunctionType, node: Any, names: Names) -> CodeType:
    """Compile a definition inside of a function whose parameters are what is free in it."""
    code = function.__code__
    is_lambda = isinstance(node, ast.Lambda)
    name = "<lambda>"
    if not is_lambda:  # its own name is a global, or a cell, as in the user's text
        node.name = name = names.new("function", "")
    body = [ast.Return(node)] if is_lambda else [node]
    outer: ast.stmt = build.function(names.new("around", ""), [*code.co_freevars, names.helpers], body)
    private = _class_of(function)
    if private is not None:  # names like __x mean _Class__x inside of it
        made: dict[str, Any] = {"name": private, "bases": [], "keywords": [], "body": [outer], "decorator_list": []}
        if "type_params" in ast.ClassDef._fields:
            made["type_params"] = []
        outer = ast.ClassDef(**made)
    module = ast.Module([outer], [])
    for child in ast.walk(module):  # what has no place yet is the frame around
        if "lineno" in child._attributes and not hasattr(child, "lineno"):
            ast.copy_location(child, node)
    try:
        compiled = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise ConversionError(
            f"[to_static] cannot rewrite {function.__qualname__} ({line_of(code)}): {error}"
        ) from error
    for _ in range(1 if private is None else 2):
        compiled = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    inner = next(c for c in compiled.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return _named(inner, names, code.co_name, function.__qualname__)


def _class_of(function: FunctionType) -> str | None:
    """The name of the class that a function was defined in; None for none."""
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2].isidentifier() else None


def _named(code: CodeType, names: Names, name: str, qualname: str) -> CodeType:
    """Give code, and that of the blocks inside, the name of the user's function: tracebacks show it."""
    consts = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            of_block = c.co_name in names.made
            c = _named(
                c, names, name if of_block else c.co_name, qualname if of_block else f"{qualname}.<locals>.{c.co_name}"
            )
        consts.append(c)
    more = {"co_qualname": qualname} if hasattr(code, "co_qualname") else {}
    return code.replace(co_name=name, co_consts=tuple(consts), **more)  # type: ignore[arg-type]


def _note(code: CodeType) -> None:
    _CONVERTED[id(code)] = code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            _note(c)
