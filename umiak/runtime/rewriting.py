"""Passes over a program that is still being recorded.

Tensors that stand for values of the program are in the hands of whoever records it. Those that must stay do: what final
writes put into inputs, what copies for evaluation need, and what the caller wants. A value that was merged into another
gives way to it wherever it is met; one that is no more is refused with a word about the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from umiak.ir.expr import Sym
from umiak.ir.program import Operation, Program, Value, Write, defined, uses
from umiak.ir.tracer import SymTensor
from umiak.runtime.capture import CaptureError
from umiak.runtime.program_tracer import ProgramTracer, outside


def rewrite(
    tracer: ProgramTracer, passes: Callable[[Program], dict[int, Any]], wanted: Iterable[Value] | None = None
) -> None:
    """Run ``passes`` over what is recorded so far; they return what stands for values that were merged.

    ``wanted``: values that can be fetched afterwards; by default those that no operation reads, and named ones.
    """
    if tracer.frames:
        raise CaptureError("passes are run in a branch or loop body: run them when the program is recorded")
    tracer.note_conditions()
    program = tracer.builder.program
    before = {id(v): v for v in defined(program.body)}
    operations = list(program.ops)  # held, so that ids stay theirs
    training = tracer.training_operations()
    program.effects = [Write(old, root._value) for root, old in tracer._roots if root._value is not old]
    program.outputs = list(_kept(tracer, program, wanted))
    try:
        with outside():
            stands = passes(program)
    finally:
        program.outputs, program.effects = [], []
    present = {id(v) for v in defined(program.body)}
    tracer.gone.update({key: (v, _last(key, stands, present)) for key, v in before.items() if key not in present})
    for name, value in program.constants.items():
        if id(value) not in before and name in program.captured:  # a constant that a pass has made
            root = tracer._captured[id(program.captured[name])] = tracer._root(value)
            root._stop = True
    tracer._training = list(_ranges(program.ops, training, {id(o) for o in operations}))
    tracer._evaluated = {
        id(o.results[0].producer): (o.results[0].producer, function, taken)  # type: ignore[misc]
        for o, function, taken in tracer._evaluated.values()
    }
    tracer.casts.clear()
    tracer.builder._next = len(present)
    tracer.version += 1


def _kept(tracer: ProgramTracer, program: Program, wanted: Iterable[Value] | None) -> Iterable[Any]:
    """The values that must stay, each once, and the numbers that a run asks for."""
    found: dict[int, Any] = {}
    if wanted is None:
        read = {id(v) for o in program.walk() for v in uses(o)}
        wanted = [r for o in program.ops for r in o.results if id(r) not in read]
        named = [x for x in tracer.names.values() if isinstance(x, SymTensor) and x._tracer is tracer]
        wanted += [v for x in (*named, *tracer._variables) if (v := tracer.find(x)) is not None]
    found.update({id(v): v for v in wanted})
    for operation, _, taken in tracer._evaluated.values():
        found.update({id(v): v for v in (*operation.results, *taken) if type(v) is Value})
    yield from found.values()
    yield from (stream.words for _, stream in tracer.streams.values() if type(stream.words) is Sym)


def _last(key: int, stands: dict[int, Any], present: set[int]) -> Value | None:
    """Return what stands for a value in the end; None for nothing."""
    value = stands.get(key)
    while type(value) is Value and id(value) not in present:
        value = stands.get(id(value))
    return value if type(value) is Value else None


def _ranges(operations: list[Operation], training: set[int], old: set[int]) -> Iterable[tuple[int, int]]:
    """Ranges of operations that belong to training; a new one does, if it reads what one of them makes."""
    first: int | None = None
    belongs = set(training)
    for i, o in enumerate(operations):
        if id(o) not in old and any(id(v.producer) in belongs for v in o.values):
            belongs.add(id(o))
        if id(o) in belongs and first is None:
            first = i
        elif id(o) not in belongs and first is not None:
            yield first, i
            first = None
    if first is not None:
        yield first, len(operations)
