"""Images with channels last, from one convolution of a program to the next.

A value of shape ``[n, c, *spatial]`` that a convolution makes is kept as ``[n, *spatial, c]``, dense, and so is what is
computed from it element by element: libraries convolve such images as they lie, sums over all but the channels run
along contiguous rows, and a vector with an element per channel needs no dims behind it. What asks for channels first
gets a permuted view. Weights and their gradients stay as they are, and so do the inputs and outputs of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from umiak import ops as F
from umiak.compiler.epilogue import FusedEpilogue
from umiak.compiler.strips import StripConv
from umiak.core import eager
from umiak.ir import sym as dim
from umiak.ir.meta import Meta, identical
from umiak.ir.program import Operation, Value
from umiak.ir.tracer import Retrace, SymTensor, Tracer
from umiak.ops import convolution, create, index, movement, reduce
from umiak.ops.base import Op, register

FEWEST = 2  # convolutions of a program that is worth it: what one alone saves its surroundings lose

VECTORS = (movement.Unsqueeze, movement.Reshape)  # which give a vector dims of size 1

Prefers = Callable[[Op, Sequence[Any]], bool]


def to_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> tuple[int, ...]:
    return (0, rank - 1, *range(1, rank - 1))


def _last(shape: Sequence[Any]) -> tuple:
    return tuple(shape[a] for a in to_last(len(shape)))


def _first(shape: Sequence[Any]) -> tuple:
    return tuple(shape[a] for a in to_first(len(shape)))


@register
class ChannelsLast(Op):
    """``inner``, a convolution or one of its gradients, perhaps with what follows it, on images with channels last:
    the operands marked in ``images``, and the result if ``image``."""

    inputs = ("*xs",)
    inner: Any
    images: Any
    image: Any
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        self._bind(len(self.images), tuple(p.kind for p in self.inner.param_fields.values()))
        # A call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def infer(self, *args: Any) -> Any:
        n = len(self.images)
        metas = [Meta(_first(m.shape), m.dtype) if image else m for m, image in zip(args[:n], self.images, strict=True)]
        out = self.inner.infer(*metas, *args[n:])
        return Meta(_last(out.shape), out.dtype) if self.image else out

    def decompose(self, *args: Any) -> Any:
        n = len(self.images)
        xs = tuple(
            F.permute(x, perm=to_first(x.ndim)) if image else x for x, image in zip(args[:n], self.images, strict=True)
        )
        y = eager.apply(self.inner, xs, args[n:])
        return F.permute(y, perm=to_last(y.ndim)) if self.image else y


@register
class Relayout(Op):
    """``x`` with its dims in the order ``perm``, dense. It shares no kernel with what reads it, which would otherwise
    read the permuted one again and again."""

    inputs = ("x",)
    packed = True
    perm: tuple
    vjp = None

    def infer(self, x: Any) -> Any:
        return Meta(tuple(x.shape[a] for a in self.perm), x.dtype)

    def decompose(self, x: Any) -> Any:
        return F.copy(F.permute(x, perm=self.perm))


def channels_last_op(op: Op) -> ChannelsLast | None:
    """The op for images with channels last, of a convolution or a gradient of one."""
    inner = op.inner if type(op) is FusedEpilogue else op
    if type(inner) in (convolution.Conv, StripConv):
        # A residual is an image too.
        extras = [step == "add" for step in op.steps if step in ("add", "bias")] if type(op) is FusedEpilogue else []
        return ChannelsLast(inner=op, images=(True, False, *extras), image=True)
    if type(inner) is convolution.ConvInputGrad:
        return ChannelsLast(inner=op, images=(True, False), image=True)
    if type(inner) is convolution.ConvWeightGrad:
        return ChannelsLast(inner=op, images=(True, True), image=False)
    return None


def prefers_channels_last(operations: Sequence[Operation], prefers: Prefers) -> bool:
    """Return whether there are enough convolutions that had better have channels last."""
    count = 0
    for o in operations:
        if channels_last_op(o.op) is not None and prefers(o.op, [x.meta for x in o.operands]):  # type: ignore[union-attr]
            count += 1
    return count >= FEWEST


class Layouts(Retrace):
    """Records the operations of a program again. ``table``: by identity values as they were, channels first."""

    def __init__(self, tracer: Tracer, prefers: Prefers) -> None:
        super().__init__(tracer)
        self.prefers = prefers
        # By id of the value: with channels last; a view of the one as the other, where there is only one.
        self.last: dict[int, SymTensor] = {}
        self.views: dict[int, SymTensor] = {}

    def result(self, v: Value) -> SymTensor:
        """A value as the program returns it: dense, as it was."""
        if id(v) in self.table:
            return self.table[id(v)]
        x = self.last[id(v)]
        return self.tracer.record(Relayout(perm=to_first(x.ndim)), [x], ())

    def current(self, x: Any) -> Any:
        return self.as_first(x) if type(x) is Value else x

    def as_first(self, v: Value) -> SymTensor:
        if id(v) in self.table:
            return self.table[id(v)]
        if id(v) not in self.views:
            x = self.last[id(v)]
            self.views[id(v)] = F.permute(x, perm=to_first(x.ndim))
        return self.views[id(v)]

    def as_last(self, v: Value, dense: bool) -> SymTensor:
        """An image with channels last; perhaps a view."""
        if id(v) in self.last:
            return self.last[id(v)]
        x = self.table[id(v)]
        if dense:
            self.last[id(v)] = self.tracer.record(Relayout(perm=to_last(x.ndim)), [x], ())
            return self.last[id(v)]
        if id(v) not in self.views:
            self.views[id(v)] = F.permute(x, perm=to_last(x.ndim))
        return self.views[id(v)]

    def visit(self, o: Operation) -> None:
        replacement = self.spread(o) or self.convolved(o) or self.pointwise(o) or self.reduced(o) or self.along(o)
        if replacement is None:
            super().visit(o)
        else:
            where, y = replacement
            where[id(o.results[0])] = y

    def convolved(self, o: Operation) -> tuple[dict, SymTensor] | None:
        op = channels_last_op(o.op)
        if op is None or not self.prefers(o.op, [x.meta for x in o.operands]):  # type: ignore[union-attr]
            return None
        operands = [
            # The residual of an epilogue lies as the result does.
            self.as_last(x, dense=i > 1) if image else self.as_first(x)  # type: ignore[arg-type]
            for i, (x, image) in enumerate(zip(o.operands, op.images, strict=True))
        ]
        return self.last if op.image else self.table, self.tracer.record(op, operands, o.params)

    def spread(self, o: Operation) -> tuple[dict, SymTensor] | None:
        """A transposed convolution whose kernels lie side by side in the result, which is a matmul: the rows of an
        image by the kernels of each row of the result."""
        if type(o.op) is not convolution.ConvInputGrad or not self.prefers(o.op, [x.meta for x in o.values]):
            return None
        g, w = o.values
        groups, strides, pads_lo, pads_hi, dilations, sizes = o.params
        _, channels, *kernel = w.meta.shape
        if any(type(n) is not int for n in (groups, *strides, *kernel, *pads_lo, *pads_hi)) or groups != 1:
            return None
        if tuple(strides) != tuple(kernel) or max(kernel) == 1 or any((*pads_lo, *pads_hi)):
            return None
        if not all(dim.same(n * s, size) for n, s, size in zip(g.meta.shape[2:], strides, sizes, strict=True)):
            return None
        images, nd = self.as_last(g, dense=True), o.op.nd
        n, *places, c = images.shape
        # [n, h, 1, w, c] by [kh, c, kw * o] is [n, h, kh, w, kw * o].
        apart = [size for p in places[:-1] for size in (p, 1)]
        rows = F.reshape(images, shape=(n, *apart, places[-1], c))
        outer = [size for k in kernel[:-1] for size in (k, 1)][:-1] if nd > 1 else []
        kernels = F.permute(self.as_first(w), perm=(*range(2, nd + 1), 0, nd + 1, 1))
        # Copied by a kernel: a reshape that copies is no launch, without which the program is no list of them.
        kernels = F.reshape(F.copy(kernels), shape=(*outer, c, kernel[-1] * channels))
        y = F.matmul(rows, kernels, transpose_x=False, transpose_y=False)
        return self.last, F.reshape(y, shape=(n, *sizes, channels))

    def pointwise(self, o: Operation) -> tuple[dict, SymTensor] | None:
        """Element by element, with an image of the result's shape that has channels last already."""
        if not o.op.elementwise or o.op.random or o.op.effect or len(o.results) != 1:
            return None
        shape = tuple(o.results[0].meta.shape)
        if not any(id(v) in self.last and identical(v.meta.shape, shape) for v in o.values):
            return None
        operands = [self.beside(x, len(shape)) if type(x) is Value else x for x in o.operands]
        return self.last, self.tracer.record(o.op, operands, o.params)

    def beside(self, v: Value, rank: int) -> SymTensor:
        """An operand that broadcasts against images of ``rank`` with channels last."""
        shape = tuple(v.meta.shape)
        if not shape:
            return self.as_first(v)
        if id(v) in self.last and len(shape) == rank:
            return self.last[id(v)]
        lead = (1,) * (rank - len(shape)) + shape
        maker = v.operation
        source = None if maker is None else next(iter(maker.values), None)
        if maker is not None:
            # What has no elements of its own is made anew, and a vector is taken from behind its dims of size 1.
            if type(maker.op) is create.Full and len(shape) == rank and source is None:
                return self.tracer.record(maker.op, maker.operands, (_last(shape),))
            if source is not None and type(maker.op) is movement.BroadcastTo and len(source.meta.shape) == rank:
                return F.broadcast_to(self.beside(source, rank), shape=_last(shape))
            if source is not None and type(maker.op) in VECTORS and _is_vector(source, lead):
                return self.as_first(source)
        if len(shape) == rank and not all(type(n) is int and n == 1 for n in lead[2:]):
            return self.as_last(v, dense=True)
        x = self.as_first(v)
        if len(shape) < rank:
            x = F.reshape(x, shape=lead)
        return F.permute(x, perm=to_last(rank))

    def reduced(self, o: Operation) -> tuple[dict, SymTensor] | None:
        if not isinstance(o.op, reduce.Reduction) or len(o.results) != 1 or id(o.operands[0]) not in self.last:
            return None
        x = self.last[id(o.operands[0])]
        axes = {to_first(x.ndim)[a] for a in o.op.axes}
        kept = [a for a in to_last(x.ndim) if a not in o.op.axes]
        if not o.op.keepdim and kept != sorted(kept):
            return None
        attributes = {k: getattr(o.op, k) for k in o.op.static_fields}
        op = type(o.op)(**{**attributes, "axes": tuple(sorted(axes))})
        return self.last if o.op.keepdim else self.table, self.tracer.record(op, [x], o.params)

    def along(self, o: Operation) -> tuple[dict, SymTensor] | None:
        """Images joined along an axis, or some places of one along it."""
        if type(o.op) is movement.Concat:
            images: Sequence[Value] = o.values
            others: Sequence[Value] = ()
        elif type(o.op) is index.Take and len(o.values[1].meta.shape) == 1:
            images, others = o.values[:1], o.values[1:]
        else:
            return None
        # Those that have channels first would be transposed for it.
        if 2 * sum(id(v) in self.last for v in images) <= len(images):
            return None
        attributes = {k: getattr(o.op, k) for k in o.op.static_fields}
        op = type(o.op)(**{**attributes, "axis": to_first(len(images[0].meta.shape))[o.op.axis]})
        operands = [*(self.as_last(v, dense=True) for v in images), *map(self.as_first, others)]
        return self.last, self.tracer.record(op, operands, o.params)


def _is_vector(x: Value, shape: tuple) -> bool:
    """Return whether ``shape`` is a vector along the channels and ``x`` is that vector."""
    ones = all(type(n) is int and n == 1 for n in (*shape[:1], *shape[2:]))
    return ones and len(x.meta.shape) == 1 and identical(x.meta.shape, shape[1:2])
