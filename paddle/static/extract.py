"""Programs of what computes some variables, taken out of what a tracer has recorded, as for evaluation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddle.framework.parameter import Parameter
from paddle.static.program import managed, value_in
from paddle.static.program_file import Contents, Kept
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ir.program import Program, extract, scalars_of
from umiak.ir.scope import symbols_of
from umiak.runtime.program_tracer import ProgramTracer, pruned
from umiak.util.errors import op_error


def kind_of(x: Tensor) -> str:
    """Kind of a tensor that a static program reads: a parameter, another variable that is kept, or a constant."""
    return "constant" if not managed(x) else "parameter" if isinstance(x, Parameter) else "variable"


def extracted(
    op_name: str,
    tracer: ProgramTracer,
    feed_vars: Sequence[Tensor] | None,
    fetch_vars: Sequence[Tensor],
    kind: Callable[[Tensor], str] = kind_of,
    spared: Collection[str] = (),
) -> tuple[Contents, dict[str, Tensor]]:
    """Parts of a file of what computes some variables, as for evaluation, and the tensors that it reads, by name.

    Args:
        op_name: the function that the user called, for errors.
        tracer: what has recorded them.
        feed_vars: variables that will be fed, also those that no result needs; None: whichever are needed.
        fetch_vars: the variables.
        kind: says of a tensor that is read whether it is a ``parameter``, another ``variable`` or a ``constant``.
        spared: names of ``feed_vars`` that are left out where no result needs them.

    Raises:
        ValueError: variables of another program, ``feed_vars`` that are no inputs of it, or an input that is needed and
            not among them.
    """
    for x in fetch_vars:
        tracer.find(x)  # a view of what was written to is taken anew
    tracer = tracer.copy(evaluation=True)
    values = []
    for x in fetch_vars:
        value = value_in(tracer, x)
        if value is None:
            raise op_error(ValueError, op_name, "fetch_vars of the program", getattr(x, "name", x))
        values.append(value)
    streams = [stream for _, stream in tracer.streams.values()]
    if len(streams) > 1:
        raise op_error(ValueError, op_name, "a program that draws from one generator", f"{len(streams)} of them")
    numbers = [n for s in streams for n in (s.seed, s.offset, s.words)]
    program, names = tracer.program([*values, *numbers], written=False), tracer.input_names()
    if feed_vars is not None:
        _drop_checks_of_others(program, names, {x.name for x in feed_vars})
    kept = pruned(program)
    fed = [n for i in kept.inputs if (n := names[i]) is not None]
    out = kept.program
    if feed_vars is not None:
        wanted = [n for n in dict.fromkeys(x.name for x in feed_vars) if n in fed or n not in spared]
        if missing := [n for n in fed if n not in wanted]:
            raise op_error(ValueError, op_name, f"{missing} among feed_vars, which the results need", wanted)
        known = {name: x.meta for name, x in tracer.feeds}
        if others := [n for n in wanted if n not in known]:
            raise op_error(ValueError, op_name, "inputs of the program as feed_vars", others)
        out = _with_inputs(out, fed, {n: known[n] for n in wanted})
        fed = wanted
    if not any(getattr(o.op, "random", False) for o in out.walk()):
        numbers = []
        out.outputs = out.outputs[: len(values)]
        used = _used(out)
        out.symbols = [s for s in out.symbols if s in used]
    tensors = {k: out.captured[k] for k in out.constants}
    own: dict[str, str] = {}  # each tensor's name, no two of them equal
    for k, x in tensors.items():
        name, i = x.name, 0
        while name in own.values():
            i += 1
            name = f"{x.name}_{i}"
        own[k] = name
    described = {k: Kept(own[k], kind(x), not x.stop_gradient) for k, x in tensors.items()}
    contents = Contents(out, fed, [x.name for x in fetch_vars], described, bool(numbers))
    return contents, {own[k]: x for k, x in tensors.items()}


def _drop_checks_of_others(program: Program, names: Sequence[str | None], fed: set[str]) -> None:
    """Let go of what is required of sizes that only inputs have which are not fed: a loss requires that labels are as
    many as samples, which is nothing to its predictions."""
    inputs = list(zip(program.inputs, names, strict=True))
    others = set(symbols_of([v.meta.shape for v, n in inputs if n is not None and n not in fed]))
    others.difference_update(symbols_of([v.meta.shape for v, n in inputs if n is None or n in fed]))
    program.checks = [c for c in program.checks if others.isdisjoint(symbols_of(c.condition))]


def with_inputs(contents: Contents, feeds: Sequence[tuple[str, Tensor]]) -> Contents:
    """The same with these inputs, in order, also those that no result needs."""
    wanted = {name: x.meta for name, x in feeds}
    return replace(contents, program=_with_inputs(contents.program, contents.feeds, wanted), feeds=list(wanted))


def _with_inputs(program: Program, fed: Sequence[str], wanted: Mapping[str, Meta]) -> Program:
    """A program of the inputs ``fed`` with all those that are wanted, in order."""
    by_name = dict(zip(fed, program.arguments(), strict=True))
    symbols = dict.fromkeys(program.symbols)
    for name, meta in wanted.items():
        if name not in by_name:
            by_name[name] = program.body.argument(meta)
            symbols.update(dict.fromkeys(symbols_of([meta.shape])))
    inputs = [*(by_name[n] for n in wanted), *program.constants.values()]
    made = extract(program, program.ops, inputs, program.outputs, program.effects)
    made.symbols = list(symbols)
    return made


def _used(program: Program) -> set[Any]:
    used = set(symbols_of([v.meta.shape for v in program.inputs]))
    for o in program.walk():
        used.update(scalars_of(o))
        used.update(symbols_of([r.meta.shape for r in o.results]))
    used.update(symbols_of([*program.guards, *(c.condition for c in program.checks)]))
    return used
