"""Matmul, and what is written with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    back,
    cast_to,
    check_axes,
    conj,
    draw,
    elements,
    factor_names,
    in_compute_type,
    same_dtype,
    same_shape,
    shard_string,
    sizes,
    widen,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.index import broadcast_sizes
from umiak.ops.movement import require


def transpose(x: Any) -> Any:
    """``x`` with its last two dims swapped."""
    n = x.ndim
    return F.permute(x, perm=(*range(n - 2), n - 1, n - 2))


def adjoint(x: Any) -> Any:
    """Conjugate transpose of matrices in the last two dims."""
    return conj(transpose(x))


class MatmulOp(Op):
    """Base of matmuls of the last two dims; leading dims broadcast.

    A 1-d operand is a row (x) or a column (y), and its dim leaves the result; it is never transposed.
    """

    inputs = ("x", "y")
    linear = ("x", "y")
    transpose_x: bool = False
    transpose_y: bool = False

    def multiply_adds(self, operands, outs):
        x = operands[0]
        return elements(outs[0]) * x.shape[-2 if self.transpose_x and len(x.shape) > 1 else -1]

    def flags(self, x, y):
        """Return which operands are transposed: matrices only."""
        return self.transpose_x and len(x.shape) > 1, self.transpose_y and len(y.shape) > 1

    def product_shape(self, x, y):
        for m in (x, y):
            if m.weak is not None or not m.shape:
                self.fail(ValueError, "operands of at least one dim", "a number or a 0-d tensor")
        tx, ty = self.flags(x, y)
        a, b = tuple(x.shape), tuple(y.shape)
        k = a[-2] if tx else a[-1]
        inner = b[-1] if ty or len(b) == 1 else b[-2]
        names = f"x.shape[{-2 if tx else -1}] == y.shape[{-1 if ty or len(b) == 1 else -2}]"
        require(self, k == inner, names, f"{a} and {b}")
        out = broadcast_sizes(self, a[:-2], b[:-2])
        if len(a) > 1:
            out += (a[-1] if tx else a[-2],)
        if len(b) > 1:
            out += (b[-2] if ty else b[-1],)
        return out

    def shard(self, x, y):
        tx, ty = self.flags(x, y)
        batch = factor_names(max(len(x.shape), len(y.shape), 2) - 2, "b")
        own_x = _batch_factors(batch, x) + ([] if len(x.shape) == 1 else ["i"]) + ["k"]
        own_y = _batch_factors(batch, y) + ["k"] + ([] if len(y.shape) == 1 else ["j"])
        if tx:
            own_x[-2:] = own_x[:-3:-1]
        if ty:
            own_y[-2:] = own_y[:-3:-1]
        out = [f if f in (*own_x, *own_y) else "1" for f in batch]
        out += ["i"] * (len(x.shape) > 1) + ["j"] * (len(y.shape) > 1)
        return shard_string([own_x, own_y], [out], k="sum")


@register
class Matmul(MatmulOp):
    """Matmul into the dtype of its operands."""

    amp = "allow"

    def infer(self, x, y):
        accept(self, "ifc", x, y)
        dtype = same_dtype(self, x, y)
        return Meta(self.product_shape(x, y), dtype)

    def vjp(self, s, g):
        x, y = s.inputs
        tx, ty = self.flags(x, y)
        a, b = x, y
        if y.ndim == 1:
            g, b = F.unsqueeze(g, axes=(g.ndim,)), F.unsqueeze(y, axes=(1,))
        if x.ndim == 1:
            g, a = F.unsqueeze(g, axes=(g.ndim - 1,)), F.unsqueeze(x, axes=(0,))
        # out = op(a) op(b); each gradient is one matmul with the flags arranged so that nothing is transposed by
        # copying.
        ca, cb = conj(a), conj(b)
        gx = (
            F.matmul(cb, g, transpose_x=ty, transpose_y=True)
            if tx
            else F.matmul(g, cb, transpose_x=False, transpose_y=not ty)
        )
        if b.ndim == 2 and a.ndim > 2 and not tx:
            # One matrix served every batch: a single long matmul instead of a sum of many.
            ca, g = (F.reshape(v, shape=(dim.product(v.shape[:-1]), v.shape[-1])) for v in (ca, g))
        gy = (
            F.matmul(g, ca, transpose_x=True, transpose_y=tx)
            if ty
            else F.matmul(ca, g, transpose_x=not tx, transpose_y=False)
        )
        if x.ndim == 1:
            gx = F.squeeze(gx, axes=(gx.ndim - 2,))
        if y.ndim == 1:
            gy = F.squeeze(gy, axes=(gy.ndim - 1,))
        return back(gx, x), back(gy, y)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(a, b, tx=False, ty=False, dtype=dt.float64, note=""):
            return Sample((draw(rng, a, dtype), draw(rng, b, dtype)), {"transpose_x": tx, "transpose_y": ty}, note=note)

        for tx in (False, True):
            for ty in (False, True):
                yield case((3, 2) if tx else (2, 3), (4, 3) if ty else (3, 4), tx, ty)
                yield case(
                    (2, 1, 3, 2) if tx else (2, 1, 2, 3),
                    (3, 4, 3) if ty else (3, 3, 4),
                    tx,
                    ty,
                    note="broadcast batches",
                )
        yield case((2, 2, 3), (3, 4), note="one matrix for all")
        yield case((2, 2, 3), (4, 3), False, True, note="one matrix for all")
        yield case((2, 3), (4, 3, 2), note="one matrix for all")
        yield case((2, 3, 2), (3, 1), True, dtype=dt.complex128)
        for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2))):
            yield case(a, b, True, True) if len(a) == len(b) == 1 else case(a, b, note="a vector")
        yield case((0, 3), (3, 2), note="0-size")
        yield case((2, 0), (0, 3), note="an empty sum")
        for dtype in (dt.float32, dt.bfloat16, dt.int64, dt.complex128):
            yield case((2, 3), (3, 2), dtype=dtype)


@register
class WideningMatmul(MatmulOp):
    """Matmul into the type that floats are computed in: products of 16 bits are exact in float32, and added there."""

    amp = "keep"

    def infer(self, x, y):
        accept(self, "f", x, y)
        dtype = same_dtype(self, x, y)
        return Meta(self.product_shape(x, y), dtype.compute)

    def decompose(self, x, y):
        wide_x, wide_y = (cast_to(v, v.dtype.compute) for v in (x, y))
        return F.matmul(wide_x, wide_y, self.transpose_x, self.transpose_y)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        for a, b, tx, ty, dtype, note in (
            ((2, 3), (3, 4), False, False, dt.float64, ""),
            ((3, 2), (4, 3), True, True, dt.bfloat16, ""),
            ((2, 1, 2, 3), (3, 3, 4), False, False, dt.float64, "broadcast batches"),
            ((3, 20, 30), (30, 33), False, False, dt.bfloat16, "a library's"),
            ((3,), (3, 2), False, False, dt.float64, "a vector"),
            ((0, 3), (3, 2), False, False, dt.bfloat16, "0-size"),
            ((2, 0), (0, 3), False, False, dt.bfloat16, "an empty sum"),
            ((2, 3), (3, 2), False, False, dt.float16, ""),
            ((2, 3), (3, 2), False, False, dt.float32, ""),
        ):
            operands = draw(rng, a, dtype), draw(rng, b, dtype)
            yield Sample(operands, {"transpose_x": tx, "transpose_y": ty}, note=note)


def _batch_factors(batch: list, m: Meta) -> list:
    rank = max(len(m.shape) - 2, 0)
    names = batch[len(batch) - rank :]
    return ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(m.shape, names, strict=False)]


@register
class Linear(Op):
    """``x @ weight + bias``, where weight is ``[in, out]``."""

    inputs = ("x", "weight", "bias?")
    linear = (("x", "bias"), ("weight", "bias"))
    amp = "allow"

    def multiply_adds(self, operands, outs):
        return elements(outs[0]) * operands[0].shape[-1]

    def infer(self, x, weight, bias):
        accept(self, "fc", x, weight, bias)
        dtype = same_dtype(self, x, weight, bias)
        got = f"{tuple(x.shape)} and {tuple(weight.shape)}"
        if not x.shape or len(weight.shape) != 2:
            self.fail(ValueError, "x of at least one dim and a weight of two", got)
        require(self, x.shape[-1] == weight.shape[0], "x.shape[-1] == weight.shape[0]", got)
        if bias is not None:
            same_shape(self, bias.shape, weight.shape[1:], "a bias of the size of the result")
        return Meta((*x.shape[:-1], weight.shape[1]), dtype)

    def decompose(self, x, weight, bias):
        out = F.matmul(x, weight)
        return out if bias is None else F.add(out, bias)

    def vjp(self, s, g):
        x, weight, bias = s.inputs
        rows, grads = x, g
        if x.ndim != 2:
            rows, grads = (F.reshape(v, shape=(dim.product(v.shape[:-1]), v.shape[-1])) for v in (x, g))
        gx = F.matmul(g, conj(weight), transpose_y=True)
        return (
            gx,
            F.matmul(conj(rows), grads, transpose_x=True),
            None if bias is None else F.sum_to(grads, shape=sizes(bias)),
        )

    def shard(self, x, weight, bias):
        lead = factor_names(len(x.shape) - 1, "b")
        return shard_string([[*lead, "k"], ["k", "j"], [] if bias is None else ["j"]], [[*lead, "j"]], k="sum")

    def on_shard(self, shard, x, weight, bias):
        return F.linear(x, weight, bias if shard.is_first("k") else None)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), draw(rng, (3, 4)), draw(rng, (4,))))
        yield Sample((draw(rng, (2, 2, 3)), draw(rng, (3, 4)), None))
        yield Sample((draw(rng, (3,)), draw(rng, (3, 2)), draw(rng, (2,))), note="a vector")
        yield Sample((draw(rng, (0, 3)), draw(rng, (3, 2)), draw(rng, (2,))), note="0-size")
        yield Sample(
            (draw(rng, (2, 3), dt.complex128), draw(rng, (3, 2), dt.complex128), draw(rng, (2,), dt.complex128))
        )
        yield Sample((draw(rng, (2, 3), dt.bfloat16), draw(rng, (3, 2), dt.bfloat16), draw(rng, (2,), dt.bfloat16)))


@register
class Bmm(Op):
    """Products of the matrices of two batches: ``[b, i, k] @ [b, k, j]``."""

    inputs = ("x", "y")
    linear = ("x", "y")
    amp = "allow"

    def infer(self, x, y):
        if not len(x.shape) == len(y.shape) == 3:
            self.fail(ValueError, "operands of rank 3", f"{tuple(x.shape)} and {tuple(y.shape)}")
        require(self, x.shape[0] == y.shape[0], "batches of one size", f"{tuple(x.shape)} and {tuple(y.shape)}")
        require(self, x.shape[2] == y.shape[1], "x.shape[2] == y.shape[1]", f"{tuple(x.shape)} and {tuple(y.shape)}")
        return Meta((x.shape[0], x.shape[1], y.shape[2]), same_dtype(self, x, y))

    def decompose(self, x, y):
        return F.matmul(x, y)

    def shard(self, x, y):
        return shard_string([["b", "i", "k"], ["b", "k", "j"]], [["b", "i", "j"]], k="sum")

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3, 4)), draw(rng, (2, 4, 2))))
        yield Sample((draw(rng, (0, 3, 4), dt.float32), draw(rng, (0, 4, 2), dt.float32)), note="0-size")
        yield Sample((draw(rng, (2, 2, 3), dt.complex128), draw(rng, (2, 3, 1), dt.complex128)))


@register
class Tensordot(Op):
    """Contraction of ``axes_x`` of x with ``axes_y`` of y, in that order; the dims left of x come first, then those of
    y.
    """

    inputs = ("x", "y")
    linear = ("x", "y")
    amp = "allow"
    axes_x: tuple
    axes_y: tuple

    def _rest(self, x, y):
        return [i for i in range(len(x.shape)) if i not in self.axes_x], [
            i for i in range(len(y.shape)) if i not in self.axes_y
        ]

    def infer(self, x, y):
        check_axes(self, self.axes_x, len(x.shape))
        check_axes(self, self.axes_y, len(y.shape))
        if len(self.axes_x) != len(self.axes_y):
            self.fail(ValueError, "as many axes of x as of y", f"{self.axes_x} and {self.axes_y}")
        for a, b in zip(self.axes_x, self.axes_y, strict=True):
            require(
                self,
                x.shape[a] == y.shape[b],
                f"x.shape[{a}] == y.shape[{b}]",
                f"{tuple(x.shape)} and {tuple(y.shape)}",
            )
        free_x, free_y = self._rest(x, y)
        return Meta((*(x.shape[i] for i in free_x), *(y.shape[i] for i in free_y)), same_dtype(self, x, y))

    def decompose(self, x, y):
        free_x, free_y = self._rest(x, y)
        k = dim.product(x.shape[a] for a in self.axes_x)
        left, right = tuple(x.shape[i] for i in free_x), tuple(y.shape[i] for i in free_y)
        # Without free axes an operand is a vector: sums of products take less than a matmul of one row and column.
        rows, columns = ((dim.product(free),) if free else () for free in (left, right))
        a = F.reshape(F.permute(x, perm=(*free_x, *self.axes_x)), shape=(*rows, k))
        b = F.reshape(F.permute(y, perm=(*self.axes_y, *free_y)), shape=(k, *columns))
        return F.reshape(F.matmul(a, b), shape=left + right)

    def shard(self, x, y):
        own_x, own_y = factor_names(len(x.shape), "x"), factor_names(len(y.shape), "y")
        for a, b in zip(self.axes_x, self.axes_y, strict=True):
            own_y[b] = own_x[a]
        free_x, free_y = self._rest(x, y)
        out = [own_x[i] for i in free_x] + [own_y[i] for i in free_y]
        return shard_string([own_x, own_y], [out], **{own_x[a]: "sum" for a in self.axes_x})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3, 4)), draw(rng, (4, 3, 2))), {"axes_x": (1, 2), "axes_y": (1, 0)})
        yield Sample((draw(rng, (2,)), draw(rng, (3,))), {"axes_x": (), "axes_y": ()}, note="outer product")
        yield Sample(
            (draw(rng, (2, 3), dt.complex128), draw(rng, (2, 3), dt.complex128)), {"axes_x": (0, 1), "axes_y": (0, 1)}
        )
        yield Sample((draw(rng, (0, 3)), draw(rng, (3, 2))), {"axes_x": (1,), "axes_y": (0,)}, note="0-size")
        yield Sample((draw(rng, (5,)), draw(rng, (5,))), {"axes_x": (0,), "axes_y": (0,)}, note="vectors")
        yield Sample((draw(rng, (2, 5)), draw(rng, (5,))), {"axes_x": (1,), "axes_y": (0,)}, note="matrix and vector")


@register
class Cross(Op):
    """Vector product along ``axis``, of size 3; the other dims broadcast."""

    inputs = ("x", "y")
    linear = ("x", "y")
    axis: int

    def infer(self, x, y):
        dtype = same_dtype(self, x, y)
        shape = broadcast_sizes(self, x.shape, y.shape)
        check_axes(self, (self.axis,), len(shape))
        got = f"{tuple(x.shape)} and {tuple(y.shape)}"
        if len(x.shape) != len(y.shape):
            self.fail(ValueError, "operands of one rank", got)
        for m in (x, y):
            require(self, m.shape[self.axis] == 3, f"size 3 on axis {self.axis}", got)
        return Meta(shape, dtype)

    @in_compute_type
    def decompose(self, x, y):
        def rolled(v, by):
            return F.roll(v, axes=(self.axis,), shifts=(-by,))

        return F.sub(F.mul(rolled(x, 1), rolled(y, 2)), F.mul(rolled(x, 2), rolled(y, 1)))

    def vjp(self, s, g):
        x, y = s.inputs
        return back(F.cross(conj(y), g, axis=self.axis), x), back(F.cross(g, conj(x), axis=self.axis), y)

    def shard(self, x, y):
        names = factor_names(len(x.shape))
        own = [
            ["1" if isinstance(n, int) and n == 1 else f for n, f in zip(m.shape, names, strict=True)] for m in (x, y)
        ]
        return shard_string(own, [names], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), draw(rng, (2, 3))), {"axis": 1})
        yield Sample((draw(rng, (3, 1)), draw(rng, (3, 4))), {"axis": 0}, note="broadcast")
        yield Sample((draw(rng, (3,), dt.complex128), draw(rng, (3,), dt.complex128)), {"axis": 0})
        yield Sample((draw(rng, (0, 3), dt.float32), draw(rng, (0, 3), dt.float32)), {"axis": 1}, note="0-size")


@register
class Kron(Op):
    """Kronecker product: every element of ``x`` times the whole of ``y``. The operands have one rank."""

    inputs = ("x", "y")
    linear = ("x", "y")

    def infer(self, x, y):
        if len(x.shape) != len(y.shape):
            self.fail(ValueError, "operands of one rank", f"{tuple(x.shape)} and {tuple(y.shape)}")
        return Meta(tuple(m * n for m, n in zip(x.shape, y.shape, strict=True)), same_dtype(self, x, y))

    def decompose(self, x, y):
        a = F.unsqueeze(x, axes=tuple(range(1, 2 * x.ndim, 2)))
        b = F.unsqueeze(y, axes=tuple(range(0, 2 * y.ndim, 2)))
        return F.reshape(F.mul(a, b), shape=tuple(m * n for m, n in zip(x.shape, y.shape, strict=True)))

    def shard(self, x, y):
        names, inner = factor_names(len(x.shape)), factor_names(len(y.shape), "y")
        return shard_string([names, inner], [names], **dict.fromkeys(inner, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)), draw(rng, (1, 2))))
        yield Sample((draw(rng, ()), draw(rng, ())), note="0-d")
        yield Sample((draw(rng, (2,), dt.complex128), draw(rng, (3,), dt.complex128)))
        yield Sample((draw(rng, (0, 2)), draw(rng, (2, 2))), note="0-size")


@register
class Trace(Op):
    """The sum of the diagonal of dims ``axis1`` and ``axis2``, ``offset`` above the main one."""

    linear = True
    axis1: int
    axis2: int
    offset: int = param("int", 0)

    def infer(self, x, offset):
        check_axes(self, (self.axis1, self.axis2), len(x.shape))
        return Meta(tuple(n for i, n in enumerate(x.shape) if i not in (self.axis1, self.axis2)), x.dtype)

    def decompose(self, x, offset):
        return F.sum(F.diagonal(x, axis1=self.axis1, axis2=self.axis2, offset=offset), axes=(x.ndim - 2,))

    def shard(self, x, offset):
        names = factor_names(len(x.shape))
        traced = (names[self.axis1], names[self.axis2])
        return shard_string([names], [[f for f in names if f not in traced]], **dict.fromkeys(traced, "replicated"))

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        yield Sample((draw(rng, (3, 4)),), {"axis1": 0, "axis2": 1})
        yield Sample((draw(rng, (3, 2, 3), dt.complex128),), {"axis1": 2, "axis2": 0}, {"offset": 1})
        yield Sample((draw(rng, (0, 3)),), {"axis1": 0, "axis2": 1}, note="0-size")


# --- einsum --------------------------------------------------------------------------------------------------------


@register
class Einsum(Op):
    """Sums of products over the labels of ``equation`` ("ij,jk->ik"), evaluated from left to right as matmuls.

    "..." stands for dims that broadcast against each other. Without "->", the result has the labels that occur once, in
    alphabetical order.
    """

    inputs = ("*xs",)
    amp = "allow"
    equation: str

    def infer(self, *xs):
        terms, out = parse_equation(self, [len(x.shape) for x in xs])
        extents = self._sizes(terms, xs)
        return Meta(tuple(extents[c] for c in out), same_dtype(self, *xs))

    def _sizes(self, terms, xs):
        """Size of each label; those of "..." broadcast."""
        extents: dict[str, Any] = {}
        for term, x in zip(terms, xs, strict=True):
            for label, n in zip(term, x.shape, strict=True):
                if label not in extents:
                    extents[label] = n
                elif label.startswith("."):
                    extents[label] = broadcast_sizes(self, (extents[label],), (n,))[0]
                else:
                    require(
                        self,
                        extents[label] == n,
                        f"one size for label {label!r} of {self.equation!r}",
                        f"{extents[label]} and {n}",
                    )
        return extents

    def decompose(self, *xs):
        terms, out = parse_equation(self, [x.ndim for x in xs])
        extents = self._sizes(terms, xs)
        left, x = _simplified(terms[0], xs[0], {c for t in (*terms[1:], out) for c in t})
        for i in range(1, len(xs)):
            later = {c for t in (*terms[i + 1 :], out) for c in t}
            right, y = _simplified(terms[i], xs[i], later | set(left))
            left, x = _contract(left, x, right, y, later, extents)
        # What only the first operand had and no one asks for.
        left, x = _simplified(left, x, set(out))
        x = F.permute(x, perm=tuple(left.index(c) for c in out))
        return F.broadcast_to(x, shape=tuple(extents[c] for c in out)) if "..." in self.equation else x

    def shard(self, *xs):
        terms, out = parse_equation(self, [len(x.shape) for x in xs])
        labels = list(dict.fromkeys(c for t in terms for c in t))
        names = dict(zip(labels, factor_names(len(labels)), strict=True))
        own = []
        marks = {names[c]: "sum" for c in labels if c not in out}
        for term, x in zip(terms, xs, strict=True):
            own.append(["1" if isinstance(n, int) and n == 1 else names[c] for c, n in zip(term, x.shape, strict=True)])
            marks.update({names[c]: "replicated" for c in term if term.count(c) > 1})
        cut = {n for names in own for n in names}  # not a label of size 1 in all operands
        return shard_string(own, [[names[c] if names[c] in cut else "1" for c in out]], **marks)

    @staticmethod
    def samples(rng) -> Iterator[Sample]:
        def case(equation, *shapes, dtype=dt.float64, note=""):
            return Sample(tuple(draw(rng, s, dtype) for s in shapes), {"equation": equation}, note=note)

        yield case("ij,jk->ik", (2, 3), (3, 4))
        yield case("bij,bkj->bik", (2, 3, 4), (2, 2, 4))
        yield case("i,j->ij", (2,), (3,))
        yield case("ij->", (2, 3))
        yield case("ij->ji", (2, 3))
        yield case("ii->i", (3, 3))
        yield case("iij,j->i", (2, 2, 3), (3,))
        yield case("ij,jk,kl->il", (2, 3), (3, 2), (2, 4))
        yield case("...ij,...jk->...ik", (2, 1, 2, 3), (3, 3, 2), note="broadcast")
        yield case("ij,ij", (2, 3), (2, 3), note="no arrow")
        yield case("b...,b->...", (2, 3), (2,))
        yield case("ij,kl->", (2, 3), (2, 2))
        yield case("i,i->i", (3,), (3,), dtype=dt.complex128)
        yield case("ik,kj->ij", (0, 3), (3, 2), note="0-size")
        yield case(",i->i", (), (3,), note="0-d")


def parse_equation(op: Op, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand and of the result; a dim of "..." gets a label ".1", ".2", … from the right."""
    text = op.equation.replace(" ", "")
    head, arrow, tail = text.partition("->")
    terms = head.split(",")
    if len(terms) != len(ranks):
        op.fail(ValueError, f"{len(terms)} operands for {op.equation!r}", len(ranks))
    expanded, dots = [], 0
    for term, rank in zip(terms, ranks, strict=True):
        before, ellipsis, after = term.partition("...")
        spare = rank - len(before) - len(after)
        if spare < 0 or (spare and not ellipsis) or (not (before + after).isalpha() and before + after):
            op.fail(
                ValueError, f"a label for each dim in term {term!r} of {op.equation!r}", f"an operand of rank {rank}"
            )
        dots = max(dots, spare)
        expanded.append([*before, *(f".{spare - i}" for i in range(spare)), *after])
    wide = [f".{dots - i}" for i in range(dots)]
    labels = [c for term in expanded for c in term]
    if arrow:
        before, ellipsis, after = tail.partition("...")
        out = [*before, *(wide if ellipsis else ()), *after]
    else:
        out = wide + sorted(c for c in set(labels) if labels.count(c) == 1 and not c.startswith("."))
    if len(set(out)) != len(out) or not set(out) <= set(labels) | set(wide):
        op.fail(ValueError, "labels of the result that occur in the operands, each once", repr(op.equation))
    return expanded, out


