"""The miss path of dispatch: from an op and one class of operands to an immutable plan.

Everything here runs once per class. ``infer`` runs on the concrete operands (so that a user's mistake is reported in
the op's words), then on symbolic sizes, whose expressions and checks become the plan's shape program. The forward call
is a kernel of the backend, a view, or the replayed decomposition; the gradient is the op's vjp, traced and replayed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.autodiff import rules
from umiak.compiler import amp, packed
from umiak.compiler.calls import call_program, live, scalars_in, used
from umiak.compiler.dump import dump
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.fuse import fuse
from umiak.compiler.fused import Fused
from umiak.compiler.gradient_epilogue import FusedGradient
from umiak.compiler.lower.builder import NotANest
from umiak.compiler.lower.group import has_rule, lowerable, nest_of
from umiak.compiler.nest import Chain, Nest
from umiak.compiler.strips import StripConv, StripMatmul
from umiak.core import context
from umiak.core import dtype as dt
from umiak.core.call_program import CallProgram
from umiak.core.context import MODE_GRAD
from umiak.core.dtype import DType
from umiak.core.plan import (
    AXIS_OFFSET,
    AXIS_STRIDE,
    PLAN_CALLS,
    PLAN_LAUNCH,
    PLAN_PYTHON,
    PLAN_RESHAPE,
    PLAN_VIEW,
    Plan,
)
from umiak.core.scalar import ScalarProgram
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.linearise import linearise
from umiak.ir.meta import Meta, Strided, dense, identical, weak_kind
from umiak.ir.program import Operation, Value
from umiak.ir.scope import Scope
from umiak.ir.tracer import Retrace, SymTensor, Tracer
from umiak.ops import scalars
from umiak.ops.base import Op
from umiak.util.garbage import Paused
from umiak.util.lazy import loaded

WORDS = {"bool": 1, "int": 1, "float": 1, "complex": 2}

BACKEND_OF: Callable[[Any], Any]
FIND_KERNEL: Callable[..., Any]

# What Python raises where an infer wants a number and meets a symbol: int(n), range(n), table[n], n.bit_length(). What
# else an infer raises is an error of its own.
NEEDS_NUMBERS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Ops whose infer could not be evaluated symbolically: they cost Python per call. A test keeps this empty.
PYTHON_INFER: dict[str, str] = {}


class ComplexSymbols(NamedTuple):
    """Symbols for a complex number, which is a tensor of ``dtype`` without dims where calls are traced."""

    real: Sym
    imag: Sym
    dtype: DType


@dataclass
class OperandClass:
    """The symbols that stand for one class of operands, and where C reads them."""

    scope: Scope
    metas: list[Meta | None]
    operands: list[Any]  # None, a Sym or ComplexSymbols (numbers), or a Meta
    params: tuple
    sources: dict[Sym, tuple[int, int]] = field(default_factory=dict)


def concrete_metas(operands: Sequence[Any]) -> list[Meta | None]:
    return [
        None if x is None else Meta(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else Meta((), None, weak_kind(x))
        for x in operands
    ]


def place_of(op: Op, operands: Sequence[Any]) -> Any:
    """The one place of the tensor operands (the default place where there is none)."""
    places = {x.place for x in operands if isinstance(x, Tensor)}
    if len(places) > 1:
        op.fail(
            ValueError,
            "operands on one place",
            ", ".join(sorted(p.name for p in places)),
            "Move them with Tensor.to first.",
        )
    return places.pop() if places else context.current().place


def infer(op: Op, operands: Sequence[Any], params: tuple) -> tuple:
    """The results of a call on the concrete operands, or its error."""
    metas = concrete_metas(operands)
    op.refuse_packed(metas)
    try:
        results = as_tuple(op.infer(*metas, *params))
    except TypeError:
        scalars.refuse_large(op, operands)
        raise
    op.refuse_packed(results)
    return results


def explain(op: Op, operands: tuple, params: tuple) -> None:
    """Run ``infer`` on the concrete operands, for its error."""
    infer(op, operands, params)


def symbols_for(op: Op, operands: Sequence[Any], params: Sequence[Any]) -> OperandClass:
    """A symbol for every size, scalar operand and param."""
    scope = Scope()
    scope.of_plan = True
    metas: list[Meta | None] = []
    stand_ins: list[Any] = []
    sources: dict[Sym, tuple[int, int]] = {}
    word = 0
    group = op.group if type(op) is Fused else None
    shared: dict[Any, Any] = {}  # sizes that a group knows to be equal, or to be a number
    for i, x in enumerate(operands):
        if x is None:
            metas.append(None)
            stand_ins.append(None)
        elif isinstance(x, Tensor):
            symbols: list[Any] = []
            for axis in range(x.ndim):
                known = None if group is None else group.arguments[i].meta.shape[axis]
                if type(known) is int:
                    symbols.append(known)
                    continue
                if known is None or known not in shared:
                    size = scope.symbol("int", lo=0, name=f"d{i}_{axis}")
                    sources[size] = (i, axis)
                    shared[size if known is None else known] = size
                    symbols.append(size)
                else:
                    symbols.append(shared[known])
            sizes = tuple(symbols)
            metas.append(Meta(sizes, x.dtype))
            stand_ins.append(metas[-1])
        else:
            kind = weak_kind(x)
            metas.append(Meta((), None, kind))
            if kind == "complex":
                beside = (y.dtype for y in operands if isinstance(y, Tensor) and y.dtype.is_complex)
                real, imag = (scope.symbol("float", name=f"n{i}_{part}") for part in ("real", "imag"))
                sources.update({real: (-1, word), imag: (-1, word + 1)})
                stand_ins.append(ComplexSymbols(real, imag, next(beside, dt.complex128)))
            else:
                s = scope.symbol("float" if kind == "float" else "int", name=f"n{i}")
                sources[s] = (-1, word)
                stand_ins.append(s)
            word += WORDS[kind]
    symbolic = []
    for name, declared, value in zip(op.param_fields, op.param_fields.values(), params, strict=True):
        count = len(value) if declared.several else 1
        new_symbols = tuple(
            scope.symbol(declared.each, name=f"p_{name}{k}" if declared.several else f"p_{name}") for k in range(count)
        )
        sources.update({s: (-1, word + k) for k, s in enumerate(new_symbols)})
        word += count
        symbolic.append(new_symbols if declared.several else new_symbols[0])
    return OperandClass(scope, metas, stand_ins, tuple(symbolic), sources)


@dataclass
class Call:
    """A class of calls that wants a kernel. ``metas`` are the concrete ones that led here."""

    op: Op
    operands: Sequence[Any]
    metas: Sequence[Meta | None]
    modes: int
    place: Any
    classes: OperandClass
    outs: list[Meta]  # of the visible results, symbolic; concrete where `symbolic` is false
    symbolic: bool
    needs: tuple | None = None  # set when residuals are wanted: which operands want a gradient
    traced: Trace | None = None
    known: dict[int, tuple] = field(default_factory=dict)

    def strides(self, i: int) -> tuple:
        """Strides of operand ``i`` in elements, as expressions."""
        if i not in self.known:
            self.known[i] = self._strides(i)
        return self.known[i]

    def _strides(self, i: int) -> tuple:
        x, meta = self.operands[i], self.classes.metas[i]
        assert meta is not None
        if x.is_contiguous():
            return dense(tuple(meta.shape)).strides
        stride_symbols = tuple(
            self.classes.scope.symbol("int", lo=None, name=f"t{i}_{axis}") for axis in range(len(meta.shape))
        )
        self.classes.sources.update({s: (i, AXIS_STRIDE + axis) for axis, s in enumerate(stride_symbols)})
        return stride_symbols

    def trace(self) -> Trace:
        """The op's decomposition; with ``needs``, outputs and residuals of its ``forward_train``."""
        if self.traced is None:
            self.traced = trace_forward(self.op, self.classes, self.needs, expander(BACKEND_OF(self.place)))
        return self.traced

    def nest(self) -> tuple[Nest | Chain, bool]:
        """The call as one nest or a chain of them, with a buffer for each pointer of the launch, and whether it is
        element by element throughout."""
        op = self.op
        inputs: list[Any]  # values and numbers
        if not self.symbolic:
            raise NotANest("sizes that only Python knows")
        if any(type(x) is complex for x in self.operands):
            raise NotANest("a complex number, which no symbol stands for")
        if type(op) is Fused:
            group, count = op.group, len(op.group.arguments)
            env = group.bind([m.shape for m in self.classes.operands[:count]], self.classes.params[0])
            env.update(zip(group.scalars, self.classes.operands[count:], strict=True))
            operations, arguments, results = group.instantiate(env)
            inputs = [*arguments, *self.classes.operands[count:]]
        elif self.needs is None and has_rule(op):
            inputs = [
                Value(m, None, i) if isinstance(m, Meta) else m  # type: ignore[arg-type]
                for i, m in enumerate(self.classes.operands)
            ]
            only = Operation(op, inputs, self.classes.params, self.outs)
            operations, results = [only], list(only.results)
        elif op.decompose is not None or self.needs is not None:
            traced = self.trace()
            operations, inputs, results = live(traced.operations, traced.results), traced.inputs, traced.results
        else:
            raise NotANest(op.name)
        dump("operations", op.name, lambda: show_operations(operations, results))
        placed = [(v, self.strides(i) if type(v) is Value else ()) for i, v in enumerate(inputs)]
        nest = nest_of(op.name, operations, placed, results, self.classes.sources)
        return nest, all(o.op.elementwise for o in operations)

    @property
    def contiguous(self) -> bool:
        """Return whether every tensor operand is contiguous."""
        return all(x.is_contiguous() for x in self.operands if isinstance(x, Tensor))


