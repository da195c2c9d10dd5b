"""Matmuls, convolutions and attention as users call them, forward and with their gradients."""

from __future__ import annotations

from functools import partial

from cases import Arrays, Case, normal
from rows import add_section

MATMULS = add_section("matmul", "Matmuls and convolutions", mean=1.0)
ATTENTION = add_section("attention", "Attention")
LEAST = 0.97
TOKENS = 8192  # heads times queries

# name, m, n, k, whether y is transposed, batch
GEMMS = (
    ("square-256", 256, 256, 256, False, 0),
    ("square-1024", 1024, 1024, 1024, False, 0),
    ("gpt-qkv", 512, 2304, 768, False, 0),
    ("gpt-proj", 512, 768, 768, False, 0),
    ("gpt-up", 512, 3072, 768, False, 0),
    ("gpt-down", 512, 768, 3072, False, 0),
    ("gpt-logits", 128, 50304, 768, True, 0),
    ("gpt-scores", 256, 256, 64, True, 24),
    ("gpt-one-token", 1, 3072, 768, False, 0),
    ("classifier", 32, 1000, 2048, True, 0),
)
# name, images, channels in and out, size, kernel, stride, pad
CONVOLUTIONS = (
    ("stem", 8, 3, 64, 224, 7, 2, 3),
    ("56-3x3", 8, 64, 64, 56, 3, 1, 1),
    ("56-1x1-up", 8, 64, 256, 56, 1, 1, 0),
    ("56-1x1-down", 8, 256, 64, 56, 1, 1, 0),
    ("56-3x3-stride", 8, 128, 128, 56, 3, 2, 1),
    ("28-3x3", 8, 128, 128, 28, 3, 1, 1),
    ("28-1x1-stride", 8, 512, 1024, 28, 1, 2, 0),
    ("14-3x3", 8, 256, 256, 14, 3, 1, 1),
    ("7-1x1", 8, 512, 2048, 7, 1, 1, 0),
    ("one-image", 1, 64, 64, 56, 3, 1, 1),
)


def both_ways(name: str, what: str, ours: str, theirs: str, operands: str, inputs: dict, factor: float, section: str,
              after: str = "", **more: str) -> None:  # fmt: skip
    """A row of the forward call, and one with gradients; ``after``: what PyTorch's results need to be as ours."""
    shapes = dict(inputs)

    def arrays(names: list[str]) -> Arrays:
        return {k: normal(*shapes[k], seed=i) for i, k in enumerate(names)}

    names = operands.split(", ")
    Case(name, ours, partial(arrays, names), theirs + after, factor, tolerance=1e-4, what=what, **more).add(section)
    peer = f"torch.autograd.grad({theirs}, [{operands}], g)"
    Case(
        f"{name}-grad",
        f"paddle.grad({ours}, [{operands}], g)",
        partial(arrays, [*names, "g"]),
        f"[t{after} for t in {peer}]" if after else peer,
        factor,
        setup=f"for t in ({operands},): t.stop_gradient = False",
        theirs_setup="; ".join([*more.values(), f"[t.requires_grad_() for t in ({operands},)]"]),
        tolerance=1e-4,
        what=f"{what}, forward and backward",
    ).add(section)


for name, m, n, k, transposed, batch in GEMMS:
    lead = (batch,) if batch else ()
    text = f"{f'{batch} × ' if batch else ''}{m} × {n} × {k}{', `y` transposed' if transposed else ''}"
    sizes = {"x": (*lead, m, k), "y": (*lead, n, k) if transposed else (*lead, k, n), "g": (*lead, m, n)}
    ours = "paddle.matmul(x, y, transpose_y=True)" if transposed else "paddle.matmul(x, y)"
    both_ways(f"gemm-{name}", f"matmul {text}", ours, "torch.matmul(x, y.mT)" if transposed else "torch.matmul(x, y)",
              "x, y", sizes, LEAST, MATMULS)  # fmt: skip

for name, images, c, o, size, kernel, stride, pad in CONVOLUTIONS:
    made = (size + 2 * pad - kernel) // stride + 1
    text = f"`conv2d` {images} × {c} → {o}, {size} × {size}, kernel {kernel}, stride {stride}"
    sizes = {"x": (images, c, size, size), "w": (o, c, kernel, kernel), "g": (images, o, made, made)}
    call = f"F.conv2d(x, w, None, {stride}, {pad})"
    both_ways(f"conv-{name}", text, call, call, "x, w", sizes, LEAST, MATMULS)


def attention(name: str, batch: int, length: int, heads: int, dim: int, causal: bool) -> None:
    """Rows of attention, forward and with gradients."""
    texts = f"{batch} × " if batch > 1 else ""
    call = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
    both_ways(
        f"attention-{name}",
        f"{'causal ' if causal else ''}attention, {texts}{length} tokens, {heads} heads of {dim}",
        call,
        call,
        "q, k, v",
        dict.fromkeys("qkvg", (batch, length, heads, dim)),
        1.2,
        ATTENTION,
        ".transpose(1, 2)",
        theirs_setup="globals().update({k: t.transpose(1, 2).contiguous() for k, t in list(globals().items())"
        " if isinstance(t, torch.Tensor)})",
    )


for dim in (64, 128):
    for length in (1024, 2048, 4096, 8192):
        attention(f"{length}-{dim}", 1, length, max(1, TOKENS // length // 2), dim, True)
# A step of training: batches of short texts.
for dim in (32, 64):
    for length in (128, 256, 512):
        for causal in (True, False):
            attention(f"{'gpt' if causal else 'full'}-{length}-{dim}", 4, length, 8, dim, causal)
    attention(f"encoder-128-{dim}", 8, 128, 12, dim, False)
