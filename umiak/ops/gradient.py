"""What programs say about gradients beyond those of their calls: see umiak/autodiff/custom.py."""

from __future__ import annotations

from typing import Any, ClassVar

from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


@register
class WithGradient(Op):
    """The last ``count`` operands as they are. Their gradients with respect to the others are what ``Tracer.gradients``
    has for the operation."""

    inputs = ("*xs",)
    count: int
    amp = "keep"
    variadic_outputs: ClassVar[bool] = True
    vjp = None

    def infer(self, *xs: Any) -> Any:
        return tuple(xs[len(xs) - self.count :])

    def decompose(self, *xs: Any) -> Any:
        return xs[len(xs) - self.count :]


@register
class Detached(Op):
    """``x``, through which no gradient flows."""

    amp = "keep"
    view: ClassVar[bool] = True
    vjp = None

    def infer(self, x: Any) -> Any:
        return Meta(tuple(x.shape), x.dtype)

    def strides(self, x: Any) -> Any:
        return x
