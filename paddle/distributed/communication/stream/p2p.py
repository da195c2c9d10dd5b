"""A tensor from one rank to another."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, group_rank, member
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """Send a tensor to another rank, as ``paddle.distributed.send`` does, with a choice of the stream.

    Args:
        tensor: any shape and dtype, the same as the receiver's.
        dst: a global rank.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the tensor has left.
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
        >>> task = stream.recv(x, src=0, sync_op=False)
        >>> _ = stream.send(paddle.ones([2]), dst=0)
        >>> _ = task.wait()
        >>> x.tolist()
        [1.0, 1.0]
    """
    paths.streams("send", sync_op, use_calc_stream)
    paths.need(tensor, "send")
    pg = member(group, "send")
    if pg is None:
        return None
    peer = group_rank(pg, dst, "send", "dst")
    if paths.takes_fast_path((), cut=(tensor,)):
        return paths.complete(pg.send(paths.source(tensor), peer), None, sync_op)
    return paths.run_op(
        lambda: tensor,
        lambda x: F.send(x, group=pg.name, size=pg.size, peer=peer),
        lambda result: None,
        (),
        sync_op,
        cut=True,
    )


@public("paddle.distributed.communication.stream")
def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """Receive a tensor from another rank, as ``paddle.distributed.recv`` does, with a choice of the stream.

    Args:
        tensor: takes what comes; of the sender's shape and dtype.
        src: a global rank.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the tensor has come.
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
        >>> task = stream.send(paddle.ones([2]), dst=0, sync_op=False)
        >>> x = paddle.zeros([2])
        >>> _ = stream.recv(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    paths.streams("recv", sync_op, use_calc_stream)
    paths.need(tensor, "recv")
    pg = member(group, "recv")
    if pg is None:
        return None
    peer = group_rank(pg, src, "recv", "src")
    if paths.takes_fast_path((tensor,)):
        a, write_back = paths.target(tensor)
        return paths.complete(pg.recv(a, peer), write_back, sync_op)
    return paths.run_op(
        lambda: None,
        lambda x: F.recv(x, group=pg.name, dtype=tensor.dtype, size=pg.size, peer=peer, shape=tuple(tensor.shape)),
        lambda result: assign(tensor, result),
        (tensor,),
        sync_op,
        cut=True,
    )
