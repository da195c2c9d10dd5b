"""Combining the elements of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, group_rank, member
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def all_reduce(
    tensor: Tensor,
    op: int = paths.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Combine the tensors of all ranks, as ``paddle.distributed.all_reduce`` does, with a choice of the stream.

    Args:
        tensor: equal in shape and dtype on all ranks; takes the result.
        op: a member of ``paddle.distributed.ReduceOp``.
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
        >>> x = paddle.ones([2])
        >>> _ = stream.all_reduce(x, use_calc_stream=True)
        >>> x.tolist()
        [1.0, 1.0]
    """
    paths.streams("all_reduce", sync_op, use_calc_stream)
    name = paths.reduction("all_reduce", op, paths.need(tensor, "all_reduce").dtype)
    pg = member(group, "all_reduce")
    if pg is None:
        return None
    if paths.takes_fast_path((tensor,), ()):
        a, write_back = paths.target(tensor, keep=True)
        return paths.complete(pg.all_reduce(a, a, name), write_back, sync_op)
    return paths.run_op(
        # What the gradient of the other reductions reads is not overwritten.
        lambda: tensor if name in ("sum", "avg") or tensor.stop_gradient else F.copy(tensor),
        lambda x: F.all_reduce(x, group=pg.name, op=name, size=pg.size),
        lambda result: assign(tensor, result),
        (tensor,),
        sync_op,
    )


@public("paddle.distributed.communication.stream")
def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: int = paths.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Combine the tensors of all ranks into one rank's, as ``paddle.distributed.reduce`` does, with a choice of the
    stream.

    Args:
        tensor: equal in shape and dtype on all ranks; takes the result on rank ``dst``.
        dst: a global rank.
        op: a member of ``paddle.distributed.ReduceOp``.
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
        >>> x = paddle.ones([2])
        >>> _ = stream.reduce(x, dst=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    paths.streams("reduce", sync_op, use_calc_stream)
    name = paths.reduction("reduce", op, paths.need(tensor, "reduce").dtype)
    pg = member(group, "reduce")
    if pg is None:
        return None
    root = group_rank(pg, dst, "reduce", "dst")
    if paths.takes_fast_path((tensor,), ()):
        a, write_back = paths.target(tensor, keep=True)
        return paths.complete(pg.reduce(a, a, root, name), write_back if pg.rank == root else None, sync_op)

    def write(result: Tensor) -> None:
        if pg.rank == root:
            assign(tensor, result)
        elif not tensor.stop_gradient:
            # The values stay, but the gradient of the result comes back to this rank too.
            assign(tensor, F.add(tensor, result))

    return paths.run_op(
        lambda: tensor,
        lambda x: F.reduce_to(x, group=pg.name, op=name, size=pg.size, root=root, rank=pg.rank),
        write,
        (tensor,),
        sync_op,
    )


@public("paddle.distributed.communication.stream")
def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor],
    op: int = paths.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Combine parts, one for each rank, as ``paddle.distributed.reduce_scatter`` does, with a choice of the stream.

    Args:
        tensor: takes the result.
        tensor_or_tensor_list: one tensor for each rank, or one tensor that is cut along its first axis.
        op: a member of ``paddle.distributed.ReduceOp``.
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
        >>> x = paddle.zeros([2])
        >>> _ = stream.reduce_scatter(x, paddle.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    op_name = "reduce_scatter"
    paths.streams(op_name, sync_op, use_calc_stream)
    name = paths.reduction(op_name, op, paths.need(tensor, op_name).dtype)
    pg = member(group, op_name)
    if pg is None:
        return None
    ins = paths.parts(tensor_or_tensor_list, tensor, op_name, pg.size)
    if paths.takes_fast_path((tensor,), ins):
        x = paths.source(ins[0]) if len(ins) == 1 else paths.joined(ins)
        a, write_back = paths.target(tensor)
        return paths.complete(pg.reduce_scatter(a, x, name), write_back, sync_op)
    return paths.run_op(
        lambda: paths.flat(ins),
        lambda x: F.reduce_scatter(x, group=pg.name, op=name, axis=0, size=pg.size),
        lambda result: paths.assign_all([tensor], result),
        (tensor,),
        sync_op,
    )
