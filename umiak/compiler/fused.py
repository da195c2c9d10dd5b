"""The op that stands for a group of operations which one kernel runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from umiak.core import eager
from umiak.ir import expr
from umiak.ir.expr import Sym
from umiak.ir.expression_text import show_expression
from umiak.ir.meta import Meta, identical
from umiak.ir.program import Operation, Value
from umiak.ir.scope import substitute, symbols_of
from umiak.ops.base import Op, param, register


class FusionGroup:
    """Operations over numbered arguments, in symbols of their own, so that equal groups of different programs are the
    same group.

    ``sizes[i][a]``: the symbol (or int) of size ``a`` of argument ``i``; ``scalars``: symbols of float scalars, which
    follow the tensors as operands; ``ints``: symbols of the integers that sizes and params need besides.
    """

    __slots__ = ("arguments", "ints", "operations", "results", "scalars", "text")

    def __init__(
        self,
        operations: Sequence[Operation],
        arguments: Sequence[Value],
        results: Sequence[Value],
        scalars: Sequence[Sym],
        ints: Sequence[Sym],
    ) -> None:
        self.operations, self.arguments, self.results = tuple(operations), tuple(arguments), tuple(results)
        self.scalars, self.ints = tuple(scalars), tuple(ints)
        self.text = _text(self)

    @property
    def shown(self) -> str:
        return f"<{self!r}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is FusionGroup and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return "+".join(o.name for o in self.operations)

    def read_after(self, j: int) -> set[int]:
        """The arguments, by number, that a kernel reads after it has stored the element of result ``j``."""
        wanted = {id(v) for v in self.results[j + 1 :]}
        for o in reversed(self.operations):
            if any(id(r) in wanted for r in o.results):
                wanted.update(id(x) for x in o.values)
        return {i for i, v in enumerate(self.arguments) if id(v) in wanted}

    def in_place(self, argument: Value) -> bool:
        """Return whether each element of an argument is read only where the results have the same one.

        An operation that may write into its operand reads it so.
        """
        shape = argument.meta.shape
        if any(not identical(v.meta.shape, shape) for v in self.results):
            return False
        follow = {id(argument)}
        for o in self.operations:
            read = [i for i, v in enumerate(o.operands) if id(v) in follow]
            if read:
                if (
                    o is self.operations[-1]
                    and all(o.op.overwritable >> i & 1 for i in read)
                    and follow == {id(argument)}
                ):
                    return True
                if not o.op.elementwise or any(not identical(r.meta.shape, shape) for r in o.results):
                    return False
                follow.update(map(id, o.results))
        return True

    def bind(self, shapes: Sequence[Any], ints: Sequence[Any]) -> dict[Sym, Any]:
        """Return the values of the symbols of sizes and integers in a call."""
        env: dict[Sym, Any] = dict(zip(self.ints, ints, strict=True))
        for argument, shape in zip(self.arguments, shapes, strict=True):
            for size, actual in zip(argument.meta.shape, shape, strict=True):
                if type(size) is Sym:
                    env.setdefault(size, actual)
        return env

    def instantiate(self, env: dict[Sym, Any]) -> tuple[list[Operation], list[Value], list[Value]]:
        """The operations with other symbols, the arguments and the results among their values."""
        return _copied(self.operations, self.arguments, self.results, lambda x: substitute(x, env))


def _copied(
    operations: Sequence[Operation],
    arguments: Sequence[Value],
    results: Sequence[Value],
    own: Callable[[Any], Any],
    number: Callable[[Any], Any] | None = None,
) -> tuple[list[Operation], list[Value], list[Value]]:
    """Operations over new values, with every size, number and param passed through ``own``; with ``number``, scalars
    among the operands through that."""
    number = number or own
    copies: dict[int, Value] = {}
    for i, v in enumerate(arguments):
        copies[id(v)] = Value(Meta(own(tuple(v.meta.shape)), v.meta.dtype), None, i)  # type: ignore[arg-type]
    copied = []
    for o in operations:
        operands = [copies[id(x)] if type(x) is Value else number(x) for x in o.operands]
        metas = [Meta(own(tuple(r.meta.shape)), r.meta.dtype) for r in o.results]
        copied.append(Operation(o.op, operands, own(tuple(o.params)), metas))
        copies.update({id(r): c for r, c in zip(o.results, copied[-1].results, strict=True)})
    return copied, [copies[id(v)] for v in arguments], [copies[id(v)] for v in results]


def _text(g: FusionGroup) -> str:
    number = {id(v): f"%{i}" for i, v in enumerate(g.arguments)}
    lines = [f"({', '.join(f'{number[id(v)]}: {v.meta}' for v in g.arguments)})"]
    for o in g.operations:
        for r in o.results:
            number[id(r)] = f"%{len(number)}"
        operands = ", ".join(number[id(x)] if type(x) is Value else _exact(x) for x in o.operands)
        params = ", ".join(map(_exact, o.params))
        results = ", ".join(f"{number[id(r)]}: {r.meta}" for r in o.results)
        lines.append(f"{results} = {o.op!r}({operands}; {params})")
    lines.append(f"return {', '.join(number[id(v)] for v in g.results)}; {g.scalars}; {g.ints}")
    return "\n".join(lines)


def _exact(x: Any) -> str:
    if isinstance(x, tuple):
        return f"({', '.join(map(_exact, x))})"
    if type(x) is float:
        return x.hex()
    return show_expression(x) if type(x) is Sym else f"{type(x).__name__} {show_expression(x)}"


@register
class Fused(Op):
    """The results of a group of operations. Operands: its tensors, then its float scalars."""

    inputs = ("*xs",)
    packed = True  # its operations have been asked
    group: Any
    ints: tuple = param("ints")

    @property
    def elementwise(self) -> bool:  # type: ignore[override]
        """Return whether all of it works element by element: then an output may be the memory of an operand."""
        return all(o.op.elementwise for o in self.group.operations)

    @property
    def overwritable(self) -> int:  # type: ignore[override]
        """Operands, as bits, that are read only where a result of their shape has its element."""
        return sum(1 << i for i, v in enumerate(self.group.arguments[:63]) if self.group.in_place(v))

    def infer(self, *args: Any) -> Any:
        operands, ints = args[:-1], args[-1]
        g = self.group
        env = g.bind([m.shape for m in operands[: len(g.arguments)]], ints)
        metas = tuple(Meta(substitute(tuple(v.meta.shape), env), v.meta.dtype) for v in g.results)
        return metas if len(metas) > 1 else metas[0]

    def decompose(self, *args: Any) -> Any:
        operands, ints = args[:-1], args[-1]
        g = self.group
        count = len(g.arguments)
        env = g.bind([tuple(x.shape) for x in operands[:count]], ints)
        env.update(zip(g.scalars, operands[count:], strict=True))
        values: dict[int, Any] = {id(v): x for v, x in zip(g.arguments, operands[:count], strict=True)}
        for o in g.operations:
            xs = tuple(values[id(x)] if type(x) is Value else substitute(x, env) for x in o.operands)
            made = eager.apply(o.op, xs, substitute(tuple(o.params), env))
            for r, y in zip(o.results, made if isinstance(made, (tuple, list)) else (made,), strict=True):
                values[id(r)] = y
        results = tuple(values[id(v)] for v in g.results)
        return results if len(results) > 1 else results[0]

    def __repr__(self) -> str:
        return f"fused({self.group!r})"


def constants_of(operations: Sequence[Operation], arguments: Sequence[Value]) -> tuple[list, list]:
    """(sizes, scalars) that are known, in the order in which :func:`make_group` comes to them."""
    sizes: list[int] = []
    scalars: list[str] = []

    def see(x: Any) -> None:
        if type(x) is tuple:
            for y in x:
                see(y)
        elif type(x) is int and x > 1:
            sizes.append(x)
        elif type(x) is float:
            scalars.append(x.hex())

    for v in arguments:
        see(v.meta.shape)
    for o in operations:
        scalars.extend(map(_exact, (x for x in o.operands if type(x) in (int, float))))
        for r in o.results:
            see(r.meta.shape)
        see(o.params)
    return sizes, scalars


@dataclass(frozen=True)
class Unspecialised:
    """Constants that a group takes as arguments, so that layers that differ in them are one group: sizes,
    and scalars by their place in :func:`constants_of`."""

    sizes: bool = False
    scalars: frozenset[int] = frozenset()


def _numbers(operations: Sequence[Operation]) -> list[Sym]:
    """The symbols of numbers and params in the order in which they occur: of those that occur first in one expression,
    whose order follows from the caller's names, in that of where else they do."""
    places: dict[Sym, list[tuple[int, int]]] = {}
    for i, o in enumerate(operations):
        for j, x in enumerate((*o.operands, *o.params)):
            for symbol in symbols_of(x):
                places.setdefault(symbol, []).append((i, j))
    return sorted(places, key=places.__getitem__)


