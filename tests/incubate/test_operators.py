"""Functions of ``paddle.incubate`` beside graphs: masked softmax, a loss that is there already."""

import numpy as np
import pytest

import paddle
from paddle.incubate import identity_loss, softmax_mask_fuse, softmax_mask_fuse_upper_triangle


def scores(*shape, dtype="float64"):
    return paddle.to_tensor(np.random.default_rng(5).standard_normal(shape), stop_gradient=False).astype(dtype)


def test_upper_triangle():
    x = scores(2, 3, 5, 5)
    masked = np.where(np.tril(np.ones((5, 5), bool)), x.numpy(), -np.inf)
    e = np.exp(masked - masked.max(-1, keepdims=True))
    np.testing.assert_allclose(softmax_mask_fuse_upper_triangle(x).numpy(), e / e.sum(-1, keepdims=True), rtol=1e-12)
    captured = paddle.jit.to_static(softmax_mask_fuse_upper_triangle)
    np.testing.assert_allclose(captured(x).numpy(), e / e.sum(-1, keepdims=True), rtol=1e-12)


def test_gradients():
    x, mask = scores(1, 2, 3, 3), paddle.to_tensor(np.triu(np.full((1, 1, 3, 3), -1e4), 1))
    one = paddle.grad((softmax_mask_fuse_upper_triangle(x) ** 2).sum(), x, create_graph=True)[0]
    two = paddle.grad((softmax_mask_fuse(x, mask) ** 2).sum(), x, create_graph=True)[0]
    np.testing.assert_allclose(one.numpy(), two.numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        paddle.grad((one**2).sum(), x)[0].numpy(), paddle.grad((two**2).sum(), x)[0].numpy(), rtol=1e-9
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision(dtype):
    x = scores(1, 1, 4, 4, dtype=dtype)
    found = softmax_mask_fuse_upper_triangle(x)
    assert found.dtype.name == dtype
    np.testing.assert_allclose(
        found.astype("float64").numpy(),
        softmax_mask_fuse_upper_triangle(x.astype("float64")).numpy(),
        atol=2.0**-9 if dtype == "bfloat16" else 2.0**-12,
    )


def test_refusals():
    x = scores(1, 2, 3, 3)
    with pytest.raises(ValueError, match=r"\[softmax_mask_fuse\] requires a mask of shape \(1, 1, 3, 3\), got"):
        softmax_mask_fuse(x, x)
    with pytest.raises(ValueError, match="an x whose last two sizes are equal"):
        softmax_mask_fuse_upper_triangle(x[:, :, :2])
    with pytest.raises(TypeError, match=r"\[identity_loss\] requires a floating x, got int64"):
        identity_loss(paddle.to_tensor([1]))


def test_identity_loss_in_a_capture():
    captured = paddle.jit.to_static(lambda x: identity_loss(x * 2, "mean"))
    assert captured(paddle.to_tensor([1.0, 2.0])).item() == 3.0