def show_operations(operations: Sequence[Operation], results: Sequence[Value | None]) -> str:
    """The text of operations, a line each. Values that have no number get one."""
    everything = [v for o in operations for v in (*o.values, *o.results)]
    fresh = itertools.count(max((v.id for v in everything), default=-1) + 1)
    for v in everything:
        if v.id < 0:
            v.id = next(fresh)
    names = ", ".join("none" if v is None else f"%{v.id}" for v in results)
    return "\n".join([*map(repr, operations), f"return {names}"]) + "\n"


def as_tuple(x: Any) -> tuple:
    return x if isinstance(x, tuple) else (x,)


@Paused()
def on_miss(op: Op, operands: tuple, params: tuple, modes: int) -> Plan:
    """Dispatch's slot: build the plan for this class of operands."""
    return build(op, operands, params, modes)


def build(op: Op, operands: tuple, params: tuple, modes: int) -> Plan:
    """Build the plan of an op for the class that these operands are of.

    Dispatch calls this once per op, operand class and ``modes`` (bits for gradients and AMP). The plan holds the shape
    program and a native launch, a Python kernel, a view rule or a call program, and the gradient where one is wanted.
    """
    op.refuse_absent(operands)
    metas = concrete_metas(operands)
    bounds = None
    if type(op) is not Fused and any(type(x) in (int, float) for x in operands):
        bounds = scalars.bounds_of(op, operands)
    level, dtype_id, custom = (modes >> 1) & 3, (modes >> 3) & 31, (modes >> 16) & 65535
    if level:
        op = amp.with_casts(op, metas, level, dtype_id, custom)
    place = place_of(op, operands)
    visible = infer(op, operands, params)
    op = packed.with_packing(op, metas, visible)
    needs = tuple(isinstance(x, Tensor) and not x.stop_gradient for x in operands)
    wanted = bool(modes & MODE_GRAD) and any(needs) and rules.differentiable(op)
    continuous = [i for i, m in enumerate(visible) if m.dtype.is_continuous]
    wanted = wanted and bool(continuous)
    backend = BACKEND_OF(place)
    classes = symbols_for(op, operands, params)
    single = not op.multiple(len(visible))

    outs, shape, registers, fallback = shape_program(op, classes, visible)
    train = wanted and op.forward_train is not None
    call = Call(op, operands, metas, modes, place, classes, outs, fallback is None, needs if train else None)
    kernel = None if op.view else FIND_KERNEL(call)
    if train and not (kernel is not None and kernel.residuals):
        kernel = None
    common = {"n_visible": len(visible), "single": single, "place": place.index, "has_streams": backend.has_streams}
    out_ids = [(m.dtype.id, len(m.shape)) for m in visible]

    traced = None
    if op.view:
        plan = view_plan(op, operands, classes, visible, common)
    elif kernel is not None and kernel.call is not None:
        plan = Plan(
            op, PLAN_PYTHON, out_ids, sources=list(classes.sources.values()), shape=shape, out_regs=registers,
            infer_python=fallback, **common,
        )  # fmt: skip
        kernel.install(plan)
    elif kernel is not None:
        if train:
            traced = call.trace()
            extra = traced.results[len(visible) :]
            out_ids += [(v.meta.dtype.id, len(v.meta.shape)) for v in extra]
            outs += [v.meta for v in extra]
        launch_dims = None
        if train or kernel.dims is not None:
            with classes.scope:
                outs, shape, registers, launch_dims = lower_shapes(classes, outs, kernel.dims)
        plan = Plan(
            op, PLAN_LAUNCH, out_ids, sources=list(classes.sources.values()), shape=shape, out_regs=registers,
            infer_python=fallback,
            elementwise=len(visible) == 1 and not train and fallback is None
            and (op.elementwise or keeps_shape(classes, outs)),
            same_is_identity=op.name == "sum_to", **common,
        )  # fmt: skip
        kernel.install(plan, launch_dims)
    elif op.decompose is not None or train:
        traced = call.trace()
        out_ids = [(v.meta.dtype.id, len(v.meta.shape)) for v in traced.results]
        plan = Plan(
            op, PLAN_CALLS, out_ids, sources=list(classes.sources.values()), shape=shape, out_regs=registers,
            infer_python=fallback, **common,
        )  # fmt: skip
        operations, results = live(traced.operations, traced.results), traced.results
        if backend.fuses and type(op) is not Fused:
            operations, results = fuse(operations, results)
        symbols = scalars_in(operations)
        sources = [classes.sources[s] for s in symbols]
        donate: dict[int, Value | None] | None = {} if backend.fuses else None
        plan.set_program(call_program(operations, traced.inputs, results, symbols, sources, donate))
    else:
        raise TypeError(
            f"[{op.name}] requires a kernel on {backend.device_type} or a decomposition, got neither. "
            "Register a kernel with the backend."
        )
    if bounds is not None:
        plan.bound_scalars(*bounds)
    if wanted:
        set_gradient(plan, op, classes, visible, needs, traced if train else None, continuous, expander(backend))
    return plan


