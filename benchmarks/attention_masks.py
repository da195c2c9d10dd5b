"""Attention with masks by columns, against PyTorch's FlexAttention and its attention with a dense mask."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cases import Arrays, Case, normal
from rows import add_section

MASKS = add_section("masks", "Attention with sparse masks", mean=2.1)
DENSE = add_section("masks-dense", "Attention with sparse masks, against a dense mask")
LENGTHS = (4096, 8192)
HEADS = ((8, 64), (4, 128))

# Each family as ours, and as PyTorch's function of two positions. Four documents, of `parts`.
FAMILIES = {
    "causal": ("masks.causal(n)", "i >= j"),
    "window": ("masks.sliding_window(n, n // 16)", "(i >= j) & (i - j <= n // 16)"),
    "causal-document": ("masks.causal_document(parts)", "(i >= j) & (doc[i] == doc[j])"),
    "document": ("masks.document(parts)", "doc[i] == doc[j]"),
    "share-question": (
        "masks.share_question([(parts[0], parts[1:])])",
        "(i >= j) & ((doc[j] == 0) | (doc[i] == doc[j]))",
    ),
    "global-sliding": (
        "masks.global_sliding(n, 16, n // 16, n // 16)",
        "(i < 16) | (j < 16) | ((i - j <= n // 16) & (j - i <= n // 16))",
    ),
    "causal-blockwise": ("masks.causal_blockwise(parts)", "(i >= j) & ((doc[i] == doc[j]) | (doc[i] == 3))"),
    "prefix": ("masks.prefix(n, n // 2)", "(j < n // 2) | (i >= j)"),
    "prefix-document": (
        "masks.prefix_document(parts, [p // 2 for p in parts])",
        "(doc[i] == doc[j]) & ((j - begin[j] < size[j] // 2) | (i >= j))",
    ),
    "qk-sparse": (
        "masks.qk_sparse(n, [(n // 4, n // 8)])",
        "(i >= j) & ~((j >= n // 4) & (j < n // 4 + n // 8) & (i < n // 4 + n // 8))",
    ),
    "hash-sparse": ("masks.hash_sparse([parts[::-1]])", "(i >= j) & (doc[n - 1 - i] == doc[n - 1 - j])"),
    "random-eviction": ("masks.random_eviction(gone)", "(i >= j) & (i < evicted[j])"),
}
PARTS = "parts = [n * 7 // 32, n * 5 // 32, n * 11 // 32]; parts.append(n - sum(parts)); "
GONE = "gone = np.minimum(np.arange(n) + 1 + np.random.default_rng(0).integers(0, n, n), n); "
OURS = PARTS + GONE
POSITIONS = (
    PARTS + GONE + "doc = torch.repeat_interleave(torch.arange(4), torch.tensor(parts)); "
    "size = torch.tensor(parts)[doc]; begin = (torch.tensor(parts).cumsum(0) - torch.tensor(parts))[doc]; "
    "evicted = torch.tensor(gone); "
)
TRANSPOSED = "q, k, v = (t.transpose(1, 2).contiguous() for t in (q, k, v)); "


def ours(mask: str, length: int) -> str:
    names = f"import numpy as np; from umiak import masks; n = {length}; {OURS}"
    return f"{names}mask = {mask}; rows = paddle.to_tensor(mask.indices)"


def flex_of(name: str, length: int) -> tuple[Any, Any]:
    """FlexAttention, compiled, and a family's mask."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()  # else it gives up after some masks, and computes without compiling
    names = {"np": np, "torch": torch, "n": length}
    exec(f"{POSITIONS}see = lambda b, h, i, j: {FAMILIES[name][1]}", names)
    return torch.compile(flex_attention), create_block_mask(names["see"], None, None, length, length, device="cpu")


def arrays(length: int, heads: int, dim: int, names: str) -> Arrays:
    return {k: normal(1, length, heads, dim, seed=i) for i, k in enumerate(names)}


