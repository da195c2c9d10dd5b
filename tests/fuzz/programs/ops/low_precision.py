"""Matmuls of 8 and 4 bits: layers with gradients, products of codes, weights that are stored; experts with codes."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.arguments import Arguments, fixed
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

_I = "paddle.incubate.nn.functional"


def rows_of(d: Draw, most: int = 200, least: int = 1) -> str:
    """A value ``[*, features]`` of float32, or new rows of many features."""
    found = [x for x in d.names() if d.dtypes[x] == "float32" and len(d.shape(x)) in (2, 3) and fixed(d, x, -1)]
    found = [x for x in found if least <= d.shape(x)[-1] <= most]
    if found and d.chance(0.6):
        return d.choose(found)
    return d.input([d.choose((1, 3, "n")), d.choose([n for n in (3, 130, 200) if n >= least])], "float32")


def linear8(d: Draw) -> Proposal:
    x = rows_of(d)
    a = Arguments(d, x)
    n, m = d.shape(x)[-1], d.choose((1, 3, 130) if d.shape(x)[-1] < 4 and len(d.shape(x)) == 2 else (1, 3))
    w = a.input([n, m])
    b = a.input([m]) if d.chance(0.6) else "None"
    scaling = d.choose(("block", "row", "tensor", "none"))
    history = d.choose((0, 1, 3)) if scaling == "tensor" else 0
    a.say(dtype=d.choose(("float32", "float32", "bfloat16", "float16")), scaling=scaling, history=history)
    a.say(margin=d.choose((0, 0, 2)), power_of_two=d.chance(0.6), forward=d.choose(("e4m3", "e4m3", "e5m2")))
    a.say(backward=d.choose(("e5m2", "e5m2", "e4m3")))
    return a.proposal(w=w, b=b, cut="[..., ::45]" if m > 100 else "")


op(
    "linear8",
    "models.linear8({0}, {w}, {b}, {more}){cut}",
    "L.linear8({0}, {w}, {b}, {more}){cut}",
    linear8,
    weight=2,
    tags="quantised",
)


def widened(d: Draw) -> Proposal:
    x = rows_of(d)
    a = Arguments(d, x)
    transposed, n = d.chance(0.5), d.shape(x)[-1]
    y = a.input([2, n] if transposed else [n, 2], d.choose(("float32", "bfloat16")))
    low = d.choose(("bfloat16", "float16"))
    return a.proposal(y=y, transposed=transposed, low=low, mT=".mT" if transposed else "")


op(
    "widening_product",
    "ops.widening_matmul({0}.astype('{low}'), {y}.astype('{low}'), transpose_y={transposed})",
    "L.rounded({0}, '{low}') @ L.rounded({y}, '{low}'){mT}",
    widened,
    dtype=always("float32"),
    tags="quantised",
)


def product8(d: Draw) -> Proposal:
    found = [x for x in d.names() if d.dtypes[x] == "float32" and len(d.shape(x)) == 2 and fixed(d, x, 1)]
    found = [x for x in found if d.shape(x)[1]]
    x = d.choose(found) if found and d.chance(0.6) else d.input([d.choose((1, 3, "n")), d.choose((3, 130))], "float32")
    a = Arguments(d, x)
    a.say(x_rows=d.choose((1, 128)), y_rows=d.choose((1, 128)), power_of_two=d.chance(0.5))
    return a.proposal(y=a.input([d.choose((2, 5)), d.shape(x)[1]]))


op(
    "product8",
    "models.product8({0}, {y}, {more})",
    "L.product8({0}, {y}, {more})",
    product8,
    tags="quantised cut",
    weight=0.7,
)


def weighted(d: Draw) -> Proposal:
    found = [x for x in d.names() if d.dtypes[x] == "float32" and len(d.shape(x)) == 2 and fixed(d, x, 1)]
    found = [x for x in found if d.shape(x)[1] and d.shape(x)[1] % 2 == 0]
    x = d.choose(found) if found and d.chance(0.6) else d.input([d.choose((1, 3, "n")), 6], "float32")
    a = Arguments(d, x)
    return a.proposal(prob=a.input([d.size(x, 0)]) if d.chance(0.6) else "None", p=d.chance(0.5))


op(
    "weighted_swiglu8",
    "models.weighted_swiglu8({0}, {prob}, {p})",
    "L.rounded(L.quantised(L.weighted_swiglu({0}, {prob}), (1, 128), L.E4M3, {p}), 'bfloat16')",
    weighted,
    tags="quantised cut",
    weight=0.5,
)


def swiglu_back(d: Draw) -> Proposal:
    a = Arguments(d, weighted(d).operands[0])
    x = a.operands[0]
    return a.proposal(g=a.input([d.size(x, 0), d.shape(x)[1] // 2]), p=a.input([d.size(x, 0), 1]))


op(
    "swiglu_weighted_back",
    "(lambda a, b, c: a.sum(1) + b[:, 0] + c.sum(1))"
    f"(*{_I}.fused_swiglu_weighted_bwd({{0}}.detach(), {{g}}.detach(), {{p}}.detach()))",
    "L.swiglu_weighted_back({0}, {g}, {p})",
    swiglu_back,
    tags="cut",
    weight=0.3,
)


def stacked(d: Draw) -> Proposal:
    found = [x for x in d.names() if d.dtypes[x] == "float32" and len(d.shape(x)) == 2 and fixed(d, x, 0, 1)]
    x = d.choose([x for x in found if 0 not in d.shape(x)])
    return Proposal((x, d.like(x)), {"t": d.chance(0.5)})


op(
    "stack_transpose8",
    "(lambda c, s: c.astype('float32') * paddle.repeat_interleave(s, c.shape[0] // s.shape[0], 0)[:, :1])"
    f"(*{_I}.fused_stack_transpose_quant([{{0}}, {{1}}], {{t}}))",
    "torch.cat([L.quantised(x.mT if {t} else x, (128, 128)) for x in ({0}, {1})])",
    stacked,
    tags="quantised cut",
    weight=0.4,
)


def split8(d: Draw) -> Proposal:
    found = [x for x in d.names() if d.dtypes[x] == "float32" and len(d.shape(x)) == 2 and fixed(d, x, 0, 1)]
    x = d.choose([x for x in found if 0 not in d.shape(x)])
    rows = d.shape(x)[0]
    first = d.integer(0, rows)
    return Proposal((x,), {"counts": [first, rows - first], "p": d.chance(0.5)})


op(
    "transpose_split8",
    "(lambda codes, scales: paddle.concat([c.astype('float32') * s.reshape([-1, c.shape[0]])[:1].T if c.shape[1] "
    "else c.astype('float32') for c, s in zip(codes, scales)], 1))"
    f"(*{_I}.fused_transpose_split_quant({{0}}, None, {{counts}}, {{p}}))",
    "torch.cat([L.quantised(x.mT, (1, 128), L.E4M3, {p}) for x in {0}.split({counts})], 1)",
    split8,
    tags="quantised cut",
    weight=0.4,
)

# --- weights that are stored -----------------------------------------------------------------------------------------


def stored(d: Draw) -> Proposal:
    found = [x for x in d.names() if d.dtypes[x] in ("float32",) and len(d.shape(x)) in (2, 3) and fixed(d, x, -1)]
    found = [x for x in found if d.shape(x)[-1] in (16, 64, 128)]
    n = d.choose((16, 64, 128))
    x = d.choose(found) if found and d.chance(0.5) else d.input([d.choose((1, 2, 5, 20, "n")), n], "float32")
    a = Arguments(d, x)
    n = d.shape(x)[-1]
    bits, group = d.choose((8, 4)), d.choose([g for g in (-1, 64, 128) if g == -1 or n % g == 0])
    w = a.input([n, 16], grad=False)
    b = a.input([16]) if d.chance(0.5) else "None"
    return a.proposal(w=w, b=b, bits=bits, group=group, plain=d.chance(0.3))


op(
    "stored_linear",
    "models.stored_linear({0}, {w}, {b}, {bits}, {group}, {plain})[..., ::5] * 0.2",
    "((lambda y, b: y if b is None else y + b)({0} @ L.stored({w}, {bits}, {group}), {b}))[..., ::5] * 0.2",
    stored,
    tags="quantised",
    weight=0.8,
)


def low_bits(d: Draw) -> Proposal:
    """Numbers and scales as they are stored; gradients of scales too."""
    found = [x for x in d.names() if d.dtypes[x] in ("float32", "bfloat16", "float16")]
    found = [x for x in found if len(d.shape(x)) in (2, 3) and fixed(d, x, -1) and d.shape(x)[-1]]
    dtype = d.choose(("float32", "bfloat16", "float16"))
    x = d.choose(found) if found and d.chance(0.6) else d.input([d.choose((1, 3, 20, "n")), d.choose((64, 5))], dtype)
    a = Arguments(d, x)
    n, rows = d.shape(x)[-1], d.integer(1, 3)
    bits = d.choose((8, 4))
    outputs = rows if bits == 8 else 2 * rows
    group = 64 if n % 64 == 0 and d.chance(0.6) else -1
    w = a.input([rows, n], "int32", fill="index:8", grad=False)
    s = a.input([outputs] if group == -1 else [n // 64, outputs])
    b = a.input([outputs]) if d.chance(0.5) else "None"
    return a.proposal(w=f"({w} - 4)", s=s, b=b, bits=bits, group=group)


op(
    "low_bit_linear",
    "paddle.nn.quant.weight_only_linear({0}, {w}.astype('int8'), {b}, {s}, 'int{bits}', None, {group}) * 0.2",
    "((lambda y, b: y if b is None else y + b)({0} @ L.restored({w}, {s}, {bits}, {group}), {b})) * 0.2",
    low_bits,
    dtype=lambda x, *others: x,
    weight=1,
)
op(
    "llm_int8_linear",
    "paddle.nn.quant.llm_int8_linear({0}, {w}.astype('int8'), {b}, {s}, threshold=1.5) * 0.2",
    "L.int8_linear({0}, {w}, {b}, {s}, 1.5) * 0.2",
    lambda d: _whole_channels(low_bits(d)),
    dtype=lambda x, *others: x,
    weight=0.6,
    tags="quantised cut",
)


def _whole_channels(proposal: Proposal) -> Proposal:
    if proposal.attributes["bits"] != 8 or proposal.attributes["group"] != -1:
        raise Refused
    return proposal


def channels(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and fixed(d, x, 1) and d.dtypes[x] != "float64")
    a = Arguments(d, x)
    return a.proposal(s=a.input([d.shape(x)[1]]))


op(
    "scaled_channels",
    "paddle.nn.quant.apply_per_channel_scale({0}, {s})",
    "{0} * {s}",
    channels,
    dtype=lambda x, *others: x,
    weight=0.3,
)
