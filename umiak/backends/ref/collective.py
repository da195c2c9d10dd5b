"""Kernels of communication: they hand arrays to the group of that name, which the layer of communication has put into
the rank's state. In a group of one nothing moves, and none is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.core.context import current
from umiak.ops import collective as ops

GROUPS = "groups"  # in the values of a rank's state: its groups by name
DEFERRED = "deferred"  # in the values of a thread's context: the list of tasks that somebody else will wait for


def _group(op: ops.Collective, size: int) -> Any:
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


def _finish(task: Any, *arrays: np.ndarray) -> None:
    """Wait, unless whoever called has asked for the task. The arrays live until then."""
    deferred = current().values.get(DEFERRED)
    if deferred is None:
        task.wait()
    else:
        deferred.append((task, arrays))


def together(*classes: type[ops.Collective]) -> Callable[[Callable[..., None]], None]:
    """A kernel of several ranks, ``fn(op, group, out, x, *params)`` with ``x`` contiguous; alone, nothing moves."""

    def enter(fn: Callable[..., None]) -> None:
        @kernel(*classes, raw=True)
        def run(op, out, x, size, *params):
            if size == 1:
                out[...] = x
            else:
                fn(op, _group(op, size), out, np.ascontiguousarray(x), *params)

    return enter


def _parts_first(x: np.ndarray, axis: int) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, axis, 0))


@together(ops.AllReduce)
def all_reduce(op, group, out, x):
    _finish(group.all_reduce(out, x, op.op), out, x)


@together(ops.ReduceTo)
def reduce_to(op, group, out, x, root, rank):
    if rank != root:
        out[...] = np.zeros((), out.dtype)
    _finish(group.reduce(out, x, root, op.op), out, x)


@together(ops.Broadcast)
def broadcast(op, group, out, x, root, rank):
    out[...] = x
    _finish(group.broadcast(out, root), out)


@together(ops.AllGather)
def all_gather(op, group, out, x):
    if op.axis == 0:
        _finish(group.all_gather(out, x), out, x)
        return
    parts = np.empty((group.size, *x.shape), x.dtype)
    group.all_gather(parts, x).wait()
    out[...] = np.moveaxis(parts, 0, op.axis).reshape(out.shape)


@together(ops.ReduceScatter)
def reduce_scatter(op, group, out, x):
    if op.axis == 0:
        _finish(group.reduce_scatter(out, x, op.op), out, x)
        return
    turned = _parts_first(x, op.axis)
    part = np.empty((turned.shape[0] // group.size, *turned.shape[1:]), x.dtype)
    group.reduce_scatter(part, turned, op.op).wait()
    out[...] = np.moveaxis(part, 0, op.axis)


@together(ops.AllToAll)
def all_to_all(op, group, out, x):
    if op.split_axis == op.concat_axis == 0:
        _finish(group.all_to_all(out, x), out, x)
        return
    parts = np.stack(np.split(x, group.size, op.split_axis))
    come = np.empty_like(parts)
    group.all_to_all(come, parts).wait()
    out[...] = np.concatenate(list(come), op.concat_axis)


@together(ops.AllToAllSized)
def all_to_all_sized(op, group, out, x, sent, received):
    _finish(group.all_to_all_sized(out, x, sent, received), out, x)


@kernel(ops.Fanout, raw=True)
def fanout(op, out, x, size):
    out[...] = x


@kernel(ops.CollectivePermute, raw=True)
def collective_permute(op, out, x, size):
    if size == 1:
        out[...] = x if op.pairs else np.zeros_like(x)
        return
    x = np.ascontiguousarray(x)
    _finish(_group(op, size).permute(out, x, op.pairs), out, x)


@kernel(ops.Send, raw=True)
def send(op, out, x, size, peer):
    x = np.ascontiguousarray(x)
    _finish(_group(op, size).send(x, peer), x)


@kernel(ops.Recv, raw=True)
def recv(op, out, token, size, peer, shape):
    _finish(_group(op, size).recv(out, peer), out)
