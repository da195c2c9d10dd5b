"""The docstring of a public function or class says what its signature says, in one form (docs/design/public_api.md)."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from types import GenericAlias
from typing import Any

import lazy_names
import pytest

from paddle.nn import Layer

SECTIONS = ("Args", "Returns", "Yields", "Shape", "Attributes", "Raises", "Note", "References", "Example")
HEADING = re.compile(rf"^({'|'.join(SECTIONS)}s?):$", re.MULTILINE)
# How an entry of Args, Returns or Raises begins: `x: …`, `x, y: …`, `*shape: …`.
ENTRY = re.compile(r"^    (\*{0,2}\w+(?:, \*{0,2}\w+)*): \S", re.MULTILINE)
# A parameter that any value is taken for: nothing can be raised about it.
IGNORED = re.compile(r"^    (\w+): accepted\b", re.MULTILINE)
# A summary is a noun or a verb ("Softmax along …", "Return …"), not a clause that answers a question.
QUESTION = re.compile(r"(What|Who|Whose|Which|Whether|How|Where|When|Why)\b")
# An error in a sentence.
RAISED = re.compile(r"\bRaises \w*Error\b")
# Parameters that every function has and none uses.
UNUSED = {"self", "cls", "name"}
# Modules whose public names are those that they define, without declarations.
LISTED = (
    "paddle.amp.debugging",
    "paddle.framework.unique_name",
    "paddle.optimizer.lr",
    "paddle.regularizer",
    "paddle.version",
)


def sections(docstring: str) -> dict[str, str]:
    """The text below each heading, in order; the summary and what follows it under the empty name."""
    parts = HEADING.split(docstring)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def parameters(value: Any) -> list[str]:
    """The names of the parameters that a docstring has to explain."""
    if isinstance(value, EnumMeta):  # nobody makes one
        return []
    try:
        signature = inspect.signature(value)
    except ValueError:  # a class of the core, which has none
        return []
    return [name for name in signature.parameters if name not in UNUSED]


def explained_in(found: dict[str, str]) -> list[str]:
    """The names of the parameters that a docstring explains."""
    names = [n.lstrip("*") for entry in ENTRY.findall(found.get("Args", "")) for n in entry.split(", ")]
    return [n for n in names if n not in UNUSED]


def summary_mistakes(found: dict[str, str]) -> Iterator[str]:
    summary = found[""].strip().split("\n\n")[0]
    if QUESTION.match(summary):
        yield "the summary does not begin with a noun or a verb"
    if not summary.endswith((".", ":", "``")):
        yield "the summary does not end with a period"


def mistakes(value: Any) -> Iterator[str]:
    """What is missing or wrong in the docstring of a function or class."""
    docstring = inspect.getdoc(value) if not isinstance(value, type) else inspect.cleandoc(value.__doc__ or "")
    if not docstring:
        yield "it has no docstring"
        return
    found = sections(docstring)
    yield from summary_mistakes(found)
    if RAISED.search(found[""]):
        yield "errors stand in the section Raises"
    order = [SECTIONS.index(name) for name in found if name]
    if order != sorted(order):
        yield f"sections stand in this order: {', '.join(SECTIONS)}"
    explained, expected = explained_in(found), parameters(value)
    if explained != expected:
        yield f"Args explains {explained}, the signature has {expected}"
    if not isinstance(value, type):
        ignored = set(IGNORED.findall(found.get("Args", "")))
        if set(expected) - ignored and "Raises" not in found:
            yield "no section Raises"
        returns = getattr(value, "__annotations__", {}).get("return", "")
        if "Returns" not in found and "Yields" not in found and returns not in ("None", "NoReturn", None):
            yield "no section Returns"
    elif issubclass(value, Layer) and value.forward is not Layer.forward and "Shape" not in found:
        yield "no section Shape"
    if ">>> " not in found.get("Example", ""):
        yield "no example"


def documented() -> dict[str, Any]:
    """The public functions and classes with docstrings of their own, by where they stand."""
    found = {}
    for row in lazy_names.rows():
        alias = isinstance(row.value, GenericAlias)
        own = row.base is None and not alias and (isinstance(row.value, type) or callable(row.value))
        if own and row.home.startswith("paddle"):
            found[f"{row.home}.{row.name}"] = (row.home, row.value)
    for home in LISTED:
        for name, value in vars(importlib.import_module(home)).items():
            if getattr(value, "__module__", None) == home and not name.startswith("_"):
                found[f"{home}.{name}"] = (home, value)
    return found


DOCUMENTED = documented()


def by_owner(names: Iterable[str]) -> dict[str, list[str]]:
    """The names of each module or class: an item for each name would cost more than its check."""
    owners: dict[str, list[str]] = {}
    for name in names:
        owners.setdefault(name.rpartition(".")[0], []).append(name)
    return owners


OWNERS = by_owner(DOCUMENTED)


@pytest.mark.parametrize("owner", OWNERS)
def test_docstrings_say_what_signatures_say(owner):
    found = [f"{name}: {line}" for name in OWNERS[owner] for line in mistakes(DOCUMENTED[name][1])]
    assert not found, "\n".join(found)


def methods() -> Iterator[tuple[str, Any]]:
    """The public methods with parameters that public classes and their bases of this package define."""
    classes = {base for _, value in DOCUMENTED.values() if isinstance(value, type) for base in value.__mro__}
    for owner in sorted(classes, key=lambda c: f"{c.__module__}.{c.__qualname__}"):
        for key, given in vars(owner).items() if owner.__module__.startswith("paddle.") else ():
            own = getattr(given, "__func__", given)  # of static and class methods
            defined = inspect.isfunction(own) and own.__module__ == owner.__module__
            if defined and not key.startswith("_") and parameters(own):
                yield f"{owner.__module__}.{owner.__qualname__}.{key}", getattr(owner, key)


METHODS = dict(methods())
CLASSES = by_owner(METHODS)


@pytest.mark.parametrize("owner", CLASSES)
def test_methods_have_docstrings(owner):
    """Their own or those of what they override; where they have Args, they are those of the signature."""
    wrong = [f"{name}: {line}" for name in CLASSES[owner] for line in method_mistakes(METHODS[name])]
    assert not wrong, "\n".join(wrong)


def method_mistakes(method: Any) -> Iterator[str]:
    docstring = inspect.getdoc(method)
    if not docstring:
        yield "has no docstring"
        return
    found = sections(docstring)
    yield from summary_mistakes(found)
    kinds = {p.kind for p in inspect.signature(method).parameters.values()}
    open_ended = kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if "Args" in found and not open_ended:
        explained, expected = explained_in(found), parameters(method)
        if explained != expected:
            yield f"Args explains {explained}, the signature has {expected}"


def test_the_check_sees_mistakes():
    def good(x, *shape, axis=None, name=None):
        """Sum of ``x``.

        Args:
            x: a tensor.
            *shape: integers; one
                for each axis.
            axis: the axis.

        Returns:
            A tensor.

        Raises:
            TypeError: x is no tensor.

        Example:
            >>> 1
            1
        """

    def bad(x, axis=None):
        """Which sum

        Args:
            axis: the axis.
            x: a tensor.

        Example:
            f(1)
        """

    class Doubled(Layer):
        """Double of a tensor.

        Example:
            >>> 1
            1
        """

        def __init__(self):
            super().__init__()

        def forward(self, x):
            return x + x

    assert not list(mistakes(good))
    assert len(list(mistakes(bad))) == 6
    assert list(mistakes(Doubled)) == ["no section Shape"]
