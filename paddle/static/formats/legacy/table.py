"""The table of older operators: what each becomes in a module.

Most are one operation, and a row says which, in a line of text:

    reshape2: reshape(X, ShapeTensor*|Shape|@shape~[]) -> Out
    softmax: softmax(X; axis~-1) -> Out
    cast: cast(X; dtype=out_dtype@dtype) -> Out

In parentheses, its operands: variables of a slot; ``*``: all of them, as a list; ``|``: of the next one, where a slot
is empty; ``@name``: an attribute, as a constant tensor (``~`` as below); ``?``: it may be absent. Behind the semicolon,
its attributes: ``new=old`` where names differ (``new=old|older``), ``@dtype`` for the number of an element type, ``~``
and the value where the file has none, which is what programs from before the attribute mean. Behind the arrow, slots of
results: ``_`` for one that is dropped.

What a row cannot say is a function, ``@rule``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle.static.formats.legacy.program import Operator

if TYPE_CHECKING:
    from paddle.static.formats.legacy.translate import Translator

UNSET = object()


class Source(NamedTuple):
    """The origin of an operand: a slot, all of its variables or one, or an attribute."""

    name: str
    listed: bool = False
    constant: bool = False
    default: Any = UNSET


class Operand(NamedTuple):
    """Sources, of which the first that is there counts."""

    sources: tuple[Source, ...]
    optional: bool


class Renamed(NamedTuple):
    """An attribute: its name in a module and those in files, newest first, and what its absence means."""

    name: str
    sources: tuple[str, ...]
    dtype: bool = False
    default: Any = UNSET


class Row(NamedTuple):
    """One operation. ``results``: names of slots, and whether all of their variables are one list."""

    target: str
    operands: tuple[Operand, ...]
    attributes: tuple[Renamed, ...]
    results: tuple[tuple[str | None, bool], ...]


Rule = Callable[["Translator", Operator], None]

TABLE: dict[str, Row | Rule] = {}

# Rows that rules end in, by type: the meaning of operators where there is nothing that a rule is for.
BASES: dict[str, Row] = {}

_ROW = re.compile(r"(\w+): (\w+(?:\.\w+)?)\(([^;)]*)(?:; ?(.*))?\) -> (.+)")


def rule(*types: str) -> Callable[[Rule], Rule]:
    """Declare what operators of some types become."""

    def declare(function: Rule) -> Rule:
        for type in types:
            _add(type, function)
        return function

    return declare


def rows(text: str) -> None:
    """Declare operators by rows. What is indented goes on with the row before."""
    for line in re.sub(r"\n +", " ", text.strip()).splitlines():
        type, row = _parsed(line)
        _add(type, row)


def row(text: str) -> Row:
    """One row, for a rule that changes an operator before it is translated so."""
    type, parsed = _parsed(re.sub(r"\n +", " ", text.strip()))
    assert type not in BASES, f"{type} has two rows"
    BASES[type] = parsed
    return parsed


def _add(type: str, meaning: Row | Rule) -> None:
    assert type not in TABLE, f"{type} is declared twice"
    TABLE[type] = meaning


def _parsed(line: str) -> tuple[str, Row]:
    found = _ROW.fullmatch(line)
    assert found, line
    type, target, operands, attributes, results = found.groups()
    target = target if "." in target else f"pd_op.{target}"
    return type, Row(
        target,
        tuple(_operand(x) for x in operands.split(", ") if x),
        tuple(_renamed(x) for x in (attributes or "").split()),
        tuple((None if x == "_" else x.rstrip("*"), x.endswith("*")) for x in results.split()),
    )


def _operand(text: str) -> Operand:
    return Operand(tuple(_source(x) for x in text.rstrip("?").split("|")), text.endswith("?"))


def _source(text: str) -> Source:
    name, _, default = text.partition("~")
    return Source(name.strip("*@"), "*" in name, "@" in name, ast.literal_eval(default) if default else UNSET)


def _renamed(text: str) -> Renamed:
    names, _, default = text.partition("~")
    names, _, dtype = names.partition("@")
    name, _, source = names.partition("=")
    return Renamed(
        name, tuple((source or name).split("|")), bool(dtype), ast.literal_eval(default) if default else UNSET
    )


def unknown(types: Iterator[str]) -> list[str]:
    """Those of some types that are not in the table."""
    return sorted(set(types) - TABLE.keys())
