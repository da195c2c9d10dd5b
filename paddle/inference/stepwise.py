"""A program operation by operation: for hooks, and to find the one that has failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak.compiler.control_flow import Checks
from umiak.compiler.plan import plain_modes
from umiak.core import eager
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.program import Operation, Program, Value, extract, reads_number, uses
from umiak.ir.sym import evaluate
from umiak.runtime.control import test
from umiak.runtime.executor import Executor

Hook = Callable[[str, str, Tensor], Any]


class Steps:
    """The values of one run, which :meth:`run` computes in order; ``at`` is the operation in hand."""

    def __init__(self, program: Program, given: Sequence[Tensor]) -> None:
        self.program = program
        self.at: Operation | None = None
        self.values: dict[int, Any] = {id(v): x for v, x in zip(program.arguments(), given, strict=True)}
        self.values.update((id(v), program.captured[n]) for n, v in program.constants.items())
        self.sizes: dict[Any, Any] = {
            s: self.values[id(program.inputs[at[0]])].shape[at[1]]
            for s, at in program.sources().items()
            if at is not None
        }

    def run(self, before: Callable[[Operation], Any], after: Callable[[Operation], Any]) -> list[Any]:
        """Compute all operations; return the outputs. Nothing is written."""
        checks = Checks(self.program)
        for o in self.program.ops:
            self.at = o
            before(o)
            results = self._region(o) if o.regions or reads_number(o) else self._call(o)
            self.values.update({id(r): y for r, y in zip(o.results, results, strict=True)})
            test(checks.due([o]), self.sizes, self.program.name)
            after(o)
        self.at = None
        return [self._of(x) for x in self.program.outputs]

    def _of(self, x: Any) -> Any:
        if type(x) is Value:
            return self.values[id(x)]
        if isinstance(x, tuple):
            return tuple(self._of(y) for y in x)
        return evaluate(x, self.sizes) if type(x) is Sym else x

    def _call(self, o: Operation) -> Sequence[Any]:
        with plain_modes():
            made = eager.apply(o.op, tuple(self._of(x) for x in o.operands), tuple(self._of(p) for p in o.params))
        return made if isinstance(made, tuple) else (made,)

    def _region(self, o: Operation) -> Sequence[Any]:
        """A branch or loop, or what reads a number from data, as a program of its own."""
        inputs = list({id(v): v for v in uses(o) if id(v) in self.values}.values())
        part = extract(self.program, [o], inputs, list(o.results), [])
        part.guards, part.checks = [], []  # which are about numbers of the whole program
        scalars: dict[Sym | str, Any] = {
            s: self.sizes[s] for s, at in part.sources().items() if at is None and s in self.sizes
        }
        given = [self.values[id(v)] for v, own in zip(inputs, part.inputs, strict=True) if own in part.arguments()]
        return Executor(part)(*given, scalars=scalars, bound=self.sizes)


def told(program: Program, given: Sequence[Tensor], before: Sequence[Hook], after: Sequence[Hook]) -> list[Any]:
    """The outputs of a run of which hooks are told."""
    steps = Steps(program, given)
    names: dict[int, str] = {id(v): f"constant.{n}" for n, v in program.constants.items()}
    names.update({id(v): f"input.{i}" for i, v in enumerate(program.arguments())})
    number = {id(o): i for i, o in enumerate(program.ops)}

    def told_before(o: Operation) -> None:
        for x in o.operands:
            if type(x) is Value:
                for hook in before:
                    hook(o.name, names[id(x)], steps.values[id(x)])

    def told_after(o: Operation) -> None:
        for i, r in enumerate(o.results):
            names[id(r)] = f"{o.name}_{number[id(o)]}.{i}"
            for hook in after:
                hook(o.name, names[id(r)], steps.values[id(r)])

    return steps.run(told_before, told_after)
