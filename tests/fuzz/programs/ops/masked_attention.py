"""Attention whose mask is spelt out: comparisons of places and of vectors, of which some are masks by columns."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family

family = Family()

# Of the places i of a query and j of a key, and of vectors u and w. Each lets a query see its own place.
CONDITIONS = (
    "(i >= j)",
    "(i >= j)",
    "(i - j <= {a})",
    "((i - j).abs() <= {a})",
    "(u[i] == u[j])",
    "(w[i] == w[j])",
    "(u[i] <= u[j])",
    "((u[i] == u[j]) | (w[i] == w[j]))",
    "((j < {a}) | (i >= j))",
    "((i < j + 1 + u[j].abs()) | (u[i] == w[j]))",
    "~((u[i] > 0) & (i != j) & (u[j] > 0))",
    "((i // 2 == j // 2) | (i > j + {a}))",
    "((i - j) % 2 == 0)",
)
FORMS = (
    "{F}.softmax(q @ k.mT * 0.5 + (1 - m.to(q.dtype)) * -2e4, -1) @ v",
    "{F}.softmax((q @ k.mT * 0.5).masked_fill(~m, float('-inf')), -1) @ v",
    "{F}.softmax(q @ (k * 0.5).mT + {lib}.log(m.to(q.dtype)), -1) @ v",
    "{lib}.einsum('...qk,...kd->...qd', {F}.softmax({scores}.masked_fill(~m, -2e4), -1), v)",
)
SCORES = "{lib}.einsum('...qd,...kd->...qk', q, k)"


def masked(d: Draw) -> Proposal:
    """Queries, keys and values ``[batch, tokens, dim]``, and a vector or two of the tokens."""
    x = d.rank(3)
    if any(0 in v[x].shape for v in d.values):
        raise Refused
    u, w = (d.input([d.size(x, 1)], "int64", fill="index:3") for _ in range(2))
    condition = " & ".join(d.choose(CONDITIONS) for _ in range(d.integer(1, 3))).format(a=d.integer(0, 3))
    heads = ("", "") if d.chance(0.5) else (".unsqueeze(1)", ".squeeze(1)")
    form = d.choose(FORMS)
    attributes = {"m": condition, "up": heads[0], "down": heads[1], "sorted": int(d.chance(0.6))}
    attributes |= {
        name: form.format(lib=name, F=f, scores=SCORES.format(lib=name))
        for name, f in (("paddle", "F"), ("torch", "torch.nn.functional"))
    }
    return Proposal((x, d.like(x), d.like(x), u, w), attributes)


_CALL = "(lambda q, k, v, u, w, j: (lambda i: (lambda m: {{{lib}}})({{m}}))(j.unsqueeze(1)){{down}})"
_CALL += "({{0}}{{up}}, {{1}}{{up}}, {{2}}{{up}}, "
op = family.op
op(
    "masked_attention",
    _CALL.format(lib="paddle")
    + "paddle.sort({3}) if {sorted} else {3}, paddle.sort({4}) if {sorted} else {4}, paddle.arange({0}.shape[1]))",
    _CALL.format(lib="torch")
    + "torch.sort({3})[0] if {sorted} else {3}, torch.sort({4})[0] if {sorted} else {4}, torch.arange({0}.shape[1]))",
    masked,
    weight=0.6,
)
