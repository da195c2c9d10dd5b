"""Kernels of convolutions in squares of 16 × 16 channels: laid out once, for programs whose kernels stay as they are.

``[o, c, *kernel]`` becomes ``[o / 16, c / 16, *kernel, 16 of c, 16 of o]``, which libraries read as it is where images
have channels last. Otherwise each launch makes such a copy.
"""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import eager
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register

SIDE = 16


def unsquared_shape(shape: Any) -> tuple:
    return (shape[0] * SIDE, shape[1] * SIDE, *shape[2:-2])


@register
class SquareConv(Op):
    """``inner``, a convolution in one group, with its kernels in squares."""

    inputs = ("x", "w")
    inner: Any
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        self._bind(2, tuple(p.kind for p in self.inner.param_fields.values()))
        # A call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def infer(self, x: Any, w: Any, *params: Any) -> Any:
        return self.inner.infer(x, Meta(unsquared_shape(w.shape), w.dtype), *params)

    def decompose(self, x: Any, w: Any, *params: Any) -> Any:
        return eager.apply(self.inner, (x, unsquare(w)), params)


def square(w: Any) -> Any:
    """Kernels in squares."""
    o, c, *kernel = w.shape
    n = len(kernel)
    parts = F.reshape(w, shape=(o // SIDE, SIDE, c // SIDE, SIDE, *kernel))
    return F.copy(F.permute(parts, perm=(0, 2, *range(4, 4 + n), 3, 1)))


def unsquare(w: Any) -> Any:
    """The reverse of :func:`square`."""
    n = w.ndim - 4
    parts = F.permute(w, perm=(0, 3 + n, 1, 2 + n, *range(2, 2 + n)))
    return F.reshape(parts, shape=unsquared_shape(w.shape))
