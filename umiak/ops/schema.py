"""Schemas of operators that users bring: names, types and defaults of arguments, and how many results there are.

``f(Tensor x, Tensor(a!) y, float scale=1.0, int[] axes=[], *, str? mode=None) -> (Tensor, Tensor)`` is the text of one;
``!`` stands for an argument that is written to. A schema is read of such a text or of a function's signature.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from umiak.core.dtype import DType
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym


class _Missing:
    def __repr__(self) -> str:
        return "<required>"


MISSING: Any = _Missing()
ANY = "any"

# The words of types in texts, and what they stand for. Other words of PyTorch's texts for the same are taken, too.
_WORDS = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str",
    "Scalar": "number", "number": "number", "ScalarType": "dtype", "dtype": "dtype", "Device": "place",
    "place": "place", ANY: ANY,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")
_TYPE = re.compile(r"(?P<word>\w+)(?P<alias>\([a-z]\w*!?\))?(?P<inner>\?)?(?P<listed>\[\d*\])?(?P<optional>\?)?")


def _kind_of(word: str, value: Any) -> bool:
    """Return whether a value is of the type that a word names."""
    symbol = value.kind if type(value) is Sym else None
    if word == "Tensor":
        return isinstance(value, Tensor)
    if word == "bool":
        return isinstance(value, (bool, np.bool_)) or symbol == "bool"
    if word == "int":
        return symbol == "int" or (isinstance(value, (int, np.integer)) and not isinstance(value, bool))
    if word in ("float", "number"):
        number = isinstance(value, (int, float, np.integer, np.floating)) or symbol in ("int", "float")
        plain = word == "number" or not isinstance(value, bool)
        return (number and plain) or (word == "number" and isinstance(value, (complex, np.complexfloating)))
    if word == "str":
        return isinstance(value, str)
    if word == "dtype":
        return isinstance(value, (DType, str))
    return isinstance(value, (Place, str)) if word == "place" else True


@dataclass(frozen=True)
class Argument:
    """An argument: the word of its type, whether it is a list of such, may be None, and is written to.

    ``inner``: whether the items of a list may be None. ``default`` is MISSING where there is none.
    """

    name: str
    kind: str = ANY
    listed: bool = False
    optional: bool = False
    inner: bool = False
    default: Any = MISSING
    keyword_only: bool = False
    written: bool = False

    @property
    def type(self) -> str:
        """The type in a schema's text."""
        alias = "(!)" if self.written else ""
        return f"{self.kind}{alias}{'?' * self.inner}{'[]' * self.listed}{'?' * self.optional}"

    def takes(self, value: Any) -> bool:
        """Return whether a value is of this type."""
        if value is None:
            return self.optional or self.kind == ANY
        if self.kind == ANY:
            return True
        if not self.listed:
            return _kind_of(self.kind, value)
        if not isinstance(value, (list, tuple)):
            return False
        return all(_kind_of(self.kind, x) if x is not None else self.inner for x in value)

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + ("" if self.default is MISSING else f"={self.default!r}")


def _takes_names(fn: Callable[..., Any]) -> bool:
    """Has a function arguments that are given by name alone?"""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # of a library in C
        return False
    return any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)


