"""Hooks, gradients within a program, and their ends."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float

family = Family()
op = family.op


def settled(d: Draw) -> str:
    """A value that wants a gradient and whose memory nothing has written to."""
    return d.pick(
        lambda x: all(v[x].t.requires_grad and v[x].cell.version == 0 and v[x].at.parent is None for v in d.values)
    )


op(
    "hook",
    "{0}.register_hook(lambda g: g * {s})",
    "{0}.t.register_hook(lambda g: None if g is None else g * {s})",  # None: no gradient
    lambda d: Proposal((settled(d),), {"s": d.number()}),
    "statement",
    results=0,
    weight=0.7,
    tags="hook",
)
op(
    "grad",
    "paddle.grad([({1} * {1}).sum()], [{0}], create_graph=True)[0]",
    "made(torch.autograd.grad(({1}.t * {1}.t).sum(), {0}.t, create_graph=True)[0])",
    lambda d: Proposal((settled(d), d.pick()), {}),
    "statement",
    dtype=lambda x, y: x,
    weight=0.7,
    tags="grad",
)
op("detach", "{0}.detach()", "made({0}.unclear().t.detach()).unclear()", any_float, "statement", weight=0.4, tags="cut")


def alike(d: Draw) -> Proposal:
    x = d.pick()
    y = d.like(x)
    if d.dtypes[x] != d.dtypes[y]:
        raise Refused
    return Proposal((x, y), {"s": d.number()}, 2)


op(
    "layered",
    "Layered.apply({0}, {1}, {s})",
    "({0} * {1} * {s}, torch.tanh({0}))",
    alike,
    dtype=lambda x, y: x,
    weight=0.5,
    tags="python",
)
