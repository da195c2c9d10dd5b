"""Windows sliding over the last ``n`` dims, and pooling built on them. Leading dims (batch, channels) pass through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    averaged,
    draw,
    elements,
    factor_names,
    in_compute_type,
    same_shape,
    shard_except,
    shard_string,
    sizes,
    zeros,
)
from umiak.ops.base import Op, Sample, param, register


def window_sizes(op: Any, spatial: Any, kernel: Any, strides: Any, lo: Any, hi: Any, dilations: Any) -> tuple:
    """Return the number of windows along each dim."""
    out = []
    for s, k, t, a, b, d in zip(spatial, kernel, strides, lo, hi, dilations, strict=True):
        reach = d * (k - 1) + 1
        if not (dim.le(1, k) and dim.le(1, t) and dim.le(1, d)):
            op.fail(ValueError, "kernel, strides and dilations of 1 or more", f"{kernel}, {strides} and {dilations}")
        if not dim.le(reach, s + a + b):
            op.fail(ValueError, f"a window of at most {s + a + b} (size {s} with pads {a} and {b})", reach)
        out.append((s + a + b - reach) // t + 1)
    return tuple(out)


def flatten(x: Any, n: int) -> Any:
    """The last ``n`` dims as one."""
    return F.reshape(x, shape=(*sizes(x)[: x.ndim - n], dim.product(sizes(x)[x.ndim - n :])))


class Windowed(Op):
    """Shared by ops over the last ``n`` dims."""

    n: int

    def split(self, x: Any) -> tuple[tuple, tuple]:
        """Leading and windowed sizes."""
        if len(x.shape) < self.n:
            self.fail(ValueError, f"rank {self.n} or more", tuple(x.shape))
        cut = len(x.shape) - self.n
        return tuple(x.shape[:cut]), tuple(x.shape[cut:])

    def axes(self, x: Any) -> tuple:
        return tuple(range(len(x.shape) - self.n, len(x.shape)))

    def shard(self, x, *params):
        names = factor_names(len(x.shape))
        out = names[: len(names) - self.n] + ["1"] * self.n
        results = 2 if "dtype" in self.static_fields else 1
        return shard_string([names], [out] * results, **{names[a]: "replicated" for a in self.axes(x)})


class Sliding(Windowed):
    """Windows with a kernel, strides, pads and dilations, one number for each windowed dim."""

    kernel: tuple = param("ints")
    strides: tuple = param("ints")  # type: ignore[misc]  # a param, not the rule of a view
    pads_lo: tuple = param("ints")
    pads_hi: tuple = param("ints")
    dilations: tuple = param("ints")

    def windows(self, x: Any, *params: Any) -> tuple:
        lead, spatial = self.split(x)
        if not all(len(p) == self.n for p in params):
            self.fail(ValueError, f"{self.n} numbers for each windowed dim", params)
        return lead + window_sizes(self, spatial, *params)

    @classmethod
    def cases(cls, rng: Any, extra: dict | None = None, spread: bool = False) -> Iterator[Sample]:
        """Samples with the params of sliding windows; ``spread`` gives the transposed op its operand and sizes."""
        rows: tuple[tuple, ...] = (
            ((2, 3, 6), (3,), (2,), (0,), (0,), (1,), dt.float64),
            ((1, 2, 5, 4), (3, 2), (2, 1), (1, 0), (1, 1), (1, 2), dt.float64),
            ((1, 5), (2,), (3,), (1,), (1,), (1,), dt.float32),
            ((1, 1, 3, 3, 4), (2, 2, 3), (1, 2, 1), (0, 1, 1), (0, 1, 1), (1, 1, 1), dt.float64),
            ((0, 2, 4), (2,), (2,), (0,), (0,), (1,), dt.float32),
            ((2, 7), (3,), (1,), (1,), (1,), (1,), dt.bfloat16),
        )
        for shape, k, t, lo, hi, d, dtype in rows:
            params = {"kernel": k, "strides": t, "pads_lo": lo, "pads_hi": hi, "dilations": d}
            n, cut = len(k), len(shape) - len(k)
            if spread:
                params["sizes"] = shape[cut:]
                shape = (*shape[:cut], *window_sizes(None, shape[cut:], k, t, lo, hi, d))
            # Distinct values: no ties for a maximum.
            x = (rng.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 3).astype(dtype.numpy)
            yield Sample((x,), {"n": n, **(extra or {})}, params)


@register
class WindowReduce(Sliding):
    """Each window summed or its largest element taken (``kind``: "sum" or "max"). Pads hold 0 or the lowest value."""

    kind: str

    def infer(self, x, kernel, strides, pads_lo, pads_hi, dilations):
        accept(self, "ifc" if self.kind == "sum" else "if", x)
        return Meta(self.windows(x, kernel, strides, pads_lo, pads_hi, dilations), x.dtype)

    def forward_train(self, needs, x, *params):
        if self.kind == "sum":
            return F.window_reduce(x, self.n, self.kind, *params), ()
        y, where = F.max_pool(x, self.n, dt.int64, *params)
        return y, (where,)

    def vjp(self, s, g):
        x, p = s.inputs[0], s.params
        if self.kind == "sum":
            return (F.window_spread(g, self.n, *p, sizes(x)[x.ndim - self.n :]),)
        return (scatter_back(g, s.residuals[0], x, self.n),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, {"kind": "sum"})
        yield from cls.cases(rng, {"kind": "max"})
        one = {"kernel": (2,), "strides": (1,), "pads_lo": (0,), "pads_hi": (0,), "dilations": (1,)}
        for dtype in (dt.int32, dt.float32):
            yield Sample((draw(rng, (2, 4), dtype),), {"n": 1, "kind": "sum"}, one)
        for kind in ("sum", "max"):
            yield Sample(
                (np.array([[1.0, np.nan, 2.0, -np.inf, -np.inf]], np.float32),), {"n": 1, "kind": kind}, one, (), "NaN"
            )
            beyond = {**one, "pads_hi": (2,)}
            yield Sample((draw(rng, (1, 3)),), {"n": 1, "kind": kind}, beyond, (), "a window of pads alone")


def scatter_back(g: Any, where: Any, x: Any, n: int) -> Any:
    """Gradients of maxima go to the elements they came from, given by flat index."""
    flat = F.scatter_along(flatten(zeros(x), n), flatten(where, n), flatten(g, n), axis=x.ndim - n, mode="add")
    return F.reshape(flat, shape=sizes(x))


@register
class WindowSpread(Sliding):
    """The transpose of a window sum: every element is added to all positions, of ``sizes``, that its window covers."""

    linear = True
    sizes: tuple = param("ints")

    def infer(self, x, kernel, strides, pads_lo, pads_hi, dilations, sizes):
        accept(self, "ifc", x)
        lead, spatial = self.split(x)
        expected = window_sizes(self, sizes, kernel, strides, pads_lo, pads_hi, dilations)
        same_shape(self, expected, spatial, "as many elements as there are windows")
        return Meta(lead + tuple(sizes), x.dtype)

    def vjp(self, s, g):
        return (F.window_reduce(g, self.n, "sum", *tuple(s.params)[:-1]),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng, spread=True)


def chosen_vjp(self: Any, s: Any, g: Any, _: Any) -> tuple:
    """For ops whose second output is the flat index of the chosen element."""
    return (None if g is None else scatter_back(g, s.outputs[1], s.inputs[0], self.n),)


@register
class MaxPool(Sliding):
    """The largest of each window, and its flat index over the windowed dims: the first of equals, the first NaN if
    there is one.
    """

    dtype: Any = dt.int64
    vjp = chosen_vjp

    def infer(self, x, kernel, strides, pads_lo, pads_hi, dilations):
        accept(self, "if", x)
        shape = self.windows(x, kernel, strides, pads_lo, pads_hi, dilations)
        return Meta(shape, x.dtype), Meta(shape, self.dtype)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from cls.cases(rng)
        one = {"kernel": (2,), "strides": (1,), "pads_lo": (0,), "pads_hi": (0,), "dilations": (1,)}
        yield Sample((np.array([[1.0, np.nan, 2.0, -np.inf, -np.inf]], np.float32),), {"n": 1}, one, (), "NaN")
        yield Sample((np.array([[3, 3, 1, 1, 5]]),), {"n": 1, "dtype": dt.int32}, one, note="ties")


# --- adaptive pooling ----------------------------------------------------------------------------------------------
# Region i of ``m`` over ``n`` positions reaches from floor(i*n/m) to ceil((i+1)*n/m). Regions may overlap.


class Adaptive(Windowed):
    sizes: tuple = param("ints")

    def regions(self, x: Any, sizes: Any) -> tuple:
        lead, spatial = self.split(x)
        if len(sizes) != self.n:
            self.fail(ValueError, f"{self.n} sizes", tuple(sizes))
        if not all(dim.le(1, n) for n in (*spatial, *sizes)):
            self.fail(ValueError, "sizes of 1 or more", f"{spatial} into {tuple(sizes)}")
        return lead + tuple(sizes)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, out, dtype in (
            ((2, 3, 6), (3,), dt.float64),
            ((1, 2, 5, 4), (3, 4), dt.float64),
            ((2, 3), (5,), dt.float64),
            ((1, 1, 3, 3, 4), (2, 1, 3), dt.float32),
            ((0, 2, 4), (2,), dt.float32),
            ((2, 7), (3,), dt.bfloat16),
        ):
            x = (rng.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 3).astype(dtype.numpy)
            yield Sample((x,), {"n": len(out)}, {"sizes": out})


@register
class AdaptiveSum(Adaptive):
    """The sum of each of ``sizes`` regions, which divide the windowed dims as evenly as may be."""

    linear = True

    def infer(self, x, sizes):
        accept(self, "fc", x)
        return Meta(self.regions(x, sizes), x.dtype)

    def vjp(self, s, g):
        return (F.adaptive_spread(g, self.n, self.split(s.inputs[0])[1]),)


@register
class AdaptiveSpread(Adaptive):
    """The transpose of :class:`AdaptiveSum`: every element is added to all positions, of ``sizes``, of its region."""

    linear = True

    def infer(self, x, sizes):
        accept(self, "fc", x)
        return Meta(self.regions(x, sizes), x.dtype)

    def vjp(self, s, g):
        return (F.adaptive_sum(g, self.n, self.split(s.inputs[0])[1]),)


@register
class AdaptiveMaxPool(Adaptive):
    """The largest of each region of :class:`AdaptiveSum`, and its flat index over the windowed dims."""

    dtype: Any = dt.int64
    vjp = chosen_vjp

    def infer(self, x, sizes):
        accept(self, "if", x)
        shape = self.regions(x, sizes)
        return Meta(shape, x.dtype), Meta(shape, self.dtype)


# --- composites ----------------------------------------------------------------------------------------------------


@register
class AdaptiveAvgPool(Adaptive):
    """The mean of each region of :class:`AdaptiveSum`."""

    def multiply_adds(self, operands, outs):
        return averaged(operands[0].shape[2:], outs[0])

    def infer(self, x, sizes):
        accept(self, "f", x)
        return Meta(self.regions(x, sizes), x.dtype)

    @in_compute_type
    def decompose(self, x, sizes):
        _, spatial = self.split(x)
        out = F.adaptive_sum(x, self.n, sizes)
        for axis, n, m in zip(self.axes(x), spatial, sizes, strict=True):
            i = F.iota(0, 1, dtype=dt.int64, size=m)
            start = F.floor_div(F.mul(i, n), m)
            stop = F.floor_div(F.add(F.mul(F.add(i, 1), n), m - 1), m)
            length = F.cast(F.sub(stop, start), dtype=x.dtype)
            out = F.div(out, F.reshape(length, shape=(m, *(1,) * (x.ndim - 1 - axis))))
        return out


@register
class AvgPool(Sliding):
    """The mean of each window. Pads count as zeros, or not at all with ``exclusive``.

    ``extra_hi`` widens the high pads so that a last, partial window fits (ceil mode); it never counts. Without
    ``padded`` there are no pads of either kind.
    """

    exclusive: bool = True
    padded: bool = True
    extra_hi: tuple = param("ints")

    def multiply_adds(self, operands, outs):
        return elements(outs[0])

    def infer(self, x, kernel, strides, pads_lo, pads_hi, dilations, extra_hi):
        accept(self, "f", x)
        return Meta(self.windows(x, kernel, strides, pads_lo, _plus(pads_hi, extra_hi), dilations), x.dtype)

    @in_compute_type
    def decompose(self, x, kernel, strides, pads_lo, pads_hi, dilations, extra_hi):
        hi = _plus(pads_hi, extra_hi)
        total = F.window_reduce(x, self.n, "sum", kernel, strides, pads_lo, hi, dilations)
        if not self.padded:
            return F.div(total, dim.product(kernel))
        # Counting windows over ones says how many positions each mean is of.
        _, ones = self.split(x)
        if self.exclusive:
            lo = pads_lo
        else:
            ones, lo, hi = _plus(_plus(ones, pads_lo), pads_hi), (0,) * self.n, extra_hi
        count = F.window_reduce(F.full(1, dtype=x.dtype, shape=ones), self.n, "sum", kernel, strides, lo, hi, dilations)
        return F.div(total, count)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for exclusive in (True, False):
            for sample in cls.cases(rng, {"exclusive": exclusive}):
                none = (0,) * sample.attrs["n"]
                yield Sample(sample.inputs, sample.attrs, {**sample.params, "extra_hi": none})
                if not any(sample.params["pads_lo"] + sample.params["pads_hi"]):
                    attrs = {**sample.attrs, "padded": False}
                    yield Sample(sample.inputs, attrs, {**sample.params, "extra_hi": none}, note="no pads")
        ceil = {"kernel": (3,), "strides": (2,), "pads_lo": (1,), "pads_hi": (1,), "dilations": (1,), "extra_hi": (1,)}
        for exclusive in (True, False):
            yield Sample((draw(rng, (1, 6)),), {"n": 1, "exclusive": exclusive}, ceil, note="ceil mode")


def _plus(a: Any, b: Any) -> tuple:
    return tuple(m + n for m, n in zip(a, b, strict=True))


@register
class LpPool(Sliding):
    """(sum of x**p over each window) ** (1/p)."""

    p: float = param()

    def infer(self, x, kernel, strides, pads_lo, pads_hi, dilations, p):
        accept(self, "f", x)
        return Meta(self.windows(x, kernel, strides, pads_lo, pads_hi, dilations), x.dtype)

    @in_compute_type
    def decompose(self, x, kernel, strides, pads_lo, pads_hi, dilations, p):
        total = F.window_reduce(F.pow(x, p), self.n, "sum", kernel, strides, pads_lo, pads_hi, dilations)
        return F.pow(total, 1.0 / p)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for sample in cls.cases(rng):
            x = np.abs(sample.inputs[0].astype(np.float64)) % 2 + 0.5
            yield Sample((x.astype(sample.inputs[0].dtype),), sample.attrs, {**sample.params, "p": 3.0})


@register
class MaxUnpool(Windowed):
    """The inverse of max pooling: each value at its flat ``index`` over the windowed dims of ``sizes``, zeros
    elsewhere.
    """

    inputs = ("x", "index")
    sizes: tuple = param("ints")

    def infer(self, x, index, sizes):
        accept(self, "i", index)
        same_shape(self, x.shape, index.shape)
        return Meta(self.split(x)[0] + tuple(sizes), x.dtype)

    def decompose(self, x, index, sizes):
        lead, _ = self.split(x)
        empty = F.full(0, dtype=x.dtype, shape=(*lead, dim.product(sizes)))
        # Two windows may have found their maximum at one position: either write leaves the same value there.
        flat = F.scatter_along(empty, flatten(index, self.n), flatten(x, self.n), axis=len(lead), mode="set")
        return F.reshape(flat, shape=(*lead, *sizes))

    def vjp(self, s, g):
        index = flatten(s.inputs[1], self.n)
        return F.reshape(F.take_along(flatten(g, self.n), index, axis=g.ndim - self.n), shape=sizes(s.inputs[0])), None

    def shard(self, x, index, sizes):
        names = factor_names(len(x.shape))
        replicated = {names[a]: "replicated" for a in self.axes(x)}
        return shard_string([names, names], [names[: len(names) - self.n] + ["1"] * self.n], **replicated)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, out in (((2, 3), (7,)), ((1, 2, 2, 2), (3, 4)), ((0, 2, 2), (5,))):
            n = len(out)
            lead, count = shape[: len(shape) - n], int(np.prod(shape[len(shape) - n :]))
            rows = [rng.permutation(int(np.prod(out)))[:count] for _ in range(int(np.prod(lead)))]
            index = np.array(rows, np.int64).reshape(shape)
            yield Sample((draw(rng, shape), index), {"n": n}, {"sizes": out})


@register
class LocalResponseNorm(Op):
    """x / (k + alpha*mean of squares over ``size`` neighbours along ``axis``) ** beta."""

    amp = "deny"
    axis: int
    size: int = param("int")
    alpha: float = param(default=1e-4)
    beta: float = param(default=0.75)
    k: float = param(default=1.0)

    def infer(self, x, size, alpha, beta, k):
        accept(self, "f", x)
        if not 0 <= self.axis < len(x.shape):
            self.fail(IndexError, f"an axis from 0 to {len(x.shape) - 1}", self.axis)
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x, size, alpha, beta, k):
        n, last = x.ndim, x.ndim - 1
        perm = (*(i for i in range(n) if i != self.axis), self.axis)
        squares = F.permute(F.mul(x, x), perm=perm)
        one = (1,)
        total = F.window_reduce(squares, 1, "sum", (size,), one, (size // 2,), ((size - 1) // 2,), one)
        inverse = tuple(perm.index(i) for i in range(n)) if last else (0,)
        scale = F.add(F.mul(F.permute(total, perm=inverse), alpha / size), k)
        return F.mul(x, F.pow(scale, -beta))

    def shard(self, x, *params):
        return shard_except(x, (self.axis,))

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, size in (((2, 4, 3), 1, 3), ((2, 5), 1, 2), ((3,), 0, 3), ((0, 3, 2), 1, 3)):
            yield Sample((draw(rng, shape),), {"axis": axis}, {"size": size, "alpha": 0.1})
