"""The public names of the reference framework, and how much of them this tree has.

``python tools/api_surface.py`` prints the coverage of each module; ``... paddle.nn`` lists what one lacks;
``... --record`` writes the names that are absent where the tests compare them.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "tests" / "data" / "api_surface.txt"
ABSENT = TABLE.with_name("api_absent.txt")
LINE = re.compile(r"(?P<indent> *)(?P<kind>class |module |)(?P<name>\w+)(?P<params>\(.*\))?$")


@dataclass
class Name:
    """One public name. ``params`` is None where it is no callable or its parameters are unknown."""

    name: str
    params: list[str] | None
    members: list[Name] = field(default_factory=list)


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
        params = None if text in (None, "(?)") else [p for p in text[1:-1].split(", ") if p]
        (names[-1].members if match["indent"] else names).append(Name(match["name"], params))
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
        if type(value).__name__ != "Absent":  # paddle/_absent.py: it only says that the name is not there
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

    More parameters may follow, and a ``**kwargs`` accepts what is not listed.
    """
    if name.params is None or isinstance(value, property) or not callable(getattr(value, "__func__", value)):
        return None
    required = [p for p in name.params if not p.startswith("*") and p not in ("self", "cls")]
    ours = parameters(value)
    if ours is None or any(re.fullmatch(r"arg\d+", p) for p in required):
        return None
    names = [p.name for p in ours if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in ours)
    known = [p for p in required if p in names] if open_ended else required
    if [n for n in names if n in known] == known:
        return None
    return f"requires ({', '.join(name.params)}), got ({', '.join(map(str, ours))})"


def mismatches(owner: Any, names: list[Name], prefix: str) -> list[str]:
    found = []
    for name, value in present(owner, names):
        difference = mismatch(name, value)
        if difference:
            found.append(f"{prefix}.{name.name}: {difference}")
        if isinstance(value, type):
            found += mismatches(value, name.members, f"{prefix}.{name.name}")
    return found


def coverage(report: Callable[[str], Any] = print) -> tuple[int, int]:
    """Report present and total names of every module; return the sums."""
    have = total = 0
    for module, names in read().items():
        count = sum(1 for _ in present(find(module), names))
        report(f"{count:5d} of {len(names):4d}  {module}")
        have, total = have + count, total + len(names)
    report(f"{have:5d} of {total:4d}  in all")
    return have, total


def absent() -> list[str]:
    """Public names that are not there, members of classes included: ``module.name`` or ``module.class.name``.

    Names of Python's own protocols differ with its version, and are left out.
    """

    def lacking(owner: Any, names: list[Name], prefix: str) -> Iterator[str]:
        there = {name.name: value for name, value in present(owner, names)}
        for name in names:
            if re.fullmatch(r"__\w+__", name.name):
                continue
            if name.name not in there:
                yield f"{prefix}.{name.name}"
            elif isinstance(there[name.name], type):
                yield from lacking(there[name.name], name.members, f"{prefix}.{name.name}")

    return sorted({name for module, names in read().items() for name in lacking(find(module), names, module)})


def recorded() -> list[str]:
    return [line for line in ABSENT.read_text().splitlines() if not line.startswith("#")]


def record() -> None:
    head = "# Names of api_surface.txt that are absent here. Written by `python tools/api_surface.py --record`."
    ABSENT.write_text("\n".join([head, *absent()]) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    elif len(sys.argv) > 1:
        listed = read()[sys.argv[1]]
        there = {name.name for name, _ in present(find(sys.argv[1]), listed)}
        print("\n".join(name.name for name in listed if name.name not in there))
    else:
        coverage()
