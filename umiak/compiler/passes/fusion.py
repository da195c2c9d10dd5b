"""Fusions: operations exchanged for others that compute the same from what lies further up.

A fusion ``fusion(found, operation)`` is asked for each operation of its name (``"*"``: of any), in order. It looks
upwards, and returns None or a function that records what takes the operation's place. What was passed over on the way
is dead code then, and is left to ``remove_dead``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from umiak.compiler.plan import plain_modes
from umiak.ir import sym as dim
from umiak.ir.builder import scope_of
from umiak.ir.exchange import exchange
from umiak.ir.program import Block, Operation, Program, Value, walk
from umiak.ir.rewrite import operand_of
from umiak.ir.tracer import SymTensor, Tracer, symbolic

Made: TypeAlias = "SymTensor | tuple[SymTensor, ...]"
Fusion: TypeAlias = "Callable[[Found, Operation], Callable[[], Made] | None]"


class Found:
    """Facts about a program that fusions need: who reads a value, and which values must remain."""

    def __init__(self, operations: Iterable[Operation], kept: Iterable[Any] = ()) -> None:
        self.readers: dict[int, int] = {}
        self.kept = {id(x) for x in kept if type(x) is Value}
        for o in operations:
            self.count(o, 1)
            for region in o.regions:
                for x in region.outputs:
                    self.readers[id(x)] = self.readers.get(id(x), 0) + 1

    def count(self, o: Operation, change: int) -> None:
        for v in o.values:
            self.readers[id(v)] = self.readers.get(id(v), 0) + change

    def inside(self, x: Any, name: str, reader: Operation, times: int = 1) -> Operation | None:
        """The operation called ``name`` that makes an operand of ``reader``, if nothing else sees it: neither others
        that read it, nor a gradient that ends or is changed there."""
        o = operand_of(x, name)
        if o is None or o.recompute != reader.recompute or len(o.results) != 1:
            return None
        if self.readers.get(id(x), 0) > times or id(x) in self.kept or x.hooks:
            return None
        return o if x.stop == reader.results[0].stop else None


def fuse_operations(
    program: Program, fusions: Sequence[tuple[str, Fusion]], live: Tracer | None = None, wanted: Iterable[Value] = ()
) -> int:
    """Make all fusions in a program; returns how many there were.

    ``live``: the tracer that is recording the program; then they are made in the block that it records. ``wanted``:
    values that must stay beside outputs and written ones.
    """
    kept = [*program.outputs, *(w.value for w in program.effects), *wanted]
    found = Found(program.walk(), kept)
    by_name: dict[str, list[Fusion]] = {}
    for name, fusion in fusions:
        by_name.setdefault(name, []).append(fusion)
    count = 0
    tracer = live
    known = scope_of(program) if live is None else live.scope
    for block in list(_blocks(program.body)) if live is None else [live.builder.block]:
        for o in list(block.operations):
            for fusion in (*by_name.get(o.name, ()), *by_name.get("*", ())):
                with known:
                    build = fusion(found, o)
                if build is None:
                    continue
                tracer = tracer or Tracer(program=program)
                made = _recorded(tracer, block, o, build)
                if made is None:
                    tracer = live  # another one, as it has assumed what the program does not
                    continue
                found.count(o, -1)
                for new in made:
                    found.count(new, 1)
                count += 1
                break
    return count


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for o in walk(block):
        yield from o.regions


def _recorded(tracer: Tracer, block: Block, o: Operation, build: Callable[[], Made]) -> list[Operation] | None:
    """Record what takes the place of ``o``; None, and nothing done, where that needs conditions that are not known to
    hold, or has another type."""
    builder, scope = tracer.builder, tracer.scope
    builder.block, known = block, (len(scope.guards), len(scope.checks))
    region, builder.recompute = builder.recompute, o.recompute
    mark = len(block.operations)
    try:
        with plain_modes(), tracer:
            results = build()
    finally:
        builder.recompute = region
        made = block.operations[mark:]
        del block.operations[mark:]
    values = [y._value for y in (results if isinstance(results, tuple) else (results,))]
    ours = {id(r) for new in made for r in new.results}
    with scope:
        fits = len({id(v) for v in values} & ours) == len(values) == len(o.results) and all(
            a.meta.dtype is b.meta.dtype and same_sizes(a.meta.shape, b.meta.shape)
            for a, b in zip(values, o.results, strict=True)
        )
    if not fits or known != (len(scope.guards), len(scope.checks)):
        return None
    for new in made:
        for r in new.results:
            r.stop = all(old.stop for old in o.results)
    exchange(block, o, made, values)
    return made


# --- what patterns are made of


def tensor(x: Any) -> Any:
    """An operand for code that records."""
    return symbolic(x) if type(x) is Value else x


def number_of(x: Any) -> Any:
    """The number that an operand is, be it a 0-d constant; None for others."""
    if type(x) in (int, float):
        return x
    o = operand_of(x, "full")
    if o is None or x.meta.shape or type(o.operands[0]) not in (int, float):
        return None
    return o.operands[0]


def spread_number(x: Any) -> Any:
    """The number that all elements of an operand are, or a value of one element; None for others."""
    while (wide := operand_of(x, "broadcast_to")) is not None:
        x = wide.operands[0]
    if (made := operand_of(x, "full")) is not None and type(made.operands[0]) in (int, float):
        return float(made.operands[0])  # type: ignore[arg-type]
    if type(x) is Value and all(type(n) is int and n == 1 for n in x.meta.shape):
        return x
    return float(x) if type(x) in (int, float) else None


def same_sizes(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return whether two shapes are known to be equal."""
    return len(a) == len(b) and all(dim.same(m, n) for m, n in zip(a, b, strict=True))


def orders(o: Operation) -> Iterator[tuple[Any, Any]]:
    """The operands of a commutative operation, both ways round."""
    a, b = o.operands
    yield a, b
    yield b, a
