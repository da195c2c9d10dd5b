"""A tensor from one rank to another."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, member, place
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def send(
    tensor: Tensor, dst: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """``paddle.distributed.send``, on the stream of the calculation with ``use_calc_stream``."""
    paths.streams("send", sync_op, use_calc_stream)
    paths.need(tensor, "send")
    pg = member(group, "send")
    if pg is None:
        return None
    peer = place(pg, dst, "send", "dst")
    if paths.takes_fast_path((), cut=(tensor,)):
        return paths.complete(pg.send(paths.source(tensor), peer), None, sync_op)
    return paths.run_op(
        lambda: tensor,
        lambda x: F.send(x, group=pg.name, size=pg.size, peer=peer),
        lambda made: None,
        (),
        sync_op,
        cut=True,
    )


@public("paddle.distributed.communication.stream")
def recv(
    tensor: Tensor, src: int = 0, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """``paddle.distributed.recv``, on the stream of the calculation with ``use_calc_stream``."""
    paths.streams("recv", sync_op, use_calc_stream)
    paths.need(tensor, "recv")
    pg = member(group, "recv")
    if pg is None:
        return None
    peer = place(pg, src, "recv", "src")
    if paths.takes_fast_path((tensor,)):
        a, write_back = paths.target(tensor)
        return paths.complete(pg.recv(a, peer), write_back, sync_op)
    return paths.run_op(
        lambda: None,
        lambda x: F.recv(x, group=pg.name, dtype=tensor.dtype, size=pg.size, peer=peer, shape=tuple(tensor.shape)),
        lambda made: assign(tensor, made),
        (tensor,),
        sync_op,
        cut=True,
    )
