"""Tensors from one rank to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication import stream
from paddle.distributed.communication._paths import need
from paddle.distributed.communication.group import Group, group_rank, member
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.distributed paddle.distributed.communication")
def send(tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True) -> Any:
    """Send ``tensor`` to the global rank ``dst``, which receives tensors in the order in which they are sent.

    No gradient passes: pipelines send theirs back themselves.

    Args:
        tensor: any shape and dtype, the same as the receiver's.
        dst: a global rank.
        group: None for all ranks.
        sync_op: False returns before the tensor has left; until then it must stay as it is.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        ValueError: a ``dst`` outside of the group.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> task = paddle.distributed.irecv(x, src=0)
        >>> _ = paddle.distributed.send(paddle.ones([2]), dst=0)
        >>> _ = task.wait()
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.send(tensor, dst, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def recv(tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True) -> Any:
    """Receive into ``tensor`` what the global rank ``src`` sends.

    Args:
        tensor: takes what comes; of the sender's shape and dtype.
        src: a global rank.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the tensor has come.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        ValueError: a ``src`` outside of the group, or a message of another size.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> _ = paddle.distributed.isend(paddle.ones([2]), dst=0)
        >>> _ = paddle.distributed.recv(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    return stream.recv(tensor, src, group, sync_op)


@public("paddle.distributed paddle.distributed.communication")
def isend(tensor: Tensor, dst: int, group: Group | None = None) -> Any:
    """Begin to send ``tensor`` to the global rank ``dst``: :func:`send` with ``sync_op=False``.

    Args:
        tensor: any shape and dtype, the same as the receiver's; it must stay as it is until the task is done.
        dst: a global rank.
        group: a ``Group``; None for all ranks.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        ValueError: a ``dst`` outside of the group.

    Example:
        >>> import paddle
        >>> task = paddle.distributed.isend(paddle.ones([2]), dst=0)
        >>> x = paddle.zeros([2])
        >>> _ = paddle.distributed.recv(x, src=0)
        >>> _ = task.wait()
    """
    return send(tensor, dst, group, sync_op=False)


@public("paddle.distributed paddle.distributed.communication")
def irecv(tensor: Tensor, src: int | None = None, group: Group | None = None) -> Any:
    """Begin to receive from the global rank ``src``: :func:`recv` with ``sync_op=False``.

    Args:
        tensor: takes what comes; of the sender's shape and dtype.
        src: a global rank. Needed: there is no receiving from anybody.
        group: a ``Group``; None for all ranks.

    Returns:
        A task with ``wait()`` and ``is_completed()``; None for a rank outside of the group, which does nothing.

    Raises:
        ValueError: no ``src``, or one outside of the group.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([2])
        >>> task = paddle.distributed.irecv(x, src=0)
        >>> _ = paddle.distributed.send(paddle.ones([2]), dst=0)
        >>> _ = task.wait()
        >>> x.tolist()
        [1.0, 1.0]
    """
    if src is None:
        raise op_error(ValueError, "irecv", "a global rank as src", None)
    return recv(tensor, src, group, sync_op=False)


@public("paddle.distributed paddle.distributed.communication")
class P2POp:
    """A message that :func:`batch_isend_irecv` will start.

    Args:
        op: ``paddle.distributed.isend`` or ``paddle.distributed.irecv``.
        tensor: what is sent, or takes what comes.
        peer: the global rank of the other side.
        group: None for all ranks.

    Raises:
        RuntimeError: another ``op``.

    Example:
        >>> import paddle
        >>> d = paddle.distributed
        >>> x = paddle.zeros([2])
        >>> ring = [d.P2POp(d.isend, paddle.ones([2]), 0), d.P2POp(d.irecv, x, 0)]
        >>> for task in d.batch_isend_irecv(ring):
        ...     _ = task.wait()
        >>> x.tolist()
        [1.0, 1.0]
    """

    def __init__(self, op: Callable, tensor: Tensor, peer: int, group: Group | None = None) -> None:
        if op not in (isend, irecv):
            raise op_error(RuntimeError, "P2POp", "paddle.distributed.isend or irecv as op", op)
        self.op = op
        self.tensor = need(tensor, "P2POp")
        self.peer = peer
        self.group = group


@public("paddle.distributed paddle.distributed.communication")
def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list:
    """Start messages together; none waits for another, so rings and exchanges cannot lock.

    Args:
        p2p_op_list: a list of :class:`P2POp`, at least one.

    Returns:
        A list of their tasks; an empty one for a rank outside of the group.

    Raises:
        RuntimeError: no list of P2POp.

    Example:
        >>> import paddle
        >>> d = paddle.distributed
        >>> x = paddle.zeros([2])
        >>> tasks = d.batch_isend_irecv([d.P2POp(d.isend, paddle.ones([2]), 0), d.P2POp(d.irecv, x, 0)])
        >>> for task in tasks:
        ...     _ = task.wait()
        >>> x.tolist()
        [1.0, 1.0]
    """
    ops = list(p2p_op_list)
    if not ops or not all(isinstance(one, P2POp) for one in ops):
        raise op_error(RuntimeError, "batch_isend_irecv", "a list of P2POp", [type(one).__name__ for one in ops])
    task = _by_device(ops)
    if task is not None:
        return [task] * len(ops)
    return [
        one.op(one.tensor, one.peer, one.group) for one in ops if member(one.group, "batch_isend_irecv") is not None
    ]


def _by_device(ops: Sequence[P2POp]) -> Any:
    """The task of messages of one group that a device's own library starts; None where each goes by itself."""
    pg = member(ops[0].group, "batch_isend_irecv")
    tensors = [one.tensor for one in ops]
    if pg is None or any(one.group is not ops[0].group for one in ops) or not paths.takes_device_path(tensors):
        return None
    task = pg.exchange(
        [(one.op is isend, one.tensor, group_rank(pg, one.peer, "batch_isend_irecv", "peer")) for one in ops]
    )
    if task is not None:
        for one in ops:
            if one.op is irecv:
                task.then(one.tensor._bump_version)
    return task
