"""Fractional max pooling: windows where the reference framework has them, and what is found in them."""

import json
from pathlib import Path

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

# Size, windows, size of a window or none, random number; then the first and the last place of each window.
WINDOWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "fractional_windows.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("n", [2, 3])
def test_windows_are_where_they_were_recorded(n):
    pool = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}[n]
    for size, count, kernel, u, first, last in WINDOWS:
        # The size of other dims does not matter, nor does what varies along the last one alone.
        shape = [1, 1, *[4] * (n - 1), size]
        x = paddle.arange(float(size)).expand(shape)
        wanted, windows = [*[2] * (n - 1), count], None if kernel is None else [*[1] * (n - 1), kernel]
        for sign, places in ((1.0, last), (-1.0, first)):
            y = pool(x * sign, wanted, windows, u).numpy()
            assert (y == sign * np.array(places)).all(), (size, count, kernel, u)


@pytest.mark.parametrize("kernel", [None, 2])
def test_mask_and_gradient(rng, kernel):
    x = paddle.to_tensor(rng.standard_normal((2, 3, 9, 7)).astype(np.float32))
    x.stop_gradient = False
    y, mask = F.fractional_max_pool2d(x, [4, 3], kernel, 0.4, return_mask=True)
    assert y.shape == mask.shape == [2, 3, 4, 3] and mask.dtype is paddle.int32
    flat = x.numpy().reshape(2, 3, -1)
    np.testing.assert_array_equal(
        np.take_along_axis(flat, mask.numpy().reshape(2, 3, -1), 2), y.numpy().reshape(2, 3, -1)
    )
    w = rng.standard_normal(y.shape).astype(np.float32)
    (y * paddle.to_tensor(w)).sum().backward()
    want = np.zeros_like(flat)
    for i, j in np.ndindex(2, 3):
        np.add.at(want[i, j], mask.numpy()[i, j].ravel(), w[i, j].ravel())
    np.testing.assert_allclose(x.grad.numpy().reshape(flat.shape), want, rtol=1e-6)


def test_all_places_are_seen_without_a_kernel(rng):
    """Windows that end where the next one starts leave nothing out, so the largest of all is found."""
    x = paddle.to_tensor(rng.standard_normal((5, 1, 13, 8, 6)))
    for _ in range(5):
        y = F.fractional_max_pool3d(x, [5, 3, 4])
        np.testing.assert_array_equal(y.numpy().max((2, 3, 4)), x.numpy().max((2, 3, 4)))


def test_random_numbers_are_drawn_and_repeatable(rng):
    x = paddle.to_tensor(rng.standard_normal((1, 1, 30, 30)))
    paddle.seed(3)
    first = [F.fractional_max_pool2d(x, 7).numpy() for _ in range(8)]
    assert len({a.tobytes() for a in first}) > 1
    paddle.seed(3)
    np.testing.assert_array_equal(first[0], F.fractional_max_pool2d(x, 7).numpy())


def test_layers(rng):
    x = paddle.to_tensor(rng.standard_normal((1, 2, 7, 7)))
    layer = paddle.nn.FractionalMaxPool2D(3, kernel_size=2, random_u=0.3, return_mask=True)
    assert "output_size=3" in repr(layer)
    for a, b in zip(layer(x), F.fractional_max_pool2d(x, 3, 2, 0.3, True)):
        np.testing.assert_array_equal(a, b)
    x = x.reshape([1, 2, 7, 7, 1])
    assert paddle.nn.FractionalMaxPool3D([3, None, 1])(x).shape == [1, 2, 3, 7, 1]


def test_refuses():
    x = paddle.zeros([1, 1, 7, 7])
    for u in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="random_u"):
            F.fractional_max_pool2d(x, 3, random_u=u)
    with pytest.raises(ValueError, match="room"):
        F.fractional_max_pool2d(x, 6, 3, 0.5)
    with pytest.raises(ValueError, match="room"):
        F.fractional_max_pool2d(x, 8, None, 0.5)
    with pytest.raises(ValueError, match="rank 5"):
        F.fractional_max_pool3d(x, 3)
    with pytest.raises(ValueError, match="output_size"):
        F.fractional_max_pool2d(x, [3, 3, 3])
