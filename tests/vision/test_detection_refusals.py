"""What operators of detection refuse: nothing that comes in leads a kernel out of its memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import paddle
from paddle.vision import ops

NAN, INFINITE = float("nan"), float("inf")
X = paddle.ones([2, 4, 5, 5])
BOX = [[0.0, 0.0, 3.0, 3.0]]


@pytest.mark.parametrize("pool", [ops.roi_align, ops.roi_pool, ops.psroi_pool])
@pytest.mark.parametrize(
    ("boxes", "counts"),
    [
        (BOX, [1, 1]),
        (BOX, [0, 0]),
        (BOX, [2, -1]),
        (BOX, [2**40, 1 - 2**40]),
        (BOX, [1]),
        (BOX, [1, 0, 0]),
        ([[0.0, 0.0, NAN, 3.0]], [1, 0]),
        ([[0.0, 0.0, INFINITE, 3.0]], [1, 0]),
        ([[0.0, 0.0, 3.0]], [1, 0]),
    ],
)
def test_boxes_and_their_numbers(pool: Callable, boxes: list, counts: list) -> None:
    with pytest.raises(ValueError, match="requires"):
        pool(X, paddle.to_tensor(boxes), paddle.to_tensor(counts), 2)


@pytest.mark.parametrize("pool", [ops.roi_align, ops.roi_pool, ops.psroi_pool])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_boxes_far_away(pool: Callable, dtype: str) -> None:
    """Coordinates that no integer holds; few of the samples lie within the image."""
    far = 1e30
    boxes = [[far, far, far, far], [-far, -far, -far, -far], [-far, -far, far, far], [-1e9, 0.0, 1e9, 4.0]]
    x = paddle.ones([2, 4, 5, 5], dtype)
    x.stop_gradient = False
    y = pool(x, paddle.to_tensor(boxes, dtype), paddle.to_tensor([1, 3]), 2)
    assert np.isfinite(y.numpy()).all()
    y.sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_offsets_far_away() -> None:
    x = paddle.ones([1, 2, 3, 3])
    for far in (1e30, -1e30, INFINITE, NAN):
        offset = paddle.full([1, 2, 3, 3], far)
        offset.stop_gradient = False
        y = ops.deform_conv2d(x, offset, paddle.ones([2, 2, 1, 1]))
        assert y.tolist() == paddle.zeros([1, 2, 3, 3]).tolist()
        y.sum().backward()
        assert offset.grad.abs().sum().item() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": [1, 17, 3, 3]},
        {"offset": [2, 18, 3, 3]},
        {"offset": [1, 18, 3, 2]},
        {"offset": [18, 3, 3]},
        {"weight": [2, 1, 3, 3]},
        {"weight": [2, 2, 7, 7]},
        {"weight": [2, 2, 0, 3]},
        {"mask": [1, 8, 3, 3]},
        {"stride": 0},
        {"dilation": 0},
        {"padding": -1},
        {"groups": 3},
        {"groups": 0},
        {"deformable_groups": 3},
    ],
    ids=str,
)
def test_deformable_convolution(changes: dict) -> None:
    shapes = {"x": [1, 2, 5, 5], "offset": [1, 18, 3, 3], "weight": [2, 2, 3, 3], "mask": [1, 9, 3, 3]}
    assert ops.deform_conv2d(**{k: paddle.ones(s) for k, s in shapes.items()}).shape == [1, 2, 3, 3]
    operands = {k: paddle.ones(changes.get(k, s)) for k, s in shapes.items()}
    operands.update({k: v for k, v in changes.items() if k not in shapes})
    with pytest.raises(ValueError, match="deform_conv2d"):
        ops.deform_conv2d(**operands)


def test_boxes_without_numbers() -> None:
    for call in (
        lambda: ops.nms(paddle.to_tensor([[0.0, 0.0, NAN, 1.0]])),
        lambda: ops.nms(paddle.zeros([2, 3])),
        lambda: ops.nms(paddle.zeros([2, 4]), 0.3, paddle.zeros([3])),
        lambda: ops.nms(paddle.zeros([2, 4]), 0.3, paddle.zeros([2]), paddle.zeros([3], "int64"), [0]),
        lambda: ops.nms(paddle.zeros([2, 4]), 0.3, paddle.zeros([2]), paddle.zeros([2], "int64")),
        lambda: ops.nms(paddle.zeros([2, 4]), top_k=3),
        lambda: ops.matrix_nms(paddle.zeros([1, 2, 4]), paddle.zeros([1, 2, 3]), 0.1, 0.1, 1, 1),
        lambda: ops.matrix_nms(paddle.zeros([1, 2, 4]), paddle.zeros([1, 2, 2]), 0.1, 0.1, 0, 1),
        lambda: ops.distribute_fpn_proposals(paddle.zeros([2, 3]), 2, 3, 2, 224),
        lambda: ops.distribute_fpn_proposals(paddle.zeros([2, 4]), 2, 3, 2, 224, rois_num=paddle.to_tensor([1])),
    ):
        with pytest.raises(ValueError, match="requires"):
            call()


def test_labels_and_centres_outside() -> None:
    """A class that is none aims at nothing; a centre outside of the image has no prediction."""
    x = paddle.zeros([1, 8, 2, 2])
    x.stop_gradient = False
    for box, label in (([0.5, 0.5, 0.2, 0.2], 99), ([0.5, 0.5, 0.2, 0.2], -1), ([7.0, -3.0, 0.2, 0.2], 0)):
        truth, labels = paddle.to_tensor([[box]]), paddle.to_tensor([[label]], dtype="int32")
        loss = ops.yolo_loss(x, truth, labels, [10, 13], [0], 3, 0.3, 8)
        assert np.isfinite(loss.numpy()).all()
        loss.sum().backward()
        assert np.isfinite(x.grad.numpy()).all()


@pytest.mark.parametrize("data", [b"", b"no image", b"\xff\xd8\xff\xe0" + bytes(40)])
def test_bytes_that_are_no_image(data: bytes) -> None:
    pytest.importorskip("PIL", reason="needs Pillow")
    x = paddle.to_tensor(np.frombuffer(data, np.uint8).copy())
    with pytest.raises(ValueError, match="JPEG"):
        ops.decode_jpeg(x)


def test_files_and_modes() -> None:
    with pytest.raises(FileNotFoundError):
        ops.read_file("no such file")
    with pytest.raises(ValueError, match="mode"):
        ops.decode_jpeg(paddle.zeros([2], "uint8"), "grey")
    with pytest.raises(TypeError, match="uint8"):
        ops.decode_jpeg(paddle.zeros([2]))


def test_a_loss_of_no_predictions() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ops.yolo_loss(
            paddle.zeros([1, 8, 0, 0]), paddle.zeros([1, 2, 4]), paddle.zeros([1, 2], "int32"), [10, 13], [0], 3, 0.3, 8
        )
