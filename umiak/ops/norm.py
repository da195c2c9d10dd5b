"""Normalisations: values centred and scaled by statistics of their own, then an optional affine map.

Statistics are computed in the compute type. Weight and bias have the operand's dtype or its compute type.
"""

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
    cast_to,
    check_axes,
    count,
    draw,
    elements,
    factor_names,
    in_compute_type,
    moments,
    same_shape,
    shard_string,
    sizes,
    vjp_in_compute_type,
    widen,
)
from umiak.ops.base import Op, Sample, param, register
from umiak.util.errors import OperandError


def per_channel(v: Any, ndim: int, axis: int) -> Any:
    """A vector with dims of size 1 behind it, so that it runs along ``axis`` of a tensor of rank ``ndim``."""
    trail = tuple(range(1, ndim - axis))
    return F.unsqueeze(v, axes=trail) if v is not None and trail else v


def affine(x: Any, weight: Any, bias: Any) -> Any:
    """x*weight + bias, either of which may be absent."""
    if weight is not None:
        x = F.mul(x, weight)
    return x if bias is None else F.add(x, bias)


class Normalisation(Op):
    """Normalised over axes that the subclass names, perhaps of a reshaped operand.

    Mean and rstd are kept for the gradient.
    """

    inputs = ("x", "weight?", "bias?")
    axis: int
    centred: ClassVar[bool] = True  # whether the mean is taken away

    # What a subclass gives: the shape of weight and bias, the shape to compute in, the axes reduced there.

    def affine_shape(self, x: Any) -> tuple:
        return (x.shape[self.axis],)

    def view_shape(self, x: Any, *params: Any) -> tuple:
        return sizes(x)

    def reduced(self, x: Any) -> tuple:
        raise TypeError(f"[{self.name}] defines no axes")

    def fit(self, v: Any, x: Any) -> Any:
        """Weight or bias, so that it broadcasts against x."""
        return per_channel(v, x.ndim, self.axis)

    def infer(self, x, weight, bias, *params):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        for name, m in (("weight", weight), ("bias", bias)):
            if m is not None:
                same_shape(self, m.shape, self.affine_shape(x), f"a {name} of the shape that is normalised")
                if m.dtype not in (x.dtype, x.dtype.compute):
                    self.fail(OperandError, f"a {name} of {x.dtype.name} or {x.dtype.compute.name}", m.dtype.name)
        return Meta(x.shape, x.dtype)

    def run(self, x: Any, weight: Any, bias: Any, *params: Any) -> tuple:
        """The result, mean (None if not centred) and rstd, in the compute type."""
        *shape_params, eps = params
        view, axes = F.reshape(x, shape=self.view_shape(x, *shape_params)), self.reduced(x)
        if self.centred:
            mean, squares = moments(view, axes)
        else:
            mean, squares = None, F.sum(F.mul(view, view), axes=axes, keepdim=True)
        rstd = F.rsqrt(F.add(F.div(squares, count(view, axes)), eps))
        y = F.reshape(F.mul(F.sub(view, mean) if self.centred else view, rstd), shape=sizes(x))
        return affine(y, self.fit(weight, x), self.fit(bias, x)), mean, rstd

    def decompose(self, x, weight, bias, *params):
        return self.forward_train((), x, weight, bias, *params)[0]

    def forward_train(self, needs, x, weight, bias, *params):
        y, mean, rstd = self.run(widen(x), widen(weight), widen(bias), *params)
        return cast_to(y, x.dtype), ((mean, rstd) if self.centred else (rstd,))

    @vjp_in_compute_type
    def vjp(self, s, g):
        x, weight, bias = s.inputs
        *shape_params, _ = s.params
        shape, axes, rstd = self.view_shape(x, *shape_params), self.reduced(x), s.residuals[-1]
        view = F.reshape(x, shape=shape)
        normal = F.mul(F.sub(view, s.residuals[0]) if self.centred else view, rstd)
        inner = F.mul(g, self.fit(weight, x)) if weight is not None else g
        inner = F.reshape(inner, shape=shape)
        # Along the row the result has neither mean nor radial part: those parts of the gradient go.
        dx = F.sub(inner, F.mul(normal, F.mean(F.mul(inner, normal), axes=axes, keepdim=True)))
        if self.centred:
            dx = F.sub(dx, F.mean(inner, axes=axes, keepdim=True))
        dx = F.reshape(F.mul(dx, rstd), shape=sizes(x))
        dw = F.mul(g, F.reshape(normal, shape=sizes(x))) if weight is not None else None
        return dx, self.fold(dw, weight, x), self.fold(g, bias, x)

    def fold(self, g: Any, v: Any, x: Any) -> Any:
        """A gradient of the shape of x summed down to weight or bias."""
        if v is None:
            return None
        return F.reshape(F.sum_to(g, shape=sizes(self.fit(v, x))), shape=sizes(v))

    def shard(self, x, weight, bias, *params):
        names = factor_names(len(x.shape))
        own = self.affine_factors(names)
        lists = [own if m is not None else [] for m in (weight, bias)]
        return shard_string([names, *lists], [names], **{names[a]: "replicated" for a in self.replicated_axes(x)})

    def affine_factors(self, names: list[str]) -> list[str]:
        return [names[self.axis]]

    def replicated_axes(self, x: Any) -> tuple:
        return self.reduced(x)

    @classmethod
    def cases(cls, rng: Any, rows: Any, params: dict) -> Iterator[Sample]:
        """A sample for each (shape, shape of weight, axis, dtype).

        Weight and bias are present, half present or absent.
        """
        for i, (shape, own, axis, dtype) in enumerate(rows):
            wide = dtype.compute if i % 2 else dtype
            weight, bias = draw(rng, own, wide, 0.5, 1.5), draw(rng, own, wide)
            yield Sample((draw(rng, shape, dtype), weight, bias), {"axis": axis}, params)
        shape, own, axis, _ = rows[0]
        for w, b in ((True, False), (False, True), (False, False)):
            x = draw(rng, shape, dt.float64)
            yield Sample((x, draw(rng, own) if w else None, draw(rng, own) if b else None), {"axis": axis}, params)


