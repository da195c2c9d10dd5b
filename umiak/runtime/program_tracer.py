"""Programs that are written call by call, without a function: what static mode records into.

A :class:`ProgramTracer` is a tracer that stays open. :class:`Run` takes what it holds so far as a program of its own,
whose runs are those of a captured function: inputs and weights are exchanged, random words drawn, the numbers of an
optimizer's step asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.autodiff.custom import resolve
from umiak.compiler.passes.attention import fuse_plain_attention
from umiak.core import context
from umiak.core.captured import CapturedRun, Part
from umiak.core.generator import default_generator
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import (
    Operation,
    Program,
    Value,
    Write,
    bound_within,
    extract,
    uses,
)
from umiak.ir.rewrite import Sweep
from umiak.ir.scope import substitute, symbols_of
from umiak.ir.sym import evaluate
from umiak.ir.tracer import SymTensor, refuse_overlap, symbolic
from umiak.runtime.capture import Capture, CaptureError, DrawnStream, stream_of
from umiak.runtime.executor import Executor
from umiak.util.errors import users_line

_CONSTANT = "_is_constant"  # attribute of a tensor that was made of data while a program was recorded


@contextmanager
def outside() -> Iterator[None]:
    """Calls run at once, outside of what is being recorded in static mode."""
    tracer = context.capture_of()
    if tracer is None or not tracer.static:
        yield
        return
    with tracer.paused():
        yield


class ProgramTracer(Capture):
    """The tracer of a program that grows while it is open; it may be entered and left any number of times.

    ``origin``: the tracer that this one is a copy of. Its tensors stand for values here, too.
    """

    static = True

    def __init__(self, origin: ProgramTracer | None = None) -> None:
        super().__init__()
        self.scope.by_example = True
        self.scope.locate = users_line
        self.origin = origin
        self.names: dict[str, Tensor] = {}  # tensors that were given or asked for a name
        self.feeds: list[tuple[str, SymTensor]] = []  # the inputs that a run is given
        self.narrowed: dict[int, Operation] = {}  # operations that may be computed in a narrower type, by id
        self.kept: dict[str, Tensor] = {}  # captured tensors that are kept between runs
        self.optimizers: list[Any] = []  # whose steps are recorded; they count them
        self.begun: list[tuple[Any, Any, int]] = []  # of a startup program: optimizers, states, and steps at first
        self.declared: dict[int, list[int]] = {}  # sizes, -1 for unknown ones, of variables that a call writes
        self._variables: list[SymTensor] = []  # those, so that their ids stay theirs
        self.version = 0  # counts what changes the program beside operations
        # Values that passes have taken out of the program, and what stands for them, by id (rewriting.py).
        self.gone: dict[int, tuple[Value, Value | None]] = {}
        self._counterparts: dict[int, Value] = {}  # by the origin's values
        self._values: list[Value] = []  # the origin's values, so that their ids stay theirs
        # What belongs to training alone, as ranges of operations, and what a value is at other times.
        self._training: list[tuple[int, int]] = []
        self._evaluated: dict[int, tuple[Operation, Callable[..., Any], tuple]] = {}

    @property
    def state(self) -> tuple[int, int]:
        """Another one after every change of the program."""
        return len(self.builder.program.ops), self.version

    def flags(self, x: SymTensor, stop: bool) -> None:
        """Leave leaves to ``append_backward``, which is told what gradients are of."""

    # --- what is recorded

    def feed(self, name: str, meta: Meta, stop_gradient: bool = True) -> SymTensor:
        """A new input that a run is given."""
        made = self.input(meta, stop_gradient)
        self._inner.add(id(made))  # a run's own data, which the program may write to
        self.feeds.append((name, made))
        self.names[name] = made
        return made

    def has_owner(self, x: SymTensor) -> bool:
        return super().has_owner(x) and not any(x is fed for _, fed in self.feeds)

    def starts_anew(self, root: SymTensor) -> bool:
        """Return whether nobody sees, after a run, what it wrote to an input: of what is fed, and of constants."""
        if any(root is fed for _, fed in self.feeds):
            return True
        x = self.captured().get(id(root))
        return x is not None and hasattr(x, _CONSTANT)

    def makes_of_data(self, x: Tensor) -> None:
        setattr(x, _CONSTANT, True)

    def makes_state(self, x: Tensor) -> None:
        if hasattr(x, _CONSTANT):
            delattr(x, _CONSTANT)

    def began_outside(self, root: SymTensor) -> bool:
        return super().began_outside(root) and not any(root is x for _, x in self.feeds)

    def capture(self, x: Tensor) -> SymTensor:
        if x.persistable:
            self.kept.setdefault(x.name, x)
        stand_in = super().capture(x)
        if stand_in._value.operation is None:  # not written to yet: it is as its owner says by now
            stand_in._stop = x.stop_gradient
            if hasattr(x, _CONSTANT):
                self._inner.add(id(stand_in))  # the program may write to it
        return stand_in

    def declare(self, shape: Sequence[int], dtype: Any) -> SymTensor:
        """A variable that a call will write: zeros until then."""
        sizes = tuple(self.scope.size() if n < 0 else n for n in shape)
        with self:
            made = self.tensor(F.full(0, dtype=dtype, shape=sizes))
        self.declared[id(made)] = list(shape)
        self._variables.append(made)
        return made

    def present(self, value: Value | None) -> Value | None:
        """Return what stands for a value now; None where passes have left it out."""
        while value is not None and id(value) in self.gone:
            value = self.gone[id(value)][1]
        return value

    def tensor(self, x: Tensor) -> SymTensor:
        found = super().tensor(x)
        if self.gone and id(found._value) in self.gone:
            value = self.present(found._value)
            if value is None:
                raise CaptureError(
                    f"{found!r} is no more in the program: a pass has put what it was part of into one operation, or "
                    "left it out since nothing read it. Fetch it from PassManager.run(program, fetch_list=[...])"
                )
            found._value = value
        return found

    def assign(self, x: Tensor, value: Tensor) -> None:
        if x.persistable:
            # Programs may write to parameters, whose gradients are those of what they were before.
            with context.no_grad_guard():
                super().assign(x, value)
        else:
            super().assign(x, value)
        self.version += 1

    def rebind(self, x: Tensor, value: Tensor) -> None:
        super().rebind(x, value)
        self.version += 1

    def replaced(self, root: SymTensor, x: SymTensor, made: bool, quiet: bool) -> None:
        super().replaced(root, x, made, quiet)
        self.version += 1

    def reads(self, x: Tensor) -> None:
        if not self.varies(x):
            return
        raise CaptureError(
            f"the data of a tensor of shape {list(x.shape)} are read in static mode, where they are known only while "
            "the program runs. Fetch them: Executor.run(program, fetch_list=[...])"
        )

    def keeps(self, x: Tensor) -> bool:
        return not x.persistable

    def backward(self, tensors: Sequence[Any], grads: Sequence[Any], retain: bool = False) -> None:
        raise CaptureError(
            "backward() is called in static mode, where gradients are operations of the program: "
            "paddle.static.append_backward(loss), or minimize(loss) of an optimizer"
        )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Note that what is recorded inside may be computed in a narrower type."""
        first = len(self.builder.program.ops)
        try:
            yield
        finally:
            self.narrowed.update((id(o), o) for o in self.builder.program.ops[first:])

    @contextmanager
    def training(self) -> Iterator[None]:
        """Note that what is recorded inside belongs to training: copies for evaluation do without it."""
        first = len(self.builder.program.ops)
        try:
            yield
        finally:
            self._training.append((first, len(self.builder.program.ops)))

    def when_evaluated(self, y: Tensor, function: Callable[..., Any], *operands: Any) -> None:
        """Copies for evaluation have ``function(*operands)`` in place of what ``y`` stands for."""
        operation = self.tensor(y).value.operation
        if operation is not None and operation.results[0] is self.tensor(y).value:
            taken = tuple(self.tensor(x).value if isinstance(x, Tensor) else x for x in operands)
            self._evaluated[id(operation)] = operation, function, taken

    # --- copies

    def copy(self, evaluation: bool = False) -> ProgramTracer:
        """A tracer of its own over the same weights; ``evaluation``: without what belongs to training."""
        out = ProgramTracer(self)
        source, builder = self.builder.program, out.builder
        if evaluation and not set(self._evaluated) <= {id(o) for o in source.ops}:
            raise CaptureError(
                "clone(for_test=True) meets dropout or a batch norm inside of a branch or loop body, which it cannot "
                "exchange there. Record the program for evaluation apart, with layers in eval()"
            )
        out.scope.symbols, out.scope.guards = list(self.scope.symbols), []
        out.scope.bound = set(self.scope.bound)
        for guard in self.scope.guards:
            out.scope.assume_guard(guard)
        for check in self.scope.checks:
            out.scope.assume_check(check)
        table: dict[int, Value] = {}
        captured = self.captured()
        names = {id(root): name for name, root in self.feeds}
        roots = []
        for root, original in self._roots:
            if id(root) in captured:
                new = out.capture(captured[id(root)])
            else:
                new = out.feed(names[id(root)], original.meta, root._stop)
            new._stop = root._stop
            table[id(original)] = new._value
            roots.append((new, root))
        skipped = self.training_operations() if evaluation else set()
        for operation in source.ops:
            if id(operation) in skipped or not all(id(v) in table for v in operation.values):
                continue  # the latter reads what was left out
            found = self._evaluated.get(id(operation)) if evaluation else None
            if found is None:
                copied = builder.copy(operation, table)
                if id(operation) in self.narrowed:
                    out.narrowed[id(copied)] = copied
                continue
            _, function, taken = found
            given = [symbolic(table[id(x)], out) if type(x) is Value else x for x in taken]
            before = len(builder.program.ops)
            with out:
                made = out.tensor(function(*given)).value
            for o in builder.program.ops[before:]:
                o.line = operation.line
            table[id(operation.results[0])] = made
        out.begun = list(self.begun)
        out.streams = {key: (generator, stream.copy()) for key, (generator, stream) in self.streams.items()}
        if not evaluation:
            self._copy_training(out, table)
        for new, root in roots:
            if (value := table.get(id(root._value))) is not None:
                new._value, new._stop, new._made = value, root._stop, root._made
        out._counterparts = table
        out._values = [v for v in [*source.inputs, *(r for o in source.ops for r in o.results)] if id(v) in table]
        return out

    def _copy_training(self, out: ProgramTracer, table: Mapping[int, Value]) -> None:
        """Give a copy what it needs for training, and for copies of its own."""
        out.sources, out.optimizers = list(self.sources), list(self.optimizers)
        out.differentiated, out.asked = self.differentiated, self.asked
        out._training = list(self._training)
        ours, theirs = self.builder.program.ops, out.builder.program.ops
        number = {id(o): i for i, o in enumerate(ours)}
        for key, (operation, function, taken) in self._evaluated.items():
            if key not in number:  # inside of a branch or loop body
                out._evaluated[key] = operation, function, taken
                continue
            twin = theirs[number[key]]
            values = tuple(table[id(x)] if type(x) is Value else x for x in taken)
            out._evaluated[id(twin)] = twin, function, values
        for key, (_, function) in self.gradients.items():
            if key in number:
                out.gradients[id(theirs[number[key]])] = theirs[number[key]], function

    def training_operations(self) -> set[int]:
        """The operations that belong to training, by id."""
        operations = self.builder.program.ops
        return {id(o) for first, last in self._training for o in operations[first:last]}

    def find(self, x: Tensor) -> Value | None:
        """Return what a tensor of this tracer, or of one that it was copied of, stands for here; None for nothing."""
        if not isinstance(x, SymTensor):
            stand_in = self._captured.get(id(x))
            return None if stand_in is None else stand_in._value
        if x._tracer is self:
            with self.paused():
                return self.present(x._value if id(x._value) in self.gone else x.value)
        if self.origin is None:
            return None
        value = self.origin.find(x)
        if (value is None or id(value) not in self._counterparts) and x._tracer is self.origin:
            value = x._value  # which passes have taken out of the original since
        return None if value is None else self.present(self._counterparts.get(id(value)))

    def stand_in(self, origin: ProgramTracer, pairs: Iterable[tuple[Tensor, SymTensor]]) -> None:
        """Let tensors of ``origin``, of which this is a part, stand for those that are paired with them here."""
        self.origin = origin
        for theirs, ours in pairs:
            if (value := origin.find(theirs)) is not None:
                self._counterparts[id(value)] = ours._value
                self._values.append(value)

    # --- programs that come from elsewhere

    @classmethod
    def over(
        cls, program: Program, feeds: Sequence[str], tensors: Mapping[str, Tensor], draws: bool
    ) -> tuple[ProgramTracer, list[SymTensor]]:
        """A tracer that goes on from a program: its arguments are fed under these names, its constants are ``tensors``.

        Returns it with what stands for the program's outputs. ``draws``: the last three outputs are seed and offset of
        the random numbers that the program draws, and how many words it takes.
        """
        out = cls()
        out.scope.symbols = list(program.symbols)
        out.scope.bound = bound_within(program.ops)
        for guard in program.guards:
            out.scope.assume_guard(guard)
        for check in program.checks:
            out.scope.assume_check(check)
        names = {id(v): n for n, v in program.constants.items()}
        fed = iter(feeds)
        table: dict[int, Value] = {}
        for value in program.inputs:
            name = names.get(id(value))
            made = out.feed(next(fed), value.meta) if name is None else out.capture(tensors[name])
            table[id(value)] = made._value
        roots = {id(value): made for value, (made, _) in zip(program.inputs, out._roots, strict=True)}
        for operation in program.ops:
            out.builder.copy(operation, table)
        for write in program.effects:
            assert type(write.value) is Value
            roots[id(write.target)]._value = table[id(write.value)]
        outputs = program.outputs[:-3] if draws else program.outputs
        if draws:
            seed, offset, words = program.outputs[-3:]
            assert isinstance(seed, Sym)
            assert isinstance(offset, Sym)
            generator = default_generator(context.current().place)
            stream = DrawnStream(stream_of(generator), seed, offset)
            stream.words = words
            out.streams[id(generator)] = generator, stream
        return out, [symbolic(table[id(v)], out) for v in outputs]

    # --- runs

    def note_conditions(self) -> None:
        """Enter into the program the symbols and conditions that were met so far."""
        source = self.builder.program
        known = set(source.symbols)
        source.symbols += [s for s in self.scope.symbols if s not in known]
        source.guards, source.checks = list(self.scope.guards), list(self.scope.checks)

    def program(self, outputs: Sequence[Any], written: bool = True) -> Program:
        """Return what is recorded so far as a program of its own; ``written``: with the writes to inputs."""
        source = self.builder.program
        self.note_conditions()
        writes = [
            Write(old, root._value) for root, old in self._roots
            if written and root._value is not old and not self.starts_anew(root)
        ]  # fmt: skip
        return extract(source, source.ops, source.inputs, outputs, writes)

    def input_names(self) -> list[str | None]:
        """The names of the program's inputs; None for captured tensors."""
        names = {id(root): name for name, root in self.feeds}
        by_value = {id(value): names.get(id(root)) for root, value in self._roots}
        return [by_value[id(v)] for v in self.builder.program.inputs]


