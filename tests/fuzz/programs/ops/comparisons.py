"""Comparisons and what reads masks; casts; arithmetic of integers."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.dtypes import always, floats_of, promoted, summed
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float, different, not_of, scalar

family = Family()
op = family.op

COMPARISONS = {"less": "<", "greater": ">", "less_equal": "<=", "not_equal": "!="}
for _name, _sign in COMPARISONS.items():
    op(_name, f"{{0}} {_sign} {{1}}", f"{{0}} {_sign} {{1}}", different, dtype=always("bool"), weight=0.25)
op("above", "{0} > {s}", "{0} > {s}", scalar, dtype=always("bool"), weight=0.4)


def masked(d: Draw) -> Proposal:
    m = d.pick(lambda x: d.dtypes[x] == "bool", floating=False)
    x = d.pick(lambda x: all(v[x].shape == v[m].shape for v in d.values))
    return Proposal((m, x, d.like(x)), {})


op("where", "paddle.where({0}, {1}, {2})", "torch.where({0}, {1}, {2})", masked, dtype=lambda m, x, y: promoted(x, y))
op(
    "masked_fill",
    "paddle.masked_fill({1}, {0}, 0.5)",
    "torch.masked_fill({1}, {0}, 0.5)",
    masked,
    dtype=lambda m, x, y: x,
    weight=0.4,
)
op("mask_as_number", "{0}.astype({1}.dtype) * {1}", "{0}.to({1}.dtype) * {1}", masked, dtype=lambda m, x, y: x)
op(
    "where_above",
    "paddle.where({0} > {s}, {0}, {1})",
    "torch.where({0} > {s}, {0}, {1})",
    lambda d: Proposal((x := d.pick(), d.like(x)), {"s": d.number()}),
    weight=0.5,
)
op("to_int", "({0} * 2).astype('int64')", "({0} * 2).long()", any_float, dtype=always("int64"), weight=0.3)
op("to_int32", "({0} * 2).astype('int32')", "({0} * 2).long()", any_float, dtype=always("int32"), weight=0.2)
op(
    "to_double",
    "{0}.astype('float64')",
    "{0}.clone()",
    not_of("float64"),
    dtype=always("float64"),
    weight=0.3,
    tags="cast",
)
op(
    "to_single",
    "{0}.astype('float32')",
    "{0}.clone()",
    not_of("float32"),
    dtype=always("float32"),
    weight=0.3,
    tags="cast",
)


def integers(d: Draw) -> Proposal:
    x = d.pick(lambda x: d.dtypes[x] != "bool", floating=False)
    return Proposal((x, d.broadcastable(x)), {})


def integer(d: Draw) -> Proposal:
    return Proposal((d.pick(lambda x: d.dtypes[x] != "bool", floating=False),), {"s": d.integer(1, 4)})


op("int_add", "{0} + {1}", "{0} + {1}", integers, weight=0.4)
op("int_times", "{0} * {1}", "{0} * {1}", integers, weight=0.3)
op("int_floor", "{0} // {s}", "torch.div({0}, {s}, rounding_mode='floor')", integer, weight=0.3)
op("int_mod", "{0} % {s}", "torch.remainder({0}, {s})", integer, weight=0.3)
op("int_divide", "{0} / {s}", "{0}.double() / {s}", integer, dtype=floats_of, weight=0.3)
op("int_float", "{0} * 0.5", "{0}.double() * 0.5", integer, dtype=floats_of, weight=0.3)
op("int_sum", "paddle.sum({0})", "torch.sum({0})", integer, dtype=summed, weight=0.2)