# --- sizes -----------------------------------------------------------------------------------------------------------


def shape_program(op: Op, classes: OperandClass, visible: Sequence[Meta]) -> tuple:
    """(symbolic output metas, program, registers of output sizes, Python fallback)"""
    try:
        with classes.scope:
            outs = list(as_tuple(op.infer(*classes.metas, *classes.params)))
            return (*lower_shapes(classes, outs)[:3], None)
    except NEEDS_NUMBERS as error:
        if "::" not in op.name:  # of users' operators the functions of shapes are theirs
            PYTHON_INFER.setdefault(op.name, f"{type(error).__name__}: {error}")

    def sizes(operands: tuple, params: tuple) -> list[int]:
        outputs = as_tuple(op.infer(*concrete_metas(operands), *params))
        if [(m.dtype, len(m.shape)) for m in outputs] != [(m.dtype, len(m.shape)) for m in visible]:
            op.fail(RuntimeError, f"results like {list(visible)} for this class of operands", list(outputs))
        return [n for m in outputs for n in m.shape]

    classes.scope = Scope()
    return list(visible), None, list(range(sum(len(m.shape) for m in visible))), sizes


def keeps_shape(classes: OperandClass, outs: Sequence[Meta]) -> bool:
    """Return whether the output has the shape of the one tensor operand, so that dispatch needs no shape program."""
    tensors = [m for m in classes.metas if m is not None and m.weak is None]
    return len(tensors) == 1 and not classes.scope.checks and identical(outs[0].shape, tensors[0].shape)