def _simplified(term: list, x: Any, needed: set) -> tuple:
    """Diagonals for labels that repeat, sums over labels that nothing else has."""
    term = list(term)
    while len(set(term)) < len(term):
        label = next(c for c in term if term.count(c) > 1)
        a = term.index(label)
        b = term.index(label, a + 1)
        x = F.diagonal(x, axis1=a, axis2=b)
        term = [c for i, c in enumerate(term) if i not in (a, b)] + [label]
    gone = tuple(i for i, c in enumerate(term) if c not in needed)
    if gone:
        x = F.sum(x, axes=gone)
        term = [c for i, c in enumerate(term) if i not in gone]
    return term, x


def _contract(left: list, x: Any, right: list, y: Any, later: set, extents: dict) -> tuple:
    """The product of two operands, summed over the labels they share and nothing later needs."""
    shared = [c for c in left if c in right]
    summed = [c for c in shared if c not in later]
    batch = [c for c in shared if c in later]
    free_x = [c for c in left if c not in right]
    free_y = [c for c in right if c not in left]
    if not summed:
        # An outer or pointwise product: operands aligned, no matmul.
        labels = batch + free_x + free_y
        return labels, F.mul(_aligned(left, x, labels), _aligned(right, y, labels))

    if not (free_x and free_y) and not any(c.startswith(".") for c in summed):
        # Of a vector: a sum, which is as fast, and errs less where it is long.
        labels, last = batch + free_x + free_y, len(batch + free_x + free_y)
        product = F.mul(*(widen(_aligned(term, v, labels + summed)) for term, v in ((left, x), (right, y))))
        return labels, cast_to(F.sum(product, axes=tuple(range(last, last + len(summed)))), x.dtype)

    def matrix(term, v, groups):
        """``v`` permuted to the batch labels and two groups, each group one dim."""
        v = F.permute(v, perm=tuple(term.index(c) for c in (*batch, *groups[0], *groups[1])))
        head = sizes(v)[: len(batch)]  # size 1 where "..." broadcasts
        if any(c.startswith(".") for c in summed):
            wide = head + tuple(
                extents[c] if c in summed else n
                for c, n in zip((*groups[0], *groups[1]), v.shape[len(batch) :], strict=True)
            )
            v = F.broadcast_to(v, shape=wide)
        split = len(batch) + len(groups[0])
        return F.reshape(v, shape=(*head, dim.product(v.shape[len(batch) : split]), dim.product(v.shape[split:])))

    out = F.matmul(matrix(left, x, (free_x, summed)), matrix(right, y, (summed, free_y)))
    rest = tuple(x.shape[left.index(c)] for c in free_x) + tuple(y.shape[right.index(c)] for c in free_y)
    return batch + free_x + free_y, F.reshape(out, shape=sizes(out)[: len(batch)] + rest)


def _aligned(term: list, v: Any, labels: list) -> Any:
    """``v`` with its dims in the order of ``labels`` and size 1 for those it lacks."""
    v = F.permute(v, perm=tuple(term.index(c) for c in labels if c in term))
    missing = tuple(i for i, c in enumerate(labels) if c not in term)
    return F.unsqueeze(v, axes=missing) if missing else v
