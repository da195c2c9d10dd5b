"""Kernels of convolutions in strips of output channels: laid out once, for programs whose kernels stay as they are.

``[o, c, *kernel]`` becomes ``[strips, *kernel, c / side, width, side]``: ``width`` output channels lie side by side,
and the last strip ends with zeros where they do not come out even. Input channels are filled up to a multiple of
``block``; ``side`` of them, which is two where a block has more than one, lie side by side for each output channel.
Libraries read such kernels as they are where images have channels last; otherwise each launch makes such a copy. The
backend says what a strip is (:meth:`Backend.kernel_strip`). A matrix that others are multiplied by is a kernel of one
tap: ``[k, n]`` becomes ``[strips, k / side, width, side]``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import eager
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


@register
class StripConv(Op):
    """``inner``, a convolution in one group of ``depth`` channels to ``channels``, with kernels in strips: of (width,
    block)."""

    inputs = ("x", "w")
    inner: Any
    channels: int
    depth: int
    strip: Any
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        self._bind(2, tuple(p.kind for p in self.inner.param_fields.values()))
        # A call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def kernels(self, w: Any) -> Meta:
        """The meta of the kernels that ``w`` holds."""
        _, *kernel, _, _, _ = w.shape
        return Meta((self.channels, self.depth, *kernel), w.dtype)

    def multiply_adds(self, operands: Any, outs: Any) -> Any:
        x, w = operands[:2]
        return self.inner.multiply_adds((x, self.kernels(w)), outs)

    def infer(self, x: Any, w: Any, *params: Any) -> Any:
        return self.inner.infer(x, self.kernels(w), *params)

    def decompose(self, x: Any, w: Any, *params: Any) -> Any:
        return eager.apply(self.inner, (x, from_strips(w, self.channels, self.depth)), params)


@register
class StripMatmul(Op):
    """``inner``, a matmul of x as it is by a matrix of ``depth`` rows and ``channels`` columns, in strips of (width,
    block)."""

    inputs = ("x", "w")
    inner: Any
    channels: int
    depth: int
    strip: Any
    elementwise: ClassVar[bool] = False
    vjp = None

    def kernels(self, w: Any) -> Meta:
        """The meta of the matrix that ``w`` holds."""
        return Meta((self.depth, self.channels), w.dtype)

    def multiply_adds(self, operands: Any, outs: Any) -> Any:
        x, w = operands[:2]
        return self.inner.multiply_adds((x, self.kernels(w)), outs)

    def infer(self, x: Any, w: Any) -> Any:
        return self.inner.infer(x, self.kernels(w))

    def decompose(self, x: Any, w: Any) -> Any:
        return F.matmul(x, F.permute(from_strips(w, self.channels, self.depth), perm=(1, 0)))


def to_strips(w: Any, width: int, block: int) -> Any:
    """Kernels ``[o, c, *kernel]`` in strips."""
    o, c, *kernel = w.shape
    n, side = len(kernel), min(block, 2)
    if o % width or c % block:
        w = F.pad(w, 0.0, mode="constant", axes=(0, 1), lo=(0, 0), hi=(-o % width, -c % block))
    parts = F.reshape(w, shape=(-(-o // width), width, -(-c // block) * block // side, side, *kernel))
    return F.copy(F.permute(parts, perm=(0, *range(4, 4 + n), 2, 1, 3)))


def from_strips(w: Any, channels: int, depth: int) -> Any:
    """The reverse of :func:`to_strips`, of so many output and input channels."""
    strips, *kernel, c, width, side = w.shape
    n = len(kernel)
    parts = F.permute(w, perm=(0, n + 2, n + 1, n + 3, *range(1, 1 + n)))
    parts = F.reshape(parts, shape=(strips * width, c * side, *kernel))
    return F.slice(parts, axes=(0, 1), starts=(0, 0), sizes=(channels, depth), steps=(1, 1))
