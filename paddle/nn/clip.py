"""Gradient clipping for optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current, no_grad_guard
from umiak.core.dtype import DType
from umiak.core.foreach import apply_foreach, apply_foreach_into, elements
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor, empty
from umiak.runtime.selected_rows import SelectedRows
from umiak.util.errors import op_error

_CLIP, _MUL, _SQUARE_SUM = F.Clip(), F.Mul(), F.SquareSum()

Pairs = list[tuple[Tensor, Tensor | None]]


class ClipGradBase:
    """Base of gradient clipping: called with ``[(parameter, gradient), …]``, returns the pairs with clipped gradients.

    Pairs without a gradient are left out; parameters with ``need_clip=False`` pass as they are.
    """

    def __call__(self, params_grads: Pairs) -> Pairs:
        present = [pair for pair in params_grads if pair[1] is not None]
        params, grads = [p for p, _ in present], [g for _, g in present]
        return list(zip(params, self._clipped(params, grads), strict=True))

    def clipped(self, params: list[Tensor], grads: list[Tensor | None]) -> list[Tensor | None]:
        """Clip the gradients of a step.

        Args:
            params: the parameters.
            grads: the gradient of each, None where there is none.

        Returns:
            The gradients that the step uses, in the same order.
        """
        if type(self).__call__ is ClipGradBase.__call__:
            return self._clipped(params, grads)
        # A subclass decides for itself.
        some = [i for i, g in enumerate(grads) if g is not None]
        pairs = self([(params[i], grads[i]) for i in some])
        grad_of = {id(p): g for p, g in pairs}
        return [None if g is None else grad_of.get(id(p)) for p, g in zip(params, grads, strict=True)]

    def _clipped(self, params: list[Tensor], grads: list[Tensor | None]) -> list[Tensor | None]:
        chosen = [
            i
            for i, (p, g) in enumerate(zip(params, grads, strict=True))
            if g is not None and getattr(p, "need_clip", True)
        ]
        chosen_grads: list[Any] = [grads[i] for i in chosen]
        with no_grad_guard():
            if SelectedRows in map(type, chosen_grads):
                chosen_grads = self._clip_rows(chosen_grads)
            else:
                chosen_grads = self._clip(chosen_grads)
        out = list(grads)
        for i, g in zip(chosen, chosen_grads, strict=True):
            out[i] = g
        return out

    def _clip_rows(self, grads: list[Any]) -> list[Any]:
        """Clip gradients of which some are selected rows: the values of equal rows are summed first."""
        merged = [g.merged() if isinstance(g, SelectedRows) else g for g in grads]
        clipped = self._clip([m.value() if isinstance(m, SelectedRows) else m for m in merged])
        return [m.with_values(g) if isinstance(m, SelectedRows) else g for m, g in zip(merged, clipped, strict=True)]

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        raise NotImplementedError(f"{type(self).__name__} defines no _clip")


@public("paddle.nn")
class ClipGradByValue(ClipGradBase):
    """Clip each element of the gradients to a range; of complex ones, each part.

    Args:
        max: the largest value.
        min: the smallest; None: ``-max``.

    Raises:
        ValueError: no ``min`` is given and ``max`` is not positive, or ``min`` lies above ``max``.
        TypeError: ``min`` or ``max`` is no number.

    Example:
        >>> import paddle
        >>> clip = paddle.nn.ClipGradByValue(max=1.0)
        >>> w = paddle.zeros([3])
        >>> ((_, clipped),) = clip([(w, paddle.to_tensor([-3.0, 0.5, 2.0]))])
        >>> clipped.tolist()
        [-1.0, 0.5, 1.0]
        >>> layer = paddle.nn.Linear(2, 2)
        >>> opt = paddle.optimizer.SGD(0.1, layer.parameters(), grad_clip=clip)
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = _number(self, "max", max)
        if min is None and not self.max > 0:
            raise op_error(ValueError, "ClipGradByValue", "max > 0 when min is not given", max)
        self.min = -self.max if min is None else _number(self, "min", min)
        if not self.min <= self.max:
            raise op_error(ValueError, "ClipGradByValue", "min <= max", f"{min} and {max}")

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        parts = [F.as_real(g) if g.dtype.is_complex else g for g in grads]
        clipped = apply_foreach(_CLIP, [((g, self.min, self.max), ()) for g in parts])
        return [F.as_complex(c) if g.dtype.is_complex else c for g, c in zip(grads, clipped, strict=True)]