class Run(CapturedRun):
    """A program as it was recorded up to now.

    ``feeds``: names and types of the inputs that it is given, in order. ``held_by(x, read)``: the tensor that takes the
    place of a captured one, whose values the program reads or not. ``arena``: see ``Executor``.
    """

    def __init__(
        self,
        tracer: ProgramTracer,
        outputs: Sequence[Value],
        name: str,
        written: bool = True,
        held_by: Callable[[Tensor, bool], Tensor] = lambda x, read: x,
        arena: int | None = None,
    ) -> None:
        streams = [stream for _, stream in tracer.streams.values()]
        self._symbols = [s for source in tracer.sources for s in source.symbols]
        self._symbols += [s for stream in streams for s in (stream.seed, stream.offset)]
        inside = bound_within(tracer.builder.program.ops)
        is_open = [any(s in inside for s in symbols_of(stream.words)) for stream in streams]
        self._counts = [0 if o else s.words for s, o in zip(streams, is_open, strict=True)]
        counts = [s.words for s, o in zip(streams, is_open, strict=True) if o]
        traced = tracer.program([*outputs, *counts], written)
        fuse_plain_attention(traced)
        kept = pruned(traced)
        program = self.program = kept.program
        # Draws of a size that nothing reads are left out, with the input that has the size; none is drawn behind them.
        known = {*program.symbols, *self._symbols}
        self._counts = [substitute(n, {s: 0 for s in symbols_of(n) if s not in known}) for n in self._counts]
        program.name = name
        read = read_by(program)
        program.captured = {n: held_by(x, id(program.constants[n]) in read) for n, x in program.captured.items()}
        refuse_overlap(program)
        names = tracer.input_names()
        self.feeds = [(feed, traced.inputs[i].meta) for i in kept.inputs if (feed := names[i]) is not None]
        own = list(program.captured.values())
        self._described: dict[str, Any] = {
            "name": name, "pinned": [], "apart": set(), "leaves": [], "absent": [], "inner": [], "hooks": [],
            "kept": own,
            "needs": [x.stop_gradient for x in own], "sources": [s.scalars for s in tracer.sources],
            "streams": [s.stream for s in streams], "open": is_open, "constants": [None] * len(outputs),
            "tensors": list(range(len(outputs))), "replaced": [], "assigned": [], "outer": [], "records": False,
            "results": len(program.outputs), "ended": [],
        }  # fmt: skip
        self._prepare(**self._described)
        self.executor = Executor(program, disjoint=True, arena=arena)

    def twin(self) -> Run:
        """A run of the same program and weights, beside this one: with memory of its own for values inside."""
        made = Run.__new__(Run)
        vars(made).update(vars(self), executor=self.executor.twin())
        made._prepare(**self._described)
        return made

    def _plain(self) -> Part:
        executor = self.executor
        places = {s: i for i, s in enumerate(self._symbols)}
        scalars = [places[s] for s, at in executor.sources.items() if at is None]
        return Part(executor, list(self._counts), [], scalars)

    def _holds(self, executor: Executor, tensors: Sequence[Tensor], words: Sequence[int]) -> bool:
        known = executor.environment(tensors, words)
        return all(evaluate(g, known) for g in self.program.guards)

    def _drawn(self, stream: int, executor: Executor, tensors: Sequence[Tensor], words: Sequence[int]) -> int:
        return evaluate(self._counts[stream], executor.environment(tensors, words))


