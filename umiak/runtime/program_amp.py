"""Mixed precision of a program that is being recorded: what is in it so far computes in a narrower type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak import ops as F
from umiak.compiler.passes.precision import Narrowed
from umiak.core.dtype import DType
from umiak.ir.program import Operation, Program, defined
from umiak.runtime.program_tracer import ProgramTracer
from umiak.runtime.rewriting import rewrite


def narrow(
    tracer: ProgramTracer, low: DType, level: int, lists: int, leaves: Callable[[Operation], bool] = lambda o: False
) -> set[int]:
    """Cast operands as ``auto_cast`` would of this level and these lists (``umiak.compiler.amp``).

    Every variable keeps its type: where it was computed in the narrow one, whoever reads it from outside gets it cast
    back. ``leaves``: operations that stay as they are. Returns the ids of the inputs that are cast.
    """
    found: set[int] = set()

    def passes(program: Program) -> dict[int, Any]:
        sweep = _Recorded(program, low, level, lists, leaves)
        sweep.program(program)
        inputs = {id(v) for v in program.inputs}
        found.update(
            id(v) for o in program.ops if type(o.op) is F.Cast for v in o.values
            if id(v) in inputs and o.results[0].meta.dtype is low
        )  # fmt: skip
        return {}

    rewrite(tracer, passes, defined(tracer.builder.program.body))
    return found


class _Recorded(Narrowed):
    """Readers of a value that became narrow read that; the value itself is cast back."""

    def __init__(
        self, program: Program, low: DType, level: int, lists: int, leaves: Callable[[Operation], bool]
    ) -> None:
        super().__init__(program, low, level, lists)
        self.leaves = leaves

    def fixed(self, o: Operation) -> bool:
        return self.leaves(o) or super().fixed(o)

    def settle(self, o: Operation, made: Operation) -> None:
        for old, new in zip(o.results, made.results, strict=True):
            if old is new:
                continue
            new.stop = old.stop
            if new.meta.dtype is old.meta.dtype:
                made.results = tuple(old if r is new else r for r in made.results)
                old.producer, old.index = made, new.index
                continue
            wide = old.meta.dtype
            assert wide is not None
            back = self.builder.make(F.Cast(wide), [new])
            back.results, old.producer, old.index = (old,), back, 0
            self.out.append(back)
            self.stand([old], [new])
            self.casts[id(old), self.low.id] = new
            self.casts[id(new), wide.id] = old


def parameters_of(tracer: ProgramTracer, values: set[int]) -> list[Any]:
    """The captured tensors that stand for inputs of these ids."""
    constants = tracer.builder.program.constants
    return [x for n, x in tracer.builder.program.captured.items() if id(constants[n]) in values]