@public("paddle.nn")
class ClipGradByNorm(ClipGradBase):
    """Scale each gradient down so that its own 2-norm is at most ``clip_norm``.

    Args:
        clip_norm: the largest norm.

    Raises:
        ValueError: clip_norm is not positive.

    Example:
        >>> import paddle
        >>> clip = paddle.nn.ClipGradByNorm(clip_norm=1.0)
        >>> w = paddle.zeros([2])
        >>> ((_, clipped),) = clip([(w, paddle.to_tensor([0.0, 4.0]))])
        >>> clipped.tolist()
        [0.0, 1.0]
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _positive(self, clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _clip(self, grads: list[Tensor]) -> list[Tensor]:
        norms = {d: F.sqrt(square_sums(those)) for d, those in by_norm_type(grads).items()}
        factors = {d: iter(_elements(factor(self.clip_norm, norm))) for d, norm in norms.items()}
        return scaled(grads, [next(factors[norm_type(g)]) for g in grads])


@public("paddle.nn")
class ClipGradByGlobalNorm(ClipGradBase):
    """Scale all gradients down together so that the 2-norm of all of them is at most ``clip_norm``.

    It happens in place, so that ``p.grad`` is clipped after a step; selected rows are replaced by merged ones.

    Args:
        clip_norm: the largest norm.
        group_name: accepted; gradients that an optimizer clips together are one group.
        auto_skip_clip: leave the gradients alone, without multiplying by 1, where the norm is small enough; this waits
            for the norm.

    Raises:
        ValueError: clip_norm is not positive.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 2)
        >>> clip = paddle.nn.ClipGradByGlobalNorm(clip_norm=1.0)
        >>> opt = paddle.optimizer.SGD(0.1, layer.parameters(), grad_clip=clip)
        >>> (layer(paddle.ones([1, 2])).sum() * 100.0).backward()
        >>> opt.step()
        >>> norms = [float((p.grad * p.grad).sum()) for p in layer.parameters()]
        >>> round(sum(norms), 3)
        1.0
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = _positive(self, clip_norm)
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
        factors = [factor(self.clip_norm, norm)] * len(grads)
        if current().trace:
            for g, clipped in zip(grads, scaled(grads, factors), strict=True):
                assign(g, clipped)
        else:
            scale(grads, factors)
        return grads


def _number(clip: ClipGradBase, name: str, value: Any) -> float:
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise op_error(TypeError, type(clip).__name__, f"a number as {name}", repr(value))


def _positive(clip: ClipGradBase, clip_norm: float) -> float:
    value = _number(clip, "clip_norm", clip_norm)
    if not value > 0:
        raise op_error(ValueError, type(clip).__name__, "a clip_norm above 0", clip_norm)
    return value


def _elements(x: Tensor) -> Sequence[Tensor]:
    return F.unbind(x, axis=0, count=x.shape[0]) if current().trace else elements(x)


def by_norm_type(grads: Sequence[Tensor]) -> dict[DType, list[Tensor]]:
    by_dtype: dict[DType, list[Tensor]] = {}
    for g in grads:
        by_dtype.setdefault(norm_type(g), []).append(g)
    return by_dtype


def norm_type(g: Tensor) -> DType:
    """Return the dtype that the norm of a gradient is computed in."""
    return g.dtype.compute.real


def square_sums(grads: Sequence[Tensor]) -> Tensor:
    """The sums of squares of gradients whose norms have one type, as a tensor of one dim."""
    if current().trace:
        return F.stack([F.square_sum(g) for g in grads], axis=0)
    sums = empty((len(grads),), norm_type(grads[0]), grads[0].place)
    # What has as many dims is one batch.
    rows = sorted(zip(elements(sums), grads, strict=True), key=lambda pair: pair[1].ndim)
    apply_foreach_into(_SQUARE_SUM, [((s,), (g,), ()) for s, g in rows])
    return sums


def global_norm(grads: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all elements of several gradients: float64 where one of them is, otherwise float32."""
    totals: Any = [F.sum(square_sums(those), axes=(0,)) for those in by_norm_type(grads).values()]
    if len(totals) > 1:
        totals = [F.cast(t, dtype=dt.float64) for t in totals]
    total = totals[0]
    for more in totals[1:]:
        total = F.add(total, more)
    return F.sqrt(total)


def factor(limit: float, norm: Tensor) -> Tensor:
    """``limit / max(norm, limit)``."""
    return F.div(limit, F.maximum(norm, limit))


def scaled(grads: Sequence[Tensor], factors: Sequence[Tensor]) -> list[Tensor]:
    """Each gradient times its factor, a tensor without dims, in the gradient's type."""
    rows = [((g, f), ()) for g, f in zip(grads, _like(grads, factors), strict=True)]
    # Backwards: those that were read last, for their norms, may still be in the cache.
    return apply_foreach(_MUL, rows[::-1])[::-1]


def scale(grads: Sequence[Tensor], factors: Sequence[Tensor]) -> None:
    """:func:`scaled`, in place."""
    rows = [((g,), (g, f), ()) for g, f in zip(grads, _like(grads, factors), strict=True)]
    apply_foreach_into(_MUL, rows[::-1])


def _like(grads: Sequence[Tensor], factors: Sequence[Tensor]) -> list[Tensor]:
    casts: dict[tuple[int, DType], Tensor] = {}
    results = []
    for g, f in zip(grads, factors, strict=True):
        if f.dtype is not g.dtype:
            key = id(f), g.dtype
            f = casts[key] if key in casts else casts.setdefault(key, F.cast(f, dtype=g.dtype))
        results.append(f)
    return results


# Helpers that packages with clipping rules of their own import.


def _squared_l2_norm(x: Tensor) -> Tensor:
    """The sum of squares of the elements, as a tensor of one element."""
    return F.reshape(F.square_sum(x.value() if isinstance(x, SelectedRows) else x), shape=(1,))


def merge_selected_rows(x: Any, name: str | None = None) -> SelectedRows:
    """Each row of a gradient of rows once, with the sum of its values."""
    if not isinstance(x, SelectedRows):
        raise op_error(TypeError, "merge_selected_rows", "SelectedRows", type(x).__name__)
    return x.merged()


def get_tensor_from_selected_rows(x: Any, name: str | None = None) -> Tensor:
    """The values of a gradient of rows."""
    if not isinstance(x, SelectedRows):
        raise op_error(TypeError, "get_tensor_from_selected_rows", "SelectedRows", type(x).__name__)
    return x.value()
