"""NumPy kernels of communication: in a group of one, nothing moves. Larger groups need a communicator."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import collective as ops


def alone(op: ops.Collective, size: int) -> None:
    """Refuse a group of more than one rank."""
    if size != 1:
        op.fail(
            RuntimeError,
            f"a communicator for group {op.group!r} of {size} ranks",
            "the NumPy backend, which knows groups of one rank",
            "Start the ranks with paddle.distributed.launch and call paddle.distributed.init_parallel_env() first.",
        )


@kernel(
    ops.AllReduce,
    ops.AllGather,
    ops.ReduceScatter,
    ops.AllToAll,
    ops.AllToAllSized,
    ops.Broadcast,
    ops.ReduceTo,
    raw=True,
)
def whole(op, out, x, size, *params):
    alone(op, size)
    out[...] = x


@kernel(ops.Fanout, raw=True)
def fanout(op, out, x, size):
    out[...] = x


@kernel(ops.CollectivePermute, raw=True)
def collective_permute(op, out, x, size):
    alone(op, size)
    out[...] = x if op.pairs else np.zeros_like(x)


@kernel(ops.Send, raw=True)
def send(op, out, x, size, peer):
    _nobody(op)


@kernel(ops.Recv, raw=True)
def recv(op, out, token, size, peer, shape):
    _nobody(op)


def _nobody(op: ops.Collective) -> None:
    op.fail(
        RuntimeError,
        f"a communicator for group {op.group!r}",
        "the NumPy backend, which has no other ranks",
        "Start the ranks with paddle.distributed.launch and call paddle.distributed.init_parallel_env() first.",
    )
