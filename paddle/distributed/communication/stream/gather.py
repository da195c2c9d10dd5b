"""Collecting the tensors of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, group_rank, member
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def all_gather(
    tensor_or_tensor_list: Tensor | list[Tensor],
    tensor: Tensor,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Collect the tensors of all ranks, as ``paddle.distributed.all_gather`` does, with a choice of the stream.

    Args:
        tensor_or_tensor_list: a list of one tensor for each rank, or an empty one, which gets new tensors; or a tensor
            that joins them along the first axis.
        tensor: equal in shape and dtype on all ranks.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.
        use_calc_stream: run on the stream of the calculation, which needs ``sync_op``.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: dtypes that do not fit, or a value that is not a tensor.
        ValueError: shapes or numbers of tensors that do not fit, or a rank outside of the group.
        RuntimeError: ``use_calc_stream`` without ``sync_op``, or a group that was shut down.

    Example:
        >>> import paddle
        >>> from paddle.distributed.communication import stream
        >>> found = paddle.zeros([2])
        >>> _ = stream.all_gather(found, paddle.ones([2]))
        >>> found.tolist()
        [1.0, 1.0]
    """
    op_name = "all_gather"
    paths.streams(op_name, sync_op, use_calc_stream)
    paths.need(tensor, op_name)
    pg = member(group, op_name)
    if pg is None:
        return None
    given = tensor_or_tensor_list
    if isinstance(given, Tensor):
        paths.need_joined(op_name, given, tensor, pg.size, "the output")
        outs = [given]
    else:
        outs = paths.filled(given, tensor, op_name, "tensor_list", pg.size)
    if paths.takes_fast_path(outs, (tensor,)):
        x = paths.source(tensor)
        a, write_back = paths.target(outs[0]) if isinstance(given, Tensor) else paths.targets(outs)
        return paths.complete(pg.all_gather(a, x), write_back, sync_op)
    return paths.run_op(
        lambda: paths.flat([tensor]),
        lambda x: F.all_gather(x, group=pg.name, axis=0, size=pg.size),
        lambda result: paths.assign_all(outs, result),
        outs,
        sync_op,
    )


@public("paddle.distributed.communication.stream")
def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Collect the tensors of all ranks on one, as ``paddle.distributed.gather`` does, with a choice of the stream.

    Args:
        tensor: equal in shape and dtype on all ranks.
        gather_list: on rank ``dst``, a list of one tensor for each rank, or an empty one, which gets new tensors; None
            on the other ranks.
        dst: a global rank.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.
        use_calc_stream: run on the stream of the calculation, which needs ``sync_op``.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        TypeError: dtypes that do not fit, or a value that is not a tensor.
        ValueError: shapes or numbers of tensors that do not fit, or a rank outside of the group.
        RuntimeError: ``use_calc_stream`` without ``sync_op``, or a group that was shut down.

    Example:
        >>> import paddle
        >>> from paddle.distributed.communication import stream
        >>> found = []
        >>> _ = stream.gather(paddle.ones([2]), found)
        >>> found[0].tolist()
        [1.0, 1.0]
    """
    op_name = "gather"
    paths.streams(op_name, sync_op, use_calc_stream)
    paths.need(tensor, op_name)
    pg = member(group, op_name)
    if pg is None:
        return None
    root = group_rank(pg, dst, op_name, "dst")
    outs = paths.filled(gather_list, tensor, op_name, "gather_list", pg.size) if pg.rank == root else []
    if paths.takes_fast_path(outs, cut=(tensor,)):
        x = paths.source(tensor)
        a, write_back = paths.targets(outs) if outs else (None, None)
        return paths.complete(pg.gather(a, x, root), write_back, sync_op)
    n = tensor.size
    sent = tuple(n if r == root else 0 for r in range(pg.size))
    received = (n if pg.rank == root else 0,) * pg.size
    return paths.run_op(
        lambda: paths.flat([tensor]),
        lambda x: F.all_to_all_sized(x, group=pg.name, size=pg.size, sent=sent, received=received),
        lambda result: paths.assign_all(outs, result),
        outs,
        sync_op,
        cut=True,
    )