def lower_shapes(classes: OperandClass, outs: Sequence[Meta], launch_dims: Sequence[Any] | None = None) -> tuple:
    """(outs, program, registers of their sizes, registers of what a kernel asked for)"""
    exprs = [n for m in outs for n in m.shape]
    linear = linearise([*exprs, *(launch_dims or ())], list(classes.sources), classes.scope.checks)
    registers = list(linear.outputs)
    wanted = None if launch_dims is None else registers[len(exprs) :]
    return list(outs), scalar_program(linear), registers[: len(exprs)], wanted


def scalar_program(linear: Any) -> ScalarProgram:
    return ScalarProgram(linear.inputs, list(linear.constants), linear.named_code())


def view_plan(op: Op, operands: tuple, classes: OperandClass, visible: Sequence[Meta], common: dict) -> Plan:
    """Sizes, strides and offset as a program over the operand's own."""
    out_ids = [(m.dtype.id, len(m.shape)) for m in visible]  # type: ignore[union-attr]
    sources = dict(classes.sources)
    if op.name == "reshape":
        outs, shape, registers, fallback = shape_program(op, classes, visible)
        return Plan(
            op,
            PLAN_RESHAPE,
            out_ids,
            sources=list(sources.values()),
            shape=shape,
            out_regs=registers,
            infer_python=fallback,
            **common,
        )
    x = classes.metas[0]
    assert x is not None
    with classes.scope as scope:
        strides = tuple(scope.symbol("int", name=f"t{axis}") for axis in range(len(x.shape)))
        offset = scope.symbol("int", name="offset")
        sources.update({s: (0, AXIS_STRIDE + axis) for axis, s in enumerate(strides)})
        sources[offset] = (0, AXIS_OFFSET)
        op.infer(*classes.metas, *classes.params)
        out = op.strides(Strided(x.shape, strides, offset, x.dtype), *classes.params)
        linear = linearise([*out.shape, *out.strides, out.offset], list(sources), scope.checks)
    return Plan(
        op,
        PLAN_VIEW,
        out_ids,
        sources=list(sources.values()),
        shape=scalar_program(linear),
        out_regs=list(linear.outputs),
        **common,
    )


