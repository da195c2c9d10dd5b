"""A program for given sizes, as operations that each become one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from umiak import ops as F
from umiak.backends.cpu.aot.epilogue import fuses
from umiak.backends.cpu.aot.errors import uncompilable
from umiak.backends.cpu.aot.recurrent import unrolled
from umiak.backends.cpu.aot.searches import searched
from umiak.compiler.epilogue import FusedEpilogue, with_epilogues
from umiak.compiler.fuse import fuse
from umiak.compiler.layout import Layouts, channels_last_op
from umiak.compiler.lower.group import lowerable
from umiak.compiler.passes.convolution import fold_batch_norms
from umiak.compiler.passes.folding import fold_constants
from umiak.compiler.plan import plain_modes
from umiak.compiler.simplify import duplicate_views, simplify
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.elements import known_elements
from umiak.ir.expr import Sym
from umiak.ir.meta import Meta
from umiak.ir.passes import merge_common, remove_dead
from umiak.ir.program import Block, Operation, Program, Value, way_condition
from umiak.ir.scope import substitute, symbols_of
from umiak.ir.sym import evaluate
from umiak.ir.tracer import Retrace, SymTensor, Tracer
from umiak.ops import convolution, index, linalg, recurrent
from umiak.ops.base import Op
from umiak.ops.custom_op import CustomOp

_MOST_UNROLLED = 20_000
PRODUCTS = (linalg.Matmul, convolution.Conv, convolution.ConvInputGrad)

Shapes = Sequence[tuple[int, ...]]


def lowered(
    program: Program, shapes: Shapes, values: Mapping[str, Tensor]
) -> tuple[list[Operation], Program, list[Any]]:
    """(operations, the program that has their inputs, results) for arguments of these shapes.

    ``values``: tensors that stand for the program's constants, by name.
    """
    program = _of_sizes(program, shapes, values)
    fold_batch_norms(program)
    fold_constants(program, lambda x: x)
    # Before activations are expanded, by whose ops epilogues are known.
    program.body.operations, program.outputs = with_epilogues(program.ops, _tensors(program), fuses)
    program = _retraced(program, _Expanded)
    fold_constants(program, lambda x: x)
    merge_common(program)
    remove_dead(program)
    program.body.operations, program.outputs = simplify(program.ops, _tensors(program), lambda *_: False)
    program = _retraced(program, lambda tracer: Layouts(tracer, _wants_channels_last))
    fold_constants(program, lambda x: x)
    operations, results = fuse(*duplicate_views(program.ops, _tensors(program)), repeat=True)
    return operations, program, results


def symbols_of_sizes(program: Program, shapes: Shapes) -> dict[Sym, Any]:
    """The values of a program's symbols for arguments of these shapes; refuses those that the program does not take."""
    arguments = program.arguments()
    known: dict[Sym, Any] = {}
    for argument, shape in zip(arguments, shapes, strict=True):
        for size, n in zip(argument.meta.shape, shape, strict=True):
            if type(size) is Sym and size.op == "symbol" and known.setdefault(size, n) != n:
                raise uncompilable("sizes that are equal where the program has one size", list(shapes))
    for argument, shape in zip(arguments, shapes, strict=True):
        got = substitute(tuple(argument.meta.shape), known)
        if got != tuple(shape):
            raise uncompilable(f"an input of shape {argument.meta.shape}", shape)
    for guard in program.guards:
        if all(s in known for s in symbols_of(guard)) and not evaluate(guard, known):
            raise uncompilable("sizes that the program takes", f"{list(shapes)}: {guard} does not hold")
    for check in program.checks:
        if all(s in known for s in symbols_of(check.condition)) and not evaluate(check.condition, known):
            raise uncompilable("sizes that the program takes", f"{list(shapes)}: {check.failure(known)}")
    return known


def _of_sizes(program: Program, shapes: Shapes, values: Mapping[str, Tensor]) -> Program:
    """The program with numbers for its sizes."""
    if program.effects:
        raise uncompilable("a program that only reads its parameters", "one that writes to some of them")
    arguments, known = program.arguments(), symbols_of_sizes(program, shapes)
    with plain_modes(), Tracer() as tracer:
        sweep = _Known(tracer, known)
        stands = [tracer.input(Meta(tuple(s), a.meta.dtype)) for a, s in zip(arguments, shapes, strict=True)]
        sweep.stand(arguments, stands)
        sweep.stand(program.constants.values(), [tracer.capture(values[name]) for name in program.constants])
        _, results = sweep.run(program.ops, _tensors(program))
        return tracer.finish(results)


