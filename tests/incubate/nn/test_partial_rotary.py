"""Rotary position embedding of the last features, against the rotation of complex numbers."""

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import fused_partial_rope as rope

BATCH, SEQUENCE, HEADS = 2, 5, 3


def rotated(x, angles):
    """``angles``: ``[sequence, pairs]``."""
    pairs = angles.shape[1]
    kept, pe = np.split(x, [x.shape[3] - 2 * pairs], axis=3)
    z = (pe[..., ::2] + 1j * pe[..., 1::2]) * np.exp(1j * angles)[:, None]
    return np.concatenate([kept, z.real, z.imag], axis=3)


def tables(angles):
    each = np.tile(angles, 2)[None, :, None]
    return paddle.to_tensor(np.cos(each)), paddle.to_tensor(np.sin(each))


@pytest.mark.parametrize(("size", "pairs"), [(8, 4), (7, 2), (3, 0)])
def test_last_features_are_rotated(rng, size, pairs):
    """All features, some, and none; captured as well. A rotation keeps lengths, and its gradient turns back."""
    data, angles = rng.standard_normal((BATCH, SEQUENCE, HEADS, size)), rng.standard_normal((SEQUENCE, pairs))
    x = paddle.to_tensor(data, stop_gradient=False)
    cos, sin = tables(angles)
    y = rope(x, cos, sin)
    for found in (y, paddle.jit.to_static(rope)(x, cos, sin)):
        np.testing.assert_allclose(found.numpy(), rotated(data, angles), rtol=1e-12, atol=1e-12)
    # <rotated x, y> with y itself as the cotangent: the inverse of a rotation gives x back.
    (gradient,) = paddle.grad(y, x, y.detach())
    np.testing.assert_allclose(gradient.numpy(), data, rtol=1e-12, atol=1e-12)


def test_tables_of_different_halves(rng):
    """Features of the first half take the first half of the tables, the others the second."""
    x = rng.standard_normal((1, 2, 1, 4))
    cos, sin = rng.standard_normal((2, 1, 2, 1, 4))
    a, b = x[..., ::2], x[..., 1::2]
    expected = np.concatenate([a * cos[..., :2] - b * sin[..., :2], b * cos[..., 2:] + a * sin[..., 2:]], axis=3)
    np.testing.assert_allclose(rope(*map(paddle.to_tensor, (x, cos, sin))).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_rounded_once(rng, dtype):
    x = paddle.to_tensor(rng.standard_normal((BATCH, SEQUENCE, HEADS, 6))).astype(dtype)
    cos, sin = (t.astype(dtype) for t in tables(rng.standard_normal((SEQUENCE, 2))))
    found = rope(x, cos, sin)
    assert found.dtype.name == dtype
    assert (found == rope(*(t.astype("float32") for t in (x, cos, sin))).astype(dtype)).all()


def test_refusals():
    x, table = paddle.ones([1, 3, 2, 4]), paddle.ones([1, 3, 1, 2])
    with pytest.raises(TypeError, match=r"\[fused_partial_rope\] requires a floating sin, got int64"):
        rope(x, table, table.astype("int64"))
    with pytest.raises(ValueError, match=r"x of shape \[batch, sequence, heads, head_dim\], got \[3, 2, 4\]"):
        rope(x[0], table, table)
    with pytest.raises(ValueError, match=r"requires cos of shape \[1, 3, 1, pe_head_dim\].*got \[1, 2, 1, 2\]"):
        rope(x, table[:, :2], table)
    with pytest.raises(ValueError, match=r"requires sin of shape .*the same as cos's, got \[1, 3, 1, 1\]"):
        rope(x, table, table[..., :1])
    for size in (3, 6):
        wide = paddle.ones([1, 3, 1, size])
        with pytest.raises(ValueError, match=f"requires an even pe_head_dim of at most 4, the head_dim, got {size}"):
            rope(x, wide, wide)
