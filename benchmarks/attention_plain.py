"""Attention without a mask and causal attention, against PyTorch's ``scaled_dot_product_attention``.

Each side gets its operands as its users have them: [batch, tokens, heads, dim] and [batch, heads, tokens, dim].
"""

from __future__ import annotations

from functools import partial

from cases import Arrays, Case, normal
from rows import add_section

# Sections by (causal, gradient), with what their means are to reach.
SECTIONS = {
    (False, False): add_section("attention-forward", "Attention without a mask", mean=1.15),
    (True, False): add_section("attention-causal", "Causal attention", mean=1.4),
    (False, True): add_section("attention-training", "Attention without a mask, forward and backward", mean=1.5),
    (True, True): add_section("attention-causal-training", "Causal attention, forward and backward", mean=1.5),
}
TOKENS, WIDTH = 2048, 512
DIMS = (32, 64, 128, 256)
TRANSPOSED = "q, k, v = (t.transpose(1, 2).contiguous() for t in (q, k, v))"


def arrays(dim: int, names: str) -> Arrays:
    return {name: normal(1, TOKENS, WIDTH // dim, dim, seed=i) for i, name in enumerate(names)}


for (causal, gradient), section in SECTIONS.items():
    for dim in DIMS:
        call = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
        ours, theirs, more = call, f"{call}.transpose(1, 2)", ""
        if gradient:
            ours = f"paddle.grad({call}, [q, k, v], g)"
            theirs = f"[t.transpose(1, 2) for t in torch.autograd.grad({call}, [q, k, v], g.transpose(1, 2))]"
        Case(
            f"{section}-{dim}",
            ours,
            partial(arrays, dim, "qkvg" if gradient else "qkv"),
            theirs,
            1.0,
            setup="[setattr(t, 'stop_gradient', False) for t in (q, k, v)]" if gradient else "",
            theirs_setup=TRANSPOSED + ("; [t.requires_grad_() for t in (q, k, v)]" if gradient else ""),
            tolerance=1e-4,
            what=f"{TOKENS} tokens, {WIDTH // dim} heads of {dim}",
        ).add(section)
