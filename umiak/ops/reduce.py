"""Reductions over axes, their argument forms, and the composites built on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    averaged,
    cast_to,
    check_axes,
    count,
    draw,
    in_compute_type,
    moments,
    reduced_shape,
    restore,
    same_dtype,
    shard_reduce,
    sizes,
    vjp_in_compute_type,
    zeros,
)
from umiak.ops.base import Op, OpMeta, Sample, param, register


class Reduction(Op):
    """One operand reduced over ``axes`` (non-negative).

    No axes: nothing is reduced. ``shard_reduction`` names the combination for sharding.
    """

    axes: tuple
    keepdim: bool = False
    kinds: ClassVar[str] = "f"
    shard_reduction: ClassVar[str] = "replicated"
    needs_element: ClassVar[bool] = False  # refuses to reduce a dim of size 0
    lo: ClassVar[float] = -2.0
    hi: ClassVar[float] = 2.0
    sample_params: ClassVar[dict] = {}  # for samples

    def infer(self, x: Meta, *params: Any) -> Meta:
        accept(self, self.kinds, x)
        check_axes(self, self.axes, len(x.shape))
        if self.needs_element and not all(dim.le(1, x.shape[a]) for a in self.axes):
            self.fail(ValueError, "at least one element to reduce", tuple(x.shape))
        return Meta(reduced_shape(x.shape, self.axes, self.keepdim), self.result_dtype(same_dtype(self, x)))

    def result_dtype(self, dtype: DType) -> DType:
        return dtype

    def shard(self, x: Meta, *params: Any) -> str:
        return shard_reduce(x, self.axes, self.keepdim, self.shard_reduction)

    def spread(self, value: Any) -> Any:
        """A result with its reduced dims back, as size 1."""
        return restore(value, self.axes, self.keepdim)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        def case(shape: tuple, axes: tuple, keepdim: bool = False, dtype: DType = dt.float64, **more: Any) -> Sample:
            return Sample(
                (draw(rng, shape, dtype, cls.lo, cls.hi),),
                {"axes": axes, "keepdim": keepdim},
                cls.sample_params,
                **more,
            )

        if "f" in cls.kinds:
            yield case((2, 3), (1,))
            yield case((2, 3), (0,), True)
            yield case((2, 3, 4), (0, 2))
            yield case((2, 3), (0, 1))
            yield case((2, 3), ())
            yield case((), ())
            yield case((0, 3), (1,))
            if not cls.needs_element:
                yield case((0, 3), (0,))
            yield case((3, 2), (0,), dtype=dt.float32)
            yield from (case((3, 4), (1,), dtype=d) for d in (dt.bfloat16, dt.float16))
            x = np.array(
                [[1.0, np.nan, 2.0], [np.inf, 1.0, -np.inf], [np.inf, 1.0, 0.0], [-np.inf, -np.inf, -np.inf]],
                np.float32,
            )
            yield Sample((x,), {"axes": (1,)}, cls.sample_params, (), "NaN and infinities")
        if "i" in cls.kinds:
            yield from (case((2, 3), (1,), dtype=d) for d in (dt.int64, dt.int32, dt.uint8))
        if "c" in cls.kinds:
            yield from (case((2, 3), (0,), dtype=d) for d in (dt.complex128, dt.complex64))
        if "b" in cls.kinds:
            yield from (case((2, 3), axes, k, dt.bool) for axes, k in (((1,), False), ((0, 1), True), ((), False)))
            yield case((0, 2), (0,), dtype=dt.bool)


@register
class Sum(Reduction):
    """The sum; 0 where there is nothing to add. Low-precision floats are added up in float32."""

    kinds = "ifc"
    shard_reduction = "sum"
    linear = True
    amp = "deny"

    def vjp(self, s, g):
        return (F.broadcast_to(self.spread(g), shape=sizes(s.inputs[0])),)


@register
class Prod(Reduction):
    """The product; 1 where there is nothing to multiply."""

    kinds = "ifc"
    shard_reduction = "prod"
    amp = "deny"

    def vjp(self, s, g):
        # Each element's derivative is the product of the others: of those before it times those after it. Dividing the
        # whole by the element would fail at zeros. Several axes are taken one after the other.
        partial = [s.inputs[0]]
        for a in self.axes:
            partial.append(F.prod(partial[-1], axes=(a,), keepdim=True))
        g = self.spread(g)
        for a, x in zip(reversed(self.axes), reversed(partial[:-1]), strict=True):
            before = F.cumprod(x, axis=a, exclusive=True)
            after = F.cumprod(x, axis=a, exclusive=True, reverse=True)
            others = F.mul(before, after)
            g = F.mul(g, F.conj(others) if x.dtype.is_complex else others)
        return (g,)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from super().samples(rng)
        for zeros_at in ((0,), (0, 2)):
            x = draw(rng, (2, 3), lo=0.5)
            x[0, zeros_at] = 0
            yield Sample((x,), {"axes": (1,)}, note="zeros")


class Extremum(Reduction):
    """The largest or smallest; NaN where there is one.

    Its gradient goes in equal parts to all elements that reach it. ``empty``: of no elements it is what any element
    exceeds; otherwise it is refused.
    """

    kinds = "if"
    empty: bool = False

    @property
    def needs_element(self):
        return not self.empty

    def vjp(self, s, g):
        x = s.inputs[0]
        hit = F.eq(x, self.spread(s.outputs[0]))
        hits = F.sum(F.cast(hit, dtype=x.dtype), axes=self.axes, keepdim=True)
        return (F.where(hit, F.div(self.spread(g), hits), 0),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from super().samples(rng)
        for shape in ((2, 3), (0, 3), (2, 0)):
            yield Sample((draw(rng, shape),), {"axes": (0,), "keepdim": True, "empty": True})


@register
class Max(Extremum):
    """The largest element; NaN if there is one. Ties share the gradient equally."""

    shard_reduction = "max"


@register
class Min(Extremum):
    """The smallest element; NaN if there is one. Ties share the gradient equally."""

    shard_reduction = "min"


def logical(name: str, doc: str, reduction: str) -> type[Op]:
    """Define an op that reduces bools."""
    return register(
        OpMeta(
            name,
            (Reduction,),
            {"__doc__": doc, "__module__": __name__, "kinds": "b", "shard_reduction": reduction, "vjp": None},
        )
    )


AnyOf = logical("Any", "Whether one is true", "any")
AllOf = logical("All", "Whether none is false", "all")


class ArgExtremum(Op):
    """The index, along ``axis``, of the extremum: of the first NaN if there is one, else of the first that reaches
    it.
    """

    vjp = None
    axis: int
    keepdim: bool = False
    dtype: Any = dt.int64

    def infer(self, x):
        accept(self, "bif", x)
        check_axes(self, (self.axis,), len(x.shape))
        if not self.dtype.is_integer:
            self.fail(TypeError, "an integer dtype for the index", self.dtype.name)
        if not dim.le(1, x.shape[self.axis]):
            self.fail(ValueError, "at least one element to choose from", tuple(x.shape))
        return Meta(reduced_shape(x.shape, (self.axis,), self.keepdim), self.dtype)

    def shard(self, x):
        return shard_reduce(x, (self.axis,), self.keepdim, "replicated")

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        yield Sample((draw(rng, (2, 3)),), {"axis": 1})
        yield Sample((draw(rng, (4, 2), dt.float32),), {"axis": 0, "keepdim": True, "dtype": dt.int32})
        yield Sample((np.array([1.0, 3.0, np.nan, 3.0, np.nan], np.float32),), {"axis": 0}, note="NaN")
        yield Sample((np.array([3, 1, 3, 1]),), {"axis": 0}, note="ties")
        yield Sample((draw(rng, (0, 3)),), {"axis": 1}, note="0-size")
        yield Sample((draw(rng, (3,), dt.bfloat16),), {"axis": 0})
        yield Sample((draw(rng, (3,), dt.bool),), {"axis": 0})


@register
class Argmax(ArgExtremum):
    """The index of the largest element along ``axis``: the first of equals, the first NaN if there is one."""


@register
class Argmin(ArgExtremum):
    """The index of the smallest element along ``axis``: the first of equals, the first NaN if there is one."""


# --- composites ----------------------------------------------------------------------------------------------------


@register
class Mean(Reduction):
    """The mean; NaN of nothing."""

    kinds = "fc"
    linear = True
    amp = "deny"
    shard_reduction = "avg"

    def multiply_adds(self, operands, outs):
        # Pooling to one point is this; other means have additions alone.
        x = operands[0]
        pools = self.keepdim and len(x.shape) > 2 and tuple(self.axes) == tuple(range(2, len(x.shape)))
        return averaged(x.shape[2:], outs[0]) if pools else 0

    @in_compute_type
    def decompose(self, x):
        return F.div(F.sum(x, axes=self.axes, keepdim=self.keepdim), count(x, self.axes))


@register
class Logsumexp(Reduction):
    """log(sum(exp(x))), without overflow; -inf where there is nothing to add."""

    amp = "deny"

    @in_compute_type
    def decompose(self, x):
        top = F.max(x, axes=self.axes, keepdim=True, empty=True)
        top = F.where(F.isfinite(top), top, 0)
        total = F.log(F.sum(F.exp(F.sub(x, top)), axes=self.axes, keepdim=True))
        out = F.add(total, top)
        return out if self.keepdim or not self.axes else F.squeeze(out, axes=self.axes)

    @vjp_in_compute_type
    def vjp(self, s, g):
        y = self.spread(s.outputs[0])
        # Where everything is -inf, so is y, and every weight is 0.
        y = F.where(F.eq(y, -np.inf), 0, y)
        return (F.mul(self.spread(g), F.exp(F.sub(s.inputs[0], y))),)


class VarianceBase(Reduction):
    """Variance and its root, with ``n - correction`` in the denominator."""

    amp = "deny"
    correction: float = param(default=1.0)


@register
class Var(VarianceBase):
    """The variance, with ``n - correction`` in the denominator."""

    @in_compute_type
    def decompose(self, x, correction):
        out = F.div(moments(x, self.axes)[1], dim.maximum(dim.to_float(count(x, self.axes)) - correction, 0.0))
        return out if self.keepdim or not self.axes else F.squeeze(out, axes=self.axes)

    @vjp_in_compute_type
    def vjp(self, s, g):
        x = s.inputs[0]
        # The mean depends on x too, but the deviations sum to 0, so that path contributes nothing.
        scaled = F.div(F.mul(self.spread(g), 2), dim.to_float(count(x, self.axes)) - s.params.correction)
        return (F.mul(scaled, F.sub(x, F.mean(x, axes=self.axes, keepdim=True))),)

    sample_params = {"correction": 0.5}


@register
class Std(VarianceBase):
    """The standard deviation, with ``n - correction`` in the denominator."""

    sample_params = {"correction": 0.5}

    @in_compute_type
    def decompose(self, x, correction):
        variance = F.var(x, self.axes, self.keepdim, correction)
        # Of equal elements the gradient is 0, where that of the root is infinite. NaN stays.
        spread = F.gt(variance, 0)
        return F.where(spread, F.sqrt(F.where(spread, variance, 1)), variance)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        return (s for s in super().samples(rng) if s.attrs["axes"])


@register
class VectorNorm(Reduction):
    """The norm of the elements over ``axes``.

    ``ord``: "1", "2", "inf", "-inf", "0" (how many are not zero), or "p" with the power ``p``.
    """

    kinds = "fc"
    amp = "deny"
    ord: str = "2"
    p: float = param(default=2.0)

    def result_dtype(self, dtype):
        return dtype.real

    @in_compute_type
    def decompose(self, x, p):
        options = {"axes": self.axes, "keepdim": self.keepdim}
        if self.ord == "0":
            return F.sum(F.cast(F.ne(x, 0), dtype=x.dtype.real), **options)
        a = F.abs(x)
        if self.ord == "inf":  # of nothing it is 0
            return F.maximum(F.max(a, **options, empty=True), 0)
        if self.ord == "-inf":
            return F.min(a, **options)
        if self.ord == "1":
            return F.sum(a, **options)
        if self.ord == "2":
            return F.sqrt(F.sum(F.mul(a, a), **options))
        return F.pow(F.sum(F.pow(a, p), **options), 1.0 / p)

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, y = s.inputs[0], self.spread(s.outputs[0])
        if self.ord == "0":
            return (zeros(x),)
        g, a = self.spread(g), F.abs(x)
        if self.ord in ("inf", "-inf"):
            hit = F.eq(a, y)
            rate = F.where(hit, F.div(g, F.sum(F.cast(hit, dtype=a.dtype), axes=self.axes, keepdim=True)), 0)
        elif self.ord == "1":
            rate = g
        else:
            # At the origin the norm has a kink; its gradient there is taken as 0.
            ratio = F.div(a, F.where(F.eq(y, 0), 1, y))
            # A second derivative passes through x**(p-1) at 0, which is where the pow rule needs the power.
            rate = F.mul(g, ratio if self.ord == "2" else F.pow(ratio, s.params.p - 1.0))
        direction = F.sign(x)
        return (F.mul(F.complex(F.broadcast_to(rate, shape=sizes(x)), 0.0) if x.dtype.is_complex else rate, direction),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for order in ("0", "1", "2", "inf", "-inf", "p"):
            x = draw(rng, (2, 3), avoid=(0.0,))
            yield Sample((x,), {"axes": (1,), "ord": order}, {"p": 3.0})
            yield Sample((x,), {"axes": (0, 1), "keepdim": True, "ord": order}, {"p": 1.5})
        yield Sample((draw(rng, (2, 2), dt.complex128),), {"axes": (1,)})
        yield Sample((draw(rng, (3, 2), dt.bfloat16),), {"axes": (0,)})
        yield Sample((draw(rng, (0, 2), dt.float32),), {"axes": (0,)})
        yield Sample((draw(rng, ()),), {"axes": ()}, note="0-d")


@register
class CountNonzero(Reduction):
    """Number of elements that are not zero."""

    kinds = "bifc"
    shard_reduction = "sum"
    vjp = None

    def result_dtype(self, dtype):
        return dt.int64

    def decompose(self, x):
        nonzero = F.ne(x, False) if x.dtype.is_bool else F.ne(x, 0)
        return F.sum(F.cast(nonzero, dtype=dt.int64), axes=self.axes, keepdim=self.keepdim)


@register
class WideSum(Reduction):
    """The sum of integers in int64, without a copy of them in int64."""

    kinds = "i"
    shard_reduction = "sum"
    linear = True
    vjp = None

    def result_dtype(self, dtype):
        return dt.int64

    def decompose(self, x):
        return F.sum(F.cast(x, dtype=dt.int64), axes=self.axes, keepdim=self.keepdim)


@register
class Nansum(Reduction):
    """The sum of the elements that are not NaN."""

    kinds = "fc"
    shard_reduction = "sum"
    amp = "deny"

    @in_compute_type
    def decompose(self, x):
        return F.sum(F.where(F.isnan(x), 0, x), axes=self.axes, keepdim=self.keepdim)


@register
class Nanmean(Reduction):
    """The mean of the elements that are not NaN."""

    kinds = "fc"
    amp = "deny"

    @in_compute_type
    def decompose(self, x):
        there = cast_to(F.logical_not(F.isnan(x)), x.dtype)
        options = {"axes": self.axes, "keepdim": self.keepdim}
        return F.div(F.nansum(x, **options), F.sum(there, **options))
