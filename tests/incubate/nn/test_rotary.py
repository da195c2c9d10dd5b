"""Rotary position embedding in every layout, against the rotation of complex numbers."""

import numpy as np
import pytest

import paddle
from paddle.incubate.nn.functional import fused_rotary_position_embedding as rotary

BATCH, SEQUENCE, SIZE = 2, 5, 8


def rotated(x, angles, neighbours):
    """Features as complex numbers, times ``exp(i * angle)``; x and angles are ``[batch, sequence, …, pairs]``."""
    half = SIZE // 2
    real, imaginary = (x[..., ::2], x[..., 1::2]) if neighbours else (x[..., :half], x[..., half:])
    z = (real + 1j * imaginary) * np.exp(1j * angles)
    if neighbours:
        return np.stack([z.real, z.imag], -1).reshape(x.shape)
    return np.concatenate([z.real, z.imag], -1)


def features(pairs, neighbours):
    """A number for each feature from a number for each pair."""
    return np.repeat(pairs, 2, -1) if neighbours else np.tile(pairs, 2)


@pytest.mark.parametrize("neighbours", [True, False])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("tables", ["none", "flat", "four dims"])
@pytest.mark.parametrize("positions", [False, True])
def test_layouts(rng, neighbours, time_major, tables, positions):
    """Fewer key heads than query heads, no value; more positions in the tables than in the sequence."""
    rows = SEQUENCE + 4 * (positions and tables != "none")
    frequencies = 100.0 ** (-np.arange(SIZE // 2) * 2 / SIZE)
    angles = np.arange(rows)[:, None] * frequencies if tables == "none" else rng.standard_normal((rows, SIZE // 2))
    ids = rng.integers(0, rows, (BATCH, SEQUENCE)) if positions else np.tile(np.arange(SEQUENCE), (BATCH, 1))
    kw = {"use_neox_rotary_style": neighbours, "time_major": time_major, "rotary_emb_base": 100.0}
    if tables != "none":
        shape = (rows, SIZE) if tables == "flat" else (1, rows, 1, SIZE)
        whole = features(angles, neighbours).reshape(shape)
        kw |= {"sin": paddle.to_tensor(np.sin(whole)), "cos": paddle.to_tensor(np.cos(whole))}
    if positions:
        kw["position_ids"] = paddle.to_tensor(ids)
    arrays = [rng.standard_normal((BATCH, SEQUENCE, heads, SIZE)) for heads in (4, 2)]
    perm = (1, 0, 2, 3) if time_major else (0, 1, 2, 3)
    q, k = (paddle.to_tensor(x.transpose(perm)) for x in arrays)
    captured = paddle.jit.to_static(lambda q, k: rotary(q, k, **kw)[:2])
    *eager, none = rotary(q, k, **kw)
    assert none is None
    for x, one, two in zip(arrays, eager, captured(q, k), strict=True):
        expected = rotated(x, angles[ids][:, :, None], neighbours).transpose(perm)
        np.testing.assert_allclose(one.numpy(), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(two.numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("neighbours", [True, False])
def test_gradient_turns_back(rng, neighbours):
    """A rotation's transpose is its inverse: the gradient of the rotated tensor is the cotangent rotated back."""
    x = paddle.to_tensor(rng.standard_normal((1, 4, 2, SIZE)), stop_gradient=False)
    cotangent = paddle.to_tensor(rng.standard_normal((1, 4, 2, SIZE)))
    angles = features(rng.standard_normal((4, SIZE // 2)), neighbours)
    sin, cos = paddle.to_tensor(np.sin(angles)), paddle.to_tensor(np.cos(angles))
    y = rotary(x, None, None, sin, cos, use_neox_rotary_style=neighbours)[0]
    (gradient,) = paddle.grad(y, x, cotangent)
    back = rotary(cotangent, None, None, -sin, cos, use_neox_rotary_style=neighbours)[0]
    np.testing.assert_allclose(gradient.numpy(), back.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_rounded_once(rng, dtype):
    q = paddle.to_tensor(rng.standard_normal((1, 6, 2, SIZE)).astype("float32")).astype(dtype)
    found = rotary(q)[0]
    assert found.dtype.name == dtype
    wide = rotary(q.astype("float32"))[0].astype(dtype)
    assert (found == wide).all()


def test_strided_operands(rng):
    packed = paddle.to_tensor(rng.standard_normal((2, 3, 3, 2, SIZE)).astype("float32"))
    q, k, v = packed.unbind(2)
    for found, x in zip(rotary(q, k, v), (q, k, v), strict=True):
        np.testing.assert_array_equal(found.numpy(), rotary(x.contiguous())[0].numpy())


def test_refusals(rng):
    q, table = paddle.ones([1, 3, 2, 4]), paddle.ones([3, 4])
    ids = paddle.to_tensor([[0, 1, 3]])
    with pytest.raises(
        ValueError, match=r"\[fused_rotary_position_embedding\] requires both of sin and cos or neither"
    ):
        rotary(q, sin=table)
    with pytest.raises(ValueError, match=r"requires an even head_dim, got 3"):
        rotary(q[..., :3])
    with pytest.raises(ValueError, match=r"requires k of q's batch, sequence and head_dim, got \[1, 2, 2, 4\]"):
        rotary(q, q[:, :2])
    with pytest.raises(ValueError, match=r"requires sin of shape \[3, 4\] or \[1, 3, 1, 4\], got \[2, 4\]"):
        rotary(q, sin=table[:2], cos=table[:2])
    with pytest.raises(ValueError, match=r"requires position_ids of shape \[1, 3\], got \[1, 2\]"):
        rotary(q, sin=table, cos=table, position_ids=ids[:, :2])
    with pytest.raises(TypeError, match="requires integers for position_ids, got float32"):
        rotary(q, sin=table, cos=table, position_ids=paddle.ones([1, 3]))
    with pytest.raises(TypeError, match="requires a floating q, got int64"):
        rotary(paddle.ones([1, 3, 2, 4], "int64"))
    with pytest.raises(IndexError):
        rotary(q, sin=table, cos=table, position_ids=ids)[0].numpy()
