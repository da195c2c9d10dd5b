"""The public names of the reference framework, and how much of them this tree has.

``python tools/api_surface.py`` prints the coverage of each module and of each part of the work; ``... paddle.nn`` lists
what a module lacks; ``... --record`` takes the names that are there now from the list of those that are absent.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).parents[1] / "tests" / "data" / "api_surface.txt"
REACHABLE = TABLE.with_name("api_reachable.json")
ABSENT = TABLE.with_name("api_absent.txt")
LINE = re.compile(r"(?P<indent> *)(?P<kind>class |module |)(?P<name>\w+)(?P<params>\(.*\))?$")
HERE = "tensors, layers and compat"  # the part that the other parts of the public API are told from
PROTOCOL = re.compile(r"__\w+__")  # Python's own names differ with its version


@dataclass
class Name:
    """One public name. ``params`` is None where it is no callable or its parameters are unknown.

    ``defaults`` are those of the parameters that have one; ``...`` stands for one that cannot be written.
    """

    name: str
    params: list[str] | None
    members: list[Name] = field(default_factory=list)
    defaults: dict[str, Any] = field(default_factory=dict)


def read() -> dict[str, list[Name]]:
    """Names by module; the methods of tensors are under ``Tensor``."""
    modules: dict[str, list[Name]] = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("["):
            names = modules[line.strip("[]")] = []
            continue
        match = LINE.match(line)
        assert match, line
        text = match["params"]
        parts = [] if text in (None, "(?)") else [p.partition("=") for p in text[1:-1].split(", ") if p]
        params = None if text in (None, "(?)") else [name for name, _, _ in parts]
        defaults = {name: ast.literal_eval(value) for name, equals, value in parts if equals}
        (names[-1].members if match["indent"] else names).append(Name(match["name"], params, [], defaults))
    return modules


def find(module: str) -> Any:
    """The module or class of a heading; None where it is missing."""
    try:
        if module == "Tensor":
            return getattr(importlib.import_module("paddle"), "Tensor", None)
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A name like paddle.distributed.launch may be an attribute, not a module of its own.
        if error.name is None or not module.startswith(error.name):
            raise
        parent, _, last = module.rpartition(".")
        return getattr(find(parent), last, None) if parent else None


def present(owner: Any, names: list[Name]) -> Iterator[tuple[Name, Any]]:
    for name in names:
        try:
            value = inspect.getattr_static(owner, name.name) if isinstance(owner, type) else getattr(owner, name.name)
        except AttributeError:
            continue
        yield name, value


def parameters(value: Any) -> list[inspect.Parameter] | None:
    """The parameters a caller sees; None where they cannot be known."""
    if isinstance(value, staticmethod | classmethod):
        bound = isinstance(value, classmethod)
        value = value.__func__
    else:
        bound = inspect.isfunction(value) and "." in value.__qualname__ and "<locals>" not in value.__qualname__
    if inspect.ismethoddescriptor(value) and not hasattr(value, "__wrapped__"):
        return None  # a slot of C: its names are made up, from Python 3.13 on for binary operators too
    try:
        found = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    return found[1:] if bound else found


def mismatch(name: Name, value: Any) -> str | None:
    """Say how the parameters of ``value`` differ from the reference's: those must be there, by name and in order.

    More parameters may follow, and a ``**kwargs`` accepts what is not listed. Defaults are the same; a parameter that
    is required there may have one.
    """
    if name.params is None or isinstance(value, property) or not callable(getattr(value, "__func__", value)):
        return None
    required = [p for p in name.params if not p.startswith("*") and p not in ("self", "cls")]
    ours = parameters(value)
    if ours is None or any(re.fullmatch(r"arg\d+", p) for p in required) or required == ["args", "kwargs"]:
        return None  # overloads of C++ have no names
    names = [p.name for p in ours if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in ours)
    known = [p for p in required if p in names] if open_ended else required
    if [n for n in names if n in known] != known:
        return f"requires ({', '.join(name.params)}), got ({', '.join(map(str, ours))})"
    different = [
        f"{p.name}={p.default!r} for {name.defaults[p.name]!r}"
        for p in ours
        if p.name in name.defaults and not _same_default(p.default, name.defaults[p.name])
    ]
    return f"has other defaults: {', '.join(different)}" if different else None


def _same_default(ours: Any, theirs: Any) -> bool:
    """Compare defaults; a tuple may stand for a list, and an object for what cannot be written."""
    if theirs is ... or ours is inspect.Parameter.empty:
        return ours is not inspect.Parameter.empty
    plain = [tuple(v) if isinstance(v, list) else v for v in (ours, theirs)]
    return plain[0] == plain[1] and isinstance(ours, bool) == isinstance(theirs, bool)


def mismatches(owner: Any, names: list[Name], prefix: str) -> list[str]:
    found = []
    for name, value in present(owner, names):
        difference = mismatch(name, value)
        if difference:
            found.append(f"{prefix}.{name.name}: {difference}")
        if isinstance(value, type):
            found += mismatches(value, name.members, f"{prefix}.{name.name}")
    return found


def reachable() -> dict[str, list[Name]]:
    """Names that programs reach beside the documented ones, by module."""
    return {module: [Name(n, None) for n in names] for module, names in json.loads(REACHABLE.read_text()).items()}


def lacking(owner: Any, names: list[Name], prefix: str) -> Iterator[str]:
    """Those of ``names`` that are not there, members of classes included, in full."""
    there = {name.name: value for name, value in present(owner, names)}
    for name in names:
        if PROTOCOL.fullmatch(name.name):
            continue
        if name.name not in there:
            yield f"{prefix}.{name.name}"
        elif isinstance(there[name.name], type):
            yield from lacking(there[name.name], name.members, f"{prefix}.{name.name}")


def absent() -> list[str]:
    """Names of the reference that are not there: ``module.name`` or ``module.class.name``."""
    tables = (*read().items(), *reachable().items())
    return sorted({name for module, names in tables for name in lacking(find(module), names, module)})


def recorded() -> dict[str, list[str]]:
    """The names that are recorded as absent, by the part of the work that brings them."""
    parts: dict[str, list[str]] = {}
    for line in ABSENT.read_text().splitlines():
        if line.startswith("["):
            names = parts[line.strip("[]")] = []
        elif not line.startswith("#"):
            names.append(line)
    return parts


def record() -> None:
    """Take the names that are there from the record. A name that is lost is not added: it belongs to no part."""
    gone = set(absent())
    lines = [line for line in ABSENT.read_text().splitlines() if line.startswith(("#", "[")) or line in gone]
    # A part without names is done.
    lines = [a for a, b in zip(lines, [*lines[1:], "["], strict=True) if not (a.startswith("[") and b.startswith("["))]
    ABSENT.write_text("\n".join(lines) + "\n")


class Coverage(NamedTuple):
    have: int
    total: int

    def __str__(self) -> str:
        return f"{self.have:5d} of {self.total:4d}"


def coverage(modules: dict[str, list[Name]], but: Container[str] = ()) -> dict[str, Coverage]:
    """How many names of each module are there, of those that are not in ``but``."""
    counts = {}
    for module, names in modules.items():
        listed = [name for name in names if f"{module}.{name.name}" not in but]
        counts[module] = Coverage(sum(1 for _ in present(find(module), listed)), len(listed))
    return counts


def in_all(counts: dict[str, Coverage]) -> Coverage:
    return Coverage(sum(c.have for c in counts.values()), sum(c.total for c in counts.values()))


def report() -> Iterator[str]:
    documented = coverage(read())
    for module, count in documented.items():
        yield f"{count}  {module}"
    parts = recorded()
    for part, names in parts.items():
        yield f"{len(names):5d} absent, members included: {part}"
    later = {name for part, names in parts.items() if part != HERE for name in names}
    for what, table in (("documented", read()), ("reachable beside them", reachable())):
        here = in_all(coverage(table, later))
        yield f"{in_all(coverage(table))}  {what}; {here} ({here.have / here.total:.1%}) without the later parts"


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    elif len(sys.argv) > 1:
        listed = read()[sys.argv[1]]
        there = {name.name for name, _ in present(find(sys.argv[1]), listed)}
        print("\n".join(name.name for name in listed if name.name not in there))
    else:
        print("\n".join(report()))
