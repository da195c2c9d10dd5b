"""A tensor from one rank to another."""

from __future__ import annotations

from typing import Any

from paddle.distributed.communication import _ways as ways
from paddle.distributed.communication.group import Group, member, place
from umiak import ops as F
from umiak.core.dispatch import assign
from umiak.core.tensor import Tensor


def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """``paddle.distributed.send``, on the stream of the calculation with ``use_calc_stream``."""
    ways.streams("send", sync_op, use_calc_stream)
    ways.need(tensor, "send")
    pg = member(group, "send")
    if pg is None:
        return None
    peer = place(pg, dst, "send", "dst")
    if ways.straight((), cut=(tensor,)):
        return ways.landed(pg.send(ways.source(tensor), peer), None, sync_op)
    return ways.recorded(
        lambda: F.send(tensor, group=pg.name, size=pg.size, peer=peer), lambda made: None, (), sync_op, cut=True
    )


def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """``paddle.distributed.recv``, on the stream of the calculation with ``use_calc_stream``."""
    ways.streams("recv", sync_op, use_calc_stream)
    ways.need(tensor, "recv")
    pg = member(group, "recv")
    if pg is None:
        return None
    peer = place(pg, src, "recv", "src")
    if ways.straight((tensor,)):
        a, land = ways.target(tensor)
        return ways.landed(pg.recv(a, peer), land, sync_op)
    return ways.recorded(
        lambda: F.recv(None, group=pg.name, dtype=tensor.dtype, size=pg.size, peer=peer, shape=tuple(tensor.shape)),
        lambda made: assign(tensor, made),
        (tensor,),
        sync_op,
        cut=True,
    )