# --- forward and gradient --------------------------------------------------------------------------------------------


@contextmanager
def plain_modes() -> Iterator[None]:
    """Trace a plan alike under every mode: a plan may be made in the middle of a backward run or of ``no_grad``."""
    ctx = context.current()
    modes = ctx.plan_mode
    ctx.plan_mode = MODE_GRAD
    try:
        yield
    finally:
        ctx.plan_mode = modes


@dataclass
class Trace:
    operations: list
    inputs: list
    results: list


def stand_in(tracer: Tracer, x: Any) -> Any:
    if type(x) is ComplexSymbols:
        real, imag = (F.full(part, dtype=x.dtype.real, shape=()) for part in (x.real, x.imag))
        return F.complex(real, imag)
    return tracer.input(x) if isinstance(x, Meta) else x


def values(tensors: Sequence[Any]) -> list:
    return [t.value if isinstance(t, SymTensor) else None for t in tensors]


def inputs_of(operands: Sequence[Any], classes: OperandClass) -> list:
    """The values of tensors among what stands for operands; what a trace makes of numbers is no input."""
    return [v if isinstance(x, Meta) else None for v, x in zip(values(operands), classes.operands, strict=True)]


def expander(backend: Any) -> Callable[[Op], bool] | None:
    """Return the predicate of composites to decompose inside of others: where the backend fuses, all it can fuse."""
    if not backend.fuses:
        return None
    return lambda op: (
        op.decompose is not None
        and not lowerable(op)
        and type(op) not in (FusedEpilogue, FusedGradient, StripConv, StripMatmul)
        and not backend.opaque(op)
    )


