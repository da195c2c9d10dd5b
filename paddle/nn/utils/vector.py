"""Parameters as one vector and back."""

from __future__ import annotations

import math
from collections.abc import Iterable

from paddle._public import public
from umiak import ops as F
from umiak.core.context import no_grad_guard
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.util.arguments import several


@public("paddle.nn.utils")
def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """Concatenate all elements of parameters.

    Args:
        parameters: an iterable of tensors of one dtype, at least one.

    Returns:
        A vector of that dtype, with the elements in order; gradients pass through it.

    Raises:
        TypeError: tensors of different dtypes, or something that is no tensor.
        ValueError: no parameters.

    Example:
        >>> import paddle
        >>> paddle.nn.utils.parameters_to_vector(paddle.nn.Linear(2, 3).parameters()).shape
        paddle.Size([9])
    """
    given = several("parameters_to_vector", "an iterable of parameters", parameters, Tensor)
    return F.concat([F.reshape(p, shape=(math.prod(p.shape),)) for p in given], axis=0)


@public("paddle.nn.utils")
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor], name: str | None = None) -> None:
    """Write the elements of a vector into parameters, in place: the inverse of :func:`parameters_to_vector`.

    Args:
        vec: a vector of as many elements as the parameters have, of their dtype.
        parameters: an iterable of tensors.

    Raises:
        ValueError: a vector of another length.
        TypeError: a vector of another dtype, or something that is no tensor.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Linear(2, 1)
        >>> paddle.nn.utils.vector_to_parameters(paddle.to_tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer.weight.tolist(), layer.bias.tolist()
        ([[1.0], [2.0]], [3.0])
    """
    parameters = several("vector_to_parameters", "an iterable of parameters", parameters, Tensor)
    sizes = [math.prod(p.shape) for p in parameters]
    if sum(sizes) != vec.shape[0]:
        raise ValueError(f"[vector_to_parameters] requires a vector of {sum(sizes)} elements, got {vec.shape[0]}")
    others = [p.dtype.name for p in parameters if p.dtype is not vec.dtype]
    if others:
        raise TypeError(
            f"[vector_to_parameters] requires a vector of the parameters' {others[0]}, got {vec.dtype.name}"
        )
    start = 0
    with no_grad_guard():
        for p, size in zip(parameters, sizes, strict=True):
            part = F.slice(vec, axes=(0,), starts=(start,), sizes=(size,), steps=(1,))
            assign(p, F.reshape(part, shape=tuple(p.shape)))
            start += size