def flex(name: str, length: int, heads: int, dim: int) -> None:
    """A row against FlexAttention, which is compiled."""
    mask, mod = FAMILIES[name]
    Case(
        f"mask-{name}-{length}-{dim}",
        "F.flashmask_attention(q, k, v, rows, causal=mask.causal)",
        partial(arrays, length, heads, dim, "qkv"),
        "flex(q, k, v, block_mask=mask).transpose(1, 2)",
        1.5,
        setup=ours(mask, length),
        theirs_setup=f"from attention_masks import flex_of; {TRANSPOSED}flex, mask = flex_of({name!r}, {length})",
        tolerance=1e-4,
        what=f"{name.replace('-', ' ')}, {length} tokens, {heads} heads of {dim}; the other: FlexAttention",
    ).add(MASKS)


def dense(name: str, length: int, gradient: bool, causal: bool, factor: float) -> None:
    """A row against PyTorch's attention with a dense mask, or one that is only causal."""
    mask, mod = FAMILIES[name]
    call = "F.flashmask_attention(q, k, v, rows, causal=mask.causal)"
    seen = "is_causal=True" if causal else "attn_mask=seen"
    theirs = f"F.scaled_dot_product_attention(q, k, v, {seen})"
    Case(
        f"mask-{name}-{length}-{'causal' if causal else 'dense'}{'-grad' if gradient else ''}",
        f"paddle.grad({call}, [q, k, v], g)" if gradient else call,
        partial(arrays, length, 8, 64, "qkvg" if gradient else "qkv"),
        f"torch.autograd.grad({theirs}, [q, k, v], g.transpose(1, 2))" if gradient else f"{theirs}.transpose(1, 2)",
        factor,
        setup=ours(mask, length) + ("; [setattr(t, 'stop_gradient', False) for t in (q, k, v)]" if gradient else ""),
        theirs_setup=f"import numpy as np; n = {length}; {POSITIONS}{TRANSPOSED}"
        f"i = torch.arange(n)[:, None]; j = torch.arange(n); seen = {mod}"
        + ("; [t.requires_grad_() for t in (q, k, v)]" if gradient else ""),
        tolerance=None if causal or gradient else 1e-4,
        what=f"{name.replace('-', ' ')}, {length} tokens, 8 heads of 64{', forward and backward' if gradient else ''}; "
        f"the other: attention that is {'causal alone' if causal else 'given the dense mask'}",
    ).add(DENSE)


def spelled(length: int) -> None:
    """A row of attention that is spelt out in a captured function, mask and all, against FlexAttention."""
    name = "causal-document"
    Case(
        f"mask-spelled-{name}-{length}-64",
        "attention(q, k, v, doc)",
        partial(arrays, length, 8, 64, "qkv"),
        "flex(q, k, v, block_mask=mask).transpose(1, 2)",
        1.5,
        setup=f"import numpy as np; from attention_masks import captured; n = {length}; {PARTS}"
        "doc = paddle.to_tensor(np.repeat(np.arange(4), parts)); attention = captured(paddle)",
        theirs_setup=f"from attention_masks import flex_of; {TRANSPOSED}flex, mask = flex_of({name!r}, {length})",
        tolerance=1e-4,
        what=f"{name.replace('-', ' ')} as tensor code, {length} tokens, 8 heads of 64; the other: FlexAttention",
    ).add(MASKS)


def captured(paddle: Any) -> Any:
    """Attention among documents as researchers write it."""

    def attention(q: Any, k: Any, v: Any, doc: Any) -> Any:
        q, k, v = (t.transpose([0, 2, 1, 3]) for t in (q, k, v))
        i, j = paddle.arange(q.shape[2]).unsqueeze(1), paddle.arange(k.shape[2])
        seen = paddle.where((i >= j) & (doc[i] == doc[j]), 0.0, float("-inf"))
        weights = paddle.nn.functional.softmax(q @ k.mT * q.shape[3] ** -0.5 + seen, axis=-1)
        return (weights @ v).transpose([0, 2, 1, 3])

    return paddle.jit.to_static(attention)


for length in LENGTHS:
    spelled(length)
    for heads, dim in HEADS:
        for name in FAMILIES:
            flex(name, length, heads, dim)
dense("causal-document", 4096, False, False, 10)
dense("document", 4096, False, False, 10)
dense("causal-document", 4096, True, False, 10)
dense("causal-document", 4096, True, True, 5)
