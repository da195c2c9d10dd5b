"""The rate of attention with sparse masks, against that of a matmul beside it; bfloat16 against float32; memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from attention_masks import FAMILIES, arrays, ours
from measure import Settings, Side, compare, highest, resident
from rows import Outcome, add_row, add_section, faster

import paddle
from paddle.nn.functional import flashmask_attention, scaled_dot_product_attention

RATES = add_section("attention-rates", "Rates of attention with sparse masks", figure="of the matmul's rate")
LOW = add_section("attention-low-precision", "Attention in bfloat16")
MEMORY = add_section("attention-memory", "Memory of attention", figure="of its operands and results")
LENGTH, HEADS, DIM = 4096, 8, 64
ON_TILES, ON_VISIBLE, DENSE_ENOUGH = 0.8, 0.65, 0.1
BACKWARD = 0.65
MATMUL = 2048  # rows, columns and terms of the matmul beside
FORWARD_WORK, TRAINING_WORK = 4, 14  # operations for each score and dim: two matmuls, and five more of a gradient
LOW_FACTOR = 1.5
LONG, LONG_HEADS, LONG_DIM, MOST = 16384, 4, 64, 1.2


def operands(length: int, heads: int, dim: int, names: str, dtype: str = "float32") -> dict[str, Any]:
    made = {k: paddle.to_tensor(a).astype(dtype) for k, a in arrays(length, heads, dim, names).items()}
    for x in made.values():
        x.stop_gradient = "g" not in names
    return made


def mask_of(name: str, length: int) -> tuple[Any, Any]:
    """A mask and its indices."""
    names: dict[str, Any] = {"paddle": paddle}
    exec(ours(FAMILIES[name][0], length), names)
    return names["mask"], names["rows"]


def rate(name: str, gradient: bool, settings: Settings) -> Outcome:
    """Operations in a second, counted on tiles of 128 × 128 with a visible score, and on visible scores."""
    mask, rows = mask_of(name, LENGTH)
    x = operands(LENGTH, HEADS, DIM, "qkvg" if gradient else "qkv")
    call = "F.flashmask_attention(q, k, v, rows, causal=causal)"
    if gradient:
        call = f"paddle.grad({call}, [q, k, v], g)"
    names = {**x, "F": paddle.nn.functional, "paddle": paddle, "rows": rows, "causal": mask.causal}
    a = paddle.to_tensor(np.random.default_rng(0).standard_normal((MATMUL, MATMUL)).astype("float32"))
    c = compare(Side(call, names), Side("paddle.matmul(a, a)", {"paddle": paddle, "a": a}), settings)
    scores = (TRAINING_WORK if gradient else FORWARD_WORK) * LENGTH**2 * HEADS * DIM
    share = scores / (2 * MATMUL**3) * c.ratio.median
    tiles, visible = share * mask.tile_density(), share * mask.density()
    if gradient:
        passed = tiles >= BACKWARD
    else:
        passed = tiles >= ON_TILES and (visible >= ON_VISIBLE or mask.density() < DENSE_ENOUGH)
    matmul = 2 * MATMUL**3 / c.other.median
    figure = f"{tiles:.0%} on tiles, {visible:.0%} on visible scores (density {mask.density():.2f})"
    return Outcome(f"{tiles * matmul / 1e9:.0f} GF/s", f"{matmul / 1e9:.0f} GF/s", figure, passed)


def low(causal: bool, gradient: bool) -> Callable[[Settings], tuple[Side, Side]]:
    call = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
    if gradient:
        call = f"paddle.grad({call}, [q, k, v], g)"

    def pair(settings: Settings) -> tuple[Side, Side]:
        names = {"F": paddle.nn.functional, "paddle": paddle}
        each = (operands(2048, HEADS, DIM, "qkvg" if gradient else "qkv", d) for d in ("bfloat16", "float32"))
        bf16, f32 = (Side(call, {**names, **x}) for x in each)
        return bf16, f32

    return pair


def memory(document: bool, settings: Settings) -> Outcome:
    """The peak of resident memory over forward and backward, with operands, results and all their gradients."""
    mask, rows = mask_of("causal-document", LONG)
    flashmask_attention(*operands(256, 1, LONG_DIM, "qkv").values())  # what is loaded once
    paddle.device.empty_cache("cpu")  # what an earlier row used is not there
    before = resident()
    x = operands(LONG, LONG_HEADS, LONG_DIM, "qkvg")
    q, k, v, g = x.values()
    tensors = 8 * q.nbytes  # q, k, v, the result, and the gradient of each
    with open("/proc/self/clear_refs", "w") as reset:  # the peak of the memory from here on
        reset.write("5")
    if document:
        y = flashmask_attention(q, k, v, rows, causal=mask.causal)
    else:
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
    kept = paddle.grad(y, [q, k, v], g)
    used = highest() - before
    del kept
    return Outcome(f"{used / 1e6:.0f} MB", f"{tensors / 1e6:.0f} MB", f"{used / tensors:.3g}×", used <= MOST * tensors)


for name in FAMILIES:
    for gradient in (False, True):
        least = f"≥ {BACKWARD:.0%} on tiles" if gradient else f"≥ {ON_TILES:.0%} on tiles, {ON_VISIBLE:.0%} on visible"
        what = f"{name.replace('-', ' ')}, {LENGTH} tokens, {HEADS} heads of {DIM}"
        add_row(
            f"attention-rate-{name}{'-grad' if gradient else ''}",
            f"{what}{', forward and backward' if gradient else ''}; the other: a matmul of {MATMUL}³",
            least if gradient else f"{least} scores from a density of {DENSE_ENOUGH:g}",
            partial(rate, name, gradient),
            RATES,
        )
for causal in (False, True):
    for gradient in (False, True):
        kind = "causal" if causal else "no mask"
        faster(
            f"attention-bf16-{'causal' if causal else 'full'}{'-grad' if gradient else ''}",
            f"{kind}, 2048 tokens, {HEADS} heads of {DIM}{', forward and backward' if gradient else ''}, bfloat16",
            LOW_FACTOR,
            section=LOW,
            peer="ours in float32",
        )(low(causal, gradient))
for document in (False, True):
    add_row(
        f"attention-memory-{'causal-document' if document else 'causal'}",
        f"{'causal documents' if document else 'causal'}, {LONG} tokens, {LONG_HEADS} heads of {LONG_DIM}, forward and "
        "backward; the other: q, k, v, the result and the gradients of these",
        f"≤ {MOST:g}×",
        partial(memory, document),
        MEMORY,
    )
