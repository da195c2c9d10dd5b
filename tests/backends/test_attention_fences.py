"""Attention reads nothing behind its operands, whatever their sizes: each ends where memory may not be touched."""

import itertools

import numpy as np
import pytest

import paddle
from tests.support.draw import sampled
from tests.support.fences import fenced

CASES = itertools.product(
    ["indices", "blocks", "bool", "added", "none"],
    ["float32", "bfloat16", "float16", "float64"],
    [(1, 131), (129, 63), (200, 257), (31, 1), (128, 128)],
    [(1, 1), (2, 3)],
    [(17, 17), (64, 5), (3, 80), (128, 128)],
)


@pytest.mark.parametrize(("kind", "dtype", "tokens", "heads", "dims"), sampled(CASES, 40, "fences"))
def test_nothing_behind_operands_is_read(kind, dtype, tokens, heads, dims):
    (queries, keys), (key_heads, group), (dim, value_dim) = tokens, heads, dims
    rng = np.random.default_rng(queries + dim)
    every = key_heads * group

    def shared(x):
        """A tensor over the array's own memory."""
        return paddle.utils.dlpack.from_dlpack(fenced(np.ascontiguousarray(x)))

    def drawn(*shape):
        x = rng.standard_normal(shape)
        if dtype != "bfloat16":
            return shared(x.astype(dtype))
        return shared((x.astype("float32").view("uint32") >> 16).astype("uint16").view("int16")).view("bfloat16")

    q, k, v, g = (
        drawn(1, n, h, m)
        for n, h, m in (
            (queries, every, dim), (keys, key_heads, dim), (keys, key_heads, value_dim), (queries, every, value_dim)
        )
    )  # fmt: skip
    for x in (q, k, v):
        x.stop_gradient = False
    if kind in ("indices", "blocks"):
        rows = rng.integers(-3, queries + 3, (1, key_heads, keys, 2)).astype(np.int32)
        blocks = np.ones((1, key_heads, -(-queries // 128), -(-keys // 128)), np.int32)
        more = {"block_mask": shared(blocks)} if kind == "blocks" else {}
        out = paddle.nn.functional.flashmask_attention(q, k, v, shared(rows), causal=dim > 60, **more)
    else:
        masks = {"bool": lambda: shared(rng.random((queries, keys)) < 0.7), "added": lambda: drawn(queries, keys)}
        mask = masks[kind]() if kind in masks else None
        out = paddle.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    grads = paddle.grad([out], [q, k, v], [g])
    assert all(np.isfinite(x.astype("float64").numpy()).all() for x in (out, *grads))