def _retraced(program: Program, sweep_of: Any) -> Program:
    """The program, recorded once more by a sweep."""
    with plain_modes(), Tracer() as tracer:
        sweep = sweep_of(tracer)
        arguments = program.arguments()
        sweep.stand(arguments, [tracer.input(v.meta) for v in arguments])
        sweep.stand(program.constants.values(), [tracer.capture(program.captured[n]) for n in program.constants])
        _, results = sweep.run(program.ops, _tensors(program))
        return tracer.finish(results)


def _tensors(program: Program) -> list[Any]:
    """The outputs; those that draw random numbers give numbers besides."""
    if not all(type(v) is Value for v in program.outputs):
        raise uncompilable("a program that draws no random numbers", "one that does")
    return program.outputs


class _Known(Retrace):
    """Records operations with numbers in place of symbols."""

    def __init__(self, tracer: Tracer, known: Mapping[Sym, Any]) -> None:
        super().__init__(tracer)
        self.known = dict(known)
        self.unrolled = 0  # operations of iterations

    def visit(self, o: Operation) -> None:
        taken = substitute(way_condition(o, 0), self.known)
        if type(o.op) is F.Cond and type(taken) is not bool:  # what loops count decides it, if they are on sizes
            found = self._elements(self.current(o.operands[0]))
            taken = None if found is None else bool(found.flat[0])
        if type(taken) is bool:
            self._way(o, 0 if taken else 1)
            return
        if type(o.op) is F.Sized:
            (x,), (sizes,) = map(self.current, o.operands), o.params
            self.known.update((s, x.shape[axis]) for axis, s in zip(o.op.axes, sizes, strict=True))
            self.stand(o.results, [x])
            return
        if type(o.op) is F.While:
            self._while(o)
            return
        if type(o.op) is F.Scan:
            self._scan(o)
            return
        if type(o.op) is F.ReadNumber and (found := self._elements(self.current(o.operands[0]))) is not None:
            self._know(o.params[0], int(found.flat[0]))
            self.stand(o.results, [self.current(o.operands[0])])
            return
        if o.regions:
            raise uncompilable("a program without branches and loops on data", f"the operation {o.name}")
        if isinstance(o.op, CustomOp):
            raise uncompilable("operations that can be compiled", f"{o.name}, a custom operator")
        if o.op.random:
            raise uncompilable("a program that draws no random numbers", f"the operation {o.name}")
        operands = [self.current(x) if type(x) is Value else substitute(x, self.known) for x in o.operands]
        params = substitute(tuple(o.params), self.known)
        if left := symbols_of((tuple(x for x in operands if type(x) is Sym), params)):
            shown = ", ".join(map(str, left))
            raise uncompilable("sizes that follow from those of the inputs", f"{shown} in the operation {o.name}")
        made = self.tracer.record(o.op, operands, params)
        self.stand(o.results, made if isinstance(made, tuple) else (made,))

    def _way(self, o: Operation, way: int) -> None:
        """Record what a branch on sizes does for those that are known."""
        region = o.regions[way]
        self.known[o.params[0]] = 1 - way
        self.stand(region.arguments, [self.current(x) for x in o.operands[1:]])
        for inner in region.operations:
            self.visit(inner)
        for result, y in zip(o.results, region.outputs, strict=True):
            if type(y) is Value:
                self.stand([result], [self.current(y)])
            else:  # None: what this way does not have, and nothing reads
                number = 0 if y is None else substitute(y, self.known)
                self.stand([result], [F.full(number, shape=(0,) * result.meta.ndim, dtype=result.meta.dtype)])

    def _while(self, o: Operation) -> None:
        """Record the iterations of a loop that sizes end."""
        n, k = o.op.carried, len(o.op.grown)
        trips, number, sizes = o.params
        condition, body = o.regions
        carried, rest = self._given(o.operands[:n]), self._given(o.operands[n:])

        def measure(symbols: Sequence[Any]) -> None:
            for i, axis, symbol in zip(o.op.grown, o.op.axes, symbols, strict=True):
                self._know(symbol, carried[i].shape[axis])

        count = 0
        while True:
            self._know(number, count)
            measure(sizes[:k])
            goes_on = self._elements(self._region(o, condition, [*carried, *rest])[0])
            if goes_on is None:
                raise uncompilable("a program without branches and loops on data", f"the operation {o.name}")
            if not goes_on.flat[0]:
                break
            carried = [self._settled(x) for x in self._region(o, body, [*carried, *rest])[:n]]
            count += 1
        self._know(trips, count)
        measure(sizes[k : 2 * k])
        self.stand(o.results[: n + 1], [*carried, F.full(count, shape=(), dtype=o.results[n].meta.dtype)])

    def _scan(self, o: Operation) -> None:
        """Record the iterations over slices of tensors."""
        n, m = o.op.carried, o.op.carried + o.op.sliced
        length, number = o.params
        (body,) = o.regions
        carried, sliced, rest = (self._given(xs) for xs in (o.operands[:n], o.operands[n:m], o.operands[m:]))
        rows: list[list[Any]] = [[] for _ in o.results[n:]]
        places = range(substitute(length, self.known))
        for at in reversed(places) if o.op.reverse else places:
            self._know(number, at)
            parts = [F.squeeze(F.slice(x, axes=(0,), starts=(at,), sizes=(1,), steps=(1,)), axes=(0,)) for x in sliced]
            made = self._region(o, body, [*carried, *parts, *rest])
            carried = [self._settled(x) for x in made[:n]]
            for row, x in zip(rows, made[n:], strict=True):
                row.append(x)
        stacks = [
            F.stack(row[::-1] if o.op.reverse else row, axis=0) if row
            else F.full(0, shape=substitute(tuple(r.meta.shape), self.known), dtype=r.meta.dtype)
            for row, r in zip(rows, o.results[n:], strict=True)
        ]  # fmt: skip
        self.stand(o.results, [*carried, *stacks])

    def _region(self, o: Operation, region: Block, given: Sequence[Any]) -> list[Any]:
        """Record what an iteration computes; what it yields."""
        self.unrolled += len(region.operations)
        if self.unrolled > _MOST_UNROLLED:
            raise uncompilable(f"loops of at most {_MOST_UNROLLED} operations in all iterations", f"more in {o.name}")
        self.stand(region.arguments, given)
        for inner in region.operations:
            self.visit(inner)
        return self._given(region.outputs)

    def _given(self, xs: Sequence[Any]) -> list[Any]:
        return [self.current(x) if type(x) is Value else substitute(x, self.known) for x in xs]

    def _know(self, symbol: Any, value: Any) -> None:
        if type(symbol) is Sym:
            self.known[symbol] = value

    def _settled(self, x: Any) -> Any:
        """A number that a loop counts as a constant, so that no iteration computes it of those before."""
        found = self._elements(x) if x.ndim == 0 else None
        return x if found is None else F.full(found.flat[0], shape=(), dtype=x.dtype)

    def _elements(self, x: Any) -> Any:
        """The elements of a tensor that are known, with numbers for symbols; otherwise None."""
        found = known_elements(self.tracer.tensor(x).value, lambda _: None)
        return None if found is None or symbols_of(found.tolist()) else found


