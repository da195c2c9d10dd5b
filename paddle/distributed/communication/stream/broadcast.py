"""One rank's tensor on every rank."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, member, place
from umiak import ops as F
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def broadcast(
    tensor: Tensor, src: int, group: Group | None = None, sync_op: bool = True, use_calc_stream: bool = False
) -> Any:
    """``paddle.distributed.broadcast``, on the stream of the calculation with ``use_calc_stream``."""
    paths.streams("broadcast", sync_op, use_calc_stream)
    paths.need(tensor, "broadcast")
    pg = member(group, "broadcast")
    if pg is None:
        return None
    root = place(pg, src, "broadcast", "src")
    if paths.takes_fast_path((tensor,), ()):
        a, write_back = paths.target(tensor, keep=pg.rank == root)
        return paths.complete(pg.broadcast(a, root), write_back if pg.rank != root else None, sync_op)
    return paths.run_op(
        lambda: tensor,
        lambda x: F.broadcast(x, group=pg.name, size=pg.size, root=root, rank=pg.rank),
        lambda made: assign(tensor, made),
        (tensor,),
        sync_op,
    )
