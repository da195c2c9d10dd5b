"""Patterns of operations as data: what is looked for, and what takes its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from umiak import ops
from umiak.compiler.passes.fusion import Found, Made, fuse_operations, same_sizes, tensor
from umiak.compiler.passes.registry import Run
from umiak.core.tensor import Tensor
from umiak.ir import expr
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value
from umiak.ir.registry import REGISTRY
from umiak.util.errors import op_error


class Variable(NamedTuple):
    """An attribute that a pattern does not fix, by the name under which matches have its value."""

    name: str


class Call(NamedTuple):
    """A call of an op in a pattern. ``operands`` and ``results`` are names of values, None for an absent operand.
    ``attributes``: those that matter, and params, by their names; a :class:`Variable` takes any. In a replacement a
    function of the match computes one.
    """

    op: str
    attributes: Mapping[str, Any]
    operands: tuple[str | None, ...]
    results: tuple[str, ...]


@dataclass
class Match:
    """A match: operands and results of the operations by name, and the values of variables."""

    values: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    def bind(self, where: dict[str, Any], name: str, x: Any) -> bool:
        """Note what a name stands for; False: it stands for something else."""
        return _equal(where.setdefault(name, x), x)


class Pattern:
    """``source`` exchanged for ``replacement``, where every one of ``constraints`` is true of the match.

    The last call of ``source`` is the one whose results the others lead to; they stay. What the others make must be
    read inside of the pattern alone.
    """

    def __init__(
        self,
        source: Sequence[Call],
        replacement: Sequence[Call],
        constraints: Iterable[Callable[[Match], Any]] = (),
        finished: Iterable[Callable[[Match], Any]] = (),
    ) -> None:
        self.makers = _makers(source)
        self.readings: dict[str, int] = {}
        for c in source:
            for name in c.operands:
                if name is not None:
                    self.readings[name] = self.readings.get(name, 0) + 1
        roots = [c for c in source if not any(r in self.readings for r in c.results)]
        if len(roots) != 1:
            raise op_error(
                ValueError, "pattern", "one operation whose results no other one reads", f"{[c.op for c in roots]}"
            )
        self.root = roots[0]
        self.replacement = tuple(replacement)
        self.constraints, self.finished = tuple(constraints), tuple(finished)
        named = {name for c in source for name in (*c.operands, *c.results) if name is not None}
        given = named - set(self.root.results)
        for c in replacement:
            unknown = [name for name in c.operands if name is not None and name not in given]
            if unknown:
                raise op_error(
                    ValueError, "pattern", "results made of values of the source or of earlier results", f"{unknown}"
                )
            given.update(c.results)
        made = _makers(replacement)
        missing = [name for name in self.root.results if name not in made]
        if missing:
            raise op_error(ValueError, "pattern", f"operations that make {missing}", f"{[c.op for c in replacement]}")

    def run(self, program: Program) -> None:
        """The pass: exchange whatever is found."""
        fuse_operations(program, [(self.root.op, self.fusion)])
        remove_dead(program)

    def fusion(self, found: Found, o: Operation) -> Callable[[], Made] | None:
        match = Match()
        if not self._matches(self.root, found, o, match) or not all(c(match) for c in self.constraints):
            return None

        def build() -> Made:
            made = self._made(match)
            for f in self.finished:
                f(match)
            return made

        return build

    def _matches(self, call: Call, found: Found, o: Operation, match: Match) -> bool:
        if len(o.operands) != len(call.operands) or len(o.results) < len(call.results):
            return False
        given = attributes_of(o)
        for attribute, wanted in call.attributes.items():
            if attribute not in given:
                has = ", ".join(given)
                raise op_error(ValueError, "pattern", f"attributes that {o.name} has: {has}", repr(attribute))
            if isinstance(wanted, Variable):
                if not match.bind(match.attributes, wanted.name, given[attribute]):
                    return False
            elif not _equal(wanted, given[attribute]):
                return False
        match.values.update(zip(call.results, o.results, strict=False))
        for name, x in zip(call.operands, o.operands, strict=True):
            if name is None or x is None:
                if name is not None or x is not None:
                    return False
            elif name in self.makers:
                inner = found.inside(x, self.makers[name].op, o, self.readings[name])
                if inner is None or not match.bind(match.values, name, x):
                    return False
                if not self._matches(self.makers[name], found, inner, match):
                    return False
            elif not match.bind(match.values, name, x):
                return False
        return True

    def _made(self, match: Match) -> Made:
        values = {name: tensor(x) for name, x in match.values.items()}
        for c in self.replacement:
            attributes = {name: _attribute(x, match) for name, x in c.attributes.items()}
            operands = [None if name is None else values[name] for name in c.operands]
            last = REGISTRY[c.op].inputs[-1:]
            if last and last[0].startswith("*"):
                n = len(REGISTRY[c.op].inputs) - 1
                operands[n:] = [operands[n:]]
            made = ops.function(c.op)(*operands, **attributes)
            values.update(zip(c.results, made if isinstance(made, tuple) else (made,), strict=False))
        wanted = tuple(values[name] for name in self.root.results)
        return wanted if len(wanted) > 1 else wanted[0]


def each_operation(rule: Callable[[Operation], Callable[[], Any] | None], what: str) -> Run:
    """A pass that asks ``rule`` for what takes an operation's place: a function that records it, or None.

    What it gives must have the types of what it replaces.
    """

    def fusion(found: Found, o: Operation) -> Callable[[], Made] | None:
        build = rule(o)
        if build is None:
            return None

        def checked() -> Made:
            made = build()
            results = list(made) if isinstance(made, (tuple, list)) else [made]
            if len(results) != len(o.results) or not all(
                isinstance(a, Tensor) and a.dtype is b.meta.dtype and same_sizes(a.shape, b.meta.shape)
                for a, b in zip(results, o.results, strict=False)
            ):
                wanted = ", ".join(str(r.meta) for r in o.results)
                came = ", ".join(
                    str(Meta(tuple(a.shape), a.dtype)) if isinstance(a, Tensor) else type(a).__name__ for a in results
                )
                raise op_error(ValueError, what, f"{wanted} in the place of {o.name}", came)
            # A value that was there before, or one as two results, cannot be the value that is replaced.
            for i, a in enumerate(results):
                if a._tracer is None or any(a is b for b in results[:i]):
                    results[i] = ops.copy(a)
            return tuple(results) if len(results) > 1 else results[0]

        return checked

    def run(program: Program) -> None:
        fuse_operations(program, [("*", fusion)])
        remove_dead(program)

    return run


def attributes_of(o: Operation) -> dict[str, Any]:
    """Attributes of a call: static attributes and params, by name."""
    return {**o.attributes, **dict(zip(o.op.param_fields, o.params, strict=True))}


def _makers(calls: Sequence[Call]) -> dict[str, Call]:
    made: dict[str, Call] = {}
    for c in calls:
        if c.op not in REGISTRY:
            raise op_error(ValueError, "pattern", "the name of an op", repr(c.op))
        for r in c.results:
            if r in made:
                raise op_error(ValueError, "pattern", "one operation for each value", f"two that make {r!r}")
            made[r] = c
    return made


def _attribute(x: Any, match: Match) -> Any:
    if isinstance(x, Variable):
        if x.name not in match.attributes:
            raise op_error(ValueError, "pattern", "an attribute that the source names", repr(x.name))
        return match.attributes[x.name]
    x = x(match) if callable(x) else x
    return tuple(x) if isinstance(x, list) else x


def _equal(a: Any, b: Any) -> bool:
    if type(a) is Value or type(b) is Value:
        return a is b
    if type(a) in (list, tuple) and type(b) in (list, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, expr.Sym) or isinstance(b, expr.Sym):
        return a is b
    return bool(type(a) is type(b) and a == b)
