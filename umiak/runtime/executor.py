"""Runs a program: its operations are lowered to a call program once, then C replays them over dispatch.

What surrounds the calls at a run is C as well (``umiak.core.binding``). The same in Python is here: it says what a run
means, serves where operations or inputs have to be seen one by one, and finds the words for what does not fit.
"""

from __future__ import annotations

import copy
import operator
import struct
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from umiak import ops as F
from umiak.compiler import plan, whole_program
from umiak.compiler.calls import SYM_TAGS, dtype_of
from umiak.compiler.control_flow import ControlFlow
from umiak.core import context, inplace, place
from umiak.core.binding import Binding, Lowering
from umiak.core.call_program import CallProgram
from umiak.core.captured import SharedMemory
from umiak.core.context import AMP_MASK
from umiak.core.scalar import double_bits
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.linearise import linearise
from umiak.ir.overlap import overlapping
from umiak.ir.program import Operation, Program, Value, bound_within, extract, reads_number, scalars_of, walk
from umiak.ir.scope import Check, failure, symbols_of
from umiak.ir.sym import evaluate
from umiak.ops.effects import OnHost
from umiak.runtime import control
from umiak.util.errors import shown

if TYPE_CHECKING:
    from umiak.backends.base import Replay


def word(x: Any) -> int:
    """A number as the 64 bits that C gets."""
    return double_bits(x) if type(x) is float else x


def from_word(x: int) -> float:
    return struct.unpack("d", struct.pack("q", x))[0]


def _numbers_read(program: Program) -> set[Sym]:
    """The symbols that something in a program reads."""
    symbols = {s for o in program.walk() for s in scalars_of(o)}
    conditions = [*program.guards, *(c.condition for c in program.checks)]
    shapes = [v.meta.shape for v in program.inputs]
    ends = [x for x in (*program.outputs, *(w.value for w in program.effects)) if type(x) is Sym]
    return symbols.union(symbols_of([*conditions, *shapes, *ends]))


