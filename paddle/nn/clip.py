"""Gradient clipping for optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.tensor import Tensor

Pairs = list[tuple[Tensor, Tensor | None]]


class ClipGradBase:
    """Base: called with ``[(parameter, gradient), …]``, returns the pairs with clipped gradients.

    Pairs without a gradient, and parameters with ``need_clip=False``, pass as they are.
    """

    def __call__(self, params_grads: Pairs) -> Pairs:
        with no_grad_guard():
            chosen = [i for i, (p, g) in enumerate(params_grads) if g is not None and getattr(p, "need_clip", True)]
            clipped = self._clip([params_grads[i][1] for i in chosen])  # type: ignore[misc]
        out = list(params_grads)
        for i, g in zip(chosen, clipped, strict=True):
            out[i] = (out[i][0], g)
        return out

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        raise NotImplementedError(f"{type(self).__name__} defines no _clip")


class ClipGradByValue(ClipGradBase):
    """Each element between ``min`` and ``max``; min is ``-max`` by default.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 2)
        >>> opt = paddle.optimizer.SGD(0.1, layer.parameters(), grad_clip=paddle.nn.ClipGradByValue(max=1.0))
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        if min is None:
            if max <= 0:
                raise ValueError(f"[ClipGradByValue] requires max > 0 when min is not given, got {max}")
            min = -max
        self.max = float(max)
        self.min = float(min)

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        return [F.clip(g, self.min, self.max) for g in grads]


class ClipGradByNorm(ClipGradBase):
    """Each gradient scaled down so that its norm is at most ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        return [_scaled(g, self.clip_norm, F.sqrt(_square_sum(g))) for g in grads]


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients scaled down together so that the norm of all of them is at most ``clip_norm``.

    Args:
        clip_norm: the largest norm.
        group_name: accepted; gradients that an optimizer clips together are one group.
        auto_skip_clip: leave the gradients alone, without multiplying by 1, where the norm is small enough.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 2)
        >>> clip = paddle.nn.ClipGradByGlobalNorm(clip_norm=1.0)
        >>> opt = paddle.optimizer.SGD(0.1, layer.parameters(), grad_clip=clip)
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        if not grads:
            return grads
        norm = global_norm(grads)
        if self.auto_skip_clip and norm.item() <= self.clip_norm:
            return grads
        return [_scaled(g, self.clip_norm, norm) for g in grads]


def _square_sum(g: Tensor) -> Tensor:
    """The sum of squares, in the compute type."""
    wide = g if g.dtype.compute is g.dtype else F.cast(g, dtype=g.dtype.compute)
    return F.sum(F.mul(wide, wide), axes=tuple(range(g.ndim)))


def global_norm(grads: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all elements of several gradients: float64 where one of them is, otherwise float32."""
    parts: Any = [_square_sum(g) for g in grads]
    if len({p.dtype for p in parts}) > 1:
        parts = [F.cast(p, dtype=dt.float64) for p in parts]
    total = parts[0]
    for part in parts[1:]:
        total = F.add(total, part)
    return F.sqrt(total)


def _scaled(g: Tensor, limit: float, norm: Tensor) -> Tensor:
    """``g`` times ``limit / max(norm, limit)``."""
    factor = F.div(limit, F.maximum(norm, limit))
    return F.mul(g, factor if factor.dtype is g.dtype else F.cast(factor, dtype=g.dtype))
