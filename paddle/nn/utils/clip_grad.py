"""Gradients clipped in place, between ``backward()`` and ``step()``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from paddle._public import public
from paddle.nn.clip import global_norm, scale
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import no_grad_guard
from umiak.core.foreach import apply_foreach_into
from umiak.core.tensor import Tensor
from umiak.util.arguments import several

_CLIP = F.Clip()


def _gradients(op_name: str, parameters: Iterable[Tensor] | Tensor) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    given = several(op_name, "a parameter or an iterable of them", given, Tensor)
    return [p.grad for p in given if p.grad is not None]


@public("paddle.nn.utils")
def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale gradients, in place, so that the norm of all of them together is at most ``max_norm``.

    Args:
        parameters: one parameter or several; those without a gradient do not count.
        max_norm: the largest norm, 0 or more.
        norm_type: the order of the norm, 0 or more: 2 by default, ``inf`` for the largest element.
        error_if_nonfinite: refuse a norm that is infinite or NaN; this waits for the norm.

    Returns:
        The norm before, a tensor without dims of the gradients' dtype; 0 in float32 where there is no gradient.

    Raises:
        TypeError: something that is no parameter.
        ValueError: a negative ``norm_type`` or ``max_norm``.
        RuntimeError: the norm is infinite or NaN, and ``error_if_nonfinite`` is on.

    Example:
        >>> import paddle
        >>> w = paddle.create_parameter([2], "float32")
        >>> (w * 10.0).sum().backward()
        >>> norm = paddle.nn.utils.clip_grad_norm_(w, max_norm=1.0)
        >>> round(float(norm), 3)
        14.142
    """
    p = float(norm_type)
    if p != math.inf and p not in (0.0, 1.0, 2.0) and p <= 0:
        raise ValueError(f"[clip_grad_norm_] requires norm_type of 0 or more, or inf, got {norm_type}")
    if not max_norm >= 0:
        raise ValueError(f"[clip_grad_norm_] requires max_norm of 0 or more, got {max_norm}")
    with no_grad_guard():
        grads = _gradients("clip_grad_norm_", parameters)
        if not grads:
            return F.full(0.0, dtype=dt.float32, shape=())
        norm = global_norm(grads) if p == 2.0 else _norm(grads, p)
        if error_if_nonfinite and not math.isfinite(norm.item()):
            raise RuntimeError(f"[clip_grad_norm_] requires a finite norm of the gradients, got {norm.item()}")
        factor = F.minimum(F.div(float(max_norm), F.add(norm, 1e-6)), 1.0)
        scale(grads, [factor] * len(grads))
        dtypes = {g.dtype for g in grads}
        return F.cast(norm, dtype=dtypes.pop()) if len(dtypes) == 1 else norm


def _norm(grads: list[Tensor], p: float) -> Tensor:
    order = {0.0: "0", 1.0: "1", math.inf: "inf"}.get(p, "p")
    power = 2.0 if math.isinf(p) else p
    norms = [F.vector_norm(g, axes=tuple(range(g.ndim)), ord=order, p=power) for g in grads]
    return F.vector_norm(F.stack(norms, axis=0), axes=(0,), ord=order, p=power)


@public("paddle.nn.utils")
def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Put every element of the gradients, in place, between ``-clip_value`` and ``clip_value``.

    Args:
        parameters: one parameter or several; those without a gradient do not count.
        clip_value: the largest value, 0 or more.

    Raises:
        TypeError: something that is no parameter.
        ValueError: a negative ``clip_value``.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> layer(paddle.to_tensor([[10.0, 0.5]])).sum().backward()
        >>> paddle.nn.utils.clip_grad_value_(layer.parameters(), clip_value=1.0)
        >>> layer.weight.grad.tolist()
        [[1.0], [0.5]]
    """
    limit = float(clip_value)
    if not limit >= 0:
        raise ValueError(f"[clip_grad_value_] requires clip_value of 0 or more, got {limit}")
    with no_grad_guard():
        apply_foreach_into(_CLIP, [((g,), (g, -limit, limit), ()) for g in _gradients("clip_grad_value_", parameters)])