@dataclass(frozen=True)
class Schema:
    """The arguments of an operator in order, and the types of its results; None where nothing is said about them."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...] | None = None

    @property
    def count(self) -> int | None:
        """The number of results; None where it is not fixed."""
        return None if self.returns is None or any("[]" in r for r in self.returns) else len(self.returns)

    @property
    def written(self) -> tuple[int, ...]:
        """Positions of arguments that are written to."""
        return tuple(i for i, a in enumerate(self.arguments) if a.written)

    def writing(self, names: Iterable[str]) -> Schema:
        """The schema in which the arguments of these names are written to."""
        chosen = set(names)
        unknown = chosen - {a.name for a in self.arguments}
        if unknown:
            raise ValueError(
                f"[{self.name}] requires names of arguments {[a.name for a in self.arguments]} as mutates_args, "
                f"got {sorted(unknown)}"
            )
        return replace(self, arguments=tuple(replace(a, written=a.written or a.name in chosen) for a in self.arguments))

    @functools.cached_property
    def positional(self) -> int:
        """The number of arguments that may be given by position; the others stand behind them."""
        return sum(not a.keyword_only for a in self.arguments)

    def ordered(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn`` as a function of all arguments in order: what it takes by name alone, it gets by name."""
        n, names = self.positional, [a.name for a in self.arguments if a.keyword_only]
        if not names or not _takes_names(fn):
            return fn

        def call(*args: Any) -> Any:
            return fn(*args[:n], **dict(zip(names, args[n:], strict=True)))

        return call

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple:
        """The values of all arguments in order, with defaults.

        Raises:
            TypeError: arguments that are missing, too many, unknown, given twice, or of another type.
        """
        if not kwargs and len(args) == len(self.arguments) == self.positional:
            for a, value in zip(self.arguments, args, strict=True):
                if not a.takes(value):
                    raise self._refusal(a, value)
            return tuple(args)
        positional = self.arguments[: self.positional]
        if len(args) > len(positional):
            raise TypeError(
                f"[{self.name}] requires at most {len(positional)} positional arguments, got {len(args)}. "
                f"Its schema is {self}"
            )
        values = dict(zip((a.name for a in positional), args))
        for name, value in kwargs.items():
            if not any(a.name == name for a in self.arguments):
                raise TypeError(f"[{self.name}] has no argument {name!r}. Its schema is {self}")
            if name in values:
                raise TypeError(f"[{self.name}] requires each argument once, got {name!r} twice")
            values[name] = value
        out = []
        for a in self.arguments:
            value = values.get(a.name, a.default)
            if value is MISSING:
                raise TypeError(f"[{self.name}] requires argument {a.name!r}, got none. Its schema is {self}")
            if a.name in values and not a.takes(value):
                raise self._refusal(a, value)
            out.append(value)
        return tuple(out)

    def _refusal(self, a: Argument, value: Any) -> TypeError:
        return TypeError(
            f"[{self.name}] requires {a.type} for argument {a.name!r}, got {shown_kind(value)}. Its schema is {self}"
        )

    def __str__(self) -> str:
        parts: list[str] = []
        for a in self.arguments:
            if a.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(a))
        if self.returns is None:
            results = "..."
        else:
            results = self.returns[0] if len(self.returns) == 1 else f"({', '.join(self.returns)})"
        return f"{self.name}({', '.join(parts)}) -> {results}"


def shown_kind(value: Any) -> str:
    """The class of a value, of a list with those of its items."""
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {', '.join(sorted({type(x).__name__ for x in value})) or 'nothing'}"
    return type(value).__name__


