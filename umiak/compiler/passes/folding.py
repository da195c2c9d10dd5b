"""Constants that are computed before the program runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from umiak.compiler.passes.registry import register_pass
from umiak.compiler.plan import plain_modes
from umiak.core import context, eager
from umiak.core.array import to_numpy
from umiak.core.tensor import Tensor
from umiak.ir.builder import Builder
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import remove_dead
from umiak.ir.program import Operation, Program, Value, is_pure
from umiak.ir.rewrite import Sweep
from umiak.ir.scope import symbols_of

MOST_BYTES = 1 << 24  # of one constant
MOST_GROWTH = 1.5  # of a larger one, times what it is made of: weights laid out anew. Both stay where others read those
COMMUTATIVE = "add", "mul", "maximum", "minimum"
ARITHMETIC = (*COMMUTATIVE, "sub", "div")


@register_pass("constant_folding_pass")
def fold_constants(program: Program, scope: Callable[[Tensor], Tensor] | None = None) -> None:
    """Compute what depends on no input once, and keep it with the program.

    ``scope``: gives the values of captured tensors, which are constants too then, those excepted that the program
    writes. Without it they may change between runs, and only what is made of numbers is folded.
    """
    Folding(program, scope).program(program)
    remove_dead(program)


def unwritten(program: Program) -> dict[int, Tensor]:
    """The captured tensors that a program does not write, by the value that each is."""
    written = {id(w.target) for w in program.effects}
    held = ((v, program.captured.get(name)) for name, v in program.constants.items())
    return {id(v): x for v, x in held if x is not None and id(v) not in written}


class Folding(Sweep):
    in_place = True

    def __init__(self, program: Program, scope: Callable[[Tensor], Tensor] | None) -> None:
        super().__init__()
        self.target = program
        self.builder = Builder(program)
        self.kept = {id(x) for x in (*program.outputs, *(w.value for w in program.effects))}
        self.known: dict[int, Tensor] = {}  # by value
        self.entered: dict[int, Value] = {}  # what stands for one of them in the program
        if scope is not None:
            self.known = {i: scope(x) for i, x in unwritten(program).items()}
        self.depth = 0

    def block(self, block: Any) -> None:
        self.depth += 1
        super().block(block)
        self.depth -= 1

    def visit(self, o: Operation) -> None:
        folded = self.folded(o)
        if folded is None:
            if self.depth == 1:  # regions are closed
                o.operands = self.with_numbers(o)
                o.operands = tuple(self.constant(x) for x in o.operands)
            self.keep(o)
            return
        self.known.update({id(r): t for r, t in zip(o.results, folded, strict=True)})

    def folded(self, o: Operation) -> tuple[Tensor, ...] | None:
        """The results, if they are the same in every run."""
        if self.depth != 1 or o.regions or o.op.random or not is_pure(o) or not o.results:
            return None
        if any(id(r) in self.kept or r.hooks for r in o.results):
            return None
        if symbols_of([*(x for x in o.operands if type(x) is Sym), o.params]):
            return None
        if any(type(x) is Value and id(x) not in self.known for x in o.operands):
            return None
        operands = tuple(self.known[id(x)] if type(x) is Value else x for x in o.operands)
        given = sum(_bytes(x) for x in {id(x): x for x in operands if isinstance(x, Tensor)}.values())
        if any(not _fits(r.meta, max(MOST_BYTES, MOST_GROWTH * given)) for r in o.results):
            return None
        with plain_modes(), context.no_grad_guard(), untraced():
            made = eager.apply(o.op, operands, o.params)
        return made if isinstance(made, tuple) else (made,)

    def with_numbers(self, o: Operation) -> tuple[Any, ...]:
        """Operands of arithmetic on two tensors, with a constant of one element as the number that it is."""
        if o.op.name not in ARITHMETIC or len(o.values) != 2:
            return o.operands
        a, b = o.values
        if o.op.name in COMMUTATIVE and self.number(a, b) is not None:
            a, b = b, a
        number = self.number(b, a)
        return (a, b) if number is None else (a, number)

    def number(self, x: Value, other: Value) -> float | None:
        """The number that a constant of one element is, where it is spread over ``other``."""
        tensor = self.known.get(id(x))
        if tensor is None or id(other) in self.known or x.meta.dtype is not other.meta.dtype:
            return None
        if tensor.size != 1 or tensor.ndim > other.meta.ndim or not tensor.dtype.is_floating or tensor.dtype.bits > 64:
            return None
        return float(to_numpy(tensor).item())

    def constant(self, x: Any) -> Any:
        """An operand, with what was folded as a captured tensor."""
        if type(x) is not Value or id(x) not in self.known or x.producer is self.target.body:
            return x
        producer = x.operation
        assert producer is not None
        if not producer.values:  # a number spread out needs no memory
            return self.again(x, producer)
        if id(x) not in self.entered:
            program = self.target
            taken = program.constants
            name = next(n for n in (f"folded{i}" for i in range(len(taken) + 1)) if n not in taken)
            self.entered[id(x)] = self.builder.input(Meta(tuple(x.meta.shape), x.meta.dtype), constant=name)
            program.captured[name] = self.known[id(x)]
        return self.entered[id(x)]

    def again(self, x: Value, producer: Operation) -> Value:
        """Keep an operation over numbers alone where others read it: it needs no memory."""
        if id(x) not in self.entered:
            self.out.append(producer)
            self.entered.update({id(r): r for r in producer.results})
        return self.entered[id(x)]


@contextmanager
def untraced() -> Iterator[None]:
    """Run calls at once, whatever is being recorded."""
    ctx = context.current()
    held, ctx.observers = ctx.observers, ctx.observers & ~context.OBSERVE_TRACE
    stack, ctx.trace = ctx.trace, []
    try:
        yield
    finally:
        ctx.observers, ctx.trace = held, stack


def _fits(meta: Meta, most: float) -> bool:
    """Return whether a tensor is known to have no more than so many bytes."""
    return meta.dtype is not None and all(type(n) is int for n in meta.shape) and _bytes(meta) <= most


def _bytes(x: Meta | Tensor) -> int:
    assert x.dtype is not None
    sizes: tuple[Any, ...] = tuple(x.shape)
    return x.dtype.nbytes(math.prod(sizes))
