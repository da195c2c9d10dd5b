"""Gradients of data parallelism without ``DataParallel``: averaged when the program says so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import paddle
from paddle import distributed as dist
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error
from umiak.util.parts import parts_of

_BUCKET = 128 << 20


def fused_allreduce_gradients(parameter_list: Iterable[Tensor], hcg: Any) -> None:
    """Replace the gradients of parameters by their mean over all data-parallel ranks, a bucket in one message.

    Args:
        parameter_list: parameters; those without a gradient are left out, so ranks must have the same ones.
        hcg: a ``HybridCommunicateGroup``, whose data-parallel group takes part; None: all ranks.

    Raises:
        ValueError: gradients that are rows of a table, or a hybrid group without data parallelism.

    Example:
        >>> import paddle
        >>> from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients
        >>> layer = paddle.nn.Linear(2, 1)
        >>> layer(paddle.ones([1, 2])).backward()
        >>> fused_allreduce_gradients(layer.parameters(), None)
        >>> layer.bias.grad.tolist()
        [1.0]
    """
    group = None
    if hcg is not None:
        if hcg.get_data_parallel_world_size() < 2:
            raise op_error(ValueError, "fused_allreduce_gradients", "a hybrid group with data parallelism", repr(hcg))
        group = hcg.get_data_parallel_group()
    fused_allreduce_gradients_with_group(parameter_list, group)


def fused_allreduce_gradients_with_group(
    parameter_list: Iterable[Tensor], group: Any, bucket_size: int = _BUCKET, scale: float | None = None
) -> None:
    """Replace the gradients of parameters by ``scale`` times their sum over the ranks of a group.

    Args:
        parameter_list: parameters; those without a gradient are left out, so ranks must have the same ones.
        group: the group; None: all ranks.
        bucket_size: bytes of gradients that go in one message, at most; a larger one goes alone.
        scale: factor of the sum, by default 1 over the number of ranks.

    Raises:
        ValueError: gradients that are rows of a table, or a bucket of no bytes.
    """
    name = "fused_allreduce_gradients_with_group"
    if bucket_size < 1:
        raise op_error(ValueError, name, "a bucket_size of at least 1 byte", bucket_size)
    ranks = dist.get_world_size() if group is None else group.nranks
    scale = 1 / ranks if scale is None else scale
    gradients = [p.grad for p in parameter_list if not p.stop_gradient and p.grad is not None]
    if any(not isinstance(g, Tensor) or g.is_sparse() for g in gradients):
        raise op_error(ValueError, name, "dense gradients", "rows of a table (an Embedding with sparse=True)")
    if ranks == 1 and scale == 1:
        return
    with paddle.no_grad():
        for bucket in _buckets(gradients, bucket_size):
            joined = paddle.concat([g.flatten() for g in bucket])
            if scale != 1:
                joined.scale_(scale)
            dist.all_reduce(joined, group=group)
            for g, part in zip(bucket, joined.split([math.prod(g.shape) for g in bucket]), strict=True):
                paddle.assign(part.reshape(g.shape), g)


def _buckets(gradients: list[Tensor], most: int) -> Iterator[list[Tensor]]:
    """Gradients of one dtype in their order, of so many bytes together."""
    for dtype in dict.fromkeys(g.dtype for g in gradients):
        of_dtype = (g for g in gradients if g.dtype is dtype)
        yield from parts_of(of_dtype, lambda g: math.prod(g.shape) * g.dtype.itemsize, most)
