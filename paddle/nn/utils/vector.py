"""Parameters as one vector and back."""

from __future__ import annotations

import math
from collections.abc import Iterable

from paddle._public import public
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.dispatch import assign
from umiak.core.tensor import Tensor


@public("paddle.nn.utils")
def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """All elements of the parameters in one vector.

    Example:
        >>> import paddle
        >>> paddle.nn.utils.parameters_to_vector(paddle.nn.Linear(2, 3).parameters()).shape
        [9]
    """
    return F.concat([F.reshape(p, shape=(math.prod(p.shape),)) for p in parameters], axis=0)


@public("paddle.nn.utils")
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor], name: str | None = None) -> None:
    """Write the elements of a vector into the parameters, in place. Raises ValueError for another length."""
    parameters = list(parameters)
    sizes = [math.prod(p.shape) for p in parameters]
    if sum(sizes) != vec.shape[0]:
        raise ValueError(f"[vector_to_parameters] requires a vector of {sum(sizes)} elements, got {vec.shape[0]}")
    start = 0
    with no_grad_guard():
        for p, size in zip(parameters, sizes, strict=True):
            part = F.slice(vec, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))
            assign(p, F.reshape(part, shape=tuple(p.shape)))
            start += size
