"""Collecting the tensors of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.distributed.communication import _ways as ways
from paddle.distributed.communication.group import Group, member, place
from umiak import ops as F
from umiak.core.tensor import Tensor


def all_gather(
    tensor_or_tensor_list: Tensor | list[Tensor],
    tensor: Tensor,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.all_gather`` into a list, or into a tensor that joins them along the first axis."""
    what = "all_gather"
    ways.streams(what, sync_op, use_calc_stream)
    ways.need(tensor, what)
    pg = member(group, what)
    if pg is None:
        return None
    given = tensor_or_tensor_list
    if isinstance(given, Tensor):
        ways.whole(what, given, tensor, pg.size, "the output")
        outs = [given]
    else:
        outs = ways.filled(given, tensor, what, "tensor_list", pg.size)
    if ways.straight(outs, (tensor,)):
        x = ways.source(tensor)
        a, land = ways.target(outs[0]) if isinstance(given, Tensor) else ways.targets(outs)
        return ways.landed(pg.all_gather(a, x), land, sync_op)
    return ways.recorded(
        lambda: F.all_gather(ways.flat([tensor]), group=pg.name, axis=0, size=pg.size),
        lambda made: ways.assign_all(outs, made),
        outs,
        sync_op,
    )


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.gather``, on the stream of the calculation with ``use_calc_stream``."""
    what = "gather"
    ways.streams(what, sync_op, use_calc_stream)
    ways.need(tensor, what)
    pg = member(group, what)
    if pg is None:
        return None
    root = place(pg, dst, what, "dst")
    outs = ways.filled(gather_list, tensor, what, "gather_list", pg.size) if pg.rank == root else []
    if ways.straight(outs, cut=(tensor,)):
        x = ways.source(tensor)
        a, land = ways.targets(outs) if outs else (None, None)
        return ways.landed(pg.gather(a, x, root), land, sync_op)
    n = tensor.size
    sent = tuple(n if r == root else 0 for r in range(pg.size))
    received = (n if pg.rank == root else 0,) * pg.size
    return ways.recorded(
        lambda: F.all_to_all_sized(ways.flat([tensor]), group=pg.name, size=pg.size, sent=sent, received=received),
        lambda made: ways.assign_all(outs, made),
        outs,
        sync_op,
        cut=True,
    )
