"""Statements of the loop IR, written one after the other: loops and conditions as Python's ``with``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from umiak.compiler.algorithms.number import Number
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import LANE, SERIAL, Axis, Fail, Fold, If, Let, Loop, Statement
from umiak.compiler.loop.types import I64

State: TypeAlias = "Node | Number"


class Statements:
    """Writes statements. Indices and sizes are nodes or ints, values nodes or :class:`Number`."""

    def __init__(self) -> None:
        self.together = False  # whether a block of threads has something to share
        self._stack: list[list[Statement]] = [[]]
        self._count = 0

    def integer(self, x: Any) -> Node:
        """An index or a size as a node."""
        if isinstance(x, Number):
            return n.cast(x.re, I64)
        return x if isinstance(x, Node) else n.i64(x)

    def emit(self, s: Statement) -> None:
        self._stack[-1].append(s)

    def _fresh(self) -> int:
        self._count += 1
        return self._count

    def _axis(self) -> Node:
        return n.axis(f"s{self._fresh()}")

    @contextmanager
    def inside(self) -> Iterator[list[Statement]]:
        """A list of its own for statements that are written meanwhile."""
        self._stack.append([])
        yield self._stack[-1]
        self._stack.pop()

    @contextmanager
    def loop(self, hi: Any, lo: Any = 0, lanes: bool = False) -> Iterator[Node]:
        """``lo <= i < hi``, in order; as ``lanes`` side by side, by the threads of a block."""
        index = self._axis()
        self.together |= lanes
        with self.inside() as body:
            yield index
        axis = Axis(index, self.integer(hi), self.integer(lo), LANE if lanes else SERIAL)
        self.emit(Loop(axis, tuple(body)))

    @contextmanager
    def down(self, hi: Any, lo: Any = 0) -> Iterator[Node]:
        """The same indices from ``hi - 1`` down."""
        lo, hi = self.integer(lo), self.integer(hi)
        with self.loop(n.sub(hi, lo)) as i:
            yield n.sub(n.sub(hi, 1), i)

    @contextmanager
    def when(self, condition: Node) -> Iterator[None]:
        """Statements where a condition holds; one on lanes has to be part of their stores."""
        with self.inside() as body:
            yield
        self.emit(If(condition, tuple(body)))

    def fail(self, condition: Node, code: int = 1) -> None:
        """The launch fails where a condition holds."""
        self.emit(Fail(code, condition))

    def let(self, *values: Any) -> Any:
        """Values as they are here, whatever is stored later."""
        flat = _flat(values)
        variables = tuple(n.var(f"u{self._fresh()}", x.type) for x in flat)
        self.emit(Let(variables, tuple(flat)))
        again = _shaped(values, variables)
        return again[0] if len(again) == 1 else again

    def fold(
        self, hi: Any, init: Sequence[State], step: Callable[..., Sequence[State]], lo: Any = 0,
        go: Callable[..., Node] | None = None,
    ) -> Any:  # fmt: skip
        """``init``, then ``step(i, *state)`` for each ``lo <= i < hi`` where ``go(i, *state)``; the last state."""
        index = self._axis()
        first = _flat(init)
        states = tuple(n.var(f"u{self._fresh()}", x.type) for x in first)
        results = tuple(n.var(f"u{self._fresh()}", x.type) for x in first)
        before = _shaped(init, states)
        values, where = _flat(step(index, *before)), None if go is None else go(index, *before)
        axis = Axis(index, self.integer(hi), self.integer(lo))
        self.emit(Fold(results, states, axis, tuple(first), tuple(values), where))
        last = _shaped(init, results)
        return last[0] if len(last) == 1 else last

    def sum(self, hi: Any, term: Callable[[Node], Number], zero: Number, lo: Any = 0) -> Number:
        """The sum of ``term(i)``; ``zero`` has its type."""
        return self.fold(hi, (zero,), lambda i, s: (s + term(i),), lo)


def _flat(states: Sequence[State]) -> list[Node]:
    return [x for s in states for x in (s.parts if isinstance(s, Number) else (s,))]


def _shaped(states: Sequence[State], nodes: Sequence[Node]) -> list[State]:
    """Nodes in the form of states."""
    rest = iter(nodes)
    return [Number(*(next(rest) for _ in s.parts)) if isinstance(s, Number) else next(rest) for s in states]