def make_group(
    operations: Sequence[Operation],
    inputs: Sequence[Value],
    results: Sequence[Value],
    unspecialised: Unspecialised | None = None,
) -> tuple[FusionGroup, list[Any], list[Any]]:
    """The group, and the scalars and ints that its caller passes, in the caller's symbols."""
    unspecialised = unspecialised or Unspecialised()
    table: dict[Sym, Any] = {}
    sizes: dict[int, Sym] = {}
    scalars: list[Sym] = []
    ints: list[Sym] = []
    constants: tuple[list[Any], list[Any]] = ([], [])
    places = itertools.count()  # of scalars that are known

    def new_number(x: Any) -> Sym:
        scalars.append(expr.symbol(f"f{len(scalars)}", kind="float"))
        constants[0].append(x)
        return scalars[-1]

    def new_int(x: Any) -> Sym:
        ints.append(expr.symbol(f"k{len(ints)}", lo=None, kind="int"))
        constants[1].append(x)
        return ints[-1]

    def expression(x: Any) -> Any:
        """An expression of the caller in the group's symbols."""
        if type(x) is not Sym:
            return x
        symbol = table.get(x)
        if symbol is None:
            if x.op == "symbol":
                symbol = new_number(x) if x.kind == "float" else new_int(x)
            else:
                symbol = expr.rebuild(x.op, tuple(map(expression, x.args)))
            table[x] = symbol
        return symbol

    def own(x: Any) -> Any:
        """A size or a param."""
        if type(x) is tuple:
            return tuple(map(own, x))
        if type(x) is not int:
            return number(x)
        if x <= 1 or not unspecialised.sizes:
            return x
        if x not in sizes:
            sizes[x] = new_int(x)
        return sizes[x]

    def number(x: Any) -> Any:
        """A number among the operands, or a float param."""
        if type(x) not in (int, float):
            return expression(x)
        if next(places) not in unspecialised.scalars:
            return x
        return new_int(x) if type(x) is int else new_number(x)

    count = 0
    for v in inputs:
        for size in v.meta.shape:
            known = table if type(size) is Sym else sizes
            if (known is table or (unspecialised.sizes and size > 1)) and size not in known:
                known[size] = expr.symbol(f"s{count}", lo=0)  # type: ignore[index]
                count += 1
    for symbol in _numbers(operations):
        expression(symbol)
    group = FusionGroup(*_copied(operations, inputs, results, own, number), scalars, ints)
    return group, *constants
