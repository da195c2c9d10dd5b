"""Operands and attributes that statements of several families propose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.programs.draw import Draw, Proposal, Refused


def any_float(d: Draw) -> Proposal:
    return Proposal((d.pick(),), {})


def not_of(dtype: str) -> Callable[[Draw], Proposal]:
    return lambda d: Proposal((d.pick(lambda x: d.dtypes[x] != dtype),), {})


def pair(d: Draw) -> Proposal:
    x = d.pick()
    y = d.broadcastable(x)
    return Proposal((x, y) if d.chance(0.5) else (y, x), {})


def different(d: Draw) -> Proposal:
    """Not twice the same value: where the derivative of a tie is a matter of choice."""
    found = pair(d)
    if found.operands[0] == found.operands[1]:
        raise Refused
    return found


def scalar(d: Draw) -> Proposal:
    return Proposal((d.pick(),), {"s": d.number()})


def with_axis(least: int = 1, **more: Any) -> Callable[[Draw], Proposal]:
    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: len(d.shape(x)) >= least)
        return Proposal((x,), {"axis": d.axis(x), **more})

    return propose


def reduced(d: Draw) -> Proposal:
    x = d.pick()
    axis, keep = d.axes(x), d.chance(0.4)
    n = len(d.shape(x))
    every = tuple(range(n)) if axis is None else axis
    return Proposal((x,), {"axis": axis, "all": tuple(every) if isinstance(every, list) else every, "keep": keep})
