"""Reverse mode over a program: the graph driver of the ops' one ``vjp``.

``backward`` appends gradient operations to a program. ``derivative`` turns a closed program into a forward one, which
also returns what must be kept, and a backward one. ``vjp`` is the derivative of one call, with which the tape's plans
are made as well. All record ordinary ops: they can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from umiak import ops as F
from umiak.autodiff import control, rules
from umiak.autodiff.custom import is_given, put_in, resolve
from umiak.core import context
from umiak.ir.exchange import exchange
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import Operation, Program, Value, defined_by, extract, is_repeatable, uses, without_checks
from umiak.ir.scope import Scope
from umiak.ir.tracer import SymTensor, Tracer, current, symbolic
from umiak.ops.base import Op, Saved


def backward(
    program: Program, wrt: Sequence[Value], grads: Sequence[Value | float | None] | None = None
) -> list[Value | None]:
    """Append the gradients of the program's outputs with respect to ``wrt``; None where nothing depends on a value.

    ``grads`` has one entry per output: a value, a number to fill with, or None for an absent gradient. By default
    every continuous output counts with 1.
    """
    if grads is None:
        grads = [1.0 if _continuous(y) else None for y in program.outputs]
    if len(grads) != len(program.outputs):
        raise ValueError(f"[backward] requires one gradient per output ({len(program.outputs)}), got {len(grads)}")
    tracer = _tracer_of(program)
    with tracer:
        driver = _Driver(tracer, program, wrt)
        for y, g in zip(program.outputs, grads, strict=True):
            if g is not None:
                driver.seed(y, g)
        gradients = driver.run()
    if tracer not in context.current().trace:
        tracer.builder.finish(program.outputs)
    return gradients


def pullback(
    tracer: Tracer,
    operations: Sequence[Operation],
    seeds: Sequence[tuple[Value, Value]],
    wrt: Sequence[Value | None],
    hooks: Mapping[int, Sequence] | None = None,
    final: bool = False,
    enter: Callable[[Operation, Sequence[Any]], None] | None = None,
) -> list[Value | None]:
    """Gradients of the seeded values with respect to ``wrt`` through operations that ``tracer`` has just recorded.
    With ``final`` no gradient flows through them.

    ``hooks``: entries that come before those of a value, by id; None where gradients are only parts of those that hooks
    are for. ``enter``: called with each operation and the gradients of its results before it is gone through.
    """
    driver = _Driver(tracer, tracer.builder.program, wrt, operations, hooks)
    driver.enter = enter
    for y, g in seeds:
        driver.seed(y, g)
    gradients = driver.run()
    if final:
        # Calls of the forward part that were exchanged for their training forms belong to it.
        for o in tracer.operations:
            if id(o) not in driver.forward:
                for r in o.results:
                    r.stop = True
    return gradients


def vjp(
    op: Op, inputs: tuple, outputs: tuple, residuals: tuple | None, params: tuple, grads: tuple, needs: tuple
) -> tuple:
    """Gradients for ``inputs`` (None where there is none), recorded by the current tracer: the derivative of one call,
    for this driver and for the tape's vjp plans."""
    if rules.has_vjp(op):
        if residuals is None:
            residuals = tuple(op.forward_train(needs, *inputs, *params)[1]) if op.forward_train is not None else ()
        gradients = op.vjp(Saved(inputs, outputs, residuals, rules.params_of(op, params), needs), *grads)
    elif rules.differentiable(op):
        gradients = through_decomposition(op, inputs, params, grads)
    else:
        gradients = (None,) * len(inputs)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    if len(gradients) != len(inputs):
        raise RuntimeError(
            f"[{op.name}] requires one gradient per operand ({len(inputs)}), got {len(gradients)} from its vjp"
        )
    return tuple(g if need else None for g, need in zip(gradients, needs, strict=True))


def through_decomposition(op: Op, inputs: tuple, params: tuple, grads: tuple) -> tuple:
    """Record the decomposition, then walk back over what was recorded."""
    return through(lambda: op.decompose(*inputs, *params), inputs, grads)


