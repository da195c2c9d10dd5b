"""Writes the pages of the reference, made of the names that modules of ``paddle`` declare (``paddle/_public.py``).

A name is documented once, at the module by which programs know it; other modules that export it refer to it. A module
of many names has a page for each subject: for each module that defines some of them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any, NamedTuple

import lazy_names

MANY = 60  # names are too many for one page
# Modules whose public names are those that they define, without declarations.
LISTED = ("paddle.framework.unique_name", "paddle.optimizer.lr", "paddle.regularizer")
TITLES = {"Tensor": "Methods of tensors"}


class Entry(NamedTuple):
    """A name that a module exports."""

    owner: str  # the module, or "Tensor" for a method
    name: str
    value: Any
    home: str  # the module that defines it
    base: str  # what it is another name or the in-place form of, or ""

    @property
    def path(self) -> str:
        return f"paddle.{self.owner}.{self.name}" if self.owner == "Tensor" else f"{self.owner}.{self.name}"


def declared() -> Iterator[list[Entry]]:
    """The names of one declaration each: a name for every module that exports it."""
    for row in lazy_names.rows():
        base = getattr(row.base, "__name__", "") if row.base is not None else ""
        yield [Entry(owner, row.name, row.value, row.home, base) for owner in row.exported_by]
    for module in LISTED:
        for name, value in vars(importlib.import_module(module)).items():
            if getattr(value, "__module__", None) == module and not name.startswith("_"):
                yield [Entry(module, name, value, module, "")]


def rank(entry: Entry) -> tuple[bool, int, str]:
    """Order of the modules that export a name: the first is where it is documented."""
    return entry.owner in ("Tensor", "paddle.tensor"), entry.owner.count("."), entry.owner


def summary(value: Any) -> str:
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


def title_of(module: str) -> str:
    """The subject of a module: the first sentence of its docstring, without the period."""
    text = summary(importlib.import_module(module)).rstrip(".:")
    return re.split(r"(?<=\w)[.:;] ", text)[0] or module


def heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def directive(entry: Entry) -> list[str]:
    """The directive that documents a name."""
    value = entry.value
    if entry.base:
        how = "In-place form" if entry.name.endswith("_") else "Another name"
        kind = "method" if entry.owner == "Tensor" else "class" if isinstance(value, type) else "function"
        return [f".. py:{kind}:: {entry.path}", "", f"   {how} of ``{entry.base}``.", ""]
    if isinstance(value, (ModuleType, GenericAlias)) or not callable(value):
        return [f".. py:data:: {entry.path}", "", *(f"   {line}" for line in summary_of_data(value)), ""]
    if isinstance(value, type):  # the methods of tensors have pages of their own
        return [f".. autoclass:: {entry.path}", *(["   :members:"] if entry.name != "Tensor" else []), ""]
    return [f".. auto{'method' if entry.owner == 'Tensor' else 'function'}:: {entry.path}", ""]


def summary_of_data(value: Any) -> list[str]:
    if isinstance(value, ModuleType):
        return [summary(value)]
    return [f"``{value!r}``"] if len(repr(value)) < 80 else [f"A ``{type(value).__name__}``."]


def references(entries: list[Entry], canonical: dict[int, Entry]) -> list[str]:
    """A list of names that are documented elsewhere."""
    if not entries:
        return []
    names = ", ".join(f":py:obj:`{e.name} <{canonical[id(e)].path}>`" for e in sorted(entries, key=lambda e: e.name))
    return ["Also here, and documented where programs look for them first:", "", names, ""]


def page(title: str, parts: list[tuple[str, list[Entry]]], rest: list[str]) -> str:
    lines = heading(title, "=")
    for subject, entries in parts:
        lines += heading(subject, "-") if len(parts) > 1 else []
        for entry in sorted(entries, key=lambda e: e.name.lower()):
            lines += directive(entry)
    return "\n".join([*lines, *rest])


def by_subject(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries by the module that defines them; those of one subject stand together."""
    parts = [(home, list(of)) for home, of in groupby(sorted(entries, key=lambda e: e.home), key=lambda e: e.home)]
    merged: dict[str, list[Entry]] = defaultdict(list)
    for home, of in parts:
        merged[title_of(home)] += of
    return sorted(merged.items())


def pages() -> dict[str, str]:
    """The text of every page, by its name without suffix."""
    owned, elsewhere, canonical = defaultdict(list), defaultdict(list), {}
    for entries in declared():
        first, *others = sorted(entries, key=rank)
        owned[first.owner].append(first)
        for other in others:
            canonical[id(other)] = first
            elsewhere[other.owner].append(other)
    texts = {}
    for owner in sorted({*owned, *elsewhere}):
        title = TITLES.get(owner, owner)
        parts, rest = by_subject(owned[owner]), references(elsewhere[owner], canonical)
        if len(owned[owner]) <= MANY:
            texts[owner] = page(title, parts, rest)
            continue
        names = [f"{owner}/{of[0].home.removeprefix('paddle.').replace('.', '-')}" for _, of in parts]
        tree = [".. toctree::", "", *(f"   {name}" for name in names), ""]
        texts[owner] = "\n".join([*heading(title, "="), *tree, *rest])
        texts.update((name, page(subject, [(subject, of)], [])) for name, (subject, of) in zip(names, parts))
    tops = sorted(name for name in texts if "/" not in name)
    texts["index"] = "\n".join(
        [*heading("Reference", "="), ".. toctree::", "   :maxdepth: 1", "", *(f"   {n}" for n in tops), ""]
    )
    return texts


def write(folder: Path) -> None:
    """Write the pages into ``folder``, and remove those of before. Unchanged files keep their time."""
    texts = {folder / f"{name}.rst": text for name, text in pages().items()}
    for path in set(folder.rglob("*.rst")) - set(texts):
        path.unlink()
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
