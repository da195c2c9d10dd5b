"""Names of fused operators of language models."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.matmuls import layer

family = Family()
op = family.op

_I = "paddle.incubate.nn.functional"


def heads(d: Draw) -> Proposal:
    """Features ``[batch, sequence, heads, size]`` and tables ``[sequence, size]``."""
    fits = [x for x in d.names() if len(d.shape(x)) == 4 and d.shape(x)[-1] in (2, 4, 6) and not d.varying(x, -1)]
    x = d.choose(fits) if fits and d.chance(0.5) else d.input([1, d.choose((3, "n")), 2, d.choose((2, 4))])
    sequence, size = d.size(x, 1), d.shape(x)[-1]
    sin, cos = (d.input([sequence, size], dtype=d.dtypes[x]) for _ in range(2))
    return Proposal((x, sin, cos), {"h": size // 2, "style": d.chance(0.5)})


op(
    "rotary",
    _I + ".fused_rotary_position_embedding({0}, None, None, {1}, {2}, use_neox_rotary_style={style})[0]",
    "{0} * {2}[:, None] + {1}[:, None] * (torch.stack([-{0}[..., 1::2], {0}[..., ::2]], -1).flatten(-2) if {style} "
    "else torch.cat([-{0}[..., {h}:], {0}[..., :{h}]], -1))",
    heads,
    weight=0.4,
)


def summed(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) > 1 and not d.varying(x, -1) and d.shape(x)[-1] > 1)
    n = d.shape(x)[-1]
    return Proposal((x, d.like(x), d.input([n], dtype=d.dtypes[x]), d.input([n], dtype=d.dtypes[x])), {"n": n})


op(
    "rms_norm_of_sum",
    f"(lambda r: r[0] + r[1])({_I}.fused_rms_norm({{0}}, {{2}}, None, 0.1, -1, {{3}}, {{1}}))",
    "(lambda z: F.rms_norm(z, [{n}], {2}, 0.1) + z)({0} + {3} + {1})",
    summed,
    weight=0.4,
)
op(
    "layer_norm_of_sum",
    _I + ".fused_layer_norm({0}, {2}, {3}, 0.1, 0.5, -1, {3}, {1})[0]",
    "F.layer_norm({0} + {3} + 0.5 * {1}, [{n}], {2}, {3}, 0.1)",
    summed,
    weight=0.3,
)


def gated(d: Draw) -> Proposal:
    x = d.pick(lambda x: bool(d.shape(x)) and not d.varying(x, -1) and d.shape(x)[-1] in (2, 4, 6))
    return Proposal((x,), {})


op("swiglu", _I + ".swiglu({0})", "(lambda a, b: F.silu(a) * b)(*{0}.chunk(2, -1))", gated, weight=0.4)


op(
    "linear_gelu",
    _I + ".fused_linear_activation({0}, {1}, {2}, activation='gelu')",
    "F.gelu({0} @ {1} + {2}, approximate='tanh')",
    layer,
    weight=0.4,
)