class FromAxis(Normalisation):
    """Normalised over ``axis`` and all that follow."""

    eps: float = param(default=1e-5)

    def affine_shape(self, x):
        return tuple(x.shape[self.axis :])

    def reduced(self, x):
        return tuple(range(self.axis, len(x.shape)))

    def fit(self, v, x):
        return v

    def affine_factors(self, names):
        return names[self.axis :]

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        rows = (
            ((2, 4), (4,), 1, dt.float64),
            ((2, 3, 4), (3, 4), 1, dt.float64),
            ((3, 5), (5,), 1, dt.float32),
            ((5,), (5,), 0, dt.float32),
            ((0, 3), (3,), 1, dt.float32),
            ((2, 6), (6,), 1, dt.bfloat16),
            ((2, 6), (6,), 1, dt.bfloat16),
            ((2, 6), (6,), 1, dt.float16),
        )
        yield from cls.cases(rng, rows, {"eps": 1e-3})
        x = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 0.0], [2.0, 2.0, 2.0]], np.float32)
        yield Sample((x, None, None), {"axis": 1}, {"eps": 1e-5}, (), "NaN, infinity, constant")


@register
class LayerNorm(FromAxis):
    """x less its mean, over its standard deviation, both taken over ``axis`` and the axes after it.

    Then weight and bias.
    """


@register
class RmsNorm(FromAxis):
    """x over the root of the mean of its squares, taken over ``axis`` and the axes after it; then weight and bias."""

    centred = False


