"""Helpers of the functions here: draws from the generator, and losses reduced."""

from __future__ import annotations

import functools
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
from umiak.ops.promotion import LATTICE, cast
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
    x = draw(op, math.prod(shape), lambda seed, offset: apply(op, (), (tuple(shape), seed, offset, *params)))
    return x if place is None or place is here else x.to(place)


_MEAN = [F.Mean(tuple(range(n)), False) for n in range(10)]
_SUM = [F.Sum(tuple(range(n)), False) for n in range(10)]


def mean_all(x: Tensor) -> Tensor:
    """The mean of all elements."""
    return apply1(_MEAN[x.ndim], x)


def sum_all(x: Tensor) -> Tensor:
    """The sum of all elements."""
    return apply1(_SUM[x.ndim], x)


def apply_promoted(op: Any, operands: tuple, params: tuple = (), low: bool = True) -> Any:
    """Apply an op; floating operands of several dtypes, which it refuses, are brought to the one they promote to. With
    ``low`` false those of float16 and bfloat16 are refused beside wider ones."""
    try:
        return apply(op, operands, params)
    except TypeError:
        mixed = of_one_dtype(*operands)
        if mixed is operands or not (low or all(x.dtype.itemsize >= 4 for x in operands)):
            raise
    return apply(op, mixed, params)


def of_one_dtype(*operands: Any) -> tuple:
    """Floating tensors (and None) in the dtype they promote to; ``operands`` itself where that changes nothing."""
    kinds = {x.dtype for x in operands if isinstance(x, Tensor)}
    if len(kinds) < 2 or not all(d.is_floating for d in kinds):
        return operands
    wide = functools.reduce(lambda a, b: LATTICE[a, b], kinds)
    return tuple(x if x is None else cast(x, wide) for x in operands)


def reduce_loss(op_name: str, loss: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of a loss, or itself for "none"."""
    if reduction == "mean":
        return mean_all(loss)
    if reduction == "sum":
        return sum_all(loss)
    check_reduction(op_name, reduction)
    return loss


def check_reduction(op_name: str, reduction: str, *more: str) -> None:
    """Refuse a reduction that does not exist."""
    known = ("mean", "sum", "none", *more)
    if reduction not in known:
        raise ValueError(f"[{op_name}] requires reduction of {known}, got {reduction!r}")


def check_label_shape(op_name: str, input: Tensor, label: Tensor) -> None:
    """Refuse a label of another shape: broadcast, it would be a loss of pairs that nobody has made."""
    try:
        a, b = input.shape, label.shape
    except AttributeError:
        need_tensor(input, op_name, "input")
        need_tensor(label, op_name, "label")
        raise
    if a != b and (len(a) != len(b) or not all(map(dim.eq, a, b))):
        raise op_error(ValueError, op_name, "a label of input's shape", f"{list(a)} and {list(b)}")


def check_class_weights(op_name: str, weight: Tensor, classes: Any) -> None:
    """Refuse weights that are not one for each class."""
    if weight.ndim != 1 or not dim.eq(weight.shape[0], classes):
        raise op_error(ValueError, op_name, f"one weight for each of {classes} classes", list(weight.shape))
