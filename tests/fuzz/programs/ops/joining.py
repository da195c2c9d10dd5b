"""Joining and moving elements."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import with_axis

family = Family()
op = family.op


def joined(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    return Proposal((x, d.like(x), d.like(x)), {"axis": d.axis(x)})


op("concat", "paddle.concat([{0}, {1}, {2}], {axis})", "torch.cat([{0}, {1}, {2}], {axis})", joined, weight=0.8)
op("concat_two", "paddle.concat([{0}, {1}])", "torch.cat([{0}, {1}])", joined, weight=0.6)
op("stack", "paddle.stack([{0}, {1}], {axis})", "torch.stack([{0}, {1}], {axis})", joined, weight=0.8)
op("stack_three", "paddle.stack([{0}, {1}, {0}])", "torch.stack([{0}, {1}, {0}])", joined, weight=0.3)
op("tile", "paddle.tile({0}, [2])", "torch.tile({0}, [2])", lambda d: Proposal((d.rank(1, 2),), {}), weight=0.3)
op("flip", "paddle.flip({0}, [{axis}])", "torch.flip({0}, [{axis}])", with_axis(), weight=0.4)
op(
    "roll",
    "paddle.roll({0}, {k}, {axis})",
    "torch.roll({0}, {k}, {axis})",
    lambda d: Proposal((x := d.rank(1, 2, 3),), {"k": d.integer(-2, 2), "axis": d.axis(x)}),
    weight=0.4,
)
op(
    "pad",
    "F.pad({0}, [1, 2], value=0.5)",
    "F.pad({0}, [1, 2], value=0.5)",
    lambda d: Proposal((d.rank(3),), {}),
    weight=0.3,
)
op(
    "repeat",
    "paddle.repeat_interleave({0}, 2, {axis})",
    "torch.repeat_interleave({0}, 2, {axis})",
    with_axis(),
    weight=0.3,
)
op(
    "gather_along",
    "paddle.take_along_axis({0}, paddle.argsort({0}, {axis}), {axis})",
    "torch.take_along_dim({0}, torch.argsort({0}, {axis}), {axis})",
    with_axis(),
    weight=0.3,
)
op("diff", "paddle.diff({0}, axis={axis})", "torch.diff({0}, dim={axis})", with_axis(), weight=0.2)
op(
    "count",
    "paddle.arange({0}.shape[0], dtype='float64') + {0}.sum().astype('float64')",
    "torch.arange({0}.shape[0], dtype=torch.float64) + {0}.sum()",
    lambda d: Proposal((d.rank(1, 2),), {}),
    dtype=always("float64"),
    weight=0.3,
    tags="cast",
)