@register
class GroupNorm(Normalisation):
    """Normalised over each of ``groups`` groups of the channels on ``axis`` together with all positions, for each of
    dim 0.
    """

    groups: int = param("int")
    eps: float = param(default=1e-5)

    def infer(self, x, weight, bias, groups, eps):
        out = super().infer(x, weight, bias)
        if not (dim.le(1, groups) and dim.eq(x.shape[self.axis] % groups, 0)):
            self.fail(ValueError, f"groups that divide the {x.shape[self.axis]} channels", groups)
        return out

    def view_shape(self, x, groups):
        shape, a = sizes(x), self.axis
        return (*shape[:a], groups, shape[a] // groups, *shape[a + 1 :])

    def reduced(self, x):
        return tuple(i for i in range(1, len(x.shape) + 1) if i != self.axis)

    def replicated_axes(self, x):
        return tuple(range(1, len(x.shape)))

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        rows = (
            ((2, 4, 3), (4,), 1, dt.float64),
            ((2, 3, 2, 4), (4,), 3, dt.float64),
            ((2, 4, 2, 2), (4,), 1, dt.float32),
            ((0, 4, 2), (4,), 1, dt.float32),
            ((2, 4), (4,), 1, dt.bfloat16),
            ((2, 4, 3), (4,), 1, dt.bfloat16),
        )
        yield from cls.cases(rng, rows, {"groups": 2, "eps": 1e-3})


@register
class InstanceNorm(Normalisation):
    """Normalised over all positions, for each of dim 0 and each channel on ``axis``."""

    eps: float = param(default=1e-5)

    def reduced(self, x):
        return tuple(i for i in range(1, len(x.shape)) if i != self.axis)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        rows = (
            ((2, 3, 4), (3,), 1, dt.float64),
            ((2, 3, 2, 2), (2,), 3, dt.float64),
            ((2, 3, 2, 2), (3,), 1, dt.float32),
            ((0, 3, 2), (3,), 1, dt.float32),
            ((2, 2, 4), (2,), 1, dt.bfloat16),
            ((2, 2, 4), (2,), 1, dt.bfloat16),
        )
        yield from cls.cases(rng, rows, {"eps": 1e-3})


class Batch(Op):
    """Shared by the two forms of batch normalisation: channels on ``axis``."""

    axis: int
    eps: float = param(default=1e-5)

    def check(self, x: Meta, **vectors: Meta | None) -> DType:
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        wide = x.dtype.compute  # type: ignore[union-attr]
        for name, m in vectors.items():
            if m is not None:
                same_shape(self, m.shape, (x.shape[self.axis],), f"a {name} with one element a channel")
                if m.dtype not in (x.dtype, wide):
                    self.fail(OperandError, f"a {name} of {x.dtype} or {wide}", m.dtype)
        return wide

    def others(self, x: Any) -> tuple:
        return tuple(i for i in range(len(x.shape)) if i != self.axis)

    @staticmethod
    def shapes() -> tuple:
        return (
            ((3, 2), 1, dt.float64),
            ((2, 3, 4), 1, dt.float64),
            ((2, 2, 2, 3), 3, dt.float32),
            ((4, 3), 1, dt.bfloat16),
            ((4, 3, 2), 1, dt.bfloat16),
        )


def normalised(operands):
    """The multiply-adds of a batch norm: by the deviation, then by the weight."""
    return 2 * elements(operands[0])


@register
class BatchNorm(Batch):
    """x normalised over all but the channels, then weight and bias; and the mean and (biased) variance of the batch."""

    inputs = ("x", "weight?", "bias?")

    def multiply_adds(self, operands, outs):
        return normalised(operands)

    def infer(self, x, weight, bias, eps):
        wide = self.check(x, weight=weight, bias=bias)
        stats = Meta((x.shape[self.axis],), wide)
        return Meta(x.shape, x.dtype), stats, stats

    def decompose(self, x, weight, bias, eps):
        dtype, axes, n, a = x.dtype, self.others(x), x.ndim, self.axis
        x, weight, bias = widen(x), widen(weight), widen(bias)
        mean, squares = moments(x, axes, lambda v: per_channel(v, n, a))
        centred, var = F.sub(x, per_channel(mean, n, a)), F.div(squares, count(x, axes))
        scale = F.rsqrt(F.add(var, eps))
        if weight is not None:
            scale = F.mul(scale, weight)
        y = affine(F.mul(centred, per_channel(scale, n, a)), None, per_channel(bias, n, a))
        return cast_to(y, dtype), mean, var

    @vjp_in_compute_type
    def vjp(self, s, g, g_mean, g_var):
        x, weight, bias = s.inputs
        axes, n, a, elements = self.others(x), x.ndim, self.axis, count(x, self.others(x))

        def wide(v: Any) -> Any:
            return per_channel(v, n, a)

        centred = F.sub(x, wide(s.outputs[1]))
        dx = dw = db = None
        if g is not None:
            rstd = F.rsqrt(F.add(s.outputs[2], s.params.eps))
            normal = F.mul(centred, wide(rstd))
            db, dw = F.sum(g, axes=axes), F.sum(F.mul(g, normal), axes=axes)
            inner = F.sub(g, F.div(F.add(wide(db), F.mul(normal, wide(dw))), elements))
            dx = F.mul(inner, wide(F.mul(rstd, weight) if weight is not None else rstd))
        if g_mean is not None:
            part = F.broadcast_to(F.div(wide(g_mean), elements), shape=sizes(x))
            dx = part if dx is None else F.add(dx, part)
        if g_var is not None:
            part = F.mul(centred, F.div(F.mul(wide(g_var), 2), elements))
            dx = part if dx is None else F.add(dx, part)
        return dx, dw if weight is not None else None, db if bias is not None else None

    def shard(self, x, weight, bias, eps):
        names = factor_names(len(x.shape))
        c = [names[self.axis]]
        replicated = {names[a]: "replicated" for a in self.others(x)}
        own = [c if m is not None else [] for m in (weight, bias)]
        return shard_string([names, *own], [names, c, c], **replicated)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for i, (shape, axis, dtype) in enumerate(cls.shapes()):
            own, wide = (shape[axis],), dtype.compute if i % 2 else dtype
            vectors = (draw(rng, own, wide, 0.5, 1.5), draw(rng, own, wide))
            yield Sample((draw(rng, shape, dtype), *vectors), {"axis": axis}, {"eps": 1e-3})
        yield Sample((draw(rng, (3, 2)), None, None), {"axis": 1}, {"eps": 1e-3})
        yield Sample((draw(rng, (3, 2)), None, draw(rng, (2,))), {"axis": 1}, {"eps": 1e-3})


@register
class BatchNormInfer(Batch):
    """x normalised by a given mean and variance for each channel, then weight and bias."""

    inputs = ("x", "mean", "var", "weight?", "bias?")

    def multiply_adds(self, operands, outs):
        return normalised(operands)

    def infer(self, x, mean, var, weight, bias, eps):
        self.check(x, mean=mean, var=var, weight=weight, bias=bias)
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x, mean, var, weight, bias, eps):
        n, a = x.ndim, self.axis
        scale = F.rsqrt(F.add(var, eps))
        if weight is not None:
            scale = F.mul(scale, weight)
        # Folded into one multiplication and one addition of each element.
        offset = F.neg(F.mul(mean, scale))
        if bias is not None:
            offset = F.add(offset, bias)
        return F.add(F.mul(x, per_channel(scale, n, a)), per_channel(offset, n, a))

    def shard(self, x, mean, var, weight, bias, eps):
        names = factor_names(len(x.shape))
        c = [names[self.axis]]
        return shard_string([names, *(c if m is not None else [] for m in (mean, var, weight, bias))], [names])

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for i, (shape, axis, dtype) in enumerate((*cls.shapes(), ((0, 2), 1, dt.float32))):
            own, wide = (shape[axis],), dtype.compute if i % 2 else dtype
            stats = (draw(rng, own, wide), draw(rng, own, wide, 0.5, 2.0))
            vectors = (draw(rng, own, wide), draw(rng, own, wide)) if i % 3 else (None, None)
            yield Sample((draw(rng, shape, dtype), *stats, *vectors), {"axis": axis}, {"eps": 1e-3})


