"""Combining the elements of all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.distributed.communication import _ways as ways
from paddle.distributed.communication.group import Group, member, place
from umiak import ops as F
from umiak.core.dispatch import assign
from umiak.core.tensor import Tensor


def all_reduce(
    tensor: Tensor,
    op: int = ways.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.all_reduce``, on the stream of the calculation with ``use_calc_stream``."""
    ways.streams("all_reduce", sync_op, use_calc_stream)
    name = ways.reduction("all_reduce", op, ways.need(tensor, "all_reduce").dtype)
    pg = member(group, "all_reduce")
    if pg is None:
        return None
    if ways.straight((tensor,), ()):
        a, land = ways.target(tensor, keep=True)
        return ways.landed(pg.all_reduce(a, a, name), land, sync_op)
    return ways.recorded(
        lambda: F.all_reduce(tensor, group=pg.name, op=name, size=pg.size),
        lambda made: assign(tensor, made),
        (tensor,),
        sync_op,
    )


def reduce(
    tensor: Tensor,
    dst: int = 0,
    op: int = ways.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.reduce``, on the stream of the calculation with ``use_calc_stream``."""
    ways.streams("reduce", sync_op, use_calc_stream)
    name = ways.reduction("reduce", op, ways.need(tensor, "reduce").dtype)
    pg = member(group, "reduce")
    if pg is None:
        return None
    root = place(pg, dst, "reduce", "dst")
    if ways.straight((tensor,), ()):
        a, land = ways.target(tensor, keep=True)
        return ways.landed(pg.reduce(a, a, root, name), land if pg.rank == root else None, sync_op)

    def write(made: Tensor) -> None:
        if pg.rank == root:
            assign(tensor, made)
        elif not tensor.stop_gradient:
            # The values stay, but the gradient of the result comes back to this rank too.
            assign(tensor, F.add(tensor, made))

    return ways.recorded(
        lambda: F.reduce_to(tensor, group=pg.name, op=name, size=pg.size, root=root, rank=pg.rank),
        write,
        (tensor,),
        sync_op,
    )


def reduce_scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor],
    op: int = ways.ReduceOp.SUM,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.reduce_scatter`` of a list of parts, or of a tensor that is cut along its first axis."""
    what = "reduce_scatter"
    ways.streams(what, sync_op, use_calc_stream)
    name = ways.reduction(what, op, ways.need(tensor, what).dtype)
    pg = member(group, what)
    if pg is None:
        return None
    ins = ways.parts(tensor_or_tensor_list, tensor, what, pg.size)
    if ways.straight((tensor,), ins):
        x = ways.source(ins[0]) if len(ins) == 1 else ways.joined(ins)
        a, land = ways.target(tensor)
        return ways.landed(pg.reduce_scatter(a, x, name), land, sync_op)
    return ways.recorded(
        lambda: F.reduce_scatter(ways.flat(ins), group=pg.name, op=name, axis=0, size=pg.size),
        lambda made: ways.assign_all([tensor], made),
        (tensor,),
        sync_op,
    )
