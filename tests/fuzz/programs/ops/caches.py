"""Attention over caches, which is written in place: a prompt, and a last token that joins it."""

from __future__ import annotations

from tests.fuzz.programs.draw import Draw, Proposal, Refused
from tests.fuzz.programs.ops.family import Family
from tests.fuzz.programs.ops.matmuls import sequences

family = Family()
op = family.op

_I = "paddle.incubate.nn.functional"
_INTS = "paddle.full([{q}.shape[0]], {n}, 'int32')"
_QKV = "paddle.concat([{0}, {1}, {2}], -1)"
_CAUSAL = "F.scaled_dot_product_attention({0}, {1}, {2}, is_causal=True).detach()"


def _ints(n: str) -> str:
    return f"paddle.full([x.shape[0]], {n}, 'int32')"


# x is query, key and value side by side, t a number of tokens, m blocks of two rows for each sequence.
_BLOCKS = (
    "(lambda x, t, m, d: (lambda k, v, table: paddle.concat(["
    f"{_I}.block_multihead_attention(part.flatten(0, 1), k, v, {_ints('t - 1')} * (old == 0), "
    f"{_ints('0')} + old, {_ints('0')} + part.shape[1], None, None, None, None, table, block_size=2"
    ")[0].reshape([x.shape[0], part.shape[1], d]) for part, old in ((x[:, :-1], 0), (x[:, -1:], t - 1))], 1))("
    "*(paddle.zeros([x.shape[0] * m, 1, 2, d], x.dtype) for _ in range(2)), "
    "paddle.arange(x.shape[0] * m, dtype='int32').reshape([-1, m])))"
    f"({_QKV}, {{0}}.shape[1], {{0}}.shape[1] // 2 + 1, {{0}}.shape[2])"
)
op("block_attention", _BLOCKS, _CAUSAL, sequences, weight=0.3, tags="cut")

_STEPS = (
    "(lambda x, d: (lambda cache: paddle.stack(["
    f"{_I}.masked_multihead_attention(x[:, t], cache, sequence_lengths={_ints('t')})[0] for t in range(x.shape[1])"
    "], 1))(paddle.zeros([2, x.shape[0], 1, x.shape[1], d], x.dtype)))"
    f"({_QKV}, {{0}}.shape[2])"
)


def counted(d: Draw) -> Proposal:
    """As ``sequences``, of as many tokens in every run."""
    proposal = sequences(d)
    if d.varying(proposal.operands[0], 1):
        raise Refused
    return proposal


op("masked_attention_steps", _STEPS, _CAUSAL, counted, weight=0.3, tags="cut")
