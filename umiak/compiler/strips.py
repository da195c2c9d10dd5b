"""Kernels of convolutions in strips of output channels: laid out once, for programs whose kernels stay as they are.

``[o, c, *kernel]`` becomes ``[strips, *kernel, c, width]``: ``width`` output channels lie side by side, and the last
strip ends with zeros where they do not come out even. Libraries read such kernels as they are where images have
channels last; otherwise each launch makes such a copy. The backend says how wide a strip is
(:meth:`Backend.kernel_strip`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from umiak import ops as F
from umiak.core import eager
from umiak.ir.meta import Meta
from umiak.ops.base import Op, register


@register
class StripConv(Op):
    """``inner``, a convolution in one group to ``channels`` output channels, with kernels in strips of ``width``."""

    inputs = ("x", "w")
    inner: Any
    channels: int
    width: int
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        self._bind(2, tuple(p.kind for p in self.inner.param_fields.values()))
        # A call carries the inner op's params.
        object.__setattr__(self, "param_fields", self.inner.param_fields)

    def kernels(self, w: Any) -> Meta:
        """The meta of the kernels that ``w`` holds."""
        _, *kernel, c, _ = w.shape
        return Meta((self.channels, c, *kernel), w.dtype)

    def infer(self, x: Any, w: Any, *params: Any) -> Any:
        return self.inner.infer(x, self.kernels(w), *params)

    def decompose(self, x: Any, w: Any, *params: Any) -> Any:
        return eager.apply(self.inner, (x, from_strips(w, self.channels)), params)


def to_strips(w: Any, width: int) -> Any:
    """Kernels ``[o, c, *kernel]`` in strips."""
    o, c, *kernel = w.shape
    n = len(kernel)
    if o % width:
        w = F.pad(w, 0.0, mode="constant", axes=(0,), lo=(0,), hi=(width - o % width,))
    parts = F.reshape(w, shape=(-(-o // width), width, c, *kernel))
    return F.copy(F.permute(parts, perm=(0, *range(3, 3 + n), 2, 1)))


def from_strips(w: Any, channels: int) -> Any:
    """The reverse of :func:`to_strips`, of so many output channels."""
    strips, *kernel, c, width = w.shape
    n = len(kernel)
    parts = F.reshape(F.permute(w, perm=(0, n + 2, n + 1, *range(1, 1 + n))), shape=(strips * width, c, *kernel))
    return (
        parts if strips * width == channels else F.slice(parts, axes=(0,), starts=(0,), sizes=(channels,), steps=(1,))
    )