def trace_forward(
    op: Op, classes: OperandClass, needs: tuple | None, expand: Callable[[Op], bool] | None = None
) -> Trace:
    """The decomposition (or, with ``needs``, outputs and residuals of ``forward_train``)."""
    with plain_modes(), Tracer(classes.scope, expand=expand) as tracer:
        operands = [stand_in(tracer, x) for x in classes.operands]
        if needs is None:
            results = as_tuple(op.decompose(*operands, *classes.params))
        else:
            outputs, residuals = op.forward_train(needs, *operands, *classes.params)
            results = as_tuple(outputs) + tuple(residuals)
        check_results(op, results)
    # One slot per operand, so that C can pass operands by position.
    inputs = [v if v is not None else object() for v in inputs_of(operands, classes)]
    return Trace(list(tracer.operations), inputs, values(results))


def check_results(op: Op, results: Sequence[Any]) -> None:
    for r in results:
        if not isinstance(r, SymTensor):
            raise TypeError(f"[{op.name}] requires tensors as results of its decomposition, got {type(r).__name__}")


@dataclass
class Gradient:
    """State for retracing the vjp under further masks of present gradients."""

    op: Op
    classes: OperandClass
    outputs: list[Meta]
    residuals: list[Meta]
    needs: tuple
    save_in: list[int]
    save_out: list[int]
    ints: list[Sym]
    expand: Callable[[Op], bool] | None = None  # set where groups of operations are fused


def set_gradient(
    plan: Plan,
    op: Op,
    classes: OperandClass,
    visible: Sequence[Meta],
    needs: tuple,
    train: Trace | None,
    continuous: list[int],
    expand: Callable[[Op], bool] | None,
) -> None:
    """Trace the vjp of an op and give it to the plan, with the operands, outputs and scalars that it needs saved.

    ``train``: the trace of the forward with residuals, if the plan runs that; ``continuous``: indices of the outputs
    that have gradients; ``expand``: which composites a fusing backend expands, None where nothing is fused.
    """
    with classes.scope:
        outputs = list(as_tuple(op.infer(*classes.metas, *classes.params)))
    residuals = [v.meta for v in train.results[len(outputs) :]] if train is not None else []
    mask = sum(1 << i for i in continuous)
    g = Gradient(op, classes, outputs, residuals, needs, [], [], [], expand)
    # Gradients of some outputs may be absent; what the vjp then needs (sizes of zeros, say) must have been kept.
    masks = [mask] if len(continuous) == 1 else [mask, *(1 << i for i in continuous)]
    keep_in, keep_out, ints = set(), set(), {}
    full: list[Vjp] = []
    for m in masks:
        traced = trace_vjp(g, m)
        full += [traced] if g.expand is None else [traced, traced.fused(g)]
    for v in full:
        ids = used(v.operations, v.made)
        keep_in |= {i for i, x in enumerate(v.operands) if x is not None and id(x) in ids}
        keep_out |= {i for i, x in enumerate(v.saved) if x is not None and id(x) in ids}
        ints.update(dict.fromkeys(scalars_in(v.operations)))
    g.save_in, g.save_out, g.ints = sorted(keep_in), sorted(keep_out), list(ints)
    recompute = None
    if any(i >= len(outputs) for i in g.save_out):
        # Under create_graph residuals are recomputed from the operands: no part of a higher derivative is lost.
        train = trace_forward(op, classes, needs)
        again = live(train.operations, train.results[len(outputs) :])
        wanted = used(again, train.results[len(outputs) :])
        g.save_in = sorted({*g.save_in, *(i for i, v in enumerate(train.inputs) if id(v) in wanted)})
        g.ints = list(dict.fromkeys([*g.ints, *scalars_in(again)]))
        recompute = call_program(
            again,
            [train.inputs[i] for i in g.save_in],
            train.results[len(outputs) :],
            g.ints,
            [classes.sources[s] for s in g.ints],
        )
    plan.set_gradient(
        mask,
        g.save_in,
        g.save_out,
        [classes.sources[s] for s in g.ints],
        recompute,
        g.expand is not None,
    )
    plan.set_vjp(mask, finish_vjp(g, full[0] if g.expand is None else full[1]))
    plan.gradient = g