def checked_name(name: Any, function: str) -> str:
    """A name ``namespace::operator``, or an error of ``function``."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        # The reference framework asserts that there is a namespace.
        raise SchemaNameError(f"[{function}] requires a name like 'my_namespace::my_op', got {name!r}")
    return name


class SchemaNameError(ValueError, AssertionError):
    """A name of an operator without a namespace. The reference framework asserts that it has one."""


# --- texts -----------------------------------------------------------------------------------------------------------


def parse(text: str, name: str | None = None) -> Schema:
    """Read the text of a schema. ``name``: of the operator, where the text has none, or another."""
    match = re.fullmatch(r"\s*(?P<name>[\w:.]*)\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.*?)\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(
            f"[{name or 'schema'}] requires a schema like '(Tensor x, float s=1.0) -> Tensor', got {text!r}"
        )
    name = name or checked_name(match["name"], "schema")
    if match["name"] and match["name"] not in (name, name.rpartition("::")[2]):
        raise ValueError(f"[{name}] requires a schema of this name, got {text!r}")
    arguments: list[Argument] = []
    keyword_only = False
    for part in _split(match["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        arguments.append(replace(_argument(part, name, text), keyword_only=keyword_only))
    names = [a.name for a in arguments]
    if len(set(names)) != len(names):
        raise ValueError(f"[{name}] requires arguments of different names in its schema, got {text!r}")
    results = match["returns"]
    if results == "...":
        return Schema(name, tuple(arguments))
    inner = results[1:-1] if results.startswith("(") and results.endswith(")") else results
    returns = []
    for part in _split(inner):
        matched = _TYPE.fullmatch(part.split()[0])
        if matched is None or _WORDS.get(matched["word"]) != "Tensor":
            raise ValueError(f"[{name}] requires tensors as results in its schema, got {part!r} in {text!r}")
        returns.append("Tensor[]" if matched["listed"] else "Tensor")
    return Schema(name, tuple(arguments), tuple(returns))


def _split(text: str) -> list[str]:
    """Parts between commas that are in no brackets or quotes."""
    parts, depth, quote, at = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and not depth:
            parts.append(text[at:i].strip())
            at = i + 1
    return [p for p in [*parts, text[at:].strip()] if p]


def _argument(part: str, name: str, text: str) -> Argument:
    left, equals, default = part.partition("=")
    words = left.split()
    match = _TYPE.fullmatch("".join(words[:-1]))
    if match is None or match["word"] not in _WORDS or not words[-1].isidentifier():
        raise ValueError(
            f"[{name}] requires arguments like 'Tensor x' or 'int[]? axes=None' in its schema (types are "
            f"{', '.join(_WORDS)}), got {part!r} in {text!r}"
        )
    value = MISSING
    if equals:
        try:
            value = ast.literal_eval(default.strip())
        except (ValueError, SyntaxError):
            raise ValueError(
                f"[{name}] requires defaults that are Python's literals, got {default!r} in {text!r}"
            ) from None
    listed, mark = bool(match["listed"]), bool(match["inner"])  # `Tensor?` is optional, `Tensor?[]` has items that are
    argument = Argument(
        words[-1], _WORDS[match["word"]], listed, bool(match["optional"]) or (mark and not listed), mark and listed,
        value, written="!" in (match["alias"] or ""),
    )  # fmt: skip
    one_for_all = listed and _kind_of(argument.kind, value)  # int[2] size=1
    if value not in (MISSING, None) and not (one_for_all or argument.takes(value)):
        raise ValueError(f"[{name}] requires defaults of their argument's type, got {part!r} in {text!r}")
    return argument


# --- signatures ------------------------------------------------------------------------------------------------------

_SEQUENCES = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_PLAIN = {bool: "bool", int: "int", float: "float", str: "str", DType: "dtype", Place: "place", complex: "number"}


def of_function(name: str, function: Callable[..., Any]) -> Schema:
    """The schema that a function's signature and annotations say. What is not annotated takes anything."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise TypeError(
            f"[{name}] requires a function whose signature Python knows, got {function!r}. Give its schema"
        ) from None
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # annotations that are text may say anything, and raise anything: then nothing is known
        hints = {}
    arguments = []
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(f"[{name}] requires a function of a fixed number of arguments, got {p} in {signature}")
        default = MISSING if p.default is p.empty else p.default
        hint = hints.get(p.name, ANY)
        arguments.append(replace(_hinted(p.name, hint), default=default, keyword_only=p.kind is p.KEYWORD_ONLY))
        if default is None and not arguments[-1].optional:
            arguments[-1] = replace(arguments[-1], optional=True)
    returns = _returned(hints["return"]) if "return" in hints else None
    return Schema(name, tuple(arguments), returns)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(hint)
    return typing.get_args(hint) if origin in (typing.Union, types.UnionType) else (hint,)


def _word(hint: Any) -> str:
    """The word of a type that is no list; ``any`` for what has none."""
    if isinstance(hint, type) and issubclass(hint, Tensor):
        return "Tensor"
    return _PLAIN.get(hint, ANY) if isinstance(hint, type) else ANY


def _hinted(name: str, hint: Any) -> Argument:
    alternatives = _alternatives(hint)
    optional = type(None) in alternatives
    rest = [h for h in alternatives if h is not type(None)]
    if len(rest) > 1:
        words = {_word(h) for h in rest}
        return Argument(name, "number" if words <= {"int", "float", "bool", "number"} else ANY, optional=optional)
    hint = rest[0] if rest else ANY
    origin = typing.get_origin(hint)
    items = typing.get_args(hint)
    if origin in _SEQUENCES and items and (origin is not tuple or items[-1] is Ellipsis or len(set(items)) == 1):
        item = _hinted(name, items[0])
        if item.kind != ANY and not item.listed:
            return Argument(name, item.kind, True, optional, item.optional)
    return Argument(name, _word(hint), optional=optional)


def _returned(hint: Any) -> tuple[str, ...] | None:
    if hint is type(None) or hint is None:
        return ()
    if _word(hint) == "Tensor":
        return ("Tensor",)
    items = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and items and items[-1] is not Ellipsis:
        return ("Tensor",) * len(items) if all(_word(h) == "Tensor" for h in items) else None
    if typing.get_origin(hint) in _SEQUENCES and items and _word(items[0]) == "Tensor":
        return ("Tensor[]",)
    return None
