"""Ops that move elements without computing: views, and copies where no view can serve.

Sizes, starts, steps and pads are params; axes and modes are static. Axes are non-negative and starts lie inside the
tensor: the public API has normalised both. A view's rule for memory is ``strides``; its derivative writes through the
same rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta, Strided
from umiak.ops._common import (
    back,
    check_axes,
    draw,
    factor_names,
    is_tensor,
    same_dtype,
    same_shape,
    shard_except,
    shard_string,
    sizes,
    with_local_shape,
    zeros,
)
from umiak.ops.base import Op, Sample, param, register


def contiguous_strides(shape: tuple) -> tuple:
    """Strides, in elements, of a dense row-major tensor."""
    out: list[Any] = []
    step: Any = 1
    for n in reversed(shape):
        out.append(step)
        step = step * n
    return tuple(reversed(out))


def unflatten_params(view: Op, args: tuple) -> tuple:
    """The params of a view from one flat tuple. Every ``ints`` param of one view has the same length."""
    kinds = [p.kind for p in view.param_fields.values()]
    lists = kinds.count("ints")
    each = (len(args) - kinds.count("int")) // lists if lists else 0
    out, i = [], 0
    for kind in kinds:
        n = each if kind == "ints" else 1
        out.append(tuple(args[i : i + n]) if kind == "ints" else args[i])
        i += n
    return tuple(out)


def flatten_params(params: tuple) -> tuple:
    """Inverse of :func:`unflatten_params`."""
    out: list[Any] = []
    for p in params:
        out.extend(p) if isinstance(p, (tuple, list)) else out.append(p)
    return tuple(out)


def require(op: Op, condition: Any, required: str, got: Any, kind: type[Exception] = ValueError) -> None:
    """Refuse what does not meet a condition on sizes and params; without hints the running program checks it."""
    if not dim.settle(condition, f"[{op.name}] requires {required}"):
        op.fail(kind, required, got)


def region_of(x: Any, view: Op, args: tuple) -> Any:
    """A view op applied to ``x``, with its params from one flat tuple."""
    return view(x, *unflatten_params(view, args))


# --- views ---------------------------------------------------------------------------------------------------------


class View(Op):
    """Results share memory with ``x``. ``injective``: no element of ``x`` is seen twice."""

    view = True
    packed = True
    linear: ClassVar[bool | tuple] = True
    monotone: ClassVar[bool | tuple] = True
    injective: ClassVar[bool] = True

    def vjp(self, s, g):
        args = flatten_params(tuple(s.params))
        return (F.scatter_view(zeros(s.inputs[0]), g, region=self, accumulate=not self.injective, args=args),)


@register
class BroadcastTo(View):
    """``x`` repeated along its dims of size 1, and along new leading dims, to ``shape``."""

    shape: tuple = param("ints")
    injective = False

    def infer(self, x, shape):
        if len(shape) < len(x.shape):
            self.fail(ValueError, f"a shape of rank {len(x.shape)} or more", shape)
        for m, n in zip(x.shape, shape[len(shape) - len(x.shape) :], strict=True):
            require(
                self,
                ((m == 1) | (m == n)) & (n >= 0),
                f"dims of {tuple(x.shape)} to be 1 or those of the target",
                tuple(shape),
            )
        return Meta(tuple(shape), x.dtype)

    def strides(self, x, shape):
        lead = len(shape) - len(x.shape)
        # A dim of size 1 is walked with stride 0, whatever its target; one that is not repeated, as it was: what lay
        # densely is known to, and views of it are views.
        kept = tuple(
            t if dim.same(n, m) else t * dim.maximum(0, dim.minimum(n - 1, 1))
            for n, m, t in zip(x.shape, shape[lead:], x.strides, strict=True)
        )
        return Strided(tuple(shape), (0,) * lead + kept, x.offset)

    def vjp(self, s, g):
        return (back(g, s.inputs[0]),)

    def shard(self, x, shape):
        names = factor_names(len(shape))
        own = [
            "1" if isinstance(n, int) and n == 1 else f
            for n, f in zip(x.shape, names[len(shape) - len(x.shape) :], strict=True)
        ]
        return shard_string([own], [names])

    on_shard = with_local_shape

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 1)),), params={"shape": (2, 3, 4)})
        yield Sample((draw(rng, ()),), params={"shape": (2, 2)}, note="0-d")
        yield Sample((draw(rng, (1, 0)),), params={"shape": (3, 0)}, note="0-size")
        yield Sample((draw(rng, (1,), dt.complex128),), params={"shape": (3,)})
        yield Sample((draw(rng, (1, 3), dt.int64, 0, 8),), params={"shape": (2, 3)})


@register
class Reshape(View):
    """The elements of ``x``, in row-major order, under another shape. All sizes are resolved: no -1."""

    entire = True
    shape: tuple = param("ints")

    def infer(self, x, shape):
        same = dim.product(x.shape) == dim.product(shape)
        require(self, same, f"a shape with as many elements as {tuple(x.shape)}", tuple(shape))
        return Meta(tuple(shape), x.dtype)

    def strides(self, x, shape):
        if x.contiguous:
            return Strided(tuple(shape), contiguous_strides(tuple(shape)), x.offset)
        if any(not isinstance(n, int) for n in (*shape, *x.shape, *x.strides)):
            return None
        regrouped = _regroup(tuple(x.shape), tuple(x.strides), tuple(shape))
        return None if regrouped is None else Strided(tuple(shape), regrouped, x.offset)

    def vjp(self, s, g):
        return (F.reshape(g, shape=sizes(s.inputs[0])),)

    def shard(self, x, shape):
        """Dims are matched in groups of equal product, from the left; the leading dims of a group have one factor where
        one's size is a multiple of the other's, so that parts of both hold the same elements.
        """
        own, new = factor_names(len(x.shape)), ["1"] * len(shape)
        for i, j in _leading(tuple(x.shape), tuple(shape)):
            new[j] = own[i]
        return shard_string([own], [new], **{f: "replicated" for f in own if f not in new})

    on_shard = with_local_shape

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 6)),), params={"shape": (3, 4)})
        yield Sample((draw(rng, (2, 3)).T,), params={"shape": (6,)}, note="strided")
        yield Sample((draw(rng, (4, 3))[::2],), params={"shape": (2, 1, 3)}, note="strided, still a view")
        yield Sample((draw(rng, ()),), params={"shape": (1, 1)}, note="0-d")
        yield Sample((draw(rng, (1,)),), params={"shape": ()}, note="to 0-d")
        yield Sample((draw(rng, (0, 3)),), params={"shape": (2, 0, 5)}, note="0-size")
        yield Sample((draw(rng, (2, 2), dt.bool),), params={"shape": (4,)})


def _leading(old: tuple, new: tuple) -> Iterator[tuple[int, int]]:
    """The dims that lead groups of equal product and of which one's size divides the other's, in pairs."""
    i, p, q = 0, len(old), len(new)
    while i < min(p, q) and dim.same(old[i], new[i]):
        yield i, i
        i += 1
    tail = []
    while min(p, q) > i and dim.same(old[p - 1], new[q - 1]):
        p, q = p - 1, q - 1
        tail.append((p, q))
    j = i
    while i < p and j < q:
        m, n = old[i], new[j]
        if dim.same(dim.maximum(m, n) % dim.maximum(dim.minimum(m, n), 1), 0):
            yield i, j
        if not all(isinstance(v, int) for v in (*old[i:p], *new[j:q])):
            break
        i, j = i + 1, j + 1
        while m != n and (i < p or j < q):
            if (m < n and i < p) or j == q:
                m, i = m * old[i], i + 1
            else:
                n, j = n * new[j], j + 1
    yield from tail


def _regroup(shape: tuple, strides: tuple, target: tuple) -> tuple | None:
    """Strides under which strided memory reads as ``target``, or None where only a copy can.

    Dims are matched in groups of equal product, from the left; inside a group the source must be dense.
    """
    if 0 in shape:
        return contiguous_strides(target)
    old = [(n, t) for n, t in zip(shape, strides, strict=True) if n != 1]
    out: list[int] = []
    i = j = 0
    while i < len(old):
        n, first, m, start = old[i][0], i, 1, j
        i += 1
        while m != n:
            if m < n:
                m *= target[j]
                j += 1
            else:
                n *= old[i][0]
                i += 1
        if any(old[k][1] != old[k + 1][0] * old[k + 1][1] for k in range(first, i - 1)):
            return None
        step, group = old[i - 1][1], []
        for size in reversed(target[start:j]):
            group.append(step)
            step *= size
        out.extend(reversed(group))
    return tuple(out) + (1,) * (len(target) - j)


@register
class OptimizationBarrier(View):
    """``x`` itself, which passes do not see through: what reads it is not merged or fused with what made ``x``.

    It comes after ``after``, of which nothing is read.
    """

    entire = True
    inputs = ("x", "after?")
    linear = monotone = ("x",)

    def infer(self, x, after=None):
        return Meta(tuple(x.shape), x.dtype)

    def strides(self, x):
        return Strided(tuple(x.shape), tuple(x.strides), x.offset)

    def vjp(self, s, g):
        return (g, None)

    def shard(self, x, after=None):
        names = factor_names(len(x.shape))
        return shard_string([names, ["1"] * len(after.shape) if after is not None else []], [names])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), None))
        yield Sample((draw(rng, (2, 3)), draw(rng, (4,))), differentiable=(0,))
        yield Sample((draw(rng, ()), None), note="0-d")
        yield Sample((draw(rng, (0, 3)), None), note="0-size")
        yield Sample((draw(rng, (3,), dt.int64, 0, 8), None))


@register
class Overwritten(Op):
    """``value``, written over ``x`` without being recorded: the gradient is that of ``x``, as if it was not written."""

    packed = True
    inputs = ("x", "value")
    amp = "keep"

    def infer(self, x, value):
        same_shape(self, x.shape, value.shape)
        return Meta(tuple(x.shape), same_dtype(self, x, value))

    def decompose(self, x, value):
        return value

    def vjp(self, s, g):
        return (g, None)

    def shard(self, x, value):
        names = factor_names(len(x.shape))
        return shard_string([names, names], [names])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        # By differences, nothing depends on x and everything on value.
        yield Sample((draw(rng, (2, 3)), draw(rng, (2, 3))), differentiable=())
        yield Sample((draw(rng, (0, 3)), draw(rng, (0, 3))), differentiable=(), note="0-size")


@register
class Permute(View):
    """``x`` with its dims in the order ``perm``."""

    perm: tuple

    def infer(self, x):
        if sorted(self.perm) != list(range(len(x.shape))):
            self.fail(ValueError, f"a permutation of 0 to {len(x.shape) - 1}", self.perm)
        return Meta(tuple(x.shape[p] for p in self.perm), x.dtype)

    def strides(self, x):
        return Strided(tuple(x.shape[p] for p in self.perm), tuple(x.strides[p] for p in self.perm), x.offset)

    def vjp(self, s, g):
        return (F.permute(g, perm=tuple(self.perm.index(i) for i in range(len(self.perm)))),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [[names[p] for p in self.perm]])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"perm": (1, 0)})
        yield Sample((draw(rng, (2, 3, 4)),), {"perm": (2, 0, 1)})
        yield Sample((draw(rng, ()),), {"perm": ()}, note="0-d")
        yield Sample((draw(rng, (0, 3)),), {"perm": (1, 0)}, note="0-size")
        yield Sample((draw(rng, (2, 3), dt.complex128),), {"perm": (1, 0)})


@register
class Slice(View):
    """Along each of ``axes``: ``sizes`` elements from ``starts`` in strides of ``steps``, which may be negative."""

    axes: tuple
    starts: tuple = param("ints")
    sizes: tuple = param("ints")
    steps: tuple = param("ints")

    def infer(self, x, starts, sizes, steps):
        check_axes(self, self.axes, len(x.shape))
        if not len(self.axes) == len(starts) == len(sizes) == len(steps):
            self.fail(ValueError, f"one start, size and step for each axis of {self.axes}", (starts, sizes, steps))
        shape = list(x.shape)
        for a, start, size, step in zip(self.axes, starts, sizes, steps, strict=True):
            n, last = x.shape[a], start + (size - 1) * step
            inside = (0 <= start) & (start < n) & (0 <= last) & (last < n)
            got = f"start {start}, size {size}, step {step}"
            require(self, (size == 0) | ((size > 0) & inside), f"a slice inside dim {a} of size {n}", got, IndexError)
            shape[a] = size
        return Meta(tuple(shape), x.dtype)

    def strides(self, x, starts, sizes, steps):
        shape, strides, offset = list(x.shape), list(x.strides), x.offset
        for a, start, size, step in zip(self.axes, starts, sizes, steps, strict=True):
            # An empty slice keeps the offset, so that no address outside the storage is ever formed.
            offset = offset + start * strides[a] * dim.minimum(size, 1)
            strides[a] = strides[a] * step
            shape[a] = size
        return Strided(tuple(shape), tuple(strides), offset)

    def shard(self, x, starts, sizes, steps):
        return shard_except(x, self.axes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(x, axes, starts, sizes, steps, note=""):
            return Sample((x,), {"axes": axes}, {"starts": starts, "sizes": sizes, "steps": steps}, note=note)

        yield case(draw(rng, (4, 5)), (0,), (1,), (2,), (1,))
        yield case(draw(rng, (4, 5)), (1, 0), (4, 0), (3, 2), (-2, 2), "negative step")
        yield case(draw(rng, (4,)), (0,), (2,), (0,), (1,), "empty")
        yield case(draw(rng, (0, 2)), (0, 1), (0, 1), (0, 1), (1, 1), "0-size")
        yield case(draw(rng, (3,)), (), (), (), (), "no axis")
        yield case(draw(rng, (3, 2), dt.complex128), (0,), (2,), (3,), (-1,))
        yield case(draw(rng, (5,), dt.int64, 0, 8), (0,), (0,), (3,), (2,))


@register
class Squeeze(View):
    """``x`` without the dims ``axes``, each of size 1."""

    entire = True
    axes: tuple

    def infer(self, x):
        check_axes(self, self.axes, len(x.shape))
        for a in self.axes:
            require(self, x.shape[a] == 1, f"size 1 on dim {a}", tuple(x.shape))
        return Meta(tuple(n for i, n in enumerate(x.shape) if i not in self.axes), x.dtype)

    def strides(self, x):
        keep = [i for i in range(len(x.shape)) if i not in self.axes]
        return Strided(tuple(x.shape[i] for i in keep), tuple(x.strides[i] for i in keep), x.offset)

    def vjp(self, s, g):
        return (F.unsqueeze(g, axes=tuple(sorted(self.axes))),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        own = ["1" if i in self.axes else f for i, f in enumerate(names)]
        return shard_string([own], [[f for i, f in enumerate(names) if i not in self.axes]])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (1, 3, 1)),), {"axes": (0, 2)})
        yield Sample((draw(rng, (1,)),), {"axes": (0,)}, note="to 0-d")
        yield Sample((draw(rng, (0, 1)),), {"axes": (1,)}, note="0-size")
        yield Sample((draw(rng, (1, 2), dt.int64, 0, 8),), {"axes": (0,)})


@register
class Unsqueeze(View):
    """``x`` with dims of size 1 inserted, so that they stand at ``axes`` of the result."""

    entire = True
    axes: tuple

    def infer(self, x):
        check_axes(self, self.axes, len(x.shape) + len(self.axes))
        return Meta(_insert(x.shape, self.axes, 1), x.dtype)

    def strides(self, x):
        shape, strides = _insert(x.shape, self.axes, 1), list(_insert(x.strides, self.axes, 1))
        for a in sorted(self.axes, reverse=True):  # the stride a dense tensor would have there
            strides[a] = strides[a + 1] * shape[a + 1] if a + 1 < len(shape) else 1
        return Strided(shape, tuple(strides), x.offset)

    def vjp(self, s, g):
        return (F.squeeze(g, axes=self.axes),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [_insert(names, self.axes, "1")])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axes": (0, 3)})
        yield Sample((draw(rng, ()),), {"axes": (0,)}, note="0-d")
        yield Sample((draw(rng, (0,)),), {"axes": (1,)}, note="0-size")
        yield Sample((draw(rng, (2,), dt.int64, 0, 8),), {"axes": (0, 2)})


def _insert(items: Any, axes: tuple, value: Any) -> tuple:
    rest = iter(items)
    return tuple(value if i in axes else next(rest) for i in range(len(items) + len(axes)))


@register
class Diagonal(View):
    """The diagonal of dims ``axis1`` (rows) and ``axis2`` (columns), ``offset`` above the main one, as the last dim."""

    axis1: int
    axis2: int
    offset: int = param("int", 0)

    def _size(self, x, offset):
        rows = x.shape[self.axis1] + dim.minimum(offset, 0)
        columns = x.shape[self.axis2] - dim.maximum(offset, 0)
        return dim.maximum(0, dim.minimum(rows, columns))

    def _rest(self, items):
        return tuple(n for i, n in enumerate(items) if i not in (self.axis1, self.axis2))

    def infer(self, x, offset):
        check_axes(self, (self.axis1, self.axis2), len(x.shape))
        return Meta((*self._rest(x.shape), self._size(x, offset)), x.dtype)

    def strides(self, x, offset):
        s1, s2, size = x.strides[self.axis1], x.strides[self.axis2], self._size(x, offset)
        start = dim.maximum(offset, 0) * s2 - dim.minimum(offset, 0) * s1
        return Strided(
            (*self._rest(x.shape), size), (*self._rest(x.strides), s1 + s2), x.offset + start * dim.minimum(size, 1)
        )

    def shard(self, x, offset):
        names = factor_names(len(x.shape))
        replicated = (names[self.axis1], names[self.axis2])
        return shard_string([names], [(*self._rest(names), "1")], **dict.fromkeys(replicated, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)),), {"axis1": 0, "axis2": 1})
        yield Sample((draw(rng, (3, 2, 4)),), {"axis1": 2, "axis2": 0}, {"offset": -1})
        yield Sample((draw(rng, (2, 3)),), {"axis1": 0, "axis2": 1}, {"offset": 5}, note="outside")
        yield Sample((draw(rng, (0, 3)),), {"axis1": 0, "axis2": 1}, note="0-size")
        yield Sample((draw(rng, (2, 2), dt.complex128),), {"axis1": 0, "axis2": 1}, {"offset": 1})


@register
class Unfold(View):
    """Windows of ``size`` elements every ``step`` along ``axis``: that dim counts windows, a new last dim runs inside
    one.
    """

    axis: int
    size: int = param("int")
    step: int = param("int", 1)
    injective = False

    def infer(self, x, size, step):
        check_axes(self, (self.axis,), len(x.shape))
        n = x.shape[self.axis]
        require(self, (0 <= size) & (size <= n), f"a window of at most {n} elements", size)
        require(self, 1 <= step, "a step of at least 1", step)
        shape = list(x.shape)
        shape[self.axis] = (n - size) // step + 1
        return Meta((*shape, size), x.dtype)

    def strides(self, x, size, step):
        shape, strides = list(x.shape), list(x.strides)
        inner = strides[self.axis]
        shape[self.axis] = (shape[self.axis] - size) // step + 1
        strides[self.axis] = inner * step
        return Strided((*shape, size), (*strides, inner), x.offset)

    def shard(self, x, size, step):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names], [[*out, "1"]], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 5)),), {"axis": 1}, {"size": 3, "step": 1}, note="overlapping")
        yield Sample((draw(rng, (5, 2)),), {"axis": 0}, {"size": 2, "step": 2})
        yield Sample((draw(rng, (3,)),), {"axis": 0}, {"size": 1, "step": 3})
        yield Sample((draw(rng, (0, 2)),), {"axis": 1}, {"size": 2, "step": 1}, note="0-size")


@register
class AsReal(View):
    """A complex tensor as real pairs: a new last dim holds the real and the imaginary part."""

    def infer(self, x):
        if not x.dtype.is_complex:
            self.fail(TypeError, "a complex operand", x.dtype.name)
        return Meta((*x.shape, 2), x.dtype.real)

    def strides(self, x):
        return Strided((*x.shape, 2), (*(2 * t for t in x.strides), 1), 2 * x.offset)

    def vjp(self, s, g):
        return (F.as_complex(g),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        return shard_string([names], [[*names, "1"]])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3), dt.complex128),))
        yield Sample((draw(rng, (), dt.complex128),), note="0-d")
        yield Sample((draw(rng, (0,), dt.complex128),), note="0-size")
        yield Sample((draw(rng, (2,), dt.complex64),))


@register
class AsComplex(Op):
    """Real pairs in the last dim as one complex tensor: a copy, since the pairs need not lie side by side."""

    amp = "deny"
    linear = True

    def infer(self, x):
        if x.dtype not in (dt.float32, dt.float64):
            self.fail(TypeError, "a float32 or float64 operand", x.dtype.name)
        require(self, x.shape[-1] == 2 if x.shape else False, "a last dim of size 2", tuple(x.shape))
        return Meta(tuple(x.shape[:-1]), dt.complex64 if x.dtype is dt.float32 else dt.complex128)

    def vjp(self, s, g):
        return (F.as_real(g),)

    def shard(self, x):
        names = factor_names(len(x.shape) - 1)
        return shard_string([[*names, "1"]], [names])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 2)),))
        yield Sample((draw(rng, (2,)),), note="to 0-d")
        yield Sample((draw(rng, (0, 2)),), note="0-size")
        yield Sample((draw(rng, (2, 2), dt.float32),))
        yield Sample((draw(rng, (2, 3)).T,), note="pairs apart")


@register
class ScatterView(Op):
    """``base`` with the region that a view op selects replaced by ``value``; with ``accumulate``, ``value`` added
    there.

    ``region`` is the view op and ``args`` its params, flattened. This is how a write through a view reads
    when nothing is mutable, and it is the derivative of every view.
    """

    inputs = ("base", "value")
    amp = "keep"
    linear = True
    region: Any
    accumulate: bool = False
    args: tuple = param("ints", ())

    @property
    def packed(self):
        return not self.accumulate

    def infer(self, base, value, args):
        seen = self.region.infer(base, *unflatten_params(self.region, args))
        same_dtype(self, Meta(seen.shape, seen.dtype), value)
        if value.weak is None:
            same_shape(self, value.shape, seen.shape, "a value of the shape of the region")
        return Meta(tuple(base.shape), base.dtype)

    def vjp(self, s, g):
        base, value = s.inputs
        args = s.params.args
        gvalue = region_of(g, self.region, args) if is_tensor(value) else None
        return (g if self.accumulate else F.scatter_view(g, 0, region=self.region, args=args)), gvalue

    def shard(self, base, value, args):
        if value.weak and "shape" in self.region.param_fields:  # no box of a value says what the view's part is
            names = factor_names(len(base.shape))
            return shard_string([names, []], [names], **dict.fromkeys(names, "replicated"))
        seen, _, marks = self.region.shard(base, *unflatten_params(self.region, args)).partition(";")
        own, _, shown = (part.strip() for part in seen.partition("->"))
        repeated = set(shown.split()) - set(own.split())  # what the view repeats is added up
        shown = "" if value.weak else " ".join("1" if f in repeated else f for f in shown.split())
        return f"{own}, {shown} -> {own} ;{marks}"

    def on_shard(self, shard, base, value, args):
        if "shape" in self.region.param_fields and is_tensor(value):
            args = shard.operands[1].sizes
        return F.scatter_view(base, value, region=self.region, accumulate=self.accumulate, args=args)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(base, value, region, args, accumulate=False, note=""):
            return Sample((base, value), {"region": region, "accumulate": accumulate}, {"args": args}, note=note)

        rows = Slice(axes=(0,))
        yield case(draw(rng, (4, 3)), draw(rng, (2, 3)), rows, (1, 2, 2))
        yield case(draw(rng, (4, 3)), draw(rng, (2, 3)), rows, (3, 2, -2), True)
        yield case(draw(rng, (4, 3)), 0.5, rows, (0, 1, 1), note="a number")
        yield case(draw(rng, (4, 3)), draw(rng, (0, 3)), rows, (2, 0, 1), note="empty region")
        yield case(draw(rng, (3, 3)), draw(rng, (2,)), Diagonal(0, 1), (1,))
        yield case(draw(rng, (2, 3)), draw(rng, (3, 2)), Permute((1, 0)), ())
        yield case(draw(rng, (2, 3)), draw(rng, (6,)), Reshape(), (6,))
        yield case(draw(rng, (5,)), draw(rng, (3, 3)), Unfold(0), (3, 1), True, "windows that overlap")
        yield case(draw(rng, (3,), dt.complex128), draw(rng, (3, 2)), AsReal(), ())
        yield case(draw(rng, (4,), dt.int64, 0, 8), 7, rows, (1, 2, 1))


@register
class WriteThrough(Op):
    """``base`` after ``value`` was written into the elements that several view ops, one after the other, select of it.

    For views of views that show an element of ``base`` more than once, so that a write is seen at other positions too;
    the elements written are distinct. ``args`` are the params of all views, flattened, and ``ends`` where those of each
    end.
    """

    packed = True
    inputs = ("base", "value")
    amp = "keep"
    linear = True
    views: tuple
    ends: tuple
    args: tuple = param("ints", ())

    def through(self, x, args):
        """Apply the views to ``x``."""
        for view, start, end in zip(self.views, (0, *self.ends), self.ends, strict=False):
            x = region_of(x, view, args[start:end])
        return x

    def infer(self, base, value, args):
        seen = Meta(tuple(base.shape), base.dtype)
        for view, start, end in zip(self.views, (0, *self.ends), self.ends, strict=False):
            seen = view.infer(seen, *unflatten_params(view, args[start:end]))
        same_dtype(self, Meta(seen.shape, seen.dtype), value)
        same_shape(self, value.shape, seen.shape, "a value of the shape of the region")
        return Meta(tuple(base.shape), base.dtype)

    def decompose(self, base, value, args):
        n = dim.product(base.shape)
        at = F.reshape(F.iota(0, 1, dt.int64, n), tuple(base.shape))
        flat = F.reshape(base, (n,))
        pairs = [i for i, view in enumerate(self.views) if isinstance(view, AsReal)]
        for view, start, end in zip(self.views, (0, *self.ends), self.ends, strict=False):
            if isinstance(view, AsReal):
                both = F.reshape(F.iota(0, 1, dt.int64, 2), (1,) * len(at.shape) + (2,))
                at = F.add(F.mul(F.unsqueeze(at, (len(at.shape),)), 2), both)
            else:
                at = region_of(at, view, args[start:end])
        if pairs:
            flat, n = F.reshape(F.as_real(flat), (2 * n,)), 2 * n
        count = dim.product(value.shape)
        flat = F.put(flat, F.reshape(at, (count,)), F.reshape(value, (count,)), axis=0)
        if pairs:
            flat = F.as_complex(F.reshape(flat, (dim.product(base.shape), 2)))
        return F.reshape(flat, tuple(base.shape))

    def shard(self, base, value, args):
        names = factor_names(len(base.shape))
        return shard_string([names, ["1"] * len(value.shape)], [names], **dict.fromkeys(names, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(base, value, steps, note=""):
            views, args, ends = [], [], []
            for view, *params in steps:
                views.append(view)
                args.extend(flatten_params(tuple(params)))
                ends.append(len(args))
            return Sample((base, value), {"views": tuple(views), "ends": tuple(ends)}, {"args": tuple(args)}, note=note)

        rows = Slice(axes=(0,))
        wide, column = (BroadcastTo(), (3, 2)), (Slice(axes=(1,)), (1,), (1,), (1,))
        yield case(draw(rng, (2,)), draw(rng, (1, 1)), [wide, (rows, (1,), (1,), (1,)), column])
        yield case(draw(rng, (5,)), draw(rng, (4,)), [(Unfold(0), 2, 1), column, (Squeeze(axes=(1,)),)], "windows")
        yield case(draw(rng, (2, 2)), draw(rng, (2, 0)), [(BroadcastTo(), (3, 2, 2)), (rows, (0,), (1,), (1,)),
                   (Squeeze(axes=(0,)),), (Slice(axes=(1,)), (0,), (0,), (1,))], "empty region")  # fmt: skip
        yield case(draw(rng, (2,), dt.complex128), draw(rng, (1, 2, 1)), [wide, (AsReal(),), (rows, (1,), (1,), (1,)),
                   (Slice(axes=(2,)), (1,), (1,), (1,))], "one part of complex numbers")  # fmt: skip
        yield case(draw(rng, (3,)), draw(rng, (3,)), [(BroadcastTo(), (2, 3)), (Permute((1, 0)),), column,
                   (Reshape(), (3,))], "transposed")  # fmt: skip


# --- pad -----------------------------------------------------------------------------------------------------------

PAD_MODES = ("constant", "reflect", "replicate", "circular")


class Padding(Op):
    """Base of pad and its transpose. ``axes``: the dims that ``lo`` and ``hi`` speak of; None for all."""

    mode: str = "constant"
    axes: tuple | None = None
    lo: tuple = param("ints")
    hi: tuple = param("ints")

    def each(self, ndim, lo, hi):
        """Axis and pads of each padded dim."""
        axes = range(ndim) if self.axes is None else self.axes
        if not len(axes) == len(lo) == len(hi):
            self.fail(ValueError, f"{len(axes)} pads before and {len(axes)} after", f"{tuple(lo)} and {tuple(hi)}")
        check_axes(self, axes, ndim)
        return list(zip(axes, lo, hi, strict=True))

    def grown(self, shape, lo, hi):
        """``shape`` with the pads added."""
        out = list(shape)
        for axis, a, b in self.each(len(shape), lo, hi):
            out[axis] = out[axis] + a + b
        return tuple(out)

    def check(self, shape, lo, hi):
        """Refuse pads that the mode cannot fill, for a tensor of ``shape`` before padding."""
        if self.mode not in PAD_MODES:
            self.fail(ValueError, f"a mode of {PAD_MODES}", self.mode)
        for axis, a, b in self.each(len(shape), lo, hi):
            n = shape[axis]
            if self.mode == "constant":
                fits = n + dim.minimum(a, 0) + dim.minimum(b, 0) >= 0
            else:
                reach = {"reflect": n - 1, "replicate": (a + b) * n, "circular": n}[self.mode]
                fits = (a >= 0) & (b >= 0) & ((a + b == 0) | ((a <= reach) & (b <= reach)))
            require(self, fits, f"{self.mode} pads that dim {axis} of size {n} allows", f"{a} before and {b} after")


@register
class Pad(Padding):
    """``x`` with ``lo`` elements added before and ``hi`` after the dims ``axes``; in mode "constant" negative pads
    crop.

    ``value`` fills in mode "constant". "reflect" mirrors about the edge element, "replicate" repeats it, "circular"
    wraps.
    """

    packed = True
    inputs = ("x", "value")
    monotone = ("x",)

    def infer(self, x, value, lo, hi):
        if value.weak is None:
            self.fail(TypeError, "a Python scalar as the fill value", "a tensor")
        if self.mode == "constant":
            same_dtype(self, x, value)
        self.check(x.shape, lo, hi)
        return Meta(self.grown(x.shape, lo, hi), x.dtype)

    def vjp(self, s, g):
        lo, hi = s.params
        if self.mode == "constant":
            return F.pad(g, 0, axes=self.axes, lo=tuple(-n for n in lo), hi=tuple(-n for n in hi)), None
        return F.pad_fold(g, mode=self.mode, axes=self.axes, lo=lo, hi=hi), None

    def shard(self, x, value, lo, hi):
        names = factor_names(len(x.shape))
        touched = {
            names[i]: "replicated"
            for i, a, b in self.each(len(x.shape), lo, hi)
            if not (dim.same(a, 0) and dim.same(b, 0))
        }
        return shard_string([names, []], [["1" if f in touched else f for f in names]], **touched)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(x, value, mode, lo, hi, note="", axes=None):
            return Sample((x, value), {"mode": mode, "axes": axes}, {"lo": lo, "hi": hi}, note=note)

        yield case(draw(rng, (2, 3)), 1.5, "constant", (1, 0), (0, 2))
        yield case(draw(rng, (2, 3)), 1.5, "constant", (2,), (1,), axes=(1,))
        yield case(draw(rng, (4, 5)), 0.0, "constant", (-1, 1), (-2, -2), "crops")
        yield case(draw(rng, (0, 2)), 0.0, "constant", (1, 0), (1, 0), "0-size")
        yield case(draw(rng, ()), 0.0, "constant", (), (), "0-d")
        yield case(draw(rng, (3,), dt.int32, 0, 8), 7, "constant", (1,), (1,))
        yield case(draw(rng, (2, 2), dt.complex128), 1j, "constant", (0, 1), (1, 0))
        for mode in PAD_MODES[1:]:
            yield case(draw(rng, (2, 4)), 0, mode, (0, 2), (0, 3))
            yield case(draw(rng, (2, 4), dt.float32), 0, mode, (1,), (1,), axes=(0,))


@register
class PadFold(Padding):
    """The transpose of :class:`Pad` in the modes that repeat elements: every padded position is added to its source."""

    linear = True

    def infer(self, x, lo, hi):
        shape = self.grown(x.shape, tuple(-n for n in lo), tuple(-n for n in hi))
        self.check(shape, lo, hi)
        return Meta(shape, x.dtype)

    def decompose(self, x, lo, hi):
        for axis, a, b in self.each(x.ndim, lo, hi):
            n = x.shape[axis]
            target = list(x.shape)
            target[axis] = n - a - b
            source = _source(self.mode, F.iota(-a, 1, dtype=dt.int64, size=n), n - a - b)
            x = F.put(F.full(0, dtype=x.dtype, shape=tuple(target)), source, x, axis=axis, mode="add")
        return x

    def vjp(self, s, g):
        lo, hi = s.params
        return (F.pad(g, 0, mode=self.mode, axes=self.axes, lo=lo, hi=hi),)

    def shard(self, x, lo, hi):
        return shard_except(x, range(len(x.shape)) if self.axes is None else self.axes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for mode in PAD_MODES[1:]:
            yield Sample((draw(rng, (2, 9)),), {"mode": mode}, {"lo": (0, 2), "hi": (0, 3)})
            yield Sample((draw(rng, (3, 4), dt.float32),), {"mode": mode, "axes": (1,)}, {"lo": (1,), "hi": (0,)})


def _source(mode: str, i: Any, n: Any) -> Any:
    """The element of a dim of size ``n`` that position ``i`` repeats, where ``i`` counts from the first element."""
    if mode == "circular":
        return F.remainder(i, dim.maximum(n, 1))
    if mode == "replicate":
        return F.maximum(F.minimum(i, n - 1), 0)
    mirrored = F.abs(i)
    return F.sub(n - 1, F.abs(F.sub(n - 1, mirrored)))


# --- joining and repeating -----------------------------------------------------------------------------------------


@register
class Concat(Op):
    """Tensors joined along ``axis``."""

    packed = True
    inputs = ("*xs",)
    linear = monotone = True
    axis: int

    def infer(self, *xs):
        if not xs:
            self.fail(ValueError, "at least one tensor", "none")
        dtype, first = same_dtype(self, *xs), xs[0].shape
        check_axes(self, (self.axis,), len(first))
        total = 0
        for x in xs:
            if len(x.shape) != len(first):
                self.fail(ValueError, "tensors of one rank", f"{tuple(first)} and {tuple(x.shape)}")
            for i, (m, n) in enumerate(zip(first, x.shape, strict=True)):
                if i != self.axis:
                    require(
                        self, m == n, f"equal sizes except on axis {self.axis}", f"{tuple(first)} and {tuple(x.shape)}"
                    )
            total = total + x.shape[self.axis]
        shape = list(first)
        for i in range(len(shape)):  # a concrete size says more than a symbol
            if i != self.axis:
                shape[i] = next((x.shape[i] for x in xs if isinstance(x.shape[i], int)), shape[i])
        shape[self.axis] = total
        return Meta(tuple(shape), dtype)

    def vjp(self, s, g):
        out, start = [], 0
        for x in s.inputs:
            n = x.shape[self.axis]
            out.append(F.slice(g, axes=(self.axis,), starts=(start,), sizes=(n,), steps=(1,)))
            start = start + n
        return tuple(out)

    def shard(self, *xs):
        names = factor_names(len(xs[0].shape))
        own = [[f if i != self.axis else f"{f}{k}" for i, f in enumerate(names)] for k in range(len(xs))]
        replicated = {o[self.axis]: "replicated" for o in own}
        return shard_string(own, [[f if i != self.axis else "1" for i, f in enumerate(names)]], **replicated)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), draw(rng, (2, 1)), draw(rng, (2, 2))), {"axis": 1})
        yield Sample((draw(rng, (2,)),), {"axis": 0}, note="one")
        yield Sample((draw(rng, (0, 2)), draw(rng, (2, 2))), {"axis": 0}, note="0-size")
        yield Sample((draw(rng, (2, 2), dt.complex128), draw(rng, (1, 2), dt.complex128)), {"axis": 0})
        yield Sample((draw(rng, (2,), dt.bfloat16), draw(rng, (1,), dt.bfloat16)), {"axis": 0})
        yield Sample((draw(rng, (2,), dt.bool), draw(rng, (1,), dt.bool)), {"axis": 0})


@register
class Stack(Op):
    """Tensors of one shape, joined along a new dim that stands at ``axis`` of the result."""

    packed = True
    inputs = ("*xs",)
    linear = monotone = True
    axis: int = 0

    def infer(self, *xs):
        if not xs:
            self.fail(ValueError, "at least one tensor", "none")
        dtype, first = same_dtype(self, *xs), xs[0].shape
        check_axes(self, (self.axis,), len(first) + 1)
        for x in xs[1:]:
            same_shape(self, first, x.shape, "tensors of one shape")
        return Meta(_insert(first, (self.axis,), len(xs)), dtype)

    def decompose(self, *xs):
        return F.concat([F.unsqueeze(x, axes=(self.axis,)) for x in xs], axis=self.axis)

    def shard(self, *xs):
        names = factor_names(len(xs[0].shape))
        return shard_string([names] * len(xs), [_insert(names, (self.axis,), "1")])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), draw(rng, (2, 3))), {"axis": 1})
        yield Sample((draw(rng, ()), draw(rng, ()), draw(rng, ())), {"axis": 0}, note="0-d")
        yield Sample((draw(rng, (0,)), draw(rng, (0,))), {"axis": 1}, note="0-size")
        yield Sample((draw(rng, (2,), dt.int64, 0, 8),), {"axis": 0}, note="one")


@register
class Split(Op):
    """Consecutive parts of ``x`` along ``axis``, of the sizes ``sections``: a tuple of results."""

    packed = True
    linear = monotone = True
    variadic_outputs = True
    axis: int
    sections: tuple = param("ints")

    def _part(self, shape, n):
        return tuple(n if i == self.axis else m for i, m in enumerate(shape))

    def infer(self, x, sections):
        check_axes(self, (self.axis,), len(x.shape))
        n, total = x.shape[self.axis], sum(sections)
        fits = n == total
        for m in sections:
            fits = fits & (m >= 0)
        require(self, fits, f"sections that add up to {n}, the size of dim {self.axis}", tuple(sections))
        return tuple(Meta(self._part(x.shape, m), x.dtype) for m in sections)

    def decompose(self, x, sections):
        out, start = [], 0
        for n in sections:
            out.append(F.slice(x, axes=(self.axis,), starts=(start,), sizes=(n,), steps=(1,)))
            start = start + n
        return tuple(out)

    def vjp(self, s, *grads):
        x = s.inputs[0]
        parts = zip(grads, s.params.sections, strict=True)
        fill = [F.full(0, dtype=x.dtype, shape=self._part(x.shape, n)) if g is None else g for g, n in parts]
        return (F.concat(fill, axis=self.axis),)

    def shard(self, x, sections):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names], [out] * len(sections), **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 5)),), {"axis": 1}, {"sections": (2, 0, 3)})
        yield Sample((draw(rng, (4,), dt.complex128),), {"axis": 0}, {"sections": (2, 2)})
        yield Sample((draw(rng, (0, 2)),), {"axis": 0}, {"sections": (0, 0)}, note="0-size")
        yield Sample((draw(rng, (3,), dt.int64, 0, 8),), {"axis": 0}, {"sections": (3,)}, note="one")


@register
class Unbind(Op):
    """The ``count`` slices of ``x`` along ``axis``, without that dim. The number of results is static."""

    packed = True
    linear = monotone = True
    variadic_outputs = True
    axis: int
    count: int

    def infer(self, x):
        check_axes(self, (self.axis,), len(x.shape))
        require(self, x.shape[self.axis] == self.count, f"size {self.count} on dim {self.axis}", tuple(x.shape))
        return (Meta(tuple(n for i, n in enumerate(x.shape) if i != self.axis), x.dtype),) * self.count

    def decompose(self, x):
        parts = (F.slice(x, axes=(self.axis,), starts=(i,), sizes=(1,), steps=(1,)) for i in range(self.count))
        return tuple(F.squeeze(p, axes=(self.axis,)) for p in parts)

    def vjp(self, s, *grads):
        some = next(g for g in grads if g is not None)
        return (F.stack([zeros(some) if g is None else g for g in grads], axis=self.axis),)

    def shard(self, x):
        names = factor_names(len(x.shape))
        out = [f for i, f in enumerate(names) if i != self.axis]
        return shard_string([names], [out] * self.count, **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axis": 1, "count": 3})
        yield Sample((draw(rng, (2,)),), {"axis": 0, "count": 2}, note="to 0-d")
        yield Sample((draw(rng, (2, 0), dt.float32),), {"axis": 0, "count": 2}, note="0-size")


@register
class Flip(Op):
    """``x`` in reverse order along ``axes``."""

    packed = True
    linear = monotone = True
    axes: tuple

    def infer(self, x):
        check_axes(self, self.axes, len(x.shape))
        return Meta(tuple(x.shape), x.dtype)

    def vjp(self, s, g):
        return (F.flip(g, axes=self.axes),)

    def shard(self, x):
        return shard_except(x, self.axes)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axes": (1,)})
        yield Sample((draw(rng, (2, 3), dt.complex128),), {"axes": (0, 1)})
        yield Sample((draw(rng, ()),), {"axes": ()}, note="0-d")
        yield Sample((draw(rng, (0, 2)),), {"axes": (0,)}, note="0-size")
        yield Sample((draw(rng, (3,), dt.bool),), {"axes": (0,)})


@register
class Roll(Op):
    """``x`` moved by ``shifts`` along ``axes``; what leaves at one end enters at the other."""

    packed = True
    linear = monotone = True
    axes: tuple
    shifts: tuple = param("ints")

    def infer(self, x, shifts):
        if not all(0 <= a < len(x.shape) for a in self.axes):  # an axis may come twice
            self.fail(IndexError, f"axes from 0 to {len(x.shape) - 1}", self.axes)
        if len(shifts) != len(self.axes):
            self.fail(ValueError, "one shift for each axis", f"{shifts} for axes {self.axes}")
        return Meta(tuple(x.shape), x.dtype)

    def decompose(self, x, shifts):
        for axis, shift in zip(self.axes, shifts, strict=True):
            n = x.shape[axis]
            head = shift % dim.maximum(n, 1)
            last = F.slice(x, axes=(axis,), starts=(n - head,), sizes=(head,), steps=(1,))
            x = F.concat([last, F.slice(x, axes=(axis,), starts=(0,), sizes=(n - head,), steps=(1,))], axis=axis)
        return x

    def vjp(self, s, g):
        return (F.roll(g, axes=self.axes, shifts=tuple(-n for n in s.params.shifts)),)

    def shard(self, x, shifts):
        return shard_except(x, set(self.axes))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axes": (1,)}, {"shifts": (1,)})
        yield Sample((draw(rng, (2, 3)),), {"axes": (0, 1)}, {"shifts": (-1, 5)})
        yield Sample((draw(rng, (4,), dt.complex128),), {"axes": (0, 0)}, {"shifts": (1, 2)})
        yield Sample((draw(rng, (0, 2)),), {"axes": (0,)}, {"shifts": (1,)}, note="0-size")
        yield Sample((draw(rng, ()),), {"axes": ()}, {"shifts": ()}, note="0-d")


@register
class Tile(Op):
    """``x`` repeated as a whole: ``repeats[i]`` copies along dim i. Has at least as many repeats as dims."""

    packed = True
    linear = monotone = True
    repeats: tuple = param("ints")

    def infer(self, x, repeats):
        lead = len(repeats) - len(x.shape)
        if lead < 0:
            self.fail(ValueError, f"at least {len(x.shape)} repeats", repeats)
        return Meta(tuple(n * r for n, r in zip((1,) * lead + tuple(x.shape), repeats, strict=True)), x.dtype)

    def decompose(self, x, repeats):
        shape = (1,) * (len(repeats) - x.ndim) + sizes(x)
        split = F.reshape(x, shape=tuple(m for n in shape for m in (1, n)))
        wide = F.broadcast_to(split, shape=tuple(m for n, r in zip(shape, repeats, strict=True) for m in (r, n)))
        return F.reshape(wide, shape=tuple(n * r for n, r in zip(shape, repeats, strict=True)))

    def shard(self, x, repeats):
        names = factor_names(len(x.shape))
        lead = len(repeats) - len(names)
        factors = [f for f, r in zip(names, repeats[lead:], strict=True) if dim.same(r, 1)]
        out = ["1"] * lead + [f if f in factors else "1" for f in names]
        return shard_string([names], [out], **{f: "replicated" for f in names if f not in factors})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), params={"repeats": (2, 1)})
        yield Sample((draw(rng, (2,)),), params={"repeats": (2, 1, 3)})
        yield Sample((draw(rng, ()),), params={"repeats": (2,)}, note="0-d")
        yield Sample((draw(rng, (2,)),), params={"repeats": (0,)}, note="no copies")
        yield Sample((draw(rng, (0, 2), dt.complex128),), params={"repeats": (2, 2)}, note="0-size")


@register
class RepeatInterleave(Op):
    """Each element along ``axis`` ``repeats`` times in a row."""

    packed = True
    linear = monotone = True
    axis: int
    repeats: int = param("int")

    def infer(self, x, repeats):
        check_axes(self, (self.axis,), len(x.shape))
        require(self, repeats >= 0, "repeats that are not negative", repeats)
        return Meta(tuple(n * repeats if i == self.axis else n for i, n in enumerate(x.shape)), x.dtype)

    def decompose(self, x, repeats):
        shape = sizes(x)
        wide = F.unsqueeze(x, axes=(self.axis + 1,))
        wide = F.broadcast_to(wide, shape=(*shape[: self.axis + 1], repeats, *shape[self.axis + 1 :]))
        return F.reshape(wide, shape=tuple(n * repeats if i == self.axis else n for i, n in enumerate(shape)))

    def shard(self, x, repeats):
        # Shards of equal size stay aligned: each element's copies follow it.
        names = factor_names(len(x.shape))
        return shard_string([names], [names])

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axis": 1}, {"repeats": 2})
        yield Sample((draw(rng, (2, 2), dt.complex128),), {"axis": 0}, {"repeats": 1})
        yield Sample((draw(rng, (2,)),), {"axis": 0}, {"repeats": 0}, note="none")
        yield Sample((draw(rng, (0, 2)),), {"axis": 0}, {"repeats": 3}, note="0-size")


@register
class RepeatInterleaveSized(Op):
    """Element i along ``axis`` ``repeats[i]`` times in a row; ``count`` is the sum of the repeats."""

    packed = True
    inputs = ("x", "repeats")
    axis: int
    count: int = param("int")

    def infer(self, x, repeats, count):
        check_axes(self, (self.axis,), len(x.shape))
        if len(repeats.shape) != 1 or not repeats.dtype.is_integer:
            self.fail(ValueError, "repeats as a 1-d integer tensor", f"{repeats.dtype.name} {tuple(repeats.shape)}")
        require(self, repeats.shape[0] == x.shape[self.axis], "one repeat for each element", tuple(repeats.shape))
        return Meta(tuple(count if i == self.axis else n for i, n in enumerate(x.shape)), x.dtype)

    def decompose(self, x, repeats, count):
        ends = F.cumsum(F.cast(repeats, dtype=dt.int64), axis=0)
        position = F.iota(0, 1, dtype=dt.int64, size=count)
        return F.take(x, F.search_sorted(ends, position, right=True), axis=self.axis)

    def shard(self, x, repeats, count):
        names = factor_names(len(x.shape))
        out = [f if i != self.axis else "1" for i, f in enumerate(names)]
        return shard_string([names, ["1"]], [out], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 2)), np.array([2, 0, 3])), {"axis": 0}, {"count": 5})
        yield Sample((draw(rng, (2, 2), dt.float32), np.array([0, 1], np.int32)), {"axis": 1}, {"count": 1})
        yield Sample((draw(rng, (0,)), np.zeros(0, np.int64)), {"axis": 0}, {"count": 0}, note="0-size")


@register
class DiagEmbed(Op):
    """Zeros with the last dim of ``x`` on the diagonal of dims ``axis1`` and ``axis2``, ``offset`` above the main."""

    packed = True
    linear = monotone = True
    axis1: int
    axis2: int
    offset: int = param("int", 0)

    def _shape(self, x, offset):
        n = x.shape[-1] + dim.maximum(offset, -offset)
        return _insert(x.shape[:-1], (self.axis1, self.axis2), n)

    def infer(self, x, offset):
        if not x.shape:
            self.fail(ValueError, "at least one dim", tuple(x.shape))
        check_axes(self, (self.axis1, self.axis2), len(x.shape) + 1)
        return Meta(self._shape(x, offset), x.dtype)

    def decompose(self, x, offset):
        base = F.full(0, dtype=x.dtype, shape=self._shape(x, offset))
        return F.scatter_view(base, x, region=Diagonal(self.axis1, self.axis2), args=(offset,))

    def shard(self, x, offset):
        names = factor_names(len(x.shape))
        out = _insert(names[:-1], (self.axis1, self.axis2), "1")
        return shard_string([names], [out], **{names[-1]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axis1": 1, "axis2": 2})
        yield Sample((draw(rng, (2, 3)),), {"axis1": 2, "axis2": 0}, {"offset": 1})
        yield Sample((draw(rng, (2,), dt.complex128),), {"axis1": 0, "axis2": 1}, {"offset": -2})
        yield Sample((draw(rng, (0,)),), {"axis1": 0, "axis2": 1}, note="0-size")
