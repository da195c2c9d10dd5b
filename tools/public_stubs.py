"""Writes the stubs that type checkers and editors read: what modules of ``paddle`` hold, and the methods of tensors.

They are made of declarations (``paddle/_public.py``). A function stands in a stub with its aliases as overloads; all
else is imported from its home, where its signature is.

``python tools/public_stubs.py`` after a change; a test fails while a stub is not what this makes.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import keyword
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lazy_names

from umiak.core.dtype import DType

ROOT = Path(__file__).parents[1]
METHODS = ROOT / "umiak" / "core" / "tensor_methods.pyi"
BASE = ROOT / "umiak" / "core" / "tensor.pyi"
MADE = "Made by ``tools/public_stubs.py``."
HEAD = """import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np

from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
"""
KNOWN = {
    *"Any Callable DType Iterable None Sequence Tensor bool complex dict float int list np ndarray str tuple".split()
}
BUILTIN = re.compile(r"\b(bool|complex|dict|float|int|list|str|tuple)\b")
MOST = 8  # overloads


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else "Any"
    return BUILTIN.sub(r"builtins.\1", text) if set(re.findall(r"\w+", text)) <= KNOWN else "Any"


def _parameter(p: inspect.Parameter, name: str, required: bool = False) -> str:
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    default = "" if required or star or p.default is p.empty else " = ..."
    return f"{star}{name}: {_type(p.annotation)}{default}"


def _signature(params: list[inspect.Parameter], names: dict[str, str]) -> str:
    """Parameters, some under other names: those, and what follows, are keywords only."""
    shown, only = [], False
    for p in params:
        if p.kind is p.VAR_POSITIONAL:
            if not only:
                shown.append(_parameter(p, p.name))
            only = True
            continue
        if not only and p.kind is not p.VAR_KEYWORD and (p.name in names or p.kind is p.KEYWORD_ONLY):
            shown.append("*")
            only = True
        shown.append(_parameter(p, names.get(p.name, p.name), p.name in names))
    return ", ".join(shown)


def _ways(params: list[inspect.Parameter], aliases: dict[str, str]) -> Iterator[dict[str, str]]:
    """Every choice of names for the parameters: none renamed comes first. A word of Python cannot stand in a stub."""
    names = {a: target for a, target in aliases.items() if not keyword.iskeyword(a)}
    of = {p.name: [None, *(a for a, target in names.items() if target == p.name)] for p in params}
    of = {name: found for name, found in of.items() if len(found) > 1}
    ways = [{n: a for n, a in zip(of, chosen) if a is not None} for chosen in itertools.product(*of.values())]
    yield from sorted(ways, key=len) if len(ways) <= MOST else sorted((w for w in ways if len(w) < 2), key=len)


def definition(row: Any, method: bool = False) -> str:
    """The stub of a function, or of the method that it makes."""
    name, fn = row.name, row.value
    signature = inspect.signature(fn)
    params = list(signature.parameters.values())
    if row.base is not None:  # what is shown of in-place forms has no annotations
        signature = inspect.signature(row.base)
        params = [signature.parameters[p.name] for p in params]
    head = ["self"] if method else []
    if method and params and params[0].kind is not params[0].VAR_POSITIONAL:
        params = params[1:]
    ways = list(_ways(params, getattr(fn, "_aliases", {})))
    ints = getattr(fn, "_ints", -1) - method
    result = _type(signature.return_annotation)
    indent = "    " if method else ""
    forms = [_signature(params, way) for way in ways]
    if ints >= 0:  # separate ints
        before, after = params[:ints], [p.replace(kind=p.KEYWORD_ONLY) for p in params[ints + 1 :]]
        shown = [_parameter(p, p.name) for p in before] + ["*" + params[ints].name + ": builtins.int"]
        forms.append(", ".join(shown + [_parameter(p, p.name) for p in after]))
    other = getattr(fn, "_other", None)
    if other is not None:
        theirs = list(inspect.signature(other.function).parameters.values())[int(method) :]
        if [p.name for p in theirs if p.name != "out"] != [p.name for p in params][: len(theirs) - 1]:
            forms.append(_signature(theirs, {}))
    lines = []
    for form in forms:
        if len(forms) > 1:
            lines.append(f"{indent}@overload")
        lines.append(f"{indent}def {name}({', '.join([*head, form] if form else head)}) -> {result}: ...")
    return "\n".join(lines)


def _constant(value: Any) -> str:
    if value is None:
        return "None"
    return f"builtins.{type(value).__name__}" if type(value) in (int, float, str) else "DType"


def stub(module: str, rows: list) -> str:
    """Return the stub of a module."""
    space = importlib.import_module(module)
    mine = {row.name: row for row in rows if module in row.exported_by}
    imports, defined = [], []
    for name in space.__all__:
        row = mine.get(name)
        value = getattr(space, name)
        if inspect.ismodule(value):
            imports.append(f"from {value.__name__.rpartition('.')[0]} import {name} as {name}")
        elif isinstance(value, type) and value.__module__.startswith("umiak.core."):
            imports.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif not callable(value) and isinstance(value, (int, float, str, DType, type(None))):
            # What differs from machine to machine says its type itself.
            own = vars(importlib.import_module(row.home)).get("__annotations__", {}).get(name)
            defined.append(f"{name}: {_type(own) if own else _constant(value)}")
        elif getattr(value, "_aliases", None) or getattr(value, "_ints", -1) >= 0:
            owners = row.exported_by
            first = owners[0] if owners[0] != "paddle" or len(owners) == 1 else owners[1]
            if first == module:
                defined.append(definition(row))
            else:
                imports.append(f"from {first} import {name} as {name}")
        else:
            imports.append(f"from {row.home} import {name} as {name}")
    body = "\n".join(imports) + "\n\n" + "\n".join(defined)
    listed = "".join(f'    "{name}",\n' for name in space.__all__)
    own = re.search(r"^from paddle\S+ import Tensor as Tensor$", body, re.MULTILINE)
    head = HEAD.replace("from umiak.core.tensor import Tensor\n", "") if own else HEAD
    return f'"""{MADE}"""\n\n{head}\n{body}\n\n__all__ = [\n{listed}]\n'


def methods(rows: list) -> str:
    """The methods and properties that tensors get."""
    own = set(re.findall(r"^    (?:def )?(\w+)[:(]", BASE.read_text(), re.MULTILINE))
    found = {row.name: row for row in rows if "Tensor" in row.exported_by and row.name not in own}
    lines = []
    for name, row in sorted(found.items()):
        value = row.value
        if name in ("__array__", "__array_ufunc__", "__hash__"):  # those of symbolic tensors are others
            continue
        slot = inspect.ismethoddescriptor(value) and not hasattr(value, "__wrapped__")
        if slot or not callable(value):
            lines.append(f"    {name}: Any")
        else:
            lines.append(definition(row, True))
    return f'"""Methods of tensors. {MADE}"""\n\n{HEAD}\nclass Methods:\n' + "\n".join(lines) + "\n"


def made() -> dict[Path, str]:
    """Every stub by its file."""
    rows = lazy_names.rows()
    found = {}
    for module, path in lazy_names.asking():
        text = path.read_text()
        # A module with functions or classes of its own is read by type checkers itself.
        if "_lazy.contents(__name__" in text and not re.search(r"^(class|def) ", text, re.MULTILINE):
            found[path.with_suffix(".pyi")] = stub(module, rows)
    return {**found, METHODS: methods(rows)}


def formatted(texts: dict[Path, str]) -> dict[Path, str]:
    """Format stubs with ruff, without unused imports."""
    with tempfile.TemporaryDirectory() as folder:
        files = {path: Path(folder, *path.relative_to(ROOT).parts) for path in texts}
        for path, file in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[path])
        for command in (["check", "-q", "--fix-only", "--select", "F401,F811,I,PYI029,RUF022"], ["format", "-q"]):
            settings = ["--config", str(ROOT / "pyproject.toml"), folder]
            subprocess.run([sys.executable, "-m", "ruff", *command, *settings], check=True)
        return {path: file.read_text() for path, file in files.items()}


if __name__ == "__main__":
    for path, text in formatted(made()).items():
        path.write_text(text)
