"""Helpers of the functions here: draws from the generator, and losses reduced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from paddle._public import need_tensor
from paddle.framework.place import current_place
from paddle.tensor.random import draw
from umiak import ops as F
from umiak.core.dtype import DType
from umiak.core.eager import apply, apply1
from umiak.core.generator import default_generator
from umiak.core.place import Place
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


def random_apply(op: Any, x: Tensor, *params: Any) -> Tensor:
    """Run a random op on ``x`` with the next part of its device's stream: one draw an element."""
    try:
        shape, place = x.shape, x.place
    except AttributeError:
        need_tensor(x, op.name)
        raise
    return draw(
        op,
        math.prod(shape),
        lambda seed, offset: apply(op, (x,), (*params, seed, offset)),
        default_generator(place),
    )


def random_tensor(cls: Any, shape: Sequence[int], dtype: DType, *params: Any, place: Place | None = None) -> Tensor:
    """A tensor drawn from the stream of the current device (or brought to ``place``)."""
    op, here = cls(dtype), current_place()
    made = draw(op, math.prod(shape), lambda seed, offset: apply(op, (), (tuple(shape), seed, offset, *params)))
    return made if place is None or place is here else made.to(place)


_MEAN = [F.Mean(tuple(range(n)), False) for n in range(10)]
_SUM = [F.Sum(tuple(range(n)), False) for n in range(10)]


def mean_all(x: Tensor) -> Tensor:
    """The mean of all elements."""
    return apply1(_MEAN[x.ndim], x)


def sum_all(x: Tensor) -> Tensor:
    """The sum of all elements."""
    return apply1(_SUM[x.ndim], x)


def reduce_loss(who: str, loss: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of a loss, or itself for "none"."""
    if reduction == "mean":
        return mean_all(loss)
    if reduction == "sum":
        return sum_all(loss)
    check_reduction(who, reduction)
    return loss


def check_reduction(who: str, reduction: str, *more: str) -> None:
    """Refuse a reduction that does not exist."""
    known = ("mean", "sum", "none", *more)
    if reduction not in known:
        raise ValueError(f"[{who}] requires reduction of {known}, got {reduction!r}")


def check_class_weights(who: str, weight: Tensor, classes: Any) -> None:
    """Refuse weights that are not one for each class."""
    if weight.ndim != 1 or not dim.eq(weight.shape[0], classes):
        raise op_error(ValueError, who, f"one weight for each of {classes} classes", list(weight.shape))
