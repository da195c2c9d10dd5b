"""Pooling of regions of interest, and deformable convolution: what no recorded fact shows."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle.vision import ops

BOXES = [[0.3, 0.4, 4.1, 3.3], [-3.2, 1.1, 2.6, 9.4], [1.2, 0.3, 1.4, 3.1]]


def operands(dtype: str = "float64") -> tuple:
    x = np.random.default_rng(3).standard_normal((2, 8, 6, 7))
    return paddle.to_tensor(x, dtype), paddle.to_tensor(BOXES, "float64"), paddle.to_tensor([2, 1], dtype="int32")


def test_a_box_without_extent_has_no_samples() -> None:
    box = paddle.to_tensor([[2.0, 2.0, 2.0, 2.0]])
    y = ops.roi_align(paddle.ones([1, 1, 4, 4]), box, paddle.to_tensor([1]), 2)
    assert y.tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]


BEHIND = [[2.0, 1.0, 6.9, 5.9]]  # samples behind the last row and column read these, and their gradients go there


@pytest.mark.parametrize("box", [[[3.4, 3.1, 1.2, 0.3]], BEHIND], ids=["inverted", "behind"])
def test_the_gradient_is_the_transpose(box) -> None:
    x = operands()[0][:1]
    x.stop_gradient = False
    y = ops.roi_align(x, paddle.to_tensor(box, "float64"), paddle.to_tensor([1]), 2, sampling_ratio=2)
    g = paddle.to_tensor(np.random.default_rng(4).standard_normal(tuple(y.shape)))
    (gx,) = paddle.grad([y], [x], [g])
    assert (x * gx).sum().item() == pytest.approx((y * g).sum().item())
    assert abs(gx).sum().item() > 0


def test_an_inverted_box_has_no_adaptive_samples() -> None:
    box, x = paddle.to_tensor([[3.4, 3.1, 1.2, 0.3]]), operands("float32")[0][:1]
    with pytest.raises(ValueError, match="x1 <= x2"):
        ops.roi_align(x, box, paddle.to_tensor([1]), 2)
    assert ops.roi_align(x, box, paddle.to_tensor([1]), 2, aligned=False).shape == [1, 8, 2, 2]


def test_one_channel_of_position_sensitive_means() -> None:
    x = paddle.arange(36.0).reshape([1, 4, 3, 3])
    y = ops.psroi_pool(x, paddle.to_tensor([[0.0, 0.0, 1.0, 1.0]]), paddle.to_tensor([1]), 2)
    assert y.tolist() == [[[[0.0, 10.0], [21.0, 31.0]]]]


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "psroi_pool"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_low_precision_is_near_float64(name: str, dtype: str) -> None:
    x, boxes, counts = operands()
    expected = getattr(ops, name)(x, boxes, counts, 2)
    found = getattr(ops, name)(x.astype(dtype), boxes, counts, 2)
    assert found.dtype == getattr(paddle, dtype)
    scale = {"float32": 1e-5, "bfloat16": 5e-2, "float16": 5e-3}[dtype]
    np.testing.assert_allclose(found.astype("float64").numpy(), expected.numpy(), atol=scale, rtol=scale)


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "psroi_pool"])
def test_captured_as_eager_at_several_sizes(name: str) -> None:
    pool = getattr(ops, name)
    captured = paddle.jit.to_static(lambda x, boxes, counts: pool(x, boxes, counts, (2, 2), 0.7))
    x, boxes, counts = operands("float32")
    boxes = boxes.astype("float32")
    for rows in (3, 3, 2, 0, 3):
        numbers = paddle.to_tensor([max(rows - 1, 0), min(rows, 1)], dtype="int32")
        found, expected = captured(x, boxes[:rows], numbers), pool(x, boxes[:rows], numbers, (2, 2), 0.7)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_strided_operands() -> None:
    x, boxes, counts = operands("float32")
    boxes = boxes.astype("float32")
    strided = x.transpose([0, 3, 2, 1]).clone().transpose([0, 3, 2, 1])
    wide = paddle.concat([boxes, boxes], axis=1)[:, :4]
    for pool in (ops.roi_align, ops.roi_pool, ops.psroi_pool):
        np.testing.assert_array_equal(pool(strided, wide, counts, 2).numpy(), pool(x, boxes, counts, 2).numpy())


def deformable(groups: int, deformable_groups: int, dtype: str = "float64") -> list:
    rng = np.random.default_rng(5)
    shapes = [
        (2, 4, 6, 5),
        (2, 2 * deformable_groups * 9, 6, 5),
        (4, 4 // groups, 3, 3),
        (2, deformable_groups * 9, 6, 5),
    ]
    return [paddle.to_tensor(rng.standard_normal(s), dtype) for s in shapes]


@pytest.mark.parametrize("groups", [1, 2])
def test_without_shifts_it_is_a_convolution(groups: int) -> None:
    x, offset, weight, mask = deformable(groups, 2)
    bias = paddle.arange(4, dtype="float64")
    rest = {"stride": 2, "padding": 2, "dilation": 2, "groups": groups}
    plain = paddle.nn.functional.conv2d(x, weight, bias, **rest)
    shape = [2, 2 * 9, *plain.shape[2:]]
    zeros, ones = paddle.zeros([2, 4 * 9, *plain.shape[2:]], "float64"), paddle.ones(shape, "float64")
    for m in (None, ones):
        y = ops.deform_conv2d(x, zeros, weight, bias, deformable_groups=2, mask=m, **rest)
        np.testing.assert_allclose(y.numpy(), plain.numpy(), atol=1e-12)


def test_a_shift_of_whole_elements_is_a_shift_of_the_image() -> None:
    x, _, weight, _ = deformable(1, 1)
    offset = paddle.zeros([2, 9, 2, 6, 5], "float64")
    offset[:, :, 0] = 1
    shifted = paddle.concat([x[:, :, 1:], paddle.zeros_like(x[:, :, :1])], axis=2)
    y = ops.deform_conv2d(x, offset.reshape([2, 18, 6, 5]), weight, padding=1)
    # The first row of the padded image is beyond the shifted one.
    plain = paddle.nn.functional.conv2d(shifted, weight, padding=1)
    np.testing.assert_allclose(y[:, :, 1:-1].numpy(), plain[:, :, 1:-1].numpy(), atol=1e-12)


def test_deformable_low_precision_and_captured() -> None:
    x, offset, weight, mask = deformable(2, 1)
    expected = ops.deform_conv2d(x, offset, weight, padding=1, groups=2, mask=mask)
    low = [v.astype("float32") for v in (x, offset, weight, mask)]
    captured = paddle.jit.to_static(
        lambda x, offset, weight, mask: ops.deform_conv2d(x, offset, weight, padding=1, groups=2, mask=mask)
    )
    for _ in range(3):
        np.testing.assert_allclose(captured(*low).numpy(), expected.numpy(), atol=1e-4)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        mixed = ops.deform_conv2d(low[0], low[1], low[2], padding=1, groups=2, mask=low[3])
    np.testing.assert_allclose(mixed.astype("float64").numpy(), expected.numpy(), atol=0.5)


def test_no_images() -> None:
    _, offset, weight, _ = deformable(1, 1, "float32")
    y = ops.deform_conv2d(paddle.zeros([0, 4, 6, 5]), offset[:0], weight, padding=1)
    assert y.shape == [0, 4, 6, 5]