class _Final(Sweep):
    """No more is differentiated: what was written over a value with a history is the value."""

    in_place = True

    def visit(self, o: Operation) -> None:
        if type(o.op) is F.Overwritten:
            self.stand(o.results, [self.current(o.operands[1])])
        else:
            self.keep(o)


class _Kept(NamedTuple):
    program: Program
    inputs: list[int]  # of the program before


def pruned(program: Program) -> _Kept:
    """A program without what nothing needs, and without what only gradients would be asked for. In place."""
    merge_common(_Final().program(resolve(program)))
    # What is required of numbers from data alone is no reason to read these.
    given = bound_within(program.ops)
    late = [c for c in program.checks if not c.steers and not given.isdisjoint(symbols_of(c.condition))]
    program.checks = [c for c in program.checks if not any(c is other for other in late)]
    remove_dead(program)
    gone = given - bound_within(program.ops)
    program.checks += [c for c in late if gone.isdisjoint(symbols_of(c.condition))]
    return unread_dropped(program)


def read_by(program: Program) -> set[int]:
    """The ids of the values that a program reads."""
    read = {id(v) for o in program.walk() for v in uses(o)} | {id(x) for x in program.outputs}
    return read | {id(w.value) for w in program.effects}


def unread_dropped(program: Program) -> _Kept:
    """A program without the inputs that nothing reads or writes, and without what is required of their sizes alone."""
    wanted = read_by(program) | {id(w.target) for w in program.effects}
    needed = symbols_of([x for x in program.outputs if type(x) is Sym])
    needed.update(symbols_of([c.condition for c in program.checks if c.steers]))
    for o in program.walk():
        needed.update(symbols_of([r.meta.shape for r in o.results]))
        needed.update(symbols_of([*(x for x in o.operands if type(x) is Sym), o.params]))
    found = symbols_of([v.meta.shape for v in program.inputs if id(v) in wanted])
    for v in program.inputs:
        # A size that is read may be that of a tensor which is not.
        if id(v) not in wanted and any(s in needed and s not in found for s in symbols_of(v.meta.shape)):
            wanted.add(id(v))
            found.update(symbols_of(v.meta.shape))
    unknown = {s for s, at in program.sources().items() if at is not None and s not in found}
    inputs = [v for v in program.inputs if id(v) in wanted]
    out = extract(program, program.ops, inputs, program.outputs, program.effects)
    out.symbols = [s for s in out.symbols if s not in unknown]
    out.guards = [g for g in out.guards if unknown.isdisjoint(symbols_of(g))]
    out.checks = [c for c in out.checks if unknown.isdisjoint(symbols_of(c.condition))]
    return _Kept(out, [v.index for v in inputs])
