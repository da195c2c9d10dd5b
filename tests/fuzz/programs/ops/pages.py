"""Attention over caches of pages and of tokens: prompts in chunks, and token by token."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.arguments import Arguments, split
from tests.fuzz.programs.ops.family import Family

family = Family()


def _begun(d: Draw) -> tuple[Arguments, int | str, int, int, int, int]:
    """Query, key and value of each token ``[batch, tokens, features]``: batch, tokens, heads, key heads, dim."""
    heads, dim = d.choose((1, 2, 4)), d.choose((2, 4))
    key_heads = split(d, heads)
    width = (heads + 2 * key_heads) * dim
    found = [x for x in d.names() if len(d.shape(x)) == 3 and d.shape(x)[2] == width and not d.varying(x, 1)]
    x = d.choose(found) if found else d.input([d.choose((1, 2, "n")), d.integer(1, 5), width])
    if 0 in d.shape(x) or any(v[x].shape[0] == 0 for v in d.values):
        raise Refused
    return Arguments(d, x), d.size(x, 0), d.shape(x)[1], heads, key_heads, dim


def paged(d: Draw, before: int = 0) -> Proposal:
    a, batch, tokens, heads, key_heads, dim = _begun(d)
    chunks, left = [], tokens
    while left:
        chunks.append(d.integer(1, left))
        left -= chunks[-1]
    a.give("bias", [(heads + 2 * key_heads) * dim], 0.4)
    if d.chance(0.5):
        a.give("rope", [2, d.choose((1, batch)) if batch != "n" else 1, tokens + 2, 1, dim // 2], dtype="float32",
               grad=False)  # fmt: skip
        a.say(neox=d.chance(0.5))
    if before:
        a.give("prefix", [2, batch, key_heads, before, dim], grad=False)
    if d.chance(0.3):  # of a prompt, and then of single tokens
        first = d.integer(1, tokens)
        chunks = [first, *[1] * (tokens - first)]
        mask = a.input([d.choose((1, batch)) if batch != "n" else 1, d.choose((1, heads)), tokens, tokens + before],
                       grad=False)  # fmt: skip
        rows, columns = f"torch.arange({tokens})[:, None]", f"torch.arange({tokens + before})"
        # A prompt sees all of itself but for the mask; a token what came before it.
        hidden = f"({columns} >= {before} + torch.clamp({rows} + 1, min={first})) * -1e30"
        return a.proposal(heads=heads, key_heads=key_heads, chunks=chunks, size=d.integer(1, 4),
                          mask=f"mask={mask}", judged=f"mask={mask} + {hidden}")  # fmt: skip
    return a.proposal(heads=heads, key_heads=key_heads, chunks=chunks, size=d.integer(1, 4), mask="", judged="")


family.op(
    "paged_attention",
    "models.paged_attention({0}, {heads}, {key_heads}, {chunks}, {size}, {more}{mask})",
    "L.cached_attention({0}, {heads}, {key_heads}, {more}{judged})",
    paged,
    dtype=lambda x, *others: x,
    weight=1.0,
    tags="cut",
)
family.op(
    "paged_attention_behind_a_prefix",
    "models.paged_attention({0}, {heads}, {key_heads}, {chunks}, {size}, {more}{mask})",
    "L.cached_attention({0}, {heads}, {key_heads}, {more}{judged})",
    lambda d: paged(d, d.integer(1, 3)),
    dtype=lambda x, *others: x,
    weight=0.4,
    tags="cut mask",  # of how many sequences a prefix is written, data decide
)


def in_bytes(d: Draw) -> Proposal:
    a, _, tokens, heads, key_heads, _ = _begun(d)
    first = d.integer(1, tokens)
    chunks = [first] if first == tokens else [first, tokens - first]
    ours, judged = "dynamic=True", f"prompt={first}"
    if d.chance(0.5):
        ours = judged = f"scales={a.input([2, key_heads], 'float32', fill='positive', grad=False)}"
    return a.proposal(heads=heads, key_heads=key_heads, chunks=chunks, size=d.integer(1, 4), ours=ours, judged=judged)


family.op(
    "paged_attention_of_bytes",
    "models.paged_attention({0}, {heads}, {key_heads}, {chunks}, {size}, {ours})",
    "L.cached_attention({0}, {heads}, {key_heads}, {judged})",
    in_bytes,
    dtype=lambda x, *others: x,
    weight=0.5,
    tags="cut quantised",
)


def stepped(d: Draw) -> Proposal:
    a, batch, tokens, heads, key_heads, dim = _begun(d)
    a.give("bias", [heads + 2 * key_heads, dim], 0.4)
    if d.chance(0.5):
        a.give("rope", [2, 1, tokens, 1, dim // 2], dtype="float32", grad=False)
        a.say(neox=d.chance(0.5))
    mask, judged = "", ""
    if d.chance(0.4):
        given = a.input([1, d.choose((1, heads)), tokens, tokens], grad=False)
        mask = f"mask={given}"
        judged = f"{mask} + torch.triu(torch.full(({tokens}, {tokens}), -1e30), 1)"
    return a.proposal(heads=heads, key_heads=key_heads, steps=tokens, mask=mask, judged=judged)


family.op(
    "attention_steps",
    "models.attention_steps({0}, {heads}, {key_heads}, {steps}, {more}{mask})",
    "L.cached_attention({0}, {heads}, {key_heads}, {more}{judged})",
    stepped,
    dtype=lambda x, *others: x,
    weight=0.8,
    tags="cut",
)
