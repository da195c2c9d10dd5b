"""Resampling with wider filters, and what is refused."""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

X = np.arange(20, dtype="float64").reshape(1, 1, 4, 5) ** 1.3

# What the reference framework gives.
WIDE = [
    ({"size": [2, 3], "mode": "bilinear"}, [[7.0661, 10.081575, 13.494389], [25.353952, 29.691231, 34.180267]]),
    ({"size": [2, 3], "mode": "bicubic"}, [[5.415824, 8.450468, 11.954579], [26.607048, 31.26062, 36.061569]]),
    (
        {"size": [3, 2], "mode": "bicubic", "align_corners": True},
        [[4.948321, 8.845774], [22.205006, 27.876396], [38.871327, 45.348586]],
    ),
    (
        {"size": [3, 2], "mode": "bilinear", "align_corners": True},
        [[6.007825, 9.158827], [22.129852, 26.555267], [36.740063, 41.749046]],
    ),
    ({"scale_factor": 0.6, "mode": "bilinear"}, [[4.115815, 6.826237, 10.004086], [21.511444, 25.692757, 30.038593]]),
    (
        {"size": [3, 2], "mode": "bilinear", "align_mode": 1},
        [[3.90401, 7.457002], [16.460732, 21.524147], [32.528263, 38.427391]],
    ),
]


@pytest.mark.parametrize(("how", "numbers"), WIDE)
def test_antialias(how, numbers):
    x = paddle.to_tensor(X, stop_gradient=False)
    y = F.interpolate(x, antialias=True, **how)
    np.testing.assert_allclose(y.numpy()[0, 0], numbers, rtol=3e-6)
    last = F.interpolate(x.transpose([0, 2, 3, 1]), antialias=True, data_format="NHWC", **how)
    np.testing.assert_allclose(last.numpy()[0, :, :, 0], numbers, rtol=3e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy().sum(), y.size, rtol=1e-9)  # the weights of each new element add up to 1


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialias_of_growing_sizes(mode):
    """The filter is as wide as without it; cubic ones differ in their parameter."""
    wide, narrow = (F.interpolate(paddle.to_tensor(X), size=[8, 9], mode=mode, antialias=a) for a in (True, False))
    np.testing.assert_allclose(wide.numpy(), narrow.numpy(), atol=1e-9 if mode == "bilinear" else 2.0)


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ([1, 1, 4, 5], {"size": [2, 3], "mode": "nearest", "antialias": True}),
        ([1, 1, 4, 5], {"size": [2, 3], "mode": "area", "antialias": True}),
        ([1, 1, 4, 5], {"size": [2, 3], "mode": "nearest", "align_corners": True}),
        ([1, 1, 4, 5], {"size": [2, 3], "mode": "bilinear", "data_format": "NCL"}),
        ([1, 1, 4, 5], {"size": [2, 3], "mode": "bilinear", "align_mode": 2}),
        ([1, 1, 4], {"size": [2], "mode": "linear", "data_format": "NHWC"}),
        ([1, 1, 4], {"size": [2], "mode": "linear", "data_format": "NCL"}),
    ],
)
def test_refused(shape, how):
    with pytest.raises(ValueError, match=r"^\[interpolate\] requires"):
        F.interpolate(paddle.ones(shape), **how)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_of_the_same_size_is_a_tensor_of_its_own(mode):
    x = paddle.to_tensor(X, stop_gradient=False)
    y = F.interpolate(x, size=x.shape[2:], mode=mode)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))
    with paddle.no_grad():
        y.zero_()
    np.testing.assert_array_equal(x.numpy(), X)
