"""Collectives on memory that is not there: the group of that name notes them, where the rank's groups are planned.

Arrays are looked at for their shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.backends.ref.collective import GROUPS
from umiak.core.context import current
from umiak.ops import collective as ops

# (op, group, outs, operands, params)
NOTES: dict[type, Callable[[Any, Any, list, list, tuple], Any]] = {
    ops.AllReduce: lambda op, g, outs, ins, params: g.all_reduce(outs[0], ins[0], op.op),
    ops.ReduceTo: lambda op, g, outs, ins, params: g.reduce(outs[0], ins[0], params[1], op.op),
    ops.Broadcast: lambda op, g, outs, ins, params: g.broadcast(outs[0], params[1]),
    ops.AllGather: lambda op, g, outs, ins, params: g.all_gather(outs[0], ins[0]),
    ops.ReduceScatter: lambda op, g, outs, ins, params: g.reduce_scatter(outs[0], ins[0], op.op),
    ops.AllToAll: lambda op, g, outs, ins, params: g.all_to_all(outs[0], ins[0]),
    ops.AllToAllSized: lambda op, g, outs, ins, params: g.all_to_all_sized(outs[0], ins[0], *params[1:]),
    ops.CollectivePermute: lambda op, g, outs, ins, params: g.permute(outs[0], ins[0], op.pairs),
    ops.Send: lambda op, g, outs, ins, params: g.send(ins[0], params[1]),
    ops.Recv: lambda op, g, outs, ins, params: g.recv(outs[0], params[1]),
}


def run(op: Any, outs: list, ins: list, params: tuple) -> None:
    """Tell the planned group of the op, if there is one."""
    group = current().state.values.get(GROUPS, {}).get(op.group)
    if getattr(group, "planned", False):
        NOTES[type(op)](op, group, outs, ins, params)
