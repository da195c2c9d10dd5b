"""Suppression, anchors and losses of detection: what no recorded fact shows."""

from __future__ import annotations

import io

import numpy as np
import pytest

import paddle
from paddle.vision import ops


def boxes_of(seed: int, count: int, dtype: str = "float64") -> paddle.Tensor:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 20, (count, 2))
    return paddle.to_tensor(np.concatenate([corner, corner + rng.uniform(1, 9, (count, 2))], 1), dtype)


def test_top_k_without_categories() -> None:
    boxes = paddle.to_tensor([[0.0, 0.0, 1.0, 1.0], [5.0, 5.0, 6.0, 6.0], [8.0, 8.0, 9.0, 9.0]])
    assert ops.nms(boxes, 0.5, paddle.to_tensor([0.1, 0.7, 0.3]), top_k=2).tolist() == [1, 2]
    assert ops.nms(boxes, 0.5, top_k=1).tolist() == [0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories_are_suppressed_by_themselves(dtype: str) -> None:
    boxes = boxes_of(1, 400, dtype)
    rng = np.random.default_rng(2)
    scores, group = rng.permutation(400) / 400, rng.integers(0, 5, 400)
    found = ops.nms(boxes, 0.3, paddle.to_tensor(scores), paddle.to_tensor(group), [0, 1, 2, 4])
    expected = []
    for category in (0, 1, 2, 4):
        own = np.flatnonzero(group == category)
        kept = ops.nms(boxes[paddle.to_tensor(own)], 0.3, paddle.to_tensor(scores[own]))
        expected += list(own[kept.numpy()])
    assert found.tolist() == sorted(expected, key=lambda i: -scores[i])


def test_equal_scores_keep_their_order() -> None:
    boxes = paddle.to_tensor([[float(i), 0.0, i + 0.5, 1.0] for i in range(40)])
    assert ops.nms(boxes, 0.5, paddle.ones([40])).tolist() == list(range(40))


def slopes(f, x: np.ndarray) -> np.ndarray:
    """Central differences of a number with respect to each element."""
    out = np.empty_like(x)
    for i in range(x.size):
        low, high = x.copy(), x.copy()
        low.flat[i] -= 1e-6
        high.flat[i] += 1e-6
        out.flat[i] = (f(paddle.to_tensor(high)).item() - f(paddle.to_tensor(low)).item()) / 2e-6
    return out


def gradient(f, x: np.ndarray) -> np.ndarray:
    t = paddle.to_tensor(x)
    t.stop_gradient = False
    f(t).backward()
    return t.grad.numpy()


def weighted(*results: paddle.Tensor) -> paddle.Tensor:
    """A number in which each element of the results has its own weight."""
    total = paddle.zeros([], "float64")
    for y in results:
        total += (y * paddle.arange(1, y.size + 1, dtype="float64").reshape(y.shape).sin()).sum()
    return total


def test_boxes_have_gradients() -> None:
    rng = np.random.default_rng(6)
    size = paddle.to_tensor([[64, 48]], dtype="int32")

    def yolo(x: paddle.Tensor) -> paddle.Tensor:
        return weighted(*ops.yolo_box(x, size, [10, 13], 2, 0.4, 8, False, scale_x_y=1.1))

    def coded(x: paddle.Tensor) -> paddle.Tensor:
        return weighted(ops.box_coder(prior, [0.1, 0.1, 0.2, 0.2], x, "decode_center_size"))

    prior = boxes_of(7, 3)
    for f, x in ((yolo, rng.standard_normal((1, 7, 2, 2))), (coded, rng.standard_normal((2, 3, 4)))):
        np.testing.assert_allclose(gradient(f, x), slopes(f, x), rtol=1e-4, atol=1e-4)


def test_loss_of_two_boxes_in_one_element() -> None:
    truth = paddle.to_tensor([[[0.3, 0.3, 0.2, 0.1], [0.31, 0.3, 0.2, 0.15]]], "float64")
    labels, score = paddle.to_tensor([[1, 2]], dtype="int32"), paddle.to_tensor([[0.4, 0.9]], "float64")

    def loss(x: paddle.Tensor) -> paddle.Tensor:
        return ops.yolo_loss(x, truth, labels, [10, 13], [0], 3, 0.3, 8, score).sum()

    x = np.random.default_rng(8).standard_normal((1, 8, 2, 2))
    np.testing.assert_allclose(gradient(loss, x), slopes(loss, x), rtol=1e-4, atol=1e-5)


def test_numbers_that_are_not_asked_for() -> None:
    anchors = paddle.to_tensor([0.0, 0.0, 8.0, 8.0]).reshape([1, 1, 1, 4])
    operands = paddle.full([1, 1, 1, 1], 0.5), paddle.zeros([1, 4, 1, 1]), paddle.to_tensor([[6.0, 9.0]])
    rois, _, num = ops.generate_proposals(*operands, anchors, paddle.ones([1, 1, 1, 4]))
    assert rois.tolist() == [[0.0, 0.0, 8.0, 6.0]] and num is None
    levels, restore, counts = ops.distribute_fpn_proposals(boxes_of(9, 5), 2, 4, 3, 5)
    assert counts is None
    joined = paddle.concat(levels)
    np.testing.assert_array_equal(joined[restore.flatten()].numpy(), boxes_of(9, 5).numpy())


def test_a_threshold_that_falls_holds_for_all_boxes_behind() -> None:
    """The second box overlaps the first by 0.6, below the first threshold and above the next one."""
    anchors = paddle.to_tensor([[0.0, 0, 10, 10], [0, 0, 10, 6], [20, 0, 30, 4]]).reshape([1, 1, 3, 4])
    operands = paddle.to_tensor([0.9, 0.8, 0.7]).reshape([1, 3, 1, 1]), paddle.zeros([1, 12, 1, 1])
    for eta, left in ((1.0, 3), (0.9, 3), (0.8, 2)):
        rois, _ = ops.generate_proposals(
            *operands, paddle.to_tensor([[40.0, 40.0]]), anchors, paddle.ones([1, 1, 3, 4]), nms_thresh=0.7, eta=eta
        )[:2]
        assert len(rois) == left, eta


def test_matrix_suppression_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many classes are taken a few at a time."""
    from paddle.vision.ops import suppression

    rng = np.random.default_rng(10)
    operands = boxes_of(10, 12).unsqueeze(0), paddle.to_tensor(rng.random((1, 7, 12)))
    whole = ops.matrix_nms(*operands, 0.2, 0.1, 8, 20, return_index=True)
    monkeypatch.setattr(suppression, "_MOST_PAIRS", 130)
    for found, expected in zip(ops.matrix_nms(*operands, 0.2, 0.1, 8, 20, return_index=True), whole, strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def jpeg(mode: str) -> tuple[bytes, np.ndarray]:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    ramp = np.add.outer(np.arange(16), np.arange(24)).astype(np.uint8) * 6
    pixels = ramp if mode == "L" else np.stack([ramp, 255 - ramp, ramp // 2], 2)
    file = io.BytesIO()
    image.fromarray(pixels, mode).save(file, "JPEG", quality=95)
    return file.getvalue(), np.array(image.open(io.BytesIO(file.getvalue())))


@pytest.mark.filterwarnings("ignore:'mode' parameter is deprecated:DeprecationWarning")
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_jpeg_files(mode: str, tmp_path) -> None:
    data, pixels = jpeg(mode)
    (tmp_path / "a.jpg").write_bytes(data)
    read = ops.read_file(str(tmp_path / "a.jpg"))
    assert read.numpy().tobytes() == data and read.dtype == paddle.uint8
    image = ops.decode_jpeg(read)
    expected = pixels[None] if mode == "L" else pixels.transpose(2, 0, 1)
    np.testing.assert_array_equal(image.numpy(), expected)
    assert ops.decode_jpeg(read, "gray").shape == [1, 16, 24]
    assert ops.decode_jpeg(read, "rgb").shape == [3, 16, 24]