@register
class Normalize(Op):
    """x over its norm along ``axis``, or over ``eps`` where the norm is smaller.

    ``ord`` and ``p`` as in vector_norm.
    """

    amp = "deny"
    axis: int
    ord: str = "2"
    p: float = param(default=2.0)
    eps: float = param(default=1e-12)

    def infer(self, x, p, eps):
        accept(self, "f", x)
        check_axes(self, (self.axis,), len(x.shape))
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x, p, eps):
        return F.div(x, F.maximum(F.vector_norm(x, (self.axis,), True, self.ord, p), eps))

    def shard(self, x, p, eps):
        names = factor_names(len(x.shape))
        return shard_string([names], [names], **{names[self.axis]: "replicated"})

    @staticmethod
    def samples(rng: Any) -> Iterator[Sample]:
        for shape, axis, order, dtype in (
            ((2, 3), 1, "2", dt.float64),
            ((3, 2), 0, "p", dt.float64),
            ((4,), 0, "1", dt.float32),
            ((0, 3), 1, "2", dt.float32),
            ((2, 3), 1, "2", dt.bfloat16),
        ):
            yield Sample((draw(rng, shape, dtype, avoid=(0.0,)),), {"axis": axis, "ord": order}, {"p": 3.0})
        yield Sample((np.zeros((2, 3), np.float32),), {"axis": 1}, differentiable=(), note="zeros")
