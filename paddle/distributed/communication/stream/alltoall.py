"""An item of every rank for every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle._public import public
from paddle.distributed.communication import _paths as paths
from paddle.distributed.communication.group import Group, member
from paddle.tensor._args import create_on
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error


@public("paddle.distributed.communication.stream")
def alltoall(
    out_tensor_or_tensor_list: Tensor | list[Tensor],
    in_tensor_or_tensor_list: Tensor | Sequence[Tensor],
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Exchange parts among all ranks, as ``paddle.distributed.alltoall`` does, with a choice of the stream.

    Args:
        out_tensor_or_tensor_list: one tensor for each rank, or an empty list, which gets new tensors; or one tensor
            that joins them along the first axis.
        in_tensor_or_tensor_list: one tensor for each rank, or one tensor that is cut along its first axis.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.
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
        >>> _ = stream.alltoall(x, paddle.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    op_name = "alltoall"
    given, put = in_tensor_or_tensor_list, out_tensor_or_tensor_list
    if isinstance(given, Tensor) and isinstance(put, Tensor):
        return alltoall_single(put, given, None, None, group, sync_op, use_calc_stream)
    if isinstance(given, Tensor) or isinstance(put, Tensor):
        raise op_error(TypeError, op_name, "two tensors or two lists", f"{type(put).__name__}, {type(given).__name__}")
    paths.streams(op_name, sync_op, use_calc_stream)
    pg = member(group, op_name)
    if pg is None:
        return None
    ins = paths.need_list(given, op_name, "in_tensor_list", pg.size)
    if isinstance(put, list) and not put:
        put.extend(create_on(x.place, F.full, 0, x.dtype, tuple(x.shape)) for x in ins)
    outs = paths.need_list(put, op_name, "out_tensor_list", pg.size)
    if outs[0].dtype is not ins[0].dtype:
        raise op_error(TypeError, op_name, f"results of {ins[0].dtype.name}", outs[0].dtype.name)
    sent, received = tuple(x.size for x in ins), tuple(x.size for x in outs)
    if paths.takes_fast_path(outs, ins):
        a, write_back = paths.targets(outs)
        return paths.complete(pg.all_to_all_sized(a, paths.joined(ins), sent, received), write_back, sync_op)
    return paths.run_op(
        lambda: paths.flat(ins),
        lambda x: F.all_to_all_sized(x, group=pg.name, size=pg.size, sent=sent, received=received),
        lambda result: paths.assign_all(outs, result),
        outs,
        sync_op,
    )


@public("paddle.distributed.communication.stream")
def alltoall_single(
    out_tensor: Tensor,
    in_tensor: Tensor,
    out_split_sizes: Sequence[int] | None = None,
    in_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
    sync_op: bool = True,
    use_calc_stream: bool = False,
) -> Any:
    """Exchange rows among all ranks, as ``paddle.distributed.alltoall_single`` does, with a choice of the stream.

    Args:
        out_tensor: takes the result.
        in_tensor: of the same dtype, and the same sizes after the first.
        out_split_sizes: how many rows come from each rank; None for equal parts. Here it stands before
            ``in_split_sizes``.
        in_split_sizes: how many rows go to each rank; None for equal parts. Either all ranks give sizes or none does.
        group: a ``Group``; None for all ranks.
        sync_op: False returns before the result is there.
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
        >>> _ = stream.alltoall_single(x, paddle.ones([2]))
        >>> x.tolist()
        [1.0, 1.0]
    """
    op_name = "alltoall_single"
    paths.streams(op_name, sync_op, use_calc_stream)
    x, out = paths.need(in_tensor, op_name, "in_tensor"), paths.need(out_tensor, op_name, "out_tensor")
    pg = member(group, op_name)
    if pg is None:
        return None
    rest = [] if not x.ndim else x.shape[1:]
    sent = _rows(op_name, in_split_sizes, x, pg.size, "in_split_sizes")
    received = _rows(op_name, out_split_sizes, out, pg.size, "out_split_sizes")
    paths.same(op_name, out, [out.shape[0], *rest], x.dtype, "out_tensor")
    equal = not in_split_sizes and not out_split_sizes
    if equal:
        paths.same(op_name, out, x.shape, x.dtype, "out_tensor")
    if paths.takes_fast_path((out,), (x,)):
        a, write_back = paths.target(out)
        b = paths.source(x)
        task = pg.all_to_all(a, b) if equal else pg.all_to_all_sized(a, b, sent, received)
        return paths.complete(task, write_back, sync_op)
    return paths.run_op(
        lambda: x,
        lambda x: (
            F.all_to_all(x, group=pg.name, split_axis=0, concat_axis=0, size=pg.size)
            if equal
            else F.all_to_all_sized(x, group=pg.name, size=pg.size, sent=sent, received=received)
        ),
        lambda result: paths.assign_all([out], F.reshape(result, (result.size,))),
        (out,),
        sync_op,
    )


def _rows(op_name: str, sizes: Sequence[int] | None, x: Tensor, size: int, name: str) -> tuple:
    if not x.ndim:
        raise op_error(ValueError, op_name, "tensors with a first axis to cut", "a 0-d tensor")
    rows = x.shape[0]
    if sizes:
        if len(sizes) != size or sum(sizes) != rows:
            raise op_error(ValueError, op_name, f"{name}: {size} numbers that add up to the {rows} rows", list(sizes))
        return tuple(sizes)
    if rows % size:
        raise op_error(ValueError, op_name, f"{name}, or rows that are a multiple of the {size} ranks", rows)
    return (rows // size,) * size
