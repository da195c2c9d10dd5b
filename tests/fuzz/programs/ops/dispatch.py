"""More names that send tokens to experts: to those of a rank, to some of them, as codes of 8 bits; their balance."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.arguments import Arguments
from tests.fuzz.programs.ops.dtypes import always
from tests.fuzz.programs.ops.experts import gated, tokens_of
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op

_I = "paddle.incubate.nn.functional"
_TAKEN = "L.taken(L.requests({1}, {k}, {e}), {c})"


def of_ranks(d: Draw) -> Proposal:
    found = gated(d)
    experts = found.attributes["e"]
    return found._replace(attributes=found.attributes | {"w": d.choose([w for w in (1, 2, 4) if experts % w == 0])})


op(
    "experts_of_ranks",
    "(lambda y, w, place, *_: " + _I + ".moe_combine(paddle.tanh(y).transpose([1, 0, 2, 3]).reshape([{e} * {c}, {h}]), "
    "w, place.t()))(*" + _I + ".moe_gate_dispatch_permute({0}, {1}, None, {k}, {c}, {w}))",
    f"torch.tanh({{0}}) * ({_TAKEN} * {{1}}).sum((0, 2))[:, None]",
    of_ranks,
    dtype=lambda x, gate, factors: x,
    weight=0.5,
)
op(
    "experts_without_weights",
    "(lambda y, w, place, *_: " + _I + ".moe_combine_no_weight(paddle.tanh(y), w, place.t()))"
    "(*" + _I + ".moe_gate_dispatch({0}, {1}, {2}.astype('float32').detach()[:{e}] * 0, {k}, {c}, True))",
    f"torch.tanh({{0}}) * ({_TAKEN} * ({{1}} > 0)).sum((0, 2))[:, None]",
    gated,
    dtype=lambda x, gate, factors: x,
    weight=0.5,
)
op(
    "experts_of_codes",
    "(lambda codes, scale, w, place, *_: " + _I + f".moe_combine({_I}.fused_act_dequant(codes, scale)"
    ".astype('float32'), w.detach(), place.t()))"
    "(*" + _I + ".moe_gate_dispatch_and_quant({0}, {1}, None, {k}, {c}, True, {p}))",
    "(L.rounded(L.quantised({0}, (1, 128), L.E4M3, {p}), 'bfloat16') "
    f"* ({_TAKEN} * {{1}}).sum((0, 2))[:, None]).detach()",
    lambda d: _as_codes(d, gated(d)),
    dtype=always("float32"),
    weight=0.6,
    tags="quantised cut",
)


def _as_codes(d: Draw, found: Proposal) -> Proposal:
    if d.dtypes[found.operands[0]] != "float32" or d.shape(found.operands[0])[0] == 0:
        raise Refused
    return found._replace(attributes=found.attributes | {"p": d.chance(0.5)})


def partly(d: Draw) -> Proposal:
    """Tokens whose experts are given, of which some are here."""
    x, experts = tokens_of(d), d.integer(1, 4)
    n = d.shape(x)[0]
    if d.varying(x, 0) or not n:
        raise Refused
    k, first = d.integer(1, experts), d.integer(0, experts - 1)
    routes = [d.permutation(experts)[:k] for _ in range(n)]
    sizes = {"routes": routes, "e": experts, "k": k, "first": first, "stop": d.integer(first + 1, experts)}
    return Proposal((x, d.input([n, k], "float32")), sizes | {"c": d.choose((1, 2, 20)), "last": False})


def _some(d: Draw) -> Proposal:
    found = partly(d)
    a = found.attributes
    if not any(a["first"] <= e < a["stop"] for row in a["routes"] for e in row):
        raise Refused  # there is no row, and no place
    return found._replace(attributes=a | {"last": d.chance(0.5)})


for _pad, _propose in ((True, partly), (False, _some)):
    op(
        "experts_partly" if _pad else "experts_partly_in_a_row",
        f"(lambda y, w, place, *_: {_I}.moe_combine(paddle.tanh(y), w.astype(y.dtype), place.t()))"
        f"(*{_I}.moe_gate_dispatch_partial_nosoftmaxtopk({{0}}, {{1}}, paddle.to_tensor({{routes}}, dtype='int32'), "
        f"{{k}}, {{c}}, {{e}}, {_pad}, {{first}}, {{stop}}, {{last}}))",
        "torch.tanh({0}) * (L.by_routes({routes}, {first}, {stop}, {c}, {last}) * {1}).sum(1, keepdim=True)",
        _propose,
        dtype=lambda x, w: x,
        weight=0.5,
        tags="" if _pad else "mask",  # how many rows there are data decide
    )


def balanced(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 0)
    a = Arguments(d, x)
    n, experts = d.size(x, 0), d.shape(x)[1]
    shape = [experts] if d.chance(0.5) else [n, experts]
    mask = a.input(shape, d.choose(("int64", "float32")), fill="index:4", grad=False)
    tokens, sent = "None", "None"
    if d.chance(0.4):
        tokens = a.input([n], fill="index:2", grad=False)
        if d.chance(0.5):
            sent = a.input([n], fill="index:2", grad=False)
    a.say(num_experts=experts, use_group=d.chance(0.5), moe_k=d.integer(1, 2), clip_min=0.5)
    return a.proposal(mask=mask, tokens=tokens, sent=sent)


op(
    "auxiliary_loss",
    _I + ".cal_aux_loss({0}, {mask}, {tokens}, {sent}, {more})[0] * 0.1",
    "L.auxiliary_loss({0}, {mask}, tokens_mask={tokens}, dispatch_tokens_mask={sent}, {more}) * 0.1",
    balanced,
    dtype=lambda x, *others: x,
    weight=0.4,
)


def looked_up(d: Draw) -> Proposal:
    x = d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 0) and d.shape(x)[0] > 0)
    a = Arguments(d, x)
    tokens = a.input([2, 3], "int64", fill=f"index:{d.shape(x)[0]}")
    return a.proposal(tokens=tokens, rows=a.input([2, 3, d.size(x, 1)]))


op(
    "embedding_gradient",
    _I + ".embedding_grad_add_to_({tokens}, {0}.clone(), {rows})",
    "{0}.index_add(0, {tokens}.flatten(), {rows}.flatten(0, 1))",
    looked_up,
    weight=0.3,
)


def classes(d: Draw) -> Proposal:
    x = d.pick(
        lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 0 and d.dtypes[x] != "float64"
    )
    a = Arguments(d, x)
    label = a.input([d.size(x, 0)], "int64", fill=f"index:{d.shape(x)[1]}")
    return a.proposal(label=label, g=a.input([d.size(x, 0)]), e=d.shape(x)[1])


op(
    "cross_entropy_gradient",
    _I + ".cross_entropy_with_softmax_bwd_w_downcast({label}, {0}.detach(), {g}.detach()).astype('float32')",
    "L.rounded(({0} - F.one_hot({label}, {e})) * {g}[:, None], 'bfloat16').detach()",
    classes,
    dtype=always("float32"),
    weight=0.3,
    tags="cut quantised",
)
