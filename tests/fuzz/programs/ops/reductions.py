"""Reductions, and what works along an axis."""

from __future__ import annotations

from tests.fuzz.programs.draw import Proposal
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.proposals import any_float, reduced, scalar, with_axis

family = Family()
op = family.op

QUANTILES = ("linear", "lower", "higher", "midpoint")

op("sum", "paddle.sum({0}, {axis}, keepdim={keep})", "torch.sum({0}, {all}, {keep})", reduced, weight=1.2)
op("mean", "paddle.mean({0}, {axis}, {keep})", "torch.mean({0}, {all}, {keep})", reduced, weight=1.2)
op("max", "paddle.max({0}, {axis}, {keep})", "torch.amax({0}, {all}, {keep})", reduced, weight=0.6)
op("min", "paddle.min({0}, {axis}, {keep})", "torch.amin({0}, {all}, {keep})", reduced, weight=0.4)
op("amax", "paddle.amax({0}, {axis}, {keep})", "torch.amax({0}, {all}, {keep})", reduced, weight=0.2)
op("logsumexp", "paddle.logsumexp({0}, {axis}, {keep})", "torch.logsumexp({0}, {all}, {keep})", reduced, weight=0.5)
op(
    "var",
    "paddle.var({0}, {axis}, True, {keep})",
    "torch.var({0}, {all}, correction=1, keepdim={keep})",
    reduced,
    weight=0.5,
)
op(
    "std",
    "paddle.std({0}, {axis}, False, {keep})",
    "torch.std({0}, {all}, correction=0, keepdim={keep})",
    reduced,
    weight=0.4,
)
op("norm", "paddle.linalg.norm({0})", "torch.linalg.vector_norm({0})", any_float, weight=0.3)
op("prod", "paddle.prod({0}, {axis})", "torch.prod({0}, {axis})", with_axis(), weight=0.4)
op("cumsum", "paddle.cumsum({0}, {axis})", "torch.cumsum({0}, {axis})", with_axis(), weight=0.5)
op("cumprod", "paddle.cumprod({0}, {axis})", "torch.cumprod({0}, {axis})", with_axis(), weight=0.3)
op("logcumsumexp", "paddle.logcumsumexp({0}, {axis})", "torch.logcumsumexp({0}, {axis})", with_axis(), weight=0.3)
op("argmax", "paddle.argmax({0}, {axis})", "torch.argmax({0}, {axis})", with_axis(), dtype=always("int64"), weight=0.3)
op("any", "paddle.any({0} > {s})", "torch.any({0} > {s})", scalar, dtype=always("bool"), weight=0.1)
op("sort", "paddle.sort({0}, {axis})", "torch.sort({0}, {axis})[0]", with_axis(), weight=0.4)
op("topk", "paddle.topk({0}, 1, axis={axis})[0]", "torch.topk({0}, 1, {axis})[0]", with_axis(), weight=0.3)
for _name, _q in (("quantile", "{q}"), ("nanquantile", "{q}")):
    op(
        _name,
        f"paddle.{_name}({{0}}, {_q}, {{axis}}, {{keep}}, '{{how}}')",
        f"torch.{_name}({{0}}, {_q}, {{axis}}, {{keep}}, interpolation='{{how}}')",
        lambda d: Proposal(
            (x := d.rank(1, 2, 3),),
            {"axis": d.axis(x), "q": d.choose((0.3, 0.75)), "keep": d.chance(0.4), "how": d.choose(QUANTILES)},
        ),
        weight=0.3,
    )
op("kthvalue", "paddle.kthvalue({0}, 1, {axis})[0]", "torch.kthvalue({0}, 1, {axis})[0]", with_axis(), weight=0.2)
op("trapezoid", "paddle.trapezoid({0}, axis={axis})", "torch.trapezoid({0}, dim={axis})", with_axis(), weight=0.2)
op("nansum", "paddle.nansum({0}, {axis}, keepdim={keep})", "torch.nansum({0}, {all}, {keep})", reduced, weight=0.2)
op("softmax", "F.softmax({0}, {axis})", "torch.softmax({0}, {axis})", with_axis(), weight=1)
op("log_softmax", "F.log_softmax({0}, {axis})", "torch.log_softmax({0}, {axis})", with_axis(), weight=0.5)
op("normalize", "F.normalize({0}, axis={axis})", "F.normalize({0}, dim={axis})", with_axis(), weight=0.3)
op("tril", "paddle.tril({0})", "torch.tril({0})", lambda d: Proposal((d.rank(2, 3),), {}), weight=0.2)
op("triu", "paddle.triu({0}, 1)", "torch.triu({0}, 1)", lambda d: Proposal((d.rank(2, 3),), {}), weight=0.2)
