"""Writes by index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def shares(d: Draw, x: str) -> bool:
    """Whether elements share memory: such a value cannot be written to by arrays of indices."""
    places = d.values[0][x].at.positions
    return len(np.unique(places)) < places.size


def assigned(advanced: bool, value: str) -> Callable[[Draw], Proposal]:
    """``x[index] = ...``: a number, or a value that broadcasts to what the index selects."""

    def propose(d: Draw) -> Proposal:
        x = d.pick(lambda x: bool(d.shape(x)) and not (advanced and shares(d, x)))
        index, tensors = d.index(x, advanced)
        if value == "number":
            return Proposal((x, *tensors), {"index": index, "s": d.number()})
        y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) <= len(d.shape(x)))
        return Proposal((x, *tensors, y), {"index": index, "y": f"{{{len(tensors) + 1}}}"})

    return propose


for _name, _advanced in (("put", False), ("put_many", True)):
    op(
        f"{_name}_number",
        "{0}[{index}] = {s}",
        "{s}",
        assigned(_advanced, "number"),
        "write",
        region="{0}[{index}]",
        results=0,
        weight=0.8,
    )
    op(
        _name,
        "{0}[{index}] = {y}",
        "{y}",
        assigned(_advanced, "value"),
        "write",
        region="{0}[{index}]",
        results=0,
        weight=1.2,
    )
op(
    "put_part",
    "{0}[0] = {0}[-1]",
    "{0}[-1]",
    lambda d: Proposal((d.rank(1, 2, 3),), {}),
    "write",
    region="{0}[0]",
    results=0,
    weight=0.4,
)
op(
    "put_expression",
    "{0}[{index}] = {0}[{index}] * {s}",
    "{0}.view(lambda i: i[{index}]).t * {s}",
    lambda d: Proposal((x := d.rank(1, 2, 3),), {"index": d.index(x)[0], "s": d.number()}),
    "rewrite",
    region="{0}[{index}]",
    results=0,
    weight=0.5,
)


def overlapping(d: Draw) -> Proposal:
    """A part without overlap of a value whose elements share memory."""

    x = d.pick(lambda x: bool(d.shape(x)) and d.shape(x)[0] > 1 and shares(d, x))
    index = ", ".join([d.choose(("0", "-1")), *(["1:"] if d.chance(0.3) and len(d.shape(x)) > 1 else [])])
    y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) < len(d.shape(x)))
    return Proposal((x, y), {"index": index})


op(
    "put_overlapping", "{0}[{index}] = {1}", "{1}", overlapping, "write", region="{0}[{index}]", results=0, weight=8.0
)  # rarely there is such a value


def masked_put(d: Draw) -> Proposal:
    m = d.pick(lambda x: d.dtypes[x] == "bool" and bool(d.shape(x)), floating=False)
    x = d.pick(lambda x: all(v[x].shape == v[m].shape for v in d.values))
    return Proposal((x, m), {"s": d.number()})


op(
    "masked_fill_",
    "{0}.masked_fill_({1}, {s})",
    "torch.masked_fill({0}, {1}, {s})",
    masked_put,
    "write",
    results=0,
    weight=0.4,
    tags="mask",
)


def masked_scatter(d: Draw) -> Proposal:
    x, m = masked_put(d).operands
    return Proposal((x, m, d.like(x)), {})


for _suffix, _form in (("", "compute"), ("_", "write")):
    op(
        f"masked_scatter{_suffix}",
        f"{{0}}.masked_scatter{_suffix}({{1}}, {{2}})",
        "torch.masked_scatter({0}, {1}, {2})",
        masked_scatter,
        _form,
        results=int(not _suffix),
        dtype=lambda x, m, y: x,
        weight=0.4,
        tags="mask",
    )
op("put_mask", "{0}[{1}] = {s}", "{s}", masked_put, "write", region="{0}[{1}]", results=0, weight=0.6, tags="mask")
