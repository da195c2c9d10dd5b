"""Hooks, and gradients of functions in Python, that write to the gradients that they get."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.layers import WRITES
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.gradients import alike, settled

family = Family()
op = family.op


def two(d: Draw) -> Proposal:
    found = alike(d)
    return Proposal(found.operands, {"s": d.number(), "how": repr(d.choose(WRITES))}, found.results)


def one(d: Draw) -> Proposal:
    return Proposal(two(d).operands, {"s": d.number(), "how": repr(d.choose(WRITES))})


op(
    "written_hook",
    "written_hook({0}, {s}, {how})",
    "{0}.t.register_hook(lambda g: L.written_gradient(g, {s}, {how}))",
    lambda d: Proposal((settled(d),), {"s": d.number(), "how": repr(d.choose(WRITES))}),
    "statement",
    results=0,
    weight=4.0,
    tags="hook",
)
op(
    "writing",
    "Writing.apply({0}, {1}, {s}, {how})",
    "(L.with_written_gradient({0}, {s}, {how}), L.with_written_gradient({1}, {s}, {how}))",
    two,
    dtype=lambda x, y: x,
    weight=3.0,
    tags="python skewed",
)
op(
    "writing_sum",
    "WritingSum.apply({0}, {1}, {s}, {how})",
    "L.with_written_gradient({0} + {1}, {s}, {how})",
    one,
    dtype=lambda x, y: x,
    weight=3.0,
    tags="python skewed",
)
