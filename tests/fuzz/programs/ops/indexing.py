"""Indexing that copies."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.writes import masked_put

family = Family()
op = family.op


def indexed(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    index, tensors = d.index(x, advanced=True)
    if "[" not in index and not tensors:
        raise Refused
    return Proposal((x, *tensors), {"index": index})


op("take", "{0}[{index}]", "made({0}.view(lambda i: i[{index}]).t.clone())", indexed, "take", weight=1.5)
op(
    "take_mask",
    "{0}[{1}]",
    "{0}[{1}]",
    lambda d: Proposal(masked_put(d).operands, {}),
    weight=0.5,
    dtype=lambda x, m: x,
    tags="mask",
)


def rows_of(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)))
    axis = d.axis(x, fixed=True)
    n = d.shape(x)[axis]
    if not n:
        raise Refused
    return Proposal((x, d.input([d.choose((1, 2, 3))], "int64", f"index:{n}")), {"axis": axis, "n": n})


op(
    "index_select",
    "paddle.index_select({0}, {1}, {axis})",
    "torch.index_select({0}, {axis}, {1})",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.5,
)
op(
    "gather",
    "paddle.gather({0}, {1}, {axis})",
    "torch.index_select({0}, {axis}, {1})",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.4,
)
op(
    "index_fill",
    "paddle.index_fill({0}, {1}, {axis}, 0.5)",
    "torch.index_fill({0}, {axis}, {1}, 0.5)",
    rows_of,
    dtype=lambda x, i: x,
    weight=0.2,
)
op("one_hot", "F.one_hot({1}, {n})", "F.one_hot({1}, {n}).double()", rows_of, dtype=always("float32"), weight=0.3)
op("embedding", "F.embedding({1}, {0})", "F.embedding({1}, {0})", lambda d: _table(d), dtype=lambda w, i: w, weight=0.4)


def _table(d: Draw) -> Proposal:
    w = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 0) and d.shape(x)[0] > 0)
    return Proposal((w, d.input(["n", 2] if d.chance(0.5) else ["n"], "int64", f"index:{d.shape(w)[0]}")), {})