@dataclass
class Vjp:
    """A traced gradient: live operations; values of operands, of saved outputs and residuals, and of gradients; and
    the resulting values."""

    operations: list
    operands: list
    saved: list
    grads: list
    made: list

    def fused(self, g: Gradient) -> Vjp:
        """The same with composites as what they mean and groups of operations as one."""
        assert g.expand is not None
        program = self
        if any(g.expand(o.op) for o in self.operations):
            program = self._expanded(g)
        operations, made = fuse(program.operations, program.made)
        return Vjp(operations, program.operands, program.saved, program.grads, made)

    def _expanded(self, g: Gradient) -> Vjp:
        """Retrace once more: a composite has its own derivative, so it is only expanded after that was taken."""
        with plain_modes(), Tracer(g.classes.scope, expand=g.expand) as tracer:
            again = Retrace(tracer)
            inputs = [v for v in [*self.operands, *self.saved, *self.grads] if v is not None]
            again.stand(inputs, [tracer.input(v.meta) for v in inputs])
            again.run(self.operations)

        def moved(items: list) -> list:
            return [None if v is None else again.result(v).value for v in items]

        made = moved(self.made)
        operations = live(tracer.operations, made)
        return Vjp(operations, moved(self.operands), moved(self.saved), moved(self.grads), made)


def trace_vjp(g: Gradient, mask: int) -> Vjp:
    """The gradient for one set of present output gradients, as the op's vjp says it."""
    from umiak.autodiff import graph  # with the first gradient

    with plain_modes(), Tracer(g.classes.scope) as tracer:
        operands = [stand_in(tracer, x) for x in g.classes.operands]
        saved = [tracer.input(m) for m in [*g.outputs, *g.residuals]]
        grads = [tracer.input(m) if mask >> i & 1 else None for i, m in enumerate(g.outputs)]
        n = len(g.outputs)
        inputs = tuple(operands)
        gradients = graph.vjp(g.op, inputs, tuple(saved[:n]), tuple(saved[n:]), g.classes.params, tuple(grads), g.needs)
        for i, (x, dx) in enumerate(zip(inputs, gradients, strict=True)):
            if dx is not None and (dx.dtype is not x.dtype or dx.ndim != x.ndim):
                raise RuntimeError(
                    f"[{g.op.name}] requires a gradient of operand {i}'s type {x.meta}, got {dx.meta} from its vjp"
                )
    results = values(gradients)
    inputs_used = inputs_of(operands, g.classes)
    return Vjp(live(tracer.operations, results), inputs_used, values(saved), values(grads), results)


def finish_vjp(g: Gradient, v: Vjp) -> CallProgram:
    inputs = [v.operands[i] for i in g.save_in] + [v.saved[i] for i in g.save_out]
    inputs += [x for x in v.grads if x is not None]
    sources = [g.classes.sources[s] for s in g.ints]
    return call_program(v.operations, inputs, v.made, g.ints, sources, None if g.expand is None else {})


def vjp_plan(plan: Plan, mask: int, recorded: bool = False) -> CallProgram:
    """The tape's slot: the vjp for another set of present gradients. One that is ``recorded`` calls no fused groups,
    so that each op has its own derivative."""
    g: Gradient = plan.gradient
    traced = trace_vjp(g, mask)
    program = finish_vjp(g, traced if g.expand is None or recorded else traced.fused(g))
    plan.set_vjp(mask, program, recorded)
    return program


def install(backend_of: Callable[[Any], Any], find_kernel: Callable[..., Any]) -> None:
    """Set the functions that know the backends: these lie above this layer, so the assembler hands them in."""
    global BACKEND_OF, FIND_KERNEL
    BACKEND_OF, FIND_KERNEL = backend_of, find_kernel


loaded(__name__)
