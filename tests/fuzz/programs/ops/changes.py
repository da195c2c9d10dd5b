"""More in-place forms: of several operands, with augmented indices, of a choice, by copies and by random numbers."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.in_place import in_place
from tests.fuzz.programs.ops.matmuls import square_of
from tests.fuzz.programs.ops.proposals import any_float, scalar, with_axis

family = Family()
op = family.op

for _name, _ours, _theirs, _propose in (
    ("remainder_", "{0}.remainder_({1} * {1} + 0.75)", "torch.remainder({0}, {1} * {1} + 0.75)", in_place),
    ("hypot_", "{0}.hypot_({1} + 3.0)", "torch.hypot({0}, {1} + 3.0)", in_place),
    ("copysign_", "{0}.copysign_({1})", "torch.copysign({0}, {1})", in_place),
    ("ldexp_", "{0}.ldexp_(paddle.ones([], 'int32'))", "{0} * 2", any_float),
    ("number_added_", "{0}.add_(paddle.to_tensor({s}, dtype={0}.dtype))", "{0} + {s}", scalar),
    ("triu_", "{0}.triu_(1)", "torch.triu({0}, 1)", lambda d: Proposal((d.rank(2, 3),), {})),
    ("cumprod_", "{0}.cumprod_({axis})", "torch.cumprod({0}, {axis})", with_axis()),
    ("softmax_", "F.softmax_({0}, {axis})", "torch.softmax({0}, {axis})", with_axis()),
    ("leaky_relu_", "F.leaky_relu_({0}, 0.1)", "torch.where({0} < 0, 0.1 * {0}, {0})", any_float),
    ("hardtanh_", "F.hardtanh_({0})", "torch.clip({0}, -1, 1)", any_float),
    ("thresholded_relu_", "F.thresholded_relu_({0}, 0.5, 0.125)", "F.threshold({0}, 0.5, 0.125)", any_float),
    ("assigned_", "paddle.assign({1}, output={0})", "{1}", lambda d: Proposal((x := d.pick(), d.like(x)), {})),
    ("increment_", "paddle.increment({0}, 0.5)", "{0} + 0.5", lambda d: Proposal((_single(d),), {})),
    ("addmm_", "{0}.addmm_({1}, {2}, {b}, 0.5)", "torch.addmm({0}, {1}, {2}, beta={b}, alpha=0.5)", square_of(2)),
    ("renorm_", "{0}.renorm_(2.0, 0, 0.75)", "torch.renorm({0}, 2.0, 0, 0.75)", lambda d: Proposal((_full(d),), {})),
    ("polygamma_", "{0}.polygamma_(1)", "torch.polygamma(1, {0})", any_float),
    ("gammaln_", "{0}.gammaln_()", "torch.lgamma({0})", any_float),
):
    op(
        _name,
        _ours,
        _theirs,
        _propose,
        "write",
        results=0,
        weight=0.3,
        tags="loose" if "gamma" in _name else "",
    )


def _single(d: Draw) -> str:
    return d.pick(lambda x: all(v[x].at.positions.size == 1 for v in d.values))


def _full(d: Draw) -> str:
    return d.pick(lambda x: len(d.shape(x)) > 1 and all(0 not in v[x].shape for v in d.values))


def chosen(d: Draw) -> Proposal:
    x, y = in_place(d).operands
    return Proposal((x, y), {"s": d.number()})


op(
    "where_",
    "paddle.where_({0} > {s} * 0.25, {0}, {1})",
    "torch.where({0} > {s} * 0.25, {0}, {1})",
    chosen,
    "write",
    results=0,
    weight=0.5,
)


def part(d: Draw) -> Proposal:
    """A part of a value, and what broadcasts to it: a number of one element, or a row of it."""
    x = d.pick(lambda x: bool(d.shape(x)))
    index, _ = d.index(x)
    y = d.pick(lambda y: d.dtypes[y] == d.dtypes[x] and len(d.shape(y)) <= len(d.shape(x)))
    return Proposal((x, y), {"index": index})


# PyTorch knows no steps below 0.
_PART = "{0}.flatten()[torch.from_numpy(np.array(np.arange({0}.numel()).reshape({0}.shape)[{index}]))]"
for _name, _sign in (("added_part", "+"), ("multiplied_part", "*")):
    op(
        _name,
        f"{{0}}[{{index}}] {_sign}= {{1}}",
        f"{_PART} {_sign} {{1}}",
        part,
        "write",
        region="{0}[{index}]",
        results=0,
        weight=0.7,
    )


def of_rows(d: Draw) -> Proposal:
    """A write by a tensor of indices with a value that is computed from the same rows."""
    x = d.pick(lambda x: len(d.shape(x)) > 0 and min(v[x].shape[0] for v in d.values) > 0)
    n = min(v[x].shape[0] for v in d.values)
    return Proposal((x, d.input([d.integer(1, n)], "int64", f"index:{n}")), {"s": d.number()})


op(
    "put_rows",
    "{0}[{1}] = {0}[{1}] * {s}",
    "{0}.view(lambda i: i[{1}]).t * {s}",
    of_rows,
    "rewrite",
    region="{0}[{1}]",
    results=0,
    weight=0.7,
)


def drawn(d: Draw) -> Proposal:
    x = d.pick()
    if d.dtypes[x] not in ("float32", "float64"):
        raise Refused
    return Proposal((x,), {})


for _name, _kind in (("uniform", "uniform"), ("normal", "normal")):
    op(
        f"{_name}_",
        f"drawn({{0}}.{_name}_(0.0, 1.0))",
        f"draw({{0}}.shape, '{_kind}')",
        drawn,
        "write",
        results=0,
        weight=0.2,
        tags="random",
    )
