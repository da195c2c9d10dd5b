"""Scans: every prefix of an axis reduced.

``reverse`` runs from the end; ``exclusive`` leaves out the element itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dtype import DType
from umiak.ir.meta import Meta
from umiak.ops._common import (
    accept,
    check_axes,
    conj,
    draw,
    factor_names,
    same_dtype,
    same_shape,
    shard_except,
    shard_string,
    vjp_in_compute_type,
    zeros,
)
from umiak.ops.base import Op, Sample, register


def shift(x: Any, axis: int, backward: bool) -> Any:
    """``x`` moved one position along ``axis``, towards the end or (``backward``) the start.

    A 0 comes in, one element falls out.
    """
    one = tuple(1 if i == axis else 0 for i in range(x.ndim))
    none = (0,) * x.ndim
    padded = F.pad(x, 0, lo=none if backward else one, hi=one if backward else none)
    return F.slice(padded, axes=(axis,), starts=(1 if backward else 0,), sizes=(x.shape[axis],), steps=(1,))


class Scan(Op):
    """One operand; the result has its shape."""

    axis: int
    reverse: bool = False
    exclusive: bool = False
    kinds: ClassVar[str] = "ifc"

    def infer(self, x: Meta) -> Meta:
        accept(self, self.kinds, x)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(x.shape, x.dtype)

    def shard(self, x: Meta) -> str:
        return shard_except(x, (self.axis,))

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        def case(
            shape: tuple,
            axis: int = 0,
            reverse: bool = False,
            exclusive: bool = False,
            dtype: DType = dt.float64,
            **more: Any,
        ) -> Sample:
            return Sample(
                (draw(rng, shape, dtype),), {"axis": axis, "reverse": reverse, "exclusive": exclusive}, **more
            )

        for reverse in (False, True):
            for exclusive in (False, True):
                yield case((2, 4), 1, reverse, exclusive)
        yield case((3, 2, 2))
        yield case((1,), exclusive=True)
        yield case((0, 2), exclusive=True)
        yield case((2, 0), 1)
        yield case((4,), dtype=dt.float32)
        yield case((4,), dtype=dt.bfloat16)
        x = np.array([1.0, np.inf, 2.0, -np.inf, 1.0, np.nan, 3.0], np.float32)
        yield Sample((x,), {"axis": 0}, differentiable=(), note="NaN and infinities")
        if "i" in cls.kinds:
            yield case((2, 3), 1, dtype=dt.int64)
            yield case((3,), reverse=True, dtype=dt.int32)
        if "c" in cls.kinds:
            yield case((4,), dtype=dt.complex128)


@register
class Cumsum(Scan):
    """Running sums."""

    linear = True
    amp = "deny"

    def vjp(self, s, g):
        return (F.cumsum(g, axis=self.axis, reverse=not self.reverse, exclusive=self.exclusive),)


@register
class Cumprod(Scan):
    """Running products."""

    amp = "deny"

    def vjp(self, s, g):
        # With E the product of what precedes k: dx[k] = E[k] * S[k], S[k] = sum over i >= k of g[i] * (x between k
        # and i), which obeys S[k] = g[k] + x[k+1] S[k+1]: no division, so zeros are no trouble.
        x, a = s.inputs[0], self.axis
        if self.exclusive:
            g = shift(g, a, backward=not self.reverse)
        before = F.cumprod(x, axis=a, reverse=self.reverse, exclusive=True)
        following = shift(x, a, backward=not self.reverse)
        return (F.mul(conj(before), F.linear_scan(conj(following), g, axis=a, reverse=not self.reverse)),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        yield from super().samples(rng)
        x = draw(rng, (2, 5), lo=0.5)
        x[0, 1] = x[1, 0] = x[1, 3] = 0
        for reverse in (False, True):
            yield Sample((x,), {"axis": 1, "reverse": reverse}, note="zeros")


@register
class LinearScan(Op):
    """y[i] = a[i]*y[i-1] + b[i] along ``axis``, from y = 0.

    With ``reverse``, from the end: y[i] = a[i]*y[i+1] + b[i].
    """

    inputs = ("a", "b")
    linear = ("b",)
    axis: int
    reverse: bool = False

    def infer(self, a, b):
        accept(self, "fc", a, b)
        same_shape(self, a.shape, b.shape)
        check_axes(self, (self.axis,), len(a.shape))
        return Meta(a.shape, same_dtype(self, a, b))

    def vjp(self, s, g):
        a, y = s.inputs[0], s.outputs[0]
        following = shift(conj(a), self.axis, backward=not self.reverse)
        db = F.linear_scan(following, g, axis=self.axis, reverse=not self.reverse)
        return F.mul(db, conj(shift(y, self.axis, backward=self.reverse))), db

    def shard(self, a, b):
        names = factor_names(len(a.shape))
        return shard_string([names, names], [names], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, reverse, dtype in (
            ((2, 4), 1, False, dt.float64),
            ((2, 4), 1, True, dt.float64),
            ((3, 2), 0, False, dt.float32),
            ((0, 2), 0, False, dt.float64),
            ((3,), 0, True, dt.complex128),
            ((4,), 0, False, dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype), draw(rng, shape, dtype)), {"axis": axis, "reverse": reverse})


class CumExtremum(Op):
    """Running extrema and their indices along ``axis``: the latest of equals. From the first NaN on, NaN."""

    axis: int
    reverse: bool = False
    dtype: Any = dt.int64

    def infer(self, x):
        accept(self, "if", x)
        check_axes(self, (self.axis,), len(x.shape))
        if not self.dtype.is_integer:
            self.fail(TypeError, "an integer dtype for the index", self.dtype.name)
        return Meta(x.shape, x.dtype), Meta(x.shape, self.dtype)

    def vjp(self, s, g, _):
        if g is None:
            return (None,)
        return (F.scatter_along(zeros(s.inputs[0]), s.outputs[1], g, axis=self.axis, mode="add"),)

    def shard(self, x):
        return shard_except(x, (self.axis,), results=2)

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, reverse, dtype in (
            ((2, 5), 1, False, dt.float64),
            ((5, 2), 0, True, dt.float64),
            ((4,), 0, False, dt.float32),
            ((0, 2), 0, False, dt.float64),
            ((4,), 0, False, dt.int64),
            ((4,), 0, False, dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype),), {"axis": axis, "reverse": reverse})
        yield Sample((np.array([2, 1, 2, 3, 3, 0]),), {"axis": 0, "dtype": dt.int32}, note="ties")
        yield Sample(
            (np.array([2.0, np.nan, 3.0, np.nan, 1.0], np.float32),), {"axis": 0}, differentiable=(), note="NaN"
        )


@register
class Cummax(CumExtremum):
    """Running maxima and their indices along ``axis``: the latest of equals. From the first NaN on, NaN."""


@register
class Cummin(CumExtremum):
    """Running minima and their indices along ``axis``: the latest of equals. From the first NaN on, NaN."""


@register
class LogCumsumExp(Scan):
    """Logarithms of running sums of exp(x), without overflow; -inf where nothing is summed."""

    kinds = "f"
    amp = "deny"

    @vjp_in_compute_type
    def vjp(self, s, g):
        # dx[j] = sum over i >= j of g[i] exp(x[j] - y[i]). With D[j] = sum of g[i] exp(y[j] - y[i]) it is
        # exp(x[j] - y[j]) D[j], and D obeys D[j] = g[j] + exp(y[j] - y[j+1]) D[j+1], whose factors stay below 1.
        x, a = s.inputs[0], self.axis
        y = s.outputs[0]
        if self.exclusive:
            y = F.log_cumsum_exp(x, axis=a, reverse=self.reverse)
            g = shift(g, a, backward=not self.reverse)
        # Where y is -inf nothing was summed before: those terms are 0.
        safe = F.where(F.eq(y, -np.inf), 0, y)
        # The minimum is for the last factor, which multiplies nothing but must not be infinite.
        decay = F.exp(F.minimum(F.sub(y, shift(safe, a, backward=not self.reverse)), 0))
        sums = F.linear_scan(decay, g, axis=a, reverse=not self.reverse)
        return (F.mul(F.exp(F.sub(x, safe)), sums),)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        # The exclusive forms start with -inf, which no finite difference survives.
        for sample in super().samples(rng):
            yield replace(sample, differentiable=()) if sample.attrs.get("exclusive") else sample
