"""Collectives of Python objects, which are pickled: ranks of one job trust each other. All calls block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication.group import Group, group_rank, member
from umiak import comm
from umiak.util.errors import op_error


@public("paddle.distributed paddle.distributed.communication")
def all_gather_object(object_list: list, obj: Any, group: Group | None = None) -> None:
    """Append the objects of all ranks of the group, in order of rank, to ``object_list``.

    Args:
        object_list: a list, which grows.
        obj: an object that can be pickled.
        group: a ``Group``; None for all ranks.

    Raises:
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> found = []
        >>> paddle.distributed.all_gather_object(found, {"rank": 0})
        >>> found
        [{'rank': 0}]
    """
    pg = member(group, "all_gather_object")
    if pg is not None:
        object_list.extend(pg.gather_objects(obj))


@public("paddle.distributed paddle.distributed.communication")
def broadcast_object_list(object_list: list, src: int, group: Group | None = None) -> None:
    """Replace the items of ``object_list`` by those of the global rank ``src``.

    Args:
        object_list: objects that can be pickled; all ranks pass a list of the same length.
        src: a global rank.
        group: a ``Group``; None for all ranks.

    Raises:
        ValueError: lists of different lengths, or a ``src`` outside of the group.
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> x = ["a", 1]
        >>> paddle.distributed.broadcast_object_list(x, src=0)
        >>> x
        ['a', 1]
    """
    op_name = "broadcast_object_list"
    pg = member(group, op_name)
    if pg is None:
        return
    root = group_rank(pg, src, op_name, "src")
    _replace(op_name, object_list, pg.broadcast_object(object_list, root))


@public("paddle.distributed paddle.distributed.communication")
def scatter_object_list(
    out_object_list: list, in_object_list: Sequence[Any] | None = None, src: int = 0, group: Group | None = None
) -> None:
    """Make ``out_object_list`` hold one object: item i of the global rank ``src``'s list on rank i of the group.

    Args:
        out_object_list: a list, whose items are replaced.
        in_object_list: on rank ``src``, one object that can be pickled for each rank; None on the other ranks.
        src: a global rank.
        group: a ``Group``; None for all ranks.

    Raises:
        ValueError: another number of objects, or a ``src`` outside of the group.
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> found = []
        >>> paddle.distributed.scatter_object_list(found, ["a"])
        >>> found
        ['a']
    """
    op_name = "scatter_object_list"
    pg = member(group, op_name)
    if pg is not None:
        out_object_list[:] = [pg.scatter_objects(in_object_list, group_rank(pg, src, op_name, "src"))]


@public("paddle.distributed paddle.distributed.communication")
def send_object_list(
    object_list: Sequence[Any], dst: int | None = None, group: Group | None = None, dst_in_group: int | None = None
) -> None:
    """Send a list of objects to another rank, which receives it by :func:`recv_object_list`.

    Args:
        object_list: objects that can be pickled; the receiver's list must have the same length.
        dst: the global rank of the receiver; None where ``dst_in_group`` is given.
        group: a ``Group``; None for all ranks.
        dst_in_group: the rank of the receiver in the group; None where ``dst`` is given.

    Raises:
        ValueError: not exactly one of dst and dst_in_group, or a ``dst`` outside of the group.
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> paddle.distributed.send_object_list(["a"], dst=0)
        >>> x = [None]
        >>> paddle.distributed.recv_object_list(x, src=0)
        >>> x
        ['a']
    """
    op_name = "send_object_list"
    pg = member(group, op_name)
    if pg is not None:
        pg.send_object(list(object_list), _peer(pg, dst, dst_in_group, op_name, "dst"))


@public("paddle.distributed paddle.distributed.communication")
def recv_object_list(
    object_list: list, src: int | None = None, group: Group | None = None, src_in_group: int | None = None
) -> None:
    """Replace the items of ``object_list`` by the list that another rank sends.

    Args:
        object_list: a list of the same length as the sender's.
        src: the global rank of the sender; None where ``src_in_group`` is given.
        group: a ``Group``; None for all ranks.
        src_in_group: the rank of the sender in the group; None where ``src`` is given.

    Raises:
        ValueError: not exactly one of src and src_in_group, a ``src`` outside of the group, or a list of another
            length.
        TypeError: a value that is not a group.
        RuntimeError: a group that was shut down.

    Example:
        >>> import paddle
        >>> paddle.distributed.send_object_list([1, 2], dst=0)
        >>> x = [None, None]
        >>> paddle.distributed.recv_object_list(x, src=0)
        >>> x
        [1, 2]
    """
    op_name = "recv_object_list"
    pg = member(group, op_name)
    if pg is not None:
        _replace(op_name, object_list, pg.recv_object(_peer(pg, src, src_in_group, op_name, "src")))


def _peer(pg: comm.Group, rank: int | None, at: int | None, op_name: str, role: str) -> int:
    if (rank is None) == (at is None):
        raise op_error(ValueError, op_name, f"one of {role} and {role}_in_group", f"{rank} and {at}")
    return group_rank(pg, rank, op_name, role) if at is None else at


def _replace(op_name: str, mine: list, received: list) -> None:
    if len(mine) != len(received):
        raise op_error(ValueError, op_name, f"a list of {len(received)} objects, as the other rank's", len(mine))
    mine[:] = received
