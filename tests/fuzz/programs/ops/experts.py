"""Names that send tokens to experts and bring back what these make of them."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()
op = family.op


def tokens_of(d: Draw) -> str:
    """A matrix of tokens ``[N, H]``, H of one size."""
    return d.pick(lambda x: len(d.shape(x)) == 2 and not d.varying(x, 1) and d.shape(x)[1] > 0)


def gated(d: Draw) -> Proposal:
    """Tokens, scores and a factor for each expert; few places, or more than are asked for."""
    x, experts = tokens_of(d), d.integer(1, 4)
    k, capacity = d.integer(1, experts), d.choose((1, 2, 20))
    gate, factors = d.input([d.size(x, 0), experts], "float32"), d.input([experts], d.dtypes[x])
    sizes = {"k": k, "c": capacity, "e": experts, "h": d.shape(x)[1]}
    return Proposal((x, gate, factors), sizes)


_I = "paddle.incubate.nn.functional"
# Requests ``m [k, N, E]`` in the order in which experts take them, and which of them they take.
_TAKEN = "(m * (m.reshape(-1, {e}).cumsum(0).reshape(m.shape) <= {c}))"
_REQUESTS = "F.one_hot(torch.topk({1}, {k}, 1)[1]{turn}, {e}).double()"

op(
    "experts_with_places",
    "(lambda y, w, place, *_: " + _I + ".moe_combine((y.reshape([{e}, {c}, {h}]) * {2}.reshape([{e}, 1, 1]))"
    ".reshape([{e} * {c}, {h}]), w, place.t()))"
    "(*" + _I + ".moe_gate_dispatch({0}, {1}, None, {k}, {c}, True))",
    "(lambda m: {0} * (" + _TAKEN + " * ({1} * {2})).sum((0, 2))[:, None])(" + _REQUESTS.replace("{turn}", ".T") + ")",
    gated,
    dtype=lambda x, gate, factors: x,
    weight=0.4,
)
op(
    "experts_in_a_row",
    "(lambda y, w, place, *_: " + _I + ".moe_combine(paddle.tanh(y), w, place.t()))"
    "(*" + _I + ".moe_gate_dispatch({0}, {1}, None, {k}, {c}, False))",
    "(lambda m: torch.tanh({0}) * (" + _TAKEN + " * {1}[:, None]).sum((1, 2))[:, None])("
    + _REQUESTS.replace("{turn}", "") + ")",
    gated,
    dtype=lambda x, gate, factors: x,
    weight=0.3,
)  # fmt: skip


def routed(d: Draw) -> Proposal:
    """Tokens whose experts are given, some of them none, and the weights of these."""
    x = tokens_of(d)
    n, experts = d.shape(x)[0], d.integer(1, 4)
    if d.varying(x, 0) or not n:
        raise Refused
    k = d.integer(1, experts)
    routes = [[e if d.chance(0.8) else -1 for e in d.permutation(experts)[:k]] for _ in range(n)]
    counts = [sum(e in row for row in routes) for e in range(experts)]
    sizes = {"routes": routes, "n": n, "e": experts, "counts": counts, "rows": d.choose((1, 2, 3))}
    return Proposal((x, d.input([n, k], d.dtypes[x])), sizes)


op(
    "experts_permuted",
    "(lambda routes: (lambda rows, place, p, _: "
    "paddle.nn.functional.moe_unpermute(paddle.tanh(rows), place, routes, p, {n}, {e}, using_weighted_combine=True)[0])"
    "(*paddle.nn.functional.moe_permute({0}, None, routes, {1}, {e}, {counts}, {rows})))"
    "(paddle.to_tensor({routes}, 'int32'))",
    "torch.tanh({0}) * ({1} * (torch.tensor({routes}) >= 0)).sum(1, keepdim=True)",
    routed,
    weight=0.4,
)
