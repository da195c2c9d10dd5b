"""One rank's list of tensors, an item for every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, group_rank, member
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Spread one rank's parts over the ranks, as ``paddle.distributed.scatter`` does, with a choice of the stream.

    Args:
        tensor: takes the result.
        tensor_or_tensor_list: on rank ``src``, one tensor for each rank, or one tensor that is cut along its first
            axis; None on the other ranks.
        src: a global rank.
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
        >>> _ = stream.scatter(x, [paddle.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    op_name = "scatter"
    paths.streams(op_name, sync_op, use_calc_stream)
    paths.need(tensor, op_name)
    pg = member(group, op_name)
    if pg is None:
        return None
    root = group_rank(pg, src, op_name, "src")
    ins = paths.parts(tensor_or_tensor_list, tensor, op_name, pg.size) if pg.rank == root else []
    if paths.takes_fast_path((tensor,), cut=ins):
        a, write_back = paths.target(tensor)
        return paths.complete(pg.scatter(a, paths.joined(ins) if ins else None, root), write_back, sync_op)
    n = tensor.size
    sent = (n if pg.rank == root else 0,) * pg.size
    received = tuple(n if r == root else 0 for r in range(pg.size))
    return paths.run_op(
        lambda: paths.flat(ins) if ins else create_on(tensor.place, F.full, 0, tensor.dtype, (0,)),
        lambda x: F.all_to_all_sized(x, group=pg.name, size=pg.size, sent=sent, received=received),
        lambda result: paths.assign_all([tensor], result),
        (tensor,),
        sync_op,
        cut=True,
    )
