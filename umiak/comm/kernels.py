"""Kernels of collective ops on tensors of any place, over the group of that name. A group of one need not exist.

The parts that are sent lie one after the other in memory, so other axes than the first are transposed there and back,
by ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.comm.keys import DEFERRED, GROUPS
from umiak.core import eager
from umiak.core.context import current
from umiak.core.tensor import Tensor, empty
from umiak.ops import collective as ops

_COPY = F.Copy()

Run = Callable[..., Tensor]
RUN: dict[type, Run] = {}


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls."""
    run, op = RUN[type(call.op)], call.op
    return Kernel(call=lambda operands, params: (run(op, *operands, *params),))


def group_of(op: Any, size: int) -> Any:
    """Return the group that an op of this name runs over, which has ``size`` ranks."""
    groups = current().state.values.get(GROUPS, {})
    group = groups.get(op.group)
    if group is None or group.size != size:
        known = {name: g.size for name, g in groups.items()}
        op.fail(
            RuntimeError,
            f"a group {op.group!r} of {size} ranks",
            f"groups and sizes {known}",
            "Start the ranks with paddle.distributed.launch and call paddle.distributed.init_parallel_env() first.",
        )
    return group


def _finish(task: Any, *tensors: Tensor) -> None:
    """Wait, unless whoever called has asked for the task. The tensors live until then."""
    deferred = current().values.get(DEFERRED)
    if deferred is None:
        task.wait()
    else:
        deferred.append((task, tensors))


def register(*classes: type[ops.Collective]) -> Callable[[Run], Run]:
    """The decorated ``fn(op, x, size, *params)`` runs ops of these classes."""

    def decorate(fn: Run) -> Run:
        RUN.update(dict.fromkeys(classes, fn))
        return fn

    return decorate


def register_collective(*classes: type[ops.Collective]) -> Callable[[Run], Run]:
    """One of several ranks, ``fn(op, group, x, *params)`` with ``x`` contiguous; alone, nothing moves."""

    def decorate(fn: Run) -> Run:
        @register(*classes)
        def run(op: ops.Collective, x: Tensor, size: int, *params: Any) -> Tensor:
            return copied(x) if size == 1 else fn(op, group_of(op, size), contiguous(x), *params)

        return fn

    return decorate


# --- tensors without history, past the observers


def plain(name: str, x: Tensor, *params: Any, **attributes: Any) -> Tensor:
    """An op on one tensor."""
    return eager.apply_plain(F.REGISTRY[name](**attributes), (x,), params)


def copied(x: Tensor) -> Tensor:
    return eager.apply_plain(_COPY, (x,))


def contiguous(x: Tensor) -> Tensor:
    return x if x.is_contiguous() else copied(x)


def empty_like(x: Tensor, shape: Sequence[int]) -> Tensor:
    """New memory beside ``x``."""
    return empty(tuple(shape), x.dtype, x.place)


def zeros(x: Tensor) -> Tensor:
    """Zeros like ``x``."""
    return eager.apply_plain(F.REGISTRY["full"](dtype=x.dtype), (0,), (tuple(x.shape),))


def split(x: Tensor, axis: int, parts: int) -> Tensor:
    """``x`` cut into equal parts along an axis, stacked on a new first one."""
    shape = tuple(x.shape)
    stacked = plain("reshape", x, (*shape[:axis], parts, shape[axis] // parts, *shape[axis + 1 :]))
    rest = [i for i in range(len(shape) + 1) if i != axis]
    return contiguous(plain("permute", stacked, perm=(axis, *rest)))


def concatenated(parts: Tensor, axis: int) -> Tensor:
    """The parts along the first axis, one after the other along ``axis`` of them."""
    n, *shape = parts.shape
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
    transposed = contiguous(plain("permute", parts, perm=tuple(order)))
    return plain("reshape", transposed, (*shape[:axis], n * shape[axis], *shape[axis + 1 :]))


# --- the ops


@register_collective(ops.AllReduce)
def all_reduce(op: Any, group: Any, x: Tensor) -> Tensor:
    out = empty_like(x, x.shape)
    _finish(group.all_reduce(out, x, op.op), out, x)
    return out


@register_collective(ops.ReduceTo)
def reduce_to(op: Any, group: Any, x: Tensor, root: int, rank: int) -> Tensor:
    out = empty_like(x, x.shape) if rank == root else zeros(x)
    _finish(group.reduce(out, x, root, op.op), out, x)
    return out


@register_collective(ops.Broadcast)
def broadcast(op: Any, group: Any, x: Tensor, root: int, rank: int) -> Tensor:
    out = copied(x) if rank == root else empty_like(x, x.shape)
    _finish(group.broadcast(out, root), out)
    return out


@register_collective(ops.AllGather)
def all_gather(op: Any, group: Any, x: Tensor) -> Tensor:
    shape = tuple(x.shape)
    if op.axis == 0:
        out = empty_like(x, (group.size * shape[0], *shape[1:]))
        _finish(group.all_gather(out, x), out, x)
        return out
    parts = empty_like(x, (group.size, *shape))
    group.all_gather(parts, x).wait()
    return concatenated(parts, op.axis)


@register_collective(ops.ReduceScatter)
def reduce_scatter(op: Any, group: Any, x: Tensor) -> Tensor:
    shape = list(x.shape)
    shape[op.axis] //= group.size
    x = x if op.axis == 0 else split(x, op.axis, group.size)
    out = empty_like(x, shape)
    _finish(group.reduce_scatter(out, x, op.op), out, x)
    return out


@register_collective(ops.AllToAll)
def all_to_all(op: Any, group: Any, x: Tensor) -> Tensor:
    if op.split_axis == op.concat_axis == 0:
        out = empty_like(x, x.shape)
        _finish(group.all_to_all(out, x), out, x)
        return out
    parts = split(x, op.split_axis, group.size)
    come = empty_like(x, parts.shape)
    group.all_to_all(come, parts).wait()
    return concatenated(come, op.concat_axis)


@register_collective(ops.AllToAllSized)
def all_to_all_sized(op: Any, group: Any, x: Tensor, sent: tuple, received: tuple) -> Tensor:
    out = empty_like(x, (sum(received), *x.shape[1:]))
    _finish(group.all_to_all_sized(out, x, sent, received), out, x)
    return out


@register(ops.CopyToGroup)
def copy_to_group(op: Any, x: Tensor, size: int) -> Tensor:
    return copied(x)


@register(ops.CollectivePermute)
def collective_permute(op: Any, x: Tensor, size: int) -> Tensor:
    if size == 1:
        return copied(x) if op.pairs else zeros(x)
    x = contiguous(x)
    out = empty_like(x, x.shape)
    _finish(group_of(op, size).permute(out, x, op.pairs), out, x)
    return out


@register(ops.Send)
def send(op: Any, x: Tensor, size: int, peer: int) -> Tensor:
    x = contiguous(x)
    _finish(group_of(op, size).send(x, peer), x)
    return empty_like(x, (0,))


@register(ops.Recv)
def recv(op: Any, token: Tensor | None, size: int, peer: int, shape: tuple) -> Tensor:
    out = empty(shape, op.dtype, current().place)
    _finish(group_of(op, size).recv(out, peer), out)
    return out
