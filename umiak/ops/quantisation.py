"""Numbers as multiples of a step: quantised with a scale, and back.

A scale is what the largest level stands for: ``level / levels * scale``, with 127 levels for 8 bits. Levels are kept in
the type of what was quantised. No gradient passes: rounding has none, and training in few bits says by itself what
stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.ir.meta import Meta
from umiak.ops._common import accept, check_axes, draw, factor_names, in_compute_type, shard_string
from umiak.ops.base import Op, Sample, param, register
from umiak.ops.movement import require


def rounded_away(y: Any) -> Any:
    """The nearest integers, ties rounded away from 0."""
    down = F.trunc(y)
    return F.add(down, F.where(F.ge(F.abs(F.sub(y, down)), 0.5), F.sign(y), 0))


class Quantisation(Op):
    """One scale for all elements (``axis`` -1), or one for each entry along ``axis``."""

    inputs = ("x", "scale")
    amp = "keep"
    vjp = None
    axis: int = -1

    def check(self, x: Meta, scale: Meta) -> None:
        accept(self, "f", scale)
        require(self, len(scale.shape) <= 1, "a scale of at most one dim", scale.shape)
        if self.axis == -1:
            if scale.shape:
                require(self, scale.shape[0] == 1, "one scale without an axis", scale.shape)
            return
        check_axes(self, (self.axis,), len(x.shape))
        require(self, len(scale.shape) == 1, "a vector of scales along an axis", scale.shape)
        same = x.shape[self.axis] == scale.shape[0]
        require(self, same, f"a scale for each entry along axis {self.axis}", (x.shape[self.axis], scale.shape[0]))

    def beside(self, scale: Any, x: Any) -> Any:
        """The scale, as it is multiplied with x."""
        shape = [1] * x.ndim
        if self.axis != -1:
            shape[self.axis] = scale.shape[0]
        return F.reshape(scale, shape=tuple(shape))

    def shard(self, x: Any, scale: Any, *params: Any) -> str:
        names = factor_names(len(x.shape))
        own = [names[self.axis]] if self.axis != -1 else ["1"] * len(scale.shape)
        return shard_string([names, own], [names])


@register
class QuantizeLinear(Quantisation):
    """Levels of x from ``lowest`` to ``highest``: ``levels / scale * x``, ties rounded to even or ``away`` from 0."""

    away: bool = False
    levels: float = param(default=127.0)
    lowest: float = param(default=-128.0)
    highest: float = param(default=127.0)

    def infer(self, x, scale, levels, lowest, highest):
        accept(self, "f", x)
        self.check(x, scale)
        require(self, x.dtype is scale.dtype, "x and scale of one dtype", (x.dtype.name, scale.dtype.name))
        return Meta(x.shape, x.dtype)

    @in_compute_type
    def decompose(self, x, scale, levels, lowest, highest):
        # In the order in which the reference multiplies: levels are equal, near ties too.
        y = F.mul(F.mul(F.div(1.0, self.beside(scale, x)), levels), x)
        y = rounded_away(y) if self.away else F.round(y)
        return F.minimum(F.maximum(y, lowest), highest)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for i, (shape, axis) in enumerate((((3, 4), -1), ((3, 4), 0), ((2, 3, 2), 1), ((0, 2), 1), ((), -1))):
            dtype = (dt.float32, dt.float64, dt.float16)[i % 3]
            scale = draw(rng, () if axis == -1 and i else (1,) if axis == -1 else shape[axis : axis + 1], dtype, 0.5, 2)
            yield Sample((draw(rng, shape, dtype, -2, 2), scale), {"axis": axis, "away": bool(i % 2)})
        ties = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 200, -200, np.nan, np.inf], np.float32)
        for away in (False, True):
            yield Sample(
                (ties, np.array([7.0], np.float32)),
                {"away": away},
                {"levels": 7.0, "lowest": -8.0, "highest": 7.0},
                differentiable=(),
            )


@register
class DequantizeLinear(Quantisation):
    """``x * scale / levels`` of levels x, in the dtype of the scale."""

    levels: float = param(default=127.0)

    def infer(self, x, scale, levels):
        accept(self, "if", x)
        self.check(x, scale)
        known = x.dtype.is_integer or x.dtype is scale.dtype
        require(self, known, "levels of integers or of the scale's dtype", (x.dtype.name, scale.dtype.name))
        return Meta(x.shape, scale.dtype)

    @in_compute_type
    def decompose(self, x, scale, levels):
        if x.dtype is not scale.dtype:
            x = F.cast(x, dtype=scale.dtype)
        return F.div(F.mul(x, self.beside(scale, x)), levels)

    @classmethod
    def samples(cls, rng: Any) -> Iterator[Sample]:
        for i, (shape, axis) in enumerate((((3, 4), -1), ((3, 4), 0), ((2, 3, 2), 2), ((0, 2), 1), ((), -1))):
            scale_type = (dt.float32, dt.float64, dt.bfloat16)[i % 3]
            scale = draw(rng, (1,) if axis == -1 else shape[axis : axis + 1], scale_type, 0.5, 2)
            levels = draw(rng, shape, (dt.int8, scale_type)[i % 2])
            yield Sample((levels, scale), {"axis": axis}, {"levels": 127.0 if i else 7.0})
