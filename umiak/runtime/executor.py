"""Runs a program: its operations are lowered to a call program once, then C replays them over dispatch."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from umiak import ops as F
from umiak.compiler import plan, whole
from umiak.compiler.flow import Flow
from umiak.core import context, dispatch
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.program import Program, Value, bound, numbers_of
from umiak.ir.scope import symbols_of
from umiak.ir.sym import evaluate
from umiak.runtime import control

AMP_MODES = 0xFFFF00FE


def _extent(x: Tensor) -> tuple[int, int]:
    """The elements of its storage that a tensor lies within, from the first to behind the last."""
    if not all(x.shape):
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    return x.offset + sum(r for r in reach if r < 0), x.offset + sum(r for r in reach if r > 0) + 1


def _numbers_read(program: Program) -> set[Sym]:
    """The symbols that something in a program reads."""
    found = {s for o in program.walk() for s in numbers_of(o)}
    conditions = [*program.guards, *(c.condition for c in program.checks)]
    shapes = [v.meta.shape for v in program.inputs]
    ends = [x for x in (*program.outputs, *(w.value for w in program.effects)) if type(x) is Sym]
    return found.union(symbols_of([*conditions, *shapes, *ends]))


class Executor:
    """``Executor(program)(*tensors)`` gives the outputs; tensors are in the order of ``program.arguments()``.

    Captured tensors come with the program. Final writes are made to the inputs' own memory. Raises ValueError where
    the inputs do not fit the program: another dtype or rank, a guard or a check that does not hold.

    Where the backend of the inputs' place fuses, groups of operations run as one kernel each. Under a mode that
    each operation has to see for itself (a gradient that is recorded, mixed precision, a trace) they run one by one.

    ``donate``: arguments by index, or constants by name, whose tensors the caller gives up with every call: results may
    take their memory. An input with a final write is given up as well, to what is written there: a run that fails may
    have made some of the writes.

    ``disjoint``: refuse inputs with a final write that share memory with others (see ``Program.disjoint``), which
    otherwise are taken for tensors of their own until the writes.

    A program with branches or loops is run by :mod:`umiak.runtime.control`; a call enters the numbers that these bind
    in ``found``.
    """

    def __init__(self, program: Program, donate: Iterable[int | str] = (), disjoint: bool = False) -> None:
        self.program = program
        self.disjoint = disjoint
        self.inside = {s for o in program.walk() if o.regions for s in bound(o)}
        self.sources = {s: w for s, w in program.sources().items() if s not in self.inside}
        if None in self.sources.values():
            read = _numbers_read(program)
            self.sources = {s: w for s, w in self.sources.items() if w is not None or s in read}
        self.wanted = [v if type(v) is Value else None for v in [*program.outputs, *(w.value for w in program.effects)]]
        self._lowered: dict[str | None, whole.Lowered] = {}
        place = {id(v): i for i, v in enumerate(program.inputs)}
        self.given = [place[id(self._input(x))] for x in donate]
        self.targets = [place[id(w.target)] for w in program.effects]
        n = len(program.outputs)
        self._donate: dict[int, int | None] = dict.fromkeys(self.given)
        self._donate.update({i: n + j for j, i in enumerate(self.targets)})

    def _input(self, x: int | str) -> Value:
        arguments, constants = self.program.arguments(), self.program.constants
        if isinstance(x, str):
            if x in constants:
                return constants[x]
        elif 0 <= x < len(arguments):
            return arguments[x]
        raise ValueError(
            f"[program {self.program.name}] requires inputs to donate by index below {len(arguments)} or by a name "
            f"among {sorted(constants)}, got {x!r}"
        )

    def __call__(
        self, *tensors: Tensor, numbers: Mapping[Sym | str, Any] | None = None, found: dict[Any, Any] | None = None
    ) -> list[Any]:
        program = self.program
        inputs = self._bind(tensors)
        for i, (x, v) in enumerate(zip(inputs, program.inputs, strict=True)):
            if x.dtype is not v.meta.dtype or x.ndim != len(v.meta.shape):
                self._refuse(i, x)
        env: dict[Any, Any] = {s: n for s, n in (numbers or {}).items() if s in self.inside} if self.inside else {}
        for s, where in self.sources.items():
            if where is not None:
                env[s] = inputs[where[0]].shape[where[1]]
            else:
                given = numbers or {}
                if s not in given and s.name not in given:
                    raise ValueError(f"[program {program.name}] requires a value for the number {s.name!r}, got none")
                value = given[s] if s in given else given[s.name]
                env[s] = float(value) if s.kind == "float" else operator.index(value)
        self._check(inputs, env)
        lowered = self.lowered(inputs, env)
        if isinstance(lowered.calls, Flow):
            made = control.run(lowered.calls, inputs, env, self._given(inputs))
            if found is not None:
                found.update(env)
        else:
            made = lowered.calls.run(inputs, [env[s] for s in lowered.symbols], self._given(inputs))
        n = len(program.outputs)
        if program.effects:
            # All values are those from before any write, so what shares memory with a target is copied first; a value
            # that took the target's memory is there already.
            targets = [inputs[i] for i in self.targets]
            written = {id(t.storage) for t in targets}
            outputs = [F.copy(v) if isinstance(v, Tensor) and id(v.storage) in written else v for v in made[:n]]
            values = [
                v if v is t or id(v.storage) not in written else F.copy(v)
                for t, v in zip(targets, made[n:], strict=True)
            ]
            for target, value in zip(targets, values, strict=True):
                if value is not target:
                    dispatch.assign(target, value)
            made = outputs
        return [self._output(x, y, env) for x, y in zip(program.outputs, made[:n], strict=True)]

    def _given(self, inputs: Sequence[Tensor]) -> bytes | None:
        """Which inputs' memory this run gives up; a written one's only where no other input is in the same memory."""
        if not self._donate:
            return None
        given = bytearray(len(inputs))
        for i in self.given:
            given[i] = 1
        if self.targets:
            count = Counter(id(x.storage) for x in inputs)
            for i in self.targets:
                alone = count[id(inputs[i].storage)] == 1
                given[i] = 2 if alone else 0
                if self.disjoint and not alone:
                    self._refuse_overlap(i, inputs)
        return bytes(given)

    def _refuse_overlap(self, i: int, inputs: Sequence[Tensor]) -> None:
        """A write to one input must not change another, which the program took for a tensor of its own."""
        first, last = _extent(inputs[i])
        for j, x in enumerate(inputs):
            if j != i and x.storage is inputs[i].storage:
                low, high = _extent(x)
                if low < last and first < high:
                    raise ValueError(
                        f"[program {self.program.name}] requires tensors that it writes to to share no memory with "
                        f"others that it gets, got inputs {i} and {j} with shapes {inputs[i].shape} and {x.shape} over "
                        "the same memory. Make the view inside, or pass a copy"
                    )

    def lowered(self, inputs: Sequence[Tensor], env: Mapping[Any, Any]) -> whole.Lowered:
        """The calls that serve these inputs, in the ambient modes."""
        ambient = context.current()
        backend = plan.BACKEND_OF(inputs[0].place if inputs else ambient.place)
        seen = ambient.trace or ambient.plan_mode & AMP_MODES
        if not backend.fuses or seen or (ambient.grad_enabled and not all(x.stop_gradient for x in inputs)):
            return self._one_by_one()
        found = self._lowered.get(backend.name)
        if found is None:
            found = self._lowered[backend.name] = whole.lower_fused(self.program, self.wanted, backend, self._donate)
        return found if found.fits(env) else self._one_by_one()

    def _one_by_one(self) -> whole.Lowered:
        found = self._lowered.get(None)
        if found is None:
            found = self._lowered[None] = whole.lower(self.program, self.wanted)
        return found

    def _bind(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        program = self.program
        names = {id(v): name for name, v in program.constants.items()}
        arguments = program.arguments()
        if len(tensors) != len(arguments):
            raise ValueError(f"[program {program.name}] requires {len(arguments)} tensors, got {len(tensors)}")
        given = iter(tensors)
        return [program.captured[names[id(v)]] if id(v) in names else next(given) for v in program.inputs]

    def _check(self, inputs: Sequence[Tensor], env: Mapping[Any, Any]) -> None:
        for i, (x, v) in enumerate(zip(inputs, self.program.inputs, strict=True)):
            if not all(evaluate(want, env) == have for want, have in zip(v.meta.shape, x.shape, strict=True)):
                self._refuse(i, x)
        for guard in self.program.guards:
            if symbols_of(guard) and not evaluate(guard, env):
                raise ValueError(
                    f"[program {self.program.name}] requires {guard}, "
                    f"got {', '.join(f'{s.name} = {env[s]}' for s in symbols_of(guard))}"
                )
        for check in self.program.checks:
            if not evaluate(check.condition, env):
                raise ValueError(f"[program {self.program.name}] {check.message}")

    def _refuse(self, i: int, x: Tensor) -> None:
        wanted = self.program.inputs[i].meta
        raise ValueError(f"[program {self.program.name}] requires input {i} as {wanted}, got {x.dtype.name}{x.shape}")

    def _output(self, declared: Any, value: Any, env: Mapping[Any, Any]) -> Any:
        if type(declared) is Value:
            return value
        return evaluate(declared, env) if type(declared) is Sym else declared
