"""What statements and expressions of a random function are drawn from: variables in scope, numbers, choices.

A kind says what a value is:

======  ==================================================================================
``M``   a tensor of shape [rows, 4], with the number of rows of the call
``A``   a tensor of shape [any, 4]
``V``   a tensor of shape [4]
``S``   a tensor of shape []
``i``   an int, ``f`` a float, ``b`` a bool, ``s`` a text
``LM``  a list of tensors of kind ``M`` or ``A``, ``Li`` one of ints
``DM``  a dict of texts and tensors of kind ``A``, ``Di`` one of texts and ints
``O``   an object of the program's class ``Box``
``P``   a ``Pair``: a named tuple or a data class of two tensors
``N``   an int or None
``fn``  a function of one tensor of kind ``A``
``G``   a generator of tensors of kind ``A``, which can be used up
======  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any


class Refused(Exception):
    """There is nothing to draw."""


@dataclass
class Scope:
    """The variables that a block may read, and of which function it is."""

    kinds: dict[str, str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)  # of this function: these may be bound anew
    loops: int = 0  # around the block, in the same function
    depth: int = 0  # of blocks
    nested: int = 0  # of functions
    returns: str | None = None  # the kind that the function returns; None for what it likes

    def block(self, loop: bool = False) -> Scope:
        """The scope of a block inside."""
        return Scope(dict(self.kinds), self.own, self.loops + loop, self.depth + 1, self.nested, self.returns)

    def function(self, returns: str | None) -> Scope:
        """The scope of a function inside."""
        return Scope(dict(self.kinds), set(), 0, self.depth + 1, self.nested + 1, returns)


class Draw:
    """Random choices, and the text so far."""

    def __init__(self, seed: int, pure: bool, reads: bool) -> None:
        self.random = Random(f"function {seed}")
        self.pure = pure  # nothing outside is changed
        self.reads = reads  # data of tensors may be read by Python
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0
        self.scope = Scope()
        self.helpers: dict[str, tuple[str, str]] = {}  # name: how it is called (a format of a tensor), its kind

    # --- choices

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def integer(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        return self.random.randint(low, high)

    def choose(self, options: Sequence[Any]) -> Any:
        if not options:
            raise Refused
        return self.random.choice(options)

    def weighted(self, table: dict[Any, float]) -> Any:
        return self.random.choices(list(table), list(table.values()))[0]

    def number(self) -> str:
        return self.choose(("0.5", "-0.75", "1.25", "0.3", "-1.5", "2.0"))

    def odd(self) -> str:
        """A number that values do not come near by chance."""
        return f"{self.random.uniform(-1.0, 1.0):.6f}1"

    # --- variables

    def names(self, *kinds: str) -> list[str]:
        return [n for n, k in self.scope.kinds.items() if k in kinds]

    def pick(self, *kinds: str, own: bool = False) -> str:
        """A variable, of those made lately rather."""
        found = [n for n in self.names(*kinds) if not own or n in self.scope.own]
        if not found:
            raise Refused
        return self.random.choices(found, range(2, len(found) + 2))[0]

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def bind(self, name: str, kind: str) -> str:
        """Note that a variable of this function has a value."""
        self.scope.kinds[name] = kind
        self.scope.own.add(name)
        return name

    # --- text

    def line(self, text: str) -> None:
        self.lines += ["    " * self.indent + part for part in text.split("\n")]

    @contextmanager
    def block(self, head: str, loop: bool = False) -> Iterator[None]:
        """A compound statement; what its body binds is not known behind it."""
        self.line(head)
        before, self.scope = self.scope, self.scope.block(loop)
        self.indent += 1
        try:
            yield
        finally:
            self.indent -= 1
            self.scope = before

    @contextmanager
    def function(self, head: str, returns: str | None, parameters: dict[str, str]) -> Iterator[None]:
        """The definition of a function."""
        self.line(head)
        before, self.scope = self.scope, self.scope.function(returns)
        for name, kind in parameters.items():
            self.bind(name, kind)
        self.indent += 1
        try:
            yield
        finally:
            self.indent -= 1
            self.scope = before

    def attempt(self, make: Callable[[Draw], Any]) -> bool:
        """Write something, or leave the text as it was."""
        lines, scope, count, indent = len(self.lines), self.scope, self.count, self.indent
        kinds, own = dict(scope.kinds), set(scope.own)
        try:
            make(self)
        except Refused:
            del self.lines[lines:]
            self.scope, self.count, self.indent = scope, count, indent
            scope.kinds, scope.own = kinds, own
            return False
        return True
