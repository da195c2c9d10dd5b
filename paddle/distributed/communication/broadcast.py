"""One rank's tensor on every rank."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.communication import stream
from paddle.distributed.communication.group import Group
from umiak.core.tensor import Tensor


@public("paddle.distributed paddle.distributed.communication")
def broadcast(tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True) -> Any:
    """The tensor of rank ``src``, written into that of every rank of the group.

    Args:
        tensor: equal in shape and dtype on all ranks.
        src: a global rank.
        group: None for all ranks.
        sync_op: False returns before the result is there.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        ValueError: a ``src`` outside of the group.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> _ = paddle.distributed.broadcast(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.broadcast(tensor, src, group, sync_op)
