"""One rank's list of tensors, an item for every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, member, place
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core.tensor import Tensor


@public("paddle.distributed.communication.stream")
def scatter(
    tensor: Tensor,
    tensor_or_tensor_list: Tensor | Sequence[Tensor] | None = None,
    src: int = 0,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """``paddle.distributed.scatter`` of a list of parts, or of a tensor that is cut along its first axis."""
    what = "scatter"
    paths.streams(what, sync_op, use_calc_stream)
    paths.need(tensor, what)
    pg = member(group, what)
    if pg is None:
        return None
    root = place(pg, src, what, "src")
    ins = paths.parts(tensor_or_tensor_list, tensor, what, pg.size) if pg.rank == root else []
    if paths.takes_fast_path((tensor,), cut=ins):
        a, write_back = paths.target(tensor)
        return paths.complete(pg.scatter(a, paths.joined(ins) if ins else None, root), write_back, sync_op)
    n = tensor.size
    sent = (n if pg.rank == root else 0,) * pg.size
    received = tuple(n if r == root else 0 for r in range(pg.size))
    return paths.run_op(
        lambda: paths.flat(ins) if ins else made_on(tensor.place, F.full, 0, tensor.dtype, (0,)),
        lambda x: F.all_to_all_sized(x, group=pg.name, size=pg.size, sent=sent, received=received),
        lambda made: paths.assign_all([tensor], made),
        (tensor,),
        sync_op,
        cut=True,
    )