class _Expanded(Retrace):
    """Records composites as what they mean, until each operation is a step's or may be part of a kernel."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(tracer)
        tracer.expand = _is_composite

    def visit(self, o: Operation) -> None:
        operands = [self.current(x) for x in o.operands]
        if type(o.op) is recurrent.Rnn:
            self.stand(o.results, unrolled(o.op, *operands))
        elif type(o.op) is index.SearchSorted:
            self.stand(o.results, [searched(o.op, *operands)])
        elif isinstance(o.op, PRODUCTS) and operands[0].dtype.name in ("float16", "bfloat16"):
            wide = [F.cast(x, dtype=dt.float32) for x in operands]
            y = self.tracer.record(o.op, wide, o.params)
            self.stand(o.results, [F.cast(y, dtype=operands[0].dtype)])
        elif type(o.op) is linalg.Matmul and operands[0].dtype.name != "float32":
            self.stand(o.results, [_summed(o.op, *operands)])
        else:
            super().visit(o)


def _summed(op: linalg.Matmul, x: SymTensor, y: SymTensor) -> Any:
    """A matmul as a sum of products, which one kernel computes."""
    tx, ty = op.flags(x.meta, y.meta)
    lead, end = x.ndim == 1, y.ndim == 1
    x = F.unsqueeze(x, axes=(0,)) if lead else linalg.transpose(x) if tx else x
    y = F.unsqueeze(y, axes=(1,)) if end else linalg.transpose(y) if ty else y
    wide_x = F.unsqueeze(x, axes=(x.ndim,))  # [..., m, k, 1]
    wide_y = F.unsqueeze(y, axes=(y.ndim - 2,))  # [..., 1, k, n]
    terms = F.mul(wide_x, wide_y)
    out = F.cast(F.sum(terms, axes=(terms.ndim - 2,), keepdim=False), dtype=x.dtype)
    gone = tuple(axis for axis, is_gone in ((out.ndim - 2, lead), (out.ndim - 1, end)) if is_gone)
    return F.squeeze(out, axes=gone) if gone else out


def _is_composite(op: Op) -> bool:
    return op.decompose is not None and not lowerable(op) and type(op) not in (linalg.Matmul, FusedEpilogue)


def _wants_channels_last(op: Op, metas: Sequence[Any]) -> bool:
    return channels_last_op(op) is not None and metas[0].dtype.name == "float32"