_MOST_LOOKED_INTO = 8  # errors of one program


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

    A program with branches or loops is run by :mod:`umiak.runtime.control`; a call enters the scalars that these bind
    in ``found``.

    ``late``: names of constants that come with every call instead, after the arguments.

    ``arena``: the most bytes that each form of the program may keep between calls for values inside; None for as many
    as small programs need.
    """

    def __init__(
        self,
        program: Program,
        donate: Iterable[int | str] = (),
        disjoint: bool = False,
        late: Sequence[str] = (),
        arena: int | None = None,
    ) -> None:
        self.program = program
        self.disjoint = disjoint
        self.arena = arena
        self.late = [n for n in late if n in program.constants]
        self.inside = bound_within(program.ops)
        self.sources = {s: w for s, w in program.sources().items() if w is not None or s not in self.inside}
        self.inside.difference_update(self.sources)
        if None in self.sources.values():
            read = _numbers_read(program)
            self.sources = {s: w for s, w in self.sources.items() if w is not None or s in read}
        self.wanted = [v if type(v) is Value else None for v in [*program.outputs, *(w.value for w in program.effects)]]
        self._lowered: dict[str | None, whole_program.Lowered] = {}
        self._replays: dict[str, Replay | None] = {}  # by name of the backend
        self._binding: Binding | None = None
        self._places: tuple[int, list[int | str]] | None = None  # inputs as arguments, by number, or constants, by name
        self._tested: tuple[list[Any], list[Any]] | None = None  # guards and checks before a run
        self._looked_into = 0  # errors whose lines were looked for
        self.apart_alone = False  # whether operations run one by one, wherever
        place = {id(v): i for i, v in enumerate(program.inputs)}
        self.donated = [place[id(self._input(x))] for x in donate]
        self.targets = [place[id(w.target)] for w in program.effects]
        n = len(program.outputs)
        self._donate: dict[int, int | None] = dict.fromkeys(self.donated)
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
        self, *tensors: Tensor, scalars: Mapping[Sym | str, Any] | None = None, bound: dict[Any, Any] | None = None
    ) -> list[Any]:
        values = scalars or {}
        words = {s: self._scalar(s, values) for s, where in self.sources.items() if where is None}
        try:
            outputs = self.binding().run(tensors, [word(x) for x in words.values()])
            if outputs is not None:
                return outputs
            words.update((s, n) for s, n in values.items() if isinstance(s, Sym) and s in self.inside)
            return self.general(tensors, words, bound)
        except Exception as error:
            if self._is_looked_into(error):
                self._located(error, tensors, words)
            raise

    def _scalar(self, s: Sym, values: Mapping[Sym | str, Any]) -> Any:
        if s not in values and s.name not in values:
            raise ValueError(f"[program {self.program.name}] requires a value for the number {s.name!r}, got none")
        value = values[s] if s in values else values[s.name]
        return float(value) if s.kind == "float" else operator.index(value)

    def general(
        self, tensors: Sequence[Tensor], scalars: Mapping[Sym, Any], bound: dict[Any, Any] | None = None
    ) -> list[Any]:
        """A run from Python."""
        program = self.program
        inputs = self._bind(tensors)
        for i, (x, v) in enumerate(zip(inputs, program.inputs, strict=True)):
            if x.dtype is not v.meta.dtype or x.ndim != len(v.meta.shape):
                self._refuse(i, x)
        env: dict[Any, Any] = dict(scalars)
        env.update((s, inputs[at[0]].shape[at[1]]) for s, at in self.sources.items() if at is not None)
        self._check(inputs, env)
        lowered = self.lowered(inputs, env)
        if isinstance(lowered.calls, ControlFlow):
            made = control.run(lowered.calls, inputs, env, self._donation(inputs), program.name)
            if bound is not None:
                bound.update(env)
        else:
            calls: Any = lowered.calls
            if lowered is not self._lowered.get(None):
                calls = self._replay(plan.BACKEND_OF(inputs[0].place if inputs else context.current().place)) or calls
            made = calls.run(inputs, [env[s] for s in lowered.symbols], self._donation(inputs))
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
                    inplace.assign(target, value)
            made = outputs
        return [self._output(x, y, env) for x, y in zip(program.outputs, made[:n], strict=True)]

    def located(self, error: Exception, tensors: Sequence[Tensor], words: Sequence[int]) -> Exception:
        """The error of a run; where a kernel has found the mistake, an index for one, with the user's line."""
        return self._located(error, tensors, self._scalars(words)) if self._is_looked_into(error) else error

    def _is_looked_into(self, error: Exception) -> bool:
        """Return whether an error's line is looked for.

        That takes several runs, which whoever sends mistakes to a server is not to cause forever.
        """
        if not _is_mistake(error) or self._looked_into == _MOST_LOOKED_INTO:
            return False
        self._looked_into += 1
        return True

    def _located(self, error: Exception, tensors: Sequence[Tensor], scalars: Mapping[Sym, Any]) -> Exception:
        """Operations run once more one by one, and write nothing: the first one that fails is that of the error."""
        operations = [o for o in self.program.ops if not isinstance(o.op, OnHost)]
        if not any(o.line for o in operations) or any(o.op.effect for top in operations for o in (top, *_inside(top))):
            return error
        kind = type(error)
        if not self._fails(operations, tensors, scalars, kind):
            return error  # the run itself has written to what it reads

        def is_behind(count: int) -> bool:
            return self._fails(operations[:count], tensors, scalars, kind)

        first = operations[bisect_left(range(1, len(operations)), True, key=is_behind)]
        error.args = (failure(str(error), (), shown(first.line)),)
        error.located = True  # type: ignore[attr-defined]
        return error

    def _fails(
        self,
        operations: Sequence[Operation],
        tensors: Sequence[Tensor],
        scalars: Mapping[Sym, Any],
        kind: type[Exception],
    ) -> bool:
        part = extract(self.program, operations, self.program.inputs, [y for o in operations for y in o.results])
        unread = bound_within(self.program.ops) - bound_within(operations)
        part.checks = [c for c in part.checks if unread.isdisjoint(symbols_of(c.condition))]
        executor = Executor(part, late=self.late)
        executor.apart_alone = True
        try:
            executor.general(tensors, {s: n for s, n in scalars.items() if s in executor.sources})
        except kind:
            return True
        return False

    def twin(self) -> Executor:
        """Another executor of the program, with memory of its own for values inside; what was compiled is shared."""
        made = copy.copy(self)
        made._binding = None
        made._replays = {}
        return made

    def shrink(self) -> int:
        """Let go of the memory that is kept between calls; the bytes."""
        return 0 if self._binding is None else self._binding.shrink()

    # --- runs from C

    def from_words(self, tensors: Sequence[Tensor], words: Sequence[int], bound: dict[Any, Any]) -> list[Any]:
        """:meth:`general`, with scalars as C has them; those that regions bind are read from ``bound``, and entered."""
        inside = {s: n for s, n in bound.items() if s in self.inside}
        return self.general(tensors, {**inside, **self._scalars(words)}, bound)

    def environment(self, tensors: Sequence[Tensor], words: Sequence[int]) -> dict[Sym, Any]:
        """All symbols."""
        inputs = self._bind(tensors)
        sizes = {s: inputs[at[0]].shape[at[1]] for s, at in self.sources.items() if at is not None}
        return {**sizes, **self._scalars(words)}

    def symbol_words(self, tensors: Sequence[Tensor], words: Sequence[int]) -> list[int]:
        """All symbols, in order, as C has them."""
        env = self.environment(tensors, words)
        return [word(env[s]) for s in self.sources]

    def _scalars(self, words: Sequence[int]) -> dict[Sym, Any]:
        values = [s for s, at in self.sources.items() if at is None]
        return {s: from_word(x) if s.kind == "float" else x for s, x in zip(values, words, strict=True)}

    def binding(self, extras: Sequence[Any] = ()) -> Binding:
        """Return the binding that runs the program from C; ``extras`` are further scalars that it computes."""
        if self._binding is None:
            self._binding = self._bound(extras)
        return self._binding

    def _bound(self, extras: Sequence[Any]) -> Binding:
        program = self.program
        bound = {id(v): program.captured[n] for n, v in program.constants.items() if n not in self.late}
        order = {id(v): i for i, v in enumerate([*program.arguments(), *(program.constants[n] for n in self.late)])}
        inputs = [(order.get(id(v), -1), bound.get(id(v)), dtype_of(v).id, v.meta.ndim) for v in program.inputs]
        symbols = list(self.sources)
        count = iter(range(len(symbols)))
        origins = [(-1, next(count)) if at is None else at for at in self.sources.values()]
        sizes = [n for v in program.inputs for n in v.meta.shape]
        if any(o.regions or reads_number(o) for o in program.ops):
            return self._unbound(inputs, origins)
        computed = [y for y in program.outputs if type(y) is Sym]
        checks = [Check(g, "") for g in program.guards if symbols_of(g)]
        linear = linearise([*sizes, *computed, *extras], symbols, [*checks, *program.checks])
        registers = iter(linear.outputs)
        expected = [next(registers) for _ in sizes]
        outputs = [
            None if type(y) is Value else (next(registers), SYM_TAGS[y.kind]) if type(y) is Sym else (y,)
            for y in program.outputs
        ]
        flags = bytearray(len(inputs))
        for i in self.donated:
            flags[i] = 1
        arena: dict[str, Any] = {} if self.arena is None else {"arena": self.arena}
        return Binding(
            self, inputs, origins, plan.scalar_program(linear), expected, outputs, list(registers), self.targets,
            bytes(flags), self.disjoint, **arena,
        )  # fmt: skip

    def _unbound(self, inputs: list, origins: list) -> Binding:
        """Return a binding that hands every run to :meth:`general`: branches, loops and sizes that data decide are
        known in Python."""
        scalars = plan.scalar_program(linearise([], list(self.sources)))
        return Binding(self, inputs, origins, scalars, [], [], [], [], bytes(len(inputs)), False, True)

    def grouped(self, index: int) -> Lowering | None:
        """The fused form for a place; None where its operations run one by one."""
        backend = plan.BACKEND_OF(place.from_index(index))
        if not backend.fuses:
            return self.apart()
        return None if self._replay(backend) is not None else self._lowering(self._fused(backend))

    def apart(self) -> Lowering | None:
        """The operations one by one."""
        return self._lowering(self._one_by_one())

    def _lowering(self, lowered: whole_program.Lowered) -> Lowering | None:
        if type(lowered.calls) is not CallProgram:
            return None
        symbols = list(self.sources)
        conditions = None
        if lowered.conditions:
            conditions = plan.scalar_program(linearise([], symbols, [Check(c, "") for c in lowered.conditions]))
        places = {s: i for i, s in enumerate(symbols)}
        return Lowering(lowered.calls, [places[s] for s in lowered.symbols], conditions)

    @staticmethod
    def copied(x: Tensor) -> Tensor:
        return F.copy(x)

    def _donation(self, inputs: Sequence[Tensor]) -> bytes | None:
        """Return the inputs whose memory this run donates; a written one's only where no other input is in the same
        memory."""
        if not self._donate:
            return None
        flags = bytearray(len(inputs))
        for i in self.donated:
            flags[i] = 1
        if self.targets:
            count = Counter(id(x.storage) for x in inputs)
            for i in self.targets:
                flags[i] = 2 if count[id(inputs[i].storage)] == 1 else 0
            if self.disjoint:
                self._refuse_overlap(inputs)
        return bytes(flags)

    def _refuse_overlap(self, inputs: Sequence[Tensor]) -> None:
        """A write to one input must not change another, which the program took for a tensor of its own."""
        pair = overlapping(inputs, self.targets)
        if pair is not None:
            i, j = pair
            raise SharedMemory(
                f"[program {self.program.name}] requires tensors that it writes to to share no memory with "
                f"others that it gets, got inputs {i} and {j} with shapes {list(inputs[i].shape)} and "
                f"{list(inputs[j].shape)} over the same memory. Make the view inside, or pass a copy"
            )

    def lowered(self, inputs: Sequence[Tensor], env: Mapping[Any, Any]) -> whole_program.Lowered:
        """The calls that serve these inputs, in the ambient modes."""
        ctx = context.current()
        backend = plan.BACKEND_OF(inputs[0].place if inputs else ctx.place)
        seen = ctx.trace or ctx.plan_mode & AMP_MASK
        apart = self.apart_alone or not backend.fuses
        if apart or seen or (ctx.grad_enabled and not all(x.stop_gradient for x in inputs)):
            return self._one_by_one()
        lowered_program = self._fused(backend)
        return lowered_program if lowered_program.fits(env) else self._one_by_one()

    def _fused(self, backend: Any) -> whole_program.Lowered:
        lowered_program = self._lowered.get(backend.name)
        if lowered_program is None:
            lowered_program = self._lowered[backend.name] = whole_program.lower_fused(
                self.program, self.wanted, backend, self._donate
            )
        return lowered_program

    def _replay(self, backend: Any) -> Replay | None:
        """The calls of the fused form in the device's own form."""
        if backend.name not in self._replays:
            calls = self._fused(backend).calls
            self._replays[backend.name] = backend.replays(calls) if type(calls) is CallProgram else None
        return self._replays[backend.name]

    def _one_by_one(self) -> whole_program.Lowered:
        lowered_program = self._lowered.get(None)
        if lowered_program is None:
            lowered_program = self._lowered[None] = whole_program.lower(self.program, self.wanted)
        return lowered_program

    def _bind(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        program = self.program
        if self._places is None:
            order = [*program.arguments(), *(program.constants[n] for n in self.late)]
            where: dict[int, Any] = {id(v): n for n, v in program.constants.items() if n not in self.late}
            where.update((id(v), i) for i, v in enumerate(order))
            self._places = len(order), [where[id(v)] for v in program.inputs]
        count, places = self._places
        if len(tensors) != count:
            raise ValueError(f"[program {program.name}] requires {count} tensors, got {len(tensors)}")
        return [tensors[at] if isinstance(at, int) else program.captured[at] for at in places]

    def _check(self, inputs: Sequence[Tensor], env: Mapping[Any, Any]) -> None:
        for i, (x, v) in enumerate(zip(inputs, self.program.inputs, strict=True)):
            if not all(evaluate(want, env) == have for want, have in zip(v.meta.shape, x.shape, strict=True)):
                self._refuse(i, x)
        if self._tested is None:
            # Checks of numbers that operations give their values to come behind these.
            checks = [c for c in self.program.checks if self.inside.isdisjoint(symbols_of(c.condition))]
            self._tested = [g for g in self.program.guards if symbols_of(g)], checks
        guards, checks = self._tested
        for guard in guards:
            if not evaluate(guard, env):
                raise ValueError(
                    f"[program {self.program.name}] requires {guard}, "
                    f"got {', '.join(f'{s.name} = {env[s]}' for s in symbols_of(guard))}"
                )
        control.test(checks, env, self.program.name)

    def _refuse(self, i: int, x: Tensor) -> None:
        wanted = self.program.inputs[i].meta
        raise ValueError(
            f"[program {self.program.name}] requires input {i} as {wanted}, got {x.dtype.name}{list(x.shape)}"
        )

    def _output(self, declared: Any, value: Any, env: Mapping[Any, Any]) -> Any:
        if type(declared) is Value:
            return value
        return evaluate(declared, env) if type(declared) is Sym else declared


def _is_mistake(error: Exception) -> bool:
    """Return whether an error says what the user is to do otherwise."""
    return isinstance(error, IndexError) or getattr(error, "mistake", False)


def _inside(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        yield from walk(region)