def through(function: Callable[[], Any], inputs: tuple, grads: Sequence[Any]) -> tuple:
    """Gradients for ``inputs`` of what ``function`` computes of them: it is recorded, and walked back over."""
    tracer = current()
    start = len(tracer.operations)
    outer = tracer.expand
    if outer is not None:  # a derivative that was written is better than the one of its parts
        tracer.expand = lambda inner: outer(inner) and not rules.has_vjp(inner)
    try:
        outputs = function()
    finally:
        tracer.expand = outer
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    seeds = [(y.value, g.value) for y, g in zip(outputs, grads, strict=True) if g is not None]
    wrt: list[Value | None] = []
    for x in inputs:
        value = x.value if isinstance(x, SymTensor) else None
        # The walk gives the gradient of a value, wherever it is read: of its positions among the operands, one gets
        # all.
        wrt.append(None if any(value is other for other in wrt) else value)
    gradients = pullback(tracer, tracer.operations[start:], seeds, wrt)
    return tuple(None if v is None else symbolic(v) for v in gradients)


def _tracer_of(program: Program) -> Tracer:
    """The tracer that is writing the program now, or one that continues it."""
    active = (t for t in reversed(context.current().trace) if t.builder.program is program)
    return next(active, None) or Tracer(program=program)


class _Driver:
    """Walks back over ``operations``: by default all that the program holds now."""

    def __init__(
        self,
        tracer: Tracer,
        program: Program,
        wrt: Sequence[Value | None],
        operations: Sequence[Operation] | None = None,
        hooks: Mapping[int, Sequence] | None = None,
    ) -> None:
        self.tracer = tracer
        self.program = program
        self.operations = list(program.ops if operations is None else operations)
        self.wrt = list(wrt)
        self.kept = {id(v) for v in wrt if v is not None}
        self.table: dict[int, SymTensor] = {}
        self.hooks = hooks
        self.hooked: set[int] = set()  # values whose hooks have run
        # The operations of the forward run, as opposed to those recorded from here on.
        self.forward = {id(o) for o in self.operations}
        # Per region to be recomputed: its operations, and by identity what stands for them and their values.
        self.recompute: dict[int, tuple[dict[int, Operation], dict[int, Value]]] = {}
        self.enter: Callable[[Operation, Sequence[Any]], None] | None = None

    def seed(self, y: Any, g: Value | float) -> None:
        if not _continuous(y):
            raise TypeError(f"[backward] requires a floating or complex output, got {y}")
        if type(g) is Value:
            if g.meta.dtype is not y.meta.dtype or g.meta.ndim != y.meta.ndim:
                raise ValueError(f"[backward] requires a gradient of the output's type {y.meta}, got {g.meta}")
            gradient = symbolic(g)
        else:
            with context.place_guard(y.place):
                gradient = F.full(g, shape=y.meta.shape, dtype=y.meta.dtype)
        self.add(y, gradient)

    def add(self, value: Value, g: SymTensor) -> None:
        held = self.table.get(id(value))
        self.table[id(value)] = g if held is None else F.add(held, g)

    def active(self) -> tuple[list[Operation], set[int]]:
        """The operations through which a gradient may reach ``wrt``, and the values that depend on it."""
        reached = set(self.kept)
        operations_found = []
        for operation in self.operations:
            if any(id(v) in reached for v in operation.values):
                open_results = [r for r in operation.results if not r.stop and _continuous(r)]
                if open_results:
                    operations_found.append(operation)
                    reached.update(map(id, open_results))
        return operations_found, reached

    def run(self) -> list[Value | None]:
        operations, reached = self.active()
        for operation in reversed(operations):
            grads = tuple(self.take(r) for r in operation.results)
            needs = tuple(type(x) is Value and id(x) in reached and _continuous(x) for x in operation.operands)
            if any(needs) and any(g is not None for g in grads):
                if self.enter is not None:
                    self.enter(operation, grads)
                self.operation(operation, grads, needs)
        gradients = [self.wanted(v) if v is not None else None for v in self.wrt]
        return [g.value if g is not None else None for g in gradients]

    def take(self, result: Value) -> SymTensor | None:
        """The gradient of a result; the sum is complete, since every reader lies behind."""
        if result.stop:
            return None
        return (
            self.wanted(result)
            if id(result) in self.kept
            else self.through_hooks(self.table.pop(id(result), None), result)
        )

    def wanted(self, value: Value) -> SymTensor | None:
        """The complete gradient of one of ``wrt``."""
        g = self.table.get(id(value))
        if g is not None and id(value) not in self.hooked:
            self.hooked.add(id(value))
            g = self.through_hooks(g, value)
            assert g is not None
            self.table[id(value)] = g
        return g

    def through_hooks(self, g: SymTensor | None, value: Value) -> SymTensor | None:
        if g is None or self.hooks is None:
            return g
        for entry in [*self.hooks.get(id(value), ()), *(value.hooks or ())]:
            g = self.tracer.hooked(g, entry[0])
        return g

    def operation(self, operation: Operation, grads: tuple, needs: tuple[bool, ...]) -> None:
        op = operation.op
        custom = self.tracer.gradients.get(id(operation))
        if custom is not None:
            self.spread(operation, (*custom[1](*grads), *(None for _ in operation.results)), needs)
            return
        if not operation.regions and not rules.differentiable(op):
            if op.declares_none:
                return
            raise TypeError(f"[{op.name}] declares neither vjp nor decompose, in\n{self.around(operation)}")
        # Inside of the region itself, values are there.
        anew = operation.recompute > 0 and operation.recompute != self.tracer.builder.recompute
        source = self.recomputed(operation, next(g for g in grads if g is not None)) if anew else operation
        if is_given(operation):
            self.spread(operation, put_in(self.tracer, source, grads), needs)
            return
        if operation.regions:
            self.spread(operation, control.pull(self.tracer, source, grads, needs, derivative), needs)
            return
        residuals = self.residuals(source, needs) if op.forward_train is not None else None
        inputs = tuple(symbolic(x) if type(x) is Value else x for x in source.operands)
        outputs = tuple(map(symbolic, source.results))
        with context.place_guard(source.results[0].place):
            gradients = vjp(op, inputs, outputs, residuals, operation.params, grads, needs)
        self.spread(operation, gradients, needs)

    def spread(self, operation: Operation, gradients: Sequence[SymTensor | None], needs: tuple[bool, ...]) -> None:
        """Add the gradients of the operands."""
        for x, g, need in zip(operation.operands, gradients, needs, strict=True):
            if g is None or not need:
                continue
            if g.dtype is not x.meta.dtype or g.ndim != x.meta.ndim:  # type: ignore[union-attr]
                raise RuntimeError(
                    f"[{operation.name}] requires a gradient of its operand's type {x.meta}, got {g.meta} from its vjp"  # type: ignore[union-attr]
                )
            self.add(x, g)  # type: ignore[arg-type]

    def recomputed(self, operation: Operation, g: SymTensor) -> Operation:
        """The operation's twin: all of its region is recorded once more at this point, over what the region reads.

        Nothing of it comes before the gradient ``g``. Passes remove what no gradient needs. A call with an effect is
        not made twice.
        """
        region = operation.recompute
        if region not in self.recompute:
            own = [o for o in self.operations if o.recompute == region and is_repeatable(o) and o.op.name != "require"]
            own_results = {id(r) for o in own for r in o.results}
            read = {id(v): v for o in own for v in o.values if id(v) not in own_results}
            # Parameters need none: what is made of them alone may be shared, and what is seen by a view is not donated.
            captured = {id(v) for v in self.program.constants.values()}
            values = {
                key: v if key in captured else F.optimization_barrier(symbolic(v), g).value for key, v in read.items()
            }
            twins = {}
            for o in own:
                twins[id(o)] = without_checks(self.tracer.builder.copy(o, values))
                twins[id(o)].recompute = -region
            self.recompute[region] = twins, values
        return self.recompute[region][0].get(id(operation), operation)

    def residuals(self, operation: Operation, needs: tuple[bool, ...]) -> tuple | None:
        """Return the residuals of the forward call, which is exchanged, in its place, for its training form.

        The results keep their identity, because the caller may hold them.
        """
        builder = self.tracer.builder
        mark = len(builder.block.operations)
        inputs = tuple(symbolic(x) if type(x) is Value else x for x in operation.operands)
        outputs, residuals = operation.op.forward_train(needs, *inputs, *operation.params)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        added = builder.block.operations[mark:]
        for o in added:
            o.line = operation.line
        del builder.block.operations[mark:]
        if not residuals:
            return ()
        results = [y._value for y in outputs]
        ours = {id(o) for o in added}
        if len({id(v) for v in results}) != len(results) or any(id(v.producer) not in ours for v in results):
            # Its training form returns an operand as it is: compute the residuals again behind, for this gradient.
            return None
        stand_in = {id(new): old for new, old in zip(results, operation.results, strict=True)}
        body = next(b for b in [builder.block, *builder.outer] if any(o is operation for o in b.operations))
        exchange(body, operation, added, results)
        if id(operation) in self.forward:
            self.forward |= ours
        return tuple(symbolic(stand_in.get(id(r._value), r._value)) for r in residuals)

    def around(self, operation: Operation) -> str:
        """The operations next to one, for messages."""
        at = next(i for i, o in enumerate(self.program.ops) if o is operation)
        near = self.program.ops[max(0, at - 3) : at + 4]
        return "\n".join(("> " if o is operation else "  ") + repr(o) for o in near)


