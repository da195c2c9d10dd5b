"""Ops by which programs define gradients beyond those of their calls: see umiak/autodiff/custom.py."""

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
    other_gradient = True

    def infer(self, *xs: Any) -> Any:
        return tuple(xs[len(xs) - self.count :])

    def decompose(self, *xs: Any) -> Any:
        return xs[len(xs) - self.count :]


@register
class GivenGradient(Op):
    """:class:`WithGradient` in a branch or a loop body: the ``count`` operands behind the first ``wrt`` as they are.

    The region makes the gradients of the first ``wrt`` operands, None for those that have none, of what it takes: the
    gradients of the continuous results, the results, and the rest of the operands.
    """

    inputs = ("*xs",)
    wrt: int
    count: int
    closed: ClassVar[bool] = True
    amp = "keep"
    variadic_outputs: ClassVar[bool] = True
    vjp = None
    other_gradient = True

    def infer(self, *xs: Any, regions: Any = ()) -> Any:
        metas = xs[self.wrt : self.wrt + self.count]
        ((takes, gives),) = regions
        wanted = [*(y for y in metas if y.dtype.is_continuous), *metas, *xs[self.wrt + self.count :]]
        if len(takes) != len(wanted) or any(a.dtype is not b.dtype for a, b in zip(takes, wanted, strict=True)):
            self.fail(TypeError, f"a region over {wanted}", list(takes))
        if len(gives) != self.wrt:
            self.fail(ValueError, f"{self.wrt} gradients from the region", len(gives))
        return tuple(metas)


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
