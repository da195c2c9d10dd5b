"""Calls of users' operators: at once with a node of the tape, or as calls of a program."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

import umiak.autodiff.saved  # noqa: F401 -- what keeps tensors for gradients
from umiak.core import python_nodes
from umiak.core.context import capture_of, current, is_tracing, no_grad_guard, place_guard
from umiak.core.custom_calls import BackwardCall, OperatorCall, OtherClass, attach
from umiak.core.eager import apply
from umiak.core.inplace import assign
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir.expr import NumberUnknown, Sym
from umiak.ir.meta import Meta
from umiak.ir.tracer import DataUnknown
from umiak.ops import custom_op as rules
from umiak.ops._common import zeros
from umiak.ops.arguments import TENSOR, Parts, is_flat, put_together, sorter, taken_apart
from umiak.ops.custom_op import CALL, CONSTANT, NODE, OPEN, CustomOp, Definition, SizesOpen, listed
from umiak.ops.schema import shown_kind


class Operator(OperatorCall):
    """A registered operator, which is called with the arguments of its schema."""

    __slots__ = ()

    def _general(self, args: tuple) -> Any:
        """A call with the values of all arguments, whatever they are."""
        definition = self.definition
        parts = taken_apart(args, self._refusal)
        if parts.scalars:  # functions in C++ take those of Python
            args = tuple(put_together(parts.form, parts.tensors, parts.ints, parts.floats))
        is_plain = not parts.tensors and definition.schema.count is None  # what it gives may be no tensors, either
        if not definition.is_node or ((definition.is_open or is_plain) and not is_tracing()):
            return _inlined(definition, args, parts)
        tensors, numbers = tuple(parts.tensors), (tuple(parts.ints), tuple(parts.floats))
        if is_tracing() or any(type(n) is Sym for n in (*parts.ints, *parts.floats)):
            return _recorded(definition, args, parts.form, tensors, numbers)
        op = definition.op(parts.form, CALL)
        if definition.varies:
            with suppress(SizesOpen):
                op = op.for_results([Meta(tuple(x.shape), x.dtype) for x in tensors], *numbers)
        elif is_flat(parts.form) and all(isinstance(x, Tensor) or type(x) in (int, float) for x in args):
            sort = None if all(entry == TENSOR for entry in parts.form) else sorter(parts.form)
            self._ways[tuple(map(type, args))] = op, sort
        try:
            if python_nodes.wants_gradient(tensors):
                return self._with_gradient(op, args, tensors, numbers)
            return op.packed_up(apply(op, tensors, numbers))
        except SizesOpen:
            self.opened()
            return _inlined(definition, args, parts)
        except OtherClass:
            if definition.varies:  # the call was of the right class: another operator's, which the function has called
                raise
            return self._varied(args)

    def _varied(self, args: tuple) -> Any:
        """A call whose results are of another class than those of calls like it."""
        self.definition.varies = True
        self._ways.clear()
        return self._general(args)

    def _with_gradient(self, op: CustomOp, args: tuple, tensors: tuple, numbers: tuple) -> Any:
        """A call of which a gradient is wanted."""
        definition = self.definition
        if definition.backward is None:
            return _through_function(definition, op, args, tensors, numbers)
        results = apply(op, tensors, numbers)
        return attach(
            definition,
            op.form,
            args,
            tensors,
            list(results),
            op.packing,
            _Like,
            _backward_of(tuple(map(_DTYPE, tensors))),
        )

    def _refusal(self, position: int, value: Any) -> Exception:
        name = self.definition.schema.arguments[position].name
        hint = " Pass paddle.to_tensor(...)." if isinstance(value, np.ndarray) else ""
        return TypeError(
            f"[{self.definition.name}] requires tensors, numbers, strings, dtypes, places, None, or lists of these as "
            f"arguments, got {shown_kind(value)} for {name!r}.{hint}"
        )

    def opened(self) -> None:
        """Rules have left sizes to the data: calls at once do without them."""
        self.definition.is_open = True
        self.changed()

    def changed(self) -> None:
        """Rules of the definition have changed."""
        self._ways.clear()
        _metas.cache_clear()
        self.definition.changed()


def _place_of(tensors: Sequence[Tensor]) -> Place:
    return tensors[0].place if tensors else current().place


# --- at once ---------------------------------------------------------------------------------------------------------


def _through_function(definition: Definition, op: CustomOp, args: tuple, tensors: tuple, numbers: tuple) -> Any:
    """Without a rule, gradients flow through the operations of the function: it is called as it is."""
    ctx = current()
    level, dtype, lists = ctx.amp()
    ctx.set_amp(0, dtype, 0)  # as in calls that are not recorded
    try:
        result = definition.body(_place_of(tensors))(*args)
    finally:
        ctx.set_amp(level, dtype, lists)
    outputs, wanted = listed(result), _metas(op, tuple(Meta(tuple(x.shape), x.dtype) for x in tensors), numbers)
    for i, m in enumerate(wanted):
        if len(outputs) != len(wanted) or not isinstance(outputs[i], Tensor):
            op.fail(rules.OtherResults, f"{len(wanted)} tensors, as register_fake says", shown_kind(outputs))
        if tuple(outputs[i].shape) != tuple(m.shape) or outputs[i].dtype is not m.dtype:
            op.fail(
                rules.OtherResults, f"result {i} to be {m.dtype.name} of shape {list(m.shape)}, as register_fake says",
                f"{outputs[i].dtype.name} of shape {list(outputs[i].shape)} from its function",
            )  # fmt: skip
    return op.packed_up(outputs)


@functools.lru_cache(4096)
def _metas(op: CustomOp, metas: tuple, numbers: tuple) -> tuple:
    return op.infer(*metas, *numbers)


class _Backward(BackwardCall):
    """The gradient function of one call. It keeps sizes, not tensors: those would tie results to themselves."""

    __slots__ = ()
    traceable = True  # see Capture.python_node
    dtypes: ClassVar[tuple]  # of the operands

    def __call__(self, *grads: Any) -> list[Any]:
        if self.metas is not None:
            full: list[Any] = [None] * len(self.metas)
            assert self.tracked is not None
            for i, g in zip(self.tracked, grads):
                full[i] = g
            if self.ctx.materialize_grads:
                full = [_zeros(m) if g is None else g for g, m in zip(full, self.metas, strict=True)]
            grads = full  # type: ignore[assignment]
        gradients = rules.pulled(self.definition, self.form, self.ctx, grads, self.packing)
        gradients = rules.of_dtypes(gradients, self.dtypes)
        if current().grad_enabled and not is_tracing():
            return _differentiable(self.definition, self.ctx, grads, gradients)
        return gradients


_DTYPE = operator.attrgetter("dtype")


@functools.lru_cache(256)
def _backward_of(dtypes: tuple) -> type[_Backward]:
    """The class of gradient functions of calls with operands of these dtypes."""
    return type("_Backward", (_Backward,), {"__slots__": (), "dtypes": dtypes})


def _differentiable(definition: Definition, ctx: Any, grads: Sequence[Any], gradients: list[Any]) -> list[Any]:
    """The gradients, recorded, where those without a history refuse to be differentiated if they are no constants."""
    constants = [i for i, g in enumerate(gradients) if g is not None and g.stop_gradient and g.dtype.is_continuous]
    if not constants:
        return gradients
    read = {id(x): x for x in (*grads, *_kept(ctx), *vars(ctx).values()) if isinstance(x, Tensor)}
    sources = [x for x in read.values() if not x.stop_gradient and x.dtype.is_continuous]
    if not sources:
        return gradients
    for i in constants:
        gradients[i] = gradients[i].detach()
    python_nodes.python_node(
        definition.name, sources, [gradients[i] for i in constants], _Constants(definition, ctx, grads, len(sources))
    )
    return gradients


def _kept(ctx: Any) -> list[Any]:
    """Tensors that were saved, but those that were modified since: ``backward`` has not asked for these."""
    tensors = []
    for x in ctx.kept:
        with suppress(RuntimeError):
            tensors.append(x if x is None or isinstance(x, Tensor) else x.get())
    return tensors


class _Constants:
    """The gradient function of gradients that ``backward`` has computed without a history."""

    __slots__ = ("ctx", "definition", "grads", "sources")

    def __init__(self, definition: Definition, ctx: Any, grads: Sequence[Any], sources: int) -> None:
        self.definition, self.ctx, self.grads, self.sources = definition, ctx, grads, sources

    def __call__(self, *given: Any) -> list[Any]:
        if not rules.gives_constants(self.definition, self.ctx, _kept(self.ctx), self.grads):
            rules.refuse_constants(self.definition.name, [g for g in given if g is not None])
        return [None] * self.sources


class _Like:
    """Sizes, dtype and place of a result."""

    __slots__ = ("dtype", "place", "shape")

    def __init__(self, x: Tensor) -> None:
        self.shape, self.dtype, self.place = tuple(x.shape), x.dtype, x.place


def _zeros(like: Any) -> Any:
    if not like.dtype.is_continuous:
        return None
    with place_guard(like.place):
        return zeros(like)


# --- functions whose results nobody knows before ---------------------------------------------------------------------


def _inlined(definition: Definition, args: tuple, parts: Parts) -> Any:
    """The function, called where the operator is: its operations are those of the program that is traced."""
    body = definition.body(_place_of(parts.tensors))
    try:
        if definition.backward is None:
            return body(*args)
        with no_grad_guard():
            result = body(*args)
    except DataUnknown as error:
        raise DataUnknown(
            f"[{definition.name}] requires register_fake to be a call in a program, as its function reads data: {error}"
        ) from error
    if not current().grad_enabled or all(x.stop_gradient for x in parts.tensors):
        return result
    outputs = listed(result)
    for i, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise TypeError(f"[{definition.name}] requires tensors as results, got {type(y).__name__}")
        if any(y is x for x in parts.tensors):
            outputs[i] = y.clone().detach()
        elif not y.is_leaf or y._base is not None or not y.stop_gradient:
            outputs[i] = y.detach()
    packing = type(None) if result is None else Tensor if isinstance(result, Tensor) else type(result)
    return attach(
        definition,
        parts.form,
        args,
        parts.tensors,
        outputs,
        packing,
        _Like,
        _backward_of(tuple(map(_DTYPE, parts.tensors))),
    )


# --- in programs -----------------------------------------------------------------------------------------------------


def _recorded(definition: Definition, args: tuple, form: tuple, tensors: tuple, numbers: tuple) -> Any:
    """A call of the program that is traced."""
    op = definition.op(form, NODE)
    if len(op.written) > 1 and len({id(tensors[i]) for i in op.written}) < len(op.written):
        raise DataUnknown(f"[{definition.name}] requires different tensors to write to, got one twice, in a program")
    flows = definition.backward is not None or not current().grad_enabled or all(x.stop_gradient for x in tensors)
    if not flows and not _is_traceable(op, tensors, numbers):
        op = definition.op(form, CONSTANT)
    try:
        op, results = _applied(op, tensors, numbers)
    except (SizesOpen, NumberUnknown):
        tracer = capture_of()
        if tracer is None or not tracer.one_program:
            raise
        metas = [Meta(tuple(x.shape), x.dtype) for x in tensors]
        axes = definition.op(form, OPEN).open_axes(metas, *numbers)
        if not axes:
            raise
        # Its sizes are numbers of the program from there on.
        op = definition.op(form, OPEN, axes)
        sizes = tuple(tracer.scope.number() for own in axes for _ in own)
        numbers = (*numbers[0], *sizes), numbers[1]
        op, results = _applied(op, tensors, numbers)
    changed = results[len(results) - len(op.written) :] if op.written else ()
    for i, y in zip(op.written, changed, strict=True):
        assign(tensors[i], y)
    return op.packed_up(results)


def _applied(op: CustomOp, tensors: tuple, numbers: tuple) -> tuple[CustomOp, Any]:
    try:
        return op, apply(op, tensors, numbers)
    except OtherClass as error:
        op = op.with_results(error)
        return op, apply(op, tensors, numbers)


def _is_traceable(op: CustomOp, tensors: tuple, numbers: tuple) -> bool:
    metas = tuple(Meta(tuple(x.shape), x.dtype) for x in tensors)
    place = _place_of(tensors)
    known = place, *((m.dtype, m.ndim) for m in metas)
    if known not in op.traceable:
        op.traceable[known] = rules.traceable(op, metas, numbers[0], numbers[1], place)
    return op.traceable[known]
