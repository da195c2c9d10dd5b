"""Integers and bools: bits, divisors, logic, comparisons, counts, orders; beside numbers of Python and other dtypes."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.dtypes import always, floats_of, summed
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import pair, reduced, with_axis
from tests.fuzz.programs.ops.scatters import least

family = Family()
op = family.op


def whole(d: Draw) -> str:
    """Some integers, maybe new ones."""
    found = [x for x in d.names(False) if d.dtypes[x] != "bool"]
    if found and d.chance(0.7):
        return d.choose(found)
    return d.input(d.sizes(d.pick()), d.choose(("int64", "int64", "int32")))


def two_integers(d: Draw) -> Proposal:
    x = whole(d)
    y = d.broadcastable(x)
    if d.dtypes[y] == "bool" or d.dtypes[x] != d.dtypes[y]:
        raise Refused
    return Proposal((x, y) if d.chance(0.5) else (y, x), {})


def with_number(d: Draw) -> Proposal:
    return Proposal((whole(d),), {"s": d.integer(0, 3), "f": d.choose((0.5, -1.5, 2.0))})


for _name, _sign in (("and", "&"), ("or", "|"), ("xor", "^")):
    _bits = f"bitwise_{_name}"
    op(_bits, f"paddle.{_bits}({{0}}, {{1}})", f"{{0}} {_sign} {{1}}", two_integers, weight=0.3)
    op(f"{_bits}_number", f"{{0}} {_sign} {{s}}", f"{{0}} {_sign} {{s}}", with_number, weight=0.2)
op("bitwise_not", "paddle.bitwise_not({0})", "~{0}", with_number, weight=0.2)
op("shifted", "paddle.bitwise_left_shift({0}, {1} & 1)", "{0} << ({1} & 1)", two_integers, weight=0.2)
op("halved", "paddle.bitwise_right_shift({0}, {1} & 3)", "{0} >> ({1} & 3)", two_integers, weight=0.2)
for _name in ("gcd", "lcm"):
    op(_name, f"paddle.{_name}({{0}}, {{1}})", f"torch.{_name}({{0}}, {{1}})", two_integers, weight=0.3)
for _name, _ours, _theirs in (
    ("whole_remainder", "paddle.remainder({0}, {1} * {1} + 1)", "torch.remainder({0}, {1} * {1} + 1)"),
    ("whole_floor", "{0} // ({1} * {1} + 1)", "torch.div({0}, {1} * {1} + 1, rounding_mode='floor')"),
    ("whole_maximum", "paddle.maximum({0}, {1})", "torch.maximum({0}, {1})"),
    ("whole_minus", "{0} - {1}", "{0} - {1}"),
):
    op(_name, _ours, _theirs, two_integers, weight=0.3)
op("whole_over", "{0} / ({1} * {1} + 1)", "{0}.double() / ({1} * {1} + 1)", two_integers, dtype=floats_of, weight=0.3)

# Beside numbers of Python, which make floats of integers and integers of bools.
for _name, _ours, _theirs, _dtype in (
    ("whole_plus_float", "{0} + {f}", "{0}.double() + {f}", floats_of),
    ("float_minus_whole", "{f} - {0}", "{f} - {0}.double()", floats_of),
    ("whole_times_number", "{0} * {s}", "{0} * {s}", None),
    ("number_minus_whole", "{s} - {0}", "{s} - {0}", None),
    ("number_over_whole", "{s} / ({0} * {0} + 1)", "{s} / ({0} * {0} + 1).double()", floats_of),
    ("whole_squared", "{0} ** 2", "{0} ** 2", None),
    ("whole_of_float", "{0} % 2.5", "torch.remainder({0}.double(), 2.5)", floats_of),
    ("whole_clipped", "paddle.clip({0}, -1, 2)", "torch.clip({0}, -1, 2)", None),
    ("whole_abs", "paddle.abs({0})", "torch.abs({0})", None),
    ("whole_neg", "-{0}", "-{0}", None),
    ("whole_sign", "paddle.sign({0})", "torch.sign({0})", None),
    ("whole_above", "{0} > {f}", "{0} > {f}", always("bool")),
    ("whole_equal", "paddle.equal({0}, {s})", "{0} == {s}", always("bool")),
    ("whole_as_bool", "{0}.astype('bool')", "{0}.bool()", always("bool")),
    ("whole_mean", "paddle.mean({0}.astype('float32'))", "{0}.double().mean()", always("float32")),
    ("whole_exp", "paddle.exp({0} * 0.25)", "torch.exp({0}.double() * 0.25)", floats_of),
    ("whole_sqrt", "paddle.sqrt({0} * {0} + 1)", "torch.sqrt(({0} * {0} + 1).double())", floats_of),
    (
        "among",
        "paddle.isin({0}, paddle.to_tensor([-1, 2], dtype={0}.dtype))",
        "torch.isin({0}, torch.tensor([-1, 2]))",
        always("bool"),
    ),
):
    op(_name, _ours, _theirs, with_number, dtype=_dtype, weight=0.2)


def beside_floats(d: Draw) -> Proposal:
    """Integers beside floats."""
    x = whole(d)
    y = d.pick(lambda y: all(v[x].shape == v[y].shape for v in d.values))
    if not d.shape(y) and d.shape(x):
        raise Refused
    return Proposal((x, y), {})


op("whole_chosen", "paddle.where({0} > 0, {1}, {1} * 2)", "torch.where({0} > 0, {1}, {1} * 2)", beside_floats,
   dtype=lambda x, y: y, weight=0.3)  # fmt: skip

# --- truth

for _name, _theirs in (("and", "&"), ("or", "|"), ("xor", "^")):
    op(
        f"logical_{_name}",
        f"paddle.logical_{_name}({{0}} > 0.25, {{1}} > -0.25)",
        f"({{0}} > 0.25) {_theirs} ({{1}} > -0.25)",
        pair,
        dtype=always("bool"),
        weight=0.3,
    )
    op(
        f"truth_{_name}",
        f"paddle.logical_{_name}({{0}}, {{1}})",
        f"({{0}} != 0) {_theirs} ({{1}} != 0)",
        two_integers,
        dtype=always("bool"),
        weight=0.2,
    )
op("logical_not", "paddle.logical_not({0})", "{0} == 0", with_number, dtype=always("bool"), weight=0.2)
for _name, _sign in (
    ("equal", "=="), ("less_than", "<"), ("greater_equal", ">="), ("greater_than", ">"),
):  # fmt: skip
    op(f"{_name}_floating", f"paddle.{_name}({{0}}, {{1}})", f"{{0}} {_sign} {{1}}", pair, dtype=always("bool"),
       weight=0.15)  # fmt: skip


def truth(d: Draw) -> str:
    return d.pick(lambda x: d.dtypes[x] == "bool", floating=False)


def truth_reduced(d: Draw) -> Proposal:
    x = truth(d)
    axis, keep = d.axes(x), d.chance(0.4)
    every = tuple(range(len(d.shape(x)))) if axis is None else axis
    return Proposal((x,), {"axis": axis, "all": tuple(every) if isinstance(every, list) else every, "keep": keep})


op("truth_any", "paddle.any({0}, {axis}, {keep})", "torch.any({0}, {all}, {keep})", truth_reduced, dtype=always("bool"),
   weight=0.4)  # fmt: skip
op("truth_all", "paddle.all({0}, {axis}, {keep})", "torch.all({0}, {all}, {keep})", truth_reduced, dtype=always("bool"),
   weight=0.4)  # fmt: skip
op("truth_sum", "paddle.sum({0}, {axis}, keepdim={keep})", "torch.sum({0}, {all}, {keep})", truth_reduced,
   dtype=always("int64"), weight=0.4)  # fmt: skip
for _name, _ours, _theirs, _dtype in (
    ("truth_plus", "{0} + 1", "{0} + 1", always("int64")),
    ("truth_times", "{0} * 2.5", "{0}.double() * 2.5", always("float32")),
    ("truth_float", "{0}.astype('float32') - 0.5", "{0}.double() - 0.5", always("float32")),
    ("truth_not", "~{0}", "~{0}", always("bool")),
):
    op(_name, _ours, _theirs, lambda d: Proposal((truth(d),), {}), dtype=_dtype, weight=0.3)

# --- counts, orders, places


def whole_reduced(d: Draw) -> Proposal:
    x = whole(d)
    axis, keep = d.axes(x), d.chance(0.4)
    every = tuple(range(len(d.shape(x)))) if axis is None else axis
    return Proposal((x,), {"axis": axis, "all": tuple(every) if isinstance(every, list) else every, "keep": keep})


op("whole_sum", "paddle.sum({0}, {axis}, keepdim={keep})", "torch.sum({0}, {all}, {keep})", whole_reduced,
   dtype=summed, weight=0.4)  # fmt: skip
for _name in ("amax", "amin"):
    op(f"whole_{_name}", f"paddle.{_name[1:]}({{0}}, {{axis}}, {{keep}})", f"torch.{_name}({{0}}, {{all}}, {{keep}})",
       whole_reduced, weight=0.3)  # fmt: skip
op("count_nonzero", "paddle.count_nonzero({0} > 0.25, {axis}, {keep})", "torch.sum({0} > 0.25, {all}, {keep})", reduced,
   dtype=always("int64"), weight=0.4)  # fmt: skip


def along_whole(d: Draw) -> Proposal:
    x = whole(d)
    if not d.shape(x):
        raise Refused
    return Proposal((x,), {"axis": d.axis(x)})


op("whole_cumsum", "paddle.cumsum({0}, {axis})", "torch.cumsum({0}, {axis})", along_whole,
   dtype=summed, weight=0.3)  # fmt: skip
op("whole_sort", "paddle.sort({0}, {axis}, descending=True)", "torch.sort({0}, {axis}, descending=True)[0]",
   along_whole, weight=0.3)  # fmt: skip
op("whole_flip", "paddle.flip({0}, [{axis}])", "torch.flip({0}, [{axis}])", along_whole, weight=0.2)
for _name in ("argmin", "argsort"):
    op(_name, f"paddle.{_name}({{0}}, {{axis}})", f"torch.{_name}({{0}}, {{axis}})", with_axis(),
       dtype=always("int64"), weight=0.3)  # fmt: skip
for _name in ("searchsorted", "bucketize"):
    _order = "[-1.0, 0.25, 1.5], dtype={0}.dtype"
    _call = "paddle.to_tensor(B), {0}" if _name == "searchsorted" else "{0}, paddle.to_tensor(B)"
    op(
        _name,
        f"paddle.{_name}({_call.replace('B', _order)}, right={{right}})",
        "torch.searchsorted(torch.tensor([-1.0, 0.25, 1.5], dtype=torch.float64), {0}.contiguous(), right={right})",
        lambda d: Proposal((d.pick(lambda x: d.dtypes[x] in ("float32", "float64")),), {"right": d.chance(0.5)}),
        dtype=always("int64"),
        weight=0.3,
    )


def chosen_rows(d: Draw) -> Proposal:
    """Rows whose numbers are computed."""
    x = d.pick(lambda x: bool(d.shape(x)))
    n = least(d, x, 0)
    i = whole(d)
    if len(d.shape(i)) != 1 or d.dtypes[i] == "bool":
        raise Refused
    return Proposal((x, i), {"n": n})


op("computed_rows", "paddle.gather({0}, {1} % {n})", "{0}[torch.remainder({1}, {n})]", chosen_rows,
   dtype=lambda x, i: x, weight=0.6)  # fmt: skip
op("indexed_rows", "{0}[{1} % {n}]", "{0}[torch.remainder({1}, {n})]", chosen_rows, dtype=lambda x, i: x,
   weight=0.6)  # fmt: skip


# --- in place


def written(d: Draw) -> Proposal:
    return Proposal((d.pick(lambda x: d.dtypes[x] not in ("bool",), floating=False),), {"s": d.integer(0, 3)})


for _name, _ours, _theirs in (
    ("bitwise_and_", "{0}.bitwise_and_(paddle.to_tensor({s}, dtype={0}.dtype))", "{0} & {s}"),
    ("bitwise_xor_", "{0}.bitwise_xor_(paddle.to_tensor({s}, dtype={0}.dtype))", "{0} ^ {s}"),
    ("bitwise_not_", "{0}.bitwise_not_()", "~{0}"),
    ("whole_add_", "{0}.add_(paddle.to_tensor({s}, dtype={0}.dtype))", "{0} + {s}"),
    ("whole_scale_", "{0}.scale_(2, 1)", "{0} * 2 + 1"),
    ("whole_clip_", "{0}.clip_(-1, 2)", "torch.clip({0}, -1, 2)"),
    ("whole_fill_", "{0}.fill_({s})", "torch.full_like({0}, {s})"),
    ("whole_mod_", "{0}.mod_(paddle.to_tensor({s} + 1, dtype={0}.dtype))", "torch.remainder({0}, {s} + 1)"),
    ("whole_floor_divide_", "{0}.floor_divide_(paddle.to_tensor({s} + 1, dtype={0}.dtype))",
     "torch.div({0}, {s} + 1, rounding_mode='floor')"),
    ("whole_part_", "{0}[...] = {s}", "torch.full_like({0}, {s})"),
):  # fmt: skip
    op(_name, _ours, _theirs, written, "write", results=0, weight=0.25)
op("truth_not_", "{0}.logical_not_()", "~{0}", lambda d: Proposal((truth(d),), {}), "write", results=0, weight=0.3)