def _continuous(x: Any) -> bool:
    return type(x) is Value and x.meta.dtype is not None and x.meta.dtype.is_continuous


@dataclass(frozen=True)
class Derivative:
    """A forward program and the backward one that goes with it.

    ``forward`` returns the outputs of the original program and then what it keeps. ``backward`` takes, in this order,
    the kept values (``saved``: ("input", i) of the forward program, or ("output", j) of it) and the gradients of the
    outputs in ``present``; it returns one gradient for each of ``wrt``, or None. Both have the same symbols.
    """

    forward: Program
    backward: Program
    saved: tuple[tuple[str, int], ...]
    present: tuple[int, ...]


def derivative(
    program: Program,
    wrt: Iterable[int],
    present: Iterable[int] | None = None,
    live: Tracer | None = None,
    scope: Scope | None = None,
    inner: Sequence[Value] = (),
) -> Derivative:
    """Forward and backward programs for the inputs numbered ``wrt``, given the gradients of the outputs ``present``.

    With ``live`` the gradients of its values ``inner`` come behind those of the inputs.

    By default every continuous output has a gradient. The program itself is not changed, unless gradients need Python
    functions (hooks, custom gradients): then they are traced by ``live``, the tracer that made the program, into it.
    ``scope``: where what the derivative takes for granted is noted, if the program is a region of another one.
    """
    joint = program.copy() if live is None else program
    inputs, outputs = list(joint.inputs), list(joint.outputs)
    present = tuple(i for i, y in enumerate(outputs) if _continuous(y)) if present is None else tuple(present)
    written = {id(w.target) for w in joint.effects}
    tracer = Tracer(scope, joint) if live is None else live
    with tracer:
        # What a run overwrites is kept as a copy; those that nothing reads are removed again.
        copies = {id(v): F.copy(symbolic(v)).value for v in inputs if id(v) in written}
        driver = _Driver(tracer, joint, [*(inputs[i] for i in wrt), *inner], hooks=None if live is None else {})
        grads: list[Value] = []
        for i in present:
            grads.append(tracer.input(outputs[i].meta).value)  # type: ignore[union-attr]
            driver.seed(outputs[i], grads[-1])
        gradients = driver.run()
    # Through the outputs, so that passes that replace values keep track of the gradients.
    tracer.builder.finish([*outputs, *gradients, *copies.values()])
    # Tensors that a Python function met became inputs too.
    inputs = [v for v in joint.inputs if not any(v is g for g in grads)]
    if scope is None:  # the gradients that a region has may be asked for again
        resolve(joint)
    remove_dead(merge_common(joint, given=joint.outputs[: len(outputs)] if scope is None else ()))
    gradients = joint.outputs[len(outputs) : len(outputs) + len(gradients)]  # type: ignore[assignment]
    copies = dict(zip(copies, joint.outputs[len(outputs) + len(gradients) :]))
    return _split(joint, inputs, len(outputs), gradients, grads, present, copies, driver.forward)


