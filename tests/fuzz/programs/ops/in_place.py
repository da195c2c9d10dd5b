"""Elementwise writes."""

from __future__ import annotations

import numpy as np

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float, scalar, with_axis

family = Family()
op = family.op


def in_place(d: Draw) -> Proposal:
    """A value that is written to, and one that broadcasts to it."""
    x = d.pick()
    shape = d.shape(x)

    def fits(y: str) -> bool:
        try:
            return all(
                np.broadcast_shapes(v[x].shape, v[y].shape) == v[x].shape and d.dtypes[x] == d.dtypes[y]
                for v in d.values
            )
        except ValueError:
            return False

    if d.chance(0.25):
        sizes = d.sizes(x)[d.integer(0, len(shape)) :]
        return Proposal((x, d.input(sizes, dtype=d.dtypes[x])), {})
    return Proposal((x, d.beside(x, fits, d.sizes(x))), {})


for _name, _text in {
    "add_": "{0} + {1}",
    "subtract_": "{0} - {1}",
    "multiply_": "{0} * {1}",
    "copy_": "{1}",
}.items():
    op(_name, f"{{0}}.{_name}({{1}})", _text, in_place, "write", results=0, weight=0.6)
op(
    "lerp_",
    "{0}.lerp_({1}, 0.25)",
    "torch.lerp({0}, {1}, 0.25)",
    lambda d: Proposal((x := d.pick(), d.like(x)), {}),
    "write",
    results=0,
    weight=0.2,
)
op("divide_", "{0}.divide_({1} * {1} + 0.5)", "{0} / ({1} * {1} + 0.5)", in_place, "write", results=0, weight=0.3)
op("scale_", "{0}.scale_({s}, 0.5)", "{0} * {s} + 0.5", scalar, "write", results=0, weight=0.4)
op("clip_", "{0}.clip_(-0.75, 0.75)", "torch.clip({0}, -0.75, 0.75)", any_float, "write", results=0, weight=0.3)
op("pow_", "{0}.pow_(2)", "{0} ** 2", any_float, "write", results=0, weight=0.3)
op("fill_", "{0}.fill_({s})", "torch.full_like({0}, {s})", scalar, "write", results=0, weight=0.2)
op("zero_", "{0}.zero_()", "torch.zeros_like({0})", any_float, "write", results=0, weight=0.15)
op("cumsum_", "{0}.cumsum_({axis})", "torch.cumsum({0}, {axis})", with_axis(), "write", results=0, weight=0.2)
op("tril_", "{0}.tril_()", "torch.tril({0})", lambda d: Proposal((d.rank(2, 3),), {}), "write", results=0, weight=0.2)
