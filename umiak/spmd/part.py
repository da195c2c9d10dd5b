"""One rank's share of a call: which part of it, and what it computes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak.core import dispatch
from umiak.ops import Part
from umiak.spmd.placement import box
from umiak.spmd.propagate import Propagation
from umiak.spmd.rule import Call


def part_of(call: Call, found: Propagation, mesh: Sequence[int], at: Sequence[int]) -> Part:
    """The part of the rank at the coordinates ``at`` of the mesh."""
    operands = tuple(
        None if layout is None or m is None else box(layout, m.shape, mesh, at)
        for layout, m in zip(found.operands, call.operands, strict=True)
    )
    results = tuple(box(layout, m.shape, mesh, at) for layout, m in zip(found.results, call.results, strict=True))
    places: dict[str, int] = {}
    for axis, choice in enumerate(found.choices):
        if isinstance(choice, str):
            places[choice] = places.get(choice, 0) * mesh[axis] + at[axis]
    return Part(operands, results, places)


def run_on_part(call: Call, part: Part, operands: Sequence[Any]) -> tuple:
    """The results of the part of a call, from the parts of its operands."""
    if call.op.on_part is None:
        made = dispatch.apply(call.op, tuple(operands), call.params)
    else:
        made = call.op.on_part(part, *operands, *call.params)
    return made if isinstance(made, tuple) else (made,)