def _split(
    joint: Program,
    inputs: list[Value],
    n_outputs: int,
    gradients: Sequence[Value | None],
    grads: list[Value],
    present: tuple[int, ...],
    copies: dict[int, Value],
    forward: set[int],
) -> Derivative:
    """Cut the joint program where the gradient begins; what crosses the cut is saved."""
    before = [o for o in joint.ops if id(o) in forward]
    behind = [o for o in joint.ops if id(o) not in forward]
    inside = {id(v) for o in behind for v in defined_by(o)} | {id(g) for g in grads}
    crossing: dict[int, Value] = {}
    for v in [*(v for o in behind for v in uses(o)), *(v for v in gradients if v is not None)]:
        if id(v) not in inside:
            crossing[id(v)] = v
    results = list(joint.outputs[:n_outputs])
    origins = {id(v): ("input", i) for i, v in enumerate(inputs) if id(v) not in copies}
    for i, y in enumerate(results):
        # An output that is an input would be given to the caller without a copy.
        if type(y) is Value and y.operation is not None:
            origins.setdefault(id(y), ("output", i))
    for key, v in crossing.items():
        if key not in origins:
            origins[key] = ("output", len(results))
            results.append(copies.get(key, v))
    first = extract(joint, before, inputs, results, joint.effects)
    second = extract(joint, behind, [*crossing.values(), *grads], gradients)
    second.constants.clear()
    second.captured.clear()
    return Derivative(remove_dead(first), second, tuple(origins[key] for key in crossing), present)
