"""One rank's tensor on every rank."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, group_rank, member
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """Copy one rank's tensor to all ranks, as ``paddle.distributed.broadcast`` does, with a choice of the stream.

    Args:
        tensor: equal in shape and dtype on all ranks; takes the result.
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
        >>> x = paddle.ones([2])
        >>> _ = stream.broadcast(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    paths.streams("broadcast", sync_op, use_calc_stream)
    paths.need(tensor, "broadcast")
    pg = member(group, "broadcast")
    if pg is None:
        return None
    root = group_rank(pg, src, "broadcast", "src")
    if paths.takes_fast_path((tensor,), ()):
        a, write_back = paths.target(tensor, keep=pg.rank == root)
        return paths.complete(pg.broadcast(a, root), write_back if pg.rank != root else None, sync_op)
    return paths.run_op(
        lambda: tensor,
        lambda x: F.broadcast(x, group=pg.name, size=pg.size, root=root, rank=pg.rank),
        lambda result: assign(tensor, result),
        (tensor,),
        sync_op,
    )
